//! When requests leave the system.

use servescope_workload::RequestId;

use crate::report::Report;
use crate::request::Outcome;

/// When every request left the system, microseconds: served, rejected, timed out, or its client gone; and the end of the run,
/// until which requests without an end stay.
pub fn left_us(report: &Report) -> (Vec<f64>, f64) {
    let arrival = &report.trace.arrival_us;
    let mut left: Vec<f64> = report
        .results
        .iter()
        .zip(arrival)
        .map(|(result, &arrival)| result.finish_us.unwrap_or(arrival))
        .collect();
    if let Some(log) = report.gateway.as_deref() {
        // The engine rejects a request when the gateway forwards it.
        let refused = |id: usize| matches!(report.results[id].outcome, Outcome::Rejected(_));
        for (id, &forwarded) in log.forwarded_us.iter().enumerate().filter(|(id, _)| refused(*id)) {
            left[id] = left[id].max(forwarded);
        }
    }
    // Backwards, for the first of several counts.
    for &(at_us, id) in report.trace.cancellations.iter().rev() {
        let id = RequestId::new(id);
        let result = &report.results[id];
        if result.finish_us.is_none() && result.outcome == Outcome::Cancelled {
            left[id] = at_us.max(arrival[id]);
        }
    }
    for departure in &report.timeline.departures {
        left[departure.id] = departure.time_us.max(arrival[departure.id]);
    }
    let end_us = left.iter().copied().fold(1.0, f64::max);
    for (left, result) in left.iter_mut().zip(&report.results) {
        if result.outcome == Outcome::Unfinished {
            *left = end_us;
        }
    }
    (left, end_us)
}
