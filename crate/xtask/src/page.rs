//! The page: everything in `dist/`, ready for any static host and sub-path.

use std::process::Command;
use std::thread;

use crate::process::{self, TaskResult};
use crate::programs::{self, Program};
use crate::project::Project;
use crate::{generate, wasm};

/// Where the documentation is built, for the bundler to put beside the page.
const SITE: &str = "target/site";

/// What the page's own sources need to make sense, made once a run: the wasm package and the generated sources.
pub(crate) fn package(project: &Project) -> TaskResult {
    let make = || {
        let log = process::log();
        thread::scope(|scope| {
            let generated = scope.spawn(|| process::logged(log, || generate::write(project)));
            let built = wasm::build(project);
            wasm::ended(generated).and(built)
        })
    };
    project.package.get_or_init(make).clone()
}

/// The whole page, made once a run: the package if its sources changed, the pages of `docs/`, and the bundle.
pub(crate) fn build(project: &Project) -> TaskResult {
    let make = || {
        package(project)?;
        programs::build(project, &[Program::Site])?;
        let root = project.root();
        process::run(Command::new(Program::Site.path(project)).arg(root).arg(root.join(SITE)))?;
        process::run(project.node_tool("vite")?.args(["build", "--logLevel", "warn"]))
    };
    project.page.get_or_init(make).clone()
}
