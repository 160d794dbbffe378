//! Any trace, server and cost, and an observer of memory, for property tests.

use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use servescope_cost::{AdapterCost, BatchCost, LinearCost};
use servescope_engine::observer::{EventSink, RouterEvent};
use servescope_engine::{
    AdapterConfig, AdapterLoading, AdapterMemory, CountSource, Fleet, FleetConfig, IndexKind, Pool,
    PoolConfig, Report, RouterConstants, RouterKind, RouterView,
};
use servescope_workload::trace::{ClosedLoop, NO_REQUEST, Request};
use servescope_workload::{BASE_MODEL, RequestId, Trace};

/// Every router.
pub(crate) const ROUTERS: [RouterKind; 20] = [
    RouterKind::RoundRobin,
    RouterKind::Random,
    RouterKind::LeastOutstanding,
    RouterKind::FewestWaiting,
    RouterKind::PowerOfTwo,
    RouterKind::LeastKv,
    RouterKind::AdapterAffinity,
    RouterKind::PrefixAffinity,
    RouterKind::Llmd,
    RouterKind::LlmdWeighted,
    RouterKind::DynamoKv,
    RouterKind::SglangCacheAware,
    RouterKind::AibrixPrefixCache,
    RouterKind::AibrixVtc,
    RouterKind::PsKvaware,
    RouterKind::PsPrefixaware,
    RouterKind::PsSession,
    RouterKind::Lmetric,
    RouterKind::Lpwl,
    RouterKind::ConsistentHash,
];

/// A fleet of one pool.
pub(crate) fn fleet(
    trace: Arc<Trace>,
    (rules, pool): (FleetConfig, PoolConfig),
    cost: impl BatchCost + 'static,
) -> Fleet {
    Fleet::new(trace, rules, vec![Pool::new(pool, Box::new(cost))])
}

prop_compose! {
    /// What a router sees: most often what it does by default.
    fn any_view(most_us: u32)(
        index in prop::sample::select(&[IndexKind::Approximate, IndexKind::Precise, IndexKind::True][..]),
        counts in prop::sample::select(&[CountSource::Own, CountSource::Scraped][..]),
        scrape_us in prop_oneof![1 => Just(0.0), 1 => (1..most_us).prop_map(f64::from)],
        event_delay_us in prop_oneof![Just(0.0), (1..most_us).prop_map(f64::from)],
        ttl_us in prop_oneof![Just(f64::INFINITY), (1..most_us).prop_map(f64::from)],
        block_tokens in 1u32..40, index_blocks in 1u32..200, shards in 1u32..4,
    ) -> RouterView {
        let view = RouterView::default();
        RouterView { index, counts, scrape_us, event_delay_us, ttl_us, block_tokens, index_blocks, shards, ..view }
    }
}

prop_compose! {
    /// A fleet's bounds and its router; times are whole microseconds up to a bound.
    pub(crate) fn any_rules(most_us: u32)(
        router in prop::sample::select(&ROUTERS[..]),
        view in prop_oneof![Just(RouterView::default()), any_view(most_us)],
        draws_as_python in any::<bool>(),
        max_in_system in prop_oneof![3 => Just(u32::MAX), 1 => 1u32..20],
        queue_timeout_us in prop_oneof![3 => Just(f64::INFINITY), 1 => (0..most_us).prop_map(f64::from)],
    ) -> FleetConfig {
        let constants = RouterConstants::default();
        FleetConfig {
            router, view, constants, draws_as_python, max_in_system, queue_timeout_us, seed: 7, disaggregation: None,
            ..FleetConfig::default()
        }
    }
}

/// A trace of requests (arrival in microseconds, user, adapter, prompt tokens, output tokens), in order of arrival; the
/// `max_tokens` of each is its output.
pub(crate) fn requests(rows: impl IntoIterator<Item = (f64, u32, u32, u32, u32)>) -> Trace {
    let mut trace = Trace::default();
    for (arrival_us, user, adapter, input_tokens, output_tokens) in rows {
        let max_tokens = output_tokens;
        trace.push(Request { arrival_us, user, adapter, input_tokens, output_tokens, max_tokens });
    }
    trace
}

prop_compose! {
    fn any_request()(
        gap_us in prop_oneof![Just(0.0), 0.0..2e6f64, (0u32..100_000).prop_map(f64::from)],
        user in 0u32..4,
        adapter in prop_oneof![Just(BASE_MODEL), 0u32..6],
        input_tokens in 1u32..300,
        output_tokens in 1u32..120,
        slack in 0u32..60,
    ) -> (f64, Request) {
        let max_tokens = output_tokens + slack;
        (gap_us, Request { arrival_us: 0.0, user, adapter, input_tokens, output_tokens, max_tokens })
    }
}

prop_compose! {
    pub fn any_trace()(
        requests in prop::collection::vec(any_request(), 1..80),
        cancels in prop::collection::vec((0.0..2e7f64, 0usize..80), 0..6),
        waits in prop::option::of(prop::collection::vec(any_wait(), 80)),
        until_us in prop_oneof![Just(f64::INFINITY), 0.0..4e7f64],
    ) -> Trace {
        let mut trace = Trace { adapter_rank: vec![8, 16, 32, 64, 8, 8], ..Trace::default() };
        let mut now = 0.0;
        for (gap, mut request) in requests {
            now += gap;
            request.arrival_us = now;
            trace.push(request);
        }
        trace.cancellations = cancels.into_iter().map(|(at, id)| (at, (id % trace.len()) as u32)).collect();
        trace.cancellations.sort_by(|a, b| a.0.total_cmp(&b.0));
        trace.closed_loop = waits.map(|waits| {
            let mut closed_loop = ClosedLoop { until_us, ..ClosedLoop::default() };
            for &(before, think_us) in &waits[..trace.len()] {
                // Any request may be waited for, also a later one, or itself: such a circle is never sent.
                closed_loop.push(before.map_or(NO_REQUEST, |before| before % trace.len() as u32), think_us);
            }
            Box::new(closed_loop)
        });
        trace
    }
}

