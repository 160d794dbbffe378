//! The files of `simulate --out`, and which of them are written.

use std::fmt;
use std::path::{Path, PathBuf};

use clap::Args;
use servescope_lab::run::Run;
use servescope_output::files;

use crate::chart_files::create;
use crate::output::{CliError, note, stream, write};

/// The files of every run.
const NAMES: [&str; 10] = [
    "summary.json",
    "requests.csv",
    "batches.csv",
    "operators.csv",
    "scaling.csv",
    "events.csv",
    "clients.csv",
    "clients_over_time.csv",
    "event_trace.json",
    "trace.json",
];

/// Files with an entry for every event, which may be far larger than all others.
const OF_EVENTS: [&str; 2] = ["event_trace.json", "trace.json"];

/// The file of operators, which only some models of iteration times know.
const OF_OPERATORS: &str = "operators.csv";

/// The file of an autoscaler's decisions.
const OF_SCALING: &str = "scaling.csv";

/// Of a run with more events the files of events are written only where they are named: at 200 bytes an event, 200 MB.
const MOST_EVENTS: u64 = 1_000_000;

#[derive(Args)]
pub(crate) struct RunFiles {
    /// Folder for summary.json, requests.csv, batches.csv, operators.csv (where iteration times come from operators),
    /// scaling.csv (where an autoscaler decides), events.csv, clients.csv, clients_over_time.csv, event_trace.json (every event of requests and batches) and trace.json (opens in Perfetto).
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Writes these files of --out and no others; names with commas between them. Of a run with more than 1,000,000 events
    /// event_trace.json and trace.json are written only where they are named here.
    #[arg(long, value_name = "NAME,...", requires = "out", value_delimiter = ',', value_parser = NAMES)]
    files: Vec<String>,
    /// Also writes decisions.csv: each decision of gateway and scheduler about a request, with the test that decided and the
    /// two numbers that it compared.
    #[arg(long, requires = "out", conflicts_with = "vidur")]
    decisions: bool,
}

impl RunFiles {
    /// Whether a file needs the decisions of the run.
    pub(crate) fn need_decisions(&self) -> bool {
        self.decisions
    }

    /// Writes the files of a run with this summary; with its causes where the run `has_causes`.
    pub(crate) fn write(&self, run: &Run, summary: &str, has_causes: bool) -> Result<(), CliError> {
        let Some(folder) = &self.out else { return Ok(()) };
        create(folder)?;
        if self.is_wanted("summary.json", run) {
            write(&folder.join("summary.json"), summary)?;
        }
        for name in &NAMES[1..] {
            if self.is_wanted(name, run) {
                stream(&folder.join(name), |to| write_one(name, run, to))?;
            }
        }
        let report = &run.report;
        if self.decisions {
            stream(&folder.join("decisions.csv"), |to| files::write_decisions_csv(report, to))?;
        }
        if has_causes {
            stream(&folder.join("causes.csv"), |to| files::write_causes_csv(report, to))?;
            stream(&folder.join("delays.csv"), |to| files::write_delays_csv(report, to))?;
        }
        self.report_left_out(run, folder);
        Ok(())
    }

    fn is_wanted(&self, name: &str, run: &Run) -> bool {
        if !self.files.is_empty() {
            return self.files.iter().any(|wanted| wanted == name);
        }
        if name == OF_OPERATORS {
            return files::has_operators(&run.report);
        }
        if name == OF_SCALING {
            return !run.report.scaling.is_empty();
        }
        !OF_EVENTS.contains(&name) || files::event_count(&run.report) <= MOST_EVENTS
    }

    /// Says which files were left out for their size.
    fn report_left_out(&self, run: &Run, folder: &Path) {
        if self.files.iter().any(|wanted| wanted == OF_OPERATORS) && !files::has_operators(&run.report) {
            note(&format!(
                "{OF_OPERATORS} has no row: iteration times come from no operators; cost.kind=profile, kernels and roofline have them"
            ));
        }
        let left_out: Vec<&str> = OF_EVENTS.into_iter().filter(|name| !self.is_wanted(name, run)).collect();
        if self.files.is_empty() && !left_out.is_empty() {
            note(&format!(
                "{} left out of {}: {} events, more than {MOST_EVENTS}; --files {} writes them",
                left_out.join(" and "),
                folder.display(),
                files::event_count(&run.report),
                left_out.join(",")
            ));
        }
    }
}

fn write_one(name: &str, run: &Run, to: &mut dyn fmt::Write) -> fmt::Result {
    let report = &run.report;
    match name {
        "requests.csv" => to.write_str(&files::requests_csv(report)),
        "batches.csv" => files::write_batches_csv(report, to),
        OF_OPERATORS => files::write_operators_csv(report, to),
        OF_SCALING => files::write_scaling_csv(report, to),
        "events.csv" => files::write_events_csv(report, to),
        "clients.csv" => files::write_clients_csv(run, to),
        "clients_over_time.csv" => files::write_clients_over_time_csv(run, to),
        "event_trace.json" => files::write_event_trace(report, to),
        _ => files::write_chrome_trace(report, to),
    }
}
