//! Single cases: where Vidur asserts or leaks, and what cannot be said of every fleet.

use std::sync::Arc;

use crate::given::{fleet, requests};
use servescope_engine::queue::{QueueConfig, QueuePolicy};
use servescope_engine::{
    Equals, Fleet, FleetConfig, LongPrefill, PoolConfig, Preemption, RouterKind, SchedulerKind, VllmRules,
};
use servescope_engine::{Outcome, Report};
use servescope_workload::{BASE_MODEL, Trace};

use super::run;
use super::toy::{TOY, Toy};

fn fixed(rows: &[(f64, u32, u32)]) -> Arc<Trace> {
    Arc::new(requests(rows.iter().map(|&(at, input, output)| (at, 0, BASE_MODEL, input, output))))
}

/// Vidur: the second prompt is over the budget, blocks the queue, and the run ends in an assertion with one completed.
#[test]
fn a_prompt_over_the_budget_is_refused_or_blocks_as_in_the_original() {
    let trace = fixed(&[(0.0, 100, 5), (1.0, 1_500, 5), (2.0, 100, 5)]);
    let config = PoolConfig { max_batch_tokens: 1_024, ..PoolConfig::default() };
    let (ours, _) = run(&trace, config, TOY);
    let outcomes: Vec<&str> = ours.results.iter().map(|f| f.outcome.name()).collect();
    assert_eq!(outcomes, ["completed", "prompt_over_batch", "completed"]);
    let (theirs, _) = run(&trace, PoolConfig { reference_quirks: true, ..config }, TOY);
    let outcomes: Vec<&str> = theirs.results.iter().map(|f| f.outcome.name()).collect();
    assert_eq!(outcomes, ["completed", "unfinished", "unfinished"]);
}

/// Vidur's static batches keep the memory of early finishers for ever: in the end requests run one at a time.
#[test]
fn static_batches_leak_only_as_the_original() {
    let rows: Vec<(f64, u32, u32)> = (0..60).map(|i| (0.0, 20, 5 + i * 7 % 30)).collect();
    let config = PoolConfig {
        scheduler: SchedulerKind::Static,
        blocks: 80,
        max_slots: 8,
        max_request_tokens: 160,
        ..PoolConfig::default()
    };
    let batches =
        |report: &Report| report.timeline.iterations.iter().map(|run| u64::from(run.iterations)).sum();
    let (ours, left) = run(&fixed(&rows), config, TOY);
    let (theirs, leaked) = run(&fixed(&rows), PoolConfig { reference_quirks: true, ..config }, TOY);
    assert_eq!((left[0], leaked[0]), (0, 70), "all but one slot of 10 blocks leak");
    let (ours, theirs): (u64, u64) = (batches(&ours), batches(&theirs));
    assert!(theirs > 2 * ours, "{theirs} iterations against {ours}");
}

/// Vidur: a request that fills the memory preempts itself for its next token. Nothing runs then, and it is admitted again when
/// another one arrives, although that one stands behind it.
#[test]
fn who_evicted_itself_is_let_in_again_by_the_next_arrival_in_the_original() {
    let trace = fixed(&[(0.0, 40, 2), (1e6, 5, 1)]);
    let finishes = |reference_quirks, stages| {
        let config = PoolConfig { reference_quirks, blocks: 3, watermark_blocks: 0, ..PoolConfig::default() };
        let (report, _) = run(&trace, config, Toy { stages, ..TOY });
        assert!(report.results.iter().all(|result| result.outcome == Outcome::Completed));
        assert_eq!(report.preemptions(0), 1);
        report.results[0].finish_us.unwrap()
    };
    for stages in [1, 2] {
        assert!(finishes(true, stages) > 1e6);
        assert!(finishes(false, stages) < 1e6);
    }
}

/// Of a run that ends at a time, what ends later is not done, and what ended before is as without that end.
#[test]
fn a_run_may_end_at_a_time() {
    let trace = fixed(&[(0.0, 40, 30), (10.0, 40, 300), (9_000.0, 5, 1)]);
    let whole = run(&trace, PoolConfig::default(), TOY).0;
    let end_us = whole.results[0].finish_us.unwrap() + 100.0;
    for stages in [1, 2] {
        let cost = Box::new(Toy { stages, ..TOY });
        let report = Fleet::of_pool(Arc::clone(&trace), PoolConfig::default(), cost).until(end_us).run();
        let outcomes: Vec<Outcome> = report.results.iter().map(|result| result.outcome).collect();
        assert_eq!(outcomes[1..], [Outcome::Unfinished; 2]);
        let last = report.timeline.iterations.iter().map(|run| run.end_us).fold(0.0, f64::max);
        assert!(last <= end_us && last > end_us - 200.0, "{last} beside {end_us}");
        assert!(stages > 1 || report.results[0].finish_us == whole.results[0].finish_us);
    }
}

