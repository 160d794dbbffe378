//! Runs of vLLM's own v1 scheduler, iteration by iteration: which requests, how many tokens, who is preempted, what was
//! cached, loaded and stored, every time within a microsecond.
//!
//! The folders are `vllm` and `vllm-next` in the one that `SERVESCOPE_REFERENCE` names, otherwise in `tests/reference/`; each
//! `*.json.gz` below them, or unpacked file, is a run. Of runs with clients that go away the batches are compared, and the requests that stay.

mod batches;
mod copies;
mod given;
mod next;
mod results;
mod traces;

use std::path::{Path, PathBuf};

use given::Given;

/// Every run below the folder `vllm`.
fn runs() -> Vec<PathBuf> {
    let root = servescope_tests::reference().join("vllm");
    servescope_tests::files(&root, |name| Path::new(name).extension().is_some_and(|end| end == "json"))
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
    let (mut checked, mut wrong) = (0, Vec::new());
    let of_one_engine = |path: &PathBuf| next::of_one_engine(&servescope_tests::json(path));
    let of_vllm = runs().into_iter().map(|path| (servescope_tests::json(&path), path));
    for (file, path) in of_vllm.chain(next::runs().into_iter().map(|path| (of_one_engine(&path), path))) {
        let name = servescope_tests::plain_name(&path);
        match check(&Given::read(&file), &name) {
            Ok(cases) => {
                servescope_tests::report_cases(&path, cases);
                checked += 1;
            }
            Err(difference) => wrong.push(format!("{name}: {difference}")),
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {} runs differ:\n{}",
        wrong.len(),
        checked + wrong.len(),
        wrong.join("\n")
    );
    println!("{checked} runs agree");
}
