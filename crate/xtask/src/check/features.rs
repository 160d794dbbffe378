//! The features of the packages that compute: the tests of the workspace are those of the terminal that is installed alone.
//!
//! Cargo unites the features of what it builds together. A package that computes otherwise with another feature (num-traits
//! takes the platform's functions where `std` is on) would make the tested build another one than the one in use. The
//! page's module has other features on purpose (it fetches its texts and operator tables); its own tests hold it to the same
//! digests.

use std::collections::BTreeSet;

use crate::process::{self, TaskResult};
use crate::project::Project;

/// What computes: our crates, and what they draw and round with.
const COMPUTES: [&str; 11] = [
    "servescope-workload",
    "servescope-cost",
    "servescope-engine",
    "servescope-settings",
    "servescope-traces",
    "servescope-lab",
    "libm",
    "num-traits",
    "rand_distr",
    "rand_xoshiro",
    "serde_json",
];

/// Compares the features of the workspace with those of the terminal alone.
pub(super) fn check(project: &Project) -> TaskResult {
    let tested = features(project, &["--workspace", "--edges", "normal,dev"])?;
    let terminal = features(project, &["--package", "servescope-cli", "--edges", "normal"])?;
    if terminal.len() < COMPUTES.len() {
        return Err(format!("the terminal has only {terminal:?} of {COMPUTES:?}"));
    }
    let other: Vec<String> = terminal.difference(&tested).cloned().collect();
    if other.is_empty() { Ok(()) } else { Err(format!("only the terminal alone has {}", other.join("; "))) }
}

/// What computes, each with its features.
fn features(project: &Project, selection: &[&str]) -> TaskResult<BTreeSet<String>> {
    let format = ["--prefix", "none", "--no-dedupe", "--format", "{p} [{f}]"];
    let printed = process::capture(project.cargo().arg("tree").args(selection).args(format))?;
    let computes = |line: &&str| COMPUTES.iter().any(|name| line.split(' ').next() == Some(name));
    // `types` adds declarations for another language, and nothing that runs.
    let of_what_runs = |line: &str| line.replace(",types]", "]").replace("[types]", "[]");
    Ok(printed.lines().filter(computes).map(of_what_runs).collect())
}
