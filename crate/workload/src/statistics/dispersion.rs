//! Index of dispersion of counts: variance over mean of the number of arrivals in windows, by width of the window. A
//! Poisson process has 1 at every width; bursts raise it at the widths on which they last.

/// Fewest whole windows for which a dispersion is given.
pub(super) const LEAST_WINDOWS: usize = 5;
/// Widths that are always asked for, seconds.
const NAMED_S: [f64; 4] = [1.0, 10.0, 60.0, 600.0];

/// Variance over mean of counts, by window.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Dispersion {
    /// Widths in ascending order, seconds.
    pub window_s: Vec<f64>,
    /// The index at each width; NaN where fewer than five whole windows fit.
    pub index: Vec<f64>,
}

/// Widths from 10 ms to a fifth of the span, four a decade, and those that are quoted everywhere: 1, 10, 60 and 600 s.
pub fn log_windows(span_s: f64) -> Vec<f64> {
    let mut windows = Vec::new();
    for decade in -2..7 {
        for step in [1.0, 2.0, 3.0, 6.0] {
            windows.push(step * libm::exp10(f64::from(decade)));
        }
    }
    windows.retain(|w| *w >= 0.0099 && w * LEAST_WINDOWS as f64 <= span_s && span_s / w <= 2e7);
    windows
}

impl Dispersion {
    /// The dispersion of times in seconds, from the first on, in ascending order.
    pub fn of(times_s: &[f64], window_s: &[f64]) -> Self {
        let index = window_s.iter().map(|&w| index_at(times_s, w).unwrap_or(f64::NAN)).collect();
        Self { window_s: window_s.to_vec(), index }
    }

    /// The index at one of the widths.
    pub fn at(&self, window_s: f64) -> Option<f64> {
        let place = self.window_s.iter().position(|w| (w / window_s - 1.0).abs() < 1e-9)?;
        Some(self.index[place]).filter(|index| index.is_finite())
    }

    /// The index at 1, 10, 60 and 600 s.
    pub fn named(&self) -> [(f64, Option<f64>); 4] {
        NAMED_S.map(|window_s| (window_s, self.at(window_s)))
    }
}

/// How many whole windows fit into a time; the remainder is exact, so that no rounding moves a time over a border.
pub(super) fn whole_windows(time_s: f64, window_s: f64) -> usize {
    libm::round((time_s - time_s % window_s) / window_s) as usize
}

/// Variance over mean of the counts in whole windows, in one pass: only occupied windows cost anything.
pub(crate) fn index_at(times_s: &[f64], window_s: f64) -> Option<f64> {
    let (first, last) = (*times_s.first()?, *times_s.last()?);
    let windows = whole_windows(last - first, window_s);
    if windows < LEAST_WINDOWS {
        return None;
    }
    let (mut total, mut squares) = (0.0, 0.0);
    let places =
        times_s.iter().map(|t| whole_windows(t - first, window_s)).take_while(|&place| place < windows);
    let (mut current, mut count) = (usize::MAX, 0.0);
    for place in places {
        if place != current {
            total += count;
            squares += count * count;
            (current, count) = (place, 0.0);
        }
        count += 1.0;
    }
    total += count;
    squares += count * count;
    let mean = total / windows as f64;
    (mean > 0.0).then(|| (squares / windows as f64 - mean * mean).max(0.0) / mean)
}
