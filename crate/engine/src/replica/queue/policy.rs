//! The scheduling policies of a waiting queue, and what they need to know.

use servescope_workload::{RequestId, Trace};

use super::drr::DrrConfig;
use super::prediction::Prediction;
use super::service_counters::OutputAccounting;
use super::vtc::VtcConfig;
use crate::client::Client;

/// A scheduling policy: which waiting request is looked at first.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum QueuePolicy {
    /// First come, first served: [`super::fcfs`].
    #[default]
    Fcfs,
    /// Last come, first served: [`super::lifo`].
    Lifo,
    /// Fewest predicted output tokens first: [`super::sjf`].
    Sjf,
    /// By class with ageing: [`super::priority`].
    Priority {
        /// Class of each client, assigned round-robin; the lower, the sooner.
        classes: Vec<f64>,
        /// Waiting this long makes up for one class, microseconds.
        ageing_us: f64,
    },
    /// S-LoRA: running adapters first, from this many of them on.
    Cluster {
        /// `batch_num_adapters`.
        adapters: u32,
    },
    /// S-LoRA: one adapter at a time.
    Peft,
    /// S-LoRA: padded prefills at least cost.
    Pets,
    /// S-LoRA: newest first, rejecting requests that would be late.
    EarlyAbort {
        /// Bound on the first token, microseconds.
        bound_us: f64,
    },
    /// First come, first served, with a limit of requests a minute and client: [`super::rpm`].
    Rpm {
        /// Most accepted requests of one client in 60 s.
        limit: u32,
    },
    /// Least counter first, with or without lift: [`super::vtc`].
    Vtc(VtcConfig),
    /// Deficit round robin: [`super::drr`].
    Drr(DrrConfig),
}

impl QueuePolicy {
    /// Whether it looks at the running batch, which S-LoRA's scheduler alone does.
    pub fn is_batch_aware(&self) -> bool {
        matches!(self, Self::Cluster { .. } | Self::Peft | Self::Pets | Self::EarlyAbort { .. })
    }

    /// Whether output is charged as predicted when a request is admitted.
    pub fn charges_ahead(&self) -> bool {
        matches!(self, Self::Vtc(rule) if rule.prediction != Prediction::None)
    }

    /// When output is charged, where it is counted.
    pub fn accounting(&self) -> OutputAccounting {
        match self {
            Self::Vtc(rule) => rule.accounting,
            Self::Drr(rule) => rule.accounting,
            _ => OutputAccounting::default(),
        }
    }
}

/// How a waiting queue is kept.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct QueueConfig {
    /// The order in which waiting requests are considered.
    pub policy: QueuePolicy,
    /// What counts as one client.
    pub client: Client,
    /// Predicted output tokens of each request, for the policies that use them; absent: max_tokens.
    pub predictions: Option<Vec<f64>>,
}

impl QueueConfig {
    /// Output tokens that are predicted of a request before it is admitted.
    pub fn predicted_tokens(&self, trace: &Trace, id: RequestId) -> f64 {
        let given = self.predictions.as_ref().and_then(|given| given.get(id.index()));
        given.copied().unwrap_or(f64::from(trace.max_tokens[id]))
    }
}
