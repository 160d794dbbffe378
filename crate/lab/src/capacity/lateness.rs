//! How many were late, over the time of a run, and how well the rate is known at which too many are.

use servescope_engine::metrics::token_gaps::InterTokenLatencies;
use servescope_engine::{Outcome, Report};

use super::goal::{Goal, METRICS};

/// Parts of a run that are counted on their own.
pub(super) const PARTS: usize = 20;

/// The times of [`METRICS`], and being served at all.
const KINDS: usize = METRICS.len() + 1;

/// The place of the gaps between tokens in [`METRICS`].
pub(super) const GAPS: usize = 1;

/// Late ones and all, of each kind in each part of the run; all 0 where nothing is bounded.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Lateness {
    counts: [[[u64; 2]; PARTS]; KINDS],
    /// The share of each kind that may be late.
    allowed: [f64; KINDS],
}

impl Lateness {
    /// Counts the requests that arrive in a window of time, but for those whose clients left by themselves.
    pub(super) fn of(report: &Report, goal: &Goal, window_us: [f64; 2]) -> Self {
        let mut counts = [[[0; 2]; PARTS]; KINDS];
        let [from_us, until_us] = window_us;
        let part_us = ((until_us - from_us) / PARTS as f64).max(f64::MIN_POSITIVE);
        let limits_us = goal.limits_s.map(|s| 1e6 * s);
        let arrival = &report.trace.arrival_us;
        for (id, result) in report.results.iter().enumerate() {
            let arrive_us = arrival[id];
            if result.outcome == Outcome::Cancelled || arrive_us < from_us || arrive_us > until_us {
                continue;
            }
            let part = (((arrive_us - from_us) / part_us) as usize).min(PARTS - 1);
            let is_served = result.outcome == Outcome::Completed;
            // A single token has no time between tokens, so that it breaks no bound on it.
            let waited = |us: Option<f64>| us.map(|us| us - arrive_us);
            let times = [
                waited(report.first_token_us(id)),
                None,
                waited(result.finish_us),
                waited(report.scheduled_us(id)),
                Some(report.tpot_us(id).unwrap_or(0.0)),
            ];
            for kind in (0..KINDS).filter(|&kind| kind != GAPS) {
                let is_late = !is_served
                    || times.get(kind).is_some_and(|time| time.is_none_or(|us| us > limits_us[kind]));
                counts[kind][part][0] += u64::from(is_late);
                counts[kind][part][1] += 1;
            }
        }
        if limits_us[GAPS].is_finite() {
            let gaps =
                InterTokenLatencies::longer_over_time(&report.timeline, limits_us[GAPS], window_us, PARTS);
            counts[GAPS].copy_from_slice(&gaps);
        }
        let mut allowed = [0.0; KINDS];
        for (kind, share) in allowed.iter_mut().enumerate() {
            *share = 1.0 - goal.quantiles.get(kind).copied().unwrap_or(goal.served());
        }
        for kind in (0..METRICS.len()).filter(|&kind| limits_us[kind].is_infinite()) {
            counts[kind] = [[0; 2]; PARTS];
        }
        Self { counts, allowed }
    }

    /// The logarithm of the share that is late over the share that may be, of the kind for which it is largest. `without`
    /// leaves a part of the run out.
    fn excess(&self, without: Option<usize>) -> f64 {
        let of_kind = |kind: usize| {
            let parts = (0..PARTS).filter(|&part| Some(part) != without);
            let [late, all] = parts.fold([0, 0], |sum, part| {
                [sum[0] + self.counts[kind][part][0], sum[1] + self.counts[kind][part][1]]
            });
            // Of none at all half a one is taken, for what is rare is not what never happens.
            let share = if all > 0 { (late as f64).max(0.5) / all as f64 } else { 0.0 };
            libm::log(share / self.allowed[kind])
        };
        (0..KINDS).map(of_kind).fold(f64::NEG_INFINITY, f64::max)
    }

