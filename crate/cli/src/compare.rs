//! `servescope compare`: two settings over the same seeds.

use std::path::{Path, PathBuf};

use clap::Args;
use rayon::prelude::*;
use servescope_charts::{Chart, Mark, Role};
use servescope_lab::compare::interval::Paired;
use servescope_lab::compare::requests::{RequestPair, RequestPairs};
use servescope_lab::compare::{ComparisonOutcome, MetricRow, Task, of_side};
use servescope_lab::crossover::{Crossovers, crossovers};
use servescope_lab::metric::{Measured, Metric};
use servescope_lab::replications::with_seed;
use servescope_lab::sweep::Range;
use servescope_output::views::paired::ttft_pairs;
use servescope_output::views::sweep::axis_around;
use servescope_settings::scenario::Scenario;

use crate::chart_files::create;
use crate::input_args::InputArguments;
use crate::notes;
use crate::output::{CliError, note, print, write};
use crate::plots::{TitledChart, series};
use crate::progress::{self, Threads};
use crate::scenario_args::ScenarioArguments;

/// Parameters in which A and B differ that are listed one by one.
const LISTED: usize = 12;

#[derive(Args)]
pub(crate) struct CompareArguments {
    /// Scenario A: a file or an address of the page; the default where it is left out.
    #[arg(value_name = "A.json")]
    a: Option<String>,
    /// Scenario B; A where it is left out.
    #[arg(value_name = "B.json")]
    b: Option<String>,
    /// Sets one parameter in A and in B. May be given many times, as may the two below.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    set: Vec<String>,
    /// Sets one parameter in A.
    #[arg(long, value_name = "PATH=VALUE")]
    set_a: Vec<String>,
    /// Sets one parameter in B.
    #[arg(long, value_name = "PATH=VALUE")]
    set_b: Vec<String>,
    #[command(flatten)]
    inputs: InputArguments,
    /// Seeds: A's own and those that follow it; 20 by default. With 1, batches of one run take their place: the default of a
    /// trace file, which no seed changes.
    #[arg(long, value_name = "N")]
    seeds: Option<usize>,
    /// Numbers of the summary to compare, by key path, such as ttft_s.p99 or per_user.0.ttft_mean_s; the usual ones by
    /// default.
    #[arg(long = "metric", value_name = "NAME", num_args = 1.., value_delimiter = ',')]
    metrics: Vec<String>,
    /// Finds where the better of A and B changes as a parameter goes over a range, for the first metric.
    #[arg(long, alias = "turn", value_name = "PATH=FROM:TO[:log]")]
    crossover: Option<String>,
    #[command(flatten)]
    threads: Threads,
    /// Prints everything as JSON.
    #[arg(long)]
    json: bool,
    /// Writes the differences as CSV.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Writes every request with its TTFT in A and in B (first seed) as CSV.
    #[arg(long, value_name = "FILE")]
    requests: Option<PathBuf>,
    /// Folder for charts as SVG: TTFT of each request in A and in B, and the difference over the parameter of --crossover.
    #[arg(long, value_name = "DIR")]
    charts: Option<PathBuf>,
}

pub(crate) fn run(arguments: &CompareArguments) -> Result<(), CliError> {
    let task = task(arguments)?;
    let crossover = arguments.crossover.as_deref().map(Range::parse).transpose()?;
    let pool = arguments.threads.pool(2 * task.seeds.len())?;
    let outcome = pool.install(|| compare(&task))?;
    notes::print_notes(&outcome.idle);
    let found = match crossover {
        Some(range) => Some(pool.install(|| find_crossovers(&task, range))?),
        None => None,
    };
    if let Some(path) = &arguments.csv {
        write(path, &outcome.comparison.csv())?;
    }
    if let Some(path) = &arguments.requests {
        write(path, &outcome.requests.csv())?;
    }
    if let Some(folder) = &arguments.charts {
        write_charts(folder, &outcome.requests, found.as_ref())?;
    }
    if arguments.json {
        return print(&format!("{:#}\n", task.to_json(&outcome, found.as_ref())));
    }
    print(&text(&task, &outcome, found.as_ref()))
}

fn task(arguments: &CompareArguments) -> Result<Task, CliError> {
    let side = |name: Option<&str>, own: &[String]| -> Result<Scenario, CliError> {
        let settings = [&arguments.set[..], own].concat();
        let mut scenario = ScenarioArguments::named(name, settings).scenario()?;
        arguments.inputs.apply_profile(&mut scenario)?;
        Ok(scenario)
    };
    let (a, b) = (arguments.a.as_deref(), arguments.b.as_deref().or(arguments.a.as_deref()));
    let (a, b) = (side(a, &arguments.set_a)?, side(b, &arguments.set_b)?);
    let loaded = arguments.inputs.loaded()?;
    let metrics = Metric::parse_all(arguments.metrics.iter().map(String::as_str))?;
    let task = Task::new(a, b, loaded, metrics, arguments.seeds)?;
    if task.has_two_seeds() {
        note("A and B have seeds of their own; both are simulated with those of A");
    }
    Ok(task)
}

