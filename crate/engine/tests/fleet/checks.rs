//! What holds of every fleet's report.

use servescope_engine::ReplicaIndex;
use servescope_engine::metrics::fleet::ReplicaRow;
use servescope_engine::metrics::summary::SummaryContext;
use servescope_engine::metrics::token_gaps::InterTokenLatencies;
use servescope_engine::metrics::{Slo, fleet_summary, summarise, usage};
use servescope_engine::request_timings::PrefixLookups;
use servescope_engine::{Outcome, PoolConfig, Rejection, Report, SchedulerKind};

/// Most tokens of an answer to a prompt: what would go beyond them is cut.
pub(crate) fn room(config: &PoolConfig, input: u32) -> u32 {
    if config.scheduler != SchedulerKind::Sglang {
        return config.max_request_tokens.saturating_sub(input);
    }
    // init_req_max_new_tokens of SGLang: the longest request, then the pool in whole pages.
    let (page, pool) = (config.block_size, config.blocks * config.block_size);
    let longest = config.max_request_tokens.min(pool) - 1;
    let in_pool = pool.saturating_sub(input.next_multiple_of(page) + page + 1);
    longest.saturating_sub(input + 1).min(in_pool).max(1)
}

/// What holds of the requests of a pool.
pub(crate) fn check_requests(report: &Report, config: &PoolConfig) {
    for (id, result) in report.results.iter().enumerate() {
        let arrival = report.trace.arrival_us[id];
        let (scheduled, first) = (report.scheduled_us(id), report.first_token_us(id));
        match result.outcome {
            Outcome::Completed => {
                let room = room(config, report.trace.input_tokens[id]);
                assert_eq!(result.produced, report.trace.output_tokens[id].min(room), "request {id}");
            }
            Outcome::Cancelled => assert_eq!(scheduled.is_some(), result.finish_us.is_some(), "request {id}"),
            // SGLang lets it in with one token, and ends it with that.
            Outcome::Rejected(Rejection::RequestTooLong) if config.scheduler == SchedulerKind::Sglang => {}
            // SGLang holds a request that it retracted to the bound of its waiting queue too.
            Outcome::Rejected(Rejection::QueueFull) if config.scheduler == SchedulerKind::Sglang => {
                assert_eq!(scheduled.is_some(), result.finish_us.is_some(), "request {id}");
                let was_retracted = report.timeline.preemptions.iter().any(|event| event.id.index() == id);
                assert!(scheduled.is_none() || was_retracted, "request {id}");
            }
            Outcome::Rejected(_) | Outcome::TimedOut => {
                assert!(scheduled.is_none() && result.finish_us.is_none(), "request {id}");
            }
            Outcome::Unfinished => panic!("request {id} is not done"),
        }
        assert_eq!(first.is_some(), result.produced > 0, "request {id}: a token is a first token");
        let (Some(scheduled), Some(finish)) = (scheduled, result.finish_us) else { continue };
        assert!(arrival <= scheduled && scheduled <= finish, "request {id}");
        if let Some(first) = first {
            assert!(scheduled < first && first <= finish, "request {id}");
            let is_done = result.outcome == Outcome::Completed;
            assert!(!is_done || (result.produced == 1) == (first == finish), "request {id}: one token");
        }
        let split = report.split(id).unwrap();
        assert_eq!(split.total_us(), finish - arrival);
        assert!(split.stalled_us >= -1e-6 && split.prefill_us >= 0.0, "request {id}: {split:?}");
    }
}

/// A held request is sent when the one before it has ended and its client has thought, or at its own time.
pub(crate) fn check_waits(report: &Report, queue_timeout_us: f64) {
    let Some(closed_loop) = &report.trace.closed_loop else { return };
    assert!(report.trace.arrival_us.is_sorted(), "sent out of order");
    let cancelled = |id: usize| report.trace.cancellations.iter().find(|c| c.1 as usize == id).map(|c| c.0);
    for (id, (&before, &think_us)) in closed_loop.depends_on.iter().zip(&closed_loop.think_us).enumerate() {
        let Some(result) = report.results.get(before as usize) else { continue };
        let arrival = report.trace.arrival_us[before as usize];
        let end = match (result.finish_us, result.outcome) {
            (Some(finish), _) => finish,
            (None, Outcome::Cancelled) => cancelled(before as usize).unwrap().max(arrival),
            (None, Outcome::TimedOut) => arrival + queue_timeout_us,
            (None, _) => arrival,
        };
        assert!(report.trace.arrival_us[id] >= end + think_us, "request {id} is sent too early");
    }
}

/// The longest gap of any request is the longest of all gaps, and each is at least its request's mean.
fn check_longest_gaps(report: &Report) {
    let all = 0..report.results.len();
    let longest_us = all.clone().map(|id| report.longest_gap_us(id)).fold(0.0, f64::max);
    let told_us = InterTokenLatencies::of(&report.timeline).distribution().max.unwrap_or(0.0);
    assert!((longest_us - told_us).abs() < 1e-3, "{longest_us} and {told_us}");
    for id in all.filter(|&id| report.is_completed(id)) {
        let gap_us = report.longest_gap_us(id);
        let Some(tpot_us) = report.tpot_us(id) else {
            assert_eq!(gap_us, 0.0, "request {id} has one token");
            continue;
        };
        let produced = f64::from(report.results[id].produced);
        let all_us = tpot_us * (produced - 1.0);
        assert!(gap_us > tpot_us - 1e-3 && gap_us < all_us + 1e-3, "request {id}: {gap_us} {tpot_us}");
        assert!(produced > 2.0 || (gap_us - all_us).abs() < 1e-3, "request {id}: its one gap");
    }
}

