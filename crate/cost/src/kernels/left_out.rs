//! How far interpolation is off at rows that it did not see.

use std::collections::BTreeMap;

use super::Grid;
use super::import::{TimedRow, TimedRows, grid, is_eager, is_product};

/// How far interpolation is off at rows that it did not see, of one operator and one range of sizes.
#[derive(Debug, Clone, PartialEq)]
pub struct LeftOutError {
    /// Operator and what it was timed for.
    pub operator: String,
    /// The sizes: the place in [`ranges`], or none for all of them.
    pub range: Option<usize>,
    /// Rows left out.
    pub count: usize,
    /// Median absolute error, a share of the measured time.
    pub median: f64,
    /// 95th percentile of the same.
    pub p95: f64,
    /// Median error with its sign: below 0 where times are too short.
    pub bias: f64,
}

/// Where the efficiency of an operator changes in steps: products at the borders of tiles and waves, attention of prompts that
/// fill no tile, decoding while KV leaves the cache of the GPU. Sizes up to the first bound, up to the second, and above.
const STEPS: [(&str, &str, [f64; 2]); 8] = [
    ("gemm", "tokens", [128.0, 1279.0]),
    ("prefill", "tokens of a prompt", [15.0, 1023.0]),
    ("decode", "KV tokens", [4095.0, 524_288.0]),
    ("moe", "tokens", [15.0, 1023.0]),
    ("latent_prefill", "tokens of a prompt", [15.0, 1023.0]),
    ("latent_decode", "KV tokens", [4095.0, 524_288.0]),
    ("all_reduce", "values", [65_535.0, 8_388_608.0]),
    ("", "values", [65_535.0, 8_388_608.0]),
];

/// What sizes of an operator are counted in, and the two sizes up to which its first two ranges go; the third has all above.
pub fn ranges(operator: &str) -> (&'static str, [f64; 2]) {
    let kind = operator.split(':').next().unwrap_or(operator);
    let found = STEPS.iter().find(|(name, ..)| *name == kind || name.is_empty());
    found.map_or(("values", [0.0; 2]), |(_, unit, bounds)| (*unit, *bounds))
}

/// The size of a row, in the unit of [`ranges`].
fn size(kind: &str, at: &[f64]) -> f64 {
    let last = at.last().copied().unwrap_or(0.0);
    if kind.ends_with("decode") { at.iter().product() } else { last }
}

/// The errors by operator, over all sizes and by range. Products with many numbers of tokens are kept at some of them: the others
/// are rows left out. Of all else every size is kept, so each one between two others is left out by itself, along each axis, and
/// interpolated over a gap that is twice as wide.
pub fn left_out(points: &TimedRows) -> Vec<LeftOutError> {
    let mut errors: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    for (name, points) in points.iter().filter(|(name, points)| !is_eager(name, points)) {
        let parts = if is_product(name) { 2 } else { 1 };
        let kind = name.split(':').take(parts).collect::<Vec<_>>().join(":");
        let Some(grid) = grid(name, points) else { continue };
        let mut found = off_the_knots(name, &grid, points);
        let kept: Vec<&TimedRow> = points.iter().filter(|(at, ..)| is_knot(&grid, at)).collect();
        let axes = if found.is_empty() { grid.axes.len() } else { grid.axes.len() - 1 };
        (0..axes).for_each(|axis| between_others(&kind, &kept, axis, &mut found));
        errors.entry(kind).or_default().extend(found);
    }
    let mut told = Vec::new();
    for (operator, errors) in errors {
        let (_, [low, high]) = ranges(&operator);
        let place = |size: f64| usize::from(size > low) + usize::from(size > high);
        for range in [None, Some(0), Some(1), Some(2)] {
            let of = errors.iter().filter(|(size, _)| range.is_none_or(|range| range == place(*size)));
            told.extend(summed(&operator, range, of.map(|(_, error)| *error).collect()));
        }
    }
    told
}

fn summed(operator: &str, range: Option<usize>, mut errors: Vec<f64>) -> Option<LeftOutError> {
    let quantile =
        |sorted: &[f64], share: f64| sorted.get(((sorted.len() as f64 - 1.0) * share) as usize).copied();
    errors.sort_by(f64::total_cmp);
    let bias = quantile(&errors, 0.5)?;
    errors.iter_mut().for_each(|error| *error = error.abs());
    errors.sort_by(f64::total_cmp);
    let (median, p95) = (quantile(&errors, 0.5)?, quantile(&errors, 0.95)?);
    Some(LeftOutError { operator: operator.to_owned(), range, count: errors.len(), median, p95, bias })
}

fn is_knot(grid: &Grid, at: &[f64]) -> bool {
    grid.axes.iter().zip(at).all(|(axis, x)| axis.contains(x))
}

/// Sizes and errors of the rows of products that lie between the knots of their table.
fn off_the_knots(name: &str, grid: &Grid, points: &[TimedRow]) -> Vec<(f64, f64)> {
    let between = points.iter().filter(|(at, ..)| !is_knot(grid, at) && grid.covers(at));
    between.map(|(at, base, us)| (size(name, at), base * libm::exp(grid.at(at)) / us - 1.0)).collect()
}

/// Sizes and errors of the rows that have one on both sides along an axis, interpolated as iterations do it: decoding in its
/// time, all else in time over roofline.
fn between_others(kind: &str, points: &[&TimedRow], axis: usize, errors: &mut Vec<(f64, f64)>) {
    // Sizes are not negative, so that their bits are in their order; of two rows of one shape the last counts, as in a table.
    let mut lines: BTreeMap<Vec<u64>, BTreeMap<u64, &TimedRow>> = BTreeMap::new();
    for point in points {
        let mut others: Vec<u64> = point.0.iter().map(|x| x.to_bits()).collect();
        let size = others.remove(axis);
        lines.entry(others).or_default().insert(size, point);
    }
    for line in lines.values() {
        let line: Vec<&TimedRow> = line.values().copied().collect();
        for three in line.windows(3) {
            let [(low, low_base, low_us), (at, base, us), (high, high_base, high_us)] = three else {
                continue;
            };
            let told = if kind == "decode" || kind == "latent_decode" {
                let share = (at[axis] - low[axis]) / (high[axis] - low[axis]);
                low_us + (high_us - low_us) * share
            } else {
                let share = libm::log(at[axis] / low[axis]) / libm::log(high[axis] / low[axis]);
                let ends = [libm::log(low_us / low_base), libm::log(high_us / high_base)];
                base * libm::exp(ends[0] + (ends[1] - ends[0]) * share)
            };
            // A size of 0 has no logarithm.
            if told.is_finite() {
                errors.push((size(kind, at), told / us - 1.0));
            }
        }
    }
}
