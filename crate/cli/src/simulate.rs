//! `servescope simulate`: one run, as a table, as JSON, and as files.

use std::num::ParseIntError;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use rayon::prelude::*;
use serde_json::json;
use servescope_engine::metrics::monitor::ServiceFairness;
use servescope_engine::queue::Client;
use servescope_lab::blame::{Blame, Cause};
use servescope_lab::capacity::{CapacityRates, quick_search};
use servescope_lab::metric::{Measured, Metric};
use servescope_lab::replications::{ranges, seeds, with_seed};
use servescope_lab::run::{Run, SimulationHandle};
use servescope_output::views::{self, ViewOptions};
use servescope_output::why::{RequestWhy, Why, most_delayed, why, why_requests};
use servescope_settings::diagnostic::{Diagnostic, Severity};
use servescope_settings::scenario::Scenario;
use servescope_traces::loaded_trace::LoadedTrace;

use crate::chart_files::write_charts;
use crate::input_args::InputArguments;
use crate::notes;
use crate::output::{CliError, note, print, report_all};
use crate::progress;
use crate::run_files::RunFiles;
use crate::scenario_args::ScenarioArguments;
use crate::step_args::StepArguments;
use crate::summary_text::{SeedRanges, table};
use crate::{vidur, why_text};

#[derive(Args)]
pub(crate) struct SimulateArguments {
    #[command(flatten)]
    scenario: ScenarioArguments,
    #[command(flatten)]
    inputs: InputArguments,
    #[command(flatten)]
    steps: StepArguments,
    /// Vidur's flags to simulate, as `config.json`; of the scenario only the bounds of the SLO are used then.
    #[arg(long, value_name = "CONFIG", conflicts_with = "profile")]
    vidur: Option<PathBuf>,
    /// Folder with the operator tables of a run of Vidur; without one, the shipped profile of its device and model.
    #[arg(long, value_name = "DIR", requires = "vidur")]
    tables: Option<PathBuf>,
    /// Also searches the SLO capacity, the highest rate at which the SLO holds, and shows it beside what the replicas serve when
    /// they are saturated; not with --vidur.
    #[arg(long, alias = "load", conflicts_with = "vidur")]
    capacity: bool,
    /// Also runs the seeds that follow the scenario's own, N in all, and shows each headline number with its lowest and its
    /// highest value over them; not with --vidur.
    #[arg(long, value_name = "N", conflicts_with = "vidur")]
    seeds: Option<usize>,
    /// Prints the summary as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    files: RunFiles,
    /// Says why requests took as long as they did: totals by cause, by user and by adapter with who delayed whom, and a sentence
    /// on this request, or on those that were delayed most. Where requests wait at the last arrival, also what makes them wait: 20
    /// seeds without each limit that may, and with twice the replicas. With --out also causes.csv and delays.csv.
    #[arg(long, value_name = "ID", num_args = 0..=1, default_missing_value = "most-delayed", conflicts_with = "vidur")]
    why: Option<WhyRequests>,
    /// Folder for the page's charts as SVG.
    #[arg(long, value_name = "DIR")]
    charts: Option<PathBuf>,
}

/// The requests that `--why` explains.
#[derive(Debug, Clone, Copy)]
enum WhyRequests {
    MostDelayed,
    Request(usize),
}

impl FromStr for WhyRequests {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Self, ParseIntError> {
        if text == "most-delayed" { Ok(Self::MostDelayed) } else { text.parse().map(Self::Request) }
    }
}

