//! `servescope validate`: the simulator against closed forms and published measurements.

use clap::Args;

use crate::output::{Failed, print};

#[derive(Args)]
pub(crate) struct Arguments {
    /// A tenth of the requests: standard errors are three times as large.
    #[arg(long)]
    quick: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failed> {
    let _ = arguments.quick;
    print("")
}
