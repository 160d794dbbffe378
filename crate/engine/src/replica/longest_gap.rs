//! The longest time between two tokens of each request, without a pass over the batch in each iteration.
//!
//! Requests that decode together share their gaps. So the gaps of the batch are kept once, as far as a later one is not at
//! least as long, and a request that leaves looks up the longest one since it joined.

use servescope_workload::RequestId;

use super::requests::Requests;

/// Gaps of a batch whose requests all get a token in each iteration. Both columns are in order: starts ascend, lengths descend.
#[derive(Debug, Clone, Default)]
pub(crate) struct SharedGaps {
    /// (start, length), microseconds.
    gaps: Vec<(f64, f64)>,
}

impl SharedGaps {
    /// A gap that starts at `start_us`, or the longest of some that do from then on. Every request of the batch whose last
    /// token came at `start_us` or before has one that is at least as long; so one that starts before another that is known
    /// belongs to a single request, and is not shared.
    pub(crate) fn add(&mut self, start_us: f64, length_us: f64) {
        if self.gaps.last().is_some_and(|last| start_us < last.0) {
            return;
        }
        while self.gaps.last().is_some_and(|last| last.1 <= length_us) {
            self.gaps.pop();
        }
        self.gaps.push((start_us, length_us));
    }

    /// The longest one that starts at `from_us` or later; 0 where there is none.
    pub(crate) fn longest_from(&self, from_us: f64) -> f64 {
        let first = self.gaps.partition_point(|gap| gap.0 < from_us);
        self.gaps.get(first).map_or(0.0, |gap| gap.1)
    }

    /// The batch is empty.
    pub(crate) fn clear(&mut self) {
        self.gaps.clear();
    }
}

/// The longer one of two times; the first one where they are equal.
#[inline]
pub(crate) fn longer_of(one_us: f64, other_us: f64) -> f64 {
    if other_us > one_us { other_us } else { one_us }
}

impl Requests {
    /// A request waited `gap_us` for a token.
    #[inline]
    pub(crate) fn waited_for_token(&mut self, id: RequestId, gap_us: f64) {
        let longest_us = &mut self[id].longest_gap_us;
        *longest_us = longer_of(*longest_us, gap_us);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_longest_is_that_of_a_pass_over_all(
            gaps in prop::collection::vec((0u32..4, 1u32..9), 0..40), from in 0u32..90,
        ) {
            let mut shared = SharedGaps::default();
            let (mut at, mut longest) = (0, 0);
            for (idle, length) in gaps {
                at += idle;
                shared.add(f64::from(at), f64::from(length));
                longest = if at >= from { longest.max(length) } else { longest };
            }
            prop_assert_eq!(shared.longest_from(f64::from(from)), f64::from(longest));
        }
    }
}
