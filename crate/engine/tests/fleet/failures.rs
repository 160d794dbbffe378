//! Pools whose replicas fail.

use std::sync::Arc;

use proptest::prelude::*;
use servescope_engine::explain::cause::Cause;
use servescope_engine::explain::request_time::WhyTables;
use servescope_engine::{
    ColdStart, Failures, Fleet, FleetConfig, MOST_FAILURES, Outcome, Pool, Rejection, Report, RouterKind,
};

use super::any::sent_by_users;
use super::checks::{check_memory, room};
use super::pools::{any_pool, at, pool};
use super::{check_causes, conserved};
use crate::given::any_rules;

prop_compose! {
    fn any_failing_pool()(
        pool in any_pool(), times in prop::collection::vec(0u32..20_000, 0..5),
        mean_us in prop_oneof![Just(f64::INFINITY), 3_000.0..50_000.0f64],
    ) -> Pool {
        Pool { failures: Failures { times_us: times.into_iter().map(f64::from).collect(), mean_us }, ..pool }
    }
}

/// Each failure is the end of a replica, and another one begins at that time.
fn check_failures(report: &Report) {
    for failure in &report.failures {
        let life = report.replicas[failure.replica.index()];
        assert!(
            life.fails && life.drain_us == failure.time_us && life.ready_us <= failure.time_us,
            "{life:?}"
        );
        assert!(
            report.replicas.iter().any(|other| other.start_us == failure.time_us && other.pool == life.pool)
        );
    }
    for restart in &report.restarts {
        assert!(restart.time_us >= report.trace.arrival_us[restart.request], "{restart:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..servescope_testkit::cases(200, 3_000) })]

    /// Whatever fails and when: every request ends once, no block stays in use, its time has causes, and leaps are steps.
    #[test]
    fn failing_pools_conserve_requests_and_blocks_and_leap_as_they_step(
        (trace, queueing) in sent_by_users(), pools in prop::collection::vec(any_failing_pool(), 1..3),
        rules in any_rules(9_000), failure_retries in 0u32..4, times in 1usize..80,
    ) {
        let trace = Arc::new(trace);
        let rules = FleetConfig { failure_retries, ..rules };
        let fleet = || Fleet::new(Arc::clone(&trace), rules, pools.clone()).with_queue_policy(queueing.clone());
        let leaps = conserved(fleet, times);
        for (id, result) in leaps.results.iter().enumerate() {
            let config = &pools[usize::from(leaps.replicas[leaps.replica(id).index()].pool)].config;
            let asked = leaps.trace.output_tokens[id].min(room(config, leaps.trace.input_tokens[id]));
            prop_assert!(result.produced <= asked, "request {}", id);
            prop_assert!(result.outcome != Outcome::Completed || result.produced == asked, "request {}", id);
        }
        check_failures(&leaps);
        check_memory(&leaps);
        check_causes(&fleet().with_decisions().run());
    }
}

fn failing(replicas: u32, failures_us: &[f64], start_us: f64, failure_retries: u32) -> Report {
    let pool = Pool {
        failures: Failures { times_us: failures_us.to_vec(), ..Failures::NONE },
        cold_start: ColdStart::fixed(start_us),
        ..pool(replicas, 1.0)
    };
    let rules =
        FleetConfig { failure_retries, router: RouterKind::LeastOutstanding, ..FleetConfig::default() };
    let times: Vec<f64> = (0..40).map(|i| 500.0 * f64::from(i)).collect();
    Fleet::new(at(&times, 100, 40), rules, vec![pool]).with_decisions().run()
}

/// A replica fails at 10,000 us, with the requests that it had; another one is ready 6,000 us later.
#[test]
fn lost_requests_end_with_an_error_or_begin_again() {
    let failed = failing(2, &[10_000.0], 6_000.0, 0);
    let is_lost = |outcome| outcome == Outcome::Rejected(Rejection::ReplicaFailed);
    let lost = failed.results.iter().filter(|result| is_lost(result.outcome)).count();
    assert!(lost > 0 && lost as u32 == failed.failures[0].lost && failed.restarts.is_empty());
    let again = failing(2, &[10_000.0], 6_000.0, 3);
    assert!(again.results.iter().all(|result| result.outcome == Outcome::Completed && result.produced == 40));
    assert_eq!(again.restarts.len(), lost);
    assert!(again.restarts.iter().any(|restart| restart.lost_tokens > 0));
    let why = WhyTables::of(&again).unwrap();
    for restart in &again.restarts {
        let time = why.request(restart.request.index());
        let waited_ns = time.by_cause()[Cause::ReplicaFailure as usize];
        assert_eq!(waited_ns, (restart.time_us * 1e3).round() as u64 - time.arrival_ns, "{restart:?}");
    }
    let lives = &again.replicas;
    assert_eq!((lives.len(), lives.iter().filter(|life| life.fails).count()), (3, 1));
    assert_eq!((lives[2].start_us, lives[2].ready_us), (10_000.0, 16_000.0));
}

/// The only replica fails: requests wait until the next one is ready, and then go on in their order.
#[test]
fn without_a_replica_requests_wait_for_one() {
    let report = failing(1, &[5_000.0], 8_000.0, 3);
    assert!(report.results.iter().all(|result| result.outcome == Outcome::Completed));
    let came_meanwhile = |id: &usize| (5_000.0..13_000.0).contains(&report.trace.arrival_us[*id]);
    let ids: Vec<usize> = (0..40).filter(came_meanwhile).collect();
    assert!(ids.len() > 10 && ids.iter().all(|&id| report.scheduled_us(id).unwrap() >= 13_000.0));
    assert!(ids.iter().all(|&id| report.restarts.iter().any(|restart| restart.request.index() == id)));
}

/// Without a failure no bit changes, and a failure after the last request is none.
#[test]
fn nothing_fails_when_nothing_is_left_to_do() {
    let [none, late] = [&[][..], &[1e9][..]].map(|times| failing(2, times, 0.0, 3));
    assert!(none == late && late.failures.is_empty());
}

/// Four replicas that run 100,000 us each on average: over 2,000,000 us some 80 of them fail.
#[test]
fn replicas_fail_as_often_as_their_mean_time_says() {
    let failures = Failures { mean_us: 100_000.0, ..Failures::NONE };
    let pool = Pool { failures, ..pool(4, 1.0) };
    let times: Vec<f64> = (0..1_000).map(|i| 2_000.0 * f64::from(i)).collect();
    let rules = FleetConfig { seed: 5, ..FleetConfig::default() };
    let report = Fleet::new(at(&times, 10, 2), rules, vec![pool]).run();
    assert!((60..=100).contains(&report.failures.len()), "{}", report.failures.len());
    assert!(report.results.iter().all(|result| result.outcome == Outcome::Completed));
}

/// However often replicas fail, a run has so many failures, and ends.
#[test]
fn failures_of_a_run_are_bounded() {
    let failures = Failures { mean_us: 1.0, ..Failures::NONE };
    let pool = Pool { failures, ..pool(2, 1.0) };
    let report = Fleet::new(at(&[0.0, 5_000.0], 100, 40), FleetConfig::default(), vec![pool]).run();
    assert_eq!(report.failures.len(), MOST_FAILURES);
    assert!(report.results.iter().all(|result| result.outcome != Outcome::Unfinished));
}
