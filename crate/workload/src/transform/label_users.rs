//! `label_users`: users for a trace that names none.

use super::error::StepError;
use super::field::Field;
use super::job::Job;
use super::labelling::{DISTRIBUTION, EXPONENT, labels};
use super::step::{StepAction, StepKind};
use crate::trace::Trace;

pub(super) const KIND: StepKind = StepKind {
    name: "label_users",
    help: "Gives every request a user: at random, by Zipf's law, by session, or by size.",
    fields: &[
        Field::whole("count", "users", [1.0, 1e6], 10.0, "how many users"),
        DISTRIBUTION,
        EXPONENT,
        Field::SEED,
    ],
    run: StepAction::One(run),
};

fn run(job: &mut Job<'_>, mut trace: Trace) -> Result<Trace, StepError> {
    let count = job.number("count") as usize;
    trace.user = labels(job, &trace, count)?;
    Ok(trace)
}
