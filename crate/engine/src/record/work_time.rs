//! How long stages work, summed without rounding: what many iterations add to each of their requests is one number, and a sum is
//! the same in whatever portions it is made.

/// So many parts of a microsecond are counted: an iteration is off by an eighth of a picosecond at most, and 50 days find room.
const PARTS_PER_US: f64 = (1 << 22) as f64;

/// A time, in whole parts of a microsecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct WorkTime(u64);

impl WorkTime {
    /// The nearest to a time in microseconds, which is not negative.
    #[inline]
    pub(crate) fn of_us(us: f64) -> Self {
        // By way of a signed number, to which processors turn a float at once.
        Self((us * PARTS_PER_US + 0.5) as i64 as u64)
    }

    /// The time in microseconds.
    pub(crate) fn us(self) -> f64 {
        self.0 as f64 / PARTS_PER_US
    }
}

impl std::ops::AddAssign for WorkTime {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        self.0 = self.0.saturating_add(other.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_sum_is_the_same_in_any_portions_and_near_that_of_the_times(
            times_us in prop::collection::vec(0.0..1e6f64, 1..40), split in 0usize..40,
        ) {
            let sum = |times_us: &[f64]| {
                let mut sum = WorkTime::default();
                times_us.iter().for_each(|&us| sum += WorkTime::of_us(us));
                sum
            };
            let (first, second) = times_us.split_at(split.min(times_us.len()));
            let mut portions = sum(second);
            portions += sum(first);
            prop_assert_eq!(portions, sum(&times_us));
            let near_us = 1.3e-7 * times_us.len() as f64;
            prop_assert!((portions.us() - times_us.iter().sum::<f64>()).abs() < near_us);
        }
    }
}
