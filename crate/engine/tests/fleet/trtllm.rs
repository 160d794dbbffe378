//! TensorRT-LLM by hand: what its two capacity policies admit, how it cuts prompts, and what of a prefix it finds.

use std::sync::Arc;

use servescope_cost::{AdapterCost, LinearCost};
use servescope_engine::{
    CapacityPolicy, ChunkingPolicy, Fleet, Outcome, PoolConfig, Rejection, Report, SchedulerKind, TrtllmRules,
};
use servescope_workload::trace::{PrefixBlocks, TraceMetadata};
use servescope_workload::{BASE_MODEL, Trace};

use crate::given::requests;

/// Every batch takes 100 us.
const COST: LinearCost = LinearCost {
    prefill_base_us: 100.0,
    prefill_per_token_us: 0.0,
    decode_base_us: 100.0,
    decode_per_request_us: 0.0,
    decode_per_kv_token_us: 0.0,
    overhead_us: 0.0,
    adapters: AdapterCost::FREE,
};

/// Requests that come at once: prompt, output, and what their clients declare.
fn at_once(rows: &[[u32; 3]]) -> Trace {
    let mut trace = requests(rows.iter().map(|&[input, output, _]| (0.0, 0, BASE_MODEL, input, output)));
    trace.max_tokens = rows.iter().map(|row| row[2]).collect();
    trace
}

/// A server that decides when a batch has ended, with whole prompts.
fn server(policy: CapacityPolicy, blocks: u32, block_size: u32) -> PoolConfig {
    PoolConfig {
        scheduler: SchedulerKind::Trtllm,
        blocks,
        block_size,
        max_request_tokens: 1_000,
        max_batch_tokens: 1_000,
        prefix_cache: false,
        trtllm: TrtllmRules {
            capacity_scheduler_policy: policy,
            overlap_schedule: false,
            ..TrtllmRules::default()
        },
        ..PoolConfig::default()
    }
}

fn run(trace: &Trace, config: PoolConfig, cost: LinearCost) -> Report {
    Fleet::of_pool(Arc::new(trace.clone()), config, Box::new(cost)).run()
}

fn first_tokens(report: &Report) -> Vec<f64> {
    (0..report.results.len()).filter_map(|id| report.first_token_us(id)).collect()
}

fn ends(report: &Report) -> Vec<f64> {
    report.results.iter().filter_map(|result| result.finish_us).collect()
}

/// Each may need five blocks of ten by what its client declares, and has two in truth: the third request waits for the end of the
/// others where blocks are kept for max_tokens, and for none where they are not.
#[test]
fn reserving_for_max_tokens_loses_where_answers_are_short() {
    let trace = at_once(&[[64, 4, 96]; 3]);
    let of = |policy| first_tokens(&run(&trace, server(policy, 10, 32), COST));
    assert_eq!(of(CapacityPolicy::GuaranteedNoEvict), [100.0, 100.0, 500.0]);
    assert_eq!(of(CapacityPolicy::MaxUtilization), [100.0, 100.0, 100.0]);
}

/// Four blocks of four tokens. At 200 us the second request has 8 computed tokens and finds no third block: it is paused, and with its two
/// tokens it needs three blocks, which are free when the first one has ended at 600 us.
#[test]
fn the_last_started_request_is_paused_and_recomputed() {
    let trace = at_once(&[[6, 6, 6], [7, 4, 4]]);
    let paused = run(&trace, server(CapacityPolicy::MaxUtilization, 4, 4), COST);
    assert_eq!((first_tokens(&paused), ends(&paused)), (vec![100.0, 100.0], vec![600.0, 800.0]));
    assert_eq!([0, 1].map(|id| paused.preemptions(id)), [0, 1]);
    let kept = run(&trace, server(CapacityPolicy::GuaranteedNoEvict, 4, 4), COST);
    assert_eq!((first_tokens(&kept), ends(&kept)), (vec![100.0, 700.0], vec![600.0, 1_000.0]));
    assert_eq!(kept.preemptions, 0);
}

