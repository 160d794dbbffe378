//! The scenario's waiting line: the order of service with its settings.

use servescope_engine::scheduler::accounts::Charging;
use servescope_engine::scheduler::round_robin::RoundRobin;
use servescope_engine::scheduler::vtc::{Fair, Lift, Prediction, TokenCost};
use servescope_engine::scheduler::{Client, Order, Queueing, prediction};
use servescope_workload::Trace;

use super::Scenario;
#[cfg(feature = "engines")]
use crate::failure::Failure;
use crate::parameters::Id;
#[cfg(feature = "engines")]
use crate::parameters::Kind;

impl Scenario {
    /// How the waiting line is kept when `trace` is served.
    pub fn queueing(&self, trace: &Trace) -> Queueing {
        // Without the others nobody asks for one, and their settings need not be read.
        let order = if cfg!(feature = "engines") { self.order(Id::SchedulerOrder) } else { Order::Fcfs };
        let predicts = match &order {
            Order::Shortest => true,
            Order::Fair(fair) => fair.prediction == Prediction::Given,
            _ => false,
        };
        let predictions = predicts.then(|| {
            let (range, seed) = (self.number(Id::PredictionRange), self.number(Id::Seed) as u64);
            match self.choice(Id::PredictionOf) {
                "max_tokens" => prediction::around(&trace.max_tokens, range, seed),
                _ => prediction::around(&trace.output_tokens, range, seed),
            }
        });
        let client = match self.choice(Id::OrderClient) {
            "adapter" => Client::Adapter,
            _ => Client::User,
        };
        Queueing { order, client, predictions }
    }

    /// The fleet's lines cannot keep the order of service, which needs S-LoRA's batches.
    #[cfg(feature = "engines")]
    pub(super) fn order_problem(&self) -> Option<Failure> {
        let of = Id::SchedulerOrder;
        if self.choice(Id::SchedulerKind) == "slora" || self.order(of).needs_no_batcher() {
            return None;
        }
        let (path, order, kind) = (of.row().id, self.choice(of), self.choice(Id::SchedulerKind));
        let Kind::Choice(all) = of.row().kind else { return None };
        let kept: Vec<&str> =
            all.iter().copied().filter(|name| self.order_named(name).needs_no_batcher()).collect();
        let names = kept.join(", ");
        let message = format!(
            "{path}: {order} needs S-LoRA's batches; the lines of scheduler.kind {kind} keep {names}"
        );
        Some(
            Failure::new("order_needs_slora", path, message)
                .text("order", order)
                .text("kind", kind)
                .text("names", &names),
        )
    }

    /// The order of service that the parameter `of` names.
    pub(super) fn order(&self, of: Id) -> Order {
        self.order_named(self.choice(of))
    }

    fn order_named(&self, name: &str) -> Order {
        match name {
            "lifo" => Order::Lifo,
            "shortest" => Order::Shortest,
            "priority" => Order::Priority {
                classes: self.list(Id::PriorityClasses),
                ageing_us: self.number(Id::PriorityAgeing) * 1e6,
            },
            "vtc" => {
                let lift = match self.choice(Id::FairLift) {
                    "paper" => Lift::Paper,
                    "max" => Lift::Max,
                    _ => Lift::Waiting,
                };
                Order::Fair(self.fair(lift))
            }
            "lcf" => Order::Fair(self.fair(Lift::Never)),
            "drr" => {
                let Fair { weights, input_price, output_price, charging, .. } = self.fair(Lift::Never);
                let quantum = Some(self.number(Id::DrrQuantum)).filter(|&q| q > 0.0);
                Order::RoundRobin(RoundRobin { weights, input_price, output_price, charging, quantum })
            }
            "rpm" => Order::Rpm { limit: self.whole(Id::RpmLimit) },
            "early_abort" => Order::EarlyAbort { bound_us: self.number(Id::AbortBound) * 1e6 },
            "cluster" => Order::Cluster { adapters: self.whole(Id::ClusterAdapters) },
            "peft" => Order::Peft,
            "pets" => Order::Pets,
            _ => Order::Fcfs,
        }
    }

    fn fair(&self, lift: Lift) -> Fair {
        Fair {
            weights: self.list(Id::FairWeights),
            input_price: self.number(Id::FairInputPrice),
            output_price: self.number(Id::FairOutputPrice),
            cost: match self.choice(Id::FairCost) {
                "profile" => TokenCost::Profile,
                _ => TokenCost::Linear,
            },
            charging: match self.choice(Id::FairCharging) {
                "ideal" => Charging::Ideal,
                "artifact" => Charging::Artifact,
                _ => Charging::Slora,
            },
            lift,
            prediction: match self.choice(Id::FairPrediction) {
                "history" => Prediction::History,
                "predicted" => Prediction::Given,
                _ => Prediction::None,
            },
        }
    }
}
