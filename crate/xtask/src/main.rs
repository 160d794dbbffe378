//! The project's tasks: set up what is missing, build, serve, develop, test, bench.
//!
//! Run as `cargo xtask VERB`. Every verb first makes sure that what it needs is there, and does nothing
//! about what is.

mod arrows;
mod bench;
mod browser;
mod check;
mod fuzz;
mod generate;
mod glossary;
#[cfg(test)]
mod map;
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

use clap::{Parser, Subcommand};

use check::StepChoice;
use process::TaskResult;
use project::{Project, Size};

/// The project's tasks.
#[derive(Parser)]
#[command(name = "cargo xtask", after_help = ENVIRONMENT)]
struct Arguments {
    #[command(subcommand)]
    task: ProjectTask,
}

const ENVIRONMENT: &str = "\
Environment:
  SERVESCOPE_CHROMIUM    the browser to test with (else chromium, chromium-browser or google-chrome on PATH)
  CHROMEDRIVER           its driver (else chromedriver on PATH)
  SERVESCOPE_FIREFOX     the Firefox to test with (else firefox-esr or firefox on PATH)";

#[derive(Subcommand)]
enum ProjectTask {
    /// Build, then serve the page on 127.0.0.1:8080
    Serve {
        #[arg(long)]
        port: Option<u16>,
    },
    /// Run the checks that every change must pass, or all that a release must pass
    Test(StepChoice),
    /// Print what the page weighs on the wire, beside its bounds (sizes.json)
    Weigh,
    /// Search every fuzz target for new failures
    Fuzz {
        /// For each target
        #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..))]
        seconds: u32,
    },
    /// Leave the whole page in dist/, for any static host
    Build,
    /// Serve, rebuild and reload on every change
    Dev {
        #[arg(long)]
        port: Option<u16>,
    },
    /// Measure the engine, the page and its sizes
    Bench {
        /// Measure the engine beside other simulators instead
        #[arg(long)]
        peers: bool,
        /// Where the numbers are written as JSON, too
        #[arg(long)]
        out: Option<String>,
    },
    /// Make only the wasm package and the generated sources
    Package,
    /// Make only the generated sources
    Generate,
    /// Only install what is missing, the browser too
    Setup,
}

fn main() -> ExitCode {
    match run(Arguments::parse().task) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

/// True when everything the task checks is in order.
fn run(task: ProjectTask) -> TaskResult<bool> {
    let is_whole = matches!(&task, ProjectTask::Test(choice) if choice.whole);
    let project = Project::open(if is_whole { Size::Whole } else { Size::Quick })?;
    match task {
        ProjectTask::Setup => project.set_up()?,
        ProjectTask::Generate => generate::write(&project)?,
        ProjectTask::Package => page::package(&project)?,
        ProjectTask::Build => {
            page::build(&project)?;
            println!("the page is in {}", project.dist().display());
        }
        ProjectTask::Serve { port } => serve::built(&project, port)?,
        ProjectTask::Dev { port } => serve::in_development(&project, port)?,
        ProjectTask::Test(choice) => return check::run(&project, &choice),
        ProjectTask::Weigh => sizes::weigh(&project)?,
        ProjectTask::Fuzz { seconds } => fuzz::search(&project, seconds)?,
        ProjectTask::Bench { peers: false, out } => bench::run(&project, out.as_deref())?,
        ProjectTask::Bench { peers: true, out } => bench::peers::run(&project, out.as_deref())?,
    }
    Ok(true)
}

#[test]
fn the_command_line_makes_sense() {
    use clap::CommandFactory as _;
    Arguments::command().debug_assert();
}
