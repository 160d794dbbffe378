//! `servescope convert`: from any known format to one that can be written.

use std::path::PathBuf;

use clap::Args;
use servescope_lab::workload::formats;

use crate::generate::writable;
use crate::output::{Failed, note, read_trace, write_or_print};

#[derive(Args)]
pub(crate) struct Arguments {
    /// Trace file to read.
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// Format to write: servescope, vidur, mooncake, …; another name lists them.
    #[arg(long = "to", value_name = "NAME")]
    format: String,
    /// File to write; standard output if none.
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failed> {
    let format = writable(&arguments.format)?;
    let loaded = read_trace(&arguments.input)?;
    loaded.warnings.iter().for_each(|w| note(&w.message));
    let text = formats::write(&loaded.trace, format).unwrap_or_default();
    write_or_print(arguments.output.as_deref(), &text)
}
