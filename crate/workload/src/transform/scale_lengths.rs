//! `scale_lengths`: lengths times a factor, rounded to the nearest whole number with halves up, and never below 1.
//!
//! A prompt that becomes shorter loses its last prefix blocks; one that becomes longer ends in text that no other prompt shares.

use super::error::StepError;
use super::field::Field;
use super::job::Job;
use super::step::{StepAction, StepKind};
use crate::formats::MAX_TOKENS;
use crate::trace::Trace;

pub(super) const KIND: StepKind = StepKind {
    name: "scale_lengths",
    help: "Multiplies prompt and output lengths, rounded to the nearest whole number, halves up, and never below 1.",
    fields: &[
        Field::number("input", "", [1e-6, 1e6], 1.0, "factor for prompt lengths"),
        Field::number("output", "", [1e-6, 1e6], 1.0, "factor for output lengths and max_tokens"),
    ],
    run: StepAction::One(run),
};

fn run(job: &mut Job<'_>, mut trace: Trace) -> Result<Trace, StepError> {
    let mut bounded = 0usize;
    let mut scale = |column: &mut [u32], factor: f64| {
        for length in column.iter_mut().filter(|_| factor != 1.0) {
            let scaled = f64::from(*length) * factor + 0.5;
            bounded += usize::from(scaled >= f64::from(MAX_TOKENS) + 1.0);
            *length = scaled.clamp(1.0, MAX_TOKENS.into()) as u32;
        }
    };
    let before = trace.input_tokens.clone();
    scale(&mut trace.input_tokens, job.number("input"));
    scale(&mut trace.output_tokens, job.number("output"));
    scale(&mut trace.max_tokens, job.number("output"));
    job.note("scaled_lengths", &[]);
    if bounded > 0 {
        job.note("lengths_bounded", &[("lengths", bounded as f64), ("max", MAX_TOKENS.into())]);
    }
    fit_blocks(job, &mut trace, &before)?;
    Ok(trace)
}

/// Makes prefix blocks follow prompts that had the lengths `before`, and reports what that changed.
pub(super) fn fit_blocks(job: &mut Job<'_>, trace: &mut Trace, before: &[u32]) -> Result<(), StepError> {
    let Some(metadata) = trace.metadata.as_mut().filter(|metadata| !metadata.prefix.is_empty()) else {
        return Ok(());
    };
    let size = metadata.prefix.block_tokens.max(1);
    job.require_blocks(trace.input_tokens.iter().map(|tokens| f64::from(tokens.div_ceil(size))).sum())?;
    let tells_outputs = !metadata.prefix.outputs.is_empty();
    let (cut, added) = metadata.prefix.fit(before, &trace.input_tokens);
    if tells_outputs {
        trace.name_outputs();
    }
    if cut > 0 {
        job.note("blocks_cut", &[("requests", cut as f64)]);
    }
    if added > 0 {
        job.note("blocks_added", &[("requests", added as f64)]);
    }
    Ok(())
}
