//! Configurations beside each other: what they cost, and which of them no other beats.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use servescope_workload::formats::push_cell;
use servescope_workload::statistics::sort_places;

use super::goal::METRICS;
use super::grid::Grid;
use super::probe::Miss;
use super::search::Capacity;
use crate::failure::Failure;

/// What became of one configuration of a grid.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// Its place in the grid.
    pub place: usize,
    /// The value of each axis.
    pub values: Vec<String>,
    /// The capacity, or why it cannot be run.
    pub result: Result<Capacity, Vec<Failure>>,
}

/// What the order of a configuration depends on.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The rate found.
    pub rate_rps: Option<f64>,
    /// GPUs.
    pub gpus: u32,
    /// What one of them costs.
    pub usd_per_gpu_hour: Option<f64>,
    /// The goal's quantile of TTFT at that rate, seconds.
    pub ttft_s: Option<f64>,
    /// The same of TBT.
    pub tbt_s: Option<f64>,
}

/// How a configuration stands among the others.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Standing {
    /// Its place in the list.
    pub place: usize,
    /// Requests for a dollar, at the rate found.
    pub requests_per_usd: Option<f64>,
    /// Whether no other has a shorter TTFT at the same or a lower cost of a request.
    pub is_on_ttft_front: bool,
    /// Whether no other has shorter TBT at the same or a lower cost of a request.
    pub is_on_tbt_front: bool,
}

impl Entry {
    fn of(found: &Found) -> Self {
        let Ok(capacity) = &found.result else {
            return Self { rate_rps: None, gpus: 0, usd_per_gpu_hour: None, ttft_s: None, tbt_s: None };
        };
        let times = capacity.measures.map_or([None; METRICS.len()], |m| m.quantile_s);
        Self {
            rate_rps: capacity.rate_rps,
            gpus: capacity.price.gpus,
            usd_per_gpu_hour: capacity.price.usd_per_gpu_hour,
            ttft_s: times[0],
            tbt_s: times[1],
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
}

/// What a request costs in each configuration: dollars where every price is known, else seconds of a GPU.
pub fn costs(entries: &[Entry]) -> (Vec<Option<f64>>, bool) {
    let is_priced = entries.iter().all(|e| e.rate_rps.is_none() || e.usd_per_gpu_hour.is_some());
    let cost = if is_priced { Entry::usd_per_request } else { Entry::gpu_s_per_request };
    (entries.iter().map(cost).collect(), is_priced)
}

/// The order of configurations: the cheapest request first, those without a rate last; equal ones as they stand.
pub fn standings(entries: &[Entry]) -> Vec<Standing> {
    let (costs, _) = costs(entries);
    let front_by = |time: fn(&Entry) -> Option<f64>| {
        let points = entries.iter().zip(&costs).map(|(entry, cost)| Some(((*cost)?, time(entry)?)));
        front(&points.collect::<Vec<_>>())
    };
    let (ttft, tbt) = (front_by(|e| e.ttft_s), front_by(|e| e.tbt_s));
    let keys: Vec<f64> = costs.iter().map(|cost| cost.unwrap_or(f64::INFINITY)).collect();
    sort_places(&keys)
        .into_iter()
        .map(|place| {
            let place = place as usize;
            Standing {
                place,
                requests_per_usd: entries[place]
                    .usd_per_request()
                    .filter(|&usd| usd > 0.0)
                    .map(|usd| 1.0 / usd),
                is_on_ttft_front: ttft[place],
                is_on_tbt_front: tbt[place],
            }
        })
        .collect()
}

/// A configuration in the ranking.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ranked {
    /// How it stands; its place is that in the grid.
    #[serde(flatten)]
    pub standing: Standing,
    /// The value of each axis; empty where the parameter has no effect.
    pub values: Vec<String>,
    /// What was found; none where it cannot be run.
    pub capacity: Option<Capacity>,
    /// Why it cannot be run.
    pub failures: Vec<Failure>,
}

/// Puts configurations, given in the order of the grid, in the order of [`standings`].
pub fn rank(found: Vec<Found>) -> Vec<Ranked> {
    let entries: Vec<Entry> = found.iter().map(Entry::of).collect();
    let mut found: Vec<Option<Found>> = found.into_iter().map(Some).collect();
    let ranked = standings(&entries).into_iter().filter_map(|standing| {
        let Found { values, result, .. } = found[standing.place].take()?;
        let (capacity, failures) = match result {
            Ok(capacity) => (Some(capacity), Vec::new()),
            Err(failures) => (None, failures),
        };
        Some(Ranked { standing, values, capacity, failures })
    });
    ranked.collect()
}

impl Ranked {
    /// The reason and the notes, in English.
    pub fn told(&self) -> String {
        let notes = self.capacity.iter().flat_map(|capacity| &capacity.notes);
        let told = std::iter::once(self.reason()).chain(notes.map(|note| note.message.clone()));
        told.collect::<Vec<_>>().join("; ")
    }

    /// Why no more can be asked of it, in English.
    pub fn reason(&self) -> String {
        if !self.failures.is_empty() {
            let messages: Vec<&str> = self.failures.iter().map(|f| f.message.as_str()).collect();
            return messages.join("; ");
        }
        match self.capacity.as_ref().and_then(|c| c.miss) {
            None => "the highest rate that can be asked for passes".to_owned(),
            Some(miss) => miss.to_string(),
        }
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

/// A value above a bound, with as many digits as tell them apart, three at least.
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

/// The ranking as CSV: a row for each configuration.
pub fn csv(grid: &Grid, ranking: &[Ranked]) -> String {
    let mut text = String::new();
    let axes: Vec<&str> = grid.axes.iter().map(|axis| axis.id.row().id).collect();
    let _ = writeln!(
        text,
        "{}{}rate_rps,missed_rps,gpus,usd_per_hour,requests_per_usd,{},output_tokens_per_s,ttft_front,tbt_front,reason",
        axes.join(","),
        if axes.is_empty() { "" } else { "," },
        METRICS.join(",")
    );
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
        let _ = write!(text, "{},", cells.join(","));
        push_cell(&mut text, Some(&ranked.told()));
        text.push('\n');
    }
    text
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
}
