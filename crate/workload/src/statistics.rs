//! What a trace looks like: rate, burstiness, lengths, shares.

mod arrivals;
mod correlation;
mod description;
mod dispersion;
mod hit_curve;
mod popularity;
mod prefix;
mod shape;
pub(crate) mod stamps;

pub use arrivals::{ArrivalStatistics, variation_quantiles};
pub use correlation::{lag_1, pearson, spearman};
pub use description::Description;
pub(crate) use dispersion::index_at;
pub use dispersion::{Dispersion, log_windows};
pub use hit_curve::HitCurve;
pub use popularity::{SHARES, Skew, ranked};
pub use prefix::{PrefixHits, PrefixReuse};
pub use shape::{gamma_distance, gamma_shape, weibull_shape};

use crate::trace::Trace;

pub use crate::order::{sort_by_number, sort_places};

/// Mean, spread and percentiles (linear interpolation) of one quantity.
#[derive(Debug, Clone, PartialEq)]
pub struct Spread {
    /// How many values.
    pub count: usize,
    /// Mean.
    pub mean: f64,
    /// Standard deviation over the mean (population form).
    pub cv: f64,
    /// Smallest.
    pub min: f64,
    /// Percentiles 1, 10, 25, 50, 75, 90, 95, 99.
    pub percentiles: [f64; 8],
    /// Largest.
    pub max: f64,
}

/// The percentiles of [`Spread`].
pub const PERCENTILES: [f64; 8] = [1.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0];

/// Windows of [`Statistics::dispersion`], seconds.
pub const DISPERSION_WINDOWS_S: [f64; 4] = [1.0, 10.0, 60.0, 600.0];

/// The statistics of a trace.
#[derive(Debug, Clone, PartialEq)]
pub struct Statistics {
    /// Number of requests.
    pub requests: usize,
    /// From the first arrival to the last, seconds.
    pub span_s: f64,
    /// Requests / span, requests a second, as [`ArrivalStatistics`] has it; `None` for a span of zero.
    pub rate_rps: Option<f64>,
    /// Gaps between arrivals, seconds.
    pub gaps_s: Option<Spread>,
    /// Share of gaps that are zero.
    pub zero_gaps: f64,
    /// Variance over mean of the counts in windows of [`DISPERSION_WINDOWS_S`]; 1 is Poisson. `None` below five windows.
    pub dispersion: [Option<f64>; 4],
    /// Prompt lengths, tokens.
    pub input_tokens: Option<Spread>,
    /// Output lengths, tokens.
    pub output_tokens: Option<Spread>,
    /// Different users and adapters in use.
    pub users: usize,
    /// Different adapters in use, the base model not counted.
    pub adapters: usize,
}

impl Statistics {
    /// Prompt tokens for each output token, of all requests together (P:D); `None` without requests.
    pub fn pd_ratio(&self) -> Option<f64> {
        Some(self.input_tokens.as_ref()?.mean / self.output_tokens.as_ref()?.mean)
    }

    /// The statistics of `trace`.
    pub fn of(trace: &Trace) -> Self {
        let times = &trace.arrival_us;
        let times_s: Vec<f64> = times.iter().map(|t| t / 1e6).collect();
        let span_us = times.last().zip(times.first()).map_or(0.0, |(last, first)| last - first);
        let gaps: Vec<f64> = times.windows(2).map(|w| (w[1] - w[0]) / 1e6).collect();
        let zeros = gaps.iter().filter(|&&g| g == 0.0).count();
        Self {
            requests: trace.len(),
            span_s: span_us / 1e6,
            rate_rps: (span_us > 0.0).then(|| trace.len() as f64 / (span_us / 1e6)),
            zero_gaps: if gaps.is_empty() { 0.0 } else { zeros as f64 / gaps.len() as f64 },
            gaps_s: Spread::of(gaps),
            dispersion: DISPERSION_WINDOWS_S.map(|window_s| index_at(&times_s, window_s)),
            input_tokens: Spread::of(trace.input_tokens.iter().map(|&t| f64::from(t)).collect()),
            output_tokens: Spread::of(trace.output_tokens.iter().map(|&t| f64::from(t)).collect()),
            users: distinct(&trace.user),
            adapters: distinct(&trace.adapter),
        }
    }
}

