//! Values of JSON and YAML documents with the place at which they stand.

use serde_json::Value as Json;
use servescope_settings::json_text::{self, NoJson};
use servescope_settings::yaml_text::{self, NoYaml, is_like_yaml};

use super::ReadError;
use crate::overlay::measured::{MAX_S, MAX_TOKENS};

/// A JSON document.
pub(super) fn document(text: &str) -> Result<Json, ReadError> {
    json_text::parse(text).map_err(|error| no_json(&error))
}

/// The document on a line of this number.
pub(super) fn document_of_line(text: &str, line: usize) -> Result<Json, ReadError> {
    json_text::parse(text).map_err(|error| no_json(&NoJson { line, ..error }))
}

/// Documents after one another, or in a list; of JSON, or of YAML.
pub(super) fn documents(text: &str) -> Result<Vec<Json>, ReadError> {
    if !is_like_yaml(text) {
        return json_text::documents(text).map_err(|error| no_json(&error));
    }
    yaml_text::documents(text).map_err(|NoYaml { line, column, reason }| {
        ReadError::new(format!("line {line}, column {column}"), format!("no YAML: {reason}"))
    })
}

fn no_json(error: &NoJson) -> ReadError {
    let NoJson { line, column, reason } = error;
    ReadError::new(format!("line {line}, column {column}"), format!("no JSON: {reason}"))
}

/// A value in a document, and where it stands.
#[derive(Clone)]
pub(super) struct JsonField<'a> {
    pub(super) json: &'a Json,
    place: String,
}

/// A value, shortened.
fn shown(json: &Json) -> String {
    match json {
        Json::Array(items) => format!("a list of {}", items.len()),
        Json::Object(_) => "an object".to_owned(),
        other => other.to_string().chars().take(60).collect(),
    }
}

impl<'a> JsonField<'a> {
    /// The whole document.
    pub(super) fn root(json: &'a Json) -> Self {
        Self { json, place: String::new() }
    }

    /// Where it stands.
    pub(super) fn place(&self) -> String {
        self.place.clone()
    }

    fn path(&self, key: &str) -> String {
        if self.place.is_empty() { key.to_owned() } else { format!("{}.{key}", self.place) }
    }

    /// The value of a key; `None` where it is not there or null.
    pub(super) fn get(&self, key: &str) -> Option<JsonField<'a>> {
        let json = self.json.get(key).filter(|json| !json.is_null())?;
        Some(JsonField { json, place: self.path(key) })
    }

    /// The value of a key.
    pub(super) fn need(&self, key: &str) -> Result<JsonField<'a>, ReadError> {
        self.get(key).ok_or_else(|| ReadError::new(self.path(key), "missing"))
    }

    /// The items of a list.
    pub(super) fn items(&self) -> Result<&'a [Json], ReadError> {
        self.json.as_array().map(Vec::as_slice).ok_or_else(|| self.bad("a list"))
    }

    /// An item of a list that the caller has looked at.
    pub(super) fn item(&self, json: &'a Json, place: usize) -> JsonField<'a> {
        JsonField { json, place: format!("{}[{place}]", self.place) }
    }

    /// The error that this is not what was expected.
    pub(super) fn bad(&self, expected: &str) -> ReadError {
        let place = if self.place.is_empty() { "the document" } else { &self.place };
        ReadError::new(place, format!("{} is not {expected}", shown(self.json)))
    }

    /// A number between bounds.
    pub(super) fn number(&self, low: f64, high: f64) -> Result<f64, ReadError> {
        let number = self.json.as_f64().filter(|x| (low..=high).contains(x));
        number.ok_or_else(|| self.bad(&format!("a number from {low} to {high}")))
    }

    /// Seconds, of a value in a unit of this many seconds.
    pub(super) fn seconds(&self, unit_s: f64) -> Result<f64, ReadError> {
        Ok(self.number(0.0, MAX_S / unit_s)? * unit_s)
    }

    /// A number of tokens from 0 on.
    pub(super) fn tokens(&self) -> Result<u32, ReadError> {
        let tokens = self.number(0.0, MAX_TOKENS)?;
        if tokens.fract() == 0.0 {
            return Ok(tokens as u32);
        }
        Err(self.bad("a whole number of tokens"))
    }

    /// A text.
    pub(super) fn text(&self) -> Result<&'a str, ReadError> {
        self.json.as_str().ok_or_else(|| self.bad("a text"))
    }

    /// The times of a list, seconds, each in a unit of this many.
    pub(super) fn times(&self, unit_s: f64) -> Result<Vec<f64>, ReadError> {
        let items = self.items()?;
        items.iter().enumerate().map(|(place, json)| self.item(json, place).seconds(unit_s)).collect()
    }

    /// What stands there, as a setting: a text without its quotation marks, a number, a flag.
    pub(super) fn setting(&self) -> Option<String> {
        match self.json {
            Json::String(text) => Some(text.clone()),
            Json::Number(_) | Json::Bool(_) => Some(self.json.to_string()),
            Json::Null | Json::Array(_) | Json::Object(_) => None,
        }
    }
}
