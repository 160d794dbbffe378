//! AIBrix's own answers: curves, arrivals, statistics, grouping, matching, agent sessions, whole runs.
//!
//! The folder is the one that `SERVESCOPE_REFERENCE` names, otherwise `tests/reference/`; its form is that of
//! `tests/reference/aibrix`. What AIBrix rejects must be rejected; where it fails by a defect, the test says what comes
//! out in its place.

mod agent;
mod arrivals;
mod concat;
mod config;
mod constant;
mod curves;
mod end_to_end;
mod grouping;
mod matching;
mod percentiles;
mod python;
mod smoothing;
mod stat;

use std::cell::Cell;
use std::path::Path;

use serde_json::Value;
use servescope_workload::aibrix::field::Field;

/// A case of a reference file, with where it is from.
struct Case<'a> {
    path: &'a Path,
    place: usize,
    json: &'a Value,
    skipped: &'a Cell<usize>,
}

impl Case<'_> {
    /// Says what became of a defect of AIBrix.
    fn defect(&self, what: &str) {
        println!("{self}: {what}");
    }

    /// Says that the case cannot be checked, and why.
    fn skip(&self, why: &str) {
        println!("{self}: {why}: skipped");
        self.skipped.set(self.skipped.get() + 1);
    }

    /// The case's input, where it has one of its own, or the case.
    fn input(&self, key: &str) -> &Value {
        if self.json["input"].is_object() { &self.json["input"][key] } else { &self.json[key] }
    }

    /// A number of the input.
    fn number(&self, key: &str) -> f64 {
        self.input(key).as_f64().unwrap_or_else(|| panic!("{self}: {key} is no number"))
    }

    /// What AIBrix answered.
    fn output(&self, key: &str) -> &Value {
        &self.json["output"][key]
    }

    /// Whether AIBrix rejected or crashed.
    fn is_error(&self) -> bool {
        !self.output("error_type").is_null()
    }
}

impl std::fmt::Display for Case<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        write!(f, "{name}, case {}", self.place)
    }
}

/// Checks every case of every reference file whose name has `part` in it.
fn check_all(part: &str, mut check: impl FnMut(&Case<'_>, &Value)) {
    let root = servescope_tests::reference();
    let wanted = |name: &str| name.strip_suffix(".json").is_some_and(|stem| stem.contains(part));
    for path in servescope_tests::files(&root, wanted) {
        let file = servescope_tests::json(&path);
        let cases = file.as_array().or_else(|| file["cases"].as_array());
        let cases = cases.unwrap_or_else(|| panic!("{}: no list of cases", path.display()));
        let skipped = Cell::new(0);
        for (place, json) in cases.iter().enumerate() {
            check(&Case { path: &path, place, json, skipped: &skipped }, &file);
        }
        servescope_tests::report_cases(&path, cases.len() - skipped.get());
    }
}

/// The numbers of a list; null is zero.
fn numbers(list: &Value) -> Vec<f64> {
    list.as_array().into_iter().flatten().map(|x| x.as_f64().unwrap_or(0.0)).collect()
}

/// A recorded list of draws, one at each call; an endless one when it is used up, so that the end shows.
fn replay(draws: Vec<f64>) -> impl FnMut() -> f64 {
    let mut draws = draws.into_iter();
    move || draws.next().unwrap_or(f64::INFINITY)
}

/// A JSON value as configurations take it.
fn field(value: &Value) -> Field {
    match value {
        Value::Number(n) => {
            n.as_i64().map_or_else(|| Field::Real(n.as_f64().unwrap_or(f64::NAN)), Field::Integer)
        }
        Value::String(text) => Field::Text(text.clone()),
        Value::Bool(flag) => Field::Flag(*flag),
        Value::Array(values) => Field::List(values.iter().map(field).collect()),
        Value::Null | Value::Object(_) => Field::Other,
    }
}

/// The value of a key of a JSON object.
fn get(object: &Value) -> impl Fn(&str) -> Option<Field> + '_ {
    |key| object.get(key).map(field)
}
