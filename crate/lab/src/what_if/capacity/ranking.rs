//! Configurations beside each other: what they cost, and which of them no other beats.

use serde::{Deserialize, Serialize};
use servescope_workload::formats::push_cell;

use super::check::{CHECKED, Checked, Limit};
use super::goal::METRICS;
use super::grid::ConfigurationGrid;
use super::probe::Miss;
use super::search::Capacity;
use crate::diagnostic::Diagnostic;

/// Configurations that are simulated at the load at most, where the first ones fail.
const MOST_TRIED: usize = 12;

/// With less headroom a deployment is tight: real traffic varies by more from day to day.
const LEAST_HEADROOM: f64 = 0.15;

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

/// What the order of a configuration depends on.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
#[serde(deny_unknown_fields)]
pub struct CapacityEntry {
    /// The values of the axes of the workload: configurations of one workload are compared with each other.
    pub workload: Vec<String>,
    /// The rate found.
    pub rate_rps: Option<f64>,
    /// The load to be served.
    pub load_rps: f64,
    /// GPUs.
    pub gpus: u32,
    /// Replicas that they make.
    pub replicas: u32,
    /// Whether the fleet is taken as it is, with no replica more or fewer.
    pub is_fixed: bool,
    /// Which GPUs; "" where the cost model names none.
    pub gpu: String,
    /// What one of them costs.
    pub usd_per_gpu_hour: Option<f64>,
    /// How far times are to be expected from a real server's: the larger error of TTFT and TPOT; none where it is not known.
    pub error: Option<f64>,
    /// The goal's quantile of TTFT at that rate, seconds.
    pub ttft_s: Option<f64>,
    /// The same of TBT.
    pub tbt_s: Option<f64>,
    /// What was simulated at the load.
    pub tried: Vec<Tried>,
}

/// Replicas that were simulated at the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "CapacityTried"))]
#[serde(deny_unknown_fields)]
pub struct Tried {
    /// How many.
    pub replicas: u32,
    /// Whether the goal held; none where this many cannot be simulated.
    pub holds: Option<bool>,
}

/// What serves the load: as many replicas as a replica's share of the capacity goes into it, or the fleet as it is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "CapacityNeed"))]
pub struct Need {
    /// The load, requests a second.
    pub load_rps: f64,
    /// Replicas: the load over the capacity of one, rounded up; of a fleet that is taken as it is all that it has.
    pub replicas: u32,
    /// Their GPUs.
    pub gpus: u32,
    /// What these cost an hour.
    pub usd_per_hour: Option<f64>,
    /// The load as a share of their capacity.
    pub load_share: f64,
    /// By which share of itself the load can rise until it is at their capacity, where the goal breaks; negative where a fleet that is
    /// taken as it is does not serve it.
    pub headroom: f64,
    /// Whether that is less than 15 %.
    pub is_tight: bool,
    /// Replicas for a load that is larger by the expected error of the times; none where that is not known or the fleet is taken
    /// as it is.
    pub cautious_replicas: Option<u32>,
}

/// Why a configuration has no rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Unranked {
    /// No rate was found.
    NoRate,
    /// No price of the kind that is compared is known.
    NoPrice,
    /// The goal does not hold at the load, simulated with the replicas that the capacity says and with one more.
    Fails,
}

/// How a configuration stands among the others.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct CapacityStanding {
    /// Its place in the list.
    pub place: usize,
    /// 1 for the cheapest for the load; none where it cannot be compared.
    pub rank: Option<u32>,
    /// Why it cannot.
    pub unranked: Option<Unranked>,
    /// What serves the load; none without a rate.
    pub need: Option<Need>,
    /// Whether that is to be simulated next: [`CapacityCheck`](super::CapacityCheck).
    pub is_next: bool,
    /// Requests for a dollar, at the rate found.
    pub requests_per_usd: Option<f64>,
    /// Whether no other has a shorter TTFT at the same or a lower cost of a request.
    pub is_on_ttft_front: bool,
    /// Whether no other has shorter TBT at the same or a lower cost of a request.
    pub is_on_tbt_front: bool,
}