/// Number of different indices in a column, the base model not counted.
pub fn distinct(column: &[u32]) -> usize {
    let named = column.iter().filter(|&&i| i != crate::BASE_MODEL);
    let mut seen = vec![false; named.clone().max().map_or(0, |&i| i as usize + 1)];
    named.for_each(|&i| seen[i as usize] = true);
    seen.iter().filter(|&&s| s).count()
}

impl Spread {
    /// The spread of `values`; `None` if there are none.
    pub fn of(mut values: Vec<f64>) -> Option<Self> {
        let n = values.len();
        if n == 0 {
            return None;
        }
        let mean = values.iter().sum::<f64>() / n as f64;
        let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n as f64;
        sort(&mut values);
        Some(Self {
            count: n,
            mean,
            cv: if mean == 0.0 { 0.0 } else { f64::sqrt(variance) / mean },
            min: values[0],
            percentiles: PERCENTILES.map(|p| quantile(&values, p / 100.0)),
            max: values[n - 1],
        })
    }
}

/// Sorts numbers in ascending order. One function for all callers: each inlined sort would weigh kilobytes in the page.
#[inline(never)]
pub fn sort(values: &mut [f64]) {
    values.sort_unstable_by(f64::total_cmp);
}

/// The quantile `q` in 0..=1 of values in ascending order, by linear interpolation; NaN for none.
pub fn quantile(sorted: &[f64], q: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let place = q * last as f64;
    let below = (place as usize).min(last);
    let above = (below + 1).min(last);
    sorted[below] + (sorted[above] - sorted[below]) * (place - below as f64)
}

/// The [`quantile`] `q` of values in any order (not empty), whose order is lost: to the bit, in less time than a sort takes.
pub fn select_quantile(values: &mut [f64], q: f64) -> f64 {
    let place = q * (values.len() - 1) as f64;
    select(values, place)
}

/// What stands at `place` of `values` in ascending order, between two of them by linear interpolation. Those below it are then
/// no larger, those above it no smaller.
pub fn select(values: &mut [f64], place: f64) -> f64 {
    let below = place as usize;
    let (_, &mut low, above) = values.select_nth_unstable_by(below, f64::total_cmp);
    let high = above.iter().copied().reduce(f64::min).unwrap_or(low);
    low + (high - low) * (place - below as f64)
}

/// The middle one of values in ascending order, or the mean of the two middle ones; NaN for none.
pub fn median(sorted: &[f64]) -> f64 {
    match sorted.len() {
        0 => f64::NAN,
        n => f64::midpoint(sorted[(n - 1) / 2], sorted[n / 2]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_interpolate() {
        assert_eq!(quantile(&[1.0, 2.0, 4.0], 0.75), 3.0);
        assert_eq!(quantile(&[5.0], 0.99), 5.0);
        assert!(quantile(&[], 0.5).is_nan());
        assert_eq!([median(&[1.0, 2.0, 4.0]), median(&[1.0, 2.0, 4.0, 5.0])], [2.0, 3.0]);
        assert!(median(&[]).is_nan());
        let mut sorted = [4.5, 0.1, 9.25, 3.3, 7.7, 2.6];
        let any_order = sorted;
        sort(&mut sorted);
        for q in [0.0, 0.3, 0.5, 0.77, 1.0] {
            assert_eq!(select_quantile(&mut any_order.clone(), q).to_bits(), quantile(&sorted, q).to_bits());
        }
    }

    #[test]
    fn poisson_has_a_dispersion_near_one() {
        let spec =
            crate::WorkloadSpec { rate_rps: 20.0, duration_s: 3000.0, ..crate::WorkloadSpec::default() };
        let statistics = Statistics::of(&crate::generate(&spec));
        for window in 0..3 {
            let d = statistics.dispersion[window].expect("the trace is long enough");
            assert!((0.5..1.6).contains(&d), "{d}");
        }
        assert!((statistics.gaps_s.expect("there are gaps").cv - 1.0).abs() < 0.02);
    }
}
