//! `servescope capacity`: the highest rate that meets a goal, for one configuration or a grid of them.

use std::io::{IsTerminal as _, Write as _};
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use clap::Args;
use rayon::ThreadPoolBuilder;
use rayon::prelude::*;
use serde_json::json;
use servescope_lab::LoadedTrace;
use servescope_lab::capacity::{
    Capacity, Configuration, Found, Goal, Grid, METRICS, Miss, Ranked, Search, csv, rank,
};
use servescope_lab::notes::Purpose;

use crate::notes;
use crate::output::{Failed, note, print, write};
use crate::profile_args::ProfileArguments;
use crate::read_args::ReadArguments;
use crate::scenario_args::ScenarioArguments;

#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    scenario: ScenarioArguments,
    /// Trace file to play, faster or slower, in place of generated requests.
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    #[command(flatten)]
    read: ReadArguments,
    #[command(flatten)]
    profile: ProfileArguments,
    /// A parameter and the values to try, beside those of capacity.grid; may be given many times. Within a list of numbers
    /// stand semicolons.
    #[arg(long = "grid", value_name = "PATH=VALUE,VALUE...")]
    axes: Vec<String>,
    /// Configurations to search at once; all cores by default. The answer does not depend on it.
    #[arg(long, value_name = "N")]
    threads: Option<NonZero<usize>>,
    /// Prints everything as JSON, every run of the search included.
    #[arg(long)]
    json: bool,
    /// Writes the ranking as CSV.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failed> {
    let mut scenario = arguments.scenario.scenario()?;
    arguments.profile.give(&mut scenario)?;
    let mut grid = Grid::of(&scenario)?;
    if !arguments.axes.is_empty() {
        grid.axes.extend(Grid::parse(arguments.axes.iter().map(String::as_str))?.axes);
        grid.check()?;
    }
    let loaded = match &arguments.trace {
        Some(path) => Some(arguments.read.read(path)?.loaded),
        None => None,
    };
    let configurations = grid.configurations(&scenario);
    grid.notes(&configurations).iter().for_each(|axis| note(&axis.message));
    if let [only] = configurations.as_slice() {
        // What is wrong with the only configuration is wrong with the input.
        Search::new(&only.scenario, loaded.clone())?;
    }
    let context = notes::context(Purpose::Capacity, loaded.as_ref());
    notes::tell_common(configurations.iter().map(|configuration| &configuration.scenario), &context);
    let cores = || std::thread::available_parallelism().map_or(1, NonZero::get);
    let threads = arguments.threads.map_or_else(cores, NonZero::get);
    let ranking = rank(search_all(&configurations, loaded.as_ref(), threads)?);
    if let Some(path) = &arguments.csv {
        write(path, &csv(&grid, &ranking))?;
    }
    if arguments.json {
        let axes: Vec<&str> = grid.axes.iter().map(|axis| axis.id.row().id).collect();
        return print(&format!("{:#}\n", json!({ "axes": axes, "ranking": ranking })));
    }
    let quantiles = Goal::quantiles(&scenario);
    match (grid.axes.as_slice(), ranking.as_slice()) {
        ([], [only]) => print(&only_text(only, quantiles)),
        _ => print(&ranking_text(&grid, &ranking, quantiles)),
    }
}

/// Searches every configuration, each on the thread that is free; what is found stands in their order.
fn search_all(
    all: &[Configuration],
    loaded: Option<&LoadedTrace>,
    threads: usize,
) -> Result<Vec<Found>, Failed> {
    let done = AtomicUsize::new(0);
    let search = |(place, configuration): (usize, &Configuration)| {
        let Configuration { values, scenario } = configuration;
        let result = Search::new(scenario, loaded.cloned()).map(|mut search| {
            while search.advance(usize::MAX) < 1.0 {}
            search.finish()
        });
        progress(done.fetch_add(1, Ordering::Relaxed) + 1, all.len());
        Found { place, values: values.clone(), result }
    };
    let pool = ThreadPoolBuilder::new().num_threads(threads.min(all.len())).build();
    let pool = pool.map_err(|error| Failed::Run(format!("the threads do not start: {error}")))?;
    Ok(pool.install(|| all.par_iter().enumerate().with_max_len(1).map(search).collect()))
}