impl CapacityEntry {
    fn of(ranked: &Ranked) -> Self {
        let workload = ranked.workload.clone();
        let Some(capacity) = &ranked.capacity else {
            return Self {
                workload,
                rate_rps: None,
                load_rps: 0.0,
                gpus: 0,
                replicas: 0,
                is_fixed: false,
                gpu: String::new(),
                usd_per_gpu_hour: None,
                error: None,
                ttft_s: None,
                tbt_s: None,
                tried: Vec::new(),
            };
        };
        let times = capacity.measures.map_or([None; METRICS.len()], |m| m.quantile_s);
        Self {
            workload,
            rate_rps: capacity.rate_rps,
            load_rps: capacity.load_rps,
            gpus: capacity.price.gpus,
            replicas: capacity.price.replicas,
            is_fixed: capacity.price.is_fixed,
            gpu: capacity.price.gpu.to_owned(),
            usd_per_gpu_hour: capacity.price.usd_per_gpu_hour,
            error: capacity.expected_error.map(|error| error.larger()),
            ttft_s: times[0],
            tbt_s: times[1],
            tried: ranked.tried(),
        }
    }

    /// Seconds of a GPU that a request takes.
    pub fn gpu_s_per_request(&self) -> Option<f64> {
        Some(f64::from(self.gpus) / self.rate_rps.filter(|&rate| rate > 0.0)?)
    }

    /// USD for a request.
    pub fn usd_per_request(&self) -> Option<f64> {
        Some(self.gpu_s_per_request()? * self.usd_per_gpu_hour? / 3600.0)
    }

    /// What serves the load, where that is known: as many replicas as its capacity says, or one more where the goal does
    /// not hold with these.
    pub fn need(&self) -> Option<Need> {
        let replicas = f64::from(self.replicas.max(1));
        let of_one = self.rate_rps.filter(|&rate| rate > 0.0)? / replicas;
        let needed = f64::ceil(self.load_rps / of_one).max(1.0);
        if !needed.is_finite() {
            return None;
        }
        let needed = if self.is_fixed {
            replicas
        } else if self.failed() > 0 {
            needed + 1.0
        } else {
            needed
        };
        let gpus = needed * (f64::from(self.gpus) / replicas);
        let capacity = needed * of_one;
        let headroom = capacity / self.load_rps - 1.0;
        let cautious = |error: f64| needed.max(f64::ceil(self.load_rps * (1.0 + error) / of_one)) as u32;
        Some(Need {
            load_rps: self.load_rps,
            replicas: needed as u32,
            gpus: gpus as u32,
            usd_per_hour: self.usd_per_gpu_hour.map(|usd| usd * gpus),
            load_share: self.load_rps / capacity,
            headroom,
            is_tight: headroom < LEAST_HEADROOM,
            cautious_replicas: self.error.filter(|_| !self.is_fixed).map(cautious),
        })
    }

    /// With how many numbers of replicas the goal was seen to fail.
    fn failed(&self) -> usize {
        self.tried.iter().filter(|tried| tried.holds == Some(false)).count()
    }

    /// Why it is not ranked, whatever it costs.
    fn excluded(&self) -> Option<Unranked> {
        let Some(need) = self.need() else { return Some(Unranked::NoRate) };
        // One replica more is tried, of a fleet that may have one.
        let fails = if self.is_fixed { need.headroom < 0.0 || self.failed() > 0 } else { self.failed() > 1 };
        fails.then_some(Unranked::Fails)
    }

    /// Whether what serves the load was simulated, or cannot be.
    fn is_settled(&self) -> bool {
        self.tried.last().is_some_and(|tried| self.is_fixed || tried.holds != Some(false))
    }
}

/// What a request costs in each configuration: dollars where a price is known of any, else seconds of a GPU.
pub fn costs(entries: &[CapacityEntry]) -> (Vec<Option<f64>>, bool) {
    let is_priced = entries.iter().any(|e| e.usd_per_request().is_some());
    let cost = if is_priced { CapacityEntry::usd_per_request } else { CapacityEntry::gpu_s_per_request };
    (entries.iter().map(cost).collect(), is_priced)
}

