//! Adapters in the replicas of a fleet: slots, the KV pool, loading, and which requests are skipped.

use std::sync::Arc;

use crate::given::{fleet, requests};
use proptest::prelude::*;
use servescope_engine::queue::QueueConfig;
use servescope_engine::{
    AdapterConfig, AdapterLoading, AdapterMemory, FleetConfig, PoolConfig, RouterKind, SchedulerKind,
};
use servescope_engine::{Outcome, Rejection, Report};
use servescope_workload::stream::Stream;
use servescope_workload::trace::Request;
use servescope_workload::{BASE_MODEL, Trace};

use super::any::{any_config, any_cost, sent_by_users};
use super::toy::{TOY, Toy};
use super::{run, run_queued};

const LOADING: AdapterLoading =
    AdapterLoading { base_us: 10.0, host_us_per_rank: 2.0, disk_us_per_rank: 30.0 };

const SLOTS: AdapterConfig = AdapterConfig {
    memory: AdapterMemory::Slots,
    max_loras: 1,
    max_cpu_loras: 2,
    loading: LOADING,
    ..AdapterConfig::FREE
};

const UNIFIED: AdapterConfig = AdapterConfig {
    memory: AdapterMemory::Unified,
    tokens_per_rank: 4.0,
    loading: LOADING,
    ..AdapterConfig::FREE
};

/// Requests (arrival, prompt, answer, adapter); every adapter has the rank 8 but the last, which has 64.
fn asking(rows: &[(f64, u32, u32, u32)]) -> Arc<Trace> {
    let rows = rows.iter().map(|&(at, input, output, adapter)| (at, 0, adapter, input, output));
    Arc::new(Trace { adapter_rank: vec![8, 8, 8, 64], ..requests(rows) })
}

fn with(adapters: AdapterConfig, scheduler: SchedulerKind) -> PoolConfig {
    PoolConfig { adapters, scheduler, watermark_blocks: 0, ..PoolConfig::default() }
}

fn first_tokens(report: &Report) -> Vec<usize> {
    let mut order: Vec<usize> = (0..report.results.len()).collect();
    order.sort_by(|&a, &b| report.first_token_us(a).unwrap().total_cmp(&report.first_token_us(b).unwrap()));
    order
}

/// While the first answer is made its adapter has the only slot: a request for it, or for the base model, goes ahead of those
/// for another adapter, which keep their order.
#[test]
fn who_finds_no_slot_is_passed_over_and_keeps_its_place() {
    let rows = [
        (0.0, 20, 60, 0),
        (1.0, 20, 5, 1),
        (2.0, 20, 5, 2),
        (3.0, 20, 5, BASE_MODEL),
        (4.0, 20, 5, 0),
        (5.0, 20, 5, 1),
    ];
    for scheduler in [SchedulerKind::VllmV1, SchedulerKind::Sarathi, SchedulerKind::Vllm, SchedulerKind::Orca]
    {
        let (report, _) = run(&asking(&rows), with(SLOTS, scheduler), TOY);
        let order = first_tokens(&report);
        assert_eq!(order[0], 0, "{scheduler:?}");
        assert_eq!([order[1].min(order[2]), order[1].max(order[2])], [3, 4], "{scheduler:?}");
        // The second adapter then serves its two requests together, and the third is passed over.
        assert_eq!(order[3..], [1, 5, 2], "{scheduler:?}");
        assert_eq!((report.adapters.loads, report.adapters.evictions), (3, 2), "{scheduler:?}");
    }
}

#[test]
fn a_rank_above_that_of_the_slots_is_refused() {
    let adapters = AdapterConfig { max_lora_rank: 16, ..SLOTS };
    let trace = asking(&[(0.0, 20, 5, 3), (0.0, 20, 5, 2)]);
    for scheduler in SchedulerKind::ALL {
        let (report, _) = run(&trace, with(adapters, scheduler), TOY);
        let outcomes = [Outcome::Rejected(Rejection::LoraRank), Outcome::Completed];
        assert_eq!(
            report.results.iter().map(|result| result.outcome).collect::<Vec<_>>(),
            outcomes,
            "{scheduler:?}"
        );
        let (report, _) = run(&trace, with(UNIFIED, scheduler), TOY);
        assert!(report.results.iter().all(|result| result.outcome == Outcome::Completed), "{scheduler:?}");
    }
}

