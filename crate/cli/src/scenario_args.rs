//! Where a scenario comes from: a file, a link of the page, a line that launches a server, a model's config.json, an adapter's, single
//! settings; later ones win.

use std::path::{Path, PathBuf};

use clap::Args;
use servescope_settings::diagnostic::Diagnostic;
use servescope_settings::file_kind::{FileKind, Recognised, recognise};
use servescope_settings::link;
use servescope_settings::model_config::ModelConfig;
use servescope_settings::model_config::adapter::AdapterFile;
use servescope_settings::parameters::{Id, Value};
use servescope_settings::real_traffic::{REAL_TRAFFIC, RealTraffic};
use servescope_settings::scenario::Scenario;
use servescope_traces::lengths_file::take_lengths;
use servescope_traces::recipe::Recipe;
use servescope_traces::scenario_file::{self, ScenarioFile};
use servescope_workload::curve::{RateCurve, Shape, points_from_csv};

use crate::output::{CliError, note, read, report_all, text};
use crate::step_args::{StepArguments, StepList};

/// A scenario on the command line.
#[derive(Args)]
pub(crate) struct ScenarioArguments {
    /// Scenario file (JSON; see `servescope schema`), or a recipe: FILE.recipe.json, or a trace file that carries its own.
    #[arg(value_name = "SCENARIO.json")]
    file: Option<PathBuf>,
    /// Link of the page: the whole address, or the part from `#` on.
    #[arg(long, value_name = "URL", conflicts_with = "file")]
    link: Option<String>,
    /// Traffic like that of a real trace in place of the scenario's own workload; --set wins over it. It was fitted to the trace and is
    /// not the trace itself: docs/fit-and-twin.md has the distances.
    #[arg(long, value_name = "NAME", value_parser = REAL_TRAFFIC.map(|traffic| traffic.id))]
    traffic: Option<String>,
    /// Sets one parameter, for example `workload.rate_rps=3`. May be given many times.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    settings: Vec<String>,
    /// The config.json of a model on Hugging Face, which becomes fleet.model=own with its dimensions; --set wins over it.
    #[arg(long, value_name = "FILE")]
    model_config: Option<PathBuf>,
    /// The adapter_config.json of a LoRA adapter, whose rank becomes that of the adapters; --set wins over it.
    #[arg(long, value_name = "FILE")]
    adapter_config: Option<PathBuf>,
    /// A line that launches a server, `vllm serve MODEL --flag …`: its flags become settings, on the measured kernels of the
    /// scenario's GPU where there are any; --set wins over them. Flags without a setting are listed.
    #[arg(long, value_name = "LINE", conflicts_with = "link")]
    vllm_serve: Option<String>,
    /// CSV of the rate over time (columns time_s, rate_rps), straight from row to row; workload.rate_rps becomes its mean over the run.
    #[arg(long, value_name = "FILE")]
    curve: Option<PathBuf>,
    /// Trace or length file whose pairs of prompt and output length are drawn, jointly, in place of the distributions.
    #[arg(long, value_name = "FILE")]
    lengths_from: Option<PathBuf>,
}

impl ScenarioArguments {
    /// A scenario named by a file or by an address of the page, with settings on top; the default where nothing is named.
    pub(crate) fn named(name: Option<&str>, settings: Vec<String>) -> Self {
        let is_link = |name: &&str| name.starts_with('#') || name.contains("://");
        let link = name.filter(is_link).map(str::to_owned);
        let file = name.filter(|_| link.is_none()).map(PathBuf::from);
        Self {
            file,
            link,
            traffic: None,
            settings,
            model_config: None,
            adapter_config: None,
            vllm_serve: None,
            curve: None,
            lengths_from: None,
        }
    }