/// What serving the load costs, and a request at capacity: dollars. Where no price is known and all have the same GPU,
/// numbers of GPUs stand for them, whatever one costs.
fn sort_key(entry: &CapacityEntry, in_gpus: bool) -> Option<(f64, f64)> {
    let need = entry.need().filter(|_| entry.excluded().is_none())?;
    if in_gpus {
        return Some((f64::from(need.gpus), entry.gpu_s_per_request()?));
    }
    Some((need.usd_per_hour?, entry.usd_per_request()?))
}

/// The order of configurations: workload by workload, in the order in which these come first, since what one workload takes is no better
/// than what another does. Within one, what serves the load for least comes first, and of equal ones that with the cheapest request;
/// below them, as they stand, those without a price, those that fail at the load, and those without a rate.
///
/// Those of the first [`CHECKED`] of a workload that were not simulated at the load are next, as long as at most [`MOST_TRIED`] of it were.
pub fn standings(entries: &[CapacityEntry]) -> Vec<CapacityStanding> {
    let mut workloads: Vec<(&[String], Vec<usize>)> = Vec::new();
    for (place, entry) in entries.iter().enumerate() {
        match workloads.iter_mut().find(|(workload, _)| *workload == entry.workload) {
            Some((_, places)) => places.push(place),
            None => workloads.push((&entry.workload, vec![place])),
        }
    }
    let of_workload = |(_, places): (&[String], Vec<usize>)| {
        let own: Vec<CapacityEntry> = places.iter().map(|&place| entries[place].clone()).collect();
        let standings = of_one_workload(&own);
        standings.into_iter().map(move |own| CapacityStanding { place: places[own.place], ..own })
    };
    workloads.into_iter().flat_map(of_workload).collect()
}

fn of_one_workload(entries: &[CapacityEntry]) -> Vec<CapacityStanding> {
    let (costs, is_priced) = costs(entries);
    let front_by = |time: fn(&CapacityEntry) -> Option<f64>| {
        let points = entries.iter().zip(&costs).map(|(entry, cost)| Some(((*cost)?, time(entry)?)));
        front(&points.collect::<Vec<_>>())
    };
    let (ttft, tbt) = (front_by(|e| e.ttft_s), front_by(|e| e.tbt_s));
    let needs: Vec<Option<Need>> = entries.iter().map(CapacityEntry::need).collect();
    let mut gpus = entries.iter().zip(&needs).filter(|(_, need)| need.is_some()).map(|(e, _)| &e.gpu);
    let first = gpus.next();
    let in_gpus = !is_priced && gpus.all(|gpu| Some(gpu) == first);
    let keys: Vec<Option<(f64, f64)>> = entries.iter().map(|e| sort_key(e, in_gpus)).collect();
    let below = |place: usize| match entries[place].excluded() {
        None => 0,
        Some(Unranked::Fails) => 1,
        Some(_) => 2,
    };
    let mut order: Vec<usize> = (0..entries.len()).collect();
    order.sort_by(|&a, &b| match (keys[a], keys[b]) {
        (Some(a), Some(b)) => a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)),
        (None, None) => below(a).cmp(&below(b)),
        (a, b) => a.is_none().cmp(&b.is_none()),
    });
    let tried = entries.iter().filter(|entry| !entry.tried.is_empty()).count();
    let standing = |(above, place): (usize, usize)| {
        let entry = &entries[place];
        let rank = keys[place].map(|_| above as u32 + 1);
        let is_first = rank.is_some_and(|rank| rank <= CHECKED);
        CapacityStanding {
            place,
            rank,
            unranked: rank.is_none().then(|| entry.excluded().unwrap_or(Unranked::NoPrice)),
            need: needs[place],
            is_next: is_first && !entry.is_settled() && (tried < MOST_TRIED || !entry.tried.is_empty()),
            requests_per_usd: entry.usd_per_request().filter(|&usd| usd > 0.0).map(|usd| 1.0 / usd),
            is_on_ttft_front: ttft[place],
            is_on_tbt_front: tbt[place],
        }
    };
    order.into_iter().enumerate().map(standing).collect()
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
    let entries: Vec<CapacityEntry> = ranking.iter().map(CapacityEntry::of).collect();
    let mut left: Vec<Option<Ranked>> = std::mem::take(ranking).into_iter().map(Some).collect();
    ranking.extend(standings(&entries).into_iter().filter_map(|standing| {
        let ranked = left[standing.place].take()?;
        let place = ranked.standing.place;
        Some(Ranked { standing: CapacityStanding { place, ..standing }, ..ranked })
    }));
}

