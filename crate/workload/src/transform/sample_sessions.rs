//! `sample_sessions`: some sessions with all of their requests, so that what their prompts share stays shared.

use super::error::StepError;
use super::field::Field;
use super::job::Job;
use super::step::{Run, StepKind};
use crate::formats::MAX_ROWS;
use crate::statistics::sort_places;
use crate::trace::{NO_LABEL, Trace};

pub(super) const KIND: StepKind = StepKind {
    name: "sample_sessions",
    help: "Keeps a number of sessions, drawn without replacement, each with all of its requests.",
    fields: &[
        Field::whole("count", "sessions", [1.0, MAX_ROWS as f64], 100.0, "how many sessions to keep"),
        Field::choice("others", &["drop", "keep"], "what becomes of requests that belong to no session"),
        Field::SEED,
    ],
    run: Run::One(run),
};

fn run(job: &mut Job<'_>, trace: Trace) -> Result<Trace, StepError> {
    let sessions = trace.sessions();
    let mut stream = job.stream();
    let mut draws: Vec<f64> = sessions.names.iter().map(|_| stream.uniform()).collect();
    // Names that no request has any more come last.
    let used = sessions.used();
    let of = used.iter().filter(|&&used| used).count();
    if of == 0 {
        return Err(StepError::NoSessions { step: job.name() });
    }
    draws.iter_mut().zip(&used).filter(|(_, used)| !**used).for_each(|(draw, _)| *draw = 2.0);
    let count = of.min(job.number("count") as usize);
    let mut chosen = vec![false; draws.len()];
    sort_places(&draws).iter().take(count).for_each(|&session| chosen[session as usize] = true);
    let keep_others = job.choice("others") == "keep";
    let kept = trace.filter(|id| match sessions.index[id] {
        NO_LABEL => keep_others,
        session => chosen[session as usize],
    });
    job.note("sampled_sessions", &[("sessions", count as f64), ("of", of as f64)]);
    let alone = sessions.index.iter().filter(|&&s| s == NO_LABEL).count();
    if alone > 0 && !keep_others {
        job.note("without_session", &[("dropped", alone as f64)]);
    }
    Ok(kept)
}