/// Simulates every seed of both.
fn compare(task: &Task) -> Result<ComparisonOutcome, CliError> {
    let (a, b) = rayon::join(|| task.first(0), || task.first(1));
    let (a, b) = (a?, b?);
    let bar = progress::bar(task.further());
    let one = |place: usize| {
        let measured = task.measure(place);
        bar.inc(1);
        measured
    };
    let further: Vec<Measured> =
        (0..task.further()).into_par_iter().with_max_len(1).map(one).collect::<Result<_, _>>()?;
    let outcome = task.outcome(&a, &b, &further);
    if outcome.is_without_chance {
        note(
            "every seed gives the same run, so the intervals mean nothing; --seeds 1 divides one run into batches",
        );
    }
    Ok(outcome)
}

/// Where the better of both changes, by the first metric.
fn find_crossovers(task: &Task, range: Range) -> Result<Crossovers, CliError> {
    let metric = &task.metrics[0];
    if task.seeds.len() < 2 {
        return Err(CliError::input("--crossover needs at least two seeds; --seeds N"));
    }
    let bar = progress::bar(2);
    crossovers(range, metric, task.seeds.len(), |values: &[f64]| {
        let (count, all) = (task.seeds.len(), values.len() * 2 * task.seeds.len());
        bar.set_length(bar.position() + all as u64);
        let runs: Vec<Option<f64>> = (0..all)
            .into_par_iter()
            .with_max_len(1)
            .map(|place| {
                let (value, side, seed) = (place / (2 * count), place / count % 2, place % count);
                let mut scenario = with_seed(&task.sides[side], task.seeds[seed]);
                range.set(&mut scenario, values[value]);
                let run = Measured::simulate(&scenario, task.loaded.as_ref(), std::slice::from_ref(metric));
                bar.inc(1);
                Ok(run.map_err(|errors| of_side(side, errors))?.values[0])
            })
            .collect::<Result<_, CliError>>()?;
        let of = |runs: &[Option<f64>]| {
            let (a, b) = runs.split_at(count);
            let pairs: Vec<(f64, f64)> = a.iter().zip(b).filter_map(|(a, b)| Some(((*a)?, (*b)?))).collect();
            Paired::of(&pairs)
        };
        Ok(runs.chunks(2 * count).map(of).collect())
    })
}

fn text(task: &Task, outcome: &ComparisonOutcome, found: Option<&Crossovers>) -> String {
    let ComparisonOutcome { comparison, requests, difference, .. } = outcome;
    let mut lines = Vec::new();
    let differ = task.differences();
    if differ.is_empty() {
        lines.push("A and B are the same setting".to_owned());
    }
    for one in differ.iter().take(LISTED) {
        let path = one["path"].as_str().unwrap_or_default();
        lines.push(format!("{path}: {} in A, {} in B", one["a"], one["b"]));
    }
    if differ.len() > LISTED {
        lines.push(format!("and {} other parameters differ", differ.len() - LISTED));
    }
    lines.push(String::new());
    let mut table = vec![
        ["", "unit", "A", "B", "B - A", "95 % interval", "relative", "95 % interval"].map(str::to_owned),
    ];
    table.extend(comparison.rows.iter().map(cells));
    lines.extend(aligned(&table));
    lines.push(String::new());
    lines.extend(comparison.rows.iter().map(|row| row.sentence.clone()));
    let mut said: Vec<&str> = comparison.rows.iter().filter_map(|row| row.note.as_deref()).collect();
    said.sort_unstable();
    said.dedup();
    lines.extend(said.into_iter().map(|note| format!("note: {note}")));
    lines.push(String::new());
    lines.extend(requests_text(requests, task.seeds[0]));
    lines.push(difference.sentence());
    if let Some(found) = found {
        lines.push(String::new());
        lines.extend(found.sentences());
    }
    lines.join("\n") + "\n"
}

fn cells(row: &MetricRow) -> [String; 8] {
    let name = row.metric.path().to_owned();
    let unit = row.metric.unit().symbol().to_owned();
    let Some(p) = &row.paired else {
        return [name, unit, "-".into(), "-".into(), "-".into(), String::new(), String::new(), String::new()];
    };
    let percent = |x: f64| format!("{:+.1} %", if x.abs() < 5e-4 { 0.0 } else { 100.0 * x });
    let bounds = p.bounds.map_or_else(String::new, |b| format!("{} to {}", short(b.low), short(b.high)));
    let relative =
        p.relative_bounds.map_or_else(String::new, |b| format!("{} to {}", percent(b.low), percent(b.high)));
    [
        name,
        unit,
        short(p.a),
        short(p.b),
        short(p.difference),
        bounds,
        p.relative.map_or_else(String::new, percent),
        relative,
    ]
}

/// Four figures. What sums of equal numbers differ by is none.
fn short(x: f64) -> String {
    let x = if x.abs() < 1e-9 { 0.0 } else { x };
    let digits = if x == 0.0 || x.abs() >= 1000.0 { 0.0 } else { 3.0 - libm::floor(libm::log10(x.abs())) };
    let digits = digits.clamp(0.0, 8.0) as usize;
    format!("{x:.digits$}")
}

