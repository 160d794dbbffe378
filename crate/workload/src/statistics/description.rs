//! A column of numbers in few: mean, spread, percentiles, and the lognormal distribution of the positive ones.

use super::{PERCENTILES, quantile, sort};

/// What a column of numbers looks like.
#[derive(Debug, Clone, PartialEq)]
pub struct Description {
    /// How many values.
    pub count: usize,
    /// Mean.
    pub mean: f64,
    /// Standard deviation, population form.
    pub std: f64,
    /// Standard deviation over mean; `None` for a mean of 0.
    pub cv: Option<f64>,
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
    /// The percentiles [`PERCENTILES`], by linear interpolation.
    pub percentiles: [f64; 8],
    /// Mean and standard deviation of the logarithms of the positive values; `None` below two of them.
    pub lognormal: Option<(f64, f64)>,
}

impl Description {
    /// The description of `values`; `None` if there are none.
    pub fn of(mut values: Vec<f64>) -> Option<Self> {
        sort(&mut values);
        let (&min, &max) = values.first().zip(values.last())?;
        let (mean, std) = mean_and_std(&values);
        let logs: Vec<f64> = values.iter().filter(|&&v| v > 0.0).map(|&v| libm::log(v)).collect();
        Some(Self {
            count: values.len(),
            mean,
            std,
            cv: (mean != 0.0).then(|| std / mean),
            min,
            max,
            percentiles: PERCENTILES.map(|p| quantile(&values, p / 100.0)),
            lognormal: (logs.len() > 1).then(|| mean_and_std(&logs)),
        })
    }
}

/// Mean and standard deviation (population form).
pub(super) fn mean_and_std(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n;
    (mean, f64::sqrt(variance))
}