    /// Whether more than may be are late by two standard deviations.
    pub(super) fn is_surely_too_much(&self) -> bool {
        self.excess(None) > 2.0 * jackknife(|part| self.excess(Some(part)).max(-10.0))
    }
}

/// The jackknife over the parts of a run: one standard deviation of what `without` gives with a part left out.
fn jackknife(without: impl Fn(usize) -> f64) -> f64 {
    let left: Vec<f64> = (0..PARTS).map(without).collect();
    let mean = left.iter().sum::<f64>() / PARTS as f64;
    let squares: f64 = left.iter().map(|x| (x - mean) * (x - mean)).sum();
    f64::sqrt(squares * (PARTS - 1) as f64 / PARTS as f64)
}

/// Farther than this beyond the rates that were tried, as a logarithm, no rate is guessed.
const FAR: f64 = std::f64::consts::LN_2;

/// The standard deviation of the logarithm of the rate at which more than may be are late: the jackknife over the parts of
/// the run. `runs` are the rates that were tried, ascending, with their counts. Where the counts do not give one, it is
/// infinite.
pub(super) fn deviation(runs: &[(f64, &Lateness)]) -> f64 {
    let points = |without: Option<usize>| -> Vec<(f64, f64)> {
        // Where next to none are late, how few is chance.
        runs.iter().map(|(rate, late)| (libm::log(*rate), late.excess(without).max(-10.0))).collect()
    };
    if !points(None).windows(2).any(|pair| pair[0].1 <= 0.0 && pair[1].1 > 0.0) {
        return f64::INFINITY;
    }
    jackknife(|part| crossing(&points(Some(part))))
}

/// Where a curve through points goes from 0 or less to more; beyond them it goes on as steeply as it does on the whole.
fn crossing(points: &[(f64, f64)]) -> f64 {
    let rises = |pair: &&[(f64, f64)]| pair[0].1 <= 0.0 && pair[1].1 > 0.0;
    if let Some(pair) = points.windows(2).find(rises) {
        let ((x0, y0), (x1, y1)) = (pair[0], pair[1]);
        return x0 - y0 * (x1 - x0) / (y1 - y0);
    }
    let (first, last) = (points[0], points[points.len() - 1]);
    let run = (last.0 - first.0) / (last.1 - first.1).max(f64::MIN_POSITIVE);
    let beyond = |(x, y): (f64, f64)| x + (-y * run).clamp(-FAR, FAR);
    if first.1 > 0.0 { beyond(first) } else { beyond(last) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_crossing_lies_between_the_points_or_beyond_them() {
        assert_eq!(crossing(&[(0.0, -2.0), (1.0, -1.0), (2.0, 1.0)]), 1.5);
        assert_eq!(crossing(&[(0.0, -1.5), (1.0, -0.5)]), 1.5);
        assert_eq!(crossing(&[(0.0, 0.25), (1.0, 1.25)]), -0.25);
        assert_eq!(crossing(&[(0.0, -1.0), (1.0, -1.0)]), 1.0 + FAR);
    }

    /// One part with all the late ones says less than the same number spread over the run.
    #[test]
    fn what_is_rare_is_known_less_well() {
        let late = |of_part: &dyn Fn(usize) -> u64| {
            let mut counts = [[[0; 2]; PARTS]; KINDS];
            (0..PARTS).for_each(|part| counts[0][part] = [of_part(part), 100]);
            Lateness { counts, allowed: [0.01; KINDS] }
        };
        let known = |low: &Lateness, high: &Lateness| deviation(&[(1.0, low), (1.1, high)]);
        let spread = known(&late(&|part| part as u64 % 2), &late(&|_| 2));
        let [one, more] = [10, 40].map(|count| late(&|part| if part == 7 { count } else { 0 }));
        let rare = known(&one, &more);
        assert!(spread < 0.03 && rare > 3.0 * spread, "{spread} and {rare}");
        assert_eq!(known(&more, &more), f64::INFINITY);
    }
}
