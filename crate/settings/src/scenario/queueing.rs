//! The scenario's waiting queue: the scheduling policy with its settings.

use servescope_engine::queue::{
    DrrConfig, Lift, Prediction, QueueConfig, QueuePolicy, VtcConfig, prediction,
};
use servescope_workload::Trace;

use super::Scenario;
use crate::diagnostic::Diagnostic;
use crate::parameters::Id;
use crate::parameters::choices::{self, Choice, ChoiceId, FairLift, PredictionOf};

impl Scenario {
    /// How the waiting queue is kept when `trace` is served.
    pub fn queueing(&self, trace: &Trace) -> QueueConfig {
        let order = self.order(choices::Order::SCHEDULER);
        let predicts = match &order {
            QueuePolicy::Sjf => true,
            QueuePolicy::Vtc(fair) => fair.prediction == Prediction::Given,
            QueuePolicy::Fcfs
            | QueuePolicy::Lifo
            | QueuePolicy::Priority { .. }
            | QueuePolicy::Cluster { .. }
            | QueuePolicy::Peft
            | QueuePolicy::Pets
            | QueuePolicy::EarlyAbort { .. }
            | QueuePolicy::Rpm { .. }
            | QueuePolicy::Drr(_) => false,
        };
        let predictions = predicts.then(|| {
            let (range, seed) = (self.number(Id::PredictionRange), self.number(Id::Seed) as u64);
            let around = match self.chosen(PredictionOf::ID) {
                PredictionOf::Output => &trace.output_tokens,
                PredictionOf::MaxTokens => &trace.max_tokens,
            };
            prediction::around(around, range, seed)
        });
        QueueConfig { policy: order, client: self.chosen(choices::QUEUE_CLIENT), predictions }
    }

    /// The queues of replicas cannot keep the scheduling policy, which needs S-LoRA's batches.
    pub(super) fn order_problem(&self) -> Option<Diagnostic> {
        let of = choices::Order::SCHEDULER;
        let kind = self.chosen(choices::SCHEDULER);
        if self.scheduler().orders_by_batch || !self.order(of).is_batch_aware() {
            return None;
        }
        let (path, order, kind) = (of.id().row().id, self.chosen(of).name(), kind.name());
        let kept = of.values().iter().filter(|&&other| !self.order_of(other).is_batch_aware());
        let names = kept.map(|other| other.name()).collect::<Vec<_>>().join(", ");
        let message = format!(
            "{path}: {order} needs S-LoRA's batches; with scheduler.kind {kind} the waiting queue supports {names}"
        );
        Some(
            Diagnostic::error("order_needs_slora", path, message)
                .text("order", order)
                .text("kind", kind)
                .text("names", &names),
        )
    }

    /// The order of a waiting queue with its settings.
    pub(super) fn order(&self, of: ChoiceId<choices::Order>) -> QueuePolicy {
        self.order_of(self.chosen(of))
    }

    fn order_of(&self, chosen: choices::Order) -> QueuePolicy {
        match chosen {
            choices::Order::Fcfs => QueuePolicy::Fcfs,
            choices::Order::Lifo => QueuePolicy::Lifo,
            choices::Order::Shortest => QueuePolicy::Sjf,
            choices::Order::Priority => QueuePolicy::Priority {
                classes: self.list(Id::PriorityClasses),
                ageing_us: self.number(Id::PriorityAgeing) * 1e6,
            },
            choices::Order::Vtc => QueuePolicy::Vtc(self.fair(match self.chosen(FairLift::ID) {
                FairLift::Waiting => Lift::Waiting,
                FairLift::Paper => Lift::Paper,
                FairLift::Max => Lift::Max,
            })),
            choices::Order::Lcf => QueuePolicy::Vtc(self.fair(Lift::Never)),
            choices::Order::Drr => {
                let VtcConfig { weights, input_price, output_price, accounting, .. } = self.fair(Lift::Never);
                let quantum = Some(self.number(Id::DrrQuantum)).filter(|&q| q > 0.0);
                QueuePolicy::Drr(DrrConfig { weights, input_price, output_price, accounting, quantum })
            }
            choices::Order::Rpm => QueuePolicy::Rpm { limit: self.whole(Id::RpmLimit) },
            choices::Order::EarlyAbort => {
                QueuePolicy::EarlyAbort { bound_us: self.number(Id::AbortBound) * 1e6 }
            }
            choices::Order::Cluster => QueuePolicy::Cluster { adapters: self.whole(Id::ClusterAdapters) },
            choices::Order::Peft => QueuePolicy::Peft,
            choices::Order::Pets => QueuePolicy::Pets,
        }
    }

    fn fair(&self, lift: Lift) -> VtcConfig {
        VtcConfig {
            weights: self.list(Id::FairWeights),
            input_price: self.number(Id::FairInputPrice),
            output_price: self.number(Id::FairOutputPrice),
            cost: self.chosen(choices::TOKEN_COST),
            accounting: self.chosen(choices::OUTPUT_ACCOUNTING),
            lift,
            prediction: self.chosen(choices::OUTPUT_PREDICTION),
        }
    }
}
