//! `www/src/generated/`: what the program `examples/parameters.rs` prints.

use std::fs;
use std::process::Command;

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
    for (name, arguments) in [("parameters.ts", &[][..]), ("parameter-text.json", &["text"])] {
        let text = process::capture(Command::new(&program).args(arguments))?;
        let folder = project.www().join("src/generated");
        let file = folder.join(name);
        if fs::read_to_string(&file).is_ok_and(|present| present == text) {
            continue;
        }
        fs::create_dir_all(&folder)
            .and_then(|()| fs::write(&file, text))
            .map_err(|error| format!("{}: {error}", file.display()))?;
    }
    Ok(())
}
