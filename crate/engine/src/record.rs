//! What a run writes down.

pub mod decisions;
pub mod drafts;
pub(crate) mod failures;
pub(crate) mod input_chunk;
pub(crate) mod kv_copies;
pub mod observer;
pub(crate) mod replica_life;
pub(crate) mod request_legs;
pub mod request_phases;
pub(crate) mod request_state;
pub mod request_timings;
pub mod sampler;
pub(crate) mod scaling;
pub mod timeline;
pub(crate) mod work_time;

use std::collections::{BTreeMap, BTreeSet};

use failures::{ReplicaFailure, Restart};

use servescope_workload::RequestId;

use crate::record::decisions::DecisionLog;
use crate::record::drafts::DraftPositions;
use crate::record::kv_copies::KvCopy;
use crate::record::request_phases::PhaseLog;
use crate::record::scaling::ScalingDecision;
use crate::record::timeline::{
    DummyBatches, InterTokenLatency, Iterations, PreemptionEvent, PreemptionInterval, QueueBlockage,
    QueueDrop, Rearrangement,
};
use crate::request::RequestResult;

/// Fates, iterations and gaps between tokens.
#[derive(Debug, Clone, Default)]
pub(crate) struct EventLog {
    pub(crate) results: Vec<RequestResult>,
    pub(crate) iterations: Iterations,
    pub(crate) gaps: Vec<InterTokenLatency>,
    pub(crate) holds: Vec<QueueBlockage>,
    pub(crate) departures: Vec<QueueDrop>,
    pub(crate) preemption_intervals: Vec<PreemptionInterval>,
    pub(crate) preemptions: Vec<PreemptionEvent>,
    pub(crate) kv_copies: Vec<KvCopy>,
    /// Passes of data-parallel ranks without a batch.
    pub(crate) dummy_batches: Vec<DummyBatches>,
    pub(crate) rearrangements: Vec<Rearrangement>,
    pub(crate) decisions: DecisionLog,
    pub(crate) phases: PhaseLog,
    /// What became of drafts; `None`: none was verified.
    pub(crate) drafts: Option<Box<DraftPositions>>,
    /// Whether a scheduling policy ever had two waiting requests to choose from.
    pub(crate) had_choice: bool,
    /// Requests that ended and were not yet reported, where a client waits for that.
    pub(crate) ended: Option<Vec<RequestId>>,
    /// Requests that have their first token and were not yet reported, where a client waits for that.
    pub(crate) first_tokens: Option<Vec<RequestId>>,
    /// Requests that joined a batch and were not yet reported, where a gateway counts their tokens.
    pub(crate) scheduled: Option<Vec<RequestId>>,
    /// Where their tokens are bounded (vLLM v1's `max_num_queued_tokens`).
    pub(crate) unread: UnreadPrompts,
    /// Requests whose prompts are computed and that go on to another replica since the fleet was told.
    pub(crate) prefilled: Vec<RequestId>,
    /// Replicas that failed, in order of time.
    pub(crate) failures: Vec<ReplicaFailure>,
    /// Requests that were given to a replica again, or for which none was ready before, in order of time.
    pub(crate) restarts: Vec<Restart>,
    /// Requests that have not yet left a replica that failed.
    pub(crate) lost: BTreeSet<RequestId>,
    /// Those of them that have left it since the fleet was told.
    pub(crate) torn_down: Vec<RequestId>,
    /// What autoscalers decided, in order of time.
    pub(crate) scaling: Vec<ScalingDecision>,
    /// What requests did that a router was not yet told, where it counts its own.
    pub(crate) for_router: Option<Vec<(RequestId, RoutedEvent)>>,
}

/// What a router sees of the requests that it sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RoutedEvent {
    /// The first token.
    FirstToken,
    /// The end.
    Ends,
}

/// Prompts whose requests have no first token yet and have not ended.
#[derive(Debug, Clone, Default)]
pub(crate) struct UnreadPrompts {
    tokens_of: BTreeMap<RequestId, u32>,
    tokens: u64,
}

impl UnreadPrompts {
    /// Tokens of all of them.
    pub(crate) fn tokens(&self) -> u64 {
        self.tokens
    }

    /// A request comes in.
    pub(crate) fn add(&mut self, id: RequestId, input_tokens: u32) {
        self.tokens_of.insert(id, input_tokens);
        self.tokens += u64::from(input_tokens);
    }

    /// A request has its first token, or its end.
    fn forget(&mut self, id: RequestId) {
        self.tokens -= self.tokens_of.remove(&id).map_or(0, u64::from);
    }
}

impl EventLog {
    pub(crate) fn new(requests: usize) -> Self {
        Self { results: vec![RequestResult::default(); requests], ..Self::default() }
    }

    /// A request has come to its end.
    pub(crate) fn ends(&mut self, id: RequestId) {
        self.unread.forget(id);
        if self.lost.remove(&id) {
            self.torn_down.push(id);
        } else if let Some(ended) = &mut self.ended {
            ended.push(id);
        }
        if let Some(events) = &mut self.for_router {
            events.push((id, RoutedEvent::Ends));
        }
    }

    /// A request is at no replica any more, and is to be sent again.
    pub(crate) fn is_sent_again(&mut self, id: RequestId) {
        if let Some(events) = &mut self.for_router {
            events.push((id, RoutedEvent::Ends));
        }
    }

    /// A request has its first token.
    pub(crate) fn has_first_token(&mut self, id: RequestId) {
        self.unread.forget(id);
        if let Some(first_tokens) = &mut self.first_tokens {
            first_tokens.push(id);
        }
        if let Some(events) = &mut self.for_router {
            events.push((id, RoutedEvent::FirstToken));
        }
    }

    /// A request holds memory from now on.
    #[inline]
    pub(crate) fn is_scheduled(&mut self, id: RequestId) {
        if let Some(scheduled) = &mut self.scheduled {
            scheduled.push(id);
        }
    }

    /// `count` gaps between two times; equal ones in a row are counted together.
    pub(crate) fn gap(&mut self, start_us: f64, end_us: f64, count: u32) {
        let length_us = end_us - start_us;
        match self.gaps.last_mut() {
            Some(last) if last.length_us == length_us && last.count <= u32::MAX - count => {
                last.count += count;
            }
            _ => self.gaps.push(InterTokenLatency { end_us, length_us, count }),
        }
    }

    /// Requests are renamed to their place in `order`.
    pub(crate) fn rename(&mut self, order: &[RequestId]) {
        let mut places = vec![RequestId::default(); self.results.len()];
        RequestId::first(order.len()).zip(order).for_each(|(place, &id)| places[id] = place);
        self.restarts.iter_mut().for_each(|restart| restart.request = places[restart.request]);
        self.departures.iter_mut().for_each(|departure| departure.id = places[departure.id]);
        self.preemptions.iter_mut().for_each(|preemption| preemption.id = places[preemption.id]);
        self.preemption_intervals.iter_mut().for_each(|absence| absence.request = places[absence.request]);
        let copied = self.kv_copies.iter_mut().flat_map(|copy| &mut copy.requests);
        copied.for_each(|request| *request = places[*request]);
        self.decisions.rename(&places);
        self.phases.rename(&places);
    }
}
