//! What must hold for every trace, server and cost: leaps equal single steps to the last bit, nothing is lost, no request
//! overtakes, memory is never over-committed, and every request's time adds up.

use std::sync::Arc;

use crate::given::{Memory, any_config, any_cost, any_rules, any_trace, fleet, requests};
use proptest::prelude::*;
use servescope_cost::{AdapterCost, LinearCost};
use servescope_engine::metrics::slora::satisfaction;
use servescope_engine::metrics::summary::SummaryContext;
use servescope_engine::metrics::token_gaps::InterTokenLatencies;
use servescope_engine::metrics::{Distribution, Slo, summarise};
use servescope_engine::{AdapterConfig, AdapterLoading, Fleet, FleetConfig, Outcome, PoolConfig, Report};
use servescope_workload::{BASE_MODEL, Trace};

fn check_every_request(report: &Report) {
    let trace = &report.trace;
    let mut scheduled_before = 0.0;
    for (id, result) in report.results.iter().enumerate() {
        let arrival = trace.arrival_us[id];
        let (scheduled, first) = (report.scheduled_us(id), report.first_token_us(id));
        match result.outcome {
            Outcome::Completed => {
                assert_eq!(result.produced, trace.output_tokens[id], "request {id}: tokens");
                assert!(result.finish_us.is_some());
            }
            Outcome::Rejected(_) | Outcome::Unfinished | Outcome::TimedOut => {
                assert!(scheduled.is_none() && result.finish_us.is_none());
            }
            Outcome::Cancelled => assert_eq!(scheduled.is_some(), result.finish_us.is_some()),
        }
        let (Some(scheduled), Some(first), Some(finish)) = (scheduled, first, result.finish_us) else {
            continue;
        };
        assert!(
            arrival <= scheduled && scheduled <= first && first <= finish,
            "request {id}: times out of order"
        );
        assert!(scheduled >= scheduled_before, "request {id} was overtaken");
        scheduled_before = scheduled;
        let split = report.split(id).expect("a finished request has a split");
        assert_eq!(split.total_us(), finish - arrival, "request {id}: its time does not add up");
        assert!(split.parts().iter().all(|&part| part >= 0.0), "request {id}: a negative part in {split:?}");
        assert!((split.queue_us - (scheduled - arrival)).abs() <= 1e-6 * (1.0 + finish));
    }
}

/// A held request is sent at the end of the one before plus its think time, or at its own time.
fn check_waits(report: &Report, asked: &Trace, queue_timeout_us: f64) {
    let Some(closed_loop) = &report.trace.closed_loop else { return };
    assert!(report.trace.arrival_us.is_sorted(), "sent out of order");
    let cancel = |id: usize| report.trace.cancellations.iter().find(|c| c.1 as usize == id).map(|c| c.0);
    for (id, (&before, &think_us)) in closed_loop.depends_on.iter().zip(&closed_loop.think_us).enumerate() {
        let (sent, before) = (report.trace.arrival_us[id], before as usize);
        let Some(result) = report.results.get(before) else {
            assert!(asked.arrival_us.contains(&sent), "{id} waits for no request");
            continue;
        };
        let arrival = report.trace.arrival_us[before];
        let end = match (result.finish_us, result.outcome) {
            (Some(finish), _) => finish,
            (None, Outcome::Cancelled) => cancel(before).unwrap().max(arrival),
            (None, Outcome::TimedOut) => arrival + queue_timeout_us,
            (None, _) => arrival,
        };
        assert!(sent < closed_loop.until_us);
        assert!(sent == end + think_us || sent > end + think_us && asked.arrival_us.contains(&sent), "{id}");
    }
}

fn check_timeline(report: &Report) {
    let mut now = 0.0;
    let mut tokens = 0u64;
    for run in &report.timeline.iterations {
        // A prompt's end gives a token, too.
        tokens += u64::from(run.prompts) + u64::from(run.iterations) * u64::from(run.decodes);
        assert!(run.start_us >= now && run.end_us >= run.start_us, "iterations overlap");
        now = run.end_us;
    }
    let produced: u64 = report.results.iter().map(|f| u64::from(f.produced)).sum();
    assert_eq!(tokens, produced, "tokens of the iterations and of the requests");
}

