//! `servescope sweep`: every combination of some parameters' values, on one machine or on several.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use clap::Args;
use rayon::prelude::*;
use servescope_lab::applicable::Obstacle;
use servescope_lab::metric::Metric;
use servescope_lab::sweep::journal::{self, Journal};
use servescope_lab::sweep::{Expected, Results, Sweep, SweepAxis, SweepLine, SweepShape, join};
use servescope_settings::scenario::Scenario;
use servescope_traces::loaded_trace::LoadedTrace;

use crate::compare::aligned;
use crate::input_args::InputArguments;
use crate::output::{CliError, note, print, read, text, write};
use crate::progress::{self, Threads};
use crate::scenario_args::ScenarioArguments;
use crate::sweep_charts::write_charts;

/// Settings that are named as violating a condition.
const MOST_OBSTACLES: usize = 6;

#[derive(Args)]
pub(crate) struct SweepArguments {
    #[command(flatten)]
    scenario: ScenarioArguments,
    #[command(flatten)]
    inputs: InputArguments,
    /// A parameter and its values: N of them from FROM to TO, evenly or (with :log) by ratio, or a list. May be given up to
    /// four times. Semicolons separate the entries of a value that is a list.
    #[arg(long, value_name = "PATH=FROM:TO:N[:log] | PATH=VALUE,VALUE...", num_args = 1..)]
    over: Vec<String>,
    /// Numbers of the summary, by key path, such as ttft_s.p99 or per_user.0.ttft_mean_s.
    #[arg(long = "metric", value_name = "NAME", num_args = 1.., value_delimiter = ',')]
    metrics: Vec<String>,
    /// Seeds of each point: the scenario's own and those that follow it.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seeds: usize,
    /// Writes each finished run as a line of JSON. A sweep that finds the file continues where it stopped.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Writes the plan of the sweep and simulates nothing: for --points on other machines.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["out", "points", "shard", "join"])]
    plan: Option<PathBuf>,
    /// Takes the sweep from a plan. With --join, for its closed forms.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["file", "link", "settings", "curve", "lengths_from", "over", "metrics", "seeds"])]
    points: Option<PathBuf>,
    /// Simulates part I of N of the runs only, I from 1 to N.
    #[arg(long, value_name = "I/N", requires = "points", conflicts_with_all = ["json", "csv", "charts"])]
    shard: Option<String>,
    /// Puts the lines of several files of one sweep together.
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["file", "link", "settings", "curve", "lengths_from", "trace", "over", "metrics", "seeds", "shard"])]
    join: Vec<PathBuf>,
    /// Adds the closed forms of queueing theory for the points, such as M/M/1 or Erlang C, and names the settings that do not
    /// meet their conditions. A joined sweep takes the settings from its plan: --points.
    #[arg(long, alias = "laws", conflicts_with = "shard")]
    closed_forms: bool,
    #[command(flatten)]
    threads: Threads,
    /// Prints the points as JSON: mean and interval of each metric over the seeds.
    #[arg(long)]
    json: bool,
    /// Writes the points as CSV.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Folder for charts as SVG, one a metric: curves over one numeric parameter, a heat map over two.
    #[arg(long, value_name = "DIR")]
    charts: Option<PathBuf>,
}

pub(crate) fn run(arguments: &SweepArguments) -> Result<(), CliError> {
    if !arguments.join.is_empty() {
        let (shape, lines) = joined(&arguments.join)?;
        if let Some(path) = &arguments.out {
            write(path, &journal::text(&shape, &lines))?;
        }
        let expected = joined_expected(arguments, &shape)?;
        return show(arguments, &shape, &lines, &expected);
    }
    let loaded = arguments.inputs.loaded()?;
    let sweep = match &arguments.points {
        Some(path) => planned(path, arguments, loaded.as_ref())?,
        None => asked(arguments, loaded.as_ref())?,
    };
    if let Some(path) = &arguments.plan {
        write(path, &sweep.plan())?;
        note(&format!("{}: {} runs", path.display(), sweep.runs()));
        return Ok(());
    }
    let indices: Vec<usize> = match &arguments.shard {
        Some(text) => {
            let (part, parts) = shard(text)?;
            (0..sweep.runs()).filter(|index| index % parts == part - 1).collect()
        }
        None => (0..sweep.runs()).collect(),
    };
    sweep.idle_settings(loaded.as_ref()).iter().for_each(|line| note(line));
    let lines = simulate(arguments, &sweep, &indices, loaded.as_ref())?;
    if arguments.shard.is_some() {
        report_errors(&lines)?;
        return if arguments.out.is_none() { print(&journal::text(sweep.shape(), &lines)) } else { Ok(()) };
    }
    let expected = if arguments.closed_forms { sweep.expected() } else { Vec::new() };
    show(arguments, sweep.shape(), &lines, &expected)
}

