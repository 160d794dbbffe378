//! Request by request: how it ended, its times, its tokens, what was known of it.

use serde_json::Value;
use servescope_engine::{Outcome, Rejection};
use servescope_tests::recorded_runs::{list, whole};

use super::batches::Ran;
use super::given::Given;

/// Compares every request; returns how many.
pub(crate) fn check(given: &Given, ran: &Ran) -> Result<usize, String> {
    let Ran { report, cached, .. } = ran;
    let results = list(&given.file, "results");
    for result in results {
        let id = given.place_of[&result["id"].as_u64().expect("a result names its request")];
        let i = id.index();
        let fate = &report.results[i];
        let differs = |what: &str, own: &dyn std::fmt::Debug, other: &Value| {
            Err(format!("request {}: {what} {own:?} instead of {other}", result["id"]))
        };
        let outcome = match fate.outcome {
            Outcome::Completed => "completed",
            Outcome::Cancelled => "aborted",
            Outcome::Rejected(Rejection::QueueFull) => "queue_full",
            Outcome::Rejected(_) => "rejected",
            Outcome::Unfinished => "unfinished",
            Outcome::TimedOut => "other",
        };
        if result["outcome"] != outcome {
            return differs("outcome", &fate.outcome, &result["outcome"]);
        }
        let is_complete = fate.outcome == Outcome::Completed;
        let times = [
            ("first_scheduled_us", report.scheduled_us(i)),
            ("first_token_us", report.first_token_us(i)),
            ("finish_us", fate.finish_us),
        ];
        // A waiting request goes at once here, and when the next decision begins there.
        for (key, own) in times.into_iter().filter(|_| is_complete) {
            if own != result[key].as_f64() {
                return differs(key, &own, &result[key]);
            }
        }
        let sent_back = whole(result, "retractions") + whole(result, "preemptions");
        if u32::from(report.preemptions(i)) != sent_back {
            return differs("retractions and preemptions", &report.preemptions(i), &result["retractions"]);
        }
        if is_complete && fate.produced != whole(result, "produced") {
            return differs("produced", &fate.produced, &result["produced"]);
        }
        if cached[i].map(u64::from) != result["cached_tokens"].as_u64() {
            return differs("cached tokens", &cached[i], &result["cached_tokens"]);
        }
    }
    Ok(results.len())
}
