//! `dequantise`: requests that share a time stamp because the recorder rounded are spread over the time up to the next.
//!
//! A stamp stands for the interval that it starts. `uniform` places the requests of a stamp independently in it, which is
//! the distribution of exponential gaps given their number; `even` places them at equal distances. Requests of one stamp keep
//! their order.

use super::error::StepError;
use super::field::Field;
use super::job::Job;
use super::step::{Run, StepKind};
use crate::scale::retime;
use crate::statistics::{quantile, sort};
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
            "law",
            &["uniform", "even"],
            "where in the interval: exponential gaps given their number, or even",
        ),
        Field::SEED,
    ],
    run: Run::One(run),
};

fn run(job: &mut Job<'_>, mut trace: Trace) -> Result<Trace, StepError> {
    let interval_us = if let Some(interval_s) = job.optional("interval_s") {
        interval_s * 1e6
    } else {
        let found = interval(&trace.arrival_us);
        let (interval_us, share) = found.ok_or(StepError::NoStamps { step: job.name() })?;
        job.note("interval_found", &[("percent", 100.0 * share)]);
        interval_us
    };
    let even = job.choice("law") == "even";
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

/// Steps between stamps that are looked at.
const LOOKED_AT: usize = 2000;
/// Largest number of intervals in the median step.
const MOST_INTERVALS: u32 = 5000;
/// How far a step may be from a multiple of the interval, as a share of it: recorders' clocks jitter.
const TOLERANCE: f64 = 0.01;
/// Share of the steps that must be multiples.
const SHARE: f64 = 0.99;

/// The interval between stamps in microseconds, and the share of steps that are multiples of it: the largest part of the
/// median step that fits. `None` where none does, or steps are too few.
pub(super) fn interval(times: &[f64]) -> Option<(f64, f64)> {
    let mut steps: Vec<f64> =
        times.windows(2).map(|pair| pair[1] - pair[0]).filter(|&step| step > 0.0).collect();
    if steps.len() < 3 {
        return None;
    }
    let stride = steps.len().div_ceil(LOOKED_AT);
    steps = steps.into_iter().step_by(stride).collect();
    let mut sorted = steps.clone();
    sort(&mut sorted);
    let median = quantile(&sorted, 0.5);
    let most_misses = ((1.0 - SHARE) * steps.len() as f64) as usize;
    (1..=MOST_INTERVALS).find_map(|parts| {
        let interval = median / f64::from(parts);
        let misses = |step: &&f64| {
            let multiple = *step / interval;
            multiple < 0.5 || (multiple - libm::round(multiple)).abs() > TOLERANCE
        };
        let missed = steps.iter().filter(misses).take(most_misses + 1).count();
        (missed <= most_misses).then(|| (interval, 1.0 - missed as f64 / steps.len() as f64))
    })
}