/// The sweep of the command line.
fn asked(arguments: &SweepArguments, loaded: Option<&LoadedTrace>) -> Result<Sweep, CliError> {
    let mut scenario = arguments.scenario.scenario()?;
    arguments.inputs.apply_profile(&mut scenario)?;
    let axes = arguments.over.iter().map(|text| SweepAxis::parse(text)).collect::<Result<Vec<_>, _>>()?;
    let metrics = Metric::parse_all(arguments.metrics.iter().map(String::as_str))?;
    Ok(Sweep::new(&scenario, axes, metrics, arguments.seeds, loaded)?)
}

/// The sweep of a plan.
fn planned(path: &Path, arguments: &SweepArguments, loaded: Option<&LoadedTrace>) -> Result<Sweep, CliError> {
    let mut carrier = Scenario::default();
    carrier.set_text("cost.kind", "profile")?;
    arguments.inputs.apply_profile(&mut carrier)?;
    let sweep = Sweep::from_plan(&text(path)?, loaded, carrier.shared_profile());
    sweep.map_err(|error| CliError::input(format!("{}: {error}", path.display())))
}

/// The closed forms of a joined sweep, by its plan.
fn joined_expected(
    arguments: &SweepArguments,
    shape: &SweepShape,
) -> Result<Vec<Option<Expected>>, CliError> {
    if !arguments.closed_forms {
        return Ok(Vec::new());
    }
    let Some(path) = &arguments.points else {
        return Err(CliError::input(
            "--closed-forms: files of runs know no scenario; name the plan with --points",
        ));
    };
    let sweep = planned(path, arguments, None)?;
    if sweep.shape().id != shape.id {
        return Err(CliError::input(format!("{}: the plan of another sweep than --join", path.display())));
    }
    Ok(sweep.expected())
}

/// `I/N`, I from 1 to N.
fn shard(text: &str) -> Result<(usize, usize), CliError> {
    let parts =
        text.split_once('/').and_then(|(i, n)| Some((i.trim().parse().ok()?, n.trim().parse().ok()?)));
    parts
        .filter(|&(i, n): &(usize, usize)| (1..=n).contains(&i))
        .ok_or_else(|| CliError::input(format!("--shard {text}: I/N expected, with I from 1 to N")))
}

/// The lines of several files.
fn joined(paths: &[PathBuf]) -> Result<(SweepShape, Vec<SweepLine>), CliError> {
    let files = paths.iter().map(|path| read(path)).collect::<Result<Vec<_>, _>>()?;
    let bytes: Vec<&[u8]> = files.iter().map(Vec::as_slice).collect();
    join(&bytes).map_err(|(file, error)| match file {
        Some(file) => CliError::input(format!("{}: {error}", paths[file].display())),
        None => CliError::input(format!("--join: {error}")),
    })
}