    /// Whether anything but the default is asked for.
    pub(crate) fn is_given(&self) -> bool {
        let named = [&self.file, &self.model_config, &self.adapter_config, &self.curve, &self.lengths_from]
            .into_iter()
            .any(Option::is_some);
        named
            || self.link.is_some()
            || self.traffic.is_some()
            || self.vllm_serve.is_some()
            || !self.settings.is_empty()
    }

    /// The step at which the address, if one is given, opens the scheduler debugger.
    pub(crate) fn debugger_step(&self) -> Option<usize> {
        self.link.as_deref().and_then(link::step)
    }

    /// The scenario, and the steps of its recipe before those of the command line.
    pub(crate) fn with_steps(&self, more: &StepArguments) -> Result<(Scenario, StepList), CliError> {
        let scenario = self.scenario()?;
        let mut steps = self.recipe()?.map_or_else(Vec::new, |recipe| recipe.steps);
        steps.extend(more.steps()?);
        Ok((scenario, StepList::new(steps)))
    }

    /// The recipe in the scenario file, if it is one.
    pub(crate) fn recipe(&self) -> Result<Option<Recipe>, CliError> {
        let Some(path) = &self.file else { return Ok(None) };
        Ok(scenario_file::recipe(&path.display().to_string(), &read(path)?)?)
    }

    /// The scenario.
    pub(crate) fn scenario(&self) -> Result<Scenario, CliError> {
        let mut scenario = Scenario::default();
        let mut messages = Vec::new();
        if let Some(path) = &self.file {
            match ScenarioFile::read(&path.display().to_string(), &read(path)?) {
                Ok(file) => scenario = file.scenario,
                Err(errors) => messages.extend(errors.into_iter().map(|f| f.message)),
            }
        }
        if let Some(address) = &self.link {
            let (read, errors) = link::parse(address);
            scenario = read;
            messages.extend(errors.into_iter().map(|f| f.message));
            if let Some(preset) = link::preset(address) {
                messages.push(format!(
                    "--link {address}: preset={preset} is known to the page alone; open the address there and copy its link, or \
                     give the preset's file, static/presets/{preset}.json"
                ));
            }
        }
        if let Some(traffic) = self.traffic.as_deref().and_then(RealTraffic::named) {
            traffic.apply(&mut scenario);
            note(&format!("--traffic {}: a workload fitted to {}", traffic.id, traffic.source()));
        }
        if let Some(line) = &self.vllm_serve {
            match launch(&mut scenario, line, &self.settings) {
                Ok(errors) => messages.extend(errors.into_iter().map(|f| f.message)),
                Err(message) => messages.push(message),
            }
        }
        if let Some(path) = &self.model_config {
            // Older checkpoints of NVIDIA have the format of their weights in a file of its own.
            let beside = path.with_file_name("hf_quant_config.json");
            let beside = if beside.is_file() { Some(text(&beside)?) } else { None };
            let name = path.display().to_string();
            let config = ModelConfig::read_beside(&name, &text(path)?, beside.as_deref());
            match config.and_then(|config| config.apply(&mut scenario)) {
                Ok(notes) => {
                    let is_chosen =
                        self.settings.iter().any(|setting| setting.trim().starts_with("cost.kind="));
                    report_all(notes.iter().filter(|note| !(is_chosen && note.code == "config_cost")));
                }
                Err(errors) => messages.extend(errors.into_iter().map(|f| f.message)),
            }
        }
        if let Some(path) = &self.adapter_config {
            let name = path.display().to_string();
            let adapter = AdapterFile::read(&name, &text(path)?);
            match adapter.and_then(|adapter| adapter.apply(&mut scenario).map_err(|error| vec![error])) {
                Ok((_, notes)) => report_all(notes.iter()),
                Err(errors) => messages.extend(errors.into_iter().map(|f| f.message)),
            }
        }
        messages.extend(set_all(&mut scenario, &self.settings));
        if !messages.is_empty() {
            return Err(CliError::Input(messages));
        }
        if let Some(path) = &self.curve {
            set_curve(&mut scenario, path)?;
        }
        if let Some(path) = &self.lengths_from {
            take_lengths(&mut scenario, &path.display().to_string(), &read(path)?, usize::MAX)?;
        }
        Ok(scenario)
    }
}

