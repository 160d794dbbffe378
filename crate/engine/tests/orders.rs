//! What must hold under every scheduling policy: leaps equal single steps to the last bit, every request gets an end, memory is
//! never over-committed, the GPU never idles while a request waits, users' names do not matter.

use servescope_engine::queue::ClientId;
use std::sync::Arc;

use crate::given::{Memory, any_config, any_cost, any_trace};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use servescope_engine::queue::DrrConfig;
use servescope_engine::queue::OutputAccounting;
use servescope_engine::queue::{Client, QueueConfig, QueuePolicy};
use servescope_engine::queue::{Lift, Prediction, TokenCost, VtcConfig};
use servescope_engine::timeline::IterationRun;
use servescope_engine::{AdapterConfig, Fleet, Outcome, PoolConfig, Report};

fn any_charging() -> impl Strategy<Value = OutputAccounting> {
    prop_oneof![
        Just(OutputAccounting::Slora),
        Just(OutputAccounting::Ideal),
        Just(OutputAccounting::Artifact)
    ]
}

prop_compose! {
    fn any_fair()(
        weights in prop::collection::vec(prop_oneof![Just(1.0), Just(2.0), Just(3.0), 0.1..5.0f64], 0..4),
        prices in (0.0..3.0f64, prop_oneof![Just(2.0), 0.1..4.0f64]),
        profile in any::<bool>(),
        accounting in any_charging(),
        lift in prop_oneof![Just(Lift::Waiting), Just(Lift::Paper), Just(Lift::Never), Just(Lift::Max)],
        prediction in prop_oneof![3 => Just(Prediction::None), 1 => Just(Prediction::History), 1 => Just(Prediction::Given)],
    ) -> VtcConfig {
        let cost = if profile { TokenCost::Profile } else { TokenCost::Linear };
        VtcConfig { weights, input_price: prices.0, output_price: prices.1, cost, accounting, lift, prediction }
    }
}

/// Orders that favour no user by name, if `weights` are left out.
fn any_order(weighted: bool) -> impl Strategy<Value = QueuePolicy> {
    let fair = any_fair().prop_map(move |fair| {
        QueuePolicy::Vtc(VtcConfig { weights: if weighted { fair.weights } else { Vec::new() }, ..fair })
    });
    let round_robin = (any_charging(), prop_oneof![Just(None), (1.0..500.0f64).prop_map(Some)]);
    let classes = if weighted { vec![0.0, 2.0, 1.0] } else { Vec::new() };
    prop_oneof![
        1 => Just(QueuePolicy::Fcfs),
        1 => Just(QueuePolicy::Lifo),
        1 => Just(QueuePolicy::Sjf),
        1 => (0.0..1e7f64).prop_map(move |ageing_us| QueuePolicy::Priority { classes: classes.clone(), ageing_us }),
        1 => (1u32..5).prop_map(|adapters| QueuePolicy::Cluster { adapters }),
        1 => Just(QueuePolicy::Peft),
        1 => Just(QueuePolicy::Pets),
        1 => (1e5..8e6f64).prop_map(|bound_us| QueuePolicy::EarlyAbort { bound_us }),
        1 => (1u32..40).prop_map(|limit| QueuePolicy::Rpm { limit }),
        4 => fair,
        2 => round_robin.prop_map(|(accounting, quantum)| {
            QueuePolicy::Drr(DrrConfig { accounting, quantum, ..DrrConfig::default() })
        }),
    ]
}

prop_compose! {
    fn any_queueing(weighted: bool)(
        order in any_order(weighted),
        by_adapter in any::<bool>(),
        predictions in prop_oneof![Just(None), prop::collection::vec(0.0..200.0f64, 80).prop_map(Some)],
    ) -> QueueConfig {
        let client = if by_adapter { Client::Adapter } else { Client::User };
        QueueConfig { policy: order, client, predictions }
    }
}

