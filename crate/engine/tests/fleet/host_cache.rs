//! A tier of host memory: what it finds, when it finds nothing, and what a request waits for.

use std::sync::Arc;

use servescope_engine::explain::cause::Cause;
use servescope_engine::explain::request_time::WhyTables;
use servescope_engine::{
    Fleet, HostCache, HostEviction, OffloadConnector, Outcome, PoolConfig, Report, SchedulerKind, VllmRules,
};
use servescope_workload::trace::{PrefixBlocks, Request, TraceMetadata};
use servescope_workload::{BASE_MODEL, RequestId, Trace};

use super::toy::TOY;

const BLOCK: u32 = 16;
/// Blocks of a prompt.
const PROMPT: u32 = 20;

/// Requests a long time apart, each with one of the prompts in turn.
fn in_turn(prompts: u64, requests: u64, apart_us: f64) -> Trace {
    let mut trace = Trace::default();
    let mut prefix = PrefixBlocks::new(BLOCK);
    for request in 0..requests {
        let first = 1 + (request % prompts) * u64::from(PROMPT);
        prefix.push(first..first + u64::from(PROMPT));
        trace.push(Request {
            arrival_us: request as f64 * apart_us,
            user: 0,
            adapter: BASE_MODEL,
            input_tokens: BLOCK * PROMPT,
            output_tokens: 2,
            max_tokens: 2,
        });
    }
    trace.metadata = Some(Box::new(TraceMetadata { prefix, ..TraceMetadata::default() }));
    trace
}

/// A GPU with room for the prompt of one request and little more.
fn config(host_blocks: u32) -> PoolConfig {
    PoolConfig {
        scheduler: SchedulerKind::VllmV1,
        blocks: PROMPT + 4,
        block_size: BLOCK,
        watermark_blocks: 0,
        max_batch_tokens: 1_000,
        max_request_tokens: 400,
        prefix_cache: true,
        vllm: VllmRules { async_scheduling: false, ..VllmRules::default() },
        host_cache: Some(HostCache {
            connector: OffloadConnector::Offloading,
            blocks: host_blocks,
            eviction: HostEviction::Lru,
            store_threshold: 0,
            prompts_only: true,
            lazy: false,
            base_us: 100.0,
            load_block_us: 10.0,
            store_block_us: 10.0,
        }),
        ..PoolConfig::default()
    }
}

fn run(trace: &Trace, config: PoolConfig) -> Report {
    Fleet::of_pool(Arc::new(trace.clone()), config, Box::new(TOY)).with_decisions().run()
}

/// Requests that found something on the host.
fn loads(report: &Report) -> usize {
    report.timeline.kv_copies.iter().filter(|copy| copy.is_load).map(|copy| copy.requests.len()).sum()
}

#[test]
fn a_cycle_over_one_prompt_more_than_fits_finds_nothing() {
    let trace = in_turn(5, 50, 1e6);
    for connector in [OffloadConnector::Offloading, OffloadConnector::SimpleCpu] {
        // One block of the simple connector's is vLLM's own.
        let own = u32::from(connector == OffloadConnector::SimpleCpu);
        let of = |prompts: u32| {
            let mut config = config(prompts * PROMPT + own);
            config.host_cache = config.host_cache.map(|cache| HostCache { connector, ..cache });
            run(&trace, config)
        };
        let (short, enough) = (of(4), of(5));
        assert_eq!((loads(&short), loads(&enough)), (0, 45), "{connector:?}");
        let stored = |report: &Report| -> u32 {
            let stores = report.timeline.kv_copies.iter().filter(|copy| !copy.is_load);
            stores.map(|copy| copy.blocks).sum()
        };
        // What does not fit is written all the same.
        assert!(stored(&short) >= 49 * PROMPT && stored(&enough) == 5 * PROMPT, "{connector:?}");
    }
}

#[test]
fn adaptive_replacement_keeps_what_was_used_twice() {
    // Two prompts that come again and again, between prompts that come once.
    let mut trace = in_turn(1, 0, 1e6);
    let mut prefix = PrefixBlocks::new(BLOCK);
    for request in 0..60u64 {
        let prompt = if request % 3 == 0 { request / 3 % 2 } else { 10 + request };
        let first = 1 + prompt * u64::from(PROMPT);
        prefix.push(first..first + u64::from(PROMPT));
        trace.push(Request {
            arrival_us: request as f64 * 1e6,
            user: 0,
            adapter: BASE_MODEL,
            input_tokens: BLOCK * PROMPT,
            output_tokens: 2,
            max_tokens: 2,
        });
    }
    trace.metadata = Some(Box::new(TraceMetadata { prefix, ..TraceMetadata::default() }));
    let of = |eviction: HostEviction| {
        let mut config = config(6 * PROMPT + PROMPT / 2);
        config.host_cache = config.host_cache.map(|cache| HostCache { eviction, ..cache });
        loads(&run(&trace, config))
    };
    let (lru, arc) = (of(HostEviction::Lru), of(HostEviction::Arc));
    assert!(arc >= lru && arc > 10, "{lru} under LRU, {arc} under ARC");
}

#[test]
fn a_request_waits_for_its_own_copy_and_for_those_before_it() {
    // Two requests at once whose prompts are on the host: the second copy begins when the first has ended.
    let mut trace = in_turn(3, 3, 1e6);
    let more = in_turn(2, 2, 0.0);
    let mut metadata = *trace.metadata.take().expect("blocks");
    for id in 0..2 {
        let prefix = &more.metadata.as_ref().expect("blocks").prefix;
        metadata.prefix.push(prefix.of(id).iter().copied());
        trace.push(Request {
            arrival_us: 5e6,
            user: 0,
            adapter: BASE_MODEL,
            input_tokens: BLOCK * PROMPT,
            output_tokens: 2,
            max_tokens: 2,
        });
    }
    trace.metadata = Some(Box::new(metadata));
    let report = run(&trace, PoolConfig { blocks: 2 * PROMPT + 4, ..config(1_000) });
    assert!(report.results.iter().all(|result| result.outcome == Outcome::Completed));
    let tables = WhyTables::of(&report).expect("decisions");
    let of = |id: usize, cause: Cause| tables.request(id).by_cause()[cause as usize];
    let loads: Vec<_> = report.timeline.kv_copies.iter().filter(|copy| copy.is_load).collect();
    assert_eq!(loads.iter().map(|copy| copy.requests[0]).collect::<Vec<_>>(), [3, 4].map(RequestId::new));
    // 100 us and 10 us a block; the end is known at once, as the replica stands still.
    let own_ns = |load: usize| 1_000 * (100 + 10 * u64::from(loads[load].blocks));
    assert!(loads.iter().all(|load| load.blocks > PROMPT / 2));
    assert_eq!([3, 4].map(|id| of(id, Cause::KvLoading)), [own_ns(0), own_ns(1)]);
    assert_eq!([3, 4].map(|id| of(id, Cause::KvLink)), [0, own_ns(0)]);
    assert_eq!(report.scheduled_us(3), Some(5e6 + own_ns(0) as f64 / 1e3));
}
