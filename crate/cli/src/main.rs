//! `servescope`: the same core as the page, in a terminal.
//!
//! Exit code 0: fine; 1: a run that failed; 2: bad usage or bad input.

mod bench;
mod convert;
mod generate;
mod inspect;
mod output;
mod scenario_args;
mod simulate;
mod summary_text;
mod validate;
mod vidur;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use output::print;

/// Simulates multi-tenant LLM serving: synthetic or real requests, S-LoRA's batching, a GPU model.
#[derive(Parser)]
#[command(name = "servescope", version, about)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Makes a synthetic trace and writes it as a file.
    Generate(generate::Arguments),
    /// Simulates a scenario, a link of the page, or a trace file.
    Simulate(simulate::Arguments),
    /// Prints the statistics of a trace file.
    Inspect(inspect::Arguments),
    /// Reads a trace file of any known format and writes it in another.
    Convert(convert::Arguments),
    /// Prints the parameter table as JSON Schema.
    Schema,
    /// Compares the simulator with closed forms and published measurements.
    Validate(validate::Arguments),
    /// Measures generator and engine.
    #[command(hide = true)]
    Bench(bench::Arguments),
}

fn main() -> ExitCode {
    let result = match Arguments::parse().verb {
        Verb::Generate(arguments) => generate::run(&arguments),
        Verb::Simulate(arguments) => simulate::run(&arguments),
        Verb::Inspect(arguments) => inspect::run(&arguments),
        Verb::Convert(arguments) => convert::run(&arguments),
        Verb::Schema => print(&format!("{:#}\n", servescope_lab::schema::json_schema())),
        Verb::Validate(arguments) => validate::run(&arguments),
        Verb::Bench(arguments) => bench::run(&arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failed) => failed.report(),
    }
}
