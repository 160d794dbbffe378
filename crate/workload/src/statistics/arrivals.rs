//! Times of arrival: rate, gaps, dispersion of counts, burstiness inside short windows.

use std::collections::BTreeMap;

use super::correlation::lag_1;
use super::description::{Description, mean_and_std};
use super::dispersion::{LEAST_WINDOWS, index_at, whole_windows};
use super::shape::{gamma_distance, gamma_shape, weibull_shape};
use super::{quantile, sort};

/// Windows of [`ArrivalStatistics::dispersion`], seconds.
const DISPERSION_WINDOWS_S: [u32; 4] = [1, 10, 60, 600];
/// Windows of [`ArrivalStatistics::within`], seconds.
const BURST_WINDOWS_S: [u32; 2] = [60, 300];
/// Fewest gaps in a window for which its variation is given.
const LEAST_GAPS: usize = 20;

/// Statistics of times of arrival.
#[derive(Debug, Clone, PartialEq)]
pub struct ArrivalStatistics {
    /// Number of requests.
    pub requests: usize,
    /// From the first to the last, seconds.
    pub span_s: f64,
    /// Mean gap, seconds.
    pub gap_mean_s: f64,
    /// Standard deviation of the gaps, seconds.
    pub gap_std_s: f64,
    /// Share of gaps that are zero.
    pub zero_gaps: f64,
    /// Maximum likelihood shape of a gamma distribution over positive gaps; `None` where half of the gaps are zero.
    pub gamma_shape: Option<f64>,
    /// The same of a Weibull distribution.
    pub weibull_shape: Option<f64>,
    /// Largest distance to a gamma distribution of the same mean and variation.
    pub gamma_distance: Option<f64>,
    /// Correlation of each gap with the next.
    pub gap_lag_1: Option<f64>,
    /// Window in seconds, and variance over mean of the counts in such windows; 1 is Poisson.
    pub dispersion: Vec<(u32, Option<f64>)>,
    /// Requests in each minute; empty for a short trace.
    pub per_minute: Vec<f64>,
    /// Window in seconds, and the variation of gaps inside each window with enough of them, in ascending order.
    pub within: Vec<(u32, Vec<f64>)>,
}

impl ArrivalStatistics {
    /// The statistics of times in seconds, in ascending order; `None` below two.
    pub fn of(times_s: &[f64]) -> Option<Self> {
        let (&first, &last) = times_s.first().zip(times_s.last()).filter(|_| times_s.len() > 1)?;
        let gaps: Vec<f64> = times_s.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let (gap_mean_s, gap_std_s) = mean_and_std(&gaps);
        let zero_gaps = gaps.iter().filter(|&&gap| gap == 0.0).count() as f64 / gaps.len() as f64;
        let mostly_positive = zero_gaps < 0.5;
        let span_s = last - first;
        let mut dispersion = Vec::new();
        let mut per_minute = Vec::new();
        for window in DISPERSION_WINDOWS_S {
            let windows = whole_windows(span_s, window.into());
            if windows < LEAST_WINDOWS {
                continue;
            }
            dispersion.push((window, index_at(times_s, window.into())));
            if window == 60 {
                per_minute = vec![0.0f64; windows];
                for time in times_s {
                    if let Some(count) = per_minute.get_mut(whole_windows(time - first, window.into())) {
                        *count += 1.0;
                    }
                }
            }
        }
        let within = BURST_WINDOWS_S.map(|window| (window, variations(times_s, window)));
        Some(Self {
            requests: times_s.len(),
            span_s,
            gap_mean_s,
            gap_std_s,
            zero_gaps,
            gamma_shape: mostly_positive.then(|| gamma_shape(&gaps)).flatten(),
            weibull_shape: mostly_positive.then(|| weibull_shape(&gaps)).flatten(),
            gamma_distance: gamma_distance(&gaps),
            gap_lag_1: lag_1(&gaps),
            dispersion,
            per_minute,
            within: within.into_iter().filter(|(_, variations)| !variations.is_empty()).collect(),
        })
    }

    /// Statistics of the counts of the minutes, and the correlation of each minute with the next.
    pub fn minutes(&self) -> Option<(Description, Option<f64>)> {
        Some((Description::of(self.per_minute.clone())?, lag_1(&self.per_minute)))
    }
}

/// The median and such of ascending variations.
pub fn variation_quantiles(variations: &[f64]) -> [f64; 3] {
    [0.1, 0.5, 0.9].map(|q| quantile(variations, q))
}

/// Standard deviation over mean of the gaps inside each window, a gap counted where it starts.
fn variations(times_s: &[f64], window_s: u32) -> Vec<f64> {
    let mut gaps_of: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for pair in times_s.windows(2) {
        gaps_of
            .entry(whole_windows(pair[0] - times_s[0], window_s.into()))
            .or_default()
            .push(pair[1] - pair[0]);
    }
    let enough = gaps_of.values().filter(|gaps| gaps.len() >= LEAST_GAPS).map(|gaps| mean_and_std(gaps));
    let mut variations: Vec<f64> =
        enough.filter(|(mean, _)| *mean > 0.0).map(|(mean, std)| std / mean).collect();
    sort(&mut variations);
    variations
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_arrivals_do_not_vary() {
        let times: Vec<f64> = (0..3000).map(|i| f64::from(i) * 0.25).collect();
        let statistics = ArrivalStatistics::of(&times).unwrap();
        assert_eq!(statistics.gap_std_s, 0.0);
        assert_eq!(statistics.gamma_distance, None);
        assert_eq!(statistics.dispersion, [(1, Some(0.0)), (10, Some(0.0)), (60, Some(0.0))]);
        assert_eq!(statistics.per_minute, [240.0; 12]);
        assert_eq!(statistics.within[0].1.len(), 13);
        assert_eq!(ArrivalStatistics::of(&[1.0]), None);
    }
}
