//! `merge`: traces on one clock. AIBrix's rule: requests of one time stand in the order of the traces.

use super::error::StepError;
use super::job::Job;
use super::joined::{IDENTITY, LABEL, joined};
use super::step::{StepAction, StepKind};
use crate::trace::Trace;

pub(super) const KIND: StepKind = StepKind {
    name: "merge",
    help: "Puts traces into one another by time; requests of one time stand in the order of the traces.",
    fields: &[LABEL, IDENTITY],
    run: StepAction::Many(run),
};

fn run(job: &mut Job<'_>, traces: Vec<(String, Trace)>) -> Result<Trace, StepError> {
    let offsets_us = vec![0.0; traces.len()];
    joined(job, traces, &offsets_us)
}
