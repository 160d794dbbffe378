//! `www/src/generated/`: what the program `examples/parameters.rs` prints.

use std::fs;

use crate::process::{self, Outcome};
use crate::project::Project;

/// Writes the files, if they are not there with that content already: a newer file would make the development server
/// load the page again.
pub(crate) fn write(project: &Project) -> Outcome {
    for (name, arguments) in [("parameters.ts", &[][..]), ("parameter-text.json", &["text"])] {
        let print = ["run", "--quiet", "--release", "--package", "xtask", "--example", "parameters", "--"];
        let text = process::capture(process::cargo(project.root()).args(print).args(arguments))?;
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
