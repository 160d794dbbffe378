//! YAML as tools write it, read as the JSON that it stands for: PyYAML's `dump`, and files written by hand. A scalar without quotation
//! marks is what YAML 1.2's core schema says; `.inf` and `.nan` are null, as numbers that are none are in JSON.

use std::collections::BTreeMap;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Tag};
use serde_json::{Map, Value as Json};

/// Deepest nesting of lists and objects, as in JSON.
const MOST_LEVELS: usize = 128;
/// Most values and bytes of text that anchors and aliases may copy: a few lines of aliases can stand for any number of values.
const MOST_COPIED: usize = 1_000_000;

/// Why a text is no YAML.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no YAML: {reason} at line {line} column {column}")]
pub struct NoYaml {
    /// Line, from 1 on.
    pub line: usize,
    /// Column of that line, from 1 on.
    pub column: usize,
    /// What is wrong there.
    pub reason: String,
}

/// Whether a text begins as a YAML object, or a list of them, does: its first line that says anything begins with a key.
pub fn is_like_yaml(text: &str) -> bool {
    let is_said = |line: &&str| !(line.is_empty() || line.starts_with(['#', '%']) || line.starts_with("---"));
    let Some(line) = text.lines().map(str::trim).find(is_said) else { return false };
    let line = line.strip_prefix("- ").map_or(line, str::trim_start);
    let (quote, line) = match line.strip_prefix(['"', '\'']) {
        Some(rest) => (&line[..1], rest),
        None => ("", line),
    };
    let is_end = |behind: &str| behind.is_empty() || behind.starts_with([' ', '\t']);
    line.split_once(&format!("{quote}:")).is_some_and(|(key, behind)| {
        let is_key = |c: char| c.is_alphanumeric() || "_-. ".contains(c);
        !key.is_empty() && key.chars().all(is_key) && is_end(behind)
    })
}

/// Reads documents after one another; of a list alone, its entries.
///
/// # Errors
/// [`NoYaml`] with the place.
pub fn documents(text: &str) -> Result<Vec<Json>, NoYaml> {
    let mut loader = Loader::default();
    loader.load(text)?;
    match &mut loader.documents[..] {
        [Json::Array(entries)] => Ok(std::mem::take(entries)),
        _ => Ok(loader.documents),
    }
}

/// The first document of a text that may be cut off, as far as it goes.
pub(crate) fn beginning(text: &str) -> Json {
    let mut loader = Loader::default();
    let _ = loader.load(text);
    // What is still open ends here.
    while let Some(open) = loader.open.pop() {
        let _ = loader.place(open.finish(), Marker::default());
    }
    loader.documents.into_iter().next().unwrap_or(Json::Null)
}

/// A list or an object that has not ended, and the number of its anchor, 0 without one.
struct Open {
    anchor: usize,
    inside: Inside,
}

enum Inside {
    List(Vec<Json>),
    Object(Map<String, Json>, Option<String>),
}

impl Open {
    fn finish(self) -> Json {
        match self.inside {
            Inside::List(entries) => Json::Array(entries),
            Inside::Object(fields, _) => Json::Object(fields),
        }
    }
}

/// A value that an alias may stand for.
struct Anchored {
    value: Json,
    size: usize,
    levels: usize,
}

#[derive(Default)]
struct Loader {
    documents: Vec<Json>,
    open: Vec<Open>,
    anchors: BTreeMap<usize, Anchored>,
    copied: usize,
}

fn bad(at: Marker, reason: impl Into<String>) -> NoYaml {
    NoYaml { line: at.line(), column: at.col() + 1, reason: reason.into() }
}

impl Loader {
    fn load(&mut self, text: &str) -> Result<(), NoYaml> {
        for event in Parser::new_from_str(text.trim_start_matches('\u{feff}')) {
            let (event, span) = event.map_err(|error| bad(*error.marker(), error.info()))?;
            self.take(event, span.start)?;
        }
        Ok(())
    }

