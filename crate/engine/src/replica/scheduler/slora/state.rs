//! What S-LoRA's router keeps of a replica: its queue, the memory test, adapters, the inbox that it has not read, its sleep.

use crate::client::ClientId;
use servescope_workload::{RequestId, Trace};

use super::queue::SloraQueue;
use crate::config::PoolConfig;
use crate::config::adapters::AdapterMemory;
use crate::replica::adapters::pool::AdapterPool;
use crate::replica::batch_scheduler::{Effect, OwnQueue};
use crate::replica::peak_memory::PeakKvEstimator;
use crate::replica::queue::policy::QueueConfig;
use crate::replica::queue::waiting_queue::WaitingQueue;
use crate::request::Outcome;

/// The state.
#[derive(Debug, Clone)]
pub(in crate::replica::scheduler) struct SloraState {
    pub(super) queue: SloraQueue,
    pub(super) memory: PeakKvEstimator,
    /// The adapters of the batch, and where they share the KV pool those in GPU memory.
    pub(super) adapters: AdapterPool,
    pub(super) owns_adapters: bool,
    /// Requests that the last decision admitted.
    pub(super) admitted: Vec<RequestId>,
    /// No decision before this decode step picks a request or changes anything, unless a request leaves or arrives.
    pub(super) next_admissible_step: u64,
    /// Decode iterations since the last prefill, at most the rule's number.
    pub(super) decode_steps_since_prefill: u32,
    /// Whether the present step began with a decision.
    pub(super) decides: bool,
    /// Whether requests of the iteration that ends have left.
    pub(super) is_finishing: bool,
    /// How many joined the batch so far.
    pub(super) joined: u32,
    pub(super) inbox: Vec<Message>,
    sleep: Option<Sleep>,
}

/// What the router learns of at its next step.
#[derive(Debug, Clone, Copy)]
pub(super) enum Message {
    /// A request came in, at this time in microseconds.
    Arrived(RequestId, f64),
    /// A request came in that was over its client's rate limit.
    Rejected(RequestId),
    /// A waiting request was dropped, or a client cancelled its request.
    Dropped(RequestId, Outcome),
}

/// The router's sleep.
#[derive(Debug, Clone, Copy)]
struct Sleep {
    since_us: f64,
    wakes_us: f64,
    /// Polls until then.
    polls: f64,
    /// Whether no message shortens it.
    is_deaf: bool,
}

impl SloraState {
    pub(in crate::replica::scheduler) fn new(
        config: &PoolConfig,
        trace: &Trace,
        queueing: &QueueConfig,
    ) -> Self {
        let owns_adapters = config.adapters.memory == AdapterMemory::Unified;
        let tokens_per_rank = if owns_adapters { config.adapters.tokens_per_rank } else { 0.0 };
        let slots = match config.adapters.memory {
            AdapterMemory::Slots => config.adapters.max_loras,
            AdapterMemory::Unified | AdapterMemory::Resident => u32::MAX,
        };
        let adapters = AdapterPool::new(trace.adapter_count(), &trace.adapter_rank)
            .with_tokens_per_rank(tokens_per_rank)
            .with_slots(slots);
        Self {
            queue: SloraQueue::new(queueing.clone(), config.blocks, trace),
            memory: PeakKvEstimator::default(),
            adapters,
            owns_adapters,
            admitted: Vec::new(),
            next_admissible_step: 0,
            decode_steps_since_prefill: 0,
            decides: false,
            is_finishing: false,
            joined: 0,
            inbox: Vec::new(),
            sleep: Some(Sleep { since_us: 0.0, wakes_us: 0.0, polls: 1.0, is_deaf: true }),
        }
    }

    /// Learns of something at its next step; says what that can change.
    pub(super) fn hears(&mut self, message: Message) -> Effect {
        self.inbox.push(message);
        match message {
            Message::Arrived(..) if self.queue.arrival_invalidates_decision() => Effect::Next,
            // A router that sleeps hears of it at its next poll, also behind a head that can never be admitted.
            Message::Arrived(..) if self.sleep.is_some() || self.queue.is_empty() => Effect::Later,
            Message::Arrived(..) => Effect::None,
            Message::Rejected(_) => Effect::Later,
            Message::Dropped(..) => Effect::Next,
        }
    }

    /// When it wakes, infinite where only a message wakes it.
    pub(super) fn wakes(&self) -> f64 {
        self.sleep.map_or(f64::INFINITY, |sleep| sleep.wakes_us)
    }

    /// Whether the router is asleep and stays so. A message shortens a sleep to the first poll that hears of it.
    pub(super) fn sleeps_on(&mut self, now_us: f64, poll_us: f64) -> bool {
        let Some(sleep) = &mut self.sleep else { return false };
        if now_us < sleep.wakes_us && !sleep.is_deaf {
            let (wakes_us, polls) = first_poll(sleep.since_us, poll_us, now_us);
            if wakes_us < sleep.wakes_us {
                *sleep = Sleep { wakes_us, polls, ..*sleep };
            }
        }
        if now_us < sleep.wakes_us {
            return true;
        }
        if !sleep.is_deaf && poll_us > 0.0 {
            let polls = sleep.polls;
            self.queue.idle(polls - 1.0);
        }
        self.sleep = None;
        false
    }

    /// No request runs and none can be admitted: sleeps until something is due.
    pub(super) fn sleep(&mut self, now_us: f64, poll_us: f64) {
        if poll_us > 0.0 && self.queue.must_repoll() {
            return self.sleep_once(now_us, poll_us);
        }
        let due_us = self.queue.due_us();
        let (wakes_us, polls) =
            due_us.map_or((f64::INFINITY, 1.0), |due_us| first_poll(now_us, poll_us, due_us));
        self.sleep = Some(Sleep { since_us: now_us, wakes_us, polls, is_deaf: false });
    }

    /// Sleeps for one poll, whatever happens.
    pub(super) fn sleep_once(&mut self, now_us: f64, poll_us: f64) {
        let wakes_us = now_us + poll_us;
        self.sleep = Some(Sleep { since_us: now_us, wakes_us, polls: 1.0, is_deaf: true });
    }
}

/// The first poll at `due_us` or later of a sleep that began at `since_us`, and which it is; without polls what is due wakes.
fn first_poll(since_us: f64, poll_us: f64, due_us: f64) -> (f64, f64) {
    if poll_us == 0.0 {
        return (since_us.max(due_us), 1.0);
    }
    let polls = ((due_us - since_us) / poll_us).ceil().max(1.0);
    let after = |polls: f64| since_us + polls * poll_us;
    // Rounding puts the quotient off by one at most; a poll too short for the clock wakes at what is due.
    let wake = [polls - 1.0, polls, polls + 1.0]
        .into_iter()
        .filter(|&n| n >= 1.0)
        .map(after)
        .find(|&at| at >= due_us);
    (wake.unwrap_or(due_us), polls)
}

impl OwnQueue for SloraState {
    fn keeps_counters(&self) -> bool {
        self.queue.keeps_counters()
    }

    fn charge(&mut self, iterations: u32) {
        self.queue.decoded(iterations);
    }

    fn counters(&mut self) -> Vec<(ClientId, f64)> {
        self.queue.counters().unwrap_or_default()
    }

    fn as_seen(&self, trace: &Trace) -> WaitingQueue {
        let mut queue = self.queue.clone();
        for message in &self.inbox {
            if let Message::Arrived(id, at_us) = *message {
                queue.arrive(id, at_us, trace);
            }
        }
        queue.into_waiting()
    }
}
