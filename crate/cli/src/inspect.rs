//! `servescope inspect`: the statistics of a trace file.

use std::path::PathBuf;

use clap::Args;

use crate::chart_files::TrafficChartFiles;
use crate::output::{CliError, name, print, read};
use crate::read_args::AnyOutput;

#[derive(Args)]
pub(crate) struct InspectArguments {
    /// Trace file of any known format.
    trace: PathBuf,
    /// Prints JSON, with all statistics of the kind of file.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    any: AnyOutput,
    #[command(flatten)]
    charts: TrafficChartFiles,
}

pub(crate) fn run(arguments: &InspectArguments) -> Result<(), CliError> {
    let inspected = servescope_traces::inspect::file(
        &name(&arguments.trace),
        &read(&arguments.trace)?,
        arguments.any.tokens,
    )?;
    match &inspected.loaded {
        Some(loaded) => arguments.charts.write(&loaded.trace)?,
        None if arguments.charts.are_wanted() => {
            let file = arguments.trace.display();
            return Err(CliError::input(format!(
                "{file}: no times of arrival, so --charts has nothing to draw"
            )));
        }
        None => {}
    }
    let Some(loaded) = inspected.loaded.filter(|_| !arguments.json) else {
        return print(&format!("{:#}\n", inspected.json));
    };
    let format = loaded.format.map_or("", |format| format.name());
    let mut lines = vec![format!("format            {format}")];
    lines.push(servescope_traces::inspect::to_text(&loaded.trace));
    lines.extend(loaded.warnings.iter().map(|w| format!("{}: {}", w.severity.name(), w.message)));
    lines.push(String::new());
    print(&lines.join("\n"))
}
