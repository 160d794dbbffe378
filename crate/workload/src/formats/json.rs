//! Objects of JSON (RFC 8259), with errors that name the line and the key: one a line (JSON Lines), or the entries of one array,
//! or objects after one another that take several lines each.
//!
//! A reader of its own: a general one would weigh as much in the page as the rest of the formats together. Numbers stay
//! text until they are asked for, so that a time is rounded once. `NaN` and `Infinity`, which Python writes, are null.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::table::{exact_shifted, shorten};
use super::text::require_text;
use super::watch::ReadWatch;
use super::{FormatError, MAX_ARRIVAL_S, MAX_ROWS, MAX_TOKENS, without_mark};

/// Deepest nesting of lists and objects.
const MAX_DEPTH: usize = 32;

/// A JSON value that borrows from its line.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Json<'a> {
    Null,
    Flag(bool),
    Number(&'a str),
    Text(Cow<'a, str>),
    List(Vec<Self>),
    Object(Vec<(Cow<'a, str>, Self)>),
}

impl<'a> Json<'a> {
    /// The value of a key of an object.
    pub(crate) fn get(&self, key: &str) -> Option<&Json<'a>> {
        let Self::Object(fields) = self else { return None };
        // The last one wins, as in most readers.
        fields.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// The value at a path of keys with dots between; a key that has dots itself goes first.
    pub(super) fn at_path(&self, path: &str) -> Option<&Json<'a>> {
        if let Some(value) = self.get(path) {
            return Some(value);
        }
        let ends = path.match_indices('.').map(|(end, _)| end);
        ends.into_iter().find_map(|end| self.get(&path[..end])?.at_path(&path[end + 1..]))
    }

    /// The text of a string.
    pub(crate) fn as_text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// Appends the value as JSON, as Python writes it; numbers as they were.
    pub(super) fn push_to(&self, text: &mut String) {
        match self {
            Self::Null => text.push_str("null"),
            Self::Flag(flag) => text.push_str(if *flag { "true" } else { "false" }),
            Self::Number(number) => text.push_str(number),
            Self::Text(value) => push_string(text, value),
            Self::List(entries) => {
                text.push('[');
                for (place, entry) in entries.iter().enumerate() {
                    text.push_str(if place == 0 { "" } else { ", " });
                    entry.push_to(text);
                }
                text.push(']');
            }
            Self::Object(fields) => {
                text.push('{');
                for (place, (key, value)) in fields.iter().enumerate() {
                    text.push_str(if place == 0 { "" } else { ", " });
                    push_string(text, key);
                    text.push_str(": ");
                    value.push_to(text);
                }
                text.push('}');
            }
        }
    }

    /// The value as JSON.
    pub(super) fn to_text(&self) -> String {
        let mut text = String::new();
        self.push_to(&mut text);
        text
    }

    fn shown(&self) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::Flag(flag) => flag.to_string(),
            Self::Number(number) => shorten(number, 40),
            Self::Text(text) => shorten(text, 40),
            Self::List(_) => "a list".to_owned(),
            Self::Object(_) => "an object".to_owned(),
        }
    }
}

/// How the objects of a file lie in it.
enum Layout<'a> {
    /// One a line; a bad line spoils no other.
    Lines(std::iter::Enumerate<std::str::Lines<'a>>),
    /// In one array, or after one another, over several lines.
    Values(Values<'a>),
}

/// The objects of a file; blank lines are left out.
pub(crate) struct Lines<'a> {
    layout: Layout<'a>,
    text: &'a str,
    objects: usize,
    watch: ReadWatch<'a>,
}

/// One object, and where it is.
pub(crate) struct Line<'a> {
    /// Line of the file on which it begins.
    pub(crate) row: u64,
    /// The object, or an object inside it that [`Line::inside`] went to.
    pub(crate) object: Json<'a>,
}

impl<'a> Lines<'a> {
    /// Opens a file.
    pub(crate) fn open(bytes: &'a [u8]) -> Result<Self, FormatError> {
        Ok(Self::of(require_text(without_mark(bytes))?, ReadWatch::default()))
    }

    /// The lines of a text.
    pub(super) fn of(text: &'a str, watch: ReadWatch<'a>) -> Self {
        let layout = if takes_lines(text) {
            Layout::Lines(text.lines().enumerate())
        } else {
            Layout::Values(Values::of(text))
        };
        Self { layout, text, objects: 0, watch }
    }

