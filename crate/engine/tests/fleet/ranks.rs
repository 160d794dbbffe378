//! Data-parallel ranks: which gets a request, and passes that they run together.

use std::num::NonZeroU32;
use std::sync::Arc;

use servescope_engine::explain::cause::Cause;
use servescope_engine::explain::request_time::WhyTables;
use servescope_engine::{
    CountChange, DataParallel, Fleet, FleetConfig, Lockstep, Outcome, Pool, PoolConfig, RankChoice,
    Rearranging, Report, RouterKind, SchedulerKind, VllmRules,
};
use servescope_workload::{BASE_MODEL, Trace};

use super::toy::{TOY, Toy};
use crate::given::requests;

const LOCKSTEP: DataParallel = DataParallel {
    ranks: 2,
    lockstep: Some(Lockstep { sync_interval: 16, rearranging: None }),
    choice: RankChoice::RoundRobin,
    front_ends: 1,
};

fn at(rows: &[(f64, u32, u32)]) -> Arc<Trace> {
    Arc::new(requests(rows.iter().map(|&(at, input, output)| (at, 0, BASE_MODEL, input, output))))
}

fn pool(data_parallel: DataParallel, async_scheduling: bool) -> Pool {
    let vllm = VllmRules { async_scheduling, ..VllmRules::default() };
    let config =
        PoolConfig { scheduler: SchedulerKind::VllmV1, data_parallel, vllm, ..PoolConfig::default() };
    Pool::new(config, Box::new(Toy { hold: u64::from(u32::MAX), ..TOY }))
}

fn run(trace: &Arc<Trace>, data_parallel: DataParallel, async_scheduling: bool) -> Report {
    let pools = vec![pool(data_parallel, async_scheduling)];
    Fleet::new(Arc::clone(trace), FleetConfig::default(), pools).with_decisions().run()
}

/// One rank is an engine without ranks, to the bit.
#[test]
fn one_rank_is_an_engine() {
    let rows: Vec<(f64, u32, u32)> =
        (0..40).map(|i| (f64::from(i) * 3_000.0, 30 + i * 7, 5 + i % 9)).collect();
    let trace = at(&rows);
    let alone = run(&trace, DataParallel::ONE, true);
    for lockstep in [None, Some(Lockstep { sync_interval: 16, rearranging: None })] {
        let one = DataParallel { ranks: 1, lockstep, ..DataParallel::ONE };
        assert!(run(&trace, one, true) == alone, "{lockstep:?}");
    }
}

/// While one rank reads a long prompt, a request that decodes on the other gets no token, and its time says why.
#[test]
fn a_rank_waits_for_the_slowest() {
    let trace = at(&[(0.0, 16, 40), (1.0, 4_000, 2)]);
    let [apart, together] =
        [None, LOCKSTEP.lockstep].map(|lockstep| run(&trace, DataParallel { lockstep, ..LOCKSTEP }, false));
    assert_eq!((together.replica(0).index(), together.replica(1).index()), (0, 1));
    let gap = |report: &Report| report.longest_gap_us(0);
    assert!(gap(&together) > 3.0 * gap(&apart), "{} and {}", gap(&together), gap(&apart));
    let tables = WhyTables::of(&together).expect("decisions are kept");
    let time = tables.request(0);
    let causes = time.by_cause();
    assert_eq!(causes.iter().sum::<u64>(), time.end_ns - time.arrival_ns);
    let waited: f64 =
        together.timeline.iterations.of_replica(together.replica(0)).iter().map(|run| run.waited_us).sum();
    assert!((causes[Cause::OtherRanks as usize] as f64 - waited * 1e3).abs() < 2e3, "{causes:?} {waited}");
    assert!(WhyTables::of(&apart).expect("kept").request(0).by_cause()[Cause::OtherRanks as usize] == 0);
}

/// With one busy rank the other runs dummy batches, until all have asked each other at the sixteenth pass.
#[test]
fn a_wave_ends_where_all_ask_each_other() {
    for (output, passes) in [(1, 1), (2, 16), (16, 16), (17, 32)] {
        let report = run(&at(&[(0.0, 16, output)]), LOCKSTEP, false);
        let dummies: Vec<(usize, u32)> =
            report.timeline.dummy_batches.iter().map(|row| (row.replica.index(), row.passes)).collect();
        let own = passes - output;
        let expected = if own > 0 { vec![(1, passes), (0, own)] } else { vec![(1, passes)] };
        assert_eq!(dummies, expected, "{output} tokens");
    }
}

