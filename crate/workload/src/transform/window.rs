//! `window`: the requests of a stretch of time, its start included and its end not.

use super::field::Field;
use super::job::Job;
use super::step::{Run, StepKind};
use crate::formats::MAX_ARRIVAL_S;
use crate::scale::shift_time;
use crate::trace::Trace;

pub(super) const KIND: StepKind = StepKind {
    name: "window",
    help: "Keeps the requests that arrive from start_s on and before end_s.",
    fields: &[
        Field::number("start_s", "s", [0.0, MAX_ARRIVAL_S], 0.0, "start of the window"),
        Field::number("end_s", "s", [0.0, MAX_ARRIVAL_S], 0.0, "end of the window; empty: none").or_empty(),
        Field::choice("rezero", &["yes", "no"], "whether times count from the start of the window"),
    ],
    run: Run::Always(run),
};

fn run(job: &mut Job<'_>, trace: Trace) -> Trace {
    let start_s = job.number("start_s");
    let first = trace.arrival_us.partition_point(|&t| t < start_s * 1e6);
    let end =
        job.optional("end_s").map_or(trace.len(), |s| trace.arrival_us.partition_point(|&t| t < s * 1e6));
    let places: Vec<u32> = (first as u32..end as u32).collect();
    let mut kept = trace.select(&places);
    job.note("outside_window", &[("dropped", (trace.len() - kept.len()) as f64)]);
    if job.choice("rezero") == "yes" && start_s > 0.0 {
        shift_time(&mut kept, -start_s * 1e6);
        job.note("rezeroed", &[("by_s", start_s)]);
    }
    kept
}