/// While the GPU idles no request waits: one that is scheduled after a gap arrived at its end or later.
fn check_work_conservation(report: &Report) {
    let mut gaps = Vec::new();
    let mut end = 0.0;
    for run in &report.timeline.iterations {
        let (start, until) = (run.start_us, run.end_us);
        if start > end {
            gaps.push(start);
        }
        end = until;
    }
    for id in 0..report.results.len() {
        let Some(scheduled) = report.scheduled_us(id) else { continue };
        let arrival = report.trace.arrival_us[id];
        let idled = gaps.iter().find(|&&gap_end| arrival < gap_end && gap_end <= scheduled);
        assert!(idled.is_none(), "request {id} of {arrival} waits to {scheduled} through {idled:?}");
    }
}

proptest! {
    #![proptest_config(servescope_testkit::cases(40, 400))]

    #[test]
    fn every_policy_conserves_requests_and_tokens(
        trace in any_trace(),
        config in any_config(),
        cost in any_cost(),
        queueing in any_queueing(true),
        prefetch_adapters in any::<bool>(),
    ) {
        let trace = Arc::new(trace);
        let adapters = AdapterConfig { prefetch: prefetch_adapters, ..config.adapters };
        let config = PoolConfig { adapters, ..config };
        let start = || Fleet::of_pool(Arc::clone(&trace), config, Box::new(cost)).with_queue_policy(queueing.clone());
        let report = start().run();
        let (most, stepped) = Memory::watched(start(), &trace);
        prop_assert_eq!(&stepped, &report);
        prop_assert!(most < u64::from(config.blocks), "KV over the pool: {most}");
        let produced: u64 = report.results.iter().map(|f| u64::from(f.produced)).sum();
        let made = |run: &IterationRun| u64::from(run.prompts) + u64::from(run.iterations) * u64::from(run.decodes);
        let tokens = report.timeline.iterations.iter().map(made);
        prop_assert_eq!(tokens.sum::<u64>(), produced, "tokens of the iterations and of the requests");
        if !config.reference_quirks {
            prop_assert!(report.results.iter().all(|f| f.outcome != Outcome::Unfinished));
        }
    }

    #[test]
    fn no_request_waits_while_the_gpu_idles(
        trace in any_trace(), config in any_config(), cost in any_cost(), queueing in any_queueing(true),
    ) {
        let config = PoolConfig { idle_poll_us: 0.0, reference_quirks: false, ..config };
        let report = Fleet::of_pool(Arc::new(trace), config, Box::new(cost)).with_queue_policy(queueing).run();
        check_work_conservation(&report);
    }

    #[test]
    fn relabelling_users_permutes_results(
        trace in any_trace(), config in any_config(), cost in any_cost(), order in any_order(false),
    ) {
        let mut relabelled = trace.clone();
        relabelled.user.iter_mut().for_each(|u| *u = 3 - *u);
        let run = |trace| {
            let queueing = QueueConfig { policy: order.clone(), ..QueueConfig::default() };
            Fleet::of_pool(Arc::new(trace), config, Box::new(cost)).with_queue_policy(queueing).run()
        };
        let (a, b) = (run(trace), run(relabelled));
        prop_assert_eq!(&a.results, &b.results);
        let mut mapped = a.counters.map(|c| c.values).unwrap_or_default();
        mapped.iter_mut().for_each(|(user, _)| *user = ClientId::new(3 - user.get()));
        prop_assert_eq!(mapped, b.counters.map(|c| c.values).unwrap_or_default());
    }
}

#[test]
fn a_poll_too_short_for_the_clock_does_not_hang_early_abort() {
    let (mut runner, strategy) = (proptest::test_runner::TestRunner::deterministic(), any_trace());
    for _ in 0..20 {
        let trace = strategy.new_tree(&mut runner).expect("a trace").current();
        let config = PoolConfig { idle_poll_us: 1e-297, reference_quirks: true, ..PoolConfig::slora() };
        let cost = servescope_cost::CALIBRATIONS[0].cost;
        let queueing =
            QueueConfig { policy: QueuePolicy::EarlyAbort { bound_us: 1e6 }, ..QueueConfig::default() };
        let mut simulation =
            Fleet::of_pool(Arc::new(trace), config, Box::new(cost)).with_queue_policy(queueing);
        assert!(simulation.advance(1_000_000));
    }
}