/// A bar on standard error, where somebody looks at it.
fn progress(done: usize, all: usize) {
    const WIDTH: usize = 40;
    let mut terminal = std::io::stderr().lock();
    if all > 1 && terminal.is_terminal() {
        let full = WIDTH * done / all;
        let end = if done == all { "\n" } else { "" };
        // A bar that cannot be drawn is no reason to stop.
        let _ = write!(terminal, "\r[{:<WIDTH$}] {done}/{all}{end}", "#".repeat(full));
        let _ = terminal.flush();
    }
}

fn percent(quantile: f64) -> String {
    format!("p{}", (quantile * 1e5).round() / 1e3)
}

fn number(x: Option<f64>, digits: usize) -> String {
    x.map_or_else(|| "-".to_owned(), |x| format!("{x:.digits$}"))
}

fn whole(x: Option<f64>) -> String {
    number(x, 0)
}

fn only_text(only: &Ranked, quantiles: [f64; METRICS.len()]) -> String {
    let Some(capacity) = &only.capacity else {
        return format!("{}\n", only.reason());
    };
    let Capacity { rate_rps, missed_rps, measures, price, probes, .. } = capacity;
    let mut lines = vec![match (rate_rps, missed_rps) {
        (Some(rate), Some(missed)) => {
            format!("capacity      {rate:.4} requests/s ({missed:.4} fails: {})", only.reason())
        }
        (Some(rate), None) => format!("capacity      at least {rate:.4} requests/s: {}", only.reason()),
        (None, _) if matches!(capacity.miss, Some(Miss::TooLong { .. })) => {
            format!("capacity      none: {}", only.reason())
        }
        (None, _) => {
            format!("capacity      none: {} at {} requests/s", only.reason(), number(*missed_rps, 4))
        }
    }];
    if let Some(m) = measures {
        for ((metric, quantile), value) in METRICS.iter().zip(&quantiles).zip(m.quantile_s) {
            lines.push(format!("{:<14}{} s", format!("{} {metric}", percent(*quantile)), number(value, 4)));
        }
        lines.push(format!("output        {:.1} tokens/s", m.output_tokens_per_s));
        lines.push(format!(
            "runs          {}, the last ones of {} s ({} requests)",
            probes.len(),
            whole(capacity.run_s),
            m.requests
        ));
        if let Some(deviation) = capacity.deviation {
            lines.push(format!("precision     standard deviation of the rate {:.1} %", 100.0 * deviation));
        }
        lines.extend(capacity.notes.iter().map(|note| format!("note          {}", note.message)));
    }
    if let Some(usd) = price.usd_per_hour() {
        lines.push(format!(
            "cost          {usd:.2} USD/h, {} requests/USD",
            number(only.standing.requests_per_usd, 0)
        ));
    }
    lines.join("\n") + "\n"
}

fn ranking_text(grid: &Grid, ranking: &[Ranked], quantiles: [f64; METRICS.len()]) -> String {
    let mut table: Vec<Vec<String>> = Vec::with_capacity(ranking.len() + 1);
    let mut header: Vec<String> = grid.axes.iter().map(|axis| axis.id.row().id.to_owned()).collect();
    header.extend(["requests/s", "GPUs", "requests/USD"].map(str::to_owned));
    header.extend(
        METRICS[..2]
            .iter()
            .zip(&quantiles)
            .map(|(metric, quantile)| format!("{} {metric}", percent(*quantile))),
    );
    header.extend(["front", "limited by"].map(str::to_owned));
    table.push(header);
    for ranked in ranking {
        let capacity = ranked.capacity.as_ref();
        let times = capacity.and_then(|c| c.measures).map_or([None; METRICS.len()], |m| m.quantile_s);
        let mut row = ranked.values.clone();
        row.push(number(capacity.and_then(|c| c.rate_rps), 3));
        row.push(capacity.map_or_else(|| "-".to_owned(), |c| c.price.gpus.to_string()));
        row.push(number(ranked.standing.requests_per_usd, 0));
        row.extend(times[..2].iter().map(|&s| number(s, 3)));
        let fronts = [(ranked.standing.is_on_ttft_front, "TTFT"), (ranked.standing.is_on_tbt_front, "TBT")];
        row.push(fronts.iter().filter(|f| f.0).map(|f| f.1).collect::<Vec<_>>().join(" "));
        row.push(ranked.told());
        table.push(row);
    }
    let widths: Vec<usize> = (0..table[0].len())
        .map(|column| table.iter().map(|row| row[column].chars().count()).max().unwrap_or(0))
        .collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:<width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    table.iter().map(line).collect::<Vec<_>>().join("\n") + "\n"
}
