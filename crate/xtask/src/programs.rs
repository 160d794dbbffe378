//! The programs of this project that build the page and check it, compiled as the native tests are.

use std::path::PathBuf;

use crate::process::{self, TaskResult};
use crate::project::{NATIVE, Project};

/// A program of the workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    /// Prints the parameter table and its texts for the page.
    Parameters,
    /// Prints the types of what crosses to the page.
    Boundary,
    /// Writes the documentation as pages.
    Site,
    /// The simulator in a terminal.
    Terminal,
}

impl Program {
    fn name(self) -> &'static str {
        match self {
            Self::Parameters => "parameters",
            Self::Boundary => "boundary",
            Self::Site => "servescope-site",
            Self::Terminal => "servescope",
        }
    }

    fn is_example(self) -> bool {
        matches!(self, Self::Parameters | Self::Boundary)
    }

    /// Where cargo puts it.
    pub(crate) fn path(self, project: &Project) -> PathBuf {
        let profile = if project.is_whole() { "release" } else { "debug" };
        let mut folder = project.root().join("target").join(profile);
        if self.is_example() {
            folder.push("examples");
        }
        folder.join(self.name()).with_extension(std::env::consts::EXE_EXTENSION)
    }
}

/// Compiles programs with the packages that the native tests have, so that no package is compiled a second time for them.
pub(crate) fn build(project: &Project, programs: &[Program]) -> TaskResult {
    let mut command = project.cargo();
    command.args(["build", "--quiet"]).args(NATIVE);
    if project.is_whole() {
        command.arg("--release");
    }
    // Cargo leaves the development dependencies' features out of a build of binaries alone: then the simulator would be
    // another one than that of the tests, and compiled for a second time. An example brings them in.
    for program in programs.iter().chain(&[Program::Boundary]) {
        command.args([if program.is_example() { "--example" } else { "--bin" }, program.name()]);
    }
    process::run(command.arg("--target-dir").arg(project.root().join("target")))
}
