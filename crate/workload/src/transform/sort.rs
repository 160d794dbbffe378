//! `sort`: requests in order of arrival, equal times as they stand.

use super::job::Job;
use super::step::{Run, StepKind};
use crate::trace::Trace;

pub(super) const KIND: StepKind = StepKind {
    name: "sort",
    help: "Puts requests in order of arrival, those of one time in their former order.",
    fields: &[],
    run: Run::Always(run),
};

fn run(job: &mut Job<'_>, mut trace: Trace) -> Trace {
    let moved = trace.sort();
    job.note(if moved { "sorted" } else { "in_order" }, &[]);
    trace
}
