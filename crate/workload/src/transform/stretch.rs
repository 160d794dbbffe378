//! `stretch`: every time is multiplied, as by AIBrix's `time_scale` and Vidur's factor.

use super::field::Field;
use super::job::Job;
use super::step::{Run, StepKind};
use crate::scale::stretch_time;
use crate::trace::Trace;

pub(super) const KIND: StepKind = StepKind {
    name: "stretch",
    help: "Multiplies every time by a factor: 2 is half the rate, and bursts that last twice as long.",
    fields: &[Field::number("factor", "", [1e-6, 1e6], 1.0, "factor for times")],
    run: Run::Always(run),
};

fn run(job: &mut Job<'_>, mut trace: Trace) -> Trace {
    let factor = job.number("factor");
    stretch_time(&mut trace, factor);
    job.note("stretched", &[("factor", factor)]);
    trace
}
