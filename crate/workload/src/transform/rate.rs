//! `rate`: a wanted mean rate, by leaving requests out, by stretching time, or by laying copies upon each other.
//!
//! The rate of a trace is (requests - 1) over the time from its first arrival to its last.

use super::error::StepError;
use super::field::Field;
use super::job::Job;
use super::note::TraceExtent;
use super::step::{StepAction, StepKind};
use crate::formats::MAX_ROWS;
use crate::scale::{scale_rate, stretch_time};
use crate::statistics::sort_places;
use crate::trace::Trace;

pub(super) const KIND: StepKind = StepKind {
    name: "rate",
    help: "Gives the trace a mean rate: by thinning (bursts keep their length), by stretching time (bursts keep their \
           shape), or by superposing copies of itself.",
    fields: &[
        Field::number("rate_rps", "requests/s", [1e-6, 1e6], 1.0, "wanted mean rate"),
        Field::choice("policy", &["thin", "stretch", "copies"], "how"),
        Field::SEED,
    ],
    run: StepAction::One(run),
};

fn run(job: &mut Job<'_>, mut trace: Trace) -> Result<Trace, StepError> {
    let target = job.number("rate_rps");
    let step = job.name();
    let rate = TraceExtent::of(&trace).rate_rps.ok_or(StepError::NoRate { step })?;
    match job.choice("policy") {
        "stretch" => {
            stretch_time(&mut trace, rate / target);
            job.note("stretched", &[("factor", rate / target)]);
            Ok(trace)
        }
        "copies" => {
            let factor = target / rate;
            let count = trace.len() as f64 * factor;
            if count > MAX_ROWS as f64 {
                return Err(StepError::TooManyRequests { step, count: count as usize, max: MAX_ROWS });
            }
            let blocks = trace
                .metadata
                .as_ref()
                .map_or(0, |metadata| metadata.prefix.prompts.ids.len() + metadata.prefix.outputs.ids.len());
            job.require_blocks(blocks as f64 * factor)?;
            job.note("copied", &[("factor", factor)]);
            Ok(scale_rate(&trace, factor, job.stream().bits()))
        }
        _ if target > rate => Err(StepError::AboveRate { step, target, rate }),
        _ => {
            // As many as the rate asks for; those with the smallest numbers, so that a higher rate keeps them all.
            let mut stream = job.stream();
            let draws: Vec<f64> = trace.arrival_us.iter().map(|_| stream.uniform()).collect();
            let count = libm::round(trace.len() as f64 * target / rate) as usize;
            let mut chosen = vec![false; trace.len()];
            sort_places(&draws).iter().take(count).for_each(|&id| chosen[id as usize] = true);
            let kept = trace.filter(|id| chosen[id]);
            job.note("thinned", &[("dropped", (trace.len() - kept.len()) as f64)]);
            Ok(kept)
        }
    }
}
