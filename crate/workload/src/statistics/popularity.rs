//! How uneven labels are: shares of the most used ones, and the exponent of Zipf's law.

use super::sort;

/// Shares that [`Skew::labels_for`] counts labels for.
pub const SHARES: [f64; 3] = [0.5, 0.8, 0.9];

/// How requests spread over labels.
#[derive(Debug, Clone, PartialEq)]
pub struct Skew {
    /// Requests of each label, the most used first.
    pub counts: Vec<f64>,
    /// Sum of the counts.
    pub total: f64,
    /// Share of the ten most used labels.
    pub top_10: f64,
    /// How many of the most used labels make each share of [`SHARES`].
    pub labels_for: [usize; 3],
    /// The exponent s of P(rank) ~ rank^-s by maximum likelihood over the observed ranks.
    pub zipf_exponent: f64,
    /// The same by least squares of log count on log rank.
    pub slope: f64,
    /// The same over the 100 most used labels.
    pub slope_top_100: f64,
}

/// Counts of labels, the most used first, zeros left out.
pub fn ranked(counts: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut counts: Vec<f64> = counts.into_iter().filter(|&c| c > 0.0).collect();
    sort(&mut counts);
    counts.reverse();
    counts
}

impl Skew {
    /// The skew of [`ranked`] counts; `None` below three labels.
    pub fn of(counts: Vec<f64>) -> Option<Self> {
        if counts.len() < 3 {
            return None;
        }
        let total: f64 = counts.iter().sum();
        let mut labels_for = [counts.len(); 3];
        let mut sum = 0.0;
        let mut reached = [false; 3];
        for (rank, count) in (1..).zip(&counts) {
            sum += count;
            for (share, (reached, labels)) in SHARES.iter().zip(reached.iter_mut().zip(&mut labels_for)) {
                if !*reached && sum >= share * total - 1e-9 {
                    (*reached, *labels) = (true, rank);
                }
            }
        }
        Some(Self {
            total,
            top_10: counts.iter().take(10).sum::<f64>() / total,
            labels_for,
            zipf_exponent: zipf_exponent(&counts, total),
            slope: slope(&counts),
            slope_top_100: slope(&counts[..counts.len().min(100)]),
            counts,
        })
    }
}

fn slope(counts: &[f64]) -> f64 {
    let ranks: Vec<f64> = (1..=counts.len()).map(|rank| libm::log(rank as f64)).collect();
    let logs: Vec<f64> = counts.iter().map(|&count| libm::log(count)).collect();
    let n = counts.len() as f64;
    let (mean_x, mean_y) = (ranks.iter().sum::<f64>() / n, logs.iter().sum::<f64>() / n);
    let spread: f64 = ranks.iter().map(|x| (x - mean_x) * (x - mean_x)).sum();
    -ranks.iter().zip(&logs).map(|(x, y)| (x - mean_x) * (y - mean_y)).sum::<f64>() / spread
}

/// Golden section search in 0..5.
fn zipf_exponent(counts: &[f64], total: f64) -> f64 {
    let logs: Vec<f64> = (1..=counts.len()).map(|rank| libm::log(rank as f64)).collect();
    let weighted: f64 = counts.iter().zip(&logs).map(|(count, log)| count * log).sum();
    let loss =
        |s: f64| s * weighted + total * libm::log(logs.iter().map(|log| libm::exp(-s * log)).sum::<f64>());
    let golden = (f64::sqrt(5.0) - 1.0) / 2.0;
    let (mut low, mut high) = (0.0, 5.0);
    for _ in 0..60 {
        let (a, b) = (high - golden * (high - low), low + golden * (high - low));
        if loss(a) < loss(b) { high = b } else { low = a }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponent_of_zipfs_law_is_found() {
        let counts = ranked((1..=200).map(|rank| 1e6 * libm::pow(f64::from(rank), -0.8)));
        let skew = Skew::of(counts).unwrap();
        for exponent in [skew.zipf_exponent, skew.slope, skew.slope_top_100] {
            assert!((exponent - 0.8).abs() < 1e-6, "{exponent}");
        }
        assert_eq!(Skew::of(vec![2.0, 1.0]), None);
        assert_eq!(Skew::of(vec![5.0, 3.0, 2.0]).unwrap().labels_for, [1, 2, 3]);
    }
}
