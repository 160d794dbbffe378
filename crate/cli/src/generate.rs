//! `servescope generate`: a synthetic trace as a file.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use servescope_lab::run::trace_of;
use servescope_lab::workload::formats::{self, Format};
use servescope_lab::workload::statistics::PrefixHits;

use crate::output::{Failed, note, write_or_print};
use crate::scenario_args::ScenarioArguments;
use crate::servegen::ServeGenArguments;

#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    scenario: ScenarioArguments,
    #[command(flatten)]
    servegen: ServeGenArguments,
    /// Format of the file: servescope, vidur, mooncake, …; another name lists them.
    #[arg(long, value_name = "NAME", default_value = "servescope")]
    format: String,
    /// File to write; standard output if none.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failed> {
    let format = writable(&arguments.format)?;
    let scenario = arguments.scenario.scenario()?;
    let trace = match arguments.servegen.trace(&scenario)? {
        Some(trace) => Arc::new(trace),
        None => trace_of(&scenario, None)?,
    };
    if let Some(hits) = PrefixHits::of(&trace) {
        let (share, block) = (100.0 * hits.share(), hits.block_tokens);
        note(&format!("a cache without limit finds {share:.1} % of the prompt tokens, in blocks of {block}"));
    }
    let text = formats::write(&trace, format).unwrap_or_default();
    write_or_print(arguments.output.as_deref(), &text)
}

/// The format called `name`, if it can be written.
pub(crate) fn writable(name: &str) -> Result<Format, Failed> {
    let known = || {
        let names: Vec<&str> = Format::writable().map(Format::name).collect();
        Failed::input(format!("format {name} cannot be written; known are {}", names.join(", ")))
    };
    Format::from_name(name).filter(|f| f.is_writable()).ok_or_else(known)
}
