//! Pools whose number of replicas a rule chooses.

use std::sync::Arc;

use proptest::prelude::*;
use servescope_engine::{
    Autoscaling, ColdStart, DrainChoice, Fleet, FleetConfig, OptimizationTarget, Pool, ReplicaIndex, Report,
    ScalingInput, ScalingKind, ScalingLimit, ScalingMetric,
};
use servescope_workload::Trace;

use super::any::sent_by_users;
use super::checks::{check_memory, check_waits};
use super::conserved;
use super::pools::{any_pool, at, check_lives, pool};
use crate::given::any_rules;

/// Waiting and running requests, at most two a replica.
const HPA: ScalingKind = ScalingKind::Hpa { metric: ScalingMetric::Concurrency, target: 2.0, tolerance: 0.1 };

/// A decision every 5 ms on a look every 2 ms.
const QUICK: Autoscaling = Autoscaling {
    kind: HPA,
    min: 1,
    max: 6,
    interval_us: 5_000.0,
    scrape_us: 2_000.0,
    scrape_delay_us: 0.0,
    window_us: 0.0,
    up_cooldown_us: 0.0,
    down_cooldown_us: 20_000.0,
    step_up: u32::MAX,
    step_down: u32::MAX,
};

fn any_kind() -> impl Strategy<Value = ScalingKind> {
    let metric = prop_oneof![
        Just((ScalingMetric::NumRequestsWaiting, 1.0)),
        Just((ScalingMetric::Concurrency, 3.0)),
        Just((ScalingMetric::KvCacheUsage, 0.3)),
    ];
    let tolerance = 0.1;
    prop_oneof![
        metric.clone().prop_map(move |(metric, target)| ScalingKind::Hpa { metric, target, tolerance }),
        metric.clone().prop_map(move |(metric, target)| ScalingKind::Apa { metric, target, tolerance }),
        metric.prop_map(move |(metric, target)| ScalingKind::Kpa { metric, target, tolerance }),
        Just(ScalingKind::Keda { threshold: 2.0, tolerance }),
        Just(ScalingKind::KedaTokens { prefill_tokens_per_s: Some(50.0), tolerance }),
        Just(ScalingKind::KedaTokens { prefill_tokens_per_s: None, tolerance }),
        Just(ScalingKind::WvaSaturation),
        Just(ScalingKind::DynamoEasy(OptimizationTarget::Throughput)),
        Just(ScalingKind::DynamoEasy(OptimizationTarget::Latency)),
        Just(ScalingKind::DynamoSla { ttft_us: 900.0, itl_us: 200.0 }),
    ]
}

prop_compose! {
    pub(super) fn any_scaled_pool()(
        pool in any_pool(),
        kind in any_kind(),
        (min, more) in (1u32..3, 0u32..4),
        (interval, scrape, delay) in (500u32..20_000, 300u32..9_000, prop_oneof![Just(0u32), 1u32..6_000]),
        (window, up, down) in (0u32..9_000, prop_oneof![Just(0u32), 1u32..9_000], 0u32..20_000),
        (step_up, step_down) in (prop_oneof![Just(u32::MAX), 1u32..3], prop_oneof![Just(u32::MAX), 1u32..3]),
        (variation, probe) in (prop_oneof![Just(0.0), Just(0.3)], prop_oneof![Just(0.0), Just(700.0)]),
        drain_choice in prop_oneof![
            Just(DrainChoice::Newest), Just(DrainChoice::LeastLoaded), Just(DrainChoice::Random),
        ],
    ) -> Pool {
        let us = f64::from;
        let scaling = Autoscaling {
            kind, min, max: min + more,
            interval_us: us(interval), scrape_us: us(scrape), scrape_delay_us: us(delay),
            window_us: us(window), up_cooldown_us: us(up), down_cooldown_us: us(down), step_up, step_down,
        };
        let cold_start = ColdStart { variation, probe_us: probe, seed: 3, ..pool.cold_start };
        Pool { autoscaling: Some(scaling), schedule: Vec::new(), cold_start, drain_choice, ..pool }
    }
}

