//! Runs of the fuzz targets. New inputs go to a scratch folder; the seeds in `tests/fuzz/corpus` stay as they are.
//!
//! The whole check is a fixed number of inputs drawn from a fixed seed, so that it answers alike on every machine and for
//! every commit (the quick one replays the seeds and variants of them in `tests/fuzz_targets.rs`); a search for new failures is
//! `cargo xtask fuzz`, with other inputs each time and what the former searches found to start from.

use std::fs;
use std::path::{Path, PathBuf};

use crate::process::{self, TaskResult};
use crate::project::Project;
use crate::toolchain::debian;
use crate::tools;

/// Inputs for each target in the check.
const RUNS: u32 = 20_000;

/// Longest time in seconds for them on a slow machine.
const AT_MOST_S: u32 = 60;

/// Builds and runs every target of `tests/fuzz/targets`, the same way each time.
pub(crate) fn check(project: &Project) -> TaskResult {
    let scratch = project.root().join("target/fuzz/check");
    if scratch.exists() {
        fs::remove_dir_all(&scratch).map_err(|error| format!("{}: {error}", scratch.display()))?;
    }
    run(
        project,
        &scratch,
        &["-seed=1".to_owned(), format!("-runs={RUNS}"), format!("-max_total_time={AT_MOST_S}")],
    )
}

/// Searches each target for `seconds`.
pub(crate) fn search(project: &Project, seconds: u32) -> TaskResult {
    run(project, &project.root().join("target/fuzz/corpus"), &[format!("-max_total_time={seconds}")])
}

/// Installs what builds the targets, and gives the program that does.
pub(crate) fn set_up(project: &Project) -> TaskResult<PathBuf> {
    if process::find(&["c++", "g++", "clang++"]).is_none() {
        // libFuzzer is C++.
        debian::install(&["g++"])?;
    }
    tools::cargo_fuzz(project.root(), &project.settings().tools)
}

fn run(project: &Project, scratch: &Path, options: &[String]) -> TaskResult {
    let program = set_up(project)?;
    let programs: Vec<PathBuf> = program.parent().map(Path::to_path_buf).into_iter().collect();
    let folder = project.root().join("tests/fuzz");
    for target in targets(&folder)? {
        let corpus = scratch.join(&target);
        fs::create_dir_all(&corpus).map_err(|error| format!("{}: {error}", corpus.display()))?;
        process::run(
            project
                .cargo()
                .arg("fuzz")
                .args(["run", "--sanitizer", "none", "--fuzz-dir"])
                .arg(&folder)
                .arg("--target-dir")
                .arg(project.root().join("target/fuzz"))
                .arg(&target)
                .arg(&corpus)
                .arg(folder.join("corpus").join(&target))
                .args(["--", "-max_len=4096", "-verbosity=0"])
                .args(options)
                .env("PATH", process::path_after(&programs)?),
        )?;
    }
    Ok(())
}

/// Names of the targets, in order.
fn targets(folder: &Path) -> TaskResult<Vec<String>> {
    let entries =
        fs::read_dir(folder.join("targets")).map_err(|error| format!("tests/fuzz/targets: {error}"))?;
    let stems = entries.flatten().filter_map(|entry| Some(entry.path().file_stem()?.to_str()?.to_owned()));
    let mut names: Vec<String> = stems.collect();
    names.sort();
    if names.is_empty() { Err("there is no fuzz target".to_owned()) } else { Ok(names) }
}
