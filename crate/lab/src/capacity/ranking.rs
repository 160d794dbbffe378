//! Configurations beside each other: what they cost, and which of them no other beats.

use std::fmt::Write as _;

use serde::Serialize;

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

/// A configuration in the ranking.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ranked {
    /// Its place in the grid.
    pub place: usize,
    /// The value of each axis; empty where the parameter has no effect.
    pub values: Vec<String>,
    /// What was found; none where it cannot be run.
    pub capacity: Option<Capacity>,
    /// Why it cannot be run.
    pub failures: Vec<Failure>,
    /// Requests for a dollar, at the rate found.
    pub requests_per_usd: Option<f64>,
    /// Whether no other has a shorter TTFT at the same or a lower cost of a request.
    pub is_on_ttft_front: bool,
    /// Whether no other has shorter TBT at the same or a lower cost of a request.
    pub is_on_tbt_front: bool,
}

/// Puts configurations in order: the most requests for a dollar first, where prices are not known the highest rate for a
/// GPU; those without a rate last, in the order of the grid.
pub fn rank(found: Vec<Found>) -> Vec<Ranked> {
    let mut all: Vec<Ranked> = found
        .into_iter()
        .map(|Found { place, values, result }| {
            let (capacity, failures) = match result {
                Ok(capacity) => (Some(capacity), Vec::new()),
                Err(failures) => (None, failures),
            };
            let requests_per_usd = capacity
                .as_ref()
                .and_then(|c| Some(c.rate_rps? * 3600.0 / c.price.usd_per_hour().filter(|&usd| usd > 0.0)?));
            Ranked {
                place,
                values,
                capacity,
                failures,
                requests_per_usd,
                is_on_ttft_front: false,
                is_on_tbt_front: false,
            }
        })
        .collect();
    let all_priced = all.iter().all(|r| r.rate().is_none() || r.requests_per_usd.is_some());
    let worth = |r: &Ranked| if all_priced { r.requests_per_usd } else { r.rate_per_gpu() };
    let [ttft, tbt] = [0, 1].map(|metric| {
        let points = all.iter().map(|r| Some((worth(r)?, r.time_s(metric)?)));
        front(&points.collect::<Vec<_>>())
    });
    for (place, ranked) in all.iter_mut().enumerate() {
        (ranked.is_on_ttft_front, ranked.is_on_tbt_front) = (ttft[place], tbt[place]);
    }
    all.sort_by(|a, b| {
        let key = |r: &Ranked| worth(r).unwrap_or(f64::NEG_INFINITY);
        key(b).total_cmp(&key(a)).then(a.place.cmp(&b.place))
    });
    all
}

impl Ranked {
    fn rate(&self) -> Option<f64> {
        self.capacity.as_ref()?.rate_rps
    }

    fn rate_per_gpu(&self) -> Option<f64> {
        let capacity = self.capacity.as_ref()?;
        Some(capacity.rate_rps? / f64::from(capacity.price.gpus))
    }

    fn time_s(&self, metric: usize) -> Option<f64> {
        self.capacity.as_ref()?.measures?.quantile_s[metric]
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
                write!(f, "{metric} {value_s:.3} above {limit_s}")
            }
            Self::Bound { metric, value_s: None, limit_s } => write!(f, "{metric} above {limit_s}"),
            Self::Unserved { requests, offered } => write!(f, "{requests} of {offered} not served"),
            Self::Growing { growth } => write!(f, "the queue grows by {:.1} % of arrivals", 100.0 * growth),
        }
    }
}

/// Which points no other beats: none has as much worth (more is better) and a shorter time, or more and as short a one.
fn front(points: &[Option<(f64, f64)>]) -> Vec<bool> {
    let beats = |a: (f64, f64), b: (f64, f64)| a.0 >= b.0 && a.1 <= b.1 && a != b;
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
    let cell = |text: &str| {
        if text.contains([',', '"', '\n']) {
            format!("\"{}\"", text.replace('"', "\"\""))
        } else {
            text.to_owned()
        }
    };
    for ranked in ranking {
        let capacity = ranked.capacity.as_ref();
        let measures = capacity.and_then(|c| c.measures);
        let mut cells: Vec<String> = ranked.values.iter().map(|value| cell(value)).collect();
        cells.push(number(ranked.rate()));
        cells.push(number(capacity.and_then(|c| c.missed_rps)));
        cells.push(capacity.map_or_else(String::new, |c| c.price.gpus.to_string()));
        cells.push(number(capacity.and_then(|c| c.price.usd_per_hour())));
        cells.push(number(ranked.requests_per_usd));
        let times = measures.map_or([None; METRICS.len()], |m| m.quantile_s);
        cells.extend(times.map(number));
        cells.push(number(measures.map(|m| m.output_tokens_per_s)));
        cells.extend([ranked.is_on_ttft_front, ranked.is_on_tbt_front].map(|is| is.to_string()));
        cells.push(cell(&ranked.reason()));
        let _ = writeln!(text, "{}", cells.join(","));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_front_is_what_nothing_beats() {
        let points =
            [Some((1.0, 1.0)), Some((2.0, 2.0)), Some((1.5, 2.0)), None, Some((2.0, 2.0)), Some((3.0, 9.0))];
        assert_eq!(front(&points), [true, true, false, false, true, true]);
    }
}
