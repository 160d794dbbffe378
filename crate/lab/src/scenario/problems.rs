//! What does not fit together in a scenario whose every value is within its bounds.

use super::{MAX_REQUESTS, Scenario};
use crate::failure::Failure;
use crate::parameters::Id;

impl Scenario {
    /// What does not fit together, each at the parameter to change.
    pub fn problems(&self) -> Vec<Failure> {
        let mut problems = Vec::new();
        let lengths =
            [(Id::InputKind, Id::InputLow, Id::InputHigh), (Id::OutputKind, Id::OutputLow, Id::OutputHigh)];
        for (kind, low, high) in lengths {
            let bounded = matches!(self.choice(kind), "uniform" | "bounded_pareto" | "lognormal" | "normal");
            if bounded && self.number(low) > self.number(high) {
                let (low_value, high_value) = (self.number(low), self.number(high));
                let path = high.row().id;
                let message = format!("{path}: {high_value} is below {} ({low_value})", low.row().id);
                problems.push(
                    Failure::new("bounds_crossed", path, message)
                        .number("value", high_value)
                        .number("min", low_value)
                        .text("other", low.row().id),
                );
            }
        }
        problems.extend(self.curve().err());
        let requests = self.request_count();
        if requests > MAX_REQUESTS {
            let message = format!(
                "workload.duration_s: R D makes {requests} requests, at most {MAX_REQUESTS} can be run"
            );
            problems.push(
                Failure::new("too_many_requests", "workload.duration_s", message)
                    .number("value", requests)
                    .number("max", MAX_REQUESTS),
            );
        }
        for (id, count) in [(Id::AdapterShares, Id::Adapters), (Id::UserShares, Id::Users)] {
            let counted = self.number(count) as usize;
            if self.is_active(id) && self.list(id).iter().take(counted).all(|&weight| weight == 0.0) {
                let path = id.row().id;
                let message = format!("{path}: at least one share must be above 0");
                problems.push(Failure::new("empty_list", path, message));
            }
        }
        let (batch, request) = (self.number(Id::BatchMaxTokens), self.number(Id::MaxRequestTokens));
        if self.fleet().is_none() && self.flag(Id::OriginalBlocking) && batch < request {
            let path = "scheduler.batch_max_tokens";
            let message = format!(
                "{path}: {batch} is below scheduler.max_request_tokens ({request}), which S-LoRA refuses to start with"
            );
            problems.push(
                Failure::new("batch_below_request", path, message)
                    .number("value", batch)
                    .number("min", request),
            );
        }
        problems
    }
}
