//! `servescope overlay`: a measured run over its simulation.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::Value;
use servescope_evidence::overlay::{
    CostFit, MeasuredRun, Overlay, Sending, document, fit, read_benchmark, requests_csv, take_over,
};
use servescope_lab::run::Run;
use servescope_settings::profiles::NamedText;
use servescope_settings::scenario::Scenario;
use servescope_traces::loaded_trace::LoadedTrace;

use crate::output::{CliError, name, note, print, unpacked_text, write};
use crate::overlay_charts::write_charts;
use crate::overlay_text;
use crate::scenario_args::ScenarioArguments;

#[derive(Args)]
pub(crate) struct OverlayArguments {
    /// Result file of vLLM bench (--save-result), SGLang bench_serving, AIPerf (profile_export.jsonl, profile_export_aiperf.json),
    /// GenAI-Perf, GuideLLM (JSON), inference-perf (stage_N_lifecycle_metrics.json, per_request_lifecycle_metrics.json), llm-d-benchmark (YAML
    /// or JSON), InferenceX (agg_*.json) or
    /// LLMServingSim (CSV, requests.jsonl). The settings that AIPerf and LLMServingSim write beside it (profile_export_aiperf.json,
    /// meta.json) are read where they lie in its folder. Of a file without single requests the means are compared.
    #[arg(value_name = "RESULT")]
    result: PathBuf,
    /// Which run of a file with several (GuideLLM's sweep, lines that were appended), from 1 on.
    #[arg(long, value_name = "N")]
    benchmark: Option<usize>,
    /// Scenario file or address of the page: its settings override those of the result file.
    #[arg(long, value_name = "FILE")]
    scenario: Option<String>,
    /// Sets one parameter. May be given many times.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    settings: Vec<String>,
    #[command(flatten)]
    options: Options,
}

/// What both `overlay` and `replay` take.
#[derive(Args)]
pub(crate) struct Options {
    /// Sends requests at the measured times, even where the client kept a fixed number of them in flight.
    #[arg(long)]
    as_sent: bool,
    /// Recalibrates up to three constants, named by their paths, on every second request, and shows the error on the others.
    #[arg(long, value_name = "PATH", value_delimiter = ',')]
    fit: Vec<String>,
    /// Prints everything as JSON.
    #[arg(long)]
    json: bool,
    /// Writes every request with its times in both runs as CSV.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Folder for charts as SVG: distributions of TTFT, ITL and E2E time, a point a request, errors by prompt length.
    #[arg(long, value_name = "DIR")]
    charts: Option<PathBuf>,
}

pub(crate) fn run(arguments: &OverlayArguments) -> Result<(), CliError> {
    let scenario =
        ScenarioArguments::named(arguments.scenario.as_deref(), arguments.settings.clone()).scenario()?;
    let (document, table) =
        arguments.options.overlay(&scenario, &measured(&arguments.result, arguments.benchmark)?)?;
    if arguments.options.json { print(&format!("{document:#}\n")) } else { print(&table) }
}

/// Reads a result file, with the one that its tool writes beside it.
fn measured(path: &Path, benchmark: Option<usize>) -> Result<MeasuredRun, CliError> {
    let own = unpacked_text(path)?;
    let beside = OnceCell::new();
    let companion = |name: &str| {
        let text = std::fs::read_to_string(path.with_file_name(name)).ok()?;
        Some(beside.get_or_init(|| text).as_str())
    };
    read_benchmark(NamedText { name: &name(path), text: &own }, companion, benchmark)
        .map_err(|error| CliError::input(format!("{}: {error}", path.display())))
}

impl Options {
    /// Whether everything is printed as JSON.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Simulates a measured run, writes the files asked for, and gives both runs as a document and as a table.
    pub(crate) fn overlay(
        &self,
        given: &Scenario,
        measured: &MeasuredRun,
    ) -> Result<(Value, String), CliError> {
        let mut measured = measured.clone();
        if self.as_sent {
            if measured.sending == Sending::Drawn
                || measured.requests.iter().all(|request| request.sent_s == 0.0)
            {
                return Err(CliError::input(
                    "--as-sent: the file does not contain the times at which requests were sent",
                ));
            }
            measured.sending = Sending::Times;
        }
        let mut scenario = given.clone();
        let taken = take_over(&measured, &mut scenario);
        measured.notes.iter().chain(&taken.notes).for_each(|reported| note(reported));
        if let Some(missing) = taken.missing_text() {
            note(&missing);
        }
        if !measured.benchmarks.is_empty() {
            let runs: Vec<String> = measured
                .benchmarks
                .iter()
                .enumerate()
                .map(|(place, reported)| format!("{} = {reported}", place + 1))
                .collect();
            let (read, count) = (measured.benchmark, runs.len());
            note(&format!(
                "the file has {count} runs; run {read} is read, --benchmark N reads another: {}",
                runs.join("; ")
            ));
        }
        let loaded = LoadedTrace::from_trace("measured", measured.trace());
        let run = Run::simulate(&scenario, Some(&loaded))?;
        let overlay = Overlay::of(&measured, &run);
        if overlay.pairs.is_empty() {
            return Err(CliError::Run("no measured request ends in the simulated run".to_owned()));
        }
        let fitted = self.fitted(&measured, &scenario)?;
        if let Some(path) = &self.csv {
            write(path, &requests_csv(&overlay))?;
        }
        if let Some(folder) = &self.charts {
            write_charts(folder, &overlay)?;
        }
        let fitted = fitted.as_ref();
        let document = document(&measured, &scenario, &taken, &overlay, fitted);
        Ok((document, overlay_text::table(&measured, &taken, &overlay, fitted)))
    }

    fn fitted(&self, measured: &MeasuredRun, scenario: &Scenario) -> Result<Option<CostFit>, CliError> {
        if self.fit.is_empty() {
            return Ok(None);
        }
        fit(measured, scenario, &self.fit).map(Some).map_err(|error| CliError::input(error.to_string()))
    }
}
