//! One run at one rate, held against the goal.

use serde::Serialize;
use servescope_engine::metrics::CutOutputs;
use servescope_engine::{Outcome, Rejection, Report};
use servescope_settings::parameters::Id;
use servescope_settings::parameters::choices::SessionKind;

use super::goal::{Goal, METRICS};
use super::lateness::Lateness;
use super::limits::most_running;
use crate::run::Run;
use crate::run::growth::{Growth, GrowthVerdict};

/// What a run showed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "CapacityMeasures"))]
pub struct Measures {
    /// Requests offered.
    pub requests: u64,
    /// The goal's quantile of each of [`METRICS`], seconds, over all requests offered: one that was rejected, timed out or
    /// never served counts as infinitely late. Missing where it is infinite or there is no sample.
    pub quantile_s: [Option<f64>; METRICS.len()],
    /// Completed requests over the makespan.
    pub throughput_rps: f64,
    /// Tokens produced over the makespan.
    pub output_tokens_per_s: f64,
    /// Tokens of a completed request on average, its prompt and its output; missing where none was completed.
    pub tokens_per_request: Option<f64>,
    /// Outputs that are shorter than asked for.
    pub cut_outputs: CutOutputs,
    /// By how much the number in the system grew once the first requests had left, as a share of the arrivals since.
    pub growth: f64,
    /// Growth up to this share is none, or may be chance.
    pub growth_noise: f64,
}

/// Why a rate does not meet the goal.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "CapacityMiss"))]
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
    /// More than the quantile leaves over was rejected, timed out or never served.
    Unserved {
        /// How many.
        requests: u64,
        /// Of how many.
        offered: u64,
    },
    /// More than the quantile leaves over is longer than the service takes: no rate meets the goal.
    TooLong {
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
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "CapacityProbe"))]
pub struct Probe {
    /// The rate that the run had: requests that arrived over the time in which they did.
    pub rate_rps: f64,
    /// The rate that was asked for.
    pub asked_rps: f64,
    /// How long the traffic was asked to go on, seconds.
    pub duration_s: f64,
    /// What it showed.
    pub measures: Measures,
    /// Why it fails; `None` when it passes.
    pub miss: Option<Miss>,
    /// Most requests of one replica that ran at once.
    #[serde(skip)]
    pub(super) most_running: u32,
    #[serde(skip)]
    pub(super) late: Lateness,
    #[serde(skip)]
    pub(super) queue_growth: Growth,
    /// The share of the run that goes by before the load is what it stays.
    #[serde(skip)]
    pub(super) warm_up: f64,
}

impl Probe {
    /// Holds a finished run against the goal.
    pub fn of(asked_rps: f64, run: &Run, goal: &Goal) -> Self {
        let report = &run.report;
        let ProbeWindow { window_us, rate_rps, warm_up } = ProbeWindow::of(run);
        let is_inside = |us: f64| us >= window_us[0] && us <= window_us[1];
        let arrival = &report.trace.arrival_us;
        // Requests whose clients left by themselves are not the service's fault, and not its merit either.
        let counted: Vec<usize> = (0..report.results.len())
            .filter(|&id| report.results[id].outcome != Outcome::Cancelled && is_inside(arrival[id]))
            .collect();
        let late = |us: Option<f64>, id: usize| match report.results[id].outcome {
            Outcome::Completed => us.unwrap_or(f64::INFINITY),
            _ => f64::INFINITY,
        };
        let quantile = |q: f64, time_us: &dyn Fn(usize) -> Option<f64>| {
            let mut values: Vec<f64> = counted.iter().map(|&id| late(time_us(id), id)).collect();
            (!values.is_empty()).then(|| upper_quantile(&mut values, q) / 1e6)
        };
        let waited = |id: usize| report.scheduled_us(id).map(|at| at - arrival[id]);
        let [ttft, tbt, e2e, queue, tpot] = goal.quantiles;
        let quantile_s = [
            quantile(ttft, &|id| report.ttft_us(id)),
            run.token_gaps().quantile_us(&report.timeline, tbt).map(|us| us / 1e6),
            quantile(e2e, &|id| report.e2e_us(id)),
            quantile(queue, &waited),
            // A single token has no time between tokens, so that it breaks no bound on it.
            quantile(tpot, &|id| Some(report.tpot_us(id).unwrap_or(0.0))),
        ];
        let growth = Growth::of_report(report, window_us);
        let end_s = report.results.iter().filter_map(|result| result.finish_us).fold(0.0, f64::max) / 1e6;
        let completed: Vec<usize> = (0..report.results.len())
            .filter(|&id| report.results[id].outcome == Outcome::Completed)
            .collect();
        let tokens_of =
            |id: usize| u64::from(report.trace.input_tokens[id]) + u64::from(report.results[id].produced);
        let tokens: u64 = completed.iter().map(|&id| tokens_of(id)).sum();
        let produced: u64 = report.results.iter().map(|result| u64::from(result.produced)).sum();
        let per_s = |amount: f64| if end_s > 0.0 { amount / end_s } else { 0.0 };
        let measures = Measures {
            requests: report.results.len() as u64,
            quantile_s: quantile_s.map(|value| value.filter(|s| s.is_finite())),
            throughput_rps: per_s(completed.len() as f64),
            output_tokens_per_s: per_s(produced as f64),
            tokens_per_request: (!completed.is_empty()).then(|| tokens as f64 / completed.len() as f64),
            cut_outputs: CutOutputs::of(report),
            growth: growth.share,
            growth_noise: growth.noise(),
        };
        let miss = unserved(report, &counted, goal)
            .or_else(|| bound(quantile_s, goal))
            .or_else(|| grows(growth, goal).then_some(Miss::Growing { growth: growth.share }));
        let late = Lateness::of(report, goal, window_us);
        let duration_s = run.scenario.number(Id::Duration);
        // Sessions fill a run with turns, and long requests fill it with themselves.
        let mut stays: Vec<f64> = counted.iter().filter_map(|&id| report.e2e_us(id)).collect();
        let stay = if stays.is_empty() { 0.0 } else { upper_quantile(&mut stays, WARM) };
        let warm_up = warm_up.max(stay / (window_us[1] - window_us[0]).max(1.0));
        let most_running = most_running(report);
        Self {
            rate_rps,
            asked_rps,
            duration_s,
            measures,
            miss,
            most_running,
            late,
            queue_growth: growth,
            warm_up,
        }
    }
}