/// Where outputs are as long as declared, and prompts take time, what is paused is computed twice.
#[test]
fn pausing_loses_where_memory_runs_out() {
    let trace = at_once(&[[64, 64, 64]; 12]);
    let cost = LinearCost { prefill_per_token_us: 20.0, ..COST };
    let of = |policy| run(&trace, server(policy, 16, 32), cost);
    let (kept, paused) = (of(CapacityPolicy::GuaranteedNoEvict), of(CapacityPolicy::MaxUtilization));
    assert!(kept.preemptions == 0 && paused.preemptions > 0, "{}", paused.preemptions);
    assert!(kept.end_us() < paused.end_us(), "{} and {}", kept.end_us(), paused.end_us());
}

/// 96 tokens a batch, in blocks of 32. First come: 96 of the first prompt; its last 64 and 32 of the second; the other 68. In equal steps:
/// 64 and 32; 64 and 32; 32 and 36.
#[test]
fn prompts_are_cut_in_whole_blocks() {
    let trace = at_once(&[[160, 1, 1], [100, 1, 1]]);
    let of = |context_chunking| {
        let config = server(CapacityPolicy::GuaranteedNoEvict, 20, 32);
        let trtllm = TrtllmRules { context_chunking, ..config.trtllm };
        run(&trace, PoolConfig { max_batch_tokens: 96, trtllm, ..config }, COST)
    };
    assert_eq!(first_tokens(&of(Some(ChunkingPolicy::FirstComeFirstServed))), [200.0, 300.0]);
    assert_eq!(first_tokens(&of(Some(ChunkingPolicy::EqualProgress))), [300.0, 300.0]);
    let whole = of(None);
    let rejected = Outcome::Rejected(Rejection::PromptOverBatch);
    assert!(whole.results.iter().all(|result| result.outcome == rejected));
}

/// Of 100 tokens the first prompt takes three blocks, and a prompt of the four tokens that are left goes with it; one of five waits.
#[test]
fn a_short_prompt_fills_what_is_less_than_a_block() {
    let first = |short| {
        let config = server(CapacityPolicy::GuaranteedNoEvict, 20, 32);
        let context_chunking = Some(ChunkingPolicy::FirstComeFirstServed);
        let trtllm = TrtllmRules { context_chunking, ..config.trtllm };
        let config = PoolConfig { max_batch_tokens: 100, trtllm, ..config };
        first_tokens(&run(&at_once(&[[150, 1, 1], [short, 1, 1]]), config, COST))
    };
    assert_eq!((first(4), first(5)), (vec![200.0, 100.0], vec![200.0, 200.0]));
}

/// With overlap the batch behind that of the last token is decided without it: it is computed in vain, unless max_tokens says that there is
/// none.
#[test]
fn an_answer_that_ends_early_decodes_once_in_vain() {
    let batches = |max_tokens| {
        let config = server(CapacityPolicy::GuaranteedNoEvict, 10, 32);
        let trtllm = TrtllmRules { overlap_schedule: true, ..config.trtllm };
        let report = run(&at_once(&[[8, 2, max_tokens]]), PoolConfig { trtllm, ..config }, COST);
        assert_eq!(ends(&report), [200.0]);
        report.timeline.iterations.iter().map(|run| run.iterations).sum::<u32>()
    };
    assert_eq!((batches(2), batches(10)), (2, 3));
}

/// Two prompts of 40 tokens whose first block is the same. In one decision the second is passed over, and finds it when the batch has ended.
/// With overlap the next decision is taken before that: the block is on its way no more and not there yet, so it is computed again.
#[test]
fn a_prefix_under_way_is_waited_for_in_its_own_decision_only() {
    let mut trace = at_once(&[[40, 1, 1]; 2]);
    let mut prefix = PrefixBlocks::new(32);
    prefix.push([1, 2]);
    prefix.push([1, 3]);
    trace.metadata = Some(Box::new(TraceMetadata { prefix, ..TraceMetadata::default() }));
    let of = |overlap_schedule| {
        let config = server(CapacityPolicy::GuaranteedNoEvict, 10, 32);
        let trtllm = TrtllmRules { overlap_schedule, ..config.trtllm };
        let report = run(&trace, PoolConfig { prefix_cache: true, trtllm, ..config }, COST);
        let tokens: Vec<u32> = report.timeline.iterations.iter().map(|run| run.prompt_tokens).collect();
        (first_tokens(&report), tokens)
    };
    assert_eq!(of(false), (vec![100.0, 200.0], vec![40, 8]));
    assert_eq!(of(true), (vec![100.0, 200.0], vec![40, 40]));
}
