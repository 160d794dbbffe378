//! `www/src/generated/parameters.ts`, as the program `examples/parameters.rs` prints it.

use std::fs;

use crate::process::{self, Outcome};
use crate::project::Project;

/// Writes the file, if it is not there with that content already: a newer file would make the development
/// server load the page again.
pub(crate) fn write(project: &Project) -> Outcome {
    let print = ["run", "--quiet", "--release", "--package", "xtask", "--example", "parameters"];
    let text = process::capture(process::cargo(project.root()).args(print))?;
    let folder = project.www().join("src/generated");
    let file = folder.join("parameters.ts");
    if fs::read_to_string(&file).is_ok_and(|present| present == text) {
        return Ok(());
    }
    fs::create_dir_all(&folder)
        .and_then(|()| fs::write(&file, text))
        .map_err(|error| format!("{}: {error}", file.display()))
}
