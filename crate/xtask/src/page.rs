//! The page: everything in `dist/`, ready for any static host and sub-path.

use std::process::Command;

use crate::package;
use crate::process::{self, TaskResult};
use crate::programs::{self, Program};
use crate::project::Project;

/// Where the documentation is built, for the bundler to put beside the page.
const SITE: &str = "target/site";

/// The whole page, made once a run.
pub(crate) fn build(project: &Project) -> TaskResult {
    project.page.get_or_init(|| bundle(project)).clone()
}

/// Builds the wasm package if its sources changed, and bundles the page with its documentation.
fn bundle(project: &Project) -> TaskResult {
    package::build(project)?;
    documentation(project)?;
    process::run(project.node_tool("vite")?.args(["build", "--logLevel", "warn"]))
}

/// The pages of `docs/`.
fn documentation(project: &Project) -> TaskResult {
    programs::build(project, &[Program::Site])?;
    let root = project.root();
    process::run(Command::new(Program::Site.path(project)).arg(root).arg(root.join(SITE)))
}