proptest! {
    #![proptest_config(servescope_testkit::cases(40, 400))]

    #[test]
    fn a_run_conserves_requests_and_tokens(
        trace in any_trace(), config in any_config(), rules in any_rules(10_000_000), cost in any_cost(),
    ) {
        let trace = Arc::new(trace);
        let report = fleet(Arc::clone(&trace), (rules, config), cost).run();
        check_every_request(&report);
        check_timeline(&report);
        check_waits(&report, &trace, rules.queue_timeout_us);

        // One decode iteration at a time gives the same bits.
        let (most, stepped) = Memory::watched(fleet(Arc::clone(&trace), (rules, config), cost), &trace);
        prop_assert_eq!(&stepped, &report);
        prop_assert_eq!(stepped.digest(), report.digest());
        prop_assert!(most < u64::from(config.blocks), "KV over the pool: {most}");

        // A request that is not stuck behind one that S-LoRA would never admit gets an end.
        if !config.reference_quirks {
            prop_assert!(report.results.iter().all(|f| f.outcome != Outcome::Unfinished));
        }

        let context = SummaryContext {
            slo: Slo { ttft_s: 1.0, tpot_s: 0.1, tbt_s: 1.0 },
            rate_rps: Some(2.0),
            flops: Some((7e9, 1e14)),
            table_rows: 10,
        };
        let summary = summarise(&report, &InterTokenLatencies::of(&report.timeline), &context);
        let counts = &summary.requests;
        prop_assert_eq!(
            counts.offered,
            counts.completed
                + counts.rejected_total
                + counts.timed_out
                + counts.cancelled
                + counts.unfinished
        );
        prop_assert_eq!(summary.per_user.iter().map(|r| u64::from(r.offered)).sum::<u64>(), counts.offered);
        for usage in [summary.kv.mean_usage, summary.kv.peak_usage, summary.gpu.busy, summary.slo.attainment] {
            prop_assert!(usage.is_none_or(|u| (0.0..=1.0 + 1e-9).contains(&u)), "{usage:?}");
        }
    }

    #[test]
    fn scaling_all_times_scales_the_run(
        trace in any_trace(), config in any_config(), rules in any_rules(10_000_000), cost in any_cost(),
    ) {
        // A power of two scales floating-point numbers exactly.
        const K: f64 = 4.0;
        let mut slow = trace.clone();
        slow.arrival_us.iter_mut().for_each(|t| *t *= K);
        slow.cancellations.iter_mut().for_each(|c| c.0 *= K);
        if let Some(closed_loop) = &mut slow.closed_loop {
            closed_loop.think_us.iter_mut().for_each(|t| *t *= K);
            closed_loop.until_us *= K;
        }
        let loading = config.adapters.loading;
        let loading = AdapterLoading {
            base_us: loading.base_us * K,
            host_us_per_rank: loading.host_us_per_rank * K,
            disk_us_per_rank: loading.disk_us_per_rank * K,
        };
        let slow_config = PoolConfig {
            adapters: AdapterConfig { loading, ..config.adapters },
            idle_poll_us: config.idle_poll_us * K,
            ..config
        };
        let slow_rules = FleetConfig { queue_timeout_us: rules.queue_timeout_us * K, ..rules };
        let a = &cost.adapters;
        let slow_cost = LinearCost {
            prefill_base_us: cost.prefill_base_us * K,
            prefill_per_token_us: cost.prefill_per_token_us * K,
            decode_base_us: cost.decode_base_us * K,
            decode_per_request_us: cost.decode_per_request_us * K,
            decode_per_kv_token_us: cost.decode_per_kv_token_us * K,
            overhead_us: cost.overhead_us * K,
            adapters: AdapterCost {
                load_base_us: a.load_base_us * K,
                load_per_rank_us: a.load_per_rank_us * K,
                prefill_factor: a.prefill_factor,
                decode_active_us: a.decode_active_us * K,
                decode_per_rank_us: a.decode_per_rank_us * K,
            },
        };
        let quick = fleet(Arc::new(trace), (rules, config), cost).run();
        let slow = fleet(Arc::new(slow), (slow_rules, slow_config), slow_cost).run();
        for (q, s) in quick.results.iter().zip(&slow.results) {
            prop_assert_eq!(q.outcome, s.outcome);
            prop_assert_eq!(q.finish_us.map(|t| t * K), s.finish_us);
        }
    }

    #[test]
    fn relabelling_users_permutes_the_tables(trace in any_trace(), config in any_config(), cost in any_cost()) {
        let mut relabelled = trace.clone();
        relabelled.user.iter_mut().for_each(|u| *u = 3 - *u);
        let rows_by_user = |trace| {
            let report = Fleet::of_pool(Arc::new(trace), config, Box::new(cost)).run();
            let context =
                SummaryContext { slo: Slo { ttft_s: 6.0, tpot_s: 0.2, tbt_s: 1.0 }, rate_rps: None, flops: None, table_rows: 4 };
            let mut rows = summarise(&report, &InterTokenLatencies::of(&report.timeline), &context).per_user;
            rows.sort_by_key(|row| row.id);
            rows
        };
        let (rows, mut mapped) = (rows_by_user(trace), rows_by_user(relabelled));
        mapped.iter_mut().for_each(|row| row.id = 3 - row.id);
        mapped.sort_by_key(|row| row.id);
        prop_assert_eq!(rows, mapped);
    }

    #[test]
    fn satisfaction_falls_with_the_square_and_is_gone_at_the_bound(t in 0.0..20f64, bound in 0.1..10f64) {
        let expected = if t < bound { (bound - t) * (bound + t) / (bound * bound) } else { 0.0 };
        prop_assert!((satisfaction(t, bound) - expected).abs() < 1e-12);
    }
}

