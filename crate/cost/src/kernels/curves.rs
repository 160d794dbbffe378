//! Measured times as functions: of tokens alone, and of requests that decode with this many tokens each.

use super::Grid;
use super::grid::place;

/// Iterations for which a time without bounds is taken to hold at once.
pub(super) const LONG: f64 = (u32::MAX / 4) as f64;

/// Times over one axis of tokens that never fall: fewer tokens can be padded to more, so that no size takes longer than a larger
/// one that was timed.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TokenCurve {
    pub(super) axis: Vec<f64>,
    /// ln(time / base).
    pub(super) ratios: Vec<f64>,
    /// The times, microseconds.
    us: Vec<f64>,
}

impl TokenCurve {
    /// The lower envelope of times over `base`, and no time below `least`.
    fn lowered(
        axis: Vec<f64>,
        ratios: &[f64],
        base: impl Fn(f64) -> f64,
        least: impl Fn(f64) -> f64,
    ) -> Self {
        let mut us: Vec<f64> =
            axis.iter().zip(ratios).map(|(&at, ratio)| base(at) * libm::exp(*ratio)).collect();
        lower(&mut us, 1);
        axis.iter().zip(&mut us).for_each(|(&at, us)| *us = us.max(least(at)));
        let ratios = axis.iter().zip(&us).map(|(&at, us)| libm::log(us / base(at))).collect();
        Self { axis, ratios, us }
    }

    /// Microseconds at a size whose base is `base_us`: between the times of the sizes beside it.
    pub(super) fn us(&self, at: f64, base_us: f64) -> f64 {
        let (low, share) = place(&self.axis, at);
        let Some(upper) = self.ratios.get(low + 1).filter(|_| share > 0.0) else {
            return base_us * libm::exp(self.ratios[low]);
        };
        let us = base_us * libm::exp(self.ratios[low] * (1.0 - share) + upper * share);
        us.clamp(self.us[low], self.us[low + 1].max(self.us[low]))
    }

    /// The same, and beyond the last knot as far above `other` as it is there.
    pub(super) fn us_before(&self, other: &Self, at: f64, base_us: f64) -> f64 {
        match (self.axis.last(), self.ratios.last()) {
            (Some(&last), Some(ratio)) if at > last => {
                let (low, share) = place(&other.axis, last);
                let upper = other.ratios.get(low + 1).unwrap_or(&other.ratios[low]);
                let known = other.ratios[low] * (1.0 - share) + upper * share;
                other.us(at, base_us) * libm::exp(ratio - known).max(1.0)
            }
            _ => self.us(at, base_us),
        }
    }

    /// Products with one matrix: no wider one that was timed takes less.
    pub(super) fn of_matrix(
        grid: &Grid,
        [outputs, inputs]: [f64; 2],
        base: impl Fn(f64, f64, f64) -> f64,
        least: impl Fn(f64) -> f64,
    ) -> Self {
        let axis = grid.axes[2].clone();
        let wider = |axis: &[f64], own: f64| {
            let from = axis.partition_point(|&knot| knot <= own);
            std::iter::once(own).chain(axis[from..].iter().copied().take(WIDER)).collect::<Vec<f64>>()
        };
        let (outputs_of, inputs_of) = (wider(&grid.axes[0], outputs), wider(&grid.axes[1], inputs));
        let ratio = |&m: &f64| {
            let mut us = f64::INFINITY;
            for (n, k) in outputs_of.iter().flat_map(|n| inputs_of.iter().map(move |k| (*n, *k))) {
                us = us.min(base(m, n, k) * libm::exp(grid.at(&[n, k, m])));
            }
            libm::log(us / base(m, outputs, inputs))
        };
        let ratios: Vec<f64> = axis.iter().map(ratio).collect();
        Self::lowered(axis, &ratios, |m| base(m, outputs, inputs), least)
    }

    pub(super) fn of(grid: &Grid, base: impl Fn(f64) -> f64, least: impl Fn(f64) -> f64) -> Self {
        Self::lowered(grid.axes[0].clone(), &grid.values, base, least)
    }
}

/// Knots beyond a matrix that it may be padded to.
const WIDER: usize = 2;

/// Makes no time longer than the next one `stride` places on, within rows of the last axis or between them.
fn lower(us: &mut [f64], stride: usize) {
    for place in (0..us.len().saturating_sub(stride)).rev() {
        us[place] = us[place].min(us[place + stride]);
    }
}

/// The lower envelope of a table over two axes, the second one fastest.
pub(super) fn lowered_over_both(us: &mut [f64], columns: usize) {
    us.chunks_mut(columns).for_each(|row| lower(row, 1));
    lower(us, columns);
}

/// Attention of decoding requests: microseconds over requests and KV tokens of each.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct DecodeTable {
    requests: Vec<f64>,
    tokens: Vec<f64>,
    pub(super) us: Vec<f64>,
}

impl DecodeTable {
    pub(super) fn of(grid: &Grid, base: impl Fn(f64, f64) -> f64) -> Self {
        let (requests, tokens) = (grid.axes[0].clone(), grid.axes[1].clone());
        let at = |i: usize| (requests[i / tokens.len()], tokens[i % tokens.len()]);
        let us = grid.values.iter().enumerate().map(|(i, ratio)| {
            let (requests, tokens) = at(i);
            base(requests, requests * tokens) * libm::exp(*ratio)
        });
        let mut us: Vec<f64> = us.collect();
        lowered_over_both(&mut us, tokens.len());
        Self { requests, tokens, us }
    }

    /// Time of this many requests of this many tokens each, its growth by a token each, and for how many tokens that holds:
    /// linear between knots, the last stretch goes on.
    pub(super) fn at(&self, requests: f64, tokens: f64) -> (f64, f64, f64) {
        let segment = |axis: &[f64], at: f64| {
            let upper = axis.partition_point(|&knot| knot <= at).clamp(1, (axis.len() - 1).max(1));
            (upper - 1, upper.min(axis.len() - 1))
        };
        let share = |axis: &[f64], (low, high): (usize, usize), at: f64| {
            if low == high { 0.0 } else { (at - axis[low]) / (axis[high] - axis[low]) }
        };
        let (r, t) = (segment(&self.requests, requests), segment(&self.tokens, tokens));
        let rows = share(&self.requests, r, requests).max(0.0);
        let columns = share(&self.tokens, t, tokens).max(0.0);
        let row = |i: usize| {
            let (low, high) = (self.us[i * self.tokens.len() + t.0], self.us[i * self.tokens.len() + t.1]);
            (low, (high - low).max(0.0))
        };
        let ((low_a, rise_a), (low_b, rise_b)) = (row(r.0), row(r.1));
        let (low, rise) = (low_a + (low_b - low_a) * rows, rise_a + (rise_b - rise_a) * rows);
        let rise = rise.max(0.0);
        let (from, to) = (self.tokens[t.0], self.tokens[t.1]);
        let growth = if to > from && tokens >= from { rise / (to - from) } else { 0.0 };
        let is_last = t.1 + 1 == self.tokens.len() && tokens >= from;
        let until = if tokens < from { from } else { to };
        let valid_iterations = if is_last { LONG } else { (until - tokens).floor() + 1.0 };
        ((low + rise * columns).max(0.0), growth, valid_iterations.max(1.0))
    }
}
