//! Configurations beside each other: what was found of each, in the order of what serves the load for least, as text and as CSV.

use serde::Serialize;
use servescope_settings::diagnostic::Diagnostic;
use servescope_workload::formats::push_cell;

use super::check::{Checked, Limit};
use super::goal::METRICS;
use super::grid::ConfigurationGrid;
use super::probe::Miss;
use super::search::Capacity;
use super::standing::{CapacityEntry, CapacityStanding, Tried, Unranked, standings};

/// What became of one configuration of a grid.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// Its place in the grid.
    pub place: usize,
    /// The value of each axis.
    pub values: Vec<String>,
    /// The values of the axes of the workload.
    pub workload: Vec<String>,
    /// The capacity, or why it cannot be run.
    pub result: Result<Capacity, Vec<Diagnostic>>,
}

/// A configuration in the ranking.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ranked {
    /// How it stands; its place is that in the grid.
    #[serde(flatten)]
    pub standing: CapacityStanding,
    /// The value of each axis; empty where the parameter has no effect.
    pub values: Vec<String>,
    /// Those of the axes of the workload.
    #[serde(skip)]
    pub workload: Vec<String>,
    /// What was found; none where it cannot be run.
    pub capacity: Option<Capacity>,
    /// What was simulated at the load, in the order in which it was: the last is with the replicas that the load needs.
    pub checks: Vec<Checked>,
    /// Why it cannot be run, or checked.
    #[serde(rename = "failures")]
    pub errors: Vec<Diagnostic>,
}

/// Puts configurations, given in the order of the grid, in the order of [`standings`].
pub fn rank(found: Vec<Found>) -> Vec<Ranked> {
    let places = found.into_iter().map(|Found { place, values, workload, result }| {
        let (capacity, errors) = match result {
            Ok(capacity) => (Some(capacity), Vec::new()),
            Err(errors) => (None, errors),
        };
        let standing = CapacityStanding { place, ..CapacityStanding::default() };
        Ranked { standing, values, workload, capacity, checks: Vec::new(), errors }
    });
    let mut ranking: Vec<Ranked> = places.collect();
    rank_again(&mut ranking);
    ranking
}

/// Puts a ranking in order again, once something more was simulated.
pub fn rank_again(ranking: &mut Vec<Ranked>) {
    ranking.sort_by_key(|ranked| ranked.standing.place);
    let entries: Vec<CapacityEntry> = ranking.iter().map(Ranked::entry).collect();
    let mut left: Vec<Option<Ranked>> = std::mem::take(ranking).into_iter().map(Some).collect();
    ranking.extend(standings(&entries).into_iter().filter_map(|standing| {
        let ranked = left[standing.place].take()?;
        let place = ranked.standing.place;
        Some(Ranked { standing: CapacityStanding { place, ..standing }, ..ranked })
    }));
}

impl Ranked {
    /// What its order depends on.
    fn entry(&self) -> CapacityEntry {
        let workload = self.workload.clone();
        let Some(capacity) = &self.capacity else {
            return CapacityEntry {
                workload,
                rate_rps: None,
                load_rps: 0.0,
                gpus: 0,
                replicas: 0,
                is_fixed: false,
                gpu: String::new(),
                usd_per_gpu_hour: None,
                tokens_per_request: None,
                error: None,
                ttft_s: None,
                tbt_s: None,
                tried: Vec::new(),
            };
        };
        let times = capacity.measures.map_or([None; METRICS.len()], |m| m.quantile_s);
        CapacityEntry {
            workload,
            rate_rps: capacity.rate_rps,
            load_rps: capacity.load_rps,
            gpus: capacity.price.gpus,
            replicas: capacity.price.replicas,
            is_fixed: capacity.price.is_fixed,
            gpu: capacity.price.gpu.to_owned(),
            usd_per_gpu_hour: capacity.price.usd_per_gpu_hour,
            tokens_per_request: capacity.measures.and_then(|measures| measures.tokens_per_request),
            error: capacity.expected_error.map(|error| error.larger()),
            ttft_s: times[0],
            tbt_s: times[1],
            tried: self.tried(),
        }
    }

