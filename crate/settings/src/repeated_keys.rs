//! Keys that a JSON text gives twice in one object. Readers of JSON keep the last of them in silence, so that a text must be
//! searched beside being read. The page reads JSON with the browser's reader, the terminal with serde's; this serves both.

use std::collections::BTreeSet;
use std::iter::Peekable;
use std::str::Chars;

use crate::diagnostic::Diagnostic;

/// An object or a list that is open at the place of reading.
#[derive(Default)]
struct Frame {
    /// The keys so far; `None` for a list.
    keys: Option<BTreeSet<String>>,
    /// The key whose value is under way.
    key: String,
    /// Whether the next text is a key.
    at_key: bool,
}

/// A [`Diagnostic`] for each key that stands twice in an object of `text`, in the order of the text. The text is JSON; in any
/// other text whatever is found means nothing.
pub fn repeated_keys(text: &str) -> Vec<Diagnostic> {
    let mut errors = Vec::new();
    let mut open: Vec<Frame> = Vec::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '{' => open.push(Frame { keys: Some(BTreeSet::new()), at_key: true, ..Frame::default() }),
            '[' => open.push(Frame::default()),
            '}' | ']' => {
                open.pop();
            }
            ',' => {
                if let Some(frame) = open.last_mut() {
                    frame.at_key = frame.keys.is_some();
                }
            }
            '"' => {
                let string = string(&mut rest);
                let Some(frame) = open.last_mut().filter(|frame| frame.at_key) else { continue };
                frame.at_key = false;
                let is_new = frame.keys.as_mut().is_none_or(|keys| keys.insert(string.clone()));
                frame.key = string;
                if !is_new {
                    errors.push(repeated(&path(&open)));
                }
            }
            _ => (),
        }
    }
    errors
}

/// The error of a key that is given twice.
pub(crate) fn repeated(path: &str) -> Diagnostic {
    Diagnostic::error("repeated_key", path, format!("{path}: the key is given twice")).text("path", path)
}

/// The keys down to the place of reading, with dots between.
fn path(open: &[Frame]) -> String {
    let keys: Vec<&str> = open.iter().map(|frame| frame.key.as_str()).filter(|key| !key.is_empty()).collect();
    keys.join(".")
}

/// What is left of a text in quotes, its escapes undone.
fn string(rest: &mut Peekable<Chars<'_>>) -> String {
    let mut string = String::new();
    while let Some(c) = rest.next() {
        match c {
            '"' => break,
            '\\' => match rest.next() {
                Some('u') => {
                    let digits: String =
                        (0..4).filter_map(|_| rest.next_if(char::is_ascii_hexdigit)).collect();
                    let code = u32::from_str_radix(&digits, 16).unwrap_or(0);
                    // Halves of a pair are distinguished by their digits.
                    match char::from_u32(code) {
                        Some(c) => string.push(c),
                        None => string.push_str(&digits.to_ascii_lowercase()),
                    }
                }
                Some(escaped) => string.push(match escaped {
                    'n' => '\n',
                    't' => '\t',
                    'r' => '\r',
                    'b' => '\u{8}',
                    'f' => '\u{c}',
                    other => other,
                }),
                None => break,
            },
            c => string.push(c),
        }
    }
    string
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn paths(text: &str) -> Vec<String> {
        repeated_keys(text).into_iter().map(|error| error.path).collect()
    }

    #[test]
    fn keys_given_twice_are_named_with_their_place() {
        assert_eq!(paths(r#"{"seed": 1, "seed": 2}"#), ["seed"]);
        let nested = r#"{"workload": {"rate_rps": 3, "users": {"count": 1}, "rate_rps": 4}, "scheduler": {}, "workload": {}}"#;
        assert_eq!(paths(nested), ["workload.rate_rps", "workload"]);
        assert_eq!(paths(r#"{"se\u0065d": 1, "seed": "}, {\"seed\": 1"}"#), ["seed"]);
        assert_eq!(paths(r#"[{"a": 1}, {"a": 1, "b": ["a", "a", {"a": "a"}]}]"#), Vec::<String>::new());
        assert_eq!(repeated_keys(r#"{"a":1,"a":2}"#)[0].message, "a: the key is given twice");
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[{}\\[\\],:\"\\\\ua-b0-9\u{e9} ]{0,80}") {
            repeated_keys(&text);
        }

        /// What serde writes has no key twice, and one more of the same is found.
        #[test]
        fn one_more_of_a_key_is_found(keys in prop::collection::btree_set("\\PC{1,6}", 1..8), at in any::<prop::sample::Index>()) {
            let object: serde_json::Map<_, _> = keys.iter().map(|key| (key.clone(), serde_json::json!([key]))).collect();
            let text = serde_json::Value::Object(object).to_string();
            prop_assert_eq!(paths(&text), Vec::<String>::new());
            let key = keys.iter().nth(at.index(keys.len())).expect("it is within");
            let more = format!("{}, {}: 0}}", text.strip_suffix('}').expect("an object"), serde_json::json!(key));
            prop_assert_eq!(paths(&more), [key.clone()]);
        }
    }
}
