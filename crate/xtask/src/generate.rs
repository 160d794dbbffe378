//! Generated sources: what the program `examples/parameters.rs` prints and the glossary, which is a document as well, for
//! `www/src/generated/`; the types of the boundary, as the program `examples/boundary.rs` prints them.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::glossary;
use crate::process::{self, Outcome};
use crate::project::{NATIVE, Project};

/// Writes the files, if they are not there with that content already: a newer file would make the development server
/// load the page again.
pub(crate) fn write(project: &Project) -> Outcome {
    // The build that the tests have, with the same features.
    let target = project.root().join("target");
    let build = ["build", "--quiet", "--example", "parameters", "--example", "boundary", "--target-dir"];
    process::run(project.cargo().args(build).arg(&target).args(NATIVE))?;
    let program =
        |name: &str| target.join("debug/examples").join(name).with_extension(std::env::consts::EXE_EXTENSION);
    put(
        &project.root().join("crate/boundary/src/boundary.d.ts"),
        &process::capture(&mut Command::new(program("boundary")))?,
    )?;
    let parameters = program("parameters");
    let folder = project.www().join("src/generated");
    for (name, arguments) in [("parameters.ts", &[][..]), ("parameter-text.json", &["text"])] {
        put(&folder.join(name), &process::capture(Command::new(&parameters).args(arguments))?)?;
    }
    let (document, script) = glossary::texts(project.root())?;
    put(&project.root().join(glossary::DOCUMENT), &document)?;
    put(&folder.join("glossary.ts"), &script)
}

fn put(file: &Path, text: &str) -> Outcome {
    if fs::read_to_string(file).is_ok_and(|present| present == text) {
        return Ok(());
    }
    file.parent()
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| fs::write(file, text))
        .map_err(|error| format!("{}: {error}", file.display()))
}
