//! `shift`: every time plus a constant.

use super::error::StepError;
use super::field::Field;
use super::job::Job;
use super::step::{Run, StepKind};
use crate::formats::MAX_ARRIVAL_S;
use crate::scale::shift_time;
use crate::trace::Trace;

pub(super) const KIND: StepKind = StepKind {
    name: "shift",
    help: "Moves every time by a number of seconds.",
    fields: &[Field::number(
        "by_s",
        "s",
        [-MAX_ARRIVAL_S, MAX_ARRIVAL_S],
        0.0,
        "seconds; negative is earlier",
    )],
    run: Run::One(run),
};

fn run(job: &mut Job<'_>, mut trace: Trace) -> Result<Trace, StepError> {
    let by_s = job.number("by_s");
    shift_time(&mut trace, by_s * 1e6);
    job.note("shifted", &[("by_s", by_s)]);
    match trace.arrival_us.first() {
        Some(&first) if first < 0.0 => Err(StepError::BeforeStart { step: job.name(), first_s: first / 1e6 }),
        _ => Ok(trace),
    }
}
