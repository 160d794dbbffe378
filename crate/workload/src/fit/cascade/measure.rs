//! What a cascade is fitted to: squared differences of the halves of cells, by width of the cell and class of count.

use super::{BLOCK, Split};
use crate::distribution;

/// Cells that a distribution is fitted to at least, counting each offset of the cells.
const LEAST_CELLS: f64 = 32.0;
/// Offsets at which cells are laid over the source.
const OFFSETS: usize = 4;
/// Largest spread of log-odds: every request in one half.
const MOST_SPREAD: f64 = 200.0;
/// Classes of counts: 2 to 3, 4 to 7, …
const CLASSES: usize = 24;

/// Squared differences of halves, by class of count.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tally {
    cells: f64,
    odd: f64,
    /// Sum of n.
    requests: f64,
    /// Sum of n (n - 1).
    pairs: f64,
    /// Sum of (left - right)^2.
    squares: f64,
}

impl Tally {
    fn add(&mut self, other: &Self) {
        self.cells += other.cells;
        self.odd += other.odd;
        self.requests += other.requests;
        self.pairs += other.pairs;
        self.squares += other.squares;
    }

    /// The distribution with this mean squared difference: for shares p, E (l - r)^2 = n + n (n - 1) E (2p - 1)^2.
    fn split(&self, least: u32) -> Split {
        let excess = (self.squares - self.requests) / self.pairs;
        let even = (self.requests - self.squares) / (self.requests - self.odd).max(1.0);
        Split {
            least,
            spread: spread_of(excess),
            excess,
            even: if excess < 0.0 { even.clamp(0.0, 1.0) } else { 0.0 },
            cells: self.cells / OFFSETS as f64,
        }
    }
}

/// The upper half's standard normal quantile number `place` of `of`.
pub(super) fn quantile(place: usize, of: usize) -> f64 {
    distribution::normal_quantile(0.5 + (place as f64 + 0.5) / (2 * of) as f64)
}

/// The spread of log-odds at which E (2p - 1)^2 has this value.
pub(super) fn spread_of(excess: f64) -> f64 {
    if excess <= 0.0 {
        return 0.0;
    }
    let mean = |spread: f64| {
        let squares = (0..BLOCK).map(|place| {
            let side = libm::tanh(0.5 * spread * quantile(place, BLOCK));
            side * side
        });
        squares.sum::<f64>() / BLOCK as f64
    };
    let (mut low, mut high) = (0.0, MOST_SPREAD);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if mean(middle) < excess { low = middle } else { high = middle }
    }
    high
}

fn class_of(count: u32) -> usize {
    (count.ilog2() as usize).saturating_sub(1).min(CLASSES - 1)
}

/// Squared differences of halves of the cells of one width, laid over times at several offsets.
pub(super) fn tallies(since_s: &[f64], span_s: f64, width_s: f64) -> [Tally; CLASSES] {
    let mut tallies = [Tally::default(); CLASSES];
    for offset in 0..OFFSETS {
        let offset_s = width_s * offset as f64 / OFFSETS as f64;
        let half = |time: f64| ((time + offset_s) / (0.5 * width_s)) as usize;
        for cell in since_s.chunk_by(|&a, &b| half(a) / 2 == half(b) / 2) {
            let number = half(cell[0]) / 2;
            let start_s = number as f64 * width_s - offset_s;
            // Cells that the trace covers in part look one-sided.
            if cell.len() > 1 && start_s >= 0.0 && start_s + width_s <= span_s {
                let left = cell.partition_point(|&time| half(time) == 2 * number) as f64;
                let n = cell.len() as f64;
                let difference = n - 2.0 * left;
                tallies[class_of(cell.len() as u32)].add(&Tally {
                    cells: 1.0,
                    odd: n % 2.0,
                    requests: n,
                    pairs: n * (n - 1.0),
                    squares: difference * difference,
                });
            }
        }
    }
    tallies
}

/// The distributions of cells by class of count, from the busiest class down; one with too few cells joins the next.
pub(super) fn splits(tallies: &[Tally; CLASSES]) -> Vec<Split> {
    let mut splits: Vec<Split> = Vec::new();
    let mut group = Tally::default();
    for (class, tally) in tallies.iter().enumerate().rev() {
        group.add(tally);
        if group.cells >= LEAST_CELLS || (class == 0 && group.cells > 0.0 && splits.is_empty()) {
            splits.push(group.split(2 << class));
            group = Tally::default();
        }
    }
    splits.reverse();
    splits
}
