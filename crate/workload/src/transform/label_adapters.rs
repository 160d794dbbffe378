//! `label_adapters`: adapters for a trace that names none.

use super::error::StepError;
use super::field::Field;
use super::job::Job;
use super::labelling::{DISTRIBUTION, EXPONENT, labels};
use super::step::{StepAction, StepKind};
use crate::formats::MAX_RANK;
use crate::trace::{BASE_MODEL, Trace};

pub(super) const KIND: StepKind = StepKind {
    name: "label_adapters",
    help: "Gives every request an adapter: at random, by Zipf's law, by session, or by size.",
    fields: &[
        Field::whole("count", "adapters", [0.0, 1e6], 10.0, "how many adapters; 0: the base model for all"),
        DISTRIBUTION,
        EXPONENT,
        Field::text("ranks", "8", "ranks, assigned cyclically, with / between: 8/16/32"),
        Field::SEED,
    ],
    run: StepAction::One(run),
};

fn run(job: &mut Job<'_>, mut trace: Trace) -> Result<Trace, StepError> {
    let count = job.number("count") as usize;
    let ranks: Option<Vec<u32>> = job
        .text("ranks")
        .split('/')
        .map(|rank| rank.trim().parse().ok().filter(|rank| (1..=MAX_RANK).contains(rank)))
        .collect();
    let ranks = ranks.ok_or_else(|| job.bad("ranks", "whole numbers from 1 to 65536 with / between"))?;
    if count == 0 {
        trace.adapter.fill(BASE_MODEL);
        trace.adapter_rank.clear();
        return Ok(trace);
    }
    trace.adapter = labels(job, &trace, count)?;
    trace.adapter_rank = ranks.into_iter().cycle().take(count).collect();
    Ok(trace)
}