/// Sets what a line that launches a server sets, and says on standard error what it does not say and which flags have no setting here.
/// Returns what is wrong with its values.
fn launch(scenario: &mut Scenario, line: &str, settings: &[String]) -> Result<Vec<Diagnostic>, String> {
    let Ok(Recognised { kind: FileKind::LaunchLine(server), .. }) = recognise(line.as_bytes()) else {
        return Err(format!("--vllm-serve: a line with `vllm serve` expected, got {line:?}"));
    };
    let launched = server.launched(line, scenario);
    let is_set = |path: &str| settings.iter().any(|setting| setting.trim().starts_with(&format!("{path}=")));
    for path in launched.assumed.iter().filter(|path| !is_set(path)) {
        if let Some(id) = Id::from_path(path) {
            note(&format!(
                "--vllm-serve: the line does not say {path}: {}",
                launched.scenario.get(id).to_text()
            ));
        }
    }
    if !launched.unknown.is_empty() {
        note(&format!("--vllm-serve: without a setting here: {}", launched.unknown.join(", ")));
    }
    *scenario = launched.scenario;
    Ok(launched.errors)
}

/// Sets each `PATH=VALUE`, a later one in place of an earlier one of the same path; what is wrong with any, in words. Two names
/// of one parameter are as wrong here as in a file.
fn set_all(scenario: &mut Scenario, settings: &[String]) -> Vec<String> {
    let mut messages = Vec::new();
    let mut named: Vec<(Id, &str)> = Vec::new();
    for setting in settings {
        let Some((path, value)) = setting.split_once('=') else {
            messages.push(format!("--set {setting}: PATH=VALUE expected"));
            continue;
        };
        let path = path.trim();
        if let Some(id) = Id::from_path(path) {
            if let Some((_, other)) = named.iter().find(|&&(set, name)| set == id && name != path) {
                messages.push(format!("--set {path}: the same parameter as {other}, which is set, too"));
            }
            named.push((id, path));
        }
        messages.extend(scenario.set_text(path, value).err().map(|error| error.message));
    }
    messages
}

/// An error of a file that was read.
fn of_file(path: &Path, error: impl std::fmt::Display) -> CliError {
    CliError::input(format!("{}: {error}", path.display()))
}

/// Takes the rate over time from a file: points in multiples of R, which is their mean over D.
fn set_curve(scenario: &mut Scenario, path: &Path) -> Result<(), CliError> {
    let mut points = points_from_csv(&read(path)?).map_err(|error| of_file(path, error))?;
    let below: Vec<usize> = (0..points.len()).filter(|&i| points[i].rate_rps < 0.0).collect();
    if let Some(&first) = below.first() {
        let (count, rate, time_s) = (below.len(), points[first].rate_rps, points[first].time_s);
        eprintln!(
            "servescope: note: {}: {count} rates are below zero and taken as zero, the first {rate} at {time_s} s",
            path.display()
        );
        below.iter().for_each(|&i| points[i].rate_rps = 0.0);
    }
    let curve = RateCurve::new(&Shape::Points(points.clone())).map_err(|error| of_file(path, error))?;
    let duration_s = scenario.number(Id::Duration);
    let mean_rps = curve.integral(duration_s) / duration_s;
    if mean_rps <= 0.0 {
        return Err(of_file(path, format_args!("the rate is zero for all of the {duration_s} s")));
    }
    let numbers = points.iter().flat_map(|point| [point.time_s, point.rate_rps / mean_rps]).collect();
    scenario.set(Id::Rate, Value::Number(mean_rps))?;
    scenario.set(Id::CurvePoints, Value::List(numbers))?;
    Ok(scenario.set_text(Id::CurveKind.row().id, "points")?)
}
