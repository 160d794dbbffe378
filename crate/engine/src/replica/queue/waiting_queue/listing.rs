//! The waiting requests in the order in which they would be admitted if each of them fitted now, for a debugger.

use servescope_workload::{RequestId, Trace};

use super::{QueuePolicy, WaitingQueue};

/// Most waiting requests that a snapshot lists.
pub const MOST_LISTED: usize = 200;

/// A waiting request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WaitingEntry {
    /// Which request.
    pub id: RequestId,
    /// What it is ordered by; none of one that was preempted and stands before the order.
    pub key: Option<f64>,
    /// When it came to the replica, microseconds.
    pub arrival_us: f64,
    /// Prompt tokens that are to be processed; of a preempted one also what it had generated.
    pub prompt_tokens: u32,
    /// Whether it was admitted before and preempted.
    pub was_preempted: bool,
}

/// By what the requests of a queue are ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueKeyKind {
    /// Arrival, the earliest first.
    Arrival,
    /// Arrival, the latest first.
    LatestArrival,
    /// Predicted output tokens, the fewest first.
    PredictedTokens,
    /// Class and waiting time, the lowest key first.
    Priority,
    /// Counter of the client when the request is next, the lowest first.
    Counter,
    /// Deficit counter of the client at its turn.
    Deficit,
}

impl QueueKeyKind {
    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Arrival => "arrival",
            Self::LatestArrival => "latest_arrival",
            Self::PredictedTokens => "predicted_tokens",
            Self::Priority => "priority",
            Self::Counter => "counter",
            Self::Deficit => "deficit",
        }
    }

    /// Of a policy. Those that look at the running batch find the requests in the order of arrival.
    pub(crate) fn of(policy: &QueuePolicy) -> Self {
        match policy {
            QueuePolicy::Lifo => Self::LatestArrival,
            QueuePolicy::Sjf => Self::PredictedTokens,
            QueuePolicy::Priority { .. } => Self::Priority,
            QueuePolicy::Vtc(_) => Self::Counter,
            QueuePolicy::Drr(_) => Self::Deficit,
            _ => Self::Arrival,
        }
    }
}

/// A waiting request of the list, and its key; none of one that stands before the policy's order, because it was preempted.
pub(crate) type Listed = (RequestId, Option<f64>);

impl WaitingQueue {
    /// By what the requests are ordered.
    pub(crate) fn key_kind(&self) -> QueueKeyKind {
        self.ranked.as_ref().map_or(QueueKeyKind::Arrival, |ranked| QueueKeyKind::of(&ranked.config.policy))
    }

    /// The first `most` requests in the order in which they would be admitted, those that have gone away left out. Takes the
    /// queue apart.
    pub(crate) fn listed(
        mut self,
        trace: &Trace,
        most: usize,
        is_gone: impl Fn(RequestId) -> bool,
        arrival_us: impl Fn(RequestId) -> f64,
    ) -> Vec<Listed> {
        let mut list = Vec::new();
        while list.len() < most {
            let Some(id) = self.head(&is_gone) else { break };
            let is_ahead = self.ranked.is_some() && self.first_ahead().is_some();
            let key = if is_ahead { None } else { Some(self.key_of(trace, id, arrival_us(id))) };
            if !is_gone(id) {
                list.push((id, key));
            }
            if self.pop(trace, &is_gone).is_none() {
                break;
            }
        }
        list
    }

    fn key_of(&mut self, trace: &Trace, id: RequestId, arrival_us: f64) -> f64 {
        let Some(ranked) = &mut self.ranked else { return arrival_us };
        match &ranked.config.policy {
            QueuePolicy::Sjf => ranked.config.predicted_tokens(trace, id),
            QueuePolicy::Vtc(_) | QueuePolicy::Drr(_) => {
                let client = ranked.client_of(trace, id);
                let counter = ranked.queue.service().value(client);
                ranked.queue.token_costs().counter(counter)
            }
            _ => ranked.key(trace, id, arrival_us),
        }
    }
}
