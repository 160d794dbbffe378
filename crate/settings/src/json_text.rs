//! JSON as tools write it: Python's `json` puts `NaN` and `Infinity` where RFC 8259 has no number, and some tools append one document
//! after another to the same file.

use std::borrow::Cow;

use serde_json::{Deserializer, Value as Json};

use crate::diagnostic::Diagnostic;

/// Why a text is no JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no JSON: {reason} at line {line} column {column}")]
pub struct NoJson {
    /// Line, from 1 on.
    pub line: usize,
    /// Column of that line, from 1 on.
    pub column: usize,
    /// What is wrong there.
    pub reason: String,
}

impl NoJson {
    fn of(text: &str, error: &serde_json::Error) -> Self {
        let (line, column) = (error.line(), error.column());
        let reason = error.to_string().split(" at line ").next().unwrap_or_default().to_owned();
        let longer = text.lines().nth(line.saturating_sub(1)).map_or(0, |line| grown_before(line, column));
        Self { line, column: column - longer, reason }
    }

    /// The error of a file of this name.
    pub fn in_file(&self, name: &str) -> Diagnostic {
        let Self { line, column, reason } = self;
        Diagnostic::error("bad_json", name, format!("{name}: {self}"))
            .text("reason", &format!("{reason} at line {line} column {column}"))
    }
}

/// The words that are no JSON, and what stands for them.
const NO_NUMBERS: [(&str, &str); 3] = [("-Infinity", "null     "), ("Infinity", "null    "), ("NaN", "null")];

/// The text with null in place of numbers that are none.
pub(crate) fn finite(text: &str) -> Cow<'_, str> {
    if !NO_NUMBERS.iter().any(|(word, _)| text.contains(word)) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len() + 8);
    let (mut rest, mut is_quoted) = (text, false);
    while let Some(at) = rest.find(['"', '\\', '-', 'I', 'N']) {
        let (before, from) = rest.split_at(at);
        plain.push_str(before);
        let word = NO_NUMBERS.iter().find(|(word, _)| !is_quoted && from.starts_with(word));
        let (pushed, length) = match (word, from.as_bytes()[0]) {
            (Some((word, null)), _) => (*null, word.len()),
            (None, b'\\') => {
                let length = from.chars().take(2).map(char::len_utf8).sum();
                (&from[..length], length)
            }
            (None, first) => {
                is_quoted ^= first == b'"';
                (&from[..1], 1)
            }
        };
        plain.push_str(pushed);
        rest = &from[length..];
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

/// By how many columns [`finite`] made the part of a line before a column longer.
fn grown_before(line: &str, column: usize) -> usize {
    let mut grown = 0;
    for (at, _) in line.match_indices("NaN") {
        let is_number = line[..at].trim_end().ends_with([':', ',', '[']);
        grown += usize::from(is_number && at + grown + "null".len() <= column);
    }
    grown
}

/// Reads a document.
///
/// # Errors
/// [`NoJson`] with the place.
pub fn parse(text: &str) -> Result<Json, NoJson> {
    let text = text.trim_start_matches('\u{feff}');
    serde_json::from_str(&finite(text)).map_err(|error| NoJson::of(text, &error))
}

/// Reads the bytes of a document.
///
/// # Errors
/// [`NoJson`] with the place.
pub fn parse_bytes(bytes: &[u8]) -> Result<Json, NoJson> {
    let no_text = |error: std::str::Utf8Error| {
        let before = &bytes[..error.valid_up_to()];
        let line = before.split(|&byte| byte == b'\n').count();
        let column = before.iter().rev().take_while(|&&byte| byte != b'\n').count() + 1;
        NoJson { line, column, reason: "the bytes are not UTF-8".to_owned() }
    };
    parse(std::str::from_utf8(bytes).map_err(no_text)?)
}

/// Reads documents after one another, on lines of their own or not; of a list alone, its entries.
///
/// # Errors
/// [`NoJson`] with the place.
pub fn documents(text: &str) -> Result<Vec<Json>, NoJson> {
    let text = text.trim_start_matches('\u{feff}');
    let plain = finite(text);
    let all: Result<Vec<Json>, _> = Deserializer::from_str(&plain).into_iter().collect();
    let mut all = all.map_err(|error| NoJson::of(text, &error))?;
    match &mut all[..] {
        [Json::Array(entries)] => Ok(std::mem::take(entries)),
        _ => Ok(all),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_that_are_none_are_null_and_texts_stay() {
        let text = r#"{"a": NaN, "b": [Infinity,-Infinity, -1], "NaN": "-Infinity \" NaN \\", "c": "NaN"}"#;
        let wanted = json!({"a": null, "b": [null, null, -1], "NaN": "-Infinity \" NaN \\", "c": "NaN"});
        assert_eq!(parse(text), Ok(wanted));
        for bad in ["NaNs", "[Infinit]", "-", "[--Infinity]", "{\"a\" NaN}", ""] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn places_are_those_of_the_text_as_it_is() {
        let error = parse("{\"x\": 1,\n \"a\": NaN, \"b\": NaN, \"NaN\": 1, \"c\": }").unwrap_err();
        assert_eq!((error.line, error.column), (2, 37), "{error}");
        let error = parse_bytes(b"{\n \"a\": \"\xff\"}").unwrap_err();
        assert_eq!((error.line, error.column), (2, 8));
    }

    #[test]
    fn documents_after_one_another_and_in_a_list_are_the_same() {
        let wanted = Ok(vec![json!({"a": 1}), json!({"a": null})]);
        for text in ["{\"a\": 1}\n{\"a\": NaN}\n", "[{\"a\": 1},\n{\"a\": NaN}]", "{\n\"a\": 1}{\"a\":\nNaN}"]
        {
            assert_eq!(documents(text), wanted, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_json_stays_what_it_is(texts in prop::collection::vec("(NaN|Infinity|-|\\\\|\"|[a-zé ])*", 0..6), number in any::<f64>()) {
            let mut value = json!(texts);
            if number.is_finite() {
                value = json!({"n": number, "texts": texts});
            }
            prop_assert_eq!(parse(&value.to_string()), Ok(value));
        }

        #[test]
        fn no_text_makes_the_reader_panic(text in "([\\[\\]{}:,\"\\\\é \n-]|NaN|Infinity|null|1)*") {
            let _ = (parse(&text), documents(&text));
        }
    }
}