    /// The simulation with the replicas that the load needs; none where there was none.
    pub fn check(&self) -> Option<&Checked> {
        let replicas = self.standing.need?.replicas;
        self.checks.last().filter(|checked| checked.replicas == replicas)
    }

    /// Why it has no rank, what limits it, and the notes, in English.
    pub fn describe(&self) -> String {
        let Some(capacity) = &self.capacity else { return self.reason() };
        capacity.describe(self.standing.unranked == Some(Unranked::NoPrice))
    }

    fn tried(&self) -> Vec<Tried> {
        let of =
            |checked: &Checked| Tried { replicas: checked.replicas, holds: Some(checked.miss.is_none()) };
        let mut tried: Vec<Tried> = self.checks.iter().map(of).collect();
        if self.capacity.is_some() && !self.errors.is_empty() {
            tried.push(Tried { replicas: 0, holds: None });
        }
        tried
    }

    /// What the checks showed, in English; empty where there are none.
    pub fn describe_check(&self) -> String {
        if self.capacity.is_some() && !self.errors.is_empty() {
            return format!("not simulated: {}", join_errors(&self.errors));
        }
        self.checks.iter().map(Checked::describe).collect::<Vec<_>>().join("; ")
    }

    /// What limits the deployment: a limit of the scheduler without which it serves more, or the cause of the largest part of
    /// all delays at the rate that failed; empty where neither is known.
    pub fn describe_limit(&self) -> String {
        if let Some(binding) = self.capacity.as_ref().and_then(|capacity| capacity.binding) {
            return binding.to_string();
        }
        let limit = self.checks.last().and_then(|checked| checked.limit);
        limit.map_or_else(String::new, |limit| limit.to_string())
    }

    /// Why no more can be asked of it, in English.
    pub fn reason(&self) -> String {
        match &self.capacity {
            None => join_errors(&self.errors),
            Some(capacity) => capacity.reason(),
        }
    }
}

fn join_errors(errors: &[Diagnostic]) -> String {
    errors.iter().map(|error| error.message.as_str()).collect::<Vec<_>>().join("; ")
}

impl Capacity {
    /// Why no higher rate passes, in English.
    pub fn reason(&self) -> String {
        self.miss.map_or_else(
            || "the highest rate that can be asked for passes".to_owned(),
            |miss| miss.to_string(),
        )
    }

    /// The reason and the notes in English, behind why there is no price where that is asked for.
    pub fn describe(&self, with_price: bool) -> String {
        let price = with_price.then(|| self.price.describe());
        let notes = self.notes.iter().map(|note| note.message.clone());
        price.into_iter().chain([self.reason()]).chain(notes).collect::<Vec<_>>().join("; ")
    }
}

impl std::fmt::Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({:.0} % of all delays)", self.cause, 100.0 * self.share)
    }
}

impl std::fmt::Display for Miss {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bound { metric, value_s: Some(value_s), limit_s } => {
                write!(f, "{metric} {} above {limit_s}", above(*value_s, *limit_s))
            }
            Self::Bound { metric, value_s: None, limit_s } => write!(f, "{metric} above {limit_s}"),
            Self::TooLong { requests, offered } => {
                let share = 100.0 * *requests as f64 / *offered as f64;
                write!(f, "{share:.1} % of the requests are too long for the service at any rate")
            }
            Self::Unserved { requests, offered } => write!(f, "{requests} of {offered} not served"),
            Self::Growing { growth } => write!(f, "the queue grows by {:.1} % of arrivals", 100.0 * growth),
        }
    }
}

/// A value above a bound, with as many digits as distinguish them, three at least.
fn above(value: f64, bound: f64) -> String {
    let digits = (3..9).find(|&digits| format!("{value:.digits$}") != format!("{bound:.digits$}"));
    format!("{value:.0$}", digits.unwrap_or(9))
}

/// The columns of the ranking as CSV, in the terminal and on the page: the axes of the grid come first.
pub fn columns(grid: &ConfigurationGrid) -> Vec<&'static str> {
    const RATE: [&str; 5] = ["rate_rps", "missed_rps", "gpus", "usd_per_hour", "requests_per_usd"];
    const SHOWN: [&str; 3] = ["output_tokens_per_s", "ttft_front", "tbt_front"];
    let axes = grid.axes.iter().map(|axis| axis.id.row().id);
    axes.chain(RATE).chain(METRICS).chain(SHOWN).chain(OF_LOAD).chain(["reason"]).collect()
}

