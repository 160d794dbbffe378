//! The keys of a JSON text that may be cut off anywhere.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value as Json;

/// Levels of objects whose keys are kept.
const DEPTH: usize = 4;
/// Most keys that are kept.
const MOST_KEYS: usize = 2_000;
/// Most bytes of a path that is kept.
const MOST_BYTES: usize = 200;

/// Paths of keys with dots between, in the order of the text; a list is passed through to its first entry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Outline {
    paths: Vec<String>,
    /// Those of the outermost keys, which may have dots in them.
    outermost: Vec<usize>,
}

impl Outline {
    /// Of the first value of a text, as far as the text goes.
    pub(super) fn of_text(text: &str) -> Self {
        let mut outline = Self::default();
        let mut deserializer = serde_json::Deserializer::from_str(text);
        // Where the text is cut off, what came before is what there is.
        let _ = Level { outline: &mut outline, path: "", depth: DEPTH }.deserialize(&mut deserializer);
        outline
    }

    /// Of a value.
    pub(super) fn of_value(json: &Json) -> Self {
        let mut outline = Self::default();
        let _ = Level { outline: &mut outline, path: "", depth: DEPTH }.deserialize(json);
        outline
    }

    /// Whether a key is there.
    pub(super) fn has(&self, path: &str) -> bool {
        self.paths.iter().any(|known| known == path)
    }

    /// The outermost keys.
    pub(super) fn keys(&self) -> impl Iterator<Item = &str> {
        self.outermost.iter().map(|&place| self.paths[place].as_str())
    }
}

struct Level<'o> {
    outline: &'o mut Outline,
    path: &'o str,
    depth: usize,
}

impl<'de> DeserializeSeed<'de> for Level<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Level<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            let path = if self.path.is_empty() { key } else { format!("{}.{key}", self.path) };
            let is_kept = path.len() <= MOST_BYTES && self.outline.paths.len() < MOST_KEYS;
            if is_kept {
                if self.path.is_empty() {
                    self.outline.outermost.push(self.outline.paths.len());
                }
                self.outline.paths.push(path.clone());
            }
            if is_kept && self.depth > 1 {
                map.next_value_seed(Level { outline: self.outline, path: &path, depth: self.depth - 1 })?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let first = Level { outline: self.outline, path: self.path, depth: self.depth };
        if list.next_element_seed(first)?.is_some() {
            while list.next_element::<IgnoredAny>()?.is_some() {}
        }
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_cut_off_has_the_keys_before() {
        let text = r#"[{"a": 1, "b": {"c": [{"d": "x", "e": 2}, {"f": 3}]}, "g": true, "h": nu"#;
        for end in 0..=text.len() {
            let outline = Outline::of_text(&text[..end]);
            assert!(outline.paths.len() <= 7);
        }
        let outline = Outline::of_text(text);
        assert_eq!(outline.paths, ["a", "b", "b.c", "b.c.d", "b.c.e", "g", "h"]);
        assert_eq!(outline.keys().collect::<Vec<_>>(), ["a", "b", "g", "h"]);
        let whole = serde_json::from_str(&format!("{text}ll}}]")).unwrap();
        assert_eq!(Outline::of_value(&whole), outline);
        let dotted = Outline::of_text(r#"{"workload.rate_rps": 2, "a": {"b": 1}}"#);
        assert_eq!(dotted.keys().collect::<Vec<_>>(), ["workload.rate_rps", "a"]);
    }
}
