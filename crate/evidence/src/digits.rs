//! Numbers of files as short as they are known.

/// Significant digits of a number in a file.
const DIGITS: f64 = 5.0;

/// The nearest number of five significant digits; 0 for what is no number.
pub(super) fn short(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return 0.0;
    }
    // A negative power of ten is not exact: numbers are divided by a positive one.
    let digits = DIGITS - 1.0 - f64::floor(libm::log10(value.abs()));
    let power = libm::pow(10.0, digits.abs());
    if digits >= 0.0 { libm::round(value * power) / power } else { libm::round(value / power) * power }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shortened() {
        for (value, wanted) in [
            (0.0, 0.0),
            (1.0, 1.0),
            (123.456_78, 123.46),
            (-0.000_123_456, -0.000_123_46),
            (139_226.4, 139_230.0),
        ] {
            assert_eq!(short(value), wanted);
        }
    }
}