/// Vidur takes the prefilled part of a prompt for the whole prompt when it preempts the request; here it is recomputed.
#[test]
fn a_partly_prefilled_prompt_is_recomputed() {
    // Memory for the second prompt is taken whole, and the first then needs a block.
    let trace = fixed(&[(0.0, 60, 40), (10.0, 90, 3)]);
    let config = PoolConfig {
        scheduler: SchedulerKind::Sarathi,
        blocks: 10,
        watermark_blocks: 0,
        chunk_tokens: 10,
        ..PoolConfig::default()
    };
    let prompt_tokens =
        |report: &Report| report.timeline.iterations.iter().map(|run| run.prompt_tokens).sum::<u32>();
    let (ours, _) = run(&trace, config, TOY);
    let (theirs, _) = run(&trace, PoolConfig { reference_quirks: true, ..config }, TOY);
    assert!(ours.preemptions(1) > 0 && theirs.preemptions(1) > 0);
    assert!(prompt_tokens(&ours) > 150, "its read part is read twice");
    assert!(prompt_tokens(&theirs) < 150, "its unread part is generated token by token");
}

/// A request that fills the memory alone evicts itself; Vidur stops there.
#[test]
fn a_request_that_fills_the_memory_alone_is_served() {
    let trace = fixed(&[(0.0, 30, 50)]);
    let config = PoolConfig { blocks: 5, watermark_blocks: 1, ..PoolConfig::default() };
    let (ours, left) = run(&trace, config, TOY);
    assert_eq!((ours.results[0].outcome, left[0]), (Outcome::Completed, 0));
    let (theirs, _) = run(&trace, PoolConfig { reference_quirks: true, ..config }, TOY);
    assert_eq!(theirs.results[0].outcome, Outcome::Unfinished);
}

/// All requests are there from the start and iterations take a time each, so copies make the run longer and change nothing else.
#[test]
fn a_swapped_request_is_not_read_again_and_its_copies_take_their_time() {
    let rows: Vec<(f64, u32, u32)> = (0..12).map(|i| (0.0, 20 + i, 30 + 3 * i)).collect();
    for scheduler in [SchedulerKind::Vllm, SchedulerKind::Sarathi] {
        let of = |host_blocks, us_per_block| {
            let preemption = Preemption::Swap { host_blocks, us_per_block };
            let config = PoolConfig {
                scheduler,
                blocks: 12,
                watermark_blocks: 0,
                preemption,
                ..PoolConfig::default()
            };
            let (report, left) = run(&fixed(&rows), config, Toy { hold: u64::MAX / 2, ..TOY });
            assert_eq!(left, [0, 0]);
            let read: u32 = report.timeline.iterations.iter().map(|run| run.prompt_tokens).sum();
            let end_us = report.results.iter().filter_map(|result| result.finish_us).fold(0.0, f64::max);
            (report.preemptions, read, end_us)
        };
        let asked: u32 = rows.iter().map(|row| row.1).sum();
        let (swaps, read, end_us) = of(1_000, 0.0);
        assert!(swaps > 3 && read == asked, "{scheduler:?}: {swaps} swaps, {read} tokens of {asked}");
        let (again, _, slower_us) = of(1_000, 10.0);
        let copies = (slower_us - end_us) / 10.0;
        assert_eq!(again, swaps);
        assert!(copies >= 2.0 * swaps as f64 && (copies - copies.round()).abs() < 1e-6, "{copies} blocks");
        let (_, read, _) = of(0, 0.0);
        assert!(read > asked, "without room on the host they are read again");
    }
}

/// Vidur draws replicas from Python's `random`, seeded with the run's seed.
#[test]
fn the_originals_random_router_draws_as_python_does() {
    let requests: Vec<(f64, u32, u32)> = (0..12).map(|i| (f64::from(i), 5, 2)).collect();
    let config = PoolConfig { reference_quirks: true, replicas: 3, ..PoolConfig::default() };
    let rules =
        FleetConfig { router: RouterKind::Random, draws_as_python: true, seed: 42, ..FleetConfig::default() };
    let report = fleet(fixed(&requests), (rules, config), TOY).run();
    let replicas: Vec<u16> = (0..12).map(|id| report.replica(id).get()).collect();
    assert_eq!(replicas, [2, 0, 0, 2, 1, 0, 0, 0, 2, 0, 2, 2]);
}

/// Three prompts of the same priority and arrival, read in pieces, two of which do not fit beside each other: vLLM has them
/// preempt each other in turn for ever.
#[test]
fn equally_urgent_requests_get_on_where_the_first_one_stays() {
    let trace = Arc::new(requests((0..3).map(|user| (0.0, user, BASE_MODEL, 79, 40))));
    let is_over = |equals| {
        let rules = VllmRules {
            scheduler_reserve_full_isl: false,
            long_prefill_token_threshold: LongPrefill::Tokens(28),
            equals,
            ..VllmRules::default()
        };
        let config = PoolConfig {
            scheduler: SchedulerKind::VllmV1,
            blocks: 136,
            block_size: 1,
            watermark_blocks: 0,
            max_batch_tokens: 227,
            vllm: rules,
            ..PoolConfig::default()
        };
        let order = QueuePolicy::Priority { classes: vec![0.0], ageing_us: 0.0 };
        let queueing = QueueConfig { policy: order, ..QueueConfig::default() };
        Fleet::of_pool(Arc::clone(&trace), config, Box::new(TOY)).with_queue_policy(queueing).advance(20_000)
    };
    assert_eq!([Equals::FirstAdmitted, Equals::LastAdmitted].map(is_over), [false, true]);
}
