//! `thin`: each request, or each session as a whole, is kept with one probability.
//!
//! Requests have their random numbers by place, so that a larger share keeps all that a smaller one kept.

use super::error::StepError;
use super::field::Field;
use super::job::Job;
use super::step::{Run, StepKind};
use crate::trace::{NO_LABEL, Trace};

pub(super) const KIND: StepKind = StepKind {
    name: "thin",
    help: "Keeps each request, or each whole session, with a probability; the clock stays as it is.",
    fields: &[
        Field::number("keep", "", [0.0, 1.0], 0.5, "probability to be kept"),
        Field::choice("by", &["request", "session"], "what is kept or left out as a whole"),
        Field::SEED,
    ],
    run: Run::One(run),
};

fn run(job: &mut Job<'_>, trace: Trace) -> Result<Trace, StepError> {
    let keep = job.number("keep");
    let mut single = job.stream();
    if job.choice("by") == "request" {
        let kept = trace.filter(|_| single.uniform() < keep);
        job.note("thinned", &[("dropped", (trace.len() - kept.len()) as f64)]);
        return Ok(kept);
    }
    let sessions = trace.sessions();
    if sessions.is_empty() {
        return Err(StepError::NoSessions { step: job.name() });
    }
    // An own stream, so that requests outside of sessions do not move the draws of sessions.
    let mut stream = job.stream().item(0);
    let chosen: Vec<bool> = sessions.names.iter().map(|_| stream.uniform() < keep).collect();
    let kept = trace.filter(|id| match sessions.index[id] {
        NO_LABEL => single.uniform() < keep,
        session => chosen[session as usize],
    });
    let used = sessions.used();
    let of = used.iter().filter(|&&u| u).count();
    let gone = used.iter().zip(&chosen).filter(|&(&used, &chosen)| used && !chosen).count();
    let dropped = (trace.len() - kept.len()) as f64;
    job.note("thinned_sessions", &[("sessions", gone as f64), ("of", of as f64), ("dropped", dropped)]);
    Ok(kept)
}
