//! A step at work: its values, its random numbers, and the facts that it reports.

use super::error::StepError;
use super::note::Fact;
use super::step::{Step, Value};
use crate::stream::Stream;

/// Most prefix blocks of a trace that a step makes: 128 MiB of ids.
const MAX_BLOCKS: f64 = 16_777_216.0;

/// A step at work.
pub(super) struct Job<'a> {
    step: &'a Step,
    occurrence: usize,
    /// The facts that it reports.
    pub(super) facts: Vec<Fact>,
}

impl<'a> Job<'a> {
    /// The `occurrence`-th step of its name in the pipeline, from 0.
    pub(super) fn new(step: &'a Step, occurrence: usize) -> Self {
        Self { step, occurrence, facts: Vec::new() }
    }

    /// The name of the step.
    pub(super) fn name(&self) -> &'static str {
        self.step.kind().name
    }

    /// The number in a field that is never empty.
    pub(super) fn number(&self, field: &str) -> f64 {
        self.optional(field).unwrap_or_default()
    }

    /// The number in a field.
    pub(super) fn optional(&self, field: &str) -> Option<f64> {
        if let Value::Number(number) = self.step.value(field) { Some(*number) } else { None }
    }

    /// The option chosen in a field.
    pub(super) fn choice(&self, field: &str) -> &'static str {
        let options = self.step.kind().fields.iter().find(|f| f.name == field).map_or(&[][..], |f| f.options);
        match self.step.value(field) {
            Value::Choice(option) => options.get(*option).copied().unwrap_or(""),
            _ => "",
        }
    }

    /// The text in a field.
    pub(super) fn text(&self, field: &str) -> &'a str {
        if let Value::Text(text) = self.step.value(field) { text } else { "" }
    }

    /// Its random numbers, by the seed, the name of the step and its occurrence.
    pub(super) fn stream(&self) -> Stream {
        Stream::named(self.number("seed") as u64, &format!("transform {}", self.name())).item(self.occurrence)
    }

    /// Notes a fact about what the step did.
    pub(super) fn note(&mut self, code: &'static str, params: &[(&'static str, f64)]) {
        self.facts.push(Fact::new(code, params));
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