/// The request that a request waits for, and the think time after it.
fn any_wait() -> impl Strategy<Value = (Option<u32>, f64)> {
    (
        prop::option::weighted(0.8, 0u32..80),
        prop_oneof![Just(0.0), (0u32..100_000).prop_map(f64::from), 0.0..3e6f64],
    )
}

/// Adapters in the KV pool, as S-LoRA has them, or beside it; some may be too large for a slot.
fn any_adapters() -> impl Strategy<Value = AdapterConfig> {
    let unified = PoolConfig::slora().adapters;
    let loading =
        (0.0..3_000.0f64, 0.0..300.0f64, 0.0..300.0f64).prop_map(|(base, host, disk)| AdapterLoading {
            base_us: base.floor(),
            host_us_per_rank: host.floor(),
            disk_us_per_rank: disk.floor(),
        });
    let memory = prop_oneof![
        4 => Just(AdapterMemory::Unified), 1 => Just(AdapterMemory::Slots), 1 => Just(AdapterMemory::Resident),
    ];
    (memory, loading, 1u32..5, 1u32..8, prop_oneof![3 => Just(u32::MAX), 1 => 8u32..64]).prop_map(
        move |(memory, loading, max_loras, max_cpu_loras, max_lora_rank)| AdapterConfig {
            memory,
            loading,
            max_loras,
            max_cpu_loras: max_cpu_loras.max(max_loras),
            max_lora_rank,
            ..unified
        },
    )
}

prop_compose! {
    pub fn any_config()(
        blocks in 300u32..3_000,
        max_batch_tokens in 50u32..800,
        max_requests in prop_oneof![1u32..6, Just(1_000)],
        max_request_tokens in 100u32..500,
        max_input_tokens in 50u32..400,
        decode_steps_between_prefills in prop_oneof![Just(0u32), Just(10), 1u32..30],
        idle_poll_us in prop_oneof![Just(0.0), Just(10_000.0), 0.1..50_000f64],
        reference_quirks in any::<bool>(),
        lora_compute in any::<bool>(),
        adapters in any_adapters(),
    ) -> PoolConfig {
        PoolConfig {
            blocks, max_batch_tokens, max_requests, max_request_tokens, max_input_tokens,
            decode_steps_between_prefills, idle_poll_us, reference_quirks, lora_compute,
            adapters,
            ..PoolConfig::slora()
        }
    }
}

prop_compose! {
    pub fn any_cost()(
        whole in any::<bool>(),
        c in prop::array::uniform6(0.0..30_000f64),
        per_kv in prop_oneof![Just(0.0), 0.0..20f64],
        adapters in prop::array::uniform4(0.0..3_000f64),
    ) -> LinearCost {
        // Whole microseconds, as in the reference vectors, or any fraction of them.
        let number = |x: f64| if whole { x.floor() } else { x };
        LinearCost {
            prefill_base_us: number(c[0]),
            prefill_per_token_us: number(c[1] / 100.0),
            decode_base_us: number(c[2]) + 1.0,
            decode_per_request_us: number(c[3] / 50.0),
            decode_per_kv_token_us: number(per_kv),
            overhead_us: number(c[4] / 10.0),
            adapters: AdapterCost {
                load_base_us: number(adapters[0]),
                load_per_rank_us: number(adapters[1] / 10.0),
                prefill_factor: if whole { 1.0 } else { 1.0 + adapters[2] / 3_000.0 },
                decode_active_us: number(adapters[3]),
                decode_per_rank_us: number(c[5] / 1_000.0),
            },
        }
    }
}

/// KV tokens that the batch holds, followed iteration by iteration. The token that an iteration makes is held from the next
/// one on, so a request's last token never is.
#[derive(Debug)]
pub(crate) struct Memory {
    trace: Arc<Trace>,
    produced: Vec<u32>,
    running: Vec<RequestId>,
    /// Most tokens held at a time.
    pub most: u64,
}

impl Memory {
    /// The memory of a run of single steps, and what came of it.
    pub(crate) fn watched(run: Fleet, trace: &Arc<Trace>) -> (u64, Report) {
        let (produced, running) = (vec![0; trace.len()], Vec::new());
        let memory = Self { trace: Arc::clone(trace), produced, running, most: 0 };
        let memory = Arc::new(Mutex::new(memory));
        let mut run = run.without_fast_forward().watched(Box::new(Arc::clone(&memory)));
        while !run.advance(7) {}
        let most = memory.lock().expect("no other thread watches").most;
        (most, run.finish())
    }
}

impl EventSink for Memory {
    fn emit(&mut self, event: RouterEvent<'_>) {
        match event {
            RouterEvent::Decided { picked, .. } => {
                for &id in picked {
                    self.produced[id] = 1;
                    self.running.push(id);
                }
            }
            RouterEvent::Decode { iterations, .. } => {
                let held = |&id: &RequestId| u64::from(self.trace.input_tokens[id] + self.produced[id]);
                self.most = self.most.max(self.running.iter().map(held).sum());
                self.running.iter().for_each(|&id| self.produced[id] += iterations);
            }
            RouterEvent::Finished(id) => self.running.retain(|&other| other != id),
            _ => {}
        }
    }
}