    fn take(&mut self, event: Event<'_>, at: Marker) -> Result<(), NoYaml> {
        match event {
            Event::SequenceStart(anchor, _) => self.begin(anchor, Inside::List(Vec::new()), at),
            Event::MappingStart(anchor, _) => self.begin(anchor, Inside::Object(Map::new(), None), at),
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(open) = self.open.pop() else { return Ok(()) };
                let anchor = open.anchor;
                let value = open.finish();
                self.keep(anchor, &value, at)?;
                self.place(value, at)
            }
            Event::Scalar(text, style, anchor, tag) => {
                let is_plain = style == ScalarStyle::Plain && tag.is_none_or(|tag| !is_text(&tag));
                let is_key = matches!(self.open.last(), Some(Open { inside: Inside::Object(_, None), .. }));
                let value = if is_plain && !is_key { plain(&text) } else { Json::String(text.into_owned()) };
                self.keep(anchor, &value, at)?;
                self.place(value, at)
            }
            Event::Alias(anchor) => {
                let Some(Anchored { value, size, levels }) = self.anchors.get(&anchor) else {
                    return Err(bad(at, "an alias stands inside the value that it names"));
                };
                if self.open.len() + levels > MOST_LEVELS {
                    return Err(too_deep(at));
                }
                let (value, size) = (value.clone(), *size);
                self.copy(size, at)?;
                self.place(value, at)
            }
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => Ok(()),
        }
    }

    fn begin(&mut self, anchor: usize, inside: Inside, at: Marker) -> Result<(), NoYaml> {
        if self.open.len() >= MOST_LEVELS {
            return Err(too_deep(at));
        }
        self.open.push(Open { anchor, inside });
        Ok(())
    }

    /// Puts a value where the next one belongs.
    fn place(&mut self, value: Json, at: Marker) -> Result<(), NoYaml> {
        match self.open.last_mut().map(|open| &mut open.inside) {
            None => {
                // Nothing between two marks of documents is no document.
                self.documents.extend(Some(value).filter(|value| !value.is_null()));
            }
            Some(Inside::List(entries)) => entries.push(value),
            Some(Inside::Object(fields, key)) => match (key.take(), value) {
                // The last one wins, as in JSON.
                (Some(key), value) => drop(fields.insert(key, value)),
                (None, Json::String(text)) => *key = Some(text),
                (None, _) => return Err(bad(at, "a key that is no text")),
            },
        }
        Ok(())
    }

    /// Keeps a value for the aliases of its anchor.
    fn keep(&mut self, anchor: usize, value: &Json, at: Marker) -> Result<(), NoYaml> {
        if anchor == 0 {
            return Ok(());
        }
        let (size, levels) = measure(value);
        self.copy(size, at)?;
        self.anchors.insert(anchor, Anchored { value: value.clone(), size, levels });
        Ok(())
    }

    fn copy(&mut self, size: usize, at: Marker) -> Result<(), NoYaml> {
        self.copied = self.copied.saturating_add(size);
        if self.copied <= MOST_COPIED {
            return Ok(());
        }
        Err(bad(at, format!("anchors and aliases copy more than {MOST_COPIED} values and bytes of text")))
    }
}

fn too_deep(at: Marker) -> NoYaml {
    bad(at, format!("more than {MOST_LEVELS} levels of lists and objects"))
}

/// The values and bytes of text in a value, and its levels of lists and objects.
fn measure(value: &Json) -> (usize, usize) {
    let sum = |(size, levels): (usize, usize), (more, deep): (usize, usize)| (size + more, levels.max(deep));
    match value {
        Json::String(text) => (1 + text.len(), 0),
        Json::Array(entries) => {
            let (size, levels) = entries.iter().map(measure).fold((1, 0), sum);
            (size, levels + 1)
        }
        Json::Object(fields) => {
            let of = |(key, value): (&String, &Json)| sum(measure(value), (key.len(), 0));
            let (size, levels) = fields.iter().map(of).fold((1, 0), sum);
            (size, levels + 1)
        }
        _ => (1, 0),
    }
}

/// Whether a tag makes a scalar a text: `!!str`, or `!` alone.
fn is_text(tag: &Tag) -> bool {
    (tag.is_yaml_core_schema() && tag.suffix == "str") || (tag.handle.is_empty() && tag.suffix == "!")
}

