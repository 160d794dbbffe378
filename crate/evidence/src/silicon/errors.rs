//! How far predictions are off.

use serde::Serialize;
use servescope_workload::statistics::{median, sort};

/// Relative errors of a set of predictions; a share of the measured value, 0.1 = 10 %.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "RelativeErrors"))]
pub struct Errors {
    /// Predictions.
    pub count: usize,
    /// Mean absolute error.
    pub mean: f64,
    /// Median absolute error.
    pub median: f64,
    /// Mean error with its sign: above 0 where predictions are too large.
    pub bias: f64,
}

/// The errors of pairs (predicted, measured); `None` where there is none.
pub fn errors(pairs: &[(f64, f64)]) -> Option<Errors> {
    let signed: Vec<f64> = pairs.iter().map(|(ours, measured)| ours / measured - 1.0).collect();
    let mut sizes: Vec<f64> = signed.iter().map(|error| error.abs()).collect();
    sort(&mut sizes);
    let count = sizes.len();
    (count > 0).then(|| Errors {
        count,
        mean: sizes.iter().sum::<f64>() / count as f64,
        median: median(&sizes),
        bias: signed.iter().sum::<f64>() / count as f64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_shares_of_what_was_measured() {
        assert_eq!(errors(&[]), None);
        let found = errors(&[(110.0, 100.0), (60.0, 100.0), (100.0, 100.0), (150.0, 100.0)]).unwrap();
        assert_eq!(found.count, 4);
        assert!((found.mean - 0.25).abs() < 1e-12 && (found.median - 0.25).abs() < 1e-12);
        assert!((found.bias - 0.05).abs() < 1e-12);
    }
}
