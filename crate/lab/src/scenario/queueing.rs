//! The scenario's waiting line: the order of service with its settings.

use servescope_engine::queue::accounts::Charging;
use servescope_engine::queue::round_robin::RoundRobin;
use servescope_engine::queue::vtc::{Fair, Lift, Prediction, TokenCost};
use servescope_engine::queue::{Client, Order, Queueing, prediction};
use servescope_workload::Trace;

use super::Scenario;
use crate::failure::Failure;
use crate::parameters::Id;
use crate::parameters::choices::{
    self, ChoiceId, FairCharging, FairCost, FairLift, FairPrediction, PredictionOf,
};

impl Scenario {
    /// How the waiting line is kept when `trace` is served.
    pub fn queueing(&self, trace: &Trace) -> Queueing {
        let order = self.order(choices::Order::SCHEDULER);
        let predicts = match &order {
            Order::Shortest => true,
            Order::Fair(fair) => fair.prediction == Prediction::Given,
            Order::Fcfs
            | Order::Lifo
            | Order::Priority { .. }
            | Order::Cluster { .. }
            | Order::Peft
            | Order::Pets
            | Order::EarlyAbort { .. }
            | Order::Rpm { .. }
            | Order::RoundRobin(_) => false,
        };
        let predictions = predicts.then(|| {
            let (range, seed) = (self.number(Id::PredictionRange), self.number(Id::Seed) as u64);
            let around = match self.chosen(PredictionOf::ID) {
                PredictionOf::Output => &trace.output_tokens,
                PredictionOf::MaxTokens => &trace.max_tokens,
            };
            prediction::around(around, range, seed)
        });
        Queueing { order, client: self.client(choices::Client::SCHEDULER), predictions }
    }

    /// What counts as one client of a waiting queue.
    pub(super) fn client(&self, of: ChoiceId<choices::Client>) -> Client {
        match self.chosen(of) {
            choices::Client::User => Client::User,
            choices::Client::Adapter => Client::Adapter,
        }
    }

    /// The fleet's lines cannot keep the order of service, which needs S-LoRA's batches.
    pub(super) fn order_problem(&self) -> Option<Failure> {
        let of = choices::Order::SCHEDULER;
        let kind = self.chosen(choices::SchedulerKind::ID);
        if kind == choices::SchedulerKind::Slora || self.order(of).needs_no_batcher() {
            return None;
        }
        let (path, order, kind) = (of.id().row().id, self.chosen(of).name(), kind.name());
        let kept = of.values().iter().filter(|&&other| self.order_of(other).needs_no_batcher());
        let names = kept.map(|other| other.name()).collect::<Vec<_>>().join(", ");
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

    /// The order of a waiting queue with its settings.
    pub(super) fn order(&self, of: ChoiceId<choices::Order>) -> Order {
        self.order_of(self.chosen(of))
    }

    fn order_of(&self, chosen: choices::Order) -> Order {
        match chosen {
            choices::Order::Fcfs => Order::Fcfs,
            choices::Order::Lifo => Order::Lifo,
            choices::Order::Shortest => Order::Shortest,
            choices::Order::Priority => Order::Priority {
                classes: self.list(Id::PriorityClasses),
                ageing_us: self.number(Id::PriorityAgeing) * 1e6,
            },
            choices::Order::Vtc => Order::Fair(self.fair(match self.chosen(FairLift::ID) {
                FairLift::Waiting => Lift::Waiting,
                FairLift::Paper => Lift::Paper,
                FairLift::Max => Lift::Max,
            })),
            choices::Order::Lcf => Order::Fair(self.fair(Lift::Never)),
            choices::Order::Drr => {
                let Fair { weights, input_price, output_price, charging, .. } = self.fair(Lift::Never);
                let quantum = Some(self.number(Id::DrrQuantum)).filter(|&q| q > 0.0);
                Order::RoundRobin(RoundRobin { weights, input_price, output_price, charging, quantum })
            }
            choices::Order::Rpm => Order::Rpm { limit: self.whole(Id::RpmLimit) },
            choices::Order::EarlyAbort => Order::EarlyAbort { bound_us: self.number(Id::AbortBound) * 1e6 },
            choices::Order::Cluster => Order::Cluster { adapters: self.whole(Id::ClusterAdapters) },
            choices::Order::Peft => Order::Peft,
            choices::Order::Pets => Order::Pets,
        }
    }

    fn fair(&self, lift: Lift) -> Fair {
        Fair {
            weights: self.list(Id::FairWeights),
            input_price: self.number(Id::FairInputPrice),
            output_price: self.number(Id::FairOutputPrice),
            cost: match self.chosen(FairCost::ID) {
                FairCost::Linear => TokenCost::Linear,
                FairCost::Profile => TokenCost::Profile,
            },
            charging: match self.chosen(FairCharging::ID) {
                FairCharging::Slora => Charging::Slora,
                FairCharging::Ideal => Charging::Ideal,
                FairCharging::Artifact => Charging::Artifact,
            },
            lift,
            prediction: match self.chosen(FairPrediction::ID) {
                FairPrediction::None => Prediction::None,
                FairPrediction::History => Prediction::History,
                FairPrediction::Predicted => Prediction::Given,
            },
        }
    }
}
