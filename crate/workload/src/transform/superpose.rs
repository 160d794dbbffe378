//! `superpose`: traces upon each other, each later than the one before by one offset.

use super::error::StepError;
use super::field::Field;
use super::job::Job;
use super::joined::{IDENTITY, LABEL, joined};
use super::step::{Run, StepKind};
use crate::formats::MAX_ARRIVAL_S;
use crate::trace::Trace;

pub(super) const KIND: StepKind = StepKind {
    name: "superpose",
    help: "Lays traces upon each other: the second starts offset_s in, the third twice that, and so on.",
    fields: &[
        Field::number("offset_s", "s", [0.0, MAX_ARRIVAL_S], 0.0, "start of each trace after the one before"),
        IDENTITY,
        LABEL,
    ],
    run: Run::Many(run),
};

fn run(job: &mut Job<'_>, traces: Vec<(String, Trace)>) -> Result<Trace, StepError> {
    let offset_us = job.number("offset_s") * 1e6;
    let offsets_us: Vec<f64> = (0..traces.len()).map(|file| file as f64 * offset_us).collect();
    for (file, offset_us) in offsets_us.iter().enumerate().skip(1) {
        job.note("offset", &[("file", (file + 1) as f64), ("offset_s", offset_us / 1e6)]);
    }
    joined(job, traces, &offsets_us)
}
