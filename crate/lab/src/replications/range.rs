//! A number over several seeds: from its lowest to its highest value. A range is no confidence interval: it says what was seen
//! and grows with the number of seeds. A further seed lies outside the range of n seeds with probability 2 / (n + 1).

use std::collections::BTreeMap;

use serde::Serialize;

use super::{CLEAR, PairedDifference, paired_interval};
use crate::metric::{Measured, Metric};

/// A number over several seeds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct ValueRange {
    /// The lowest value, in the number's own unit.
    pub low: f64,
    /// The highest.
    pub high: f64,
    /// Runs that have the number.
    pub seeds: usize,
}

impl ValueRange {
    /// Of the values of a number, one a seed; what is missing or not finite is left out. None of no value.
    ///
    /// ```
    /// use servescope_lab::replications::ValueRange;
    /// let range = ValueRange::of([Some(2.0), None, Some(1.5), Some(3.0)]).unwrap();
    /// assert_eq!((range.low, range.high, range.seeds), (1.5, 3.0, 3));
    /// assert_eq!(ValueRange::of([None, Some(f64::NAN)]), None);
    /// ```
    pub fn of(values: impl IntoIterator<Item = Option<f64>>) -> Option<Self> {
        let finite = values.into_iter().flatten().filter(|value| value.is_finite());
        finite.fold(None, |range: Option<Self>, value| {
            let Self { low, high, seeds } = range.unwrap_or(Self { low: value, high: value, seeds: 0 });
            Some(Self { low: low.min(value), high: high.max(value), seeds: seeds + 1 })
        })
    }
}

/// The range of each metric over the runs of one setting, by key path; a metric that no run has is left out.
pub fn ranges(metrics: &[Metric], runs: &[Measured]) -> BTreeMap<String, ValueRange> {
    let one = |(place, metric): (usize, &Metric)| {
        Some((metric.path().to_owned(), ValueRange::of(runs.iter().map(|run| run.values[place]))?))
    };
    metrics.iter().enumerate().filter_map(one).collect()
}

/// What a number is over the seeds of a setting, and by how much it differs from a former setting.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct SeedRange {
    /// Over the seeds of the setting.
    #[serde(flatten)]
    pub range: ValueRange,
    /// Over the seeds that both settings have; none of fewer than two.
    pub difference: Option<PairedDifference>,
    /// Whether the difference is clear at [`CLEAR`].
    pub is_clear: bool,
}

impl SeedRange {
    /// Of the values of a number by seed, in equal order; `former` are those of the setting before, missing where that was
    /// not run. None where the setting has no value.
    pub fn of(values: &[Option<f64>], former: &[Option<f64>]) -> Option<Self> {
        let range = ValueRange::of(values.iter().copied())?;
        let pairs: Vec<(f64, f64)> =
            former.iter().zip(values).filter_map(|(a, b)| Some(((*a)?, (*b)?))).collect();
        let difference = paired_interval(&pairs, CLEAR);
        Some(Self { range, difference, is_clear: difference.is_some_and(|d| d.is_clear()) })
    }
}

#[cfg(test)]
mod tests {
    use servescope_settings::scenario::Scenario;

    use super::super::{seeds, with_seed};
    use super::*;

    #[test]
    fn the_range_of_a_setting_is_that_of_its_runs() {
        let scenario = Scenario::of_version(4);
        let metrics = Metric::headline();
        let seeds = seeds(&scenario, 4).unwrap();
        let run = |seed: &u64| Measured::simulate(&with_seed(&scenario, *seed), None, &metrics).unwrap();
        let runs: Vec<Measured> = seeds.iter().map(run).collect();
        let reported = ranges(&metrics, &runs);
        assert_eq!(reported.len(), metrics.len());
        for (place, metric) in metrics.iter().enumerate() {
            let values: Vec<f64> = runs.iter().map(|run| run.values[place].unwrap()).collect();
            let range = reported[metric.path()];
            assert!(values.contains(&range.low) && values.contains(&range.high), "{}", metric.path());
            assert!(values.iter().all(|value| (range.low..=range.high).contains(value)), "{}", metric.path());
            assert_eq!(range.seeds, 4);
        }
        assert!(reported["ttft_s.p99"].low < reported["ttft_s.p99"].high);
        assert_eq!(ranges(&metrics, &[]), BTreeMap::new());
    }

    #[test]
    fn a_change_is_clear_where_every_seed_says_the_same() {
        let some = |values: &[f64]| values.iter().map(|x| Some(*x)).collect::<Vec<_>>();
        let before = some(&[10.0, 20.0, 15.0, 12.0]);
        let lower = SeedRange::of(&some(&[8.0, 18.1, 12.9, 10.0]), &before).unwrap();
        assert!(lower.is_clear && lower.difference.unwrap().high < 0.0, "{lower:?}");
        // The ranges of both overlap by far: what is common to a seed cancels only in pairs.
        assert!(lower.range.high > 12.0);
        let either = SeedRange::of(&some(&[14.0, 16.0, 18.0, 11.0]), &before).unwrap();
        assert!(!either.is_clear);
        let alone = SeedRange::of(&before, &[]).unwrap();
        assert_eq!((alone.difference, alone.is_clear, alone.range.seeds), (None, false, 4));
        let one = SeedRange::of(&before, &[Some(100.0), None, None, None]).unwrap();
        assert_eq!((one.difference, one.is_clear), (None, false));
        assert_eq!(SeedRange::of(&[None], &[Some(1.0)]), None);
    }
}
