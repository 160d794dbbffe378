//! The project's tasks: set up what is missing, build, serve, develop, test, bench.
//!
//! Run as `cargo xtask VERB`. Every verb first makes sure that what it needs is there, and does nothing
//! about what is.

mod arguments;
mod arrows;
mod bench;
mod browser;
mod check;
mod dev;
mod fuzz;
mod generate;
mod glossary;
mod hash;
#[cfg(test)]
mod map;
mod modules;
mod package;
mod packages;
mod page;
mod process;
mod programs;
mod project;
mod serve;
mod settings;
mod sizes;
mod toolchain;
mod tools;
mod wasm;

use std::process::ExitCode;

use arguments::{ProjectTask, USAGE};
use process::TaskResult;
use project::{Project, Size};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let verb = match arguments::parse(&arguments) {
        Ok(verb) => verb,
        Err(message) => {
            eprintln!("{message}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match run(verb) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

/// True when everything the verb checks is in order.
fn run(verb: ProjectTask) -> TaskResult<bool> {
    if verb == ProjectTask::Help {
        println!("{USAGE}");
        return Ok(true);
    }
    let size = if matches!(verb, ProjectTask::Test { whole: true, .. }) { Size::Whole } else { Size::Quick };
    let project = Project::open(size)?;
    match verb {
        ProjectTask::Help => {}
        ProjectTask::Setup => project.set_up()?,
        ProjectTask::Generate => generate::write(&project)?,
        ProjectTask::Package => package::build(&project)?,
        ProjectTask::Build => {
            page::build(&project)?;
            println!("the page is in {}", project.dist().display());
        }
        ProjectTask::Serve { port } => serve::run(&project, port)?,
        ProjectTask::Dev { port } => dev::run(&project, port)?,
        ProjectTask::Test { choice, .. } => return check::run(&project, &choice),
        ProjectTask::Weigh => sizes::weigh(&project)?,
        ProjectTask::Fuzz { seconds } => fuzz::search(&project, seconds)?,
        ProjectTask::Bench { peers: false, out } => bench::run(&project, out.as_deref())?,
        ProjectTask::Bench { peers: true, out } => bench::peers::run(&project, out.as_deref())?,
    }
    Ok(true)
}