/// The ranking as CSV: a row for each configuration.
pub fn csv(grid: &ConfigurationGrid, ranking: &[Ranked]) -> String {
    let mut text = columns(grid).join(",");
    text.push('\n');
    let number = |x: Option<f64>| x.map_or_else(String::new, |x| x.to_string());
    for ranked in ranking {
        let capacity = ranked.capacity.as_ref();
        let measures = capacity.and_then(|c| c.measures);
        for value in &ranked.values {
            push_cell(&mut text, Some(value));
            text.push(',');
        }
        let mut cells = vec![
            number(capacity.and_then(|c| c.rate_rps)),
            number(capacity.and_then(|c| c.missed_rps)),
            capacity.map_or_else(String::new, |c| c.price.gpus.to_string()),
            number(capacity.and_then(|c| c.price.usd_per_hour())),
            number(ranked.standing.requests_per_usd),
        ];
        let times = measures.map_or([None; METRICS.len()], |m| m.quantile_s);
        cells.extend(times.map(number));
        cells.push(number(measures.map(|m| m.output_tokens_per_s)));
        cells.extend(
            [ranked.standing.is_on_ttft_front, ranked.standing.is_on_tbt_front].map(|is| is.to_string()),
        );
        cells.extend(cells_of_load(ranked));
        for cell in cells.iter().chain([&ranked.describe()]) {
            push_cell(&mut text, Some(cell));
            text.push(',');
        }
        text.pop();
        text.push('\n');
    }
    text
}

/// The columns of the CSV with what serves the load, and its price.
const OF_LOAD: [&str; 18] = [
    "rank",
    "load_rps",
    "load_replicas",
    "expected_error",
    "cautious_replicas",
    "load_gpus",
    "load_usd_per_hour",
    "load_usd_per_million_tokens",
    "load_share",
    "load_headroom",
    "load_in_slo",
    "check",
    "check_digest",
    "limit",
    "usd_per_gpu_hour",
    "price_kind",
    "price_source",
    "price_date",
];

fn cells_of_load(ranked: &Ranked) -> [String; OF_LOAD.len()] {
    fn cell<T: ToString>(x: Option<T>) -> String {
        x.map_or_else(String::new, |x| x.to_string())
    }
    let (need, price) = (ranked.standing.need, ranked.capacity.as_ref().map(|c| c.price));
    let quote = price.filter(|p| p.usd_per_gpu_hour.is_some()).and_then(|p| p.quote);
    [
        cell(ranked.standing.rank),
        cell(need.map(|n| n.load_rps)),
        cell(need.map(|n| n.replicas)),
        cell(ranked.capacity.as_ref().and_then(|c| c.expected_error).map(|error| error.larger())),
        cell(need.and_then(|n| n.cautious_replicas)),
        cell(need.map(|n| n.gpus)),
        cell(need.and_then(|n| n.usd_per_hour)),
        cell(need.and_then(|n| n.usd_per_million_tokens)),
        cell(need.map(|n| n.load_share)),
        cell(need.map(|n| n.headroom)),
        cell(ranked.check().map(|check| check.in_slo)),
        ranked.describe_check(),
        cell(ranked.check().map(|check| check.digest.clone())),
        ranked.describe_limit(),
        cell(price.and_then(|p| p.usd_per_gpu_hour)),
        cell(price.map(|p| p.kind)),
        cell(quote.map(|q| q.source)),
        cell(quote.and_then(|q| q.date)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_above_a_bound_reads_as_more() {
        let miss = |value_s: f64| Miss::Bound { metric: "tbt_s", value_s: Some(value_s), limit_s: 0.1 };
        assert_eq!(miss(0.100_04).to_string(), "tbt_s 0.10004 above 0.1");
        assert_eq!(miss(0.1234).to_string(), "tbt_s 0.123 above 0.1");
        let miss = Miss::TooLong { requests: 371, offered: 1000 };
        assert_eq!(miss.to_string(), "37.1 % of the requests are too long for the service at any rate");
    }
}
