//! `05_stat_traces.json`: statistics files and recorded draws to rates and lengths of every second.

use serde_json::Value;
use servescope_workload::aibrix::percentiles::{LEVELS, Lognormal, fit};
use servescope_workload::aibrix::stat::{self, MatchedRows, StatRow};

use crate::Case;
use crate::percentiles::{compare_fit, compare_lengths, recorded};

/// A distribution that was recorded, with its draws.
struct Drawn {
    distribution: Option<Lognormal>,
    normal: Vec<f64>,
}

fn read(case: &Case<'_>) -> Result<MatchedRows, servescope_workload::aibrix::AibrixError> {
    let text = |key: &str| case.input("csv")[key].as_str().unwrap_or("").as_bytes();
    match case.input("kind").as_str() {
        Some("maas") => stat::maas(text("qps"), text("input"), text("output")),
        Some("cloudide") => stat::cloudide(text("qps"), text("input")),
        other => panic!("{case}: {other:?} is no kind of statistics"),
    }
}

/// Why we read a file that AIBrix does not: a header that its documentation allows, or a percentile that says what
/// it is.
fn excuse(case: &Case<'_>) -> Option<&'static str> {
    let lacks = |file: &str, column: &str| {
        let header = case.input("csv")[file].as_str().and_then(|text| text.lines().next()).unwrap_or("");
        !header.split(',').any(|cell| cell.trim().trim_matches('"') == column)
    };
    if case.input("kind") != "maas" {
        return None;
    }
    if ["Total", "5xx Error", "4xx Error"].iter().any(|column| lacks("qps", column)) {
        return Some("traffic without the columns of totals and errors, which nothing uses: read");
    }
    (lacks("output", "P95") && !lacks("output", "P90"))
        .then_some("completions with P90 in place of P95: read")
}

fn check(case: &Case<'_>) {
    let ours = match read(case) {
        Ok(ours) => ours,
        Err(_) if case.is_error() => return,
        Err(error) => panic!("{case}: {error}"),
    };
    if case.is_error() {
        let reason = excuse(case).unwrap_or_else(|| panic!("{case}: not refused"));
        return case.defect(&format!("refused by AIBrix: {reason}"));
    }
    let mut counts = case.json["random"]["poisson"].as_array().into_iter().flatten().flat_map(|drawn| {
        let mean = drawn["lam"].as_f64();
        crate::numbers(&drawn["raw_counts"]).into_iter().map(move |count| (mean, count as u64))
    });
    let rates = ours.rates_rps(|mean| {
        let (recorded, count) = counts.next().unwrap_or_else(|| panic!("{case}: too few counts"));
        assert_eq!(recorded, Some(mean), "{case}: mean rate");
        count
    });
    assert_eq!(rates, crate::numbers(case.output("rps_per_second")), "{case}: rates");
    assert!(counts.next().is_none(), "{case}: counts are left");
    for (place, key) in ["qps_scale", "input_scale", "output_scale"].iter().enumerate() {
        assert_eq!(case.output("scales_passed_on")[place].as_f64(), Some(case.number(key)), "{case}: {key}");
    }
    let distributions: Vec<Drawn> = case.json["random"]["lognormal"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|drawn: &Value| Drawn {
            distribution: recorded(&drawn["mu"], &drawn["sigma"]),
            normal: crate::numbers(&drawn["standard_normal"]),
        })
        .collect();
    let is_cloudide = case.input("kind") == "cloudide";
    let rows = ours.rows.len();
    assert_eq!(distributions.len(), 2 * rows, "{case}: distributions");
    // AIBrix draws all prompts before all completions for `maas`, and row by row for `cloudide`.
    let distribution_of = |row: usize, completion: bool| match (is_cloudide, completion) {
        (true, completion) => &distributions[2 * row + usize::from(completion)],
        (false, false) => &distributions[row],
        (false, true) => &distributions[rows + row],
    };
    for completion in [false, true] {
        // Completions of cloudide are the defect: AIBrix takes them, and their scale, from the prompts.
        let from_output = completion && !is_cloudide;
        let key = if completion { "output_len_per_second" } else { "input_len_per_second" };
        let scale = case.number(if from_output { "output_scale" } else { "input_scale" });
        let theirs = crate::numbers(case.output(key));
        assert_eq!(theirs.len(), rows * ours.row_s, "{case}: {key}");
        for (place, row) in ours.rows.iter().enumerate() {
            let drawn = distribution_of(place, completion);
            let lengths = if from_output { &row.output_tokens } else { &row.input_tokens };
            let own = fit(&LEVELS, lengths, scale).unwrap_or_else(|e| panic!("{case}: {e}"));
            compare_fit(case, own, drawn.distribution);
            let theirs = &theirs[place * ours.row_s..][..ours.row_s];
            let period_s = ours.row_s as f64;
            compare_lengths(case, lengths[0], [own, drawn.distribution], period_s, &drawn.normal, theirs);
        }
    }
    whole(case, &ours, &distribution_of);
}

/// The lists of whole runs, each from its own statistics.
fn whole<'a>(case: &Case<'_>, ours: &MatchedRows, distribution_of: &impl Fn(usize, bool) -> &'a Drawn) {
    let draws = |completion: bool| {
        let normal = (0..ours.rows.len()).flat_map(|row| distribution_of(row, completion).normal.clone());
        crate::replay(normal.collect())
    };
    let made = ours.steps(|mean| mean as u64, draws(false), draws(true));
    let lists = [(made.input_tokens, "input_len_per_second"), (made.output_tokens, "output_len_per_second")];
    let is_cloudide = case.input("kind") == "cloudide";
    for (list, key) in lists {
        let list = list.unwrap_or_default();
        if is_cloudide && key == "output_len_per_second" {
            let own = |row: &StatRow| row.output_tokens[0];
            for (row, seconds) in ours.rows.iter().zip(list.chunks(ours.row_s)) {
                // All percentiles are alike, so that every second lies on the wave around the row's own length.
                let wide = 0.2 * own(row) + 1.0;
                assert!(seconds.iter().all(|x| (x - own(row)).abs() <= wide), "{case}: {seconds:?}");
            }
            case.defect("completions of cloudide, which AIBrix takes from the prompts: done right");
        } else {
            let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1.0 + 1e-3 * b;
            assert!(list.iter().zip(&crate::numbers(case.output(key))).all(close), "{case}: {key}");
        }
    }
    if ours.unmatched_times > 0 {
        case.defect(&format!("{} times are not in all files; AIBrix is silent", ours.unmatched_times));
    }
}

#[test]
fn stat_traces() {
    crate::check_all("stat_traces", |case, _| check(case));
}
