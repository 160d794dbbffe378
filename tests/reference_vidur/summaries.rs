//! `summary.json`: means and percentiles of a run.

use serde_json::Value;
use servescope_engine::metrics::summary::SummaryContext;
use servescope_engine::metrics::token_gaps::InterTokenLatencies;
use servescope_engine::metrics::{Distribution, Slo, summarise};

use super::cases;

/// Six digits are in the file; a few of the last are lost in means.
fn agrees(ours: Option<f64>, theirs: &Value, what: &str) -> usize {
    let theirs = theirs.as_f64().unwrap_or_else(|| panic!("{what} is no number"));
    let Some(ours) = ours else { return 0 };
    assert!((ours - theirs).abs() <= 1.1e-6 * theirs.abs().max(1.0), "{what}: {ours} instead of {theirs}");
    1
}

fn distribution(ours: &Distribution, theirs: &Value, what: &str) -> usize {
    let d = ours;
    let parts =
        [("mean", d.mean), ("p50", d.p50), ("p90", d.p90), ("p95", d.p95), ("p99", d.p99), ("max", d.max)];
    parts.into_iter().map(|(name, value)| agrees(value, &theirs[name], &format!("{what}.{name}"))).sum()
}

#[test]
fn percentiles() {
    for case in cases() {
        let (Some(setup), Some(path)) = (case.setup(), case.file("summary.json")) else { continue };
        let expected = servescope_tests::json(&path);
        let report = setup.run();
        let context = SummaryContext {
            slo: Slo { ttft_s: 1.0, tpot_s: 1.0, tbt_s: 1.0 },
            rate_rps: None,
            flops: None,
            table_rows: 0,
        };
        let ours = summarise(&report, &InterTokenLatencies::of(&report.timeline), &context);
        let name = case.name();
        let of = |key: &str| format!("{name}: {key}");
        let mut checked = 0;
        checked += distribution(&ours.ttft_s, &expected["ttft_s"], &of("ttft_s"));
        checked += distribution(&ours.tbt_s, &expected["tbt_s"], &of("tbt_s"));
        checked += distribution(&ours.e2e_s, &expected["e2e_s"], &of("e2e_s"));
        checked += distribution(&ours.queue_s, &expected["scheduling_delay_s"], &of("scheduling_delay_s"));
        checked += distribution(
            &ours.normalized_s,
            &expected["e2e_normalized_s_per_token"],
            &of("e2e_normalized_s_per_token"),
        );
        checked +=
            distribution(&ours.tpot_s, &expected["mean_tbt_per_request_s"], &of("mean_tbt_per_request_s"));
        let batch = ours.batch;
        assert_eq!(
            batch.iterations,
            expected["num_batches"].as_u64().expect("num_batches"),
            "{name}: batches"
        );
        assert_eq!(
            ours.preemptions,
            expected["num_restarts_total"].as_u64().expect("restarts"),
            "{name}: restarts"
        );
        checked += 2;
        checked += agrees(batch.mean_size, &expected["batch_size"]["mean"], &of("batch_size.mean"));
        checked += agrees(Some(ours.makespan_s), &expected["makespan_s"], &of("makespan_s"));
        servescope_tests::report_cases(&path, checked);
    }
}
