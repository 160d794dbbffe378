//! Rounding without a call, for processors of the x86-64 baseline have no instruction for [`f64::round`]; and what a division by a power
//! of two is without a division.

/// Numbers from here on are whole, and what is no number stays as it is.
const ALL_WHOLE: f64 = (1_u64 << 52) as f64;

/// The nearest whole number, halves away from 0: the bits of [`f64::round`].
#[inline]
pub(crate) fn nearest_whole(number: f64) -> f64 {
    let has_fraction = number.abs() < ALL_WHOLE;
    if !has_fraction {
        return number;
    }
    let whole = number as i64 as f64;
    let rest = number - whole;
    let further = if rest.abs() >= 0.5 { 1.0_f64.copysign(rest) } else { 0.0 };
    (whole + further).copysign(number)
}

/// The inverse of a power of two, which is exact: a product with it is the quotient, and no division.
#[inline]
pub(crate) fn inverse(power: f64) -> f64 {
    const EXPONENTS_OF_BOTH: u64 = 2046 << 52;
    f64::from_bits(EXPONENTS_OF_BOTH.wrapping_sub(power.to_bits()))
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
        ) {
            for x in [number, halves as f64 / 2.0, (halves as f64 / 2.0).next_up(), (halves as f64 / 2.0).next_down(), -0.0, f64::INFINITY] {
                prop_assert_eq!(nearest_whole(x).to_bits(), x.round().to_bits(), "{}", x);
            }
        }
    }
}
