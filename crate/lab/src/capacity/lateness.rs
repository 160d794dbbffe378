//! How many were late, over the time of a run, and how well the rate is known at which too many are.

use servescope_engine::metrics::token_gaps::TokenGaps;
use servescope_engine::report::{Outcome, Report};

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
        for (id, fate) in report.fates.iter().enumerate() {
            let arrive_us = arrival[id];
            if fate.outcome == Outcome::Cancelled || arrive_us < from_us || arrive_us > until_us {
                continue;
            }
            let part = (((arrive_us - from_us) / part_us) as usize).min(PARTS - 1);
            let is_served = fate.outcome == Outcome::Completed;
            let waited = |us: Option<f64>| us.map(|us| us - arrive_us);
            let times = [
                waited(report.first_token_us(id)),
                None,
                waited(fate.finish_us),
                waited(report.scheduled_us(id)),
            ];
            for kind in (0..KINDS).filter(|&kind| kind != GAPS) {
                let is_late = !is_served
                    || times.get(kind).is_some_and(|time| time.is_none_or(|us| us > limits_us[kind]));
                counts[kind][part][0] += u64::from(is_late);
                counts[kind][part][1] += 1;
            }
        }
        if limits_us[GAPS].is_finite() {
            let gaps = TokenGaps::longer_over_time(&report.timeline, limits_us[GAPS], window_us, PARTS);
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
}

/// The standard deviation of the logarithm of the rate at which more than may be are late: the jackknife over the parts of
/// the run. `runs` are the rates that were tried, ascending, with their counts. Where the counts do not tell one, it is
/// infinite.
pub(super) fn deviation(runs: &[(f64, &Lateness)]) -> f64 {
    let crossing = |without: Option<usize>| {
        let points: Vec<(f64, f64)> =
            runs.iter().map(|(rate, late)| (libm::log(*rate), late.excess(without))).collect();
        // The lowest rate that fails while the one below passes; beyond the tried ones it is taken to be the next.
        let place = (1..points.len()).find(|&i| points[i].1 > 0.0 && points[i - 1].1 <= 0.0)?;
        let ((x0, y0), (x1, y1)) = (points[place - 1], points[place]);
        let y0 = y0.max(-10.0);
        Some(x0 + (x1 - x0) * (-y0 / (y1 - y0)).clamp(0.0, 1.0))
    };
    let (Some(first), Some(last)) = (runs.first(), runs.last()) else { return f64::INFINITY };
    let edge = |without| if first.1.excess(without) > 0.0 { first.0 } else { last.0 };
    if crossing(None).is_none() {
        return f64::INFINITY;
    }
    let left: Vec<f64> =
        (0..PARTS).map(|part| crossing(Some(part)).unwrap_or_else(|| libm::log(edge(Some(part))))).collect();
    let mean = left.iter().sum::<f64>() / PARTS as f64;
    let squares: f64 = left.iter().map(|x| (x - mean) * (x - mean)).sum();
    f64::sqrt(squares * (PARTS - 1) as f64 / PARTS as f64)
}
