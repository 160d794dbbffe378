//! `servescope convert`: from any known format, or any table, to a format that can be written.

use std::path::PathBuf;

use clap::Args;
use servescope_traces::recipe::{Recipe, Source};
use servescope_workload::formats::Format;
use servescope_workload::transform::{TransformStep, join};

use crate::chart_files::TrafficChartFiles;
use crate::generate::writable;
use crate::output::CliError;
use crate::read_args::{Input, ReadArguments, into_trace};
use crate::step_args::{StepArguments, StepList, print_note};
use crate::write_args::WriteArguments;

#[derive(Args)]
pub(crate) struct ConvertArguments {
    /// Trace files to read; several are put after one another as by concat.
    #[arg(value_name = "IN", required = true)]
    inputs: Vec<PathBuf>,
    /// Format to write: servescope, vidur, mooncake, …; another name lists them.
    #[arg(long = "to", value_name = "NAME")]
    format: String,
    #[command(flatten)]
    read: ReadArguments,
    #[command(flatten)]
    steps: StepArguments,
    #[command(flatten)]
    write: WriteArguments,
    #[command(flatten)]
    charts: TrafficChartFiles,
}

pub(crate) fn run(arguments: &ConvertArguments) -> Result<(), CliError> {
    let format = writable(&arguments.format)?;
    let join = TransformStep::new("concat").map_err(|error| CliError::input(error.to_string()))?;
    joined(
        arguments.read.read_all(&arguments.inputs)?,
        join,
        arguments.steps.steps()?,
        format,
        &arguments.write,
        Some(&arguments.charts),
    )
}

/// Puts files together, takes the steps, and writes what came of it with its recipe.
pub(crate) fn joined(
    inputs: Vec<Input>,
    join_step: TransformStep,
    steps: Vec<TransformStep>,
    format: Format,
    write: &WriteArguments,
    charts: Option<&TrafficChartFiles>,
) -> Result<(), CliError> {
    let files = inputs.iter().map(|input| (input.loaded.name.clone(), input.digest.clone())).collect();
    let mut traces: Vec<_> =
        inputs.into_iter().map(|input| (input.loaded.name.clone(), into_trace(input.loaded))).collect();
    let (trace, join) = if traces.len() == 1 {
        (traces.remove(0).1, None)
    } else {
        let (trace, note) = join(&join_step, traces).map_err(|error| CliError::input(error.to_string()))?;
        print_note(&note);
        (trace, Some(join_step))
    };
    let steps = StepList::new(steps);
    let trace = steps.apply(trace)?;
    charts.map_or(Ok(()), |charts| charts.write(&trace))?;
    let recipe = Recipe { source: Source::Files { files, join }, steps: steps.into_inner(), format };
    write.write(&recipe, &trace)
}
