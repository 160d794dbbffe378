//! Poisson counts, which AIBrix's statistics traces take from `numpy.random.poisson`.

use crate::distribution;
use crate::stream::Stream;

/// Mean above which counts are drawn by rejection.
const REJECTION_FROM: f64 = 10.0;

/// A Poisson count of the given mean (finite, not below zero): by counting arrivals for small means, by Hörmann's
/// transformed rejection (PTRS, 1993) for others.
pub fn poisson(mean: f64, stream: &mut Stream) -> u64 {
    if mean < REJECTION_FROM {
        let mut count = 0;
        let mut time = distribution::exponential(stream.uniform());
        while time < mean {
            count += 1;
            time += distribution::exponential(stream.uniform());
        }
        return count;
    }
    let log_mean = libm::log(mean);
    let b = 0.931 + 2.53 * f64::sqrt(mean);
    let a = -0.059 + 0.024_83 * b;
    let inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
    loop {
        let u = stream.uniform() - 0.5;
        let v = stream.uniform();
        let us = 0.5 - u.abs();
        let k = ((2.0 * a / us + b) * u + mean + 0.43).floor();
        if us >= 0.07 && v <= 0.9277 - 3.6224 / (b - 2.0) {
            return k as u64;
        }
        if k < 0.0 || (us < 0.013 && v > us) {
            continue;
        }
        let left = libm::log(v * inverse_alpha / (a / (us * us) + b));
        if left <= k * log_mean - mean - libm::lgamma(k + 1.0) {
            return k as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequencies_are_those_of_the_distribution() {
        const N: usize = 200_000;
        for mean in [0.3, 4.0, 9.99, 10.01, 37.0, 400.0] {
            let mut stream = Stream::named(3, "counts");
            let mut counts = vec![0usize; 700];
            (0..N).for_each(|_| counts[(poisson(mean, &mut stream) as usize).min(699)] += 1);
            let (mut ours, mut distribution, mut worst) = (0.0, 0.0, 0.0f64);
            for (k, &count) in counts.iter().enumerate() {
                let k = k as f64;
                ours += count as f64 / N as f64;
                distribution += libm::exp(k * libm::log(mean) - mean - libm::lgamma(k + 1.0));
                worst = worst.max((ours - distribution).abs());
            }
            assert!(worst < 1.95 / f64::sqrt(N as f64), "mean {mean}: distance {worst}");
        }
        assert_eq!(poisson(0.0, &mut Stream::named(1, "x")), 0);
    }
}
