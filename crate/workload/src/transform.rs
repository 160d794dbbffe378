//! A pipeline of steps that turn one trace into another, and steps that put several traces together.
//!
//! Each step is a row of [`STEPS`] or [`JOINS`]: its name, its fields and their bounds. The terminal's help, the check of
//! values and the page's controls all come from there. Every step says what it did in a [`StepEffect`].
//!
//! ```
//! use servescope_workload::{WorkloadSpec, generate, transform::{TransformStep, apply}};
//! let steps = [TransformStep::parse("window:start_s=60,end_s=120").unwrap(), TransformStep::parse("thin:keep=0.5").unwrap()];
//! let (trace, notes) = apply(&steps, generate(&WorkloadSpec::default())).unwrap();
//! assert_eq!(trace.len(), notes[1].after.requests);
//! ```

mod cap_lengths;
mod concat;
mod dequantise;
mod error;
mod field;
mod job;
mod joined;
mod label_adapters;
mod label_users;
mod labelling;
mod merge;
mod note;
mod rate;
mod refusal;
mod sample_sessions;
mod scale_lengths;
mod shift;
mod sort;
mod step;
mod stretch;
mod superpose;
mod thin;
mod window;

pub use error::StepError;
pub use field::{Absence, Field, FieldKind};
pub use note::{FACTS, StepEffect, StepFact, TraceExtent};
pub use refusal::REJECTIONS;
pub use step::{StepKind, TransformStep};

use step::StepAction;

use crate::formats::{MAX_ARRIVAL_S, MAX_ROWS};
use crate::trace::Trace;

/// The steps that change one trace.
pub const STEPS: &[StepKind] = &[
    window::KIND,
    stretch::KIND,
    thin::KIND,
    rate::KIND,
    sample_sessions::KIND,
    scale_lengths::KIND,
    cap_lengths::KIND,
    dequantise::KIND,
    label_users::KIND,
    label_adapters::KIND,
    shift::KIND,
    sort::KIND,
];

/// The steps that put several traces together.
pub const JOINS: &[StepKind] = &[concat::KIND, merge::KIND, superpose::KIND];

/// Takes the steps in order. The second step of a name has other random numbers than the first, and a step that is taken
/// out leaves those of steps of other names as they were.
///
/// # Errors
/// [`StepError`], with the step and its field.
pub fn apply(steps: &[TransformStep], mut trace: Trace) -> Result<(Trace, Vec<StepEffect>), StepError> {
    let mut notes = Vec::with_capacity(steps.len());
    for (place, step) in steps.iter().enumerate() {
        let occurrence =
            steps[..place].iter().filter(|before| before.kind().name == step.kind().name).count();
        let before = TraceExtent::of(&trace);
        let mut job = step.job(occurrence);
        let made = match step.kind().run {
            StepAction::Always(run) => run(&mut job, trace),
            StepAction::One(run) => run(&mut job, trace)?,
            StepAction::Many(_) => return Err(StepError::NeedsSeveral { step: step.kind().name }),
        };
        trace = checked(step, made)?;
        notes.push(StepEffect {
            step: step.kind().name,
            before,
            after: TraceExtent::of(&trace),
            facts: job.facts,
        });
    }
    Ok((trace, notes))
}

/// Puts traces together, each with the name of its file.
///
/// # Errors
/// [`StepError`], with the step and its field.
pub fn join(step: &TransformStep, traces: Vec<(String, Trace)>) -> Result<(Trace, StepEffect), StepError> {
    let StepAction::Many(run) = step.kind().run else {
        return Err(StepError::TakesOne { step: step.kind().name });
    };
    let before = traces.first().map_or_else(TraceExtent::default, |(_, trace)| TraceExtent::of(trace));
    let mut job = step.job(0);
    let (files, requests) = (traces.len(), traces.iter().map(|(_, trace)| trace.len()).sum::<usize>());
    if requests > MAX_ROWS {
        return Err(StepError::TooManyRequests { step: step.kind().name, count: requests, max: MAX_ROWS });
    }
    job.note("joined", &[("files", files as f64), ("requests", requests as f64)]);
    let trace = checked(step, run(&mut job, traces)?)?;
    let note =
        StepEffect { step: step.kind().name, before, after: TraceExtent::of(&trace), facts: job.facts };
    Ok((trace, note))
}

/// What a step made, if a file could hold it.
fn checked(step: &TransformStep, trace: Trace) -> Result<Trace, StepError> {
    let name = step.kind().name;
    let last_s = trace.arrival_us.last().ok_or(StepError::NothingLeft { step: name })? / 1e6;
    if trace.len() > MAX_ROWS {
        return Err(StepError::TooManyRequests { step: name, count: trace.len(), max: MAX_ROWS });
    }
    let cancelled_s = trace.cancellations.last().map_or(0.0, |(at, _)| at / 1e6);
    let chain_s = trace
        .closed_loop
        .iter()
        .flat_map(|closed_loop| closed_loop.think_us.iter().chain([&closed_loop.until_us]));
    let last_s = chain_s.map(|t| t / 1e6).filter(|t| t.is_finite()).fold(last_s.max(cancelled_s), f64::max);
    if last_s > MAX_ARRIVAL_S {
        return Err(StepError::TooLate { step: name, last_s, max: MAX_ARRIVAL_S });
    }
    Ok(trace)
}

#[cfg(test)]
mod tests;