/// From the disk 10 + 8 x (2 + 30) us, from the host 10 + 8 x 2, nothing while it is there.
#[test]
fn an_iteration_waits_for_the_adapters_that_it_loads() {
    let rows = [(0.0, 20, 5, 0), (1e4, 20, 5, 1), (2e4, 20, 5, 1), (3e4, 20, 5, 0)];
    for stages in [1, 2] {
        let cost = Toy { stages, ..TOY };
        let ttft_us = |adapters| {
            let (report, _) = run(&asking(&rows), with(adapters, SchedulerKind::VllmV1), cost);
            let load_us: f64 = report.timeline.iterations.iter().map(|run| run.adapter_load_us).sum();
            let split_us: f64 = (0..4).map(|id| report.split(id).unwrap().load_us).sum();
            assert!((load_us - split_us).abs() < 1e-9);
            ((0..4).map(|id| report.ttft_us(id).unwrap()).collect::<Vec<_>>(), load_us)
        };
        let (free, _) = ttft_us(AdapterConfig::FREE);
        let (slots, load_us) = ttft_us(SLOTS);
        let waits: Vec<f64> = slots.iter().zip(&free).map(|(slow, quick)| slow - quick).collect();
        for (wait, expected) in waits.iter().zip([266.0, 266.0, 0.0, 26.0]) {
            assert!((wait - expected).abs() < 1e-6, "{waits:?}");
        }
        assert!((load_us - 558.0).abs() < 1e-6);
        // S-LoRA keeps none that no request uses, and all of them on the host.
        let (unified, load_us) = ttft_us(UNIFIED);
        assert!((load_us - 4.0 * 26.0).abs() < 1e-6 && unified[2] > free[2]);
    }
}

/// What was loaded ahead behind the iterations of another is there when its request is admitted: only the first is waited for.
#[test]
fn adapters_are_loaded_ahead_behind_other_iterations() {
    let rows: Vec<(f64, u32, u32, u32)> = (0..3).map(|adapter| (0.0, 20, 30, adapter)).collect();
    // S-LoRA offloads what no request uses whenever a request ends, also what it loaded ahead; SGLang and TensorRT-LLM load nothing ahead.
    let loads_ahead = |kind: &SchedulerKind| {
        !matches!(kind, SchedulerKind::Slora | SchedulerKind::Sglang | SchedulerKind::Trtllm)
    };
    for scheduler in SchedulerKind::ALL.into_iter().filter(loads_ahead) {
        let of = |prefetch| {
            let adapters = AdapterConfig { prefetch, ..UNIFIED };
            let config = PoolConfig { max_requests: 1, ..with(adapters, scheduler) };
            let (report, _) = run(&asking(&rows), config, TOY);
            let waits = report.timeline.iterations.iter().map(|run| run.adapter_load_us).sum::<f64>();
            (waits, report.adapters.loads, report.results[2].finish_us.unwrap())
        };
        let (ahead, blocking) = (of(true), of(false));
        assert!(
            (blocking.0 - 78.0).abs() < 1e-9 && (ahead.0 - 26.0).abs() < 1e-9,
            "{scheduler:?}: {ahead:?}"
        );
        assert_eq!((ahead.1, blocking.1), (3, 3), "{scheduler:?}");
        assert!((blocking.2 - ahead.2 - 52.0).abs() < 1e-6, "{scheduler:?}: {ahead:?} {blocking:?}");
    }
}

/// 32 tokens of adapter beside 8 blocks of 16: a request that fills them is rejected with an adapter, not without.
#[test]
fn adapters_in_the_pool_take_its_blocks() {
    for scheduler in [SchedulerKind::Vllm, SchedulerKind::Sarathi, SchedulerKind::VllmV1] {
        let outcome = |adapter, output| {
            let config = PoolConfig { blocks: 8, ..with(UNIFIED, scheduler) };
            let (report, left) = run(&asking(&[(0.0, 20, output, adapter)]), config, TOY);
            assert_eq!(left, [0, 0]);
            report.results[0].outcome
        };
        assert_eq!(outcome(BASE_MODEL, 100), Outcome::Completed);
        assert_eq!(outcome(0, 100), Outcome::Rejected(Rejection::NeverFits));
        assert_eq!(outcome(0, 70), Outcome::Completed);
        // 64 x 4 tokens are more than there is.
        assert_eq!(outcome(3, 1), Outcome::Rejected(Rejection::NeverFits));
    }
}

/// The running request grows into the blocks of the adapter that was loaded ahead, which gives them back: no scheduler preempts
/// for it, nor hangs.
#[test]
fn an_adapter_loaded_ahead_gives_way_to_running_requests() {
    for scheduler in [SchedulerKind::Vllm, SchedulerKind::Sarathi, SchedulerKind::VllmV1] {
        let adapters = AdapterConfig { prefetch: true, ..UNIFIED };
        let config = PoolConfig { blocks: 10, max_requests: 1, ..with(adapters, scheduler) };
        let (report, left) = run(&asking(&[(0.0, 40, 100, BASE_MODEL), (0.0, 40, 20, 2)]), config, TOY);
        assert_eq!(left, [0, 0], "{scheduler:?}");
        assert_eq!(report.preemptions, 0, "{scheduler:?}");
        assert!(report.results.iter().all(|result| result.outcome == Outcome::Completed), "{scheduler:?}");
    }
}

