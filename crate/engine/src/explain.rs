//! Why did this request wait? Its time by causes, who delayed it, and what it found when it arrived.

mod by_request;
pub mod cause;
pub mod delays;
mod gateway;
mod holders;
mod iterations;
mod queue;
pub mod request_time;
pub mod waiting;

use crate::replica_index::ReplicaIndex;
use crate::report::Report;
use crate::request::Outcome;

/// What a request found at its replica when it arrived.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AtArrival {
    /// Requests waiting in front of it.
    pub ahead: u32,
    /// Requests in the batch.
    pub running: u32,
    /// KV tokens in use.
    pub kv_tokens: f64,
}

/// What request `id` found when it arrived.
pub fn at_arrival(report: &Report, id: usize) -> AtArrival {
    let (running, kv_tokens) = batch_at(report, report.replica(id), report.trace.arrival_us[id]);
    AtArrival { ahead: waiting_ahead(report, id), running, kv_tokens }
}

/// Requests of the waiting queue that were in front of `id`: arrived earlier, were not yet scheduled, nor gone, and were not
/// admitted after it, whatever the scheduling policy.
fn waiting_ahead(report: &Report, id: usize) -> u32 {
    let (arrival, own) = (report.trace.arrival_us[id], report.scheduled_us(id).unwrap_or(f64::INFINITY));
    let ahead = (0..id).filter(|&other| match report.results[other].outcome {
        Outcome::Rejected(_) => false,
        _ if report.replica(other) != report.replica(id) => false,
        _ => report.scheduled_us(other).is_none_or(|t| t > arrival && t <= own),
    });
    ahead.count() as u32
}

/// Requests that hold memory on a replica and their KV tokens at a time, over the batches in the stages.
fn batch_at(report: &Report, replica: ReplicaIndex, time_us: f64) -> (u32, f64) {
    let runs =
        report.timeline.iterations.of_replica(replica).iter().take_while(|run| run.start_us <= time_us);
    runs.filter(|run| time_us < run.end_us).fold((0, 0.0), |(requests, kv_tokens), run| {
        let done = (time_us - run.start_us) / (run.end_us - run.start_us) * f64::from(run.iterations);
        let kv_tokens = kv_tokens + run.kv_tokens + done.floor() * f64::from(run.decode_tokens);
        (requests + run.requests() + run.stalled, kv_tokens)
    })
}
