//! Lengths from bins: each bin has a weight, and the whole numbers inside a bin are alike.

use super::LengthError;

/// Bins of whole numbers with the probability below each.
#[derive(Debug, Clone, PartialEq)]
pub struct LengthTable {
    /// First length of each bin, rising; one more than the last length stands at the end.
    edges: Vec<u32>,
    /// Probability of a length below each edge; from 0 to 1.
    below: Vec<f64>,
}

impl LengthTable {
    /// A histogram from edges and weights in turn: `edge, weight, edge, weight, …, edge`.
    ///
    /// A bin holds the whole numbers from its edge to below the next, the last one its upper edge too, as numpy's
    /// histograms do. Weights need not sum to 1.
    ///
    /// # Errors
    /// [`LengthError`].
    pub fn histogram(numbers: &[f64]) -> Result<Self, LengthError> {
        if numbers.len() < 3 || numbers.len().is_multiple_of(2) {
            return Err(LengthError::NoBins(numbers.len()));
        }
        let (mut edges, mut below): (Vec<u32>, _) = (Vec::new(), vec![0.0]);
        let mut sum = 0.0;
        for pair in numbers.chunks(2) {
            let edge = pair[0];
            if !((1.0..f64::from(u32::MAX)).contains(&edge) && edge.trunc() == edge) {
                return Err(LengthError::BadEdge(edge));
            }
            match edges.last() {
                Some(&last) if edge <= f64::from(last) => {
                    return Err(LengthError::EdgeOrder { lower: last.into(), upper: edge });
                }
                _ => edges.push(edge as u32),
            }
            if let Some(&weight) = pair.get(1) {
                if !(0.0..f64::MAX).contains(&weight) {
                    return Err(LengthError::BadWeight(weight));
                }
                sum += weight;
                below.push(sum);
            }
        }
        // An infinite sum would give NaN below; no single weight is to blame then, but the largest bound is passed.
        if !(sum > 0.0 && sum.is_finite()) {
            return Err(if sum > 0.0 { LengthError::BadWeight(sum) } else { LengthError::NoWeight });
        }
        below.iter_mut().for_each(|b| *b /= sum);
        if let Some(last) = edges.last_mut() {
            *last += 1;
        }
        Ok(Self { edges, below })
    }

    /// Bins whose edges are rising and whose probabilities below go from 0 to 1.
    pub(super) fn new(edges: Vec<u32>, below: Vec<f64>) -> Self {
        Self { edges, below }
    }

    /// The length at the uniform number `u` in (0, 1).
    pub fn quantile(&self, u: f64) -> u32 {
        let bin = self.below.partition_point(|&b| b <= u).clamp(1, self.below.len() - 1) - 1;
        let (first, next) = (self.edges[bin], self.edges[bin + 1]);
        let share = (u - self.below[bin]) / (self.below[bin + 1] - self.below[bin]);
        (first + (share * f64::from(next - first)) as u32).min(next - 1)
    }

    /// The probability of a length below `x`.
    pub fn below(&self, x: u32) -> f64 {
        let next = self.edges.partition_point(|&edge| edge <= x);
        if next == 0 || next == self.edges.len() {
            return if next == 0 { 0.0 } else { 1.0 };
        }
        let (first, last) = (f64::from(self.edges[next - 1]), f64::from(self.edges[next]));
        let (low, high) = (self.below[next - 1], self.below[next]);
        low + (high - low) * (f64::from(x) - first) / (last - first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_half_open_but_for_the_last() {
        let table = LengthTable::histogram(&[8.0, 3.0, 128.0, 0.0, 200.0, 1.0, 201.0]).expect("it is sound");
        assert_eq!([1e-9, 0.75 - 1e-9].map(|u| table.quantile(u)), [8, 127]);
        assert_eq!([0.75, 0.87, 0.88, 1.0 - 1e-16].map(|u| table.quantile(u)), [200, 200, 201, 201]);
        assert_eq!([8, 68, 128, 200, 201, 202].map(|x| table.below(x)), [0.0, 0.375, 0.75, 0.75, 0.875, 1.0]);
    }

    #[test]
    fn unsound_bins_are_refused() {
        for (numbers, error) in [
            (&[1.0, 2.0][..], LengthError::NoBins(2)),
            (&[0.0, 1.0, 2.0], LengthError::BadEdge(0.0)),
            (&[1.5, 1.0, 2.0], LengthError::BadEdge(1.5)),
            (&[5.0, 1.0, 5.0], LengthError::EdgeOrder { lower: 5.0, upper: 5.0 }),
            (&[1.0, -1.0, 5.0], LengthError::BadWeight(-1.0)),
            (&[1.0, 0.0, 5.0], LengthError::NoWeight),
        ] {
            assert_eq!(LengthTable::histogram(numbers), Err(error));
        }
        assert!(LengthTable::histogram(&[1.0, f64::NAN, 5.0]).is_err());
        assert!(LengthTable::histogram(&[1.0, 1e308, 5.0, 1e308, 6.0]).is_err());
    }

    use proptest::strategy::Strategy as _;

    proptest::proptest! {
        #[test]
        fn a_list_is_refused_or_draws_within_its_edges(
            numbers in proptest::collection::vec(proptest::prop_oneof![0.0..20.0f64, (0u32..99).prop_map(f64::from)], 0..9),
            u in 1e-16..1.0f64,
        ) {
            if let Ok(table) = LengthTable::histogram(&numbers) {
                let drawn = f64::from(table.quantile(u));
                proptest::prop_assert!(numbers[0] <= drawn && drawn <= numbers[numbers.len() - 1]);
            }
        }
    }
}
