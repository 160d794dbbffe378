//! Rounding without a call, for processors of the x86-64 baseline have no instruction for [`f64::round`].

/// Numbers from here on are whole.
const ALL_WHOLE: f64 = (1_u64 << 52) as f64;

/// The nearest multiple of a power of two, halves away from 0; of 1 it has the bits of [`f64::round`].
#[inline]
pub(crate) fn nearest_multiple(number: f64, power: f64) -> f64 {
    // From here on every number is a multiple.
    let all_multiples = ALL_WHOLE * power;
    let size = number.abs();
    // What is no number stays as it is, too.
    let is_below = size < all_multiples;
    if !is_below {
        return number;
    }
    // The sum is rounded to a multiple: to the nearest one, and of two that are equally near to the even one.
    let near = (size + all_multiples) - all_multiples;
    let more = if size - near == 0.5 * power { power } else { 0.0 };
    (near + more).copysign(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_the_round_of_the_library(
            number in prop_oneof![-9.0..9.0f64, -4e18..4e18f64, -1e16..1e16f64],
            halves in -1_000_000_i64..1_000_000,
            exponent in -300..300_i32,
        ) {
            let half = halves as f64 / 2.0;
            let power = libm::exp2(f64::from(exponent));
            for x in [number, half, half.next_up(), half.next_down(), -0.0, f64::INFINITY] {
                prop_assert_eq!(nearest_multiple(x, 1.0).to_bits(), x.round().to_bits(), "{}", x);
                let multiple = x.round() * power;
                prop_assert_eq!(nearest_multiple(x * power, power).to_bits(), multiple.to_bits(), "{}", x);
            }
        }
    }
}
