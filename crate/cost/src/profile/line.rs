//! A function by knots, straight between them.
//!
//! Times are tenths of a microsecond, so that a table is written and read with equal bits. Beyond the last knot a line
//! goes on by its mean slope over the upper half of its range, and at least by a tenth of what it would be in proportion:
//! a longer iteration than was profiled costs more, never the same and never less. Before the first knot it is level.

/// Tenths in a microsecond.
pub(super) const TENTHS: f64 = 10.0;

/// Largest number of a table; of a time in tenths of a microsecond a thousand seconds.
pub(super) const MOST_TENTHS: f64 = 1e10;

/// Knots of a function of one quantity: ascending places and times in tenths of a microsecond.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Knots {
    /// Places.
    pub at: Vec<u32>,
    /// Times, tenths of a microsecond.
    pub tenths: Vec<u64>,
}

pub(super) fn tenths(us: f64) -> u64 {
    (us * TENTHS).round().clamp(0.0, MOST_TENTHS) as u64
}

/// How finely knots are set.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fineness {
    /// Most knots.
    pub most: usize,
    /// The relative error that is let pass.
    pub relative: f64,
}

impl Knots {
    /// Sets knots at the points where the error is largest against what is let pass, until none is left: GEMM times are
    /// stairs, whose edges matter. `let_pass_us` may let more pass than `fineness` (a small operator of a long layer).
    pub(super) fn through(
        points: &[(u32, f64)],
        fineness: Fineness,
        let_pass_us: impl Fn(u32) -> f64,
    ) -> Self {
        let pass: Vec<f64> = points
            .iter()
            .map(|p| (fineness.relative * p.1).max(let_pass_us(p.0)).max(1.0 / TENTHS))
            .collect();
        let mut chosen = if points.len() > 1 { vec![0, points.len() - 1] } else { vec![0; points.len()] };
        while chosen.len() < fineness.most {
            let mut worst = (1.0, None);
            for ends in chosen.windows(2) {
                let (from, to) = (points[ends[0]], points[ends[1]]);
                for i in ends[0] + 1..ends[1] {
                    let share = f64::from(points[i].0 - from.0) / f64::from(to.0 - from.0);
                    let off = (from.1 + share * (to.1 - from.1) - points[i].1).abs() / pass[i];
                    if off > worst.0 {
                        worst = (off, Some(i));
                    }
                }
            }
            let Some(i) = worst.1 else { break };
            chosen.insert(chosen.partition_point(|&c| c < i), i);
        }
        Self {
            at: chosen.iter().map(|&i| points[i].0).collect(),
            tenths: chosen.iter().map(|&i| tenths(points[i].1)).collect(),
        }
    }

    /// The line through the knots, with places multiplied by `scale`.
    pub fn line(&self, scale: f64) -> KnotLine {
        let at = self.at.iter().map(|&x| f64::from(x) * scale).collect();
        KnotLine::extended(at, self.tenths.iter().map(|&t| t as f64 / TENTHS).collect())
    }
}

/// A function of one quantity, straight between its knots.
#[derive(Debug, Clone, PartialEq)]
pub struct KnotLine {
    at: KnotIndex,
    us: Vec<f64>,
}

/// Ascending knots, at least two, of which the interval around a number is found at once: an index has the place where the
/// numbers with certain leading bits begin.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct KnotIndex {
    knots: Vec<f64>,
    /// The interval of the smallest number of each bucket; of the first bucket, and of all below it, the first one.
    index: Vec<u32>,
    lowest: u64,
}

/// Leading bits of a number that make its bucket: sign, exponent and four bits of the fraction.
const BUCKET_SHIFT: u32 = 48;

impl KnotIndex {
    pub(super) fn new(knots: Vec<f64>) -> Self {
        let bucket = |x: f64| x.to_bits() >> BUCKET_SHIFT;
        let positive = |x: &&f64| **x > 0.0;
        let ends = knots.iter().find(positive).zip(knots.iter().rev().find(positive));
        let (lowest, highest) = ends.map_or((0, 0), |(&first, &last)| (bucket(first), bucket(last)));
        let mut places = Self { knots, index: vec![0], lowest };
        for bucket in lowest + 1..=highest {
            let (i, _) = places.at(f64::from_bits(bucket << BUCKET_SHIFT));
            places.index.push(i as u32);
        }
        places
    }

    /// The interval for `x`.
    #[inline]
    pub(super) fn interval(&self, x: f64) -> usize {
        // Comparisons, for in wasm the larger of two numbers is a call.
        let bucket =
            (if x > 0.0 { x } else { 0.0 }.to_bits() >> BUCKET_SHIFT).saturating_sub(self.lowest) as usize;
        let mut i = self.index[bucket.min(self.index.len() - 1)] as usize;
        while i + 2 < self.knots.len() && self.knots[i + 1] <= x {
            i += 1;
        }
        i
    }

    /// The interval for `x` and the place in it, above 1 beyond the last.
    #[inline]
    pub(super) fn at(&self, x: f64) -> (usize, f64) {
        let i = self.interval(x);
        let (from, to) = (self.knots[i], self.knots[i + 1]);
        (i, if x > from { (x - from) / (to - from) } else { 0.0 })
    }
}

impl std::ops::Deref for KnotIndex {
    type Target = [f64];