/// Every decision is within its bounds, and is what became of the replicas.
fn check_decisions(report: &Report, pools: &[Pool]) {
    for decision in &report.scaling {
        let config = pools[usize::from(decision.pool)].autoscaling.unwrap();
        assert!((config.min..=config.max).contains(&decision.desired), "{decision:?}");
        assert_eq!(decision.limit == ScalingLimit::None, decision.wished == decision.desired, "{decision:?}");
        assert!(decision.value.is_finite() && decision.bound.is_finite(), "{decision:?}");
        let lives = report.replicas.iter().filter(|life| life.pool == decision.pool && life.rank == 0);
        let counted =
            lives.filter(|life| life.start_us <= decision.time_us && life.drain_us > decision.time_us);
        assert_eq!(counted.count() as u32, decision.desired, "{decision:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..servescope_testkit::cases(200, 3_000) })]

    #[test]
    fn scaled_pools_conserve_requests_and_blocks_and_leap_as_they_step(
        (trace, queueing) in sent_by_users(), pools in prop::collection::vec(any_scaled_pool(), 1..3),
        rules in any_rules(9_000), times in 1usize..80,
    ) {
        let trace = Arc::new(trace);
        let fleet = || Fleet::new(Arc::clone(&trace), rules, pools.clone()).with_queue_policy(queueing.clone());
        let leaps = conserved(fleet, times);
        check_waits(&leaps, rules.queue_timeout_us);
        check_lives(&leaps);
        check_memory(&leaps);
        check_decisions(&leaps, &pools);
    }

    /// A rule that may not change anything is no rule.
    #[test]
    fn a_rule_without_room_changes_no_bit(
        (trace, queueing) in sent_by_users(), own in any_scaled_pool(), rules in any_rules(9_000),
    ) {
        let trace = Arc::new(trace);
        let replicas = own.config.replicas;
        let fixed = own.autoscaling.map(|own| Autoscaling { min: replicas, max: replicas, ..own });
        let of = |autoscaling| {
            let pool = Pool { autoscaling, ..own.clone() };
            Fleet::new(Arc::clone(&trace), rules, vec![pool]).with_queue_policy(queueing.clone()).run()
        };
        let (with, without) = (of(fixed), of(None));
        prop_assert_eq!(with.digest(), without.digest());
        prop_assert!(with.results == without.results && with.timeline == without.timeline);
        prop_assert!(with.replicas == without.replicas);
    }
}

/// A request every 400 us up to 40,000 us, each of which takes some 4,000 us of a replica.
fn steady() -> Arc<Trace> {
    let times: Vec<f64> = (0..100).map(|i| 400.0 * f64::from(i)).collect();
    at(&times, 100, 40)
}

fn scaled(autoscaling: Autoscaling, cold_start: ColdStart) -> Report {
    let rules =
        FleetConfig { router: servescope_engine::RouterKind::LeastOutstanding, ..FleetConfig::default() };
    let pool = Pool { autoscaling: Some(autoscaling), cold_start, ..pool(1, 1.0) };
    Fleet::new(steady(), rules, vec![pool]).run()
}

/// The first decision that sees the load starts replicas, and none of them has a request before its start is over.
#[test]
fn nothing_answers_before_the_look_the_decision_and_the_start() {
    for (scrape_us, delay_us, interval_us, start_us) in
        [(2_000.0, 0.0, 5_000.0, 7_000.0), (2_000.0, 6_000.0, 5_000.0, 0.0), (9_000.0, 0.0, 5_000.0, 3_000.0)]
    {
        let config = Autoscaling { scrape_us, scrape_delay_us: delay_us, interval_us, ..QUICK };
        let report = scaled(config, ColdStart::fixed(start_us));
        let first = report.scaling.iter().find(|decision| decision.is_action()).unwrap();
        assert!(first.time_us >= scrape_us + delay_us, "{first:?}");
        assert_eq!(first.input, ScalingInput::Concurrency);
        assert!(first.value > first.bound && first.desired > 1, "{first:?}");
        let before = report.scaling.iter().take_while(|decision| decision.time_us < scrape_us + delay_us);
        assert!(before.into_iter().all(|decision| decision.input == ScalingInput::Nothing));
        let earliest_us = (0..100)
            .filter(|&id| report.replica(id) != ReplicaIndex::new(0))
            .map(|id| report.trace.arrival_us[id])
            .fold(f64::INFINITY, f64::min);
        assert!(earliest_us >= first.time_us + start_us, "{earliest_us} us, {first:?}");
    }
}

#[test]
fn replicas_that_start_are_billed_and_those_that_are_too_many_drain() {
    let report = scaled(QUICK, ColdStart::fixed(3_000.0));
    let added = report.replicas.iter().filter(|life| life.start_us > 0.0);
    assert!(added.clone().count() >= 2);
    assert!(added.clone().all(|life| life.ready_us == life.start_us + 3_000.0));
    let last_us = report.results.iter().filter_map(|result| result.finish_us).fold(0.0, f64::max);
    let billed: f64 = report.replicas.iter().map(|life| life.billed_us(last_us)).sum();
    assert_eq!(report.billed_us(last_us, |_| 1.0), billed);
    // After the last arrival the load falls, and the highest wish of 20 ms later one replica drains.
    assert!(report.scaling.iter().any(|decision| decision.desired < decision.ready));
}

#[test]
fn a_decision_says_what_kept_it_from_the_wish() {
    let limit_of = |config: Autoscaling| {
        let report = scaled(config, ColdStart::fixed(3_000.0));
        report.scaling.iter().map(|decision| decision.limit).collect::<Vec<_>>()
    };
    assert!(limit_of(Autoscaling { max: 2, ..QUICK }).contains(&ScalingLimit::Max));
    assert!(limit_of(Autoscaling { step_up: 1, ..QUICK }).contains(&ScalingLimit::StepUp));
    assert!(limit_of(QUICK).contains(&ScalingLimit::Stabilization));
    let dynamo = ScalingKind::DynamoSla { ttft_us: 1.0, itl_us: 1.0 };
    let waits = Autoscaling { kind: dynamo, interval_us: 1_000.0, ..QUICK };
    assert!(limit_of(waits).contains(&ScalingLimit::Starting));
}

/// The newest of the replicas that are ready goes, or the one with the fewest requests.
#[test]
fn the_replica_that_drains_is_chosen() {
    use servescope_engine::CountChange;
    let drained = |drain_choice| {
        // The third replica is given nothing less than the others, in turn, and ends last: the longest output is its own.
        let rows = [(0.0, 4), (1.0, 400), (2.0, 400)];
        let trace = crate::given::requests(
            rows.iter().map(|&(at, output)| (at, 0, servescope_workload::BASE_MODEL, 100, output)),
        );
        let schedule = vec![CountChange { time_us: 20_000.0, replicas: 2 }];
        let own = Pool { schedule, drain_choice, ..pool(3, 1.0) };
        let report = Fleet::new(Arc::new(trace), FleetConfig::default(), vec![own]).run();
        report.replicas.iter().position(|life| life.drain_us < f64::INFINITY).unwrap()
    };
    assert_eq!(drained(DrainChoice::Newest), 2);
    assert_eq!(drained(DrainChoice::LeastLoaded), 0);
    assert_eq!(drained(DrainChoice::Random), drained(DrainChoice::Random));
}
