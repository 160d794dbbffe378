//! `c_trace_statistics.jsonl`: means over many seeds of the original's generator, against means over as many of ours.

use serde_json::Value;
use servescope_workload::{
    AdapterSpec, Arrivals, LengthDistribution, MaxTokens, Popularity, Trace, UserSpec, WorkloadSpec, generate,
};

/// Standard errors that the two means may lie apart.
const MOST_ERRORS: f64 = 4.0;

/// The statistics of one trace, in the order of [`NAMES`].
fn measure(trace: &Trace, adapters: usize, duration_s: f64) -> [f64; 11] {
    let n = trace.len() as f64;
    let mut counts = vec![0.0f64; adapters];
    trace.adapter.iter().for_each(|&a| counts[a as usize] += 1.0);
    let mut sorted = counts.clone();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let top = |k: usize| sorted[..k.clamp(1, adapters)].iter().sum::<f64>() / n;
    let mut gaps: Vec<f64> = vec![trace.arrival_us[0] / 1e6];
    gaps.extend(trace.arrival_us.windows(2).map(|w| (w[1] - w[0]) / 1e6));
    let mean_gap = gaps.iter().sum::<f64>() / n;
    let within = trace.arrival_us.iter().filter(|&&t| t / 1e6 <= duration_s).count() as f64 / n;
    let variance = gaps.iter().map(|g| (g - mean_gap) * (g - mean_gap)).sum::<f64>() / n;
    let mean = |lengths: &[u32]| lengths.iter().map(|&l| f64::from(l)).sum::<f64>() / n;
    [
        counts[0] / n,
        counts[adapters - 1] / n,
        top(1),
        top(5),
        top(adapters / 10),
        counts.iter().filter(|&&c| c > 0.0).count() as f64,
        mean_gap,
        variance.sqrt() / mean_gap,
        trace.arrival_us[trace.len() - 1] / 1e6,
        within,
        mean(&trace.input_tokens) + mean(&trace.output_tokens),
    ]
}

/// Keys of the reference; the last is the sum of two.
const NAMES: [&str; 11] = [
    "share_adapter0",
    "share_adapter_last",
    "share_top1",
    "share_top5",
    "share_top10pct",
    "distinct_adapters",
    "mean_interval",
    "mean_of_per_trace_cv",
    "mean_last_arrival",
    "fraction_arriving_within_duration",
    "mean_input",
];

fn range(case: &Value, key: &str) -> LengthDistribution {
    let bound = |i: usize| case[key][i].as_u64().expect("a range has two bounds") as u32;
    // The original's upper bound is exclusive.
    LengthDistribution::Uniform { low: bound(0), high: bound(1) - 1 }
}

fn check(case: &Value) {
    let id = &case["id"];
    let number = |key: &str| case[key].as_f64().unwrap_or_else(|| panic!("{id}: {key}"));
    let adapters = number("num_adapters") as usize;
    let seeds =
        case["seeds"].as_str().and_then(|s| s.split_once("..")?.1.parse::<u64>().ok()).expect("seeds") + 1;
    let spec = WorkloadSpec {
        rate_rps: number("req_rate"),
        duration_s: number("duration"),
        arrivals: Arrivals::Gamma { cv: number("cv") },
        adapters: AdapterSpec {
            count: adapters,
            popularity: Popularity::Power { alpha: number("alpha") },
            ranks: vec![8],
        },
        users: UserSpec { count: 1, popularity: Popularity::Uniform },
        input: range(case, "input_range"),
        output: range(case, "output_range"),
        max_tokens: MaxTokens::Output,
        ..WorkloadSpec::default()
    };
    assert_eq!(spec.request_count() as f64, number("num_requests"), "{id}: number of requests");
    let runs: Vec<[f64; 11]> = (0..seeds)
        .map(|seed| measure(&generate(&WorkloadSpec { seed, ..spec.clone() }), adapters, spec.duration_s))
        .collect();
    let n = seeds as f64;
    let shares = spec.adapters.popularity.shares(adapters);
    for (i, name) in NAMES.iter().enumerate() {
        let Some(mut theirs) = case["measured"][*name].as_f64() else { continue };
        if *name == "mean_input" {
            theirs += case["measured"]["mean_output"].as_f64().expect("mean_output");
        }
        let mean = runs.iter().map(|r| r[i]).sum::<f64>() / n;
        let variance = runs.iter().map(|r| (r[i] - mean) * (r[i] - mean)).sum::<f64>() / (n - 1.0);
        // The share of an adapter that hardly any request asks for varies by its distribution also where none of our runs has it.
        let share = match *name {
            "share_adapter0" => shares.first(),
            "share_adapter_last" => shares.last(),
            _ => None,
        };
        let by_law = share.map_or(0.0, |share| share * (1.0 - share) / number("num_requests"));
        let variance = variance.max(by_law);
        // Theirs is a mean over as many seeds of the same distribution, so its error is as large as ours; half a unit of the
        // last printed digit is added where a statistic hardly varies.
        let error = (2.0 * variance / n).sqrt() + 1e-9;
        let apart = (mean - theirs).abs() / error;
        assert!(
            apart <= MOST_ERRORS,
            "{id}, {name}: {mean}, expected {theirs} ({apart:.1} standard errors apart)"
        );
    }
    if let (Some(expected), Some(counts)) =
        (case["analytic"]["p_adapter"].as_array(), case["measured"]["mean_count_adapter"].as_array())
    {
        for (adapter, (share, count)) in expected.iter().zip(counts).enumerate() {
            let (share, count) = (share.as_f64().expect("share"), count.as_f64().expect("count"));
            assert!((shares[adapter] - share).abs() < 1e-9, "{id}: share of adapter {adapter}");
            let requests = number("num_requests");
            let error = (requests * share * (1.0 - share) / n).sqrt();
            assert!(
                (count - requests * shares[adapter]).abs() <= MOST_ERRORS * error + 1e-9,
                "{id}: adapter {adapter}"
            );
        }
    }
}

#[test]
fn generator_statistics() {
    for path in super::reference("c_trace_statistics") {
        let cases = servescope_tests::json_lines(&path);
        cases.iter().for_each(check);
        servescope_tests::report_cases(&path, cases.len());
    }
}