    fn deref(&self) -> &[f64] {
        &self.knots
    }
}

/// What a function is worth at twice its last knot, given its value at half of it.
pub(super) fn doubled(half: f64, last: f64) -> f64 {
    last + (2.0 * (last - half)).max(0.1 * last)
}

impl KnotLine {
    /// 0 everywhere.
    pub fn zero() -> Self {
        Self { at: KnotIndex::new(vec![0.0, 1.0]), us: vec![0.0, 0.0] }
    }

    /// Through ascending places, with a knot at twice the last one.
    fn extended(mut at: Vec<f64>, mut us: Vec<f64>) -> Self {
        let (Some(&end), Some(&last)) = (at.last(), us.last()) else { return Self::zero() };
        let half = if at.len() > 1 {
            Self { at: KnotIndex::new(at.clone()), us: us.clone() }.at(0.5 * end)
        } else {
            last
        };
        at.push(if end > 0.0 { 2.0 * end } else { 1.0 });
        us.push(doubled(half, last));
        Self { at: KnotIndex::new(at), us }
    }

    /// Where its knots are.
    pub(super) fn knots(&self) -> &[f64] {
        &self.at
    }

    /// The interval of knots for `x` and the place in it, above 1 beyond the last.
    pub(super) fn place(&self, x: f64) -> (usize, f64) {
        self.at.at(x)
    }

    /// The function there.
    pub fn at(&self, x: f64) -> f64 {
        let (i, share) = self.place(x);
        self.us[i] + share * (self.us[i + 1] - self.us[i])
    }

    /// The same and `us` more.
    pub(super) fn raised(mut self, us: f64) -> Self {
        self.us.iter_mut().for_each(|u| *u += us);
        self
    }

    /// The sum of lines, which has the knots of all.
    pub(super) fn sum<'a>(lines: impl Iterator<Item = &'a Self> + Clone) -> Self {
        let mut at: Vec<f64> = lines.clone().flat_map(|l| l.at.iter().copied()).collect();
        at.sort_by(f64::total_cmp);
        at.dedup();
        if at.is_empty() {
            return Self::zero();
        }
        let us = at.iter().map(|&x| lines.clone().map(|l| l.at(x)).sum()).collect();
        Self { at: KnotIndex::new(at), us }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FINE: Fineness = Fineness { most: 100, relative: 0.01 };

    #[test]
    fn knots_lie_at_the_edges_of_a_stair() {
        let stair: Vec<(u32, f64)> =
            (1..=64).map(|i| (8 * i, if i <= 32 { 100.0 } else { 150.0 + f64::from(i) })).collect();
        let knots = Knots::through(&stair, FINE, |_| 0.0);
        assert_eq!(knots.at, [8, 256, 264, 512]);
        let line = knots.line(1.0);
        assert_eq!((line.at(1.0), line.at(256.0), line.at(264.0)), (100.0, 100.0, 183.0));
        // 214 at 512 and 100 at 256: the mean slope of the upper half goes on.
        assert!((line.at(1024.0) - (214.0 + 228.0)).abs() < 1e-9);
    }

    #[test]
    fn a_level_line_still_rises_beyond_its_end() {
        let line = Knots { at: vec![1, 100], tenths: vec![40, 40] }.line(1.0);
        assert!((line.at(200.0) - 4.4).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn the_index_finds_what_a_search_finds(
            mut knots in prop::collection::vec(prop_oneof![Just(0.0), 0.0..5e4f64, (0u32..5_000).prop_map(f64::from)], 2..60),
            xs in prop::collection::vec(prop_oneof![-1.0..1e5f64, (0u32..9_000).prop_map(f64::from)], 1..60),
        ) {
            knots.sort_by(f64::total_cmp);
            knots.dedup();
            prop_assume!(knots.len() > 1);
            let places = KnotIndex::new(knots.clone());
            for x in xs.into_iter().chain(knots.iter().copied()).chain([0.0, -0.0, f64::INFINITY, f64::NAN]) {
                let i = knots.partition_point(|&knot| knot <= x).clamp(1, knots.len() - 1) - 1;
                prop_assert_eq!(places.at(x).0, i, "{}", x);
            }
        }

        #[test]
        fn lines_are_within_what_is_let_pass_positive_and_monotone_where_the_points_are(
            mut us in prop::collection::vec(0.1..1e4f64, 2..60), is_sorted in any::<bool>(),
        ) {
            if is_sorted {
                us.sort_by(f64::total_cmp);
            }
            let points: Vec<(u32, f64)> = us.iter().enumerate().map(|(i, &u)| (3 * i as u32 + 1, u)).collect();
            let line = Knots::through(&points, FINE, |_| 0.0).line(1.0);
            for &(x, u) in &points {
                prop_assert!((line.at(f64::from(x)) - u).abs() <= (0.01 * u).max(0.1) + 0.051);
            }
            let end = f64::from(points[points.len() - 1].0);
            let values: Vec<f64> = (0..400).map(|i| line.at(f64::from(i) * end / 100.0)).collect();
            prop_assert!(values.iter().all(|v| *v >= 0.0));
            let from = if is_sorted { 0 } else { 100 };
            prop_assert!(values[from..].windows(2).all(|w| w[1] >= w[0] - 1e-9));
        }
    }
}
