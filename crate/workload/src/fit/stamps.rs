//! Clocks that are coarser than the gaps: batches that share a stamp, and stamps in whole units of time.
//!
//! The gaps of a stamped trace say when the log was written, not when requests came. Fits therefore spread each batch
//! evenly at random over the time until the next stamp, and a twin is stamped by the same clock, so that twin and source
//! are compared as the same recorder would have seen them.

use crate::stream::Stream;

/// Widths of a clock's tick that are looked for, seconds, the widest first.
const TICKS_S: [f64; 11] = [3600.0, 600.0, 300.0, 60.0, 30.0, 10.0, 5.0, 2.0, 1.0, 0.1, 0.01];
/// Fewest requests that a clock is judged by.
const LEAST: usize = 20;
/// Share of gaps that must be zero for stamped batches.
const ZERO_SHARE: f64 = 0.5;
/// Share of steps between stamps that must agree with their median.
const STEADY_SHARE: f64 = 0.8;

/// A clock that stamps requests.
#[derive(Debug, Clone, PartialEq)]
pub struct Stamps {
    /// Time between stamps, seconds.
    pub step_s: f64,
    /// Share of gaps that are zero.
    pub zero_gaps: f64,
    /// The stamps of batches, seconds from the first; empty where times are whole ticks.
    pub batches_s: Vec<f64>,
}

impl Stamps {
    /// The clock of times in seconds from the first on, in ascending order; `None` where none is seen.
    ///
    /// Batches: at least half of the gaps are zero and four fifths of the steps between stamps are within 1 % of their
    /// median. Ticks: every time is a whole number of some unit of 10 ms or more, and the unit is at least a thousandth
    /// of the mean gap.
    pub fn of(since_s: &[f64]) -> Option<Self> {
        let gaps = since_s.len().checked_sub(1).filter(|_| since_s.len() >= LEAST)? as f64;
        let steps: Vec<f64> = since_s.windows(2).map(|w| w[1] - w[0]).filter(|&step| step > 0.0).collect();
        let zero_gaps = 1.0 - steps.len() as f64 / gaps;
        if zero_gaps >= ZERO_SHARE && steps.len() >= LEAST {
            let mut sorted = steps.clone();
            crate::statistics::sort(&mut sorted);
            let step_s = crate::statistics::quantile(&sorted, 0.5);
            let steady = steps.iter().filter(|&&step| (step / step_s - 1.0).abs() <= 0.01).count();
            if steady as f64 >= STEADY_SHARE * steps.len() as f64 {
                let mut batches_s = since_s.to_vec();
                batches_s.dedup();
                return Some(Self { step_s, zero_gaps, batches_s });
            }
        }
        let whole =
            |tick: f64| since_s.iter().all(|t| (t / tick - libm::round(t / tick)).abs() * tick < 1e-6);
        let mean_gap_s = since_s.last()? / gaps;
        let step_s = TICKS_S.into_iter().find(|&tick| tick >= 1e-3 * mean_gap_s && whole(tick))?;
        (mean_gap_s > 0.0).then_some(Self { step_s, zero_gaps, batches_s: Vec::new() })
    }

    /// Times with each batch spread at random over the time until the next stamp; ascending.
    pub fn spread(&self, since_s: &[f64]) -> Vec<f64> {
        let mut stream = Stream::named(0, "stamps");
        let mut spread: Vec<f64> = since_s
            .iter()
            .map(|&time| {
                let next = self.batches_s.partition_point(|&stamp| stamp <= time);
                let step_s = self.batches_s.get(next).map_or(self.step_s, |stamp| stamp - time);
                // A pause in the log is no reason to spread a batch over all of it.
                time + step_s.min(2.0 * self.step_s) * stream.uniform()
            })
            .collect();
        crate::statistics::sort(&mut spread);
        spread
    }

    /// The stamp of a time: the last batch's at or before it, or the last whole tick.
    pub fn stamp_s(&self, time_s: f64) -> f64 {
        match self.batches_s.partition_point(|&stamp| stamp <= time_s) {
            0 if self.batches_s.is_empty() => (time_s / self.step_s).floor() * self.step_s,
            0 => 0.0,
            next => self.batches_s[next - 1],
        }
    }
}
