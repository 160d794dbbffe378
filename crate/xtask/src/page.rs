//! The page: everything in `dist/`, ready for any static host and sub-path.

use std::process::Command;

use crate::process::{self, Outcome};
use crate::project::{NATIVE, Project};

/// Where the documentation is built, for the bundler to put beside the page.
const SITE: &str = "target/site";

/// Builds the wasm package if its sources changed, and bundles the page with its documentation.
pub(crate) fn build(project: &Project) -> Outcome {
    project.package()?;
    documentation(project)?;
    process::run(project.node_tool("vite")?.args(["build", "--logLevel", "warn"]))
}

/// The pages of `docs/`.
fn documentation(project: &Project) -> Outcome {
    let (root, name) = (project.root(), "servescope-site");
    let target = root.join("target");
    // The build that the tests have, with the same features.
    let build = ["build", "--quiet", "--bin", name, "--target-dir"];
    process::run(project.cargo().args(build).arg(&target).args(NATIVE))?;
    let program = target.join("debug").join(name).with_extension(std::env::consts::EXE_EXTENSION);
    process::run(Command::new(program).arg(root).arg(root.join(SITE)))
}
