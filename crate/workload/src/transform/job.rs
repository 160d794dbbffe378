//! A step at work: its values, its random numbers, and the facts that it reports.

use super::error::StepError;
use super::field::{Field, FieldValue};
use super::note::StepFact;
use crate::stream::Stream;

/// Most prefix blocks of a trace that a step makes: 128 MiB of ids.
const MAX_BLOCKS: f64 = 16_777_216.0;

/// A step at work.
pub(super) struct Job<'a> {
    /// The name of the step.
    name: &'static str,
    fields: &'static [Field],
    /// One for each field.
    values: &'a [FieldValue],
    occurrence: usize,
    /// The facts that it reports.
    pub(super) facts: Vec<StepFact>,
}

impl<'a> Job<'a> {
    /// The `occurrence`-th step of its name in the pipeline, from 0.
    pub(super) fn new(
        name: &'static str,
        fields: &'static [Field],
        values: &'a [FieldValue],
        occurrence: usize,
    ) -> Self {
        Self { name, fields, values, occurrence, facts: Vec::new() }
    }

    /// The name of the step.
    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    fn value(&self, field: &str) -> &'a FieldValue {
        let place = self.fields.iter().position(|own| own.name == field);
        place.map_or(&FieldValue::Empty, |place| &self.values[place])
    }

    /// The number in a field that is never empty.
    pub(super) fn number(&self, field: &str) -> f64 {
        self.optional(field).unwrap_or_default()
    }

    /// The number in a field.
    pub(super) fn optional(&self, field: &str) -> Option<f64> {
        if let FieldValue::Number(number) = self.value(field) { Some(*number) } else { None }
    }

    /// The option chosen in a field.
    pub(super) fn choice(&self, field: &str) -> &'static str {
        let options = self.fields.iter().find(|f| f.name == field).map_or(&[][..], |f| f.options);
        match self.value(field) {
            FieldValue::Choice(option) => options.get(*option).copied().unwrap_or(""),
            _ => "",
        }
    }

    /// The text in a field.
    pub(super) fn text(&self, field: &str) -> &'a str {
        if let FieldValue::Text(text) = self.value(field) { text } else { "" }
    }

    /// Its random numbers, by the seed, the name of the step and its occurrence.
    pub(super) fn stream(&self) -> Stream {
        Stream::named(self.number("seed") as u64, &format!("transform {}", self.name())).item(self.occurrence)
    }

    /// Notes a fact about what the step did.
    pub(super) fn note(&mut self, code: &'static str, params: &[(&'static str, f64)]) {
        self.facts.push(StepFact::new(code, params));
    }

    /// Rejects more prefix blocks than fit into memory.
    pub(super) fn require_blocks(&self, count: f64) -> Result<(), StepError> {
        let max = MAX_BLOCKS;
        if count > max { Err(StepError::TooManyBlocks { step: self.name(), count, max }) } else { Ok(()) }
    }

    /// An error about the text in a field.
    pub(super) fn bad(&self, field: &'static str, expected: &str) -> StepError {
        StepError::BadValue {
            step: self.name(),
            field,
            expected: expected.to_owned(),
            value: self.text(field).to_owned(),
        }
    }
}
