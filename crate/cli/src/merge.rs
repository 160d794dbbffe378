//! `servescope merge`: trace files on one clock, or each later than the one before by an offset.

use std::path::PathBuf;

use clap::Args;

use crate::concat::TogetherArguments;
use crate::output::CliError;

#[derive(Args)]
pub(crate) struct MergeArguments {
    /// Trace files to read; requests of one time stand in this order.
    #[arg(value_name = "IN", required = true)]
    inputs: Vec<PathBuf>,
    /// Seconds by which each file starts after the one before.
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    offset: Option<String>,
    #[command(flatten)]
    together: TogetherArguments,
}

pub(crate) fn run(arguments: &MergeArguments) -> Result<(), CliError> {
    match &arguments.offset {
        None => arguments.together.run(&arguments.inputs, "merge", &[]),
        Some(offset) => {
            arguments.together.run(&arguments.inputs, "superpose", &[("offset_s", offset.as_str())])
        }
    }
}
