//! What the page's own sources need to make sense: the wasm package and the generated sources.

use std::thread;

use crate::process::{self, TaskResult};
use crate::project::Project;
use crate::{generate, wasm};

/// Makes both, once a run.
pub(crate) fn build(project: &Project) -> TaskResult {
    let make = || {
        let log = process::log();
        thread::scope(|scope| {
            let generated = scope.spawn(|| process::logged(log, || generate::write(project)));
            let built = wasm::build(project);
            let generated =
                generated.join().unwrap_or_else(|_| Err("generating the sources panicked".to_owned()));
            generated.and(built)
        })
    };
    project.package.get_or_init(make).clone()
}
