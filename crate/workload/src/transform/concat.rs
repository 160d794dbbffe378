//! `concat`: traces after one another. AIBrix's rule: each starts at the last time before it, with no gap between.

use super::error::StepError;
use super::field::Field;
use super::job::Job;
use super::joined::{IDENTITY, LABEL, joined};
use super::step::{Run, StepKind};
use crate::formats::MAX_ARRIVAL_S;
use crate::trace::Trace;

pub(super) const KIND: StepKind = StepKind {
    name: "concat",
    help: "Puts traces after one another: each starts gap_s after the last request before it.",
    fields: &[
        Field::number("gap_s", "s", [0.0, MAX_ARRIVAL_S], 0.0, "time between traces; 0 is AIBrix's rule"),
        IDENTITY,
        LABEL,
    ],
    run: Run::Many(run),
};

fn run(job: &mut Job<'_>, traces: Vec<(String, Trace)>) -> Result<Trace, StepError> {
    let gap_us = job.number("gap_s") * 1e6;
    let mut offsets_us = Vec::with_capacity(traces.len());
    let mut next_us: Option<f64> = None;
    for (_, trace) in &traces {
        let offset_us = next_us.unwrap_or(0.0);
        offsets_us.push(offset_us);
        // An empty trace changes nothing.
        next_us = trace.arrival_us.last().map(|last| last + offset_us + gap_us).or(next_us);
    }
    for (file, offset_us) in offsets_us.iter().enumerate().skip(1) {
        job.note("offset", &[("file", (file + 1) as f64), ("offset_s", offset_us / 1e6)]);
    }
    joined(job, traces, &offsets_us)
}
