//! Fleets of unequal pools, and pools that grow and shrink.

use std::num::NonZeroU32;
use std::sync::Arc;

use proptest::prelude::*;
use servescope_engine::queue::QueueConfig;
use servescope_engine::{
    ColdStart, CountChange, DataParallel, Fleet, FleetConfig, Lockstep, Outcome, Pool, PoolConfig,
    RankChoice, Rearranging, Rejection, ReplicaIndex, Report, RouterKind, SchedulerKind,
};
use servescope_workload::{BASE_MODEL, Trace};

use super::any::{any_config, any_cost, on_its_stages, sent_by_users};
use super::checks::{check_memory, check_waits};
use super::toy::{Slow, TOY, Toy};
use super::{conserved, to_the_end};
use crate::given::{any_rules, requests};

pub(super) fn any_ranks() -> impl Strategy<Value = DataParallel> {
    let choice = prop_oneof![
        Just(RankChoice::Vllm),
        Just(RankChoice::VllmQueues),
        Just(RankChoice::RoundRobin),
        Just(RankChoice::FewestRequests),
        Just(RankChoice::External),
    ];
    let rearranging = (1u32..40, prop_oneof![Just(0u32), 0u32..5_000]).prop_map(|(interval, pause_us)| {
        NonZeroU32::new(interval).map(|step_interval| Rearranging { step_interval, pause_us })
    });
    let rearranging = prop_oneof![2 => Just(None), 1 => rearranging];
    let lockstep = (1u32..20, rearranging)
        .prop_map(|(sync_interval, rearranging)| Lockstep { sync_interval, rearranging });
    let several = (2u32..5, prop::option::of(lockstep), choice, 1u32..4);
    let of = |(ranks, lockstep, choice, front_ends)| DataParallel { ranks, lockstep, choice, front_ends };
    prop_oneof![Just(DataParallel::ONE), several.prop_map(of)]
}

prop_compose! {
    pub(super) fn any_pool()(
        config in any_config(),
        cost in any_cost(),
        schedule in prop::collection::vec((0u32..60_000, 1u32..5), 0..4),
        start_up_us in prop_oneof![Just(0.0), (0u32..9_000).prop_map(f64::from)],
        data_parallel in any_ranks(),
    ) -> Pool {
        let cost = on_its_stages(config.scheduler, cost);
        let mut schedule: Vec<CountChange> =
            schedule.into_iter().map(|(at, replicas)| CountChange { time_us: at.into(), replicas }).collect();
        schedule.sort_by(|one, other| one.time_us.total_cmp(&other.time_us));
        let config = PoolConfig { reference_quirks: false, data_parallel, ..config };
        let cold_start = ColdStart::fixed(start_up_us);
        Pool { schedule, cold_start, ..Pool::new(config, Box::new(cost)) }
    }
}

