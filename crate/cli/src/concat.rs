//! `servescope concat`: trace files after one another, by AIBrix's rule or with a gap.

use std::path::PathBuf;

use clap::Args;
use servescope_workload::formats::Format;
use servescope_workload::transform::TransformStep;

use crate::convert::joined;
use crate::generate::writable;
use crate::output::CliError;
use crate::read_args::{Input, ReadArguments};
use crate::step_args::StepArguments;
use crate::write_args::WriteArguments;

#[derive(Args)]
pub(crate) struct ConcatArguments {
    /// Trace files to read, in order.
    #[arg(value_name = "IN", required = true)]
    inputs: Vec<PathBuf>,
    /// Seconds between the last request of a file and the start of the next; AIBrix's rule is 0.
    #[arg(long, value_name = "S", default_value = "0", allow_negative_numbers = true)]
    gap: String,
    #[command(flatten)]
    together: TogetherArguments,
}

/// What concat and merge have in common.
#[derive(Args)]
pub(crate) struct TogetherArguments {
    /// Format to write; that of the first file if none, where it can be written.
    #[arg(long = "to", value_name = "NAME")]
    format: Option<String>,
    /// Whether users, adapters, sessions and prefix blocks of one name are the same in every file.
    #[arg(long, value_name = "shared|separate", default_value = "shared")]
    identity: String,
    /// Labels each request with its file: user, the number of the file; kind, its name.
    #[arg(long, value_name = "none|user|kind", default_value = "none")]
    label: String,
    #[command(flatten)]
    read: ReadArguments,
    #[command(flatten)]
    steps: StepArguments,
    #[command(flatten)]
    write: WriteArguments,
}

pub(crate) fn run(arguments: &ConcatArguments) -> Result<(), CliError> {
    arguments.together.run(&arguments.inputs, "concat", &[("gap_s", arguments.gap.as_str())])
}

impl TogetherArguments {
    /// Puts the files together by the step of that name.
    pub(crate) fn run(
        &self,
        inputs: &[PathBuf],
        name: &str,
        fields: &[(&str, &str)],
    ) -> Result<(), CliError> {
        let step = || {
            let mut step = TransformStep::new(name)?;
            let own = [("identity", self.identity.as_str()), ("label", self.label.as_str())];
            own.iter().chain(fields).try_for_each(|(field, value)| step.set(field, value))?;
            Ok(step)
        };
        let step = step()
            .map_err(|error: servescope_workload::transform::StepError| CliError::input(error.to_string()))?;
        let format = self.format.as_deref().map(writable).transpose()?;
        let inputs = self.read.read_all(inputs)?;
        let format = format.unwrap_or_else(|| of_first(&inputs));
        joined(inputs, step, self.steps.steps()?, format, &self.write, None)
    }
}

/// The format of the first file, or the own one.
fn of_first(inputs: &[Input]) -> Format {
    let first = inputs.first().and_then(|input| input.loaded.format);
    first.filter(|format| format.is_writable()).unwrap_or(Format::Servescope)
}
