//! `checks.toml`: how long the quick check may take.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use crate::process::TaskResult;

/// The name of the file at the top of the project.
const FILE: &str = "checks.toml";

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Budget {
    /// Seconds for all steps but the set-up, from the first one's start to the last one's end.
    pub(super) total_s: f64,
    /// Above this multiple of the total the check fails.
    pub(super) fails_above: f64,
    /// Seconds of the processor that [`super::pace`]'s work takes on the machine that the budget is for.
    pub(super) sample_s: f64,
    /// Seconds of each step.
    pub(super) steps: BTreeMap<String, f64>,
}

/// Reads the file in the project's root.
pub(super) fn read(root: &Path) -> TaskResult<Budget> {
    let text = std::fs::read_to_string(root.join(FILE)).map_err(|error| format!("{FILE}: {error}"))?;
    toml::from_str(&text).map_err(|error| format!("{FILE}: {error}"))
}
