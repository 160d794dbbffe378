//! `www/src/generated/`: what the program `examples/parameters.rs` prints, and the glossary, which is a document as well.

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
    let build = ["build", "--quiet", "--example", "parameters", "--target-dir"];
    process::run(project.cargo().args(build).arg(&target).args(NATIVE))?;
    let program = target.join("debug/examples/parameters").with_extension(std::env::consts::EXE_EXTENSION);
    let folder = project.www().join("src/generated");
    for (name, arguments) in [("parameters.ts", &[][..]), ("parameter-text.json", &["text"])] {
        put(&folder.join(name), &process::capture(Command::new(&program).args(arguments))?)?;
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
