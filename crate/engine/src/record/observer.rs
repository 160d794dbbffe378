//! Watching a run decide, event by event, without cost when no observer is there.

use crate::client::ClientId;
use servescope_workload::RequestId;

use std::sync::{Arc, Mutex, PoisonError};

/// Something that happened in S-LoRA's router.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RouterEvent<'a> {
    /// A request arrived and joined the waiting queue.
    Arrived(RequestId),
    /// A request that arrived was rejected by the scheduling policy, at once or while it waited.
    Rejected(RequestId),
    /// A request waited longer than it may.
    TimedOut(RequestId),
    /// A client went away.
    Cancelled(RequestId),
    /// A memory test was made.
    Check {
        /// The candidate.
        id: RequestId,
        /// KV tokens needed at the worst moment.
        need_tokens: i64,
        /// Pool tokens of distinct adapters.
        adapter_tokens: u32,
        /// Requests counted, the candidate included.
        requests: usize,
        /// Whether memory and the cap on requests allow it.
        fits: bool,
    },
    /// An admission decision was taken.
    Decided {
        /// Start of the router's step.
        at_us: f64,
        /// The requests that join.
        picked: &'a [RequestId],
    },
    /// An adapter was copied to the GPU.
    Loaded(u32),
    /// Adapters were looked for ahead of a decode iteration; the copied ones are reported before.
    Prefetched,
    /// An adapter left the GPU.
    Offloaded(u32),
    /// A prefill, adapter loading included.
    Prefill {
        /// Start of the loading.
        at_us: f64,
        /// Loading and prefill together.
        duration_us: f64,
    },
    /// Decode iterations without a change of the batch.
    Decode {
        /// Start of the first.
        at_us: f64,
        /// All together.
        duration_us: f64,
        /// How many.
        iterations: u32,
        /// Requests in the batch.
        requests: u32,
        /// Whether each of them began with a decision that picked no request.
        decided: bool,
    },
    /// A request left the batch.
    Finished(RequestId),
    /// A step of the router ended.
    StepEnd {
        /// Decode iterations since the last prefill, at most the rule's number.
        decode_steps_since_prefill: u32,
        /// Every client seen so far with its counter, where the scheduling policy keeps them.
        counters: Option<&'a [(ClientId, f64)]>,
        /// What each client is expected to produce, where that is learnt.
        predicted: &'a [(ClientId, f64)],
    },
}

/// An observer of a run.
pub trait EventSink: std::fmt::Debug + Send {
    /// Takes an event.
    fn emit(&mut self, event: RouterEvent<'_>);
}

impl<T: EventSink> EventSink for Arc<Mutex<T>> {
    fn emit(&mut self, event: RouterEvent<'_>) {
        self.lock().unwrap_or_else(PoisonError::into_inner).emit(event);
    }
}

/// The observer of a run, if there is one.
#[derive(Debug, Default)]
pub struct Watch(Option<Box<dyn EventSink>>);

impl Clone for Watch {
    /// An observer hears one run only: the clone has none.
    fn clone(&self) -> Self {
        Self(None)
    }
}

impl Watch {
    /// Notifies an observer.
    pub fn by(observer: Box<dyn EventSink>) -> Self {
        Self(Some(observer))
    }

    /// Whether there is one.
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Emits an event; the closure makes it, and is not called where no observer is.
    #[inline]
    pub fn emit<'a>(&mut self, event: impl FnOnce() -> RouterEvent<'a>) {
        if let Some(observer) = &mut self.0 {
            observer.emit(event());
        }
    }
}
