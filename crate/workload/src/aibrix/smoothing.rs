//! Rates of a second from a mean: Poisson counts under a trailing moving average (AIBrix, `generate_poisson_dist`).

/// `seconds` whole rates around `mean_rps`: counts from `poisson`, averaged over up to `window` of them up to the present,
/// rounded half to even, at least 1. A mean of zero gives zeros and draws nothing.
pub fn rates_rps(mean_rps: f64, seconds: usize, window: usize, mut poisson: impl FnMut() -> u64) -> Vec<u64> {
    if mean_rps == 0.0 {
        return vec![0; seconds];
    }
    let counts: Vec<u64> = (0..seconds).map(|_| poisson()).collect();
    let window = window.max(1);
    let mut sum = 0u64;
    (0..seconds)
        .map(|i| {
            sum += counts[i];
            if i >= window {
                sum -= counts[i - window];
            }
            let mean = sum as f64 / window.min(i + 1) as f64;
            (mean.round_ties_even() as u64).max(1)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_go_to_the_even_number_and_zero_only_to_a_zero_mean() {
        let mut counts = [2, 3, 0, 0].into_iter();
        assert_eq!(rates_rps(1.0, 4, 2, || counts.next().unwrap_or(0)), [2, 2, 2, 1]);
        assert_eq!(rates_rps(0.0, 3, 2, || 7), [0, 0, 0]);
    }
}
