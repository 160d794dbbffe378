//! Generated sources: what the program `examples/parameters.rs` prints and the glossary, which is a document as well, for
//! `www/src/generated/`; the types of the boundary, as the program `examples/boundary.rs` prints them.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::glossary;
use crate::process::{self, TaskResult};
use crate::programs::{self, Program};
use crate::project::Project;

/// Writes the files, if they are not there with that content already: a newer file would make the development server
/// load the page again.
pub(crate) fn write(project: &Project) -> TaskResult {
    programs::build(project, &[Program::Parameters, Program::Boundary, Program::Site])?;
    put(
        &project.root().join("crate/boundary/src/boundary.d.ts"),
        &process::capture(&mut Command::new(Program::Boundary.path(project)))?,
    )?;
    let parameters = Program::Parameters.path(project);
    let folder = project.www().join("src/generated");
    let texts =
        [("parameters.ts", &[][..]), ("parameter-text.json", &["text"]), ("metrics.ts", &["metrics"])];
    for (name, arguments) in texts {
        put(&folder.join(name), &process::capture(Command::new(&parameters).args(arguments))?)?;
    }
    let (document, script) = glossary::texts(project.root())?;
    put(&project.root().join(glossary::DOCUMENT), &document)?;
    put(&folder.join("glossary.ts"), &script)
}

fn put(file: &Path, text: &str) -> TaskResult {
    if fs::read_to_string(file).is_ok_and(|present| present == text) {
        return Ok(());
    }
    file.parent()
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| fs::write(file, text))
        .map_err(|error| format!("{}: {error}", file.display()))
}
