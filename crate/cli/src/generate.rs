//! `servescope generate`: a synthetic trace as a file, or the bodies of its requests.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use servescope_lab::Scenario;
use servescope_lab::run::trace_of;
use servescope_lab::workload::Trace;
use servescope_lab::workload::formats::{self, Format};
use servescope_lab::workload::statistics::PrefixHits;

use crate::bodies::{self, BodyArguments};
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
    /// Writes request bodies in place of a trace: slora, openai, vllm, aibrix or vllm_custom.
    #[arg(long, value_name = "FORM", conflicts_with = "format")]
    bodies: Option<String>,
    #[command(flatten)]
    body: BodyArguments,
    /// File to write; standard output if none.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Arguments {
    /// What is to be written: the traffic of ServeGen's clients, or the scenario's.
    fn trace(&self, scenario: &Scenario) -> Result<Arc<Trace>, Failed> {
        match self.servegen.trace(scenario)? {
            Some(trace) => Ok(Arc::new(trace)),
            None => Ok(trace_of(scenario, None)?),
        }
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failed> {
    let scenario = arguments.scenario.scenario()?;
    let output = arguments.output.as_deref();
    if let Some(form) = &arguments.bodies {
        let form = bodies::form(form)?;
        let trace = arguments.trace(&scenario)?;
        return bodies::write(form, &arguments.body, &scenario, &trace, output);
    }
    if let Some(option) = arguments.body.first_given() {
        return Err(Failed::input(format!("{option} says how bodies look: add --bodies FORM")));
    }
    let format = writable(&arguments.format)?;
    let trace = arguments.trace(&scenario)?;
    if let Some(hits) = PrefixHits::of(&trace) {
        let (share, block) = (100.0 * hits.share(), hits.block_tokens);
        note(&format!("a cache without limit finds {share:.1} % of the prompt tokens, in blocks of {block}"));
    }
    scenario.warnings().iter().for_each(|w| note(&w.message));
    let text = formats::write(&trace, format).unwrap_or_default();
    write_or_print(output, &text)
}

/// The format called `name`, if it can be written.
pub(crate) fn writable(name: &str) -> Result<Format, Failed> {
    let known = || {
        let names: Vec<&str> = Format::writable().map(Format::name).collect();
        Failed::input(format!("format {name} cannot be written; known are {}", names.join(", ")))
    };
    Format::from_name(name).filter(|f| f.is_writable()).ok_or_else(known)
}
