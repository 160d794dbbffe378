//! Charts as SVG files, drawn as the page draws them.

use std::path::{Path, PathBuf};

use clap::Args;
use servescope_charts::{Chart, Clock, Role, Style};
use servescope_output::views::{self, ViewOptions};
use servescope_workload::Trace;

use crate::output::{CliError, note, write};

/// Makes a folder.
pub(crate) fn create(folder: &Path) -> Result<(), CliError> {
    std::fs::create_dir_all(folder).map_err(|error| CliError::input(format!("{}: {error}", folder.display())))
}

/// Writes each chart as a file of its name.
pub(crate) fn write_charts(folder: &Path, charts: impl IntoIterator<Item = Chart>) -> Result<(), CliError> {
    create(folder)?;
    let style = Style { dark: false, width: 720.0, height: 240.0, dpr: 1.0, clock: Clock::Symbols };
    for chart in charts {
        let path = folder.join(format!("{}.svg", chart.name));
        let text = servescope_charts::svg(&chart, None, &style);
        write(&path, &text.map_err(|error| CliError::Run(format!("{}: {error}", path.display())))?)?;
    }
    Ok(())
}

/// Where the charts of a workload go.
#[derive(Args)]
pub(crate) struct TrafficChartFiles {
    /// Folder for charts of the requests as SVG: requests, prompt tokens and output tokens offered over time, sessions, gaps,
    /// burstiness, lengths, users.
    #[arg(long = "charts", value_name = "DIR")]
    charts: Option<PathBuf>,
}

impl TrafficChartFiles {
    /// Whether there is a folder for them.
    pub(crate) fn are_wanted(&self) -> bool {
        self.charts.is_some()
    }

    /// Writes them, where there is a folder for them.
    pub(crate) fn write(&self, trace: &Trace) -> Result<(), CliError> {
        self.charts.as_deref().map_or(Ok(()), |folder| write_traffic(folder, trace))
    }
}

/// Writes the charts of a workload: requests and tokens offered over time, sessions, gaps, lengths, users. A chart that would
/// be empty is named in a note and not written.
fn write_traffic(folder: &Path, trace: &Trace) -> Result<(), CliError> {
    let (drawn, empty): (Vec<Chart>, Vec<Chart>) =
        views::traffic(&[(Role::Arrivals, trace)], ViewOptions::default().columns)
            .into_iter()
            .partition(|view| view.empty.is_empty());
    if !empty.is_empty() {
        let names: Vec<&str> = empty.iter().map(|view| view.name).collect();
        note(&format!("charts with nothing to show are not written: {}", names.join(", ")));
    }
    write_charts(folder, drawn)
}
