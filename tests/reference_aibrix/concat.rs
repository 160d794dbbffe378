//! `08_concat_merge.json`: workload files after one another and into one another.

use serde_json::{Map, Value};
use servescope_workload::aibrix::concat::{WorkloadLine, concat, merge};

use crate::Case;

type Line = WorkloadLine<Value, Map<String, Value>>;

/// A file's lines: a list, or the text of the file.
fn lines(file: &Value) -> Option<Vec<Line>> {
    let objects: Vec<Value> = match file.as_str() {
        Some(text) => text
            .lines()
            .filter(|line| !line.trim().is_empty())
            .map(|line| serde_json::from_str(line).ok())
            .collect::<Option<_>>()?,
        None => file.as_array()?.clone(),
    };
    objects
        .into_iter()
        .map(|object| {
            let Value::Object(mut other) = object else { return None };
            let timestamp_ms = other.remove("timestamp")?.as_f64()?;
            let Value::Array(requests) = other.remove("requests")? else { return None };
            Some(WorkloadLine { timestamp_ms, requests, other })
        })
        .collect()
}

fn check(case: &Case<'_>) {
    let files: Option<Vec<Vec<Line>>> =
        case.json["input_files"].as_array().into_iter().flatten().map(lines).collect();
    if case.is_error() {
        assert!(files.is_none(), "{case}: not refused");
        return;
    }
    let files = files.unwrap_or_else(|| panic!("{case}: a file cannot be read"));
    let ours = match case.json["mode"].as_str() {
        Some("concat") => concat(files, 0.0),
        Some("merge") => merge(files, |_, _| {}),
        other => panic!("{case}: {other:?} is no mode"),
    };
    let theirs = lines(&case.json["output"]).unwrap_or_else(|| panic!("{case}: the output cannot be read"));
    assert_eq!(ours, theirs, "{case}");
}

#[test]
fn concat_and_merge() {
    crate::check_all("concat_merge", |case, _| check(case));
}
