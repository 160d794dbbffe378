//! A short run of every fuzz target. New inputs go to a scratch folder; the seeds in `tests/fuzz/corpus` stay as they are.

use std::fs;

use crate::process::{self, Outcome};
use crate::project::Project;
use crate::toolchain::debian;
use crate::tools;

/// Seconds for each target.
const SECONDS: u32 = 10;

/// Builds and runs every target of `tests/fuzz/targets`.
pub(crate) fn run(project: &Project) -> Outcome {
    if process::find(&["c++", "g++", "clang++"]).is_none() {
        // libFuzzer is C++.
        debian::install(&["g++"])?;
    }
    let programs = tools::cargo_fuzz(project.root(), &project.settings().tools)?;
    let folder = project.root().join("tests/fuzz");
    let scratch = project.root().join("target/fuzz");
    for target in targets(&folder)? {
        let corpus = scratch.join("corpus").join(&target);
        fs::create_dir_all(&corpus).map_err(|error| format!("{}: {error}", corpus.display()))?;
        process::run(
            process::cargo(project.root())
                .arg("fuzz")
                .args(["run", "--sanitizer", "none", "--fuzz-dir"])
                .arg(&folder)
                .arg("--target-dir")
                .arg(&scratch)
                .arg(&target)
                .arg(&corpus)
                .arg(folder.join("corpus").join(&target))
                .args(["--", "-max_len=4096", "-verbosity=0", &format!("-max_total_time={SECONDS}")])
                .env("PATH", process::path_after(std::slice::from_ref(&programs))?),
        )?;
    }
    Ok(())
}

/// Names of the targets, in order.
fn targets(folder: &std::path::Path) -> Outcome<Vec<String>> {
    let entries =
        fs::read_dir(folder.join("targets")).map_err(|error| format!("tests/fuzz/targets: {error}"))?;
    let stems = entries.flatten().filter_map(|entry| Some(entry.path().file_stem()?.to_str()?.to_owned()));
    let mut names: Vec<String> = stems.collect();
    names.sort();
    if names.is_empty() { Err("there is no fuzz target".to_owned()) } else { Ok(names) }
}