/// Every request was given to a replica that was ready and did not drain, and a replica that stopped had no request left.
pub(super) fn check_lives(report: &Report) {
    for life in &report.replicas {
        assert!(life.start_us <= life.ready_us, "{life:?}");
        assert!(life.drain_us <= life.stop_us && life.start_us <= life.drain_us, "{life:?}");
    }
    let asked_us = report.gateway.as_ref().map_or(&report.trace.arrival_us, |log| &log.forwarded_us);
    for (id, &at_us) in asked_us.iter().enumerate() {
        if report.scheduled_us(id).is_none() {
            continue;
        }
        let life = report.replicas[report.replica(id).index()];
        assert!(life.ready_us <= at_us && at_us <= life.drain_us, "request {id} at {at_us}: {life:?}");
        assert!(
            report.results[id].finish_us.is_none_or(|finish_us| finish_us <= life.stop_us),
            "request {id}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..servescope_testkit::cases(150, 2_000) })]

    #[test]
    fn pools_conserve_requests_and_blocks_and_leap_as_they_step(
        (trace, queueing) in sent_by_users(), pools in prop::collection::vec(any_pool(), 1..4),
        rules in any_rules(9_000), times in 1usize..80,
    ) {
        let trace = Arc::new(trace);
        let fleet = || Fleet::new(Arc::clone(&trace), rules, pools.clone()).with_queue_policy(queueing.clone());
        let leaps = conserved(fleet, times);
        check_waits(&leaps, rules.queue_timeout_us);
        check_lives(&leaps);
        check_memory(&leaps);
    }

    /// Pools that are alike are one pool.
    #[test]
    fn equal_pools_are_one(
        (trace, queueing) in sent_by_users(), pool in any_pool(), rules in any_rules(9_000),
    ) {
        let trace = Arc::new(trace);
        let of = |counts: &[u32]| {
            let with = |&replicas: &u32| {
                Pool { config: PoolConfig { replicas, ..pool.config }, schedule: Vec::new(), ..pool.clone() }
            };
            let pools = counts.iter().map(with).collect();
            Fleet::new(Arc::clone(&trace), rules, pools).with_queue_policy(queueing.clone()).run()
        };
        let (one, two) = (of(&[3]), of(&[1, 2]));
        prop_assert_eq!(one.digest(), two.digest());
        prop_assert!(one.results == two.results && one.timeline == two.timeline);
    }
}

pub(super) fn at(times_us: &[f64], input: u32, output: u32) -> Arc<Trace> {
    Arc::new(requests(times_us.iter().map(|&at| (at, 0, BASE_MODEL, input, output))))
}

pub(super) fn pool(replicas: u32, slower: f64) -> Pool {
    let config = PoolConfig { replicas, ..PoolConfig::default() };
    Pool::new(config, Box::new(Slow(Toy { hold: u64::from(u32::MAX), ..TOY }, slower)))
}

/// Two replicas, one of which takes four times as long: in turn they get as many requests, by load the quick one gets more.
#[test]
fn a_router_by_load_gives_the_slower_pool_less() {
    let times: Vec<f64> = (0..200).map(|i| f64::from(i) * 700.0).collect();
    let of = |router| {
        let rules = FleetConfig { router, ..FleetConfig::default() };
        let report = Fleet::new(at(&times, 100, 20), rules, vec![pool(1, 1.0), pool(1, 4.0)]).run();
        let to_slow = (0..times.len()).filter(|&id| report.replica(id).index() == 1).count();
        let e2e_us = (0..times.len()).filter_map(|id| report.e2e_us(id)).sum::<f64>() / times.len() as f64;
        (to_slow, e2e_us, report)
    };
    let (in_turn, turn_us, report) = of(RouterKind::RoundRobin);
    let (by_load, load_us, _) = of(RouterKind::LeastOutstanding);
    assert_eq!(in_turn, 100);
    assert!(by_load < 60 && load_us < turn_us, "{by_load} requests, {load_us} against {turn_us} us");
    // A request alone on its replica takes four times as long on the slow one.
    let alone = |pools| Fleet::new(at(&[0.0], 100, 20), FleetConfig::default(), pools).run();
    let [quick, slow] = [1.0, 4.0].map(|slower| alone(vec![pool(1, slower)]).e2e_us(0).unwrap());
    assert_eq!((quick * 4.0, report.e2e_us(0)), (slow, Some(quick)));
}

/// What one pool has no room for goes to the other; what none has room for is rejected.
#[test]
fn requests_go_to_pools_that_can_serve_them() {
    let small = Pool {
        config: PoolConfig { blocks: 10, watermark_blocks: 0, ..pool(1, 1.0).config },
        ..pool(1, 1.0)
    };
    let rows = [(0.0, 100, 20), (1.0, 400, 20), (2.0, 100, 20), (3.0, 400, 20), (4.0, 200_000, 20)];
    let trace = requests(rows.iter().map(|&(at, input, output)| (at, 0, BASE_MODEL, input, output)));
    let pools = vec![
        small,
        Pool { config: PoolConfig { max_batch_tokens: 8_192, ..pool(1, 1.0).config }, ..pool(1, 1.0) },
    ];
    let report = Fleet::new(Arc::new(trace), FleetConfig::default(), pools).run();
    let replicas: Vec<u16> = (0..4).map(|id| report.replica(id).get()).collect();
    assert_eq!(replicas, [0, 1, 0, 1]);
    assert_eq!(report.results[4].outcome, Outcome::Rejected(Rejection::RequestTooLong));
}

/// One replica; a second one is asked for at 1,000 us and ready at 3,000; at 20,000 us the pool is to have one again.
#[test]
fn a_pool_grows_after_its_start_up_and_drains() {
    let times: Vec<f64> = (0..60).map(|i| 500.0 * f64::from(i)).collect();
    let changes = [(1_000.0, 2), (20_000.0, 1)].map(|(time_us, replicas)| CountChange { time_us, replicas });
    let pool = Pool { schedule: changes.to_vec(), cold_start: ColdStart::fixed(2_000.0), ..pool(1, 1.0) };
    let rules = FleetConfig { router: RouterKind::LeastOutstanding, ..FleetConfig::default() };
    let report = Fleet::new(at(&times, 100, 40), rules, vec![pool]).run();
    assert_eq!(report.replicas.len(), 2);
    check_lives(&report);
    let second = ReplicaIndex::new(1);
    let to_second: Vec<usize> = (0..times.len()).filter(|&id| report.replica(id) == second).collect();
    // At equal times arrivals come first: the request of 3,000 us does not see it.
    assert!(times[to_second[0]] == 3_500.0, "{to_second:?}");
    let drained = report.replicas.iter().position(|life| life.drain_us < f64::INFINITY).unwrap();
    let life = report.replicas[drained];
    let last = (0..times.len()).filter(|&id| report.replica(id).index() == drained);
    let last_us = last.filter_map(|id| report.results[id].finish_us).fold(0.0, f64::max);
    assert_eq!((life.drain_us, life.stop_us), (20_000.0, last_us));
    // Paid from when it was asked for.
    let second_us = report.replicas[1].billed_us(report.end_us());
    assert_eq!(second_us, report.replicas[1].stop_us.min(report.end_us()) - 1_000.0);
}

/// Whether a replica that has not begun is given up before one that serves.
#[test]
fn a_replica_that_starts_is_given_up_first() {
    let changes = [(1_000.0, 3), (2_000.0, 1)].map(|(time_us, replicas)| CountChange { time_us, replicas });
    let pool = Pool { schedule: changes.to_vec(), cold_start: ColdStart::fixed(5_000.0), ..pool(1, 1.0) };
    let trace = at(&[0.0, 7_000.0], 100, 40);
    let report = Fleet::new(trace, FleetConfig::default(), vec![pool]).run();
    let lives: Vec<(f64, f64)> = report.replicas.iter().map(|life| (life.drain_us, life.stop_us)).collect();
    assert_eq!(lives, [(f64::INFINITY, f64::INFINITY), (2_000.0, 2_000.0), (2_000.0, 2_000.0)]);
    assert_eq!(report.replica(1), ReplicaIndex::new(0));
}

/// A scheduler of its own in each pool.
#[test]
fn pools_may_have_unlike_schedulers() {
    let times: Vec<f64> = (0..40).map(|i| 300.0 * f64::from(i)).collect();
    let of = |scheduler| {
        let base =
            if scheduler == SchedulerKind::Slora { PoolConfig::slora() } else { PoolConfig::default() };
        Pool::new(PoolConfig { scheduler, ..base }, Box::new(TOY))
    };
    let pools = SchedulerKind::ALL.map(of).to_vec();
    let fleet = Fleet::new(at(&times, 60, 10), FleetConfig::default(), pools)
        .with_queue_policy(QueueConfig::default());
    let (report, left) = to_the_end(fleet);
    assert!(left.iter().all(|&blocks| blocks == 0));
    assert!((0..times.len()).all(|id| report.is_completed(id)));
}