    /// The same lines from the first one on, without a word about bad ones.
    pub(super) fn again(&self) -> Self {
        Self::of(self.text, ReadWatch::default())
    }

    /// What happened on the way.
    pub(super) fn take_watch(&mut self) -> ReadWatch<'a> {
        std::mem::take(&mut self.watch)
    }

    /// Has every line read by `read`, from `first` on. It must leave nothing of a line that it rejects.
    pub(super) fn each(
        &mut self,
        first: Line<'a>,
        mut read: impl FnMut(Line<'a>) -> Result<(), FormatError>,
    ) -> Result<(), FormatError> {
        let mut next = Some(first);
        while let Some(line) = next {
            if let Err(error) = read(line) {
                self.watch.spoiled(error)?;
            }
            next = self.next_line()?;
        }
        Ok(())
    }

    /// The next line, if any.
    pub(crate) fn next_line(&mut self) -> Result<Option<Line<'a>>, FormatError> {
        loop {
            let (row, start, text, parsed) = match &mut self.layout {
                Layout::Lines(lines) => {
                    let Some((at, line)) = lines.find(|(_, line)| !line.trim().is_empty()) else {
                        return Ok(None);
                    };
                    let start = line.as_ptr() as usize - self.text.as_ptr() as usize;
                    (at as u64 + 1, start, line, None)
                }
                Layout::Values(values) => match values.next() {
                    None => return Ok(None),
                    Some((row, start, value)) => {
                        (row, start, self.text.get(start..values.at()).unwrap_or(""), Some(value))
                    }
                },
            };
            self.watch.reached(start, self.text.len())?;
            self.objects += 1;
            if self.objects > MAX_ROWS {
                return Err(FormatError::TooManyRows { row, max: MAX_ROWS });
            }
            let checked = self.watch.row_text(row, start, text);
            match checked.and_then(|()| parsed.unwrap_or_else(|| object(row, text))) {
                Ok(object) => return Ok(Some(Line { row, object })),
                Err(error) => self.watch.spoiled(error)?,
            }
        }
    }
}

/// Whether every object has a line of its own: where the text is no array, and its first line is whole, or broken off before a
/// line that begins another object.
fn takes_lines(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let Some(first) = lines.next() else { return true };
    if first.starts_with('[') {
        return false;
    }
    let is_broken_off = first.starts_with('{') && Parser::whole(first).is_err_and(|at| at >= first.len());
    if !is_broken_off || (Parser { text, at: 0 }).value(0).is_ok() {
        return !is_broken_off;
    }
    lines.next().is_none_or(|second| second.starts_with('{'))
}

/// Values of an array, or after one another, over several lines.
struct Values<'a> {
    parser: Parser<'a>,
    is_array: bool,
    /// Line of the byte `counted`.
    row: u64,
    counted: usize,
    has_ended: bool,
}

impl<'a> Values<'a> {
    fn of(text: &'a str) -> Self {
        let mut parser = Parser { text, at: 0 };
        let is_array = parser.take(b'[');
        let has_ended = is_array && parser.take(b']');
        Self { parser, is_array, row: 1, counted: 0, has_ended }
    }

    /// The byte behind what was read.
    fn at(&self) -> usize {
        self.parser.at
    }

    /// The line of a byte that is not before the last one asked for.
    fn row_of(&mut self, at: usize) -> u64 {
        let between = self.parser.text.get(self.counted..at).unwrap_or("");
        self.row += between.matches('\n').count() as u64;
        self.counted = at;
        self.row
    }

    /// The next object with its line and its first byte. After an error there is none: nothing says where the next would begin.
    fn next(&mut self) -> Option<(u64, usize, Result<Json<'a>, FormatError>)> {
        self.parser.space();
        let start = self.parser.at;
        if self.has_ended || (start == self.parser.text.len() && !self.is_array) {
            return None;
        }
        let row = self.row_of(start);
        let parsed = self.parser.value(0).and_then(|value| self.behind().map(|()| value));
        let value = match parsed {
            Ok(value @ Json::Object(_)) => Ok(value),
            Ok(other) => Err(bad(row, "entry", "an object", &other)),
            Err(at) => {
                self.has_ended = true;
                self.parser.at = at.min(self.parser.text.len());
                Err(not_json(self.parser.text, at, "a JSON value"))
            }
        };
        Some((row, start, value))
    }

