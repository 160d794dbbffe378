//! Two traces side by side: distances, and the columns that charts and tables need.

use super::gaps::{kolmogorov, quantiles_at};
use super::lengths::floats;
use super::rate::{self, RateBins};
use crate::BASE_MODEL;
use crate::statistics::{Dispersion, log_windows, ranked, spearman};
use crate::trace::Trace;

/// Shares at which quantiles are given.
const SHARES: [f64; 11] = [0.0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1.0];

/// Quantiles of one quantity in both traces.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct QuantileTable {
    /// Shares, 0 to 1.
    pub share: Vec<f64>,
    /// The first trace's quantiles; empty where it has no values.
    pub source: Vec<f64>,
    /// The other's.
    pub twin: Vec<f64>,
}

/// How far two traces are apart. Distances are Kolmogorov's: the largest difference of two distribution functions.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Comparison {
    /// Requests of the two.
    pub requests: [usize; 2],
    /// Mean rates, requests a second; 0 for a span of zero.
    pub rate_rps: [f64; 2],
    /// Standard deviation over mean of the gaps; NaN where there are none.
    pub gap_cv: [f64; 2],
    /// Distance of the gaps between arrivals.
    pub gap_distance: f64,
    /// Distance of the prompt lengths.
    pub input_distance: f64,
    /// Distance of the output lengths.
    pub output_distance: f64,
    /// Distance of the cumulated shares of users by rank.
    pub user_distance: f64,
    /// The same of adapters, the base model counted as one.
    pub adapter_distance: f64,
    /// Rank correlation of prompt and output lengths; NaN where there is none.
    pub length_correlation: [f64; 2],
    /// Windows of the dispersions, seconds, ascending.
    pub window_s: Vec<f64>,
    /// Variance over mean of the first trace's counts by window; NaN where too few windows fit.
    pub source_dispersion: Vec<f64>,
    /// The same of the other.
    pub twin_dispersion: Vec<f64>,
    /// Starts of the bins of the rate curves, seconds from each trace's first arrival.
    pub bin_start_s: Vec<f64>,
    /// Width of a bin, seconds.
    pub bin_s: f64,
    /// The first trace's rates, requests a second.
    pub source_rate_rps: Vec<f64>,
    /// The other's; NaN after its end.
    pub twin_rate_rps: Vec<f64>,
    /// Quantiles of gaps, seconds.
    pub gaps_s: QuantileTable,
    /// Quantiles of prompt lengths.
    pub input_tokens: QuantileTable,
    /// Quantiles of output lengths.
    pub output_tokens: QuantileTable,
}

impl Comparison {
    /// The twin's dispersion over the source's at a width; `None` where either is unknown or the source's is 0.
    pub fn dispersion_ratio(&self, window_s: f64) -> Option<f64> {
        let place = self.window_s.iter().position(|w| (w / window_s - 1.0).abs() < 1e-9)?;
        let ratio = self.twin_dispersion[place] / self.source_dispersion[place];
        Some(ratio).filter(|ratio| ratio.is_finite())
    }
}

struct ComparedSide {
    since_s: Vec<f64>,
    gaps: Vec<f64>,
    span_s: f64,
}

impl ComparedSide {
    fn of(trace: &Trace) -> Self {
        let start = trace.arrival_us.first().copied().unwrap_or(0.0);
        let since_s: Vec<f64> = trace.arrival_us.iter().map(|t| (t - start) / 1e6).collect();
        let gaps = since_s.windows(2).map(|pair| pair[1] - pair[0]).collect();
        Self { span_s: since_s.last().copied().unwrap_or(0.0), since_s, gaps }
    }

    fn rate_rps(&self) -> f64 {
        if self.span_s > 0.0 { self.since_s.len() as f64 / self.span_s } else { 0.0 }
    }
}

/// Compares a source with its twin, or any trace with any other.
pub fn compare(source: &Trace, twin: &Trace) -> Comparison {
    let (a, b) = (ComparedSide::of(source), ComparedSide::of(twin));
    let window_s = log_windows(a.span_s);
    let bin_s = rate::chart_bin_s(a.since_s.len(), a.span_s);
    let curves = [&a, &b].map(|side| RateBins::of(&side.since_s, side.span_s, bin_s).rate_rps);
    let bins = curves[0].len().max(curves[1].len().min(2 * curves[0].len()));
    let padded = |curve: &[f64]| (0..bins).map(|bin| curve.get(bin).copied().unwrap_or(f64::NAN)).collect();
    let lengths = [&source.input_tokens, &twin.input_tokens, &source.output_tokens, &twin.output_tokens];
    let [input_a, input_b, output_a, output_b] = lengths.map(|column| floats(column));
    let rho = |x: &[f64], y: &[f64]| spearman(x, y).unwrap_or(f64::NAN);
    Comparison {
        requests: [source.len(), twin.len()],
        rate_rps: [a.rate_rps(), b.rate_rps()],
        gap_cv: [&a, &b].map(|side| variation(&side.gaps)),
        gap_distance: kolmogorov(a.gaps.clone(), b.gaps.clone()),
        input_distance: kolmogorov(input_a.clone(), input_b.clone()),
        output_distance: kolmogorov(output_a.clone(), output_b.clone()),
        user_distance: share_distance(&source.user, &twin.user),
        adapter_distance: share_distance(&source.adapter, &twin.adapter),
        length_correlation: [rho(&input_a, &output_a), rho(&input_b, &output_b)],
        source_dispersion: Dispersion::of(&a.since_s, &window_s).index,
        twin_dispersion: Dispersion::of(&b.since_s, &window_s).index,
        window_s,
        bin_start_s: (0..bins).map(|bin| bin as f64 * bin_s).collect(),
        bin_s,
        source_rate_rps: padded(&curves[0]),
        twin_rate_rps: padded(&curves[1]),
        gaps_s: table(a.gaps, b.gaps),
        input_tokens: table(input_a, input_b),
        output_tokens: table(output_a, output_b),
    }
}

fn variation(gaps: &[f64]) -> f64 {
    let n = gaps.len() as f64;
    let mean = gaps.iter().sum::<f64>() / n;
    f64::sqrt(gaps.iter().map(|g| (g - mean) * (g - mean)).sum::<f64>() / n) / mean
}

fn table(source: Vec<f64>, twin: Vec<f64>) -> QuantileTable {
    let quantiles =
        |values: Vec<f64>| if values.is_empty() { Vec::new() } else { quantiles_at(values, &SHARES) };
    QuantileTable { share: SHARES.to_vec(), source: quantiles(source), twin: quantiles(twin) }
}

/// The largest difference of the shares of the k busiest labels, over k.
fn share_distance(source: &[u32], twin: &[u32]) -> f64 {
    let shares = |column: &[u32]| {
        let mut counts =
            vec![0.0; column.iter().filter(|&&l| l != BASE_MODEL).max().map_or(0, |&l| l as usize + 1) + 1];
        let last = counts.len() - 1;
        column
            .iter()
            .for_each(|&label| counts[if label == BASE_MODEL { last } else { label as usize }] += 1.0);
        let total = column.len().max(1) as f64;
        ranked(counts).into_iter().map(|c| c / total).collect::<Vec<f64>>()
    };
    let (a, b) = (shares(source), shares(twin));
    let (mut apart, mut worst) = (0.0, 0.0f64);
    for rank in 0..a.len().max(b.len()) {
        apart += a.get(rank).unwrap_or(&0.0) - b.get(rank).unwrap_or(&0.0);
        worst = worst.max(f64::abs(apart));
    }
    worst
}
