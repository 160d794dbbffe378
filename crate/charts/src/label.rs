//! Tick labels: as short as the step allows, "14.5k" and "0.05", never "100.0".

/// A value as a label; `places` is the number of decimal places that distinguishes it from its neighbours (negative: whole
/// thousands need none of their last three digits), `clock` keeps seconds as they are read, "1200" and not "1.2k".
pub(crate) fn label(value: f64, places: i32, clock: bool) -> String {
    let size = value.abs();
    if size == 0.0 {
        return "0".to_owned();
    }
    if !(1e-3..1e15).contains(&size) {
        return scientific(value, places);
    }
    let (unit, digits, suffix) = if clock && size < 1e5 || size < 1e3 {
        (1.0, 0, "")
    } else if size < 1e6 {
        (1e3, 3, "k")
    } else if size < 1e9 {
        (1e6, 6, "M")
    } else if size < 1e12 {
        (1e9, 9, "G")
    } else {
        (1e12, 12, "T")
    };
    let decimals = (places + digits).clamp(0, 17) as usize;
    let text = format!("{:.decimals$}", value / unit);
    trimmed(&text).to_owned() + suffix
}

fn scientific(value: f64, places: i32) -> String {
    let exponent = f64::floor(libm::log10(value.abs())) as i32;
    let decimals = (places + exponent).clamp(0, 17) as usize;
    let text = format!("{value:.decimals$e}");
    match text.split_once('e') {
        Some((mantissa, exponent)) => format!("{}e{exponent}", trimmed(mantissa)),
        None => text,
    }
}

fn trimmed(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}

/// Width of a text in ems, roughly: asking the browser would lay the page out anew.
pub(crate) fn ems(text: &str) -> f64 {
    text.chars().map(char_ems).sum()
}

/// The text, cut to this many ems and marked so.
pub(crate) fn cut(text: &str, room: f64) -> String {
    if ems(text) <= room {
        return text.to_owned();
    }
    let mut left = room - char_ems('…');
    let kept = text.chars().take_while(|&sign| {
        left -= char_ems(sign);
        left >= 0.0
    });
    let kept: String = kept.collect();
    kept.trim_end().to_owned() + "…"
}

fn char_ems(sign: char) -> f64 {
    match sign {
        '.' | ',' | 'i' | 'l' | 'j' | ' ' | '\'' => 0.3,
        'M' | 'W' | 'm' | 'w' | '…' => 0.9,
        'A'..='Z' => 0.68,
        '\u{2e80}'.. => 1.0,
        _ => 0.57,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_short() {
        for (value, places, text) in [
            (0.0, 1, "0"),
            (100.0, 1, "100"),
            (0.05, 2, "0.05"),
            (0.5, 1, "0.5"),
            (1.0, 1, "1"),
            (-2.5, 1, "-2.5"),
            (1000.0, -3, "1k"),
            (14500.0, -2, "14.5k"),
            (100_000.0, -4, "100k"),
            (1e6, -5, "1M"),
            (2.5e6, -5, "2.5M"),
            (3e9, -9, "3G"),
            (4e12, -12, "4T"),
            (2e15, -15, "2e15"),
            (0.001, 3, "0.001"),
            (0.0001, 4, "1e-4"),
            (1.25e-5, 7, "1.25e-5"),
        ] {
            assert_eq!(label(value, places, false), text);
        }
        assert_eq!(label(1200.0, -2, true), "1200");
        assert_eq!(label(172_800.0, 0, true), "172.8k");
    }

    #[test]
    fn names_are_cut_to_their_room() {
        assert_eq!(cut("rank 8", 10.0), "rank 8");
        assert_eq!(cut("summarise long files", 5.0), "summar…");
        assert_eq!(cut("短请求与长请求", 4.0), "短请求…");
        assert!(ems(&cut("anything at all", 3.0)) <= 3.0);
    }
}