    /// Goes to where the next value of an array begins, or past its end.
    fn behind(&mut self) -> Parsed<()> {
        if !self.is_array || self.parser.take(b',') {
            return Ok(());
        }
        self.parser.expect(b']')?;
        self.parser.space();
        self.has_ended = true;
        if self.parser.at == self.parser.text.len() { Ok(()) } else { Err(self.parser.at) }
    }
}

/// The object on a line.
fn object(row: u64, line: &str) -> Result<Json<'_>, FormatError> {
    match Parser::whole(line) {
        Ok(object @ Json::Object(_)) => Ok(object),
        Ok(other) => Err(bad(row, "line", "a JSON object", &other)),
        Err(at) => Err(FormatError::BadCell {
            row,
            column: format!("byte {}", at + 1),
            expected: "a JSON object",
            value: shorten(line.get(at..).unwrap_or(""), 40),
        }),
    }
}

/// A whole file that is one value, however many lines it takes.
pub(crate) fn document(bytes: &[u8]) -> Result<Json<'_>, FormatError> {
    let text = require_text(without_mark(bytes))?;
    if text.trim().is_empty() {
        return Err(FormatError::EmptyFile);
    }
    Parser::whole(text).map_err(|at| not_json(text, at, "a JSON value"))
}

/// The error that a text is no JSON from a byte on.
fn not_json(text: &str, at: usize, expected: &'static str) -> FormatError {
    let before = text.get(..at).unwrap_or(text);
    let line = before.rfind('\n').map_or(0, |end| end + 1);
    FormatError::BadCell {
        row: before.bytes().filter(|&b| b == b'\n').count() as u64 + 1,
        column: format!("byte {}", at - line + 1),
        expected,
        value: shorten(text.get(at..).unwrap_or("").lines().next().unwrap_or(""), 40),
    }
}

/// Paths of the keys that a document gives twice in one object, with dots between and in the order of the text; none where it is no
/// JSON. Most readers keep the last of them in silence.
pub fn repeated_keys(text: &str) -> Vec<String> {
    fn search(value: &Json<'_>, path: &str, found: &mut Vec<String>) {
        match value {
            Json::List(entries) => entries.iter().for_each(|entry| search(entry, path, found)),
            Json::Object(fields) => {
                let mut keys = BTreeSet::new();
                for (key, value) in fields {
                    let path = if path.is_empty() { key.to_string() } else { format!("{path}.{key}") };
                    if !keys.insert(key) {
                        found.push(path.clone());
                    }
                    search(value, &path, found);
                }
            }
            Json::Null | Json::Flag(_) | Json::Number(_) | Json::Text(_) => (),
        }
    }
    let mut found = Vec::new();
    if let Ok(value) = Parser::whole(text.trim_start_matches('\u{feff}')) {
        search(&value, "", &mut found);
    }
    found
}

/// An error about a value.
pub(crate) fn bad(row: u64, column: &str, expected: &'static str, value: &Json<'_>) -> FormatError {
    FormatError::BadCell { row, column: column.to_owned(), expected, value: value.shown() }
}

