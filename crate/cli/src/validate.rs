//! `servescope validate`: the simulator against closed forms and published measurements.

use clap::Args;
use servescope_lab::validate::{Effort, closed_forms, closed_forms_table, published, published_table};

use crate::output::{Failed, print};

#[derive(Args)]
pub(crate) struct Arguments {
    /// Fewer and shorter runs: some seconds in place of minutes, standard errors of some per cent.
    #[arg(long)]
    quick: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failed> {
    let rows = published();
    print(&format!("{}\n\n", published_table(&rows)))?;
    let effort = if arguments.quick { Effort::QUICK } else { Effort::WHOLE };
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let checks = closed_forms(effort, threads);
    print(&format!("{}\n", closed_forms_table(&checks)))?;
    let off = rows.iter().filter(|r| !r.is_within()).count() + checks.iter().filter(|c| !c.is_met()).count();
    if off == 0 {
        Ok(())
    } else {
        Err(Failed::Run(format!("{off} of {} checks are off", rows.len() + checks.len())))
    }
}
