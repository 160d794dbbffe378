//! How many pairs come in the same order twice, without looking at each pair.

use servescope_workload::statistics::{sort, sort_by_number};

/// Pairs (a, b) with `first[a]` < `first[b]` (1 - `tie`): how many of them have `second[a]` < `second[b]`, and how many there
/// are. Entries without a first value belong to no pair; one without a second value comes before all others.
pub(super) fn in_order(first: &[Option<f64>], second: &[Option<f64>], tie: f64) -> (usize, usize) {
    let mut known: Vec<(f64, Option<f64>)> =
        first.iter().zip(second).filter_map(|(x, &ours)| Some(((*x)?, ours))).collect();
    sort_by_number(&mut known, |pair| pair.0);
    let mut values: Vec<f64> = known.iter().map(|(_, ours)| rank(*ours)).collect();
    sort(&mut values);
    let place = |ours: Option<f64>| values.partition_point(|&value| value < rank(ours));
    // A tree of sums: how many of those that are certainly before have each place.
    let mut sums = vec![0usize; known.len() + 1];
    let (mut right, mut all, mut before) = (0, 0, 0);
    for &(y, ours) in &known {
        while before < known.len() && known[before].0 < y * (1.0 - tie) {
            let mut at = place(known[before].1) + 1;
            while at < sums.len() {
                sums[at] += 1;
                at += at & at.wrapping_neg();
            }
            before += 1;
        }
        all += before;
        let mut at = place(ours);
        while at > 0 {
            right += sums[at];
            at &= at - 1;
        }
    }
    (right, all)
}

fn rank(value: Option<f64>) -> f64 {
    value.unwrap_or(f64::NEG_INFINITY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_counts_what_looking_at_each_pair_counts(
            values in prop::collection::vec((prop::option::of(0u8..20), prop::option::of(0u8..20)), 0..30)
        ) {
            let first: Vec<Option<f64>> = values.iter().map(|pair| pair.0.map(f64::from)).collect();
            let second: Vec<Option<f64>> = values.iter().map(|pair| pair.1.map(f64::from)).collect();
            let mut wanted = (0, 0);
            for a in 0..values.len() {
                for b in 0..values.len() {
                    if let (Some(x), Some(y)) = (first[a], first[b]) && x < y * 0.9 {
                        wanted.0 += usize::from(second[a] < second[b]);
                        wanted.1 += 1;
                    }
                }
            }
            prop_assert_eq!(in_order(&first, &second, 0.1), wanted);
        }
    }
}