#[test]
fn a_poll_too_short_for_the_clock_does_not_hang() {
    let trace = requests((0..10u32).map(|i| (1e9 * f64::from(i), 0, BASE_MODEL, 5, 5)));
    let config = PoolConfig { idle_poll_us: 1e-297, ..PoolConfig::slora() };
    let report =
        Fleet::of_pool(Arc::new(trace), config, Box::new(servescope_cost::CALIBRATIONS[0].cost)).run();
    assert!((0..10).all(|id| report.is_completed(id)));
}

#[test]
fn a_refused_head_joins_when_decoding_has_made_room() {
    // Two of 10 + 100 tokens, then one of 10 + 200: the need with it is 327 - s after s iterations of the two.
    let rows = [(0.0, 100), (0.0, 100), (1.0, 200)];
    let trace = requests(rows.map(|(arrival_us, output)| (arrival_us, 0, BASE_MODEL, 10, output)));
    let config = PoolConfig { blocks: 300, idle_poll_us: 0.0, ..PoolConfig::slora() };
    let report = Fleet::of_pool(
        Arc::new(trace),
        config,
        Box::new(servescope_cost::Calibration::named("unit").unwrap().cost),
    )
    .run();
    assert_eq!(report.scheduled_us(2), Some(28.0 * 20_000.0));
}

#[test]
fn an_empty_run_has_a_summary_of_blanks() {
    let report = Fleet::of_pool(
        Arc::new(Trace::default()),
        PoolConfig::slora(),
        Box::new(servescope_cost::CALIBRATIONS[0].cost),
    )
    .run();
    let context = SummaryContext {
        slo: Slo { ttft_s: 6.0, tpot_s: 0.2, tbt_s: 1.0 },
        rate_rps: None,
        flops: None,
        table_rows: 5,
    };
    let summary = summarise(&report, &InterTokenLatencies::of(&report.timeline), &context);
    assert_eq!(summary.ttft_s, Distribution::default());
    assert_eq!((summary.throughput_rps, summary.slo.attainment), (None, None));
}