/// A table with its columns aligned, the first to the left.
pub(crate) fn aligned<R: AsRef<[String]>>(table: &[R]) -> Vec<String> {
    let columns = table.iter().map(|row| row.as_ref().len()).max().unwrap_or(0);
    let width = |column: usize| {
        table
            .iter()
            .filter_map(|row| row.as_ref().get(column))
            .map(|cell| cell.chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &R| {
        let cell = |(place, cell): (usize, &String)| {
            let width = widths[place];
            if place == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        };
        let cells: Vec<String> = row.as_ref().iter().enumerate().map(cell).collect();
        cells.join("  ").trim_end().to_owned()
    };
    table.iter().map(line).collect()
}

fn requests_text(requests: &RequestPairs, seed: u64) -> Vec<String> {
    let [sooner, later, same, only_a, only_b] = requests.counts();
    let mut lines = vec![format!(
        "request by request (seed {seed}): first token sooner in B for {sooner}, later for {later}, at the same time for {same}, only in A for {only_a}, only in B for {only_b}"
    )];
    let all = requests.pairs.len();
    if requests.equal < all || requests.only != [0, 0] {
        lines.push(format!(
            "note: {} of {all} pairs are the same request; {} requests are only in A, {} only in B",
            requests.equal, requests.only[0], requests.only[1]
        ));
    }
    let list = |name: &str, pairs: &[RequestPair]| {
        let one = |pair: &RequestPair| {
            format!(
                "{} ({} -> {} s)",
                pair.id,
                short(pair.a_s.unwrap_or(0.0)),
                short(pair.b_s.unwrap_or(0.0))
            )
        };
        let few: Vec<String> = pairs.iter().take(5).map(one).collect();
        (!few.is_empty()).then(|| format!("TTFT {name} most: request {}", few.join(", ")))
    };
    lines.extend(list("falls", &requests.gained()));
    lines.extend(list("rises", &requests.lost()));
    lines
}

fn write_charts(folder: &Path, requests: &RequestPairs, found: Option<&Crossovers>) -> Result<(), CliError> {
    create(folder)?;
    let save = |name: &str, plot: &TitledChart| {
        let path = folder.join(name);
        let text = plot.svg().map_err(|error| CliError::Run(format!("{}: {error}", path.display())))?;
        write(&path, &text)
    };
    save("ttft_pairs.svg", &scatter(requests))?;
    match found {
        Some(found) => save("crossover.svg", &difference(found)),
        None => Ok(()),
    }
}

/// TTFT of each request in A and in B, with the diagonal on which nothing changes.
fn scatter(requests: &RequestPairs) -> TitledChart {
    TitledChart {
        title: "TTFT of each request in A and in B".to_owned(),
        x: "TTFT in A, s".to_owned(),
        y: "TTFT in B, s".to_owned(),
        legend: vec![
            (Role::Arrivals, "a request".to_owned()),
            (Role::Expected, "the same in both; below it B is faster".to_owned()),
        ],
        chart: ttft_pairs(requests),
    }
}

/// The difference over the parameter with its interval, and the crossovers.
fn difference(found: &Crossovers) -> TitledChart {
    let reported: Vec<(f64, Paired)> =
        found.seen.iter().filter_map(|(x, paired)| Some((*x, (*paired)?))).collect();
    let x: Vec<f64> = reported.iter().map(|(x, _)| *x).collect();
    let end =
        |of: fn(&Paired) -> f64| -> Vec<f64> { reported.iter().map(|(_, paired)| of(paired)).collect() };
    let middle = end(|p| p.difference);
    let low = end(|p| p.bounds.map_or(p.difference, |b| b.low));
    let high = end(|p| p.bounds.map_or(p.difference, |b| b.high));
    let horizontal = axis_around(x.iter().copied(), found.range.is_log, false);
    let zero = (vec![horizontal.min, horizontal.max], vec![0.0, 0.0]);
    let mut band = series(Role::Arrivals, Mark::Area, x.clone(), high.clone());
    band.y0.clone_from(&low);
    let all = low.iter().chain(&high).copied().chain([0.0]);
    let places = found.crossovers.iter().map(|crossover| crossover.value).collect();
    TitledChart {
        title: format!("{} over {}", found.metric.title(), found.range.id.row().id),
        x: found.range.id.row().id.to_owned(),
        y: match found.metric.unit().symbol() {
            "" => format!("{}: B - A", found.metric.title()),
            unit => format!("{}: B - A, {unit}", found.metric.title()),
        },
        legend: vec![
            (Role::Arrivals, "difference, 95 % interval".to_owned()),
            (Role::Expected, "no difference".to_owned()),
            (Role::Slo, "crossover".to_owned()),
        ],
        chart: Chart::untitled(
            horizontal,
            axis_around(all, false, false),
            vec![
                band,
                series(Role::Expected, Mark::Line, zero.0, zero.1),
                series(Role::Arrivals, Mark::Line, x, middle),
                series(Role::Slo, Mark::RuleX, places, Vec::new()),
            ],
        ),
    }
}
