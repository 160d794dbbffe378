//! What the gateway looks like when it decides, for a debugger. Nothing is taken unless it is asked for.

use crate::client::ClientId;
use servescope_workload::Trace;

use super::Proxy;
use crate::gateway::load::LoadState;
use crate::record::decisions::Decision;
use crate::record::decisions::passes::QueuePass;
use crate::replica::queue::QueuePolicy;
use crate::replica::queue::waiting_queue::listing::{MOST_LISTED, QueueKeyKind, WaitingEntry};

/// The gateway.
#[derive(Debug, Clone, PartialEq)]
pub struct GatewaySnapshot {
    /// When, microseconds.
    pub time_us: f64,
    /// By what the queue is ordered.
    pub key: QueueKeyKind,
    /// The first [`MOST_LISTED`] waiting requests in the order in which they would be forwarded if each were let through now.
    pub waiting: Vec<WaitingEntry>,
    /// How many of these stand behind a limit of their client: the last ones of the list.
    pub held_back: u32,
    /// How many wait.
    pub waiting_count: u32,
    /// Prompt and predicted output tokens of all that wait.
    pub waiting_tokens: u64,
    /// Requests at the engine.
    pub at_engine: u32,
    /// Most of them.
    pub most_at_engine: u32,
    /// Tokens of the KV pool that are reserved for requests at the engine.
    pub reserved_tokens: u64,
    /// Tokens of the pool that are free by the last look at the engine, without those reserved and the headroom.
    pub room_tokens: f64,
    /// Tokens of the pool.
    pub pool_tokens: f64,
    /// The load state.
    pub load: LoadState,
    /// Each client seen so far with its counter, where the queue keeps counters.
    pub counters: Vec<(ClientId, f64)>,
}

/// What a debugger keeps of the gateway while it looks. Snapshots are taken through a pointer: a module for the page which does
/// not step through decisions has no code of them.
#[derive(Debug, Clone)]
pub(super) struct GatewayCamera {
    take: fn(&Proxy, &Trace, f64) -> GatewaySnapshot,
    passes: Vec<QueuePass<GatewaySnapshot>>,
}

impl Proxy {
    /// The gateway is about to decide: takes a snapshot where one is wanted.
    #[inline]
    pub(super) fn is_seen(&mut self, trace: &Trace, at_us: f64) {
        if let Some(take) = self.camera.as_ref().map(|camera| camera.take) {
            let pass = QueuePass::begins(take(self, trace, at_us), &self.decisions);
            if let Some(camera) = &mut self.camera {
                camera.passes.push(pass);
            }
        }
    }

    /// From now on a snapshot is taken before each decision, or none is.
    pub(crate) fn take_snapshots(&mut self, takes: bool) {
        self.camera = takes.then(|| Box::new(GatewayCamera { take: Self::snapshot, passes: Vec::new() }));
    }

    /// The decisions since the last call, and the passes of which snapshots were taken; from now on none are.
    pub(crate) fn drain_decisions(&mut self) -> (Vec<Decision>, Vec<QueuePass<GatewaySnapshot>>) {
        let passes = self.camera.take().map(|camera| camera.passes).unwrap_or_default();
        (self.decisions.drain(), passes)
    }

    /// What the gateway looks like.
    pub(crate) fn snapshot(&self, trace: &Trace, at_us: f64) -> GatewaySnapshot {
        let mut waiting = self.listed(trace, MOST_LISTED, false);
        let most = MOST_LISTED.saturating_sub(waiting.len());
        let held_back = self.listed(trace, most, true);
        let held_count = held_back.len() as u32;
        waiting.extend(held_back);
        GatewaySnapshot {
            time_us: at_us,
            key: QueueKeyKind::of(&self.config.queue_policy),
            waiting,
            held_back: held_count,
            waiting_count: self.waiting,
            waiting_tokens: self.waiting_tokens,
            at_engine: self.slots_taken() as u32,
            most_at_engine: self.config.concurrency,
            reserved_tokens: self.reservations.reserved(),
            room_tokens: self.room_tokens(),
            pool_tokens: self.config.pool_tokens,
            load: self.load.state(),
            counters: self.queue.clone().counters(),
        }
    }

    /// Waiting requests in the order in which they would be forwarded: of clients that may send now, or of the others.
    fn listed(&self, trace: &Trace, most: usize, of_held_back: bool) -> Vec<WaitingEntry> {
        let mut queue = self.queue.clone();
        let mut list = Vec::new();
        if of_held_back {
            let ready: Vec<ClientId> =
                queue.seen().iter().copied().filter(|&client| !queue.is_throttled(client)).collect();
            ready.into_iter().for_each(|client| queue.throttle(client, f64::INFINITY));
            let held: Vec<ClientId> =
                self.queue.seen().iter().copied().filter(|&client| self.queue.is_throttled(client)).collect();
            held.into_iter().for_each(|client| queue.unthrottle(client));
        }
        while list.len() < most
            && let Some((client, id)) = queue.head()
        {
            if !self.waits(id) {
                queue.skip(client);
                continue;
            }
            let passage = &self.log.passages[id];
            let arrival_us = passage.asked_us;
            let predicted = passage.predicted_tokens;
            let key = match &self.config.queue_policy {
                QueuePolicy::Sjf => f64::from(predicted),
                QueuePolicy::Vtc(_) | QueuePolicy::Drr(_) => {
                    let counter = queue.service().value(client);
                    queue.token_costs().counter(counter)
                }
                QueuePolicy::Priority { classes, ageing_us } => {
                    let class = crate::client::cycle_get(classes, client.index(), 0.0);
                    crate::replica::queue::priority::key(class, *ageing_us, arrival_us)
                }
                _ => arrival_us,
            };
            let prompt_tokens = trace.input_tokens[id];
            list.push(WaitingEntry { id, key: Some(key), arrival_us, prompt_tokens, was_preempted: false });
            let charged = if self.config.queue_policy.charges_ahead() { predicted } else { 0 };
            let cost = queue.token_costs().prompt(client, f64::from(prompt_tokens), f64::from(charged));
            queue.charge(client, cost);
            queue.pop(client);
        }
        list
    }
}
