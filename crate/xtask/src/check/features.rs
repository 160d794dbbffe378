//! The features of the packages that compute: the tests of the workspace are those of the terminal that is installed alone.
//!
//! Cargo unites the features of what it builds together. A package that computes otherwise with another feature (num-traits
//! takes the platform's functions where `std` is on) would make the tested build another one than the one in use. The
//! page's module has other features on purpose (it fetches its texts and operator tables); its own tests hold it to the same
//! digests.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

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
    let tested = lines(project.root(), project.cargo(), &["--workspace", "--edges", "normal,dev"])?;
    let terminal =
        lines(project.root(), project.cargo(), &["--package", "servescope-cli", "--edges", "normal"])?;
    compare(&tested, &terminal)
}

/// Adds declarations for another language, and nothing that runs.
const DECLARES: &str = "types";

fn lines(root: &Path, mut cargo: Command, selection: &[&str]) -> TaskResult<BTreeSet<String>> {
    cargo.arg("tree").args(selection).args(["--prefix", "none", "--no-dedupe", "--format", "{p} [{f}]"]);
    let printed = process::capture(cargo.current_dir(root))?;
    let computes = |line: &&str| COMPUTES.iter().any(|name| line.split(' ').next() == Some(name));
    Ok(printed.lines().filter(computes).map(of_what_runs).collect())
}

/// A line of the tree without the feature that no computation depends on.
fn of_what_runs(line: &str) -> String {
    let Some((package, features)) = line.split_once('[') else { return line.to_owned() };
    let features = features.trim_end_matches(']').split(',').filter(|feature| *feature != DECLARES);
    format!("{package}[{}]", features.collect::<Vec<_>>().join(","))
}

fn compare(tested: &BTreeSet<String>, terminal: &BTreeSet<String>) -> TaskResult {
    if terminal.len() < COMPUTES.len() {
        return Err(format!("the terminal has only {terminal:?} of {COMPUTES:?}"));
    }
    let other: Vec<&str> = terminal.difference(tested).map(String::as_str).collect();
    if other.is_empty() {
        process::say(&format!("{} packages have the same features in both builds", terminal.len()));
        return Ok(());
    }
    Err(format!(
        "the terminal alone has other features than the tests of the workspace: {}",
        other.join("; ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_feature_is_told() {
        let with = |feature: &str| -> BTreeSet<String> {
            COMPUTES.iter().map(|name| format!("{name} v1 [{feature}]")).collect()
        };
        assert_eq!(compare(&with("std"), &with("std")), Ok(()));
        assert!(compare(&with("std"), &with("libm")).unwrap_err().contains("num-traits v1 [libm]"));
        assert!(compare(&with("std"), &BTreeSet::new()).is_err());
        assert_eq!(of_what_runs("lab v1 [tables,types]"), "lab v1 [tables]");
        assert_eq!(of_what_runs("engine v1 [types]"), "engine v1 []");
    }
}