pub(crate) fn check_tokens(report: &Report) {
    check_longest_gaps(report);
    let all = 0..report.results.len();
    let produced: u64 = report.results.iter().map(|result| u64::from(result.produced)).sum();
    let firsts = all.clone().filter(|&id| report.first_token_us(id).is_some()).count() as u64;
    let gaps = InterTokenLatencies::of(&report.timeline).count();
    let beside: u64 = all.clone().map(|id| u64::from(report.drafts(id).further_tokens)).sum();
    assert_eq!(produced, firsts + gaps + beside, "a token for each first token and each gap");
    let read: u64 = report.timeline.iterations.iter().map(|run| u64::from(run.prompt_tokens)).sum();
    let asked = |outcome| -> u64 {
        let those = all.clone().filter(|&id| report.results[id].outcome == outcome);
        those.map(|id| u64::from(report.trace.input_tokens[id])).sum()
    };
    let completed = asked(Outcome::Completed);
    let found = |lookups: &PrefixLookups| lookups.cached_tokens + lookups.host_tokens;
    let kept = |id: usize| {
        let previous = report.goes_on_from(id).filter(|_| report.scheduled_us(id).is_some())?.index();
        Some(u64::from(report.trace.input_tokens[previous] + report.results[previous].produced - 1))
    };
    let kept: u64 = all.clone().filter_map(kept).sum();
    let cached: u64 = kept + report.prefix_lookups.iter().map(found).sum::<u64>();
    // The last token of a prompt of which all others are cached is no prompt beside drafts.
    let padded = if report.drafts.is_some() { firsts + report.preemptions } else { 0 };
    assert!(read + cached + padded >= completed);
    if report.preemptions == 0 {
        // Where all of a prompt was loaded, its last token is computed again.
        let loads = report.timeline.kv_copies.iter().filter(|copy| copy.is_load);
        let again = loads.map(|copy| copy.requests.len() as u64).sum::<u64>();
        // SGLang reads a token in the place of a prompt that is too long.
        let rejected = Outcome::Rejected(Rejection::RequestTooLong);
        let rejected = report.results.iter().filter(|result| result.outcome == rejected).count() as u64;
        assert!(read + cached <= completed + asked(Outcome::Cancelled) + again + rejected, "prompt tokens");
    }
}

/// Memory is full at the most, what is held on average is no more than that, and no replica works longer than the run.
pub(crate) fn check_memory(report: &Report) {
    let context = SummaryContext {
        slo: Slo { ttft_s: 1.0, tpot_s: 0.1, tbt_s: 1.0 },
        rate_rps: None,
        flops: None,
        table_rows: 0,
    };
    let summary = summarise(report, &InterTokenLatencies::of(&report.timeline), &context);
    let is_sound = |mean: Option<f64>, peak: Option<f64>| match (mean, peak) {
        (Some(mean), Some(peak)) => peak <= 1.0 && (0.0..=peak + 1e-9).contains(&mean),
        (mean, peak) => mean.is_none_or(|mean| mean == 0.0) && peak.is_none_or(|peak| peak == 0.0),
    };
    assert!(is_sound(summary.kv.mean_usage, summary.kv.peak_usage), "{:?}", summary.kv);
    assert!(summary.gpu.busy.is_none_or(|busy| busy <= 1.0 + 1e-9), "{:?}", summary.gpu);
    let (usage, _) = usage(report);
    let rows = fleet_summary(report, &usage).per_replica;
    for row in &rows {
        assert!(is_sound(row.mean_kv, row.peak_kv), "{row:?}");
        assert!(row.busy.is_none_or(|busy| busy <= 1.0 + 1e-9), "{row:?}");
        assert!(row.prefix_hit_rate.is_none_or(|rate| (0.0..1.0).contains(&rate)), "{row:?}");
    }
    let weight = |row: &ReplicaRow| f64::from(report.pools[usize::from(row.pool)].kv_tokens) * row.billed_s;
    let all: f64 = rows.iter().map(weight).sum();
    let mean = rows.iter().filter_map(|row| Some(row.mean_kv? * weight(row))).sum::<f64>() / all;
    assert!(
        summary.kv.mean_usage.is_none_or(|all| mean <= all + 1e-9 && (rows.len() > 1 || mean >= all - 1e-9))
    );
}

/// Of one stage: iterations of a replica do not overlap, and while a request waits its replica works.
pub(crate) fn check_work(report: &Report, in_turn: bool) {
    for replica in ReplicaIndex::first(report.replicas.len()) {
        let runs: Vec<_> = report.timeline.iterations.iter().filter(|run| run.replica == replica).collect();
        assert!(runs.windows(2).all(|w| w[0].end_us <= w[1].start_us), "iterations overlap");
        let mut scheduled_before = 0.0;
        for id in (0..report.results.len()).filter(|&id| report.replica(id) == replica) {
            let Some(scheduled) = report.scheduled_us(id) else { continue };
            assert!(!in_turn || scheduled >= scheduled_before, "request {id} overtakes");
            scheduled_before = scheduled;
            let mut from = report.trace.arrival_us[id];
            for run in &runs {
                if run.start_us <= from && run.end_us > from {
                    from = run.end_us;
                }
            }
            if report.pool(replica).host_kv_tokens > 0 {
                continue;
            }
            assert!(
                from >= scheduled,
                "the replica is idle at {from} while request {id} waits until {scheduled}"
            );
        }
    }
}
