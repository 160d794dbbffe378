//! Any bytes as AIBrix's statistics and configuration files, as ServeGen's chunk files, as rows to group, and as points of a
//! curve: used or rejected, never a panic.
//! Blank lines part the files.
#![no_main]

use libfuzzer_sys::fuzz_target;
use servescope_workload::aibrix::config::{agents_from_json, pattern_from_json};
use servescope_workload::aibrix::generate;
use servescope_workload::aibrix::grouping::{azure_groups, azure_rows, mooncake_groups, mooncake_requests, mooncake_rows};
use servescope_workload::aibrix::stat::{cloudide, maas};
use servescope_workload::formats::{servegen_chunk_lengths, servegen_chunk_windows};
use servescope_workload::curve::{RateCurve, Shape, points_from_csv};

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let mut parts = text.splitn(3, "\n\n");
    let mut next = || parts.next().unwrap_or("").as_bytes();
    let (first, second, third) = (next(), next(), next());
    for read in [maas(first, second, third), cloudide(first, second)].into_iter().flatten() {
        let busy: f64 = read.rows.iter().map(|row| row.rate_rps).sum();
        if read.row_s * read.rows.len() < 10_000 && busy * (read.row_s as f64) < 1e5 {
            let made =
                generate::stat(&read, 1e6, &Default::default(), 1).expect("what is read can be drawn from");
            assert!(made.is_sorted_by(|a, b| a.timestamp_ms <= b.timestamp_ms));
        }
    }
    if let Ok(windows) = servegen_chunk_lengths("c", first) {
        assert!(windows.iter().all(|w| w.reason_share.is_none_or(|share| (0.0..=1.0).contains(&share))));
        assert!(windows.iter().all(|w| w.answer.at(0.5) <= w.answer.at(0.9)));
    }
    if let Ok(windows) = servegen_chunk_windows("c", first) {
        assert!(!windows.is_empty() && windows.iter().all(|w| w.rate_rps >= 0.0));
    }
    if let Ok(rows) = azure_rows(first) {
        let groups = azure_groups(&rows, f64::MAX, 1000.0).expect("the interval is good");
        assert_eq!(groups.iter().map(|group| group.requests.len()).sum::<usize>(), rows.len());
    }
    if let Ok(requests) = mooncake_requests(first) {
        let groups = mooncake_groups(&mooncake_rows(&requests), f64::MAX);
        assert_eq!(groups.iter().map(|group| group.requests.len()).sum::<usize>(), requests.len());
    }
    if let Ok(pattern) = pattern_from_json(first, 1e5, 1e3) {
        let lengths = pattern.lengths(100, || 1.0);
        assert!(lengths.iter().all(|&length| length >= 1));
        pattern.warnings(100);
    }
    if let Ok(config) = agents_from_json(first) {
        let turns = config.num_sessions.saturating_mul(config.turns_per_session.high);
        let tools = config.parallel_tools.high.saturating_mul(config.max_tool_retries + 1);
        if turns.saturating_mul(tools + 3) < 10_000 {
            let _ = generate::agents(&config);
        }
    }
    if let Ok(curve) = points_from_csv(first).and_then(|points| RateCurve::new(&Shape::Points(points))) {
        for count in [0.5, 10.0, 1e4] {
            let Some(time_s) = curve.inverse(count) else { continue };
            let sum = curve.integral(time_s);
            assert!((sum - count).abs() <= 1e-6 * (1.0 + curve.value_at(time_s)), "{sum}, {count}");
        }
    }
});
