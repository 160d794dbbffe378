//! Lengths from percentiles: a lognormal distribution through them, drawn once a second, with its median put back and a slow wave
//! on top (AIBrix, `generate_token_len_from_percentiles`).

use super::{AibrixError, positive};
use crate::distribution;
use crate::statistics::{median, sort};

/// Levels of the percentiles in statistics files.
pub const LEVELS: [f64; 4] = [0.5, 0.7, 0.9, 0.99];

/// Amplitude of the wave, as a share of the median.
const WAVE: f64 = 0.2;

/// Parameters of a lognormal distribution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lognormal {
    /// Mean of the logarithm.
    pub mu: f64,
    /// Standard deviation of the logarithm.
    pub sigma: f64,
}

/// Rejects percentiles that no distribution has: below zero, not finite, or falling.
///
/// # Errors
/// [`AibrixError::BadValue`], [`AibrixError::DecreasingPercentiles`].
pub fn check(lengths_tokens: &[f64]) -> Result<(), AibrixError> {
    if let Some(bad) = lengths_tokens.iter().find(|length| !(length.is_finite() && **length >= 0.0)) {
        return Err(AibrixError::BadValue {
            key: "percentiles",
            expected: "lengths from zero up",
            value: bad.to_string(),
        });
    }
    match lengths_tokens.windows(2).find(|pair| pair[0] > pair[1]) {
        Some(pair) => Err(AibrixError::DecreasingPercentiles { lower: pair[0], upper: pair[1] }),
        None => Ok(()),
    }
}

/// The lognormal distribution whose quantiles at `levels` lie closest to `lengths_tokens / scale`, by least squares of
/// logarithms. `None` where a length is zero: such a distribution has no logarithm, and every length is then 1.
///
/// AIBrix minimises the same sum with Nelder and Mead's search, which stops 1e-4 away; this is the minimum itself.
///
/// # Errors
/// Those of [`check`]; [`AibrixError::BadValue`] for a scale that is not above zero and for levels that are not as many as
/// the lengths, within (0, 1) and rising.
pub fn fit(levels: &[f64], lengths_tokens: &[f64], scale: f64) -> Result<Option<Lognormal>, AibrixError> {
    check(lengths_tokens)?;
    let scale = positive("scale", scale)?;
    let within = levels.iter().all(|&p| p > 0.0 && p < 1.0) && levels.is_sorted();
    if !within || levels.is_empty() || levels.len() != lengths_tokens.len() {
        return Err(AibrixError::BadValue {
            key: "percentiles",
            expected: "rising levels between 0 and 1, one for each length",
            value: format!("{levels:?}"),
        });
    }
    if lengths_tokens[0] == 0.0 {
        return Ok(None);
    }
    let n = levels.len() as f64;
    let points: Vec<(f64, f64)> = levels
        .iter()
        .zip(lengths_tokens)
        .map(|(&level, &length)| (distribution::normal_quantile(level), libm::log(length / scale)))
        .collect();
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
    let (z_mean, y_mean) = (mean(|p| p.0), mean(|p| p.1));
    let spread: f64 = points.iter().map(|(z, _)| (z - z_mean) * (z - z_mean)).sum();
    let slope: f64 = points.iter().map(|(z, y)| (z - z_mean) * (y - y_mean)).sum();
    let sigma = if spread > 0.0 { slope / spread } else { 0.0 };
    Ok(Some(Lognormal { mu: y_mean - sigma * z_mean, sigma }))
}

/// One length a second before it is cut to a whole number, tokens: draws of the distribution scaled to the wanted median, plus a
/// sine of period `period_s`. `normal` has one standard normal number for each second.
///
/// The median undoes whatever scale the distribution was fitted with, so that scales act once, when arrivals are drawn.
pub fn real_lengths(median_tokens: f64, distribution: Lognormal, period_s: f64, normal: &[f64]) -> Vec<f64> {
    let draws: Vec<f64> =
        normal.iter().map(|z| libm::exp(distribution.mu + distribution.sigma * z)).collect();
    let mut sorted = draws.clone();
    sort(&mut sorted);
    let factor = median_tokens / median(&sorted);
    let wave = |t: usize| median_tokens * WAVE * libm::sin(2.0 * std::f64::consts::PI * t as f64 / period_s);
    draws.iter().enumerate().map(|(t, draw)| draw * factor + wave(t)).collect()
}

/// One length a second, tokens, at least 1: [`real_lengths`] without their fractions.
pub fn lengths(
    median_tokens: f64,
    distribution: Option<Lognormal>,
    period_s: f64,
    normal: &[f64],
) -> Vec<u32> {
    match distribution {
        Some(distribution) => real_lengths(median_tokens, distribution, period_s, normal)
            .iter()
            .map(|x| x.max(1.0) as u32)
            .collect(),
        None => vec![1; normal.len()],
    }
}

/// The 90th percentile of the distribution through the 50th, 70th and 99th, between the latter two: it adds nothing to what
/// the three say.
pub fn between(lengths_tokens: [f64; 3]) -> f64 {
    let [_, seventieth, last] = lengths_tokens;
    match fit(&[LEVELS[0], LEVELS[1], LEVELS[3]], &lengths_tokens, 1.0) {
        Ok(Some(distribution)) => {
            let z = crate::distribution::normal_quantile(LEVELS[2]);
            libm::exp(distribution.mu + distribution.sigma * z).clamp(seventieth, last)
        }
        _ => seventieth,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_a_lognormal_distribution_give_it_back() {
        let quantile = |&p: &f64| libm::exp(6.0 + 0.7 * distribution::normal_quantile(p));
        let lengths: Vec<f64> = LEVELS.iter().map(quantile).collect();
        let distribution = fit(&LEVELS, &lengths, 1.0).expect("the percentiles rise").expect("none is zero");
        assert!(
            (distribution.mu - 6.0).abs() < 1e-12 && (distribution.sigma - 0.7).abs() < 1e-12,
            "{distribution:?}"
        );
        let scaled = fit(&LEVELS, &lengths, 2.0).expect("the percentiles rise").expect("none is zero");
        assert!((scaled.mu - distribution.mu + libm::log(2.0)).abs() < 1e-12);
    }

    #[test]
    fn idle_rows_have_length_one_and_bad_ones_are_refused() {
        assert_eq!(fit(&LEVELS, &[0.0, 0.0, 1.0, 2.0], 1.0), Ok(None));
        assert_eq!(lengths(0.0, None, 10.0, &[0.0; 3]), [1, 1, 1]);
        assert!(fit(&LEVELS, &[1.0, 2.0, 1.5, 3.0], 1.0).is_err());
        assert!(fit(&LEVELS, &[1.0, 2.0, f64::NAN, 3.0], 1.0).is_err());
        assert!(fit(&LEVELS, &[1.0], 1.0).is_err());
        assert!(fit(&[], &[], 1.0).is_err());
        assert!(fit(&LEVELS, &[1.0; 4], 0.0).is_err());
    }

    #[test]
    fn the_median_comes_back_whatever_the_scale() {
        let distribution = Lognormal { mu: 1.0, sigma: 0.5 };
        let other = Lognormal { mu: 9.0, sigma: 0.5 };
        let z = [0.3, -1.0, 2.0, 0.1, -0.2];
        for (a, b) in
            real_lengths(100.0, distribution, 5.0, &z).iter().zip(real_lengths(100.0, other, 5.0, &z))
        {
            assert!((a - b).abs() < 1e-9);
        }
    }
}
