//! S-LoRA's own answers: admission decisions, whole router runs, metrics, statistics of its generator.
//!
//! The folder is the one that `SERVESCOPE_REFERENCE` names, otherwise `tests/reference/`; its form is that of
//! `tests/reference/slora`, where a file's cases may also be split over several files whose names begin alike.

mod decisions;
mod fairness;
mod metrics;
mod published;
mod router;
mod statistics;
mod workloads;

use std::path::PathBuf;

use serde_json::Value;

/// Reference files called `prefix….jsonl`.
fn reference(prefix: &str) -> Vec<PathBuf> {
    named(|name| name.strip_suffix(".jsonl").is_some_and(|stem| stem.starts_with(prefix)))
}

/// Reference files whose name is wanted.
fn named(wanted: impl Fn(&str) -> bool + Copy) -> Vec<PathBuf> {
    servescope_tests::files(&servescope_tests::reference(), wanted)
}

/// A whole number of a reference object.
fn number(value: &Value, key: &str) -> u32 {
    value[key].as_u64().unwrap_or_else(|| panic!("{key} is missing in {value}")) as u32
}
