//! `servescope capacity`: the highest rate that meets a goal, for one configuration or a grid of them, and the plan for a load.

use std::path::PathBuf;

use clap::Args;
use servescope_lab::capacity::{
    Capacity, Configuration, ConfigurationGrid, Goal, METRICS, Miss, Ranked, Search, Unranked, csv,
    is_of_workload, plan, to_json,
};
use servescope_settings::launch_command::launch_command;
use servescope_settings::link;
use servescope_settings::notes::{Purpose, Traffic, common};
use servescope_settings::scenario::Scenario;

use crate::input_args::InputArguments;
use crate::notes;
use crate::output::{CliError, note, print, report_all, write};
use crate::progress::{self, Threads};
use crate::scenario_args::ScenarioArguments;

#[derive(Args)]
pub(crate) struct CapacityArguments {
    #[command(flatten)]
    scenario: ScenarioArguments,
    #[command(flatten)]
    inputs: InputArguments,
    /// A parameter and the values to try, beside those of capacity.grid; may be given many times. Semicolons separate the
    /// entries of a value that is a list.
    #[arg(long = "grid", value_name = "PATH=VALUE,VALUE...")]
    axes: Vec<String>,
    #[command(flatten)]
    threads: Threads,
    /// Prints everything as JSON, every run of the search included.
    #[arg(long)]
    json: bool,
    /// Writes the ranking as CSV.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
}

pub(crate) fn run(arguments: &CapacityArguments) -> Result<(), CliError> {
    let mut scenario = arguments.scenario.scenario()?;
    arguments.inputs.apply_profile(&mut scenario)?;
    let mut grid = ConfigurationGrid::of(&scenario)?;
    if !arguments.axes.is_empty() {
        grid.axes.extend(ConfigurationGrid::parse(arguments.axes.iter().map(String::as_str))?.axes);
        grid.check()?;
    }
    let loaded = arguments.inputs.loaded()?;
    let configurations = grid.configurations(&scenario);
    report_all(&grid.notes(&configurations));
    if let [only] = configurations.as_slice() {
        // What is wrong with the only configuration is wrong with the input.
        Search::new(&only.scenario, loaded.clone())?;
    }
    let context = notes::context(Purpose::Capacity, loaded.as_ref());
    notes::print_notes(&common(configurations.iter().map(|configuration| &configuration.scenario), &context));
    let bar = progress::bar(configurations.len());
    let threads = arguments.threads.count();
    let ranking = plan(&configurations, loaded.as_ref(), threads, &|| bar.inc(1));
    bar.finish_and_clear();
    report_outside_slo(&scenario, &ranking);
    if let Some(path) = &arguments.csv {
        write(path, &csv(&grid, &ranking))?;
    }
    if arguments.json {
        return print(&format!("{:#}\n", to_json(&grid, &ranking, &configurations, loaded.as_ref())));
    }
    let quantiles = Goal::quantiles(&scenario);
    match (grid.axes.as_slice(), ranking.as_slice()) {
        ([], [only]) => print(&only_text(only, quantiles)),
        _ => print(
            &(ranking_text(&grid, &ranking, quantiles)
                + &best_text(&ranking, &configurations, context.traffic.as_ref())),
        ),
    }
}

/// That the first of the ranking meets the goal and not the SLO: the goal has other bounds, or each is broken by other requests.
fn report_outside_slo(scenario: &Scenario, ranking: &[Ranked]) {
    let in_slo = ranking.first().and_then(Ranked::check).map_or(1.0, |check| check.in_slo);
    if in_slo < Goal::of(scenario).served() {
        let share = 100.0 * in_slo;
        note(&format!(
            "simulated at the load, only {share:.1} % of the requests are within the SLO: the search holds a quantile of each \
             time by itself, gaps between tokens are counted one by one, and capacity.ttft_s, .tbt_s or .tpot_s replace the SLO's bounds"
        ));
    }
}

