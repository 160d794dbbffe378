//! Writes the documentation as pages: `servescope-site ROOT OUT`.
//!
//! The pages are the Markdown files of `docs/`, in the order of [`chapters::CHAPTERS`], and the parameter reference, which is made
//! of the parameter table. They have the page's themes and its content security policy, and need no script of their own.

mod chapters;
mod page;
mod parameters;
mod render;

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [root, out] = arguments.as_slice() else {
        eprintln!("servescope-site ROOT OUT");
        return ExitCode::from(2);
    };
    match page::write_all(Path::new(root), Path::new(out)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("servescope-site: {message}");
            ExitCode::FAILURE
        }
    }
}
