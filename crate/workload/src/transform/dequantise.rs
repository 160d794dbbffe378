//! `dequantise`: requests that share a time stamp because the recorder rounded are spread over the time up to the next.
//!
//! A stamp stands for the interval that it starts. `uniform` places the requests of a stamp independently in it, which is
//! the distribution of exponential gaps given their number; `even` places them at equal distances. Requests of one stamp keep
//! their order.

use super::error::StepError;
use super::field::Field;
use super::job::Job;
use super::step::{StepAction, StepKind};
use crate::scale::retime;
use crate::statistics::sort;
use crate::statistics::stamps::stamp_interval;
use crate::trace::Trace;

pub(super) const KIND: StepKind = StepKind {
    name: "dequantise",
    help: "Spreads requests that share a rounded time stamp over the interval between stamps.",
    fields: &[
        Field::number(
            "interval_s",
            "s",
            [1e-6, 86_400.0],
            0.0,
            "time between stamps; empty: found in the data",
        )
        .or_empty(),
        Field::choice(
            "distribution",
            &["uniform", "even"],
            "where in the interval: exponential gaps given their number, or even",
        ),
        Field::SEED,
    ],
    run: StepAction::One(run),
};

fn run(job: &mut Job<'_>, mut trace: Trace) -> Result<Trace, StepError> {
    let interval_us = if let Some(interval_s) = job.optional("interval_s") {
        interval_s * 1e6
    } else {
        let found = stamp_interval(&trace.arrival_us);
        let (interval_us, share) = found.ok_or(StepError::NoStamps { step: job.name() })?;
        job.note("interval_found", &[("percent", 100.0 * share)]);
        interval_us
    };
    let even = job.choice("distribution") == "even";
    let stream = job.stream();
    let mut times = Vec::with_capacity(trace.len());
    let mut batches = 0u32;
    for (place, batch) in trace.arrival_us.chunk_by(|a, b| a == b).enumerate() {
        let n = batch.len();
        let mut stream = stream.item(place);
        let mut offsets: Vec<f64> =
            (0..n).map(|i| if even { (i as f64 + 0.5) / n as f64 } else { stream.uniform() }).collect();
        sort(&mut offsets);
        batches += u32::from(n > 1);
        times.extend(offsets.into_iter().map(|offset| batch[0] + offset * interval_us));
    }
    job.note(
        "spread",
        &[("moved", times.len() as f64), ("interval_s", interval_us / 1e6), ("batches", batches.into())],
    );
    retime(&mut trace, times);
    // An interval longer than the distance of two stamps lets their requests overtake each other.
    trace.sort();
    Ok(trace)
}