/// More than may be were not served: whether because they are too long for any rate, or at this rate.
fn unserved(report: &Report, counted: &[usize], goal: &Goal) -> Option<Miss> {
    let count = |is: &dyn Fn(Outcome) -> bool| {
        counted.iter().filter(|&&id| is(report.results[id].outcome)).count() as u64
    };
    let offered = counted.len() as u64;
    let is_over = |requests: u64| requests as f64 > (1.0 - goal.served()) * offered as f64;
    let too_long = count(&|outcome| matches!(outcome, Outcome::Rejected(reason) if is_of_length(reason)));
    if is_over(too_long) {
        return Some(Miss::TooLong { requests: too_long, offered });
    }
    let requests = count(&|outcome| outcome != Outcome::Completed);
    is_over(requests).then_some(Miss::Unserved { requests, offered })
}

/// Whether a request is rejected for its length alone, at any rate.
fn is_of_length(reason: Rejection) -> bool {
    use Rejection::{InputTooLong, NeverFits, PoolTooSmall, PromptOverBatch, RequestTooLong};
    matches!(reason, InputTooLong | RequestTooLong | PoolTooSmall | NeverFits | PromptOverBatch)
}

fn bound(quantile_s: [Option<f64>; METRICS.len()], goal: &Goal) -> Option<Miss> {
    let is_over = |place: &usize| quantile_s[*place].is_some_and(|s| s > goal.limits_s[*place]);
    (0..METRICS.len()).find(is_over).map(|place| Miss::Bound {
        metric: METRICS[place],
        value_s: quantile_s[place].filter(|s| s.is_finite()),
        limit_s: goal.limits_s[place],
    })
}

/// A run too short to decide is not called growing; bounds decide there, or a longer run.
fn grows(growth: Growth, goal: &Goal) -> bool {
    growth.verdict() == GrowthVerdict::Growing && growth.share > goal.tolerance / 4.0
}

/// When this share of the turns of a session, or of the time that requests stay, is over, the load is what it stays.
const WARM: f64 = 0.98;

/// The part of a run that is judged.
struct ProbeWindow {
    window_us: [f64; 2],
    /// Requests that arrive in it over its duration.
    rate_rps: f64,
    /// The share of the run that goes by before the rate is what it stays.
    warm_up: f64,
}

impl ProbeWindow {
    fn of(run: &Run) -> Self {
        let arrival = &run.report.trace.arrival_us;
        let first = arrival.iter().copied().fold(f64::INFINITY, f64::min);
        let last = arrival.iter().copied().fold(0.0, f64::max);
        let scenario = &run.scenario;
        let until = 1e6 * scenario.number(Id::Duration);
        let metadata = run.report.trace.metadata.as_deref().filter(|metadata| !metadata.session.is_empty());
        if !run.generated || scenario.chosen(SessionKind::ID) == SessionKind::None {
            // Generated traffic begins at 0, one gap before its first request; a file begins with its first.
            let from = if run.generated { 0.0 } else { first };
            let per_us = arrival.len() as f64 / (last - from).max(1.0);
            return Self { window_us: [first, last], rate_rps: 1e6 * per_us, warm_up: 0.0 };
        }
        // Sessions begin until the duration is over. At first they have fewer turns than later, and after it turns only.
        let mut warm = 0.0;
        if let Some(metadata) = metadata {
            let mut begins: Vec<f64> = Vec::new();
            for (&session, &at) in metadata.session.index.iter().zip(arrival) {
                let session = session as usize;
                if session >= begins.len() {
                    begins.resize(session + 1, f64::INFINITY);
                }
                begins[session] = begins[session].min(at);
            }
            let turns = metadata.session.index.iter().zip(arrival);
            let mut later: Vec<f64> = turns
                .map(|(&session, &at)| (begins[session as usize], at))
                .filter(|(begin, _)| *begin <= 0.5 * until)
                .map(|(begin, at)| at - begin)
                .collect();
            if !later.is_empty() {
                warm = upper_quantile(&mut later, WARM);
            }
        }
        let from = warm.min(0.5 * until);
        let inside = arrival.iter().filter(|&&at| at >= from && at <= until).count() as f64;
        Self { window_us: [from, until], rate_rps: 1e6 * inside / (until - from), warm_up: warm / until }
    }
}

/// The least value that at least the share `q` does not exceed: nothing is interpolated toward infinity.
fn upper_quantile(values: &mut [f64], q: f64) -> f64 {
    let place = (f64::ceil(q * values.len() as f64 - 1e-9) as usize).clamp(1, values.len()) - 1;
    *values.select_nth_unstable_by(place, f64::total_cmp).1
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