/// How the first of the ranking is opened on the page, and started.
fn best_text(ranking: &[Ranked], all: &[Configuration], traffic: Option<&Traffic>) -> String {
    if ranking.iter().any(|ranked| ranked.workload != ranking[0].workload) {
        return String::new();
    }
    let best = ranking.first().filter(|best| best.standing.rank.is_some());
    let Some(scenario) = best.and_then(|best| best.serving(all)) else { return String::new() };
    let command =
        launch_command(&scenario, traffic).map_or_else(|_| String::new(), |command| format!("\n{command}"));
    format!("Rank 1 on the page: #{}\n{command}", link::encode(&scenario))
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
        if let Some(saturated) = capacity.saturated_rps {
            lines.push(format!("saturated     {saturated:.4} requests/s, served when a queue never ends"));
        }
        lines.push(format!(
            "runs          {}, the last ones of {} s ({} requests)",
            probes.len(),
            whole(capacity.run_s),
            m.requests
        ));
        if let Some(deviation) = capacity.deviation {
            lines.push(format!("precision     standard deviation of the rate {:.1} %", 100.0 * deviation));
        }
        lines.extend(
            capacity.notes.iter().map(|note| format!("{:<14}{}", note.severity.name(), note.message)),
        );
    }
    lines.extend(load_text(only));
    match price.usd_per_hour() {
        Some(usd) => lines.push(format!(
            "cost          {usd:.2} USD/h, {} requests/USD ({})",
            number(only.standing.requests_per_usd, 0),
            price.describe()
        )),
        None => lines.push(format!("cost          {}", price.describe())),
    }
    lines.join("\n") + "\n"
}

/// How much more or less than the load: from twice the load on as a factor.
fn room(headroom: f64) -> String {
    if headroom >= 1.0 {
        format!("{:.1} times as many", 1.0 + headroom)
    } else if headroom < 0.0 {
        format!("{:.0} % less", -100.0 * headroom)
    } else {
        format!("{:.0} % more", 100.0 * headroom)
    }
}

/// What serves the load, what its simulation showed, and what limits the deployment.
fn load_text(ranked: &Ranked) -> Vec<String> {
    let Some(need) = ranked.standing.need else { return Vec::new() };
    let usd = need.usd_per_hour.map_or_else(String::new, |usd| format!(", {usd:.2} USD/h"));
    let replicas = if need.replicas == 1 { "replica" } else { "replicas" };
    let mut lines = vec![format!(
        "your load     {:.4} requests/s: {} {replicas}{usd}; the goal holds up to {:.4} requests/s, {}",
        need.load_rps,
        need.replicas,
        need.load_rps * (1.0 + need.headroom),
        room(need.headroom),
    )];
    if need.is_tight {
        lines.push("              tight: less than 15 % headroom".to_owned());
    }
    if let (Some(error), Some(replicas)) =
        (ranked.capacity.as_ref().and_then(|capacity| capacity.expected_error), need.cautious_replicas)
    {
        lines.push(format!(
            "model error   TTFT +-{:.0} %, TPOT +-{:.0} % against measured deployments: {replicas} replicas for a load larger by {:.0} %",
            100.0 * error.ttft,
            100.0 * error.tpot,
            100.0 * error.larger(),
        ));
    }
    if !ranked.describe_check().is_empty() {
        lines.push(format!("simulated     {}", ranked.describe_check()));
    }
    if let Some(check) = ranked.check() {
        let in_slo = format!("{:.1} % of requests within the SLO", 100.0 * check.in_slo);
        lines.push(format!("              {in_slo}, {} requests, digest {}", check.requests, check.digest));
    }
    if !ranked.describe_limit().is_empty() {
        lines.push(format!("limited by    {}", ranked.describe_limit()));
    }
    lines
}

/// The rule behind the ranking, where something has a rank.
const RULE: &str = "Ranked by what serves the load for least: replicas = load / capacity of one replica, rounded up. \
A router splits real traffic less evenly than that; so the first three are simulated at the load, with one replica more where \
the goal fails. One that fails again has no rank. \"model error\": the expected error of the iteration times, and the replicas \
for a load that is larger by it; \"tight\": less than 15 % headroom.";

