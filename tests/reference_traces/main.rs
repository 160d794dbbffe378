//! Statistics of real traces: what `servescope inspect --json` prints of a file equals its entry of `stats.json`, which a
//! script of the standard library of Python made.
//!
//! The folder is the one that `SERVESCOPE_TRACES` names: any with a `stats.json` and some of its files. Real traces are not
//! copied into the repository, so without the variable nothing is checked, and the test says so.

mod hit_curves;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use servescope_traces::inspect;

/// Largest relative difference between two numbers that agree.
const RELATIVE: f64 = 1e-6;

/// Keys that say how much a file holds: they distinguish files of one kind.
const SIZES: [&str; 5] = ["rows", "sessions", "model_requests", "clients", "active_windows"];

#[test]
fn statistics_are_those_of_the_script() {
    let Some(root) = servescope_tests::named_folder("SERVESCOPE_TRACES") else { return };
    let Ok(text) = fs::read_to_string(root.join("stats.json")) else {
        println!("{} has no stats.json: skipped", root.display());
        return;
    };
    let entries: Value = serde_json::from_str(&text).expect("stats.json is JSON");
    let entries = entries.as_object().expect("stats.json has an entry a file");
    let measured = told_of_files(&root);
    let named = named_in_readme(&root);
    let mut off = Vec::new();
    for (name, entry) in entries {
        let alone = entries.values().filter(|other| other["kind"] == entry["kind"]).count() == 1;
        let by_name = named.get(name).and_then(|file| measured.iter().find(|(path, _)| path.ends_with(file)));
        let by_content = || {
            let mut of_kind = measured.iter().filter(|(_, measured)| measured["kind"] == entry["kind"]);
            of_kind.find(|(_, measured)| alone || SIZES.iter().all(|key| measured[key] == entry[key]))
        };
        let Some((path, measured)) = by_name.or_else(by_content) else {
            println!("{name}: its file is not here");
            continue;
        };
        let mut cases = 0;
        compare(entry, measured, name, &mut cases, &mut off);
        servescope_tests::report_cases(path, cases);
    }
    assert!(off.is_empty(), "{}", off.join("\n"));
}

/// What is printed of every file below a folder that is a trace.
fn told_of_files(root: &Path) -> Vec<(PathBuf, Value)> {
    let traces = |name: &str| [".csv", ".jsonl", ".gz"].iter().any(|end| name.ends_with(end));
    let measured = |path: PathBuf| {
        let bytes = fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        match inspect::file(&path.display().to_string(), &bytes, None) {
            Ok(inspected) => Some((path, inspected.json)),
            Err(failure) if failure.code == "unknown_format" => None,
            Err(failure) => panic!("{failure}"),
        }
    };
    servescope_tests::files(root, traces).into_iter().filter_map(measured).collect()
}

/// The file of each entry, where a README repeats the script's arguments (`NAME=KIND:FILE`).
fn named_in_readme(root: &Path) -> BTreeMap<String, String> {
    let text = fs::read_to_string(root.join("README.md")).unwrap_or_default();
    let argument = |word: &str| {
        let (name, rest) = word.split_once('=')?;
        let (_, file) = rest.split_once(':')?;
        Some((name.to_owned(), file.to_owned()))
    };
    text.split_whitespace().filter_map(argument).collect()
}

/// Compares every value of `expected` with the one at the same place, and notes those that differ.
fn compare(expected: &Value, measured: &Value, place: &str, cases: &mut usize, off: &mut Vec<String>) {
    match (expected, measured) {
        (Value::Object(entries), _) => {
            for (key, value) in entries {
                compare(value, &measured[key], &format!("{place}.{key}"), cases, off);
            }
        }
        (Value::Array(entries), Value::Array(others)) if entries.len() == others.len() => {
            for (at, (value, other)) in entries.iter().zip(others).enumerate() {
                compare(value, other, &format!("{place}[{at}]"), cases, off);
            }
        }
        _ => {
            *cases += 1;
            let agree = match (expected.as_f64(), measured.as_f64()) {
                (Some(a), Some(b)) => (a - b).abs() <= RELATIVE * a.abs(),
                _ => expected == measured,
            };
            if !agree {
                off.push(format!("{place}: {measured}, expected {expected}"));
            }
        }
    }
}