/// 64 adapters on 8 replicas with 8 slots each.
#[test]
fn adapter_affinity_loads_less_and_answers_sooner() {
    let mut trace = Trace { adapter_rank: vec![16; 64], ..Trace::default() };
    let mut draws = Stream::named(7, "fleet.adapters");
    let mut now_us = 0.0;
    for _ in 0..4_000 {
        now_us -= libm::log(draws.uniform()) * 300.0;
        let adapter = (draws.uniform() * 64.0) as u32;
        let (input_tokens, output_tokens) = (100, 20 + (draws.uniform() * 60.0) as u32);
        let max_tokens = output_tokens;
        trace.push(Request { arrival_us: now_us, user: 0, adapter, input_tokens, output_tokens, max_tokens });
    }
    let trace = Arc::new(trace);
    let adapters = AdapterConfig { max_loras: 8, max_cpu_loras: 64, ..SLOTS };
    for scheduler in SchedulerKind::ALL {
        let of = |router| {
            let config = PoolConfig { replicas: 8, ..with(adapters, scheduler) };
            let rules = FleetConfig { router, ..FleetConfig::default() };
            let report = fleet(Arc::clone(&trace), (rules, config), TOY).run();
            let ttft_us: f64 = (0..trace.len()).filter_map(|id| report.ttft_us(id)).sum();
            (report.adapters.loads, ttft_us / trace.len() as f64)
        };
        let (in_turn, by_adapter) = (of(RouterKind::RoundRobin), of(RouterKind::AdapterAffinity));
        assert!(2 * by_adapter.0 <= in_turn.0, "{scheduler:?}: {by_adapter:?} loads against {in_turn:?}");
        // S-LoRA's prompts wait for ten iterations, beside which loading is short.
        let is_sooner = by_adapter.1 < in_turn.1 || scheduler == SchedulerKind::Slora;
        assert!(is_sooner, "{scheduler:?}: {by_adapter:?} against {in_turn:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..servescope_testkit::cases(60, 600) })]

    /// Where no request asks for an adapter, no memory for them changes a bit.
    #[test]
    fn without_adapters_their_memory_does_not_matter(
        (trace, queueing) in sent_by_users(), config in any_config(), cost in any_cost(),
    ) {
        let mut trace = trace;
        trace.adapter.fill(BASE_MODEL);
        let trace = Arc::new(trace);
        let cost = if config.scheduler == SchedulerKind::LightLlm { Toy { stages: 1, ..cost } } else { cost };
        let of = |adapters, queueing: &QueueConfig| {
            let (mut report, _) = run_queued(&trace, (FleetConfig::default(), PoolConfig { adapters, ..config }), cost, queueing);
            report.adapters.stay = false;
            report
        };
        let free = of(AdapterConfig::FREE, &queueing);
        prop_assert_eq!(free.adapters.loads, 0);
        for adapters in [SLOTS, UNIFIED] {
            let other = of(adapters, &queueing);
            prop_assert_eq!(free.digest(), other.digest());
            prop_assert!(free.results == other.results && free.served == other.served);
            prop_assert_eq!(free.timeline.iterations.end_us(), other.timeline.iterations.end_us());
        }
    }

    /// More slots never lead to more loads where every waiting request is admitted at once.
    #[test]
    fn with_a_slot_for_each_an_adapter_is_loaded_once(
        (trace, queueing) in sent_by_users(), config in any_config(), cost in any_cost(),
    ) {
        let adapters = AdapterConfig { max_loras: 4, max_cpu_loras: 4, ..SLOTS };
        let config = PoolConfig { adapters, replicas: 1, ..config };
        let cost = if config.scheduler == SchedulerKind::LightLlm { Toy { stages: 1, ..cost } } else { cost };
        let (report, _) = run_queued(&Arc::new(trace), (FleetConfig::default(), config), cost, &queueing);
        let mut served: Vec<u32> = (0..report.results.len())
            .filter(|&id| report.scheduled_us(id).is_some())
            .map(|id| report.trace.adapter[id])
            .filter(|&adapter| adapter != BASE_MODEL)
            .collect();
        served.sort_unstable();
        served.dedup();
        prop_assert_eq!(report.adapters.loads, served.len() as u64);
        prop_assert_eq!(report.adapters.evictions, 0);
    }
}