/// Simulates what is not in the file yet, each run on the thread that is free. The lines come back in their order.
fn simulate(
    arguments: &SweepArguments,
    sweep: &Sweep,
    indices: &[usize],
    loaded: Option<&LoadedTrace>,
) -> Result<Vec<SweepLine>, CliError> {
    let mut journal = Journal::open(arguments.out.as_deref(), sweep.shape())?;
    journal.notes.iter().for_each(|line| note(line));
    let left: Vec<usize> =
        indices.iter().copied().filter(|index| !journal.done.contains_key(index)).collect();
    let pool = arguments.threads.pool(left.len())?;
    let (bar, start, engine_us) = (progress::bar(left.len()), Instant::now(), AtomicU64::new(0));
    let one = |&index: &usize| {
        let begin = Instant::now();
        let run = sweep.run(index, loaded);
        engine_us.fetch_add(begin.elapsed().as_micros() as u64, Ordering::Relaxed);
        let line = sweep.line(index, run);
        journal.add(&line).map_err(CliError::unwritten)?;
        bar.inc(1);
        Ok(line)
    };
    let made = pool
        .install(|| left.par_iter().with_max_len(1).map(one).collect::<Result<Vec<SweepLine>, CliError>>())?;
    bar.finish_and_clear();
    if left.len() > 1 {
        let (wall_s, engine_s) = (start.elapsed().as_secs_f64(), engine_us.into_inner() as f64 / 1e6);
        let threads = pool.current_num_threads();
        note(&format!(
            "{} runs in {wall_s:.2} s on {threads} threads: {:.2} times the engine's {engine_s:.2} s over the threads",
            left.len(),
            wall_s * threads as f64 / engine_s
        ));
    }
    let mut lines: Vec<SweepLine> =
        indices.iter().filter_map(|index| journal.done.remove(index)).chain(made).collect();
    lines.sort_by_key(|line| line.index);
    // Of a shard whose file has lines of others, those stay as well.
    let others: Vec<SweepLine> = std::mem::take(&mut journal.done).into_values().collect();
    let mut all: Vec<SweepLine> = lines.iter().cloned().chain(others).collect();
    all.sort_by_key(|line| line.index);
    journal.finish(&all).map_err(CliError::unwritten)?;
    Ok(lines)
}

/// Says which points make no run; where none does, that is the error.
fn report_errors(lines: &[SweepLine]) -> Result<(), CliError> {
    let failed: Vec<&SweepLine> = lines.iter().filter(|line| line.error.is_some()).collect();
    let Some(first) = failed.first() else { return Ok(()) };
    let point: Vec<String> = first.point.iter().map(ToString::to_string).collect();
    let error = first.error.as_deref().unwrap_or_default();
    let message = format!(
        "{} of {} runs cannot be made, the first at {}: {error}",
        failed.len(),
        lines.len(),
        point.join(", ")
    );
    if failed.len() == lines.len() {
        return Err(CliError::input(message));
    }
    note(&message);
    Ok(())
}

/// Names the settings that violate the conditions of a metric's closed form, or says that there is none.
fn print_violations(metric: &str, expected: Option<&Expected>) {
    let Some(expected) = expected else {
        note(&format!("{metric}: no closed form is known for it, or for a trace"));
        return;
    };
    if expected.obstacles.is_empty() {
        return;
    }
    let without = expected.points.iter().filter(|point| point.is_none()).count();
    let (reported, more) = expected.obstacles.split_at(expected.obstacles.len().min(MOST_OBSTACLES));
    let reported: Vec<String> = reported.iter().map(Obstacle::to_string).collect();
    let more = if more.is_empty() { String::new() } else { format!("; and {} more", more.len()) };
    note(&format!(
        "{metric}: no closed form holds at {without} points, because {}{more}",
        reported.join("; ")
    ));
}

/// Shows the points as asked.
fn show(
    arguments: &SweepArguments,
    shape: &SweepShape,
    lines: &[SweepLine],
    expected: &[Option<Expected>],
) -> Result<(), CliError> {
    report_errors(lines)?;
    for (place, metric) in shape.metrics.iter().enumerate() {
        if lines.iter().all(|line| line.values[place].is_none()) {
            note(&format!("{metric} is missing in every run: the run has no such part, or too few requests"));
        }
    }
    let mut results = Results::of(shape, lines);
    results.expected =
        expected.iter().map(|one| one.as_ref().map_or_else(Vec::new, |e| e.points.clone())).collect();
    for (metric, expected) in shape.metrics.iter().zip(expected) {
        print_violations(metric, expected.as_ref());
    }
    if let Some(path) = &arguments.csv {
        write(path, &results.csv())?;
    }
    if let Some(folder) = &arguments.charts {
        write_charts(folder, &results)?;
    }
    if arguments.json {
        return print(&format!("{:#}\n", results.to_json()));
    }
    print(&(aligned(&results.table()).join("\n") + "\n"))
}