/// What a scalar without quotation marks is.
fn plain(text: &str) -> Json {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Json::Null,
        "true" | "True" | "TRUE" => return Json::Bool(true),
        "false" | "False" | "FALSE" => return Json::Bool(false),
        _ => {}
    }
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if matches!(digits, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return Json::Null;
    }
    let whole = |digits: &str, radix| i64::from_str_radix(digits, radix).ok().map(Json::from);
    let of_radix = [("0x", 16), ("0o", 8)].into_iter().find_map(|(mark, radix)| {
        let digits = text.strip_prefix(mark)?;
        digits.bytes().all(|b| b.is_ascii_alphanumeric()).then(|| whole(digits, radix))?
    });
    let is_number = text.bytes().any(|b| b.is_ascii_digit())
        && text.bytes().all(|b| b.is_ascii_digit() || b"+-.eE".contains(&b));
    let number = || whole(text, 10).or_else(|| text.parse::<u64>().ok().map(Json::from));
    let real = || text.parse::<f64>().ok().filter(|number| number.is_finite()).map(Json::from);
    let number = of_radix.or_else(|| is_number.then(|| number().or_else(real))?);
    number.unwrap_or_else(|| Json::String(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_report_is_what_its_json_is() {
        let text = "# by hand\n---\nversion: '0.2' # quoted\nrun:\n  time:\n    start: 2025-11-05T18:00:42Z\n  on: true\n  \"1\": [1, -2.5, 1.5e+09, .inf, -.INF, .nan, ~, 0x1f, 1e999, 12:30]\nlist:\n- a: 5\n- {b: null, c: }\ntext: |\n  two\n  lines\n? ''\n: !!str 7\n3: 007\n";
        let wanted = json!({
            "version": "0.2",
            "run": {
                "time": {"start": "2025-11-05T18:00:42Z"}, "on": true,
                "1": [1, -2.5, 1.5e9, null, null, null, null, 31, "1e999", "12:30"]
            },
            "list": [{"a": 5}, {"b": null, "c": null}],
            "text": "two\nlines\n",
            "": "7",
            "3": 7,
        });
        assert_eq!(documents(text), Ok(vec![wanted]));
        assert_eq!(
            documents("\u{feff}a: 1\n---\na: 2\n---\n...\n"),
            Ok(vec![json!({"a": 1}), json!({"a": 2})])
        );
        assert_eq!(documents("- a: 1\n- a: 2\n"), Ok(vec![json!({"a": 1}), json!({"a": 2})]));
    }

    #[test]
    fn errors_have_their_place() {
        let error = |text: &str| documents(text).unwrap_err();
        let place = |text: &str| (error(text).line, error(text).column);
        assert_eq!(place("a: 1\nb: [1, 2\nc: 3\n"), (3, 2));
        assert_eq!(place("a: 1\nb:\n  c: \"x\n"), (3, 6));
        assert_eq!(place("a: 1\n? [b]\n: 2\n"), (2, 5));
        assert!(error("a: &x [*x]\n").reason.contains("alias"), "{}", error("a: &x [*x]\n"));
        assert!(error("a: *y\n").to_string().contains("line 1 column"), "{}", error("a: *y\n"));
    }

    #[test]
    fn aliases_stand_for_what_they_name_and_cannot_grow_without_bound() {
        let text = "a: &x {b: [1, &y two]}\nc: *x\n*y : *y\n";
        let wanted = json!({"a": {"b": [1, "two"]}, "c": {"b": [1, "two"]}, "two": "two"});
        assert_eq!(documents(text), Ok(vec![wanted]));
        // Each line stands for nine times the values of the one before it.
        let mut bomb = "a0: &a0 [lol, lol]\n".to_owned();
        for level in 1..30 {
            let before = format!("*a{}", level - 1);
            writeln!(bomb, "a{level}: &a{level} [{}]", [before.as_str(); 9].join(", ")).unwrap();
        }
        let error = documents(&bomb).unwrap_err();
        assert!(error.reason.contains("more than 1000000 values"), "{error}");
        assert_eq!(beginning(&bomb)["a1"][8], json!(["lol", "lol"]));
        let mut deep = "a0: &a0 []\n".to_owned();
        for level in 1..2_000 {
            writeln!(deep, "a{level}: &a{level} [*a{}]", level - 1).unwrap();
        }
        let error = documents(&deep).unwrap_err();
        assert!(error.reason.contains("128 levels") && error.line > 100, "{error}");
    }

    #[test]
    fn deep_and_long_texts_end_in_time() {
        for part in [
            "[", "{", "- ", "{a: ", "[[],", "? ", "&a ", "!!str ", "*a ", "\"", "a:\n ", "a: b\n", "[a, ",
            "# x\n",
        ] {
            let text = part.repeat(200_000 / part.len());
            let _ = (documents(&text), beginning(&text));
        }
        let indented: Vec<String> = (0..600).map(|level| format!("{}a:\n", " ".repeat(level))).collect();
        let indented = indented.concat();
        assert!(documents(&indented).unwrap_err().reason.contains("128 levels"));
    }

    #[test]
    fn a_text_that_is_cut_off_has_what_came_before() {
        let text = "a:\n  b: [1, 2]\n  c:\n  - d: x\n    e: \"long\n";
        for end in 0..=text.len() {
            let json = beginning(&text[..end]);
            assert!(json.is_null() || json.is_object() || json.is_string(), "{json}");
        }
        assert_eq!(beginning(text), json!({"a": {"b": [1, 2], "c": [{"d": "x"}]}}));
    }

    #[test]
    fn what_begins_with_a_key_is_like_yaml() {
        for text in [
            "a: 1",
            "---\n# x\n\nversion: '0.1'\n",
            "metrics:\n  x: 1",
            "- a: 1",
            "\"a b\": 1",
            "%YAML 1.2\n---\na:\n",
        ] {
            assert!(is_like_yaml(text), "{text}");
        }
        for text in
            ["", "dear reader", "https://x.test/#v=3", "a,b:\n1,2", "{a: 1}", "vllm serve m", "# a: 1", "3:4"]
        {
            assert!(!is_like_yaml(text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in "([\\[\\]{}:,\"'&*!|>?#%@a1 \n-]|a: |- |\n  |&x |\\*x |---\n|\\.inf|é)*") {
            let _ = (documents(&text), beginning(&text), is_like_yaml(&text));
        }

        #[test]
        fn what_is_json_is_the_same_as_yaml(texts in prop::collection::vec("[a-zé0-9 :,#-]*", 0..6), number in -1e9..1e9f64) {
            let value = json!({"n": number, "texts": texts, "inside": {"a b": texts.len(), "none": null}});
            prop_assert_eq!(documents(&value.to_string()), Ok(vec![value]));
        }
    }
}