/// A request that comes in the last pass of a wave begins the next one at once; one that comes to an idle rank waits for the pass
/// under way.
#[test]
fn arrivals_join_at_the_next_pass() {
    let alone = run(&at(&[(0.0, 16, 1)]), LOCKSTEP, false);
    let end_us = alone.results[0].finish_us.expect("it ends");
    let report = run(&at(&[(0.0, 16, 1), (end_us * 0.5, 16, 1)]), LOCKSTEP, false);
    assert_eq!(report.scheduled_us(1), Some(end_us));
    let time = WhyTables::of(&report).expect("decisions are kept").request(1).by_cause();
    assert_eq!(time[Cause::OtherRanks as usize], (end_us * 0.5e3).round() as u64, "{time:?}");
}

/// Every so many passes one waits for the weights of experts, at all ranks, and a request's time says so. The first comes after a
/// quarter of the interval.
#[test]
fn passes_wait_for_experts_that_move() {
    let trace = at(&[(0.0, 16, 40)]);
    let with = |pause_us: u32| {
        let rearranging = NonZeroU32::new(16).map(|step_interval| Rearranging { step_interval, pause_us });
        let lockstep = Some(Lockstep { sync_interval: 16, rearranging });
        run(&trace, DataParallel { lockstep, ..LOCKSTEP }, false)
    };
    let end_us = |report: &Report| report.results[0].finish_us.expect("it ends");
    let (still, moved) = (run(&trace, LOCKSTEP, false), with(5_000));
    // Of the 40 passes of the request the 4th, the 20th and the 36th.
    assert_eq!(moved.timeline.rearrangements.len(), 3);
    assert!((end_us(&moved) - end_us(&still) - 15_000.0).abs() < 1e-6);
    let causes = WhyTables::of(&moved).expect("decisions are kept").request(0).by_cause();
    assert_eq!(causes[Cause::ExpertRearrangement as usize], 15_000_000, "{causes:?}");
    assert_eq!(causes[Cause::OtherRanks as usize], 0, "{causes:?}");
    let beside = with(0);
    assert_eq!((beside.timeline.rearrangements.len(), end_us(&beside)), (3, end_us(&still)));
}

/// A batch that was formed before its request turned out to have ended, in the last pass of a wave, runs as well; a replica that drains
/// stops then.
#[test]
fn a_replica_that_drains_runs_what_was_formed_ahead() {
    let short = (*at(&[(0.0, 64, 16), (1.0, 64, 16)])).clone();
    let trace = Arc::new(Trace { max_tokens: vec![40; 2], ..short });
    let own = pool(LOCKSTEP, true);
    let schedule = vec![CountChange { time_us: 2.0, replicas: 1 }];
    let own = Pool { config: PoolConfig { replicas: 2, ..own.config }, schedule, ..own };
    let rules = FleetConfig { router: RouterKind::RoundRobin, ..FleetConfig::default() };
    let report = Fleet::new(trace, rules, vec![own]).run();
    let drained: Vec<_> = report.replicas.iter().filter(|life| life.drain_us < f64::INFINITY).collect();
    assert!(!drained.is_empty() && drained.iter().all(|life| life.stop_us < f64::INFINITY), "{drained:?}");
}

/// Two replicas of two ranks: the router sees two addresses, or with ranks as addresses four.
#[test]
fn a_router_sees_replicas_or_ranks() {
    let rows: Vec<(f64, u32, u32)> = (0..8).map(|i| (f64::from(i), 64, 200)).collect();
    for (choice, expected) in
        [(RankChoice::RoundRobin, [0, 2, 1, 3, 0, 2, 1, 3]), (RankChoice::External, [0, 1, 2, 3, 0, 1, 2, 3])]
    {
        let own = pool(DataParallel { choice, lockstep: None, ..LOCKSTEP }, true);
        let own = Pool { config: PoolConfig { replicas: 2, ..own.config }, ..own };
        let rules = FleetConfig { router: RouterKind::RoundRobin, ..FleetConfig::default() };
        let report = Fleet::new(at(&rows), rules, vec![own]).run();
        let places: Vec<usize> = (0..8).map(|id| report.replica(id).index()).collect();
        assert_eq!(places, expected, "{choice:?}");
    }
}

/// Between two messages of the coordinator a burst spreads evenly by what the front end sent itself; the older rule counts what
/// it sent as waiting.
#[test]
fn a_burst_spreads_over_the_ranks() {
    let rows: Vec<(f64, u32, u32)> = (0..12).map(|i| (f64::from(i), 64, 50)).collect();
    for choice in [RankChoice::Vllm, RankChoice::VllmQueues, RankChoice::FewestRequests] {
        let report = run(&at(&rows), DataParallel { ranks: 4, choice, lockstep: None, ..LOCKSTEP }, true);
        for rank in 0..4 {
            let own = (0..12).filter(|&id| report.replica(id).index() == rank).count();
            assert_eq!(own, 3, "{choice:?}, rank {rank}");
        }
        assert!(report.results.iter().all(|result| result.outcome == Outcome::Completed));
    }
}
