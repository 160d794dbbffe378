//! The charts of an overlay.

use std::path::Path;

use servescope_charts::{Chart, Role};
use servescope_evidence::overlay::Overlay;
use servescope_output::views::overlay::overlay_charts;

use crate::chart_files::create;
use crate::output::{CliError, note, write};
use crate::plots::TitledChart;

/// Writes them: two a time, and the bias by prompt length.
pub(crate) fn write_charts(folder: &Path, overlay: &Overlay) -> Result<(), CliError> {
    create(folder)?;
    let charts = overlay_charts(overlay);
    if charts.is_empty() {
        note("--charts: the file has no times of single requests; nothing is drawn");
    }
    for chart in charts {
        let path = folder.join(format!("{}.svg", chart.name));
        let text =
            plot(chart).svg().map_err(|error| CliError::Run(format!("{}: {error}", path.display())))?;
        write(&path, &text)?;
    }
    Ok(())
}

fn plot(chart: Chart) -> TitledChart {
    let of_time = |name: &str| match name {
        "ttft" => "TTFT",
        "itl" => "ITL, mean of each request",
        _ => "E2E time",
    };
    let [title, x, y, one, other] = match chart.name.split_once('_') {
        Some((time, "distribution")) => [
            &format!("{}: share of requests that are at most as long", of_time(time)),
            "s",
            "share",
            "measured",
            "simulated",
        ]
        .map(str::to_owned),
        Some((time, "requests")) => {
            let title = format!("{} of each request", of_time(time));
            [&title, "measured, s", "simulated, s", "a request", "the same in both"].map(str::to_owned)
        }
        _ => [
            "Error of the TTFT by prompt length",
            "prompt, tokens",
            "simulated less measured, s",
            "a request",
            "no difference",
        ]
        .map(str::to_owned),
    };
    let second = if other == "simulated" { Role::Waiting } else { Role::Expected };
    TitledChart { title, x, y, legend: vec![(Role::Arrivals, one), (second, other)], chart }
}
