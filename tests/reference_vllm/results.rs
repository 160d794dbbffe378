//! Request by request: how it ended, its times, its tokens, what was cached of it.

use serde_json::Value;
use servescope_engine::{Outcome, Rejection, Report};
use servescope_tests::recorded_runs::{list, whole};
use servescope_workload::RequestId;

use super::batches::{Ran, is_close};
use super::given::Given;

/// Compares every request; returns how many. Of runs whose clients go away, those that stay.
pub(crate) fn check(given: &Given, ran: &Ran) -> Result<usize, String> {
    let Ran { report, cached, .. } = ran;
    let leaves: Vec<u32> = given.trace.cancellations.iter().map(|cancellation| cancellation.1).collect();
    let mut checked = 0;
    for result in list(&given.file, "results") {
        let id = given.place_of[&result["id"].as_u64().expect("a result names its request")];
        if leaves.contains(&id.get()) {
            continue;
        }
        let i = id.index();
        let fate = &report.results[i];
        let differs = |what: &str, own: &dyn std::fmt::Debug, other: &Value| {
            Err(format!("request {}: {what} {own:?} instead of {other}", result["id"]))
        };
        let outcome = match fate.outcome {
            Outcome::Completed => "completed",
            Outcome::Rejected(Rejection::KvLoad) => "error",
            Outcome::Rejected(_) => "rejected",
            _ => "other",
        };
        if result["outcome"] != outcome {
            return differs("outcome", &fate.outcome, &result["outcome"]);
        }
        let times = [
            ("first_scheduled_us", report.scheduled_us(i)),
            ("first_token_us", report.first_token_us(i)),
            ("finish_us", fate.finish_us.or(gone_us(report, id))),
        ];
        for (key, own) in times {
            let is_equal = match (own, result[key].as_f64()) {
                (Some(own), Some(other)) => is_close(own, other),
                (own, other) => own.is_none() && other.is_none(),
            };
            if !is_equal {
                return differs(key, &own, &result[key]);
            }
        }
        if let Some(engine) = result["engine"].as_u64() {
            let own = report.replica(i).index();
            if own as u64 != engine {
                return differs("engine", &own, &result["engine"]);
            }
        }
        let counts = [("preemptions", u32::from(report.preemptions(i))), ("produced", fate.produced)];
        for (key, own) in counts {
            if own != whole(result, key) {
                return differs(key, &own, &result[key]);
            }
        }
        let (first, all) = cached[i];
        let is_first_equal = first.map(u64::from) == result["cached_tokens_first"].as_u64();
        if !is_first_equal || all != whole(result, "cached_tokens_all") {
            return differs("cached tokens, at first and in all", &cached[i], result);
        }
        checked += 1;
    }
    Ok(checked)
}

/// When a request left that could not be served to its end.
fn gone_us(report: &Report, id: RequestId) -> Option<f64> {
    report.timeline.departures.iter().find(|gone| gone.id == id).map(|gone| gone.time_us)
}
