//! Copy by copy: what is loaded from host memory and stored there, when that is decided, for whom, how many blocks, and when it ends.

use serde_json::Value;
use servescope_engine::{KvCopy, Report};
use servescope_tests::recorded_runs::{list, whole};

use super::batches::is_close;
use super::given::Given;

/// A copy: when it was decided, for which requests, how many blocks, and when it ends where that is known.
type Row = (f64, Vec<u64>, u32, Option<f64>);

/// Compares every copy; returns how many.
pub(crate) fn check(given: &Given, report: &Report) -> Result<usize, String> {
    let mut checked = 0;
    for (way, is_load) in [("loads", true), ("stores", false)] {
        let theirs = theirs(given, way);
        let ours = ours(given, report, is_load);
        if ours.len() != theirs.len() {
            return Err(format!("{} {way} instead of {}", ours.len(), theirs.len()));
        }
        for (own, other) in ours.iter().zip(&theirs) {
            let ends_alike =
                other.3.is_none_or(|end_us| own.3.is_some_and(|own_us| is_close(own_us, end_us)));
            // A store that is decided for several requests at once names none of them.
            let is_for_same = other.1.is_empty() || own.1 == other.1;
            if !is_close(own.0, other.0) || !is_for_same || own.2 != other.2 || !ends_alike {
                return Err(format!("{way} {own:?} instead of {other:?}"));
            }
        }
        checked += theirs.len();
    }
    Ok(checked)
}

fn sorted(mut rows: Vec<Row>) -> Vec<Row> {
    rows.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
    rows
}

fn theirs(given: &Given, way: &str) -> Vec<Row> {
    let iterations =
        list(&given.file, "iterations").iter().flat_map(|own| own.as_array().into_iter().flatten());
    let rows = iterations.flat_map(|iteration| {
        let decided_us = iteration["decided_us"].as_f64().unwrap_or(f64::NAN);
        let copies = iteration[way].as_array().into_iter().flatten();
        copies.map(move |copy| (decided_us, names(copy), whole(copy, "blocks"), copy["done_us"].as_f64()))
    });
    sorted(rows.collect())
}

fn names(copy: &Value) -> Vec<u64> {
    let all = copy["requests"].as_array().into_iter().flatten().chain([&copy["request"]]);
    let mut names: Vec<u64> = all.filter_map(Value::as_u64).collect();
    names.sort_unstable();
    names
}

fn ours(given: &Given, report: &Report, is_load: bool) -> Vec<Row> {
    let name_of = |copy: &KvCopy| {
        let is_it =
            |request| given.place_of.iter().find(|(_, place)| **place == request).map(|(&name, _)| name);
        let mut names: Vec<u64> = copy.requests.iter().filter_map(|&request| is_it(request)).collect();
        names.sort_unstable();
        names
    };
    let copies = report.timeline.kv_copies.iter().filter(|copy| copy.is_load == is_load);
    sorted(copies.map(|copy| (copy.decided_us, name_of(copy), copy.blocks, Some(copy.end_us))).collect())
}