impl<'a> Line<'a> {
    /// Whether the object has this key.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.object.get(key).is_some()
    }

    /// The value of a key; null counts as absent.
    pub(crate) fn get(&self, key: &str) -> Option<&Json<'a>> {
        self.object.get(key).filter(|value| **value != Json::Null)
    }

    /// The keys of the object.
    pub(crate) fn keys(&self) -> Vec<&str> {
        let Json::Object(fields) = &self.object else { return Vec::new() };
        fields.iter().map(|(key, _)| key.as_ref()).collect()
    }

    /// The value at a path of keys with dots between; a key that has dots itself goes first.
    pub(super) fn at_path(&self, path: &str) -> Option<&Json<'a>> {
        self.object.at_path(path)
    }

    /// Shows every number and text of the object with its path, those in objects inside included.
    pub(super) fn each_leaf(&self, show: &mut dyn FnMut(&str, &str)) {
        fn leaves(value: &Json<'_>, path: &str, show: &mut dyn FnMut(&str, &str)) {
            match value {
                Json::Number(number) => show(path, number),
                Json::Text(text) => show(path, text),
                Json::Object(fields) => {
                    for (key, value) in fields {
                        let path = if path.is_empty() { key.to_string() } else { format!("{path}.{key}") };
                        leaves(value, &path, show);
                    }
                }
                Json::Null | Json::Flag(_) | Json::List(_) => (),
            }
        }
        leaves(&self.object, "", show);
    }

    /// An error about a key.
    pub(crate) fn bad(&self, key: &str, expected: &'static str) -> FormatError {
        bad(self.row, key, expected, self.object.get(key).unwrap_or(&Json::Null))
    }

    /// The whole number of a key, in `min..=max`; "12.0" counts as whole.
    pub(crate) fn whole(&self, key: &str, min: u32, max: u32) -> Result<u32, FormatError> {
        whole(self.row, key, self.get(key).unwrap_or(&Json::Null), min.into(), max.into()).map(|v| v as u32)
    }

    /// A length in tokens; 0 is a request that failed.
    pub(crate) fn tokens(&self, key: &str) -> Result<u32, FormatError> {
        self.whole(key, 0, MAX_TOKENS)
    }

    /// A number that is not negative.
    pub(crate) fn number(&self, key: &str) -> Result<f64, FormatError> {
        let Some(Json::Number(text)) = self.get(key) else { return Err(self.bad(key, "a number")) };
        let value: f64 = text.parse().map_err(|_| self.bad(key, "a number"))?;
        if (0.0..=f64::MAX).contains(&value) {
            return Ok(value);
        }
        let (row, column, value) = (self.row, key.to_owned(), shorten(text, 40));
        Err(FormatError::OutOfRange { row, column, value, min: 0.0, max: f64::MAX })
    }

    /// A time as microseconds; one unit of it is `10^exponent` microseconds.
    pub(crate) fn time_us(&self, key: &str, exponent: i32) -> Result<f64, FormatError> {
        let text = match self.get(key) {
            Some(Json::Number(text)) => text,
            Some(Json::Text(text)) => text.as_ref(),
            _ => return Err(self.bad(key, "a time")),
        };
        let us = exact_shifted(text, exponent).ok_or_else(|| self.bad(key, "a time"))?;
        if (0.0..=MAX_ARRIVAL_S * 1e6).contains(&us) {
            return Ok(us);
        }
        let max = MAX_ARRIVAL_S * libm::pow(10.0, f64::from(6 - exponent));
        Err(FormatError::OutOfRange {
            row: self.row,
            column: key.to_owned(),
            value: shorten(text, 40),
            min: 0.0,
            max,
        })
    }

    /// A name: a string, or a number as it is written.
    pub(crate) fn name(&self, key: &str) -> Result<Option<&str>, FormatError> {
        match self.get(key) {
            None => Ok(None),
            Some(Json::Text(text)) => Ok(Some(text)),
            Some(Json::Number(number)) => Ok(Some(number)),
            Some(_) => Err(self.bad(key, "a name")),
        }
    }

    /// The ids of prefix blocks; `None` where the key is absent.
    pub(crate) fn ids(&self, key: &str) -> Result<Option<Vec<u64>>, FormatError> {
        match self.get(key) {
            None => Ok(None),
            Some(Json::List(entries)) => entries
                .iter()
                .map(|id| whole(self.row, key, id, 0, u64::MAX))
                .collect::<Result<_, _>>()
                .map(Some),
            Some(_) => Err(self.bad(key, "a list of whole numbers")),
        }
    }

    /// The object of a key, as a line of the same row.
    pub(crate) fn object_of(&mut self, key: &str) -> Result<Line<'a>, FormatError> {
        let row = self.row;
        let Json::Object(fields) = &mut self.object else { return Err(self.bad(key, "an object")) };
        match fields.iter_mut().rev().find(|(name, _)| name == key) {
            Some((_, object @ Json::Object(_))) => {
                Ok(Line { row, object: std::mem::replace(object, Json::Null) })
            }
            _ => Err(self.bad(key, "an object")),
        }
    }

    /// The objects in the list of a key, each as a line of the same row.
    pub(crate) fn inside(&mut self, key: &str) -> Result<Vec<Line<'a>>, FormatError> {
        let row = self.row;
        let expected = "a list of objects";
        let Json::Object(fields) = &mut self.object else { return Ok(Vec::new()) };
        let value = fields.iter_mut().rev().find(|(name, _)| name == key).map(|(_, value)| value);
        let Some(Json::List(entries)) = value else { return Err(self.bad(key, expected)) };
        let entry = |object| match object {
            Json::Object(_) => Ok(Line { row, object }),
            other => Err(bad(row, key, expected, &other)),
        };
        std::mem::take(entries).into_iter().map(entry).collect()
    }
}

