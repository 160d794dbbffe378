//! Amounts of memory as people and flags write them: `5g`, `512m`, `5GiB`.

/// What stands behind a number, and how many bytes it makes of 1. A small letter is a decimal multiple and a capital one a binary
/// multiple, as in the flags of vLLM (`human_readable_int`); units with a B say which they are.
const UNITS: [(&str, f64); 21] = [
    ("B", 1.0),
    ("k", 1e3),
    ("m", 1e6),
    ("g", 1e9),
    ("t", 1e12),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("TB", 1e12),
    ("K", KIB),
    ("M", MIB),
    ("G", GIB),
    ("T", TIB),
    ("Ki", KIB),
    ("Mi", MIB),
    ("Gi", GIB),
    ("Ti", TIB),
    ("KiB", KIB),
    ("MiB", MIB),
    ("GiB", GIB),
    ("TiB", TIB),
];

const KIB: f64 = 1024.0;
const MIB: f64 = 1024.0 * KIB;
/// Bytes of a GiB.
pub const GIB: f64 = 1024.0 * MIB;
const TIB: f64 = 1024.0 * GIB;

/// The GiB of a text: a bare number is GiB, one with a unit is what the unit says.
///
/// ```
/// use servescope_settings::parameters::byte_size::gib_of;
/// assert_eq!(gib_of("5"), Some(5.0));
/// assert_eq!(gib_of("5g"), Some(5e9 / 1_073_741_824.0));
/// assert_eq!(gib_of("5 GiB"), Some(5.0));
/// assert_eq!(gib_of("5x"), None);
/// ```
pub fn gib_of(text: &str) -> Option<f64> {
    let text = text.trim();
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = &text[number.len()..];
    let amount = number.trim_end().parse::<f64>().ok()?;
    let gib = if unit.is_empty() {
        amount
    } else {
        let (_, factor) = UNITS.iter().find(|(name, _)| *name == unit)?;
        // The product first: it is a whole number of bytes, which a power of two divides without rounding.
        amount * factor / GIB
    };
    Some(gib).filter(|gib| gib.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn small_letters_are_decimal_and_capitals_binary() {
        for (text, bytes) in [
            ("5g", 5e9),
            ("0.5g", 5e8),
            ("512m", 5.12e8),
            ("1500k", 1.5e6),
            ("2t", 2e12),
            ("5G", 5.0 * GIB),
            ("5GiB", 5.0 * GIB),
            ("5 Gi", 5.0 * GIB),
            ("5GB", 5e9),
            (" 512 MiB ", 512.0 * MIB),
            ("5368709120B", 5_368_709_120.0),
            ("2.5", 2.5 * GIB),
        ] {
            assert_eq!(gib_of(text).map(|gib| gib * GIB), Some(bytes), "{text}");
        }
        for text in ["", "g", "5gg", "5gb", "5 5g", "five", "1e400g", "5.5.5g", "infg", "NaN"] {
            assert_eq!(gib_of(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn whole_bytes_are_kept(bytes in 0..(1u64 << 53)) {
            prop_assert_eq!(gib_of(&format!("{bytes}B")).map(|gib| gib * GIB), Some(bytes as f64));
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,12}") {
            prop_assert!(gib_of(&text).is_none_or(f64::is_finite));
        }
    }
}
