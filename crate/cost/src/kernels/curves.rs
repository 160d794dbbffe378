//! Measured times as functions: of tokens alone, and of requests that decode with this many tokens each.

use super::Grid;
use super::grid::place;

/// Iterations for which a time without bounds is taken to hold at once.
pub(super) const LONG: f64 = (u32::MAX / 4) as f64;

/// Times over one axis of tokens.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TokenCurve {
    pub(super) axis: Vec<f64>,
    /// ln(time / base).
    pub(super) ratios: Vec<f64>,
}

impl TokenCurve {
    pub(super) fn factor(&self, at: f64) -> f64 {
        let (low, share) = place(&self.axis, at);
        let upper = self.ratios.get(low + 1).unwrap_or(&self.ratios[low]);
        libm::exp(self.ratios[low] * (1.0 - share) + upper * share)
    }

    /// The same, and beyond the last knot as far above `other` as it is there.
    pub(super) fn factor_before(&self, other: &Self, at: f64) -> f64 {
        match self.axis.last() {
            Some(&last) if at > last => other.factor(at) * self.factor(last) / other.factor(last),
            _ => self.factor(at),
        }
    }

    /// Products with one matrix.
    pub(super) fn of_matrix(grid: &Grid, outputs: f64, inputs: f64) -> Self {
        let axis = grid.axes[2].clone();
        let ratios = axis.iter().map(|&m| grid.at(&[outputs, inputs, m])).collect();
        Self { axis, ratios }
    }

    pub(super) fn of(grid: &Grid) -> Self {
        Self { axis: grid.axes[0].clone(), ratios: grid.values.clone() }
    }
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
        Self { us: us.collect(), requests, tokens }
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
