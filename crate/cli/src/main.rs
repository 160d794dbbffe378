//! `servescope`: the same core as the page, in a terminal.
//!
//! Exit code 0: fine; 1: a run that failed; 2: bad usage or bad input.

mod aibrix;
mod bench;
mod bodies;
mod capacity;
mod chart_files;
mod collections;
mod compare;
mod concat;
mod convert;
mod debug;
mod debug_text;
mod fit;
mod generate;
mod input_args;
mod inspect;
mod kernel_import;
mod merge;
mod notes;
mod open;
mod output;
mod overlay;
mod overlay_charts;
mod overlay_text;
mod plots;
mod profile;
mod profile_needs;
mod progress;
mod read_args;
mod replay;
mod replay_text;
mod run_files;
mod scenario_args;
mod servegen;
mod simulate;
mod step_args;
mod summary_text;
mod sweep;
mod sweep_charts;
mod tokenizer;
mod validate;
mod vidur;
mod vllm_serve;
mod why_text;
mod workload_plot;
mod write_args;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use output::print;

/// Runs follow each other in one process; with the C library's allocator each asks the system for its pages again.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

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
    Generate(generate::GenerateArguments),
    /// Runs AIBrix's workload generator, with the options of its command line.
    ///
    /// With --prompt-file requests get texts, chosen as AIBrix chooses them; without it they have the lengths that AIBrix would
    /// look for in that file, and no text, and `servescope bodies FILE --form aibrix --prompts PROMPTS` chooses later. Outputs
    /// keep the length wanted here; where none is wanted, that of the prompt's completion, or null.
    Aibrix(Box<aibrix::AibrixArguments>),
    /// Simulates a scenario, a link of the page, or a trace file.
    Simulate(simulate::SimulateArguments),
    /// Steps through the decisions of gateway and schedulers, forward and back, with the test and the numbers behind each.
    Debug(Box<debug::DebugArguments>),
    /// Says what a file or a line is (scenario, trace, result, config.json, adapter, operator table, vllm serve or sglang line,
    /// link), which keys decided it, and the command that goes on with it.
    Open(open::OpenArguments),
    /// Prints the statistics of a trace file.
    Inspect(inspect::InspectArguments),
    /// Reads trace files of any known format and writes them in another, one after another where there are several.
    Convert(convert::ConvertArguments),
    /// Writes the requests of a trace file as bodies for a server: S-LoRA, OpenAI, vLLM, AIBrix.
    Bodies(bodies::BodiesArguments),
    /// Concatenates trace files.
    Concat(concat::ConcatArguments),
    /// Merges trace files by their time stamps.
    Merge(merge::MergeArguments),
    /// Fits a statistical model to a trace, generates a twin from it, and reports how close the twin is.
    Fit(fit::TraceFitArguments),
    /// Makes compact operator tables: from profiling data in Vidur's form, or from measured kernels.
    Profile(profile::ProfileArguments),
    /// Finds the highest rate that meets a goal, for a scenario or for every configuration of a grid.
    ///
    /// The goal is set by the parameters capacity.*: bounds on a quantile of TTFT, TBT, E2E time or queueing delay, and no
    /// growing queue. Every run has the same seed; a trace file is played faster or slower.
    Capacity(capacity::CapacityArguments),
    /// Compares two settings over the same seeds: differences with confidence intervals.
    ///
    /// A and B are scenario files or addresses of the page; without B it is A, and without both the default, with the
    /// settings of --set-a and --set-b on top. Both get the same seeds, so that both serve the same requests (common random
    /// numbers). With --seeds 1 one long run is divided into batches in place of seeds.
    Compare(Box<compare::CompareArguments>),
    /// Simulates every combination of some parameters' values.
    Sweep(Box<sweep::SweepArguments>),
    /// Compares a measured run with its simulation.
    ///
    /// The requests of a load generator's result file, and the server's settings where the file has them, are simulated; both runs
    /// are compared request by request, and the likeliest cause of the difference is named.
    Overlay(Box<overlay::OverlayArguments>),
    /// Sends a trace or a generated workload to a server of OpenAI's API, and compares the measured run with its simulation.
    ///
    /// Requests are sent by their time stamps, or in a closed loop; answers are streamed, and each chunk of text has its time. Only
    /// this machine is asked unless another host is allowed, and rate, number, time and requests in flight are bounded.
    Replay(Box<replay::ReplayArguments>),
    /// Prints the `vllm serve` command for a setting, and lists what no flag of vLLM expresses.
    VllmServe(vllm_serve::VllmServeArguments),
    /// Prints the parameter table as JSON Schema.
    Schema,
    /// Compares the simulator with closed forms and published measurements.
    Validate(validate::ValidateArguments),
    /// Measures generator and engine.
    #[command(hide = true)]
    Bench(bench::BenchArguments),
}

fn main() -> ExitCode {
    let result = match Arguments::parse().verb {
        Verb::Generate(arguments) => generate::run(&arguments),
        Verb::Aibrix(arguments) => aibrix::run(&arguments),
        Verb::Simulate(arguments) => simulate::run(&arguments),
        Verb::Debug(arguments) => debug::run(&arguments),
        Verb::Open(arguments) => open::run(&arguments),
        Verb::Inspect(arguments) => inspect::run(&arguments),
        Verb::Convert(arguments) => convert::run(&arguments),
        Verb::Bodies(arguments) => bodies::run(&arguments),
        Verb::Concat(arguments) => concat::run(&arguments),
        Verb::Merge(arguments) => merge::run(&arguments),
        Verb::Fit(arguments) => fit::run(&arguments),
        Verb::Profile(arguments) => profile::run(&arguments),
        Verb::Capacity(arguments) => capacity::run(&arguments),
        Verb::Compare(arguments) => compare::run(&arguments),
        Verb::Sweep(arguments) => sweep::run(&arguments),
        Verb::Overlay(arguments) => overlay::run(&arguments),
        Verb::Replay(arguments) => replay::run(&arguments),
        Verb::VllmServe(arguments) => vllm_serve::run(&arguments),
        Verb::Schema => print(&format!("{:#}\n", servescope_settings::schema::json_schema())),
        Verb::Validate(arguments) => validate::run(&arguments),
        Verb::Bench(arguments) => bench::run(&arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failed) => failed.report(),
    }
}
