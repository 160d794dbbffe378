//! One run at one rate, held against the goal.

use serde::Serialize;
use servescope_engine::report::{Outcome, Report};
use servescope_workload::statistics::Dispersion;

use super::goal::{Goal, METRICS};
use crate::run::Run;

/// What a run showed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Measures {
    /// Requests offered.
    pub requests: u64,
    /// The goal's quantile of each of [`METRICS`], seconds, over everything that was offered: who was refused, timed out or
    /// was never served counts as infinitely late. Missing where it is infinite or there is no sample.
    pub quantile_s: [Option<f64>; METRICS.len()],
    /// Completed requests over the makespan.
    pub throughput_rps: f64,
    /// Tokens produced over the makespan.
    pub output_tokens_per_s: f64,
    /// By how much the number in the system grew over the second half of the arrivals, as a share of those.
    pub growth: f64,
    /// Growth up to this share may be chance.
    pub growth_noise: f64,
}

/// Why a rate does not meet the goal.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Miss {
    /// The quantile of a time is above its bound.
    Bound {
        /// One of [`METRICS`].
        metric: &'static str,
        /// The quantile, seconds; missing where it is infinite.
        value_s: Option<f64>,
        /// The bound, seconds.
        limit_s: f64,
    },
    /// More than the quantile leaves over was refused, timed out or never served.
    Unserved {
        /// How many.
        requests: u64,
        /// Of how many.
        offered: u64,
    },
    /// The number of requests in the system grows.
    Growing {
        /// As a share of the arrivals.
        growth: f64,
    },
}

/// A run of the search.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Probe {
    /// The rate.
    pub rate_rps: f64,
    /// What it showed.
    pub measures: Measures,
    /// Why it fails; `None` when it passes.
    pub miss: Option<Miss>,
}

impl Probe {
    /// Holds a finished run against the goal.
    pub fn of(rate_rps: f64, run: &Run, goal: &Goal) -> Self {
        let report = &run.report;
        // Who left by own will is not the service's fault, and not its merit either.
        let counted = || (0..report.fates.len()).filter(|&id| report.fates[id].outcome != Outcome::Cancelled);
        let late = |us: Option<f64>, id: usize| match report.fates[id].outcome {
            Outcome::Completed => us.unwrap_or(f64::INFINITY),
            _ => f64::INFINITY,
        };
        let quantile = |q: f64, time_us: &dyn Fn(usize) -> Option<f64>| {
            let mut values: Vec<f64> = counted().map(|id| late(time_us(id), id)).collect();
            (!values.is_empty()).then(|| upper_quantile(&mut values, q) / 1e6)
        };
        let arrival = &report.trace.arrival_us;
        let waited = |id: usize| report.scheduled_us(id).map(|at| at - arrival[id]);
        let [ttft, tbt, e2e, queue] = goal.quantiles;
        let quantile_s = [
            quantile(ttft, &|id| report.ttft_us(id)),
            run.token_gaps().quantile_us(&report.timeline, tbt).map(|us| us / 1e6),
            quantile(e2e, &|id| report.e2e_us(id)),
            quantile(queue, &waited),
        ];
        let unserved = counted().filter(|&id| report.fates[id].outcome != Outcome::Completed).count() as u64;
        let offered = counted().count() as u64;
        let [growth, growth_noise] = growth(report);
        let end_s = report.fates.iter().filter_map(|fate| fate.finish_us).fold(0.0, f64::max) / 1e6;
        let completed = report.fates.iter().filter(|fate| fate.outcome == Outcome::Completed).count();
        let produced: u64 = report.fates.iter().map(|fate| u64::from(fate.produced)).sum();
        let per_s = |amount: f64| if end_s > 0.0 { amount / end_s } else { 0.0 };
        let measures = Measures {
            requests: report.fates.len() as u64,
            quantile_s: quantile_s.map(|value| value.filter(|s| s.is_finite())),
            throughput_rps: per_s(completed as f64),
            output_tokens_per_s: per_s(produced as f64),
            growth,
            growth_noise,
        };
        let is_unserved = unserved as f64 > (1.0 - goal.served()) * offered as f64;
        let miss = if is_unserved {
            Some(Miss::Unserved { requests: unserved, offered })
        } else if let Some(place) =
            (0..METRICS.len()).find(|&place| quantile_s[place].is_some_and(|s| s > goal.limits_s[place]))
        {
            let (metric, value_s) = (METRICS[place], measures.quantile_s[place]);
            Some(Miss::Bound { metric, value_s, limit_s: goal.limits_s[place] })
        } else if growth > growth_noise.max(goal.tolerance / 4.0) {
            Some(Miss::Growing { growth })
        } else {
            None
        };
        Self { rate_rps, measures, miss }
    }
}

/// The least value that at least the share `q` does not exceed: nothing is interpolated toward infinity.
fn upper_quantile(values: &mut [f64], q: f64) -> f64 {
    let place = (f64::ceil(q * values.len() as f64 - 1e-9) as usize).clamp(1, values.len()) - 1;
    *values.select_nth_unstable_by(place, f64::total_cmp).1
}

/// Standard deviations of the count of arrivals that growth must exceed.
const SURE: f64 = 2.0;

/// Growth of the number in the system over the second half of the arrivals, and how much of that may be chance, both as
/// shares of the arrivals in that half.
fn growth(report: &Report) -> [f64; 2] {
    let arrival = &report.trace.arrival_us;
    let (Some(&first), Some(&last)) = (arrival.first(), arrival.last()) else { return [0.0; 2] };
    let middle = first + 0.5 * (last - first);
    let come = arrival.iter().filter(|&&at| at > middle).count() as f64;
    if come == 0.0 {
        return [0.0; 2];
    }
    let gone = (0..report.fates.len()).filter(|&id| {
        // Who was refused or went away has no finish, and left as it came.
        let fate = &report.fates[id];
        let left = fate.finish_us.or((fate.outcome != Outcome::Unfinished).then_some(arrival[id]));
        left.is_some_and(|at| at > middle && at <= last)
    });
    let grown = come - gone.count() as f64;
    // Windows of a twentieth are long against bursts, and still many enough to tell a variance from.
    let arrival_s: Vec<f64> = arrival.iter().map(|us| us / 1e6).collect();
    let dispersion = Dispersion::of(&arrival_s, &[(last - first) / 20e6]).index[0];
    let dispersion = if dispersion.is_finite() { dispersion } else { 1.0 };
    let noise = SURE * f64::sqrt(dispersion * come);
    [grown / come, noise / come]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_reached_by_its_share() {
        let mut values: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!(upper_quantile(&mut values, 0.99), 99.0);
        assert_eq!(upper_quantile(&mut values, 0.5), 50.0);
        assert_eq!(upper_quantile(&mut [1.0, 2.0, f64::INFINITY], 0.99), f64::INFINITY);
        assert_eq!(upper_quantile(&mut [7.0], 0.5), 7.0);
    }
}
