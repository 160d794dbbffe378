//! A step with its values, and its text: `thin:keep=0.5,seed=1`.

use super::error::StepError;
use super::field::{Absence, Field, FieldKind, FieldValue};
use super::job::Job;
use super::{JOINS, STEPS};
use crate::trace::Trace;

/// What a step does.
#[derive(Debug, Clone, Copy)]
pub(super) enum StepAction {
    /// Changes one trace, whatever its values.
    Always(fn(&mut Job<'_>, Trace) -> Trace),
    /// Changes one trace, or cannot.
    One(fn(&mut Job<'_>, Trace) -> Result<Trace, StepError>),
    /// Puts several together.
    Many(Join),
}

/// Puts several traces together, each with the name of its file.
type Join = fn(&mut Job<'_>, Vec<(String, Trace)>) -> Result<Trace, StepError>;

/// A kind of step: a row of the table.
#[derive(Debug, Clone, Copy)]
pub struct StepKind {
    /// Its name.
    pub name: &'static str,
    /// What it does, in one sentence.
    pub help: &'static str,
    /// Its fields.
    pub fields: &'static [Field],
    pub(super) run: StepAction,
}

impl StepKind {
    /// The kind called `name`, of [`STEPS`] or [`JOINS`].
    pub fn named(name: &str) -> Option<&'static Self> {
        STEPS.iter().chain(JOINS).find(|kind| kind.name == name)
    }
}

/// A step with its values.
#[derive(Clone)]
pub struct TransformStep {
    kind: &'static StepKind,
    values: Vec<FieldValue>,
}

impl std::fmt::Debug for TransformStep {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.to_text())
    }
}

impl PartialEq for TransformStep {
    fn eq(&self, other: &Self) -> bool {
        self.kind.name == other.kind.name && self.values == other.values
    }
}

impl TransformStep {
    /// A step with its defaults.
    ///
    /// # Errors
    /// [`StepError::UnknownStep`].
    pub fn new(name: &str) -> Result<Self, StepError> {
        let kind = StepKind::named(name).ok_or_else(|| StepError::UnknownStep {
            name: name.to_owned(),
            known: names(STEPS.iter().chain(JOINS).map(|kind| kind.name)),
        })?;
        let default = |field: &Field| match field.default {
            Absence::Number(number) => FieldValue::Number(number),
            Absence::FirstOption => FieldValue::Choice(0),
            Absence::Text(text) => FieldValue::Text(text.to_owned()),
            Absence::Empty => FieldValue::Empty,
        };
        Ok(Self { kind, values: kind.fields.iter().map(default).collect() })
    }

    /// Reads `NAME` or `NAME:FIELD=VALUE,FIELD=VALUE`.
    ///
    /// # Errors
    /// [`StepError`], with the field.
    pub fn parse(text: &str) -> Result<Self, StepError> {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        let mut step = Self::new(name.trim())?;
        let mut said = vec![false; step.values.len()];
        for part in rest.split(',').filter(|part| !part.trim().is_empty()) {
            let (field, value) = part.split_once('=').ok_or_else(|| StepError::NoAssignment {
                step: step.kind.name,
                text: part.trim().to_owned(),
            })?;
            let place = step.place(field.trim())?;
            if std::mem::replace(&mut said[place], true) {
                return Err(StepError::Twice { step: step.kind.name, field: step.kind.fields[place].name });
            }
            step.set(field.trim(), value)?;
        }
        Ok(step)
    }

    /// The text that [`Self::parse`] reads back to an equal step: every field that is not empty.
    pub fn to_text(&self) -> String {
        let mut text = self.kind.name.to_owned();
        let mut mark = ':';
        for field in self.kind.fields {
            let value = self.text_of(field.name).unwrap_or_default();
            if !value.is_empty() {
                text.push(mark);
                text.push_str(field.name);
                text.push('=');
                text.push_str(&value);
                mark = ',';
            }
        }
        text
    }

    /// Its kind.
    pub fn kind(&self) -> &'static StepKind {
        self.kind
    }

    /// What stands in a field, as text; "" where it is empty.
    ///
    /// # Errors
    /// [`StepError::UnknownField`].
    pub fn text_of(&self, field: &str) -> Result<String, StepError> {
        let place = self.place(field)?;
        Ok(match &self.values[place] {
            FieldValue::Empty => String::new(),
            FieldValue::Number(number) => number.to_string(),
            FieldValue::Choice(option) => self.kind.fields[place].options[*option].to_owned(),
            FieldValue::Text(text) => text.clone(),
        })
    }

    /// Puts a value into a field.
    ///
    /// # Errors
    /// [`StepError`], with the bound and the value.
    pub fn set(&mut self, field: &str, text: &str) -> Result<(), StepError> {
        let place = self.place(field)?;
        self.values[place] = parse(self.kind.name, &self.kind.fields[place], text.trim())?;
        Ok(())
    }

    /// The step at work, the `occurrence`-th of its name in the pipeline, from 0.
    pub(super) fn job(&self, occurrence: usize) -> Job<'_> {
        Job::new(self.kind.name, self.kind.fields, &self.values, occurrence)
    }

    /// Where a field stands. Links and files may hold `law` for the field `distribution`.
    fn place(&self, field: &str) -> Result<usize, StepError> {
        let name = if field == "law" { "distribution" } else { field };
        self.kind.fields.iter().position(|f| f.name == name).ok_or_else(|| StepError::UnknownField {
            step: self.kind.name,
            field: field.to_owned(),
            known: names(self.kind.fields.iter().map(|f| f.name)),
        })
    }
}

fn names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

fn parse(step: &'static str, field: &Field, text: &str) -> Result<FieldValue, StepError> {
    let bad = |expected: String| StepError::BadValue {
        step,
        field: field.name,
        expected,
        value: text.chars().take(40).collect(),
    };
    if text.is_empty() && field.default == Absence::Empty {
        return Ok(FieldValue::Empty);
    }
    match field.kind {
        FieldKind::Choice => field
            .options
            .iter()
            .position(|option| *option == text)
            .map(FieldValue::Choice)
            .ok_or_else(|| bad(format!("one of {}", field.options.join(", ")))),
        FieldKind::Text => {
            let plain = !text.is_empty() && !text.contains(|c: char| c == ',' || c.is_control());
            plain
                .then(|| FieldValue::Text(text.to_owned()))
                .ok_or_else(|| bad("a text without commas".to_owned()))
        }
        FieldKind::Number | FieldKind::Whole => {
            let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
            let number = number.ok_or_else(|| bad("a number".to_owned()))? + 0.0;
            if field.kind == FieldKind::Whole && number != number.trunc() {
                return Err(bad("a whole number".to_owned()));
            }
            let (min, max) = (field.min, field.max);
            if number < min || number > max {
                return Err(StepError::OutOfRange { step, field: field.name, value: number, min, max });
            }
            Ok(FieldValue::Number(number))
        }
    }
}
