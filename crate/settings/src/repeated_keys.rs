//! Keys that a JSON text gives twice in one object. Readers of JSON keep the last of them in silence, so that a text must be
//! searched beside being read. The page reads JSON with the browser's reader, the terminal with serde's; this serves both.

use servescope_workload::formats;

use crate::diagnostic::Diagnostic;

/// A [`Diagnostic`] for each key that stands twice in an object of `text`, in the order of the text; none where the text is no JSON.
pub fn repeated_keys(text: &str) -> Vec<Diagnostic> {
    formats::repeated_keys(text).iter().map(|path| repeated(path)).collect()
}

/// The error of a key that is given twice.
pub(crate) fn repeated(path: &str) -> Diagnostic {
    Diagnostic::error("repeated_key", path, format!("{path}: the key is given twice")).text("path", path)
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
