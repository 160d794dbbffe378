//! The interval between time stamps that requests share, where a recorder rounded them.

use super::{quantile, sort};

/// Steps between stamps that are looked at.
const LOOKED_AT: usize = 2000;
/// Largest number of intervals in the median step.
const MOST_INTERVALS: u32 = 5000;
/// How far a step may be from a multiple of the interval, as a share of it: recorders' clocks jitter.
const TOLERANCE: f64 = 0.01;
/// Share of the steps that must be multiples.
const SHARE: f64 = 0.99;

/// The interval between stamps in microseconds, and the share of steps that are multiples of it: the largest part of the
/// median step that fits. `None` where none does, or steps are too few.
pub(crate) fn stamp_interval(times: &[f64]) -> Option<(f64, f64)> {
    let mut steps: Vec<f64> =
        times.windows(2).map(|pair| pair[1] - pair[0]).filter(|&step| step > 0.0).collect();
    if steps.len() < 3 {
        return None;
    }
    let stride = steps.len().div_ceil(LOOKED_AT);
    steps = steps.into_iter().step_by(stride).collect();
    let mut sorted = steps.clone();
    sort(&mut sorted);
    let median = quantile(&sorted, 0.5);
    let most_misses = ((1.0 - SHARE) * steps.len() as f64) as usize;
    (1..=MOST_INTERVALS).find_map(|parts| {
        let interval = median / f64::from(parts);
        let misses = |step: &&f64| {
            let multiple = *step / interval;
            multiple < 0.5 || (multiple - libm::round(multiple)).abs() > TOLERANCE
        };
        let missed = steps.iter().filter(misses).take(most_misses + 1).count();
        (missed <= most_misses).then(|| (interval, 1.0 - missed as f64 / steps.len() as f64))
    })
}
