//! SGLang by the rules of its own scheduler, version 0.5.23 (managers/scheduler.py, managers/schedule_policy.py,
//! managers/schedule_batch.py): batches of prompts before batches of decodes.
//!
//! A decision takes a batch of prompts where there is room (`prefill`): a waiting request is admitted if its prompt and all its
//! `max_new_tokens` fit beside what the running requests are expected to need, which is a share of theirs that falls while decodes
//! go on and rises when memory runs out. At most one prompt is cut; the rest of it goes first in the next batch. Without such a batch
//! all running requests decode (`decode`); where memory is short some are retracted: they go to the end of the waiting queue and are recomputed.
//!
//! The tokens of prompts and outputs are kept in a radix tree (`radix_tree`), and its leaves are evicted when memory is asked for
//! (`memory`). With overlap a batch is decided when the one before it begins, without its tokens (`results`).

mod batch;
mod contents;
mod decode;
mod memory;
mod prefill;
mod radix_tree;
mod request;
mod results;
mod waiting_queue;

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use servescope_workload::{RequestId, Trace};

use super::{
    BatchEvent, BatchScheduler, BlockAllocation, Effect, LengthRule, OwnQueue, PoolConfig, PrefixCaching,
    QueueScan, Replica, ScheduleContext, ScheduledBatch, SchedulerCounts, SchedulerFacts, SchedulerRules,
    SchedulerSetup, Steady,
};
use crate::config::adapters::{AdapterConfig, AdapterMemory};
use crate::config::sglang::{SchedulePolicy, SglangRules};
use crate::record::request_timings::PrefixLookups;
use crate::replica::batch_scheduler::RadixState;
use crate::replica::queue::policy::QueuePolicy;
use crate::replica::queue::waiting_queue::WaitingQueue;
use crate::request::{BlockReason, Outcome, Rejection};

use batch::{Batch, LastBatch, UnderWay};
use contents::Contents;
use memory::Memory;
use request::Request;

/// The new token ratio of a service that has done nothing (`SGLANG_INIT_NEW_TOKEN_RATIO`), what is left of it at the least
/// (`SGLANG_MIN_NEW_TOKEN_RATIO_FACTOR`), and in how many decodes (`SGLANG_NEW_TOKEN_RATIO_DECAY_STEPS`).
const FIRST_RATIO: f64 = 0.7;
const LEAST_OF_FIRST: f64 = 0.14;
const DECAY_STEPS: f64 = 600.0;

/// A prompt is rejected that leaves so few tokens of the longest request.
const TOKENS_BEHIND_PROMPT: u32 = 5;

/// Decodes that a retraction makes room for, of each request that stays (`SGLANG_RETRACT_DECODE_STEPS`).
const RETRACT_STEPS: u32 = 20;

/// The scheduler.
#[derive(Debug)]
pub(super) struct Sglang;

/// How much a batch of prompts counts towards the interval at which requests are received; any other counts 1
/// (`SGLANG_SCHEDULER_RECV_SKIPPER_WEIGHT_DEFAULT`).
const PROMPTS_WEIGHT: u32 = 1000;

/// What the scheduler learns of between two decisions.
#[derive(Debug, Clone, Copy)]
enum Message {
    Arrived(RequestId),
    Dropped(RequestId, Outcome),
}

/// What is kept of a replica.
#[derive(Debug, Clone)]
struct State {
    rules: SglangRules,
    /// Most requests that hold memory.
    slots: u32,
    free_slots: u32,
    /// Tokens of prompt and output that a request may have, and of the prompt.
    max_request_tokens: u32,
    memory: Memory,
    inbox: Vec<Message>,
    /// The weight of the batches decided since it received requests last.
    since_received: u32,
    requests: FxHashMap<RequestId, Request>,
    /// Requests that have gone, with the decision at which they did.
    gone: VecDeque<(u64, RequestId)>,
    decisions: u64,
    /// When the last batch ended.
    ended_us: f64,
    /// The waiting requests, in the order of the policy.
    waiting_queue: Vec<RequestId>,
    running: Batch,
    last: LastBatch,
    /// The request whose prompt is prefilled in part (`chunked_req`).
    chunked_request: Option<RequestId>,
    /// Its client has gone.
    chunked_request_leaves: Option<RequestId>,
    /// Batches that are decided and not done.
    under_way: VecDeque<UnderWay>,
    /// The new token ratio, and where it begins.
    ratio: f64,
    first_ratio: f64,
    least_ratio: f64,
    /// Decodes before the next batch of prompts.
    decodes_to_come: u32,
    /// Requests that entered the waiting queue so far.
    entered: u64,
    /// Attempts to take prompts, with waiting requests, under policies that do not look into the tree.
    refreshes: u64,
    /// Prompt tokens processed so far.
    prefilled: u64,
    /// Why the running batch takes no request, and why the head of the waiting queue waits.
    full_for: BlockReason,
    stop: Option<BlockReason>,
    lookups: PrefixLookups,
    /// Classes of users, where requests have priorities.
    classes: Vec<f64>,
}