/// A whole number in `min..=max`; "12.0" counts as whole.
pub(super) fn whole(
    row: u64,
    column: &str,
    value: &Json<'_>,
    min: u64,
    max: u64,
) -> Result<u64, FormatError> {
    let Json::Number(text) = value else { return Err(bad(row, column, "a whole number", value)) };
    let out_of_range = || FormatError::OutOfRange {
        row,
        column: column.to_owned(),
        value: shorten(text, 40),
        min: min as f64,
        max: max as f64,
    };
    if let Ok(number) = text.parse::<u64>() {
        return if (min..=max).contains(&number) { Ok(number) } else { Err(out_of_range()) };
    }
    let number: f64 = text.parse().map_err(|_| bad(row, column, "a whole number", value))?;
    if number != number.trunc() {
        return Err(bad(row, column, "a whole number", value));
    }
    // 2^53: above it not every whole number has a double.
    if number < min as f64 || number > max.min(1 << 53) as f64 {
        return Err(out_of_range());
    }
    Ok(number as u64)
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

/// A value, or the byte at which it is none.
type Parsed<T> = Result<T, usize>;

impl<'a> Parser<'a> {
    fn whole(text: &'a str) -> Parsed<Json<'a>> {
        let mut parser = Self { text, at: 0 };
        let value = parser.value(0)?;
        parser.space();
        if parser.at == text.len() { Ok(value) } else { Err(parser.at) }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn take(&mut self, wanted: u8) -> bool {
        self.space();
        let there = self.peek() == Some(wanted);
        self.at += usize::from(there);
        there
    }

    fn expect(&mut self, wanted: u8) -> Parsed<()> {
        if self.take(wanted) { Ok(()) } else { Err(self.at) }
    }

    fn value(&mut self, depth: usize) -> Parsed<Json<'a>> {
        self.space();
        match self.peek().ok_or(self.at)? {
            _ if depth > MAX_DEPTH => Err(self.at),
            b'{' => {
                self.at += 1;
                let mut fields = Vec::new();
                if self.take(b'}') {
                    return Ok(Json::Object(fields));
                }
                loop {
                    self.space();
                    let key = self.string()?;
                    self.expect(b':')?;
                    fields.push((key, self.value(depth + 1)?));
                    if !self.take(b',') {
                        break;
                    }
                }
                self.expect(b'}')?;
                Ok(Json::Object(fields))
            }
            b'[' => {
                self.at += 1;
                let mut entries = Vec::new();
                if self.take(b']') {
                    return Ok(Json::List(entries));
                }
                loop {
                    entries.push(self.value(depth + 1)?);
                    if !self.take(b',') {
                        break;
                    }
                }
                self.expect(b']')?;
                Ok(Json::List(entries))
            }
            b'"' => Ok(Json::Text(self.string()?)),
            _ => self.word(),
        }
    }

    fn word(&mut self) -> Parsed<Json<'a>> {
        let rest = &self.text[self.at..];
        let end = rest.find([',', ']', '}', ' ', '\t', '\r', '\n']).unwrap_or(rest.len());
        let word = &rest[..end];
        let value = match word {
            "null" | "NaN" | "Infinity" | "-Infinity" => Json::Null,
            "true" => Json::Flag(true),
            "false" => Json::Flag(false),
            _ if is_number(word) => Json::Number(word),
            _ => return Err(self.at),
        };
        self.at += end;
        Ok(value)
    }

    fn string(&mut self) -> Parsed<Cow<'a, str>> {
        self.expect(b'"')?;
        let start = self.at;
        let mut owned: Option<String> = None;
        loop {
            let rest = &self.text[self.at..];
            let plain = rest.find(['"', '\\']).ok_or(self.text.len())?;
            if let Some(owned) = &mut owned {
                owned.push_str(&rest[..plain]);
            }
            self.at += plain;
            if self.peek() == Some(b'"') {
                self.at += 1;
                return Ok(owned.map_or_else(|| Cow::Borrowed(&self.text[start..self.at - 1]), Cow::Owned));
            }
            let text = owned.get_or_insert_with(|| self.text[start..self.at].to_owned());
            self.at += 1;
            let escape = self.text.as_bytes().get(self.at).copied().ok_or(self.at)?;
            self.at += 1;
            text.push(match escape {
                b'"' | b'\\' | b'/' => char::from(escape),
                b'b' => '\u{8}',
                b'f' => '\u{c}',
                b'n' => '\n',
                b'r' => '\r',
                b't' => '\t',
                b'u' => {
                    let first = hex(self.text, &mut self.at)?;
                    let mut code = first;
                    if (0xd800..0xdc00).contains(&first) && self.text[self.at..].starts_with("\\u") {
                        let mut after = self.at + 2;
                        let second = hex(self.text, &mut after)?;
                        if (0xdc00..0xe000).contains(&second) {
                            code = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                            self.at = after;
                        }
                    }
                    // A lone surrogate is no character; Python writes them all the same.
                    char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
                }
                _ => return Err(self.at - 1),
            });
        }
    }
}

