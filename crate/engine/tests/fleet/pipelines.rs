//! Pipelines: the turns of their batches are played at once or one by one, with equal bits.

use std::sync::Arc;

use proptest::prelude::*;
use servescope_engine::queue::{QueueConfig, QueuePolicy};
use servescope_engine::{Fleet, FleetConfig, PoolConfig, Report, SchedulerKind, VllmRules};
use servescope_workload::trace::Request;
use servescope_workload::{BASE_MODEL, Trace};

use crate::given::{any_rules, fleet, requests};

use super::any::{any_config, any_order, any_trace};
use super::toy::{TOY, Toy};

prop_compose! {
    /// Few requests with long answers, some of which come while others decode, and clients that go away.
    fn long_answers()(
        rows in prop::collection::vec((prop_oneof![Just(0u32), 0u32..30_000], 1u32..60, 1u32..400, 0u32..4), 1..14),
        cancels in prop_oneof![2 => Just(vec![]), 1 => prop::collection::vec((0u32..90_000, 0usize..14), 1..4)],
    ) -> Trace {
        let mut trace = Trace { adapter_rank: vec![8, 16, 64, 8], ..Trace::default() };
        let mut arrival_us = 0.0;
        for (gap, input_tokens, output_tokens, adapter) in rows {
            arrival_us += f64::from(gap);
            let adapter = if adapter == 0 { BASE_MODEL } else { adapter };
            let user = output_tokens % 3;
            trace.push(Request { arrival_us, user, adapter, input_tokens, output_tokens, max_tokens: output_tokens });
        }
        trace.cancellations =
            cancels.into_iter().map(|(at, id)| (f64::from(at), (id % trace.len()) as u32)).collect();
        trace.sort_cancellations();
        trace
    }
}

/// What a fleet makes of a trace: with turns played at once, and one by one.
#[expect(clippy::large_types_passed_by_value, reason = "they are passed on")]
fn both(
    trace: &Arc<Trace>,
    settings: (FleetConfig, PoolConfig),
    cost: Toy,
    policy: &QueuePolicy,
    decides: bool,
) -> [Report; 2] {
    [false, true].map(|singly| {
        let queueing = QueueConfig { policy: policy.clone(), ..QueueConfig::default() };
        let fleet = fleet(Arc::clone(trace), settings, cost).with_queue_policy(queueing);
        let fleet = if decides { fleet.with_decisions() } else { fleet };
        if singly { fleet.without_fast_forward().run() } else { fleet.run() }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..servescope_testkit::cases(150, 3_000) })]

    #[test]
    fn turns_at_once_equal_single_steps(
        trace in prop_oneof![3 => long_answers(), 1 => any_trace()],
        config in any_config(),
        rules in any_rules(9_000),
        scheduler in prop::sample::select(&[SchedulerKind::Orca, SchedulerKind::Vllm, SchedulerKind::Sarathi, SchedulerKind::Static, SchedulerKind::LightLlm][..]),
        policy in prop_oneof![2 => Just(QueuePolicy::Fcfs), 1 => any_order()],
        (replicas, stages, growth_us, hold) in
            (prop_oneof![2 => Just(1u32), 1 => 2u32..4], 2u32..6, prop_oneof![Just(0.0), Just(0.37)], 1u64..20),
        (blocks, max_requests, decides) in (10u32..400, 2u32..24, any::<bool>()),
    ) {
        let cost = Toy { stages, growth_us, hold };
        let (block_size, max_request_tokens) = (config.block_size.max(4), 500);
        let config =
            PoolConfig { scheduler, replicas, blocks, block_size, max_requests, max_request_tokens, ..config };
        let [together, alone] = both(&Arc::new(trace), (rules, config), cost, &policy, decides);
        prop_assert_eq!(together.digest(), alone.digest());
        prop_assert!(together == alone, "equal outcomes, other timelines");
    }
}

/// When the first token of a request alone on two stages is there, and its last one.
fn alone_on_two_stages(vllm: VllmRules) -> (f64, f64) {
    let trace = Arc::new(requests([(0.0, 0, BASE_MODEL, 200, 20)]));
    let scheduler = SchedulerKind::VllmV1;
    let config = PoolConfig { scheduler, max_batch_tokens: 50, vllm, ..PoolConfig::default() };
    let report = Fleet::of_pool(trace, config, Box::new(Toy { stages: 2, ..TOY })).run();
    (report.first_token_us(0).unwrap(), report.results[0].finish_us.unwrap())
}

/// The chunks of its prompt make no tokens and overlap on the stages; its decodes follow each other over all of them.
#[test]
fn stages_wait_for_tokens_under_asynchronous_scheduling() {
    let rules = VllmRules::default();
    let waiting = alone_on_two_stages(rules);
    let synchronous = alone_on_two_stages(VllmRules { async_scheduling: false, ..rules });
    let without_workers = alone_on_two_stages(VllmRules { stages_wait_for_tokens: false, ..rules });
    assert_eq!(waiting, synchronous, "of one request nothing is scheduled ahead of its token");
    assert_eq!(waiting.0, without_workers.0);
    assert!(without_workers.1 < waiting.1 - 1_000.0, "{without_workers:?} {waiting:?}");
}

/// A static batch is formed as soon as a stage has room for one more, also while the batch before it is under way.
#[test]
fn a_static_batch_of_an_arrival_joins_a_pipeline_that_runs() {
    let config =
        PoolConfig { scheduler: SchedulerKind::Static, max_request_tokens: 300, ..PoolConfig::default() };
    let run = |rows: &[(f64, u32, u32, u32, u32)]| {
        let trace = Arc::new(requests(rows.iter().copied()));
        let [together, singly] = both(
            &trace,
            (FleetConfig::default(), config),
            Toy { stages: 2, ..TOY },
            &QueuePolicy::Fcfs,
            false,
        );
        assert!(together == singly);
        together
    };
    let first = (0.0, 0, BASE_MODEL, 200, 40);
    let alone = run(&[first]);
    let arrival_us = 0.5 * (alone.first_token_us(0).unwrap() + alone.results[0].finish_us.unwrap());
    let two = run(&[first, (arrival_us, 0, BASE_MODEL, 100, 3)]);
    assert_eq!(two.scheduled_us(1), Some(arrival_us));
    assert!(two.results[1].finish_us.unwrap() < two.results[0].finish_us.unwrap());
}