impl SchedulerRules for Sglang {
    fn scheduler(&self, setup: &SchedulerSetup<'_>) -> Box<dyn BatchScheduler> {
        Box::new(State::new(setup))
    }

    fn facts(&self, config: &PoolConfig) -> SchedulerFacts {
        SchedulerFacts {
            reference_accepts_all: false,
            lengths: LengthRule::OfScheduler { rejects_from: rejects_from(config) },
            caches_prefixes: PrefixCaching::OfScheduler,
            allocation: BlockAllocation::OnDemand,
            looks_at_queue: false,
            keeps_queue: true,
            cancels_late: true,
            lists_running: true,
            batches_ahead: u32::from(config.sglang.overlap_schedule),
            managed_adapters: adapters_beside_pool(config.adapters),
            queues_empty_batches: true,
            drops_tokens_of_preempted: true,
            ..SchedulerFacts::of_iterations(config)
        }
    }

    fn refuses(&self, _config: &PoolConfig, _blocks: u32, _tokens: [u32; 2]) -> Option<Rejection> {
        None
    }
}

/// Tokens of prompt and output that a request may have (`max_req_len`).
fn longest_request(config: &PoolConfig) -> u32 {
    let pool = config.blocks.saturating_mul(config.block_size);
    config.max_request_tokens.min(pool).saturating_sub(1)
}

/// Tokens of the shortest prompt that is rejected: it leaves no room for an output (`max_req_input_len`).
fn rejects_from(config: &PoolConfig) -> u32 {
    longest_request(config).saturating_sub(TOKENS_BEHIND_PROMPT)
}

/// SGLang keeps adapters in memory of their own, never in the KV pool.
fn adapters_beside_pool(adapters: AdapterConfig) -> AdapterConfig {
    let memory = match adapters.memory {
        AdapterMemory::Unified => AdapterMemory::Resident,
        memory => memory,
    };
    AdapterConfig { memory, prefetch: false, ..adapters }
}

impl BatchScheduler for State {
    fn boxed(&self) -> Box<dyn BatchScheduler> {
        Box::new(self.clone())
    }

    fn schedule(
        &mut self,
        replica: &mut Replica,
        context: &mut ScheduleContext<'_>,
        batch: &mut ScheduledBatch,
    ) -> QueueScan {
        self.decisions += 1;
        if self.is_idle() && context.now_us > self.ended_us {
            self.ratio = self.first_ratio;
        }
        self.forget_gone();
        replica.with_list(|list, replica| {
            list.looks += 1;
            self.read_inbox(list, replica, context);
            self.form(list, replica, context, batch);
            self.memory.tell(&mut replica.kv);
        });
        context.record.phases.scanned(replica.index, context.now_us, self.stop, false);
        QueueScan::Stopped(self.stop)
    }

    fn steady_for(&self, _replica: &mut Replica, _context: &ScheduleContext<'_>, most: u32) -> Steady {
        let more = if self.inbox.is_empty() { self.decodes_to_decide() } else { 0 };
        Steady::up_to(most.min(more.saturating_add(1)))
    }

    fn happened(
        &mut self,
        replica: &mut Replica,
        context: &mut ScheduleContext<'_>,
        event: BatchEvent<'_>,
    ) -> Effect {
        match event {
            BatchEvent::Arrived(id) => {
                self.inbox.push(Message::Arrived(id));
                // No request is admitted until one leaves; but when a request came can matter then.
                let counts_since = self.rules.schedule_policy == SchedulePolicy::ResponseRatio;
                let is_told_at_once = counts_since
                    || self.rules.recv_interval > 1
                    || self.rules.max_queued_requests.is_some()
                    || self.is_too_long(context.trace.input_tokens[id]);
                let waits = self.running.is_full && !self.preempts() && !is_told_at_once;
                if waits && replica.in_flight > 0 { Effect::None } else { Effect::Next }
            }
            BatchEvent::Dropped(id, outcome) => {
                self.inbox.push(Message::Dropped(id, outcome));
                Effect::Next
            }
            BatchEvent::Decoded(iterations) => {
                self.decisions += u64::from(iterations);
                self.since_received = (self.since_received + iterations) % self.rules.recv_interval.max(1);
                self.decoded(iterations, iterations);
                Effect::None
            }
            BatchEvent::Ended(..) => {
                replica.with_list(|list, replica| {
                    self.end_batch(list, replica, context);
                    self.memory.tell(&mut replica.kv);
                });
                Effect::None
            }
            _ => Effect::None,
        }
    }