fn ranking_text(grid: &ConfigurationGrid, ranking: &[Ranked], quantiles: [f64; METRICS.len()]) -> String {
    let mut table: Vec<Vec<String>> = vec![ranking_header(grid, quantiles)];
    table.extend(ranking.iter().map(ranking_row));
    let widths: Vec<usize> = (0..table[0].len())
        .map(|column| table.iter().map(|row| row[column].chars().count()).max().unwrap_or(0))
        .collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:<width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let mut lines: Vec<String> = table.iter().map(line).collect();
    let unpriced = ranking.iter().filter(|r| r.standing.unranked == Some(Unranked::NoPrice)).count();
    if unpriced > 0 {
        lines.push(format!(
            "{unpriced} of {} configurations have no rank: their price is not known",
            ranking.len()
        ));
    }
    if ranking.iter().any(|ranked| ranked.standing.rank.is_some()) {
        lines.push(RULE.to_owned());
        let axes: Vec<&str> =
            grid.axes.iter().filter(|axis| is_of_workload(axis.id)).map(|axis| axis.id.row().id).collect();
        if !axes.is_empty() {
            lines.push(format!(
                "Each value of {} is a workload with ranks of its own; --json has the link and the command of every row.",
                axes.join(", ")
            ));
        }
    }
    lines.join("\n") + "\n"
}

/// The places in [`METRICS`] of the times in the table.
const SHOWN: [usize; 3] = [0, 1, 4];

fn ranking_header(grid: &ConfigurationGrid, quantiles: [f64; METRICS.len()]) -> Vec<String> {
    let mut header = vec!["rank".to_owned()];
    header.extend(grid.axes.iter().map(|axis| axis.id.row().id.to_owned()));
    let of_load =
        ["load/s", "replicas", "model error", "USD/h", "USD/M tokens", "headroom", "in SLO", "simulated"];
    header.extend(of_load.into_iter().chain(["requests/s", "GPUs", "requests/USD"]).map(str::to_owned));
    let of_metric = |(metric, quantile): (&&str, &f64)| format!("{} {metric}", percent(*quantile));
    header.extend(SHOWN.map(|place| of_metric((&METRICS[place], &quantiles[place]))));
    header.extend(["front", "USD/GPU h", "price", "limit", "first to fail"].map(str::to_owned));
    header
}

fn ranking_row(ranked: &Ranked) -> Vec<String> {
    fn cell<T: ToString>(x: Option<T>) -> String {
        x.map_or_else(|| "-".to_owned(), |x| x.to_string())
    }
    let (standing, capacity) = (&ranked.standing, ranked.capacity.as_ref());
    let (need, price) = (standing.need, capacity.map(|c| c.price));
    let times = capacity.and_then(|c| c.measures).map_or([None; METRICS.len()], |m| m.quantile_s);
    let mut row = vec![cell(standing.rank)];
    row.extend(ranked.values.iter().cloned());
    row.push(number(need.map(|n| n.load_rps), 3));
    row.push(cell(need.map(|n| n.replicas)));
    let error = capacity.and_then(|c| c.expected_error).zip(need.and_then(|n| n.cautious_replicas));
    row.push(cell(error.map(|(error, replicas)| format!("+-{:.0} %: {replicas}", 100.0 * error.larger()))));
    row.push(number(need.and_then(|n| n.usd_per_hour), 2));
    row.push(number(need.and_then(|n| n.usd_per_million_tokens), 3));
    let percent = |x: Option<f64>| x.map_or_else(|| "-".to_owned(), |x| format!("{:.1} %", 100.0 * x));
    let tight = if need.is_some_and(|n| n.is_tight) { " (tight)" } else { "" };
    row.push(percent(need.map(|n| n.headroom)) + tight);
    row.push(percent(ranked.check().map(|check| check.in_slo)));
    row.push(ranked.describe_check());
    row.push(number(capacity.and_then(|c| c.rate_rps), 3));
    row.push(cell(price.map(|p| p.gpus)));
    row.push(whole(standing.requests_per_usd));
    row.extend(SHOWN.map(|place| number(times[place], 3)));
    let fronts = [(standing.is_on_ttft_front, "TTFT"), (standing.is_on_tbt_front, "TBT")];
    row.push(fronts.iter().filter(|f| f.0).map(|f| f.1).collect::<Vec<_>>().join(" "));
    row.push(number(price.and_then(|p| p.usd_per_gpu_hour), 4));
    row.push(price.filter(|p| p.usd_per_gpu_hour.is_some()).map_or_else(|| "-".to_owned(), |p| p.describe()));
    row.push(ranked.describe_limit());
    row.push(ranked.describe());
    row
}