impl Ranked {
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

/// Which points no other beats: none costs as little and takes a shorter time, or less and takes as short a one.
fn front(points: &[Option<(f64, f64)>]) -> Vec<bool> {
    let beats = |a: (f64, f64), b: (f64, f64)| a.0 <= b.0 && a.1 <= b.1 && a != b;
    let is_on = |p: &Option<(f64, f64)>| p.is_some_and(|p| !points.iter().flatten().any(|&o| beats(o, p)));
    points.iter().map(is_on).collect()
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
const OF_LOAD: [&str; 17] = [
    "rank",
    "load_rps",
    "load_replicas",
    "expected_error",
    "cautious_replicas",
    "load_gpus",
    "load_usd_per_hour",
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

    #[test]
    fn the_front_is_what_nothing_beats() {
        let points = [(3.0, 1.0), (2.0, 2.0), (2.5, 2.0), (2.0, 2.0), (1.0, 9.0)].map(Some);
        assert_eq!(front(&points), [true, true, false, true, true]);
        assert_eq!(front(&[None, Some((1.0, 1.0))]), [false, true]);
    }

    #[test]
    fn a_fixed_fleet_is_taken_as_it_is() {
        let of = |rate_rps: f64, tried: Vec<Tried>| {
            let entry = CapacityEntry { is_fixed: true, tried, ..entry("a", rate_rps, Some(1.0)) };
            let [standing] = standings(&[entry])[..] else { panic!("one of one") };
            let need = standing.need.unwrap();
            assert_eq!((need.replicas, need.gpus, need.usd_per_hour), (2, 4, Some(4.0)));
            (standing.rank, standing.unranked, standing.is_next, need.headroom)
        };
        let seen = |holds: bool| vec![Tried { replicas: 2, holds: Some(holds) }];
        assert_eq!(of(40.0, Vec::new()), (Some(1), None, true, 3.0));
        assert_eq!(of(40.0, seen(true)), (Some(1), None, false, 3.0));
        assert_eq!(of(40.0, seen(false)), (None, Some(Unranked::Fails), false, 3.0));
        assert_eq!(of(5.0, Vec::new()), (None, Some(Unranked::Fails), false, -0.5));
    }

    fn entry(gpu: &str, rate_rps: f64, usd: Option<f64>) -> CapacityEntry {
        CapacityEntry {
            workload: Vec::new(),
            rate_rps: Some(rate_rps),
            load_rps: 10.0,
            gpus: 4,
            replicas: 2,
            is_fixed: false,
            gpu: gpu.to_owned(),
            usd_per_gpu_hour: usd,
            error: None,
            ttft_s: Some(1.0),
            tbt_s: Some(0.1),
            tried: Vec::new(),
        }
    }

    #[test]
    fn only_what_has_a_price_is_ranked_and_by_what_the_load_costs() {
        // Of one replica: 6, 4 and 3 requests a second, so 2, 3 and 4 replicas of two GPUs each.
        let none = CapacityEntry { rate_rps: None, ..entry("d", 1.0, Some(1.0)) };
        let entries = [
            none,
            entry("u", 100.0, None),
            entry("a", 12.0, Some(3.0)),
            entry("b", 8.0, Some(1.0)),
            entry("c", 6.0, Some(1.0)),
        ];
        let standings = standings(&entries);
        let places: Vec<usize> = standings.iter().map(|s| s.place).collect();
        assert_eq!(places, [3, 4, 2, 1, 0]);
        let ranks: Vec<Option<u32>> = standings.iter().map(|s| s.rank).collect();
        assert_eq!(ranks, [Some(1), Some(2), Some(3), None, None]);
        assert_eq!(standings[3].unranked, Some(Unranked::NoPrice));
        assert_eq!(standings[4].unranked, Some(Unranked::NoRate));
        let need = standings[0].need.unwrap();
        assert_eq!((need.replicas, need.gpus, need.usd_per_hour), (3, 6, Some(6.0)));
        assert!((need.load_share - 10.0 / 12.0).abs() < 1e-12);
        assert_eq!(standings[3].need.unwrap().usd_per_hour, None);
    }

    #[test]
    fn what_fails_at_the_load_gets_a_replica_more_and_then_loses_its_rank() {
        // Of one replica 4 and 3 requests a second: 3 and 4 replicas for 10.
        let mut entries = [entry("a", 8.0, Some(1.0)), entry("a", 6.0, Some(1.0))];
        let seen = |entries: &[CapacityEntry]| {
            let all = standings(entries);
            let of = |s: &CapacityStanding| (s.place, s.rank, s.need.map(|need| need.replicas), s.is_next);
            all.iter().map(of).collect::<Vec<_>>()
        };
        assert_eq!(seen(&entries), [(0, Some(1), Some(3), true), (1, Some(2), Some(4), true)]);
        entries[0].tried.push(Tried { replicas: 3, holds: Some(false) });
        entries[1].tried.push(Tried { replicas: 4, holds: Some(true) });
        // Four replicas of either cost the same; the cheaper request is first.
        assert_eq!(seen(&entries), [(0, Some(1), Some(4), true), (1, Some(2), Some(4), false)]);
        let need = standings(&entries)[0].need.unwrap();
        assert_eq!((need.usd_per_hour, need.headroom), (Some(8.0), 16.0 / 10.0 - 1.0));
        entries[0].tried.push(Tried { replicas: 4, holds: Some(false) });
        assert_eq!(seen(&entries), [(1, Some(1), Some(4), false), (0, None, Some(4), false)]);
        assert_eq!(standings(&entries)[1].unranked, Some(Unranked::Fails));
        // What cannot be simulated keeps its rank and is not tried again.
        entries[0].tried = vec![Tried { replicas: 3, holds: None }];
        assert_eq!(seen(&entries)[0], (0, Some(1), Some(3), false));
    }

    /// The easy workload does not fill the first ranks of a hard one.
    #[test]
    fn each_workload_has_its_own_ranks_and_fronts() {
        let of = |workload: &str, rate_rps: f64| CapacityEntry {
            workload: vec![workload.to_owned()],
            ..entry("a", rate_rps, Some(1.0))
        };
        let all = standings(&[of("511", 8.0), of("4000", 2.0), of("511", 12.0), of("4000", 4.0)]);
        let seen: Vec<_> = all.iter().map(|s| (s.place, s.rank, s.is_next, s.is_on_ttft_front)).collect();
        assert_eq!(
            seen,
            [
                (2, Some(1), true, true),
                (0, Some(2), true, false),
                (3, Some(1), true, true),
                (1, Some(2), true, false),
            ]
        );
    }

    #[test]
    fn the_error_of_the_times_asks_for_replicas_and_a_small_headroom_is_marked() {
        // 4 requests a second of one replica: 3 replicas for 10, with a headroom of a fifth; 4 where times are off by 41 %.
        let need = |error: Option<f64>, load_rps: f64| {
            CapacityEntry { load_rps, error, ..entry("a", 8.0, Some(1.0)) }.need().unwrap()
        };
        assert_eq!(need(None, 10.0).cautious_replicas, None);
        assert_eq!(need(Some(0.1), 10.0).cautious_replicas, Some(3));
        assert_eq!(need(Some(0.41), 10.0).cautious_replicas, Some(4));
        assert!(!need(None, 10.0).is_tight && need(None, 11.0).is_tight);
        // What failed at the load has one replica more already.
        let failed = Tried { replicas: 3, holds: Some(false) };
        let entry = CapacityEntry { error: Some(0.1), tried: vec![failed], ..entry("a", 8.0, Some(1.0)) };
        let need = entry.need().unwrap();
        assert_eq!((need.replicas, need.cautious_replicas), (4, Some(4)));
    }

    #[test]
    fn without_any_price_only_equal_gpus_are_ranked() {
        let ranks = |other: &str| {
            let all = standings(&[entry("a", 8.0, None), entry(other, 12.0, None)]);
            all.iter().map(|s| (s.place, s.rank)).collect::<Vec<_>>()
        };
        assert_eq!(ranks("a"), [(1, Some(1)), (0, Some(2))]);
        assert_eq!(ranks("b"), [(0, None), (1, None)]);
    }
}