pub(crate) fn run(arguments: &SimulateArguments) -> Result<(), CliError> {
    let (mut scenario, steps) = arguments.scenario.with_steps(&arguments.steps)?;
    arguments.inputs.apply_profile(&mut scenario)?;
    let (run, loaded) = if let Some(config) = &arguments.vidur {
        if !steps.is_empty() {
            return Err(CliError::input("--step changes a scenario's requests, not those of --vidur"));
        }
        (vidur::simulate(config, arguments.tables.as_deref(), arguments.inputs.file(), &scenario)?, None)
    } else {
        let loaded = match arguments.inputs.loaded()? {
            Some(loaded) => Some(steps.changed(loaded)?),
            // A generated trace that steps have changed is simulated like one of a file.
            None if !steps.is_empty() => Some(steps.generated(&scenario)?),
            None => None,
        };
        let running = SimulationHandle::begin(&scenario, loaded.as_ref())?;
        let mut run = if arguments.files.need_decisions() || arguments.why.is_some() {
            running.with_decisions()
        } else {
            running
        }
        .run();
        run.find_unneeded(loaded.as_ref());
        notes::print_notes(&run.notes());
        (run, loaded)
    };
    let mut summary = run.summary_of(usize::MAX);
    let load = run.load();
    let capacity =
        if arguments.capacity { Some(capacity_of(&scenario, loaded.as_ref(), &run)?) } else { None };
    let ranges = match arguments.seeds {
        Some(count) => Some(ranges_of(&scenario, loaded.as_ref(), &run, count)?),
        None => None,
    };
    let causes = match arguments.why {
        Some(_) => causes_of(&run, loaded.as_ref())?,
        None => Vec::new(),
    };
    let of_file: Vec<Diagnostic> = loaded.into_iter().flat_map(|loaded| loaded.warnings).collect();
    report_all(of_file.iter().filter(|reported| reported.severity == Severity::Note));
    summary.warnings.extend(of_file);
    let mut json = json!(summary);
    if let Some(rates) = capacity {
        json["capacity"] = json!(rates);
    }
    if let Some(SeedRanges { ranges, .. }) = &ranges {
        json["ranges"] = json!(ranges);
    }
    let reported = arguments.why.map(|asked| reasons(&run, asked)).transpose()?;
    if let Some((why, requests)) = &reported {
        json["why"] = json!(why);
        json["why"]["requests"] = json!(requests);
        json["why"]["waiting"] = json!(causes);
    }
    let json = format!("{json:#}\n");
    arguments.files.write(&run, &json, reported.is_some())?;
    if let Some(folder) = &arguments.charts {
        let options = ViewOptions::default();
        let clients = views::monitor::monitor(&run, Client::User, &options).0;
        write_charts(folder, views::all(&run, &options).into_iter().chain(clients))?;
    }
    if arguments.json {
        return print(&json);
    }
    let fairness = ServiceFairness::measure(&run.report, Client::User);
    let mut text = table(&summary, fairness, load, capacity, ranges.as_ref());
    for cause in &causes {
        text.extend(["\nwhy: ", &cause.sentence(), "\n"]);
    }
    if let Some((why, requests)) = &reported {
        text.push_str(&why_text::table(why, requests));
    }
    print(&text)
}

/// Where the time went, and the sentences: of the request asked for, or of those that were delayed most.
fn reasons(run: &Run, asked: WhyRequests) -> Result<(Why, Vec<RequestWhy>), CliError> {
    let report = &run.report;
    let count = report.trace.len();
    let ids: Vec<usize> = match asked {
        WhyRequests::MostDelayed => most_delayed(report, None).iter().map(|delayed| delayed.id).collect(),
        WhyRequests::Request(id) if id < count => vec![id],
        WhyRequests::Request(id) => {
            return Err(CliError::input(format!("--why {id}: the run has {count} requests, from 0 on")));
        }
    };
    let missing = || CliError::input("the run kept no decisions");
    Ok((why(report).ok_or_else(missing)?, why_requests(report, &ids).ok_or_else(missing)?))
}

/// The headline numbers over `count` seeds, of which `run` is the first.
fn ranges_of(
    scenario: &Scenario,
    loaded: Option<&LoadedTrace>,
    run: &Run,
    count: usize,
) -> Result<SeedRanges, CliError> {
    let (metrics, seeds) = (Metric::headline(), seeds(scenario, count)?);
    let bar = progress::bar(count - 1);
    let further = |seed: &u64| {
        let measured = Measured::simulate(&with_seed(scenario, *seed), loaded, &metrics);
        bar.inc(1);
        measured
    };
    let further: Vec<Measured> =
        seeds[1..].par_iter().with_max_len(1).map(further).collect::<Result<_, _>>()?;
    let runs = [vec![Measured::of(run, &metrics)], further].concat();
    if count > 1 && runs.iter().all(|run| run.digest == runs[0].digest) {
        note("every seed gives the same run, so the ranges say nothing of chance");
    }
    Ok(SeedRanges { seeds: count, values: runs[0].values.clone(), ranges: ranges(&metrics, &runs), metrics })
}

/// The SLO capacity, and what the replicas serve when they are saturated.
fn capacity_of(
    scenario: &Scenario,
    loaded: Option<&LoadedTrace>,
    run: &Run,
) -> Result<CapacityRates, CliError> {
    let mut search = quick_search(scenario, loaded.cloned())?;
    while search.advance(usize::MAX) < 1.0 {}
    let saturated_rps = run.load().and_then(|load| load.saturated_rps);
    Ok(CapacityRates { slo_rps: search.finish().rate_rps, saturated_rps })
}

/// What makes requests wait, by runs without each suspect.
fn causes_of(run: &Run, loaded: Option<&LoadedTrace>) -> Result<Vec<Cause>, CliError> {
    let blame = Blame::of(run, loaded.is_some());
    let bar = progress::bar(blame.count());
    let measured = |place: usize| {
        let measured = Measured::simulate(&blame.scenario(place), loaded, &Blame::metrics());
        bar.inc(1);
        measured
    };
    let measured: Vec<Measured> =
        (0..blame.count()).into_par_iter().with_max_len(1).map(measured).collect::<Result<_, _>>()?;
    Ok(blame.causes(&measured))
}
