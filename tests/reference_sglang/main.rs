//! Runs of SGLang's own scheduler, decision by decision: which requests, how many tokens, what is free, evictable and locked, the new
//! token ratio, which are retracted and preempted, and every time to the bit.
//!
//! The folder is `sglang` in the one that `SERVESCOPE_REFERENCE` names, otherwise in `tests/reference/`; each `*.json.gz` below it, or
//! unpacked file, is a run.

mod batches;
mod given;
mod results;

use std::path::Path;

use given::Given;
use servescope_tests::recorded_runs::all_agree;

/// A run as the engine gives it against what SGLang gave. Returns how many batches and requests were compared.
fn check(given: &Given, name: &str) -> Result<usize, String> {
    let ran = batches::check(given)?;
    let leaps = servescope_tests::causes::add_up(given.fleet().with_decisions().run(), name);
    if leaps != ran.report || given.fleet().run() != ran.report {
        return Err("fast-forwarded iterations differ from single ones".to_owned());
    }
    Ok(ran.batches + results::check(given, &ran)?)
}

#[test]
fn every_decision_and_every_request() {
    let root = servescope_tests::reference().join("sglang");
    let all =
        servescope_tests::files(&root, |name| Path::new(name).extension().is_some_and(|end| end == "json"));
    let runs = all.into_iter().map(|path| (servescope_tests::json(&path), path));
    all_agree(runs, |file, name| check(&Given::read(file), name));
}
