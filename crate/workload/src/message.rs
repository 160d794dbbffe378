//! English sentences with numbers in them; a page has the same sentences in its own languages.

/// The text with `{name}` replaced by the number of that name.
pub(crate) fn filled(text: &str, params: &[(&'static str, f64)]) -> String {
    params
        .iter()
        .fold(text.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), &short(*value)))
}

/// A whole number as it is, another with four significant digits.
pub(crate) fn short(x: f64) -> String {
    if x == x.trunc() && x.abs() < 1e15 {
        return x.to_string();
    }
    let digits = match x.abs() {
        a if a >= 1000.0 => 0,
        a if a >= 100.0 => 1,
        a if a >= 10.0 => 2,
        a if a >= 1.0 => 3,
        _ => 4,
    };
    format!("{x:.digits$}")
}
