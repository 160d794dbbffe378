//! Runs of vLLM's own v1 scheduler, iteration by iteration: which requests, how many tokens, who is preempted, what was
//! cached, loaded and stored, every time within a microsecond.
//!
//! The folders are `vllm` and `vllm-next` in the one that `SERVESCOPE_REFERENCE` names, otherwise in `tests/reference/`; each
//! `*.json.gz` below them, or unpacked file, is a run. Of runs with clients that go away the batches are compared, and the requests that stay.

mod batches;
mod chunks;
mod copies;
mod given;
mod next;
mod results;
mod traces;

use std::path::{Path, PathBuf};

use given::Given;
use serde_json::{Value, json};
use servescope_tests::recorded_runs::all_agree;

/// Every run below the folder `vllm`.
fn runs() -> Vec<PathBuf> {
    let root = servescope_tests::reference().join("vllm");
    servescope_tests::files(&root, |name| Path::new(name).extension().is_some_and(|end| end == "json"))
}

/// A run of the folder `vllm` with a list of iterations for its one engine.
fn of_one_engine(mut file: Value) -> Value {
    file["iterations"] = json!([file["iterations"].take()]);
    file
}

/// A run as the engine gives it against what vLLM gave. Returns how many batches and requests were compared.
fn check(given: &Given, name: &str) -> Result<usize, String> {
    let ran = batches::check(given)?;
    let leaps = servescope_tests::causes::add_up(given.fleet().with_decisions().run(), name);
    if leaps != ran.report || given.fleet().run() != ran.report {
        return Err("fast-forwarded iterations differ from single ones".to_owned());
    }
    Ok(ran.batches + copies::check(given, &ran.report)? + results::check(given, &ran)?)
}

#[test]
fn every_batch_and_every_request() {
    let of_vllm = runs().into_iter().map(|path| (of_one_engine(servescope_tests::json(&path)), path));
    let in_form = |path: &PathBuf| next::in_form_of_vllm(&servescope_tests::json(path));
    let of_next = next::runs().into_iter().map(|path| (in_form(&path), path));
    all_agree(of_vllm.chain(of_next), |file, name| check(&Given::read(file), name));
}
