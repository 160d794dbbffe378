//! The page: everything in `dist/`, ready for any static host and sub-path.

use crate::process::{self, Outcome};
use crate::project::Project;

/// Builds the wasm package if its sources changed, and bundles the page.
pub(crate) fn build(project: &Project) -> Outcome {
    project.package()?;
    process::run(project.node_tool("vite")?.args(["build", "--logLevel", "warn"]))
}