    fn counts(&self) -> SchedulerCounts<'_> {
        SchedulerCounts {
            queue: Some(self),
            radix: Some(self.radix_state()),
            prefix_lookups: self.memory.caches().then_some(self.lookups),
            ..SchedulerCounts::default()
        }
    }

    fn queue_mut(&mut self) -> Option<&mut dyn OwnQueue> {
        Some(self)
    }
}

impl OwnQueue for State {
    fn as_seen(&self, trace: &Trace) -> WaitingQueue {
        let mut queue = WaitingQueue::default();
        let came = self.inbox.iter().filter_map(|message| match message {
            Message::Arrived(id) => Some(*id),
            Message::Dropped(..) => None,
        });
        for id in self.waiting_queue.iter().copied().chain(came) {
            queue.push(trace, id, 0.0);
        }
        queue
    }
}

impl State {
    fn new(setup: &SchedulerSetup<'_>) -> Self {
        let SchedulerSetup { config, trace, queueing, block_numbers } = *setup;
        let rules = config.sglang;
        let block_tokens = trace.metadata.as_ref().map_or(1, |metadata| metadata.prefix.block_tokens);
        let contents = Contents::new(block_numbers.first(), block_tokens);
        let memory = Memory::new(config, contents);
        let slots = config.max_requests.min(memory.pool() / 2).max(1);
        let first_ratio = (FIRST_RATIO * rules.schedule_conservativeness).min(1.0);
        let classes = match &queueing.policy {
            QueuePolicy::Priority { classes, .. } => classes.clone(),
            _ => Vec::new(),
        };
        Self {
            rules,
            slots,
            free_slots: slots,
            max_request_tokens: longest_request(config),
            memory,
            inbox: Vec::new(),
            since_received: 0,
            requests: FxHashMap::default(),
            gone: VecDeque::new(),
            decisions: 0,
            ended_us: f64::NEG_INFINITY,
            waiting_queue: Vec::new(),
            running: Batch::default(),
            last: LastBatch::None,
            chunked_request: None,
            chunked_request_leaves: None,
            under_way: VecDeque::new(),
            ratio: first_ratio,
            first_ratio,
            least_ratio: (first_ratio * LEAST_OF_FIRST).min(1.0),
            decodes_to_come: 0,
            entered: 0,
            refreshes: 0,
            prefilled: 0,
            full_for: BlockReason::Memory,
            stop: None,
            lookups: PrefixLookups::default(),
            classes,
        }
    }

    fn radix_state(&self) -> RadixState {
        RadixState {
            free: self.memory.free(),
            evictable: self.memory.evictable(),
            locked: self.memory.tree().map_or(0, radix_tree::RadixTree::locked),
            evicted: self.memory.evicted(),
            decisions: self.decisions,
            new_token_ratio: self.ratio,
            chunked_request: self.chunked_request,
            running: self.running.requests.len() as u32,
        }
    }

    fn of(&self, id: RequestId) -> &Request {
        &self.requests[&id]
    }

    fn of_mut(&mut self, id: RequestId) -> &mut Request {
        self.requests.get_mut(&id).expect("a request is known until it has gone")
    }

    /// Whether nothing is to be done. An idle service begins again with the first ratio.
    fn is_idle(&self) -> bool {
        self.under_way.is_empty() && self.requests.len() == self.gone.len()
    }

    /// Whether it receives what has come before this decision (managers/scheduler_components/recv_skipper.py). A loop that has nothing
    /// to run turns without end, so that it receives at once.
    fn receives(&mut self) -> bool {
        let weight = if matches!(self.last, LastBatch::Prompts(_)) { PROMPTS_WEIGHT } else { 1 };
        self.since_received = self.since_received.saturating_add(weight);
        let spins = matches!(self.last, LastBatch::None) && self.under_way.is_empty();
        let receives = spins || self.since_received >= self.rules.recv_interval;
        if receives {
            self.since_received = 0;
        }
        receives
    }

    /// A request has gone; batches under way may still hold it.
    fn goes(&mut self, id: RequestId) {
        self.gone.push_back((self.decisions, id));
    }

    /// Forgets requests that no batch holds any more: those decided since have ended.
    fn forget_gone(&mut self) {
        while let Some(&(_, id)) = self.gone.front().filter(|gone| gone.0 + 4 <= self.decisions) {
            self.requests.remove(&id);
            self.gone.pop_front();
        }
    }
}