/// The four hexadecimal digits of an escape at `at`.
fn hex(text: &str, at: &mut usize) -> Parsed<u32> {
    let digits = text.get(*at..*at + 4).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit())).ok_or(*at)?;
    *at += 4;
    u32::from_str_radix(digits, 16).map_err(|_| *at)
}

/// Whether a word is a number: an optional sign, digits, at most one point and one exponent.
fn is_number(word: &str) -> bool {
    word.len() <= 400
        && word.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'-' | b'+' | b'.' | b'e' | b'E'))
        && word.parse::<f64>().is_ok_and(f64::is_finite)
}

/// Whether a text is a number as JSON writes one; the reader takes more.
pub(crate) fn is_json_number(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let text = text.strip_prefix('-').unwrap_or(text);
    let (rest, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = rest.split_once('.').unwrap_or((rest, "0"));
    let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    digits(whole) && (whole == "0" || !whole.starts_with('0')) && digits(fraction) && digits(exponent)
}

/// Appends a string in quotes.
pub(crate) fn push_string(text: &mut String, value: &str) {
    text.push('"');
    for c in value.chars() {
        match c {
            '"' | '\\' => text.extend(['\\', c]),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            c if c < ' ' => {
                let _ = write!(text, "\\u{:04x}", u32::from(c));
            }
            c => text.push(c),
        }
    }
    text.push('"');
}

/// Appends `, "key": [ids]`.
pub(crate) fn push_ids(text: &mut String, key: &str, ids: &[u64]) {
    text.push_str(", \"");
    text.push_str(key);
    text.push_str("\": [");
    for (place, id) in ids.iter().enumerate() {
        text.push_str(if place == 0 { "" } else { ", " });
        text.push_str(&id.to_string());
    }
    text.push(']');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values() {
        let line = r#" {"a":[1,-2.5e3,true,null,NaN],"b":"x\"\u00e9\ud83d\ude00\n","c":{}, "a": 7} "#;
        let json = Parser::whole(line).unwrap();
        assert_eq!(json.get("a"), Some(&Json::Number("7")));
        assert_eq!(json.get("b").and_then(Json::as_text), Some("x\"é😀\n"));
        assert_eq!(json.get("c"), Some(&Json::Object(Vec::new())));
        for bad in ["", "{", "{\"a\"}", "[1,]", "\"x", "{\"a\":1}}", "\"\\q\"", "\"\\u12\"", "1e999", "tru"] {
            assert!(Parser::whole(bad).is_err(), "{bad}");
        }
        assert!(Parser::whole(&"[".repeat(100_000)).is_err());
    }

    #[test]
    fn numbers_of_json() {
        assert!(["0", "-7", "10.50", "1e9", "-0.1E-3"].into_iter().all(is_json_number));
        assert!(
            !["", "-", "01", "1.", ".5", "+1", "1e", "0x1", "1_0", "NaN"].into_iter().any(is_json_number)
        );
    }

    #[test]
    fn strings_are_read_as_they_were_written() {
        for text in ["", "a\"b\\c\n\t\u{1}é😀"] {
            let mut written = String::new();
            push_string(&mut written, text);
            assert_eq!(Parser::whole(&written).unwrap().as_text(), Some(text));
        }
    }
}
