//! Shapes of distributions fitted to gaps between arrivals, and how far a gamma distribution is from them.

use super::description::mean_and_std;
use super::sort;
use crate::distribution::gamma_cdf;

/// Least number of positive values to fit a distribution to.
const LEAST_VALUES: usize = 10;

fn positive(values: &[f64]) -> Option<Vec<f64>> {
    let positive: Vec<f64> = values.iter().copied().filter(|&v| v > 0.0).collect();
    (positive.len() >= LEAST_VALUES).then_some(positive)
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let n = values.len() as f64;
    values.sum::<f64>() / n
}

/// Maximum likelihood shape of a gamma distribution over the positive values: Minka's start, then Newton steps.
pub fn gamma_shape(values: &[f64]) -> Option<f64> {
    let positive = positive(values)?;
    let s = libm::log(mean(positive.iter().copied())) - mean(positive.iter().map(|&v| libm::log(v)));
    if s <= 0.0 {
        return None;
    }
    let mut shape = (3.0 - s + f64::sqrt((s - 3.0) * (s - 3.0) + 24.0 * s)) / (12.0 * s);
    for _ in 0..50 {
        let step = (libm::log(shape) - digamma(shape) - s) / (1.0 / shape - trigamma(shape));
        let next = if shape - step <= 0.0 { shape / 2.0 } else { shape - step };
        if (next - shape).abs() < 1e-10 {
            break;
        }
        shape = next;
    }
    Some(shape)
}

/// Maximum likelihood shape of a Weibull distribution over the positive values, by bisection in 0.02..20.
pub fn weibull_shape(values: &[f64]) -> Option<f64> {
    let positive = positive(values)?;
    let scale = mean(positive.iter().copied());
    let logs: Vec<f64> = positive.iter().map(|&v| libm::log(v / scale)).collect();
    let mean_log = mean(logs.iter().copied());
    let score = |shape: f64| {
        let (mut weighted, mut total) = (0.0, 0.0);
        for &log in &logs {
            let weight = libm::exp(shape * log);
            weighted += weight * log;
            total += weight;
        }
        weighted / total - 1.0 / shape - mean_log
    };
    let (mut low, mut high) = (0.02, 20.0);
    for _ in 0..80 {
        let middle = f64::midpoint(low, high);
        if score(middle) > 0.0 { high = middle } else { low = middle }
    }
    Some(f64::midpoint(low, high))
}

/// Largest distance between the distribution of the values and a gamma distribution of the same mean and variation; `None` where
/// the values do not vary.
pub fn gamma_distance(values: &[f64]) -> Option<f64> {
    let (mean, std) = mean_and_std(values);
    let variance = std * std;
    if variance.is_nan() || variance <= 0.0 {
        return None;
    }
    let shape = mean * mean / variance;
    let mut sorted = values.to_vec();
    sort(&mut sorted);
    let n = sorted.len() as f64;
    let mut distance = 0.0f64;
    for (place, &value) in sorted.iter().enumerate() {
        let distribution = gamma_cdf(shape, mean, value);
        let below = (distribution - place as f64 / n).abs();
        let above = (distribution - (place + 1) as f64 / n).abs();
        distance = distance.max(below).max(above);
    }
    Some(distance)
}

/// Derivative of the logarithm of the gamma function: recurrence up to 6, then the asymptotic series.
fn digamma(mut x: f64) -> f64 {
    let mut sum = 0.0;
    while x < 6.0 {
        sum -= 1.0 / x;
        x += 1.0;
    }
    let f = 1.0 / (x * x);
    let tail = 1.0 / 12.0 - f * (1.0 / 120.0 - f * (1.0 / 252.0 - f * (1.0 / 240.0 - f / 132.0)));
    sum + libm::log(x) - 0.5 / x - f * tail
}

/// Derivative of [`digamma`], the same way.
fn trigamma(mut x: f64) -> f64 {
    let mut sum = 0.0;
    while x < 6.0 {
        sum += 1.0 / (x * x);
        x += 1.0;
    }
    let f = 1.0 / (x * x);
    sum + 1.0 / x + f / 2.0 + f / x * (1.0 / 6.0 - f * (1.0 / 30.0 - f * (1.0 / 42.0 - f / 30.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distribution::{exponential, gamma};
    use crate::stream::Stream;

    #[test]
    fn derivatives_of_the_gamma_function_hit_known_points() {
        assert!((digamma(1.0) + 0.577_215_664_901_532_9).abs() < 1e-10);
        assert!((trigamma(1.0) - std::f64::consts::PI * std::f64::consts::PI / 6.0).abs() < 1e-8);
    }

    #[test]
    fn the_shape_of_a_drawn_distribution_is_found_again() {
        let mut stream = Stream::named(1, "shape");
        let gaps: Vec<f64> = (0..20_000).map(|_| gamma(0.5, &mut stream)).collect();
        assert!((gamma_shape(&gaps).unwrap() - 0.5).abs() < 0.02);
        assert!(gamma_distance(&gaps).unwrap() < 0.02);
        let gaps: Vec<f64> = (0..20_000).map(|_| exponential(stream.uniform())).collect();
        assert!((weibull_shape(&gaps).unwrap() - 1.0).abs() < 0.03);
        assert_eq!(gamma_shape(&[1.0; 9]), None);
        assert_eq!(gamma_distance(&[1.0; 9]), None);
    }
}
