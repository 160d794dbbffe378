//! The waiting queue of a replica under any scheduling policy, and what its clients are charged.
//!
//! Preempted requests stand ahead of all others, the last one first, as vLLM prepends them. Under priority they go back to
//! their place, as in vLLM's priority queue (vllm/v1/core/sched/request_queue.py), but for those that the host keeps.
//! Counters are the replica's own: instances share none. A prompt is charged when it is first admitted, a preempted one not
//! again; an output token when it is there. Which moments are charged besides is the scheduler's
//! ([`super::service_counters::OutputAccounting`]).

pub(crate) mod listing;

use crate::client::ClientId;
use std::collections::VecDeque;
use std::sync::Arc;

use servescope_workload::{BASE_MODEL, RequestId, Trace};

use super::adapter_queue::{AdapterQueue, list_number};
use super::client_queue::ClientQueue;
use super::fairness::FairnessRules;
use super::policy::{QueueConfig, QueuePolicy};
use super::priority;
use super::rpm::Limiter;
use super::service_counters::OutputAccounting;
use super::token_charges::TokenCharges;
use crate::client::cycle_get;

/// A waiting queue.
#[derive(Debug, Clone, Default)]
pub(crate) struct WaitingQueue {
    /// First come, first served: the requests that wait; under another policy those ahead of it. Requests that have gone away
    /// stay in it until they are at its head, which always waits.
    ahead: VecDeque<RequestId>,
    /// Those of them that are passed over while an iteration is formed.
    deferred: Vec<RequestId>,
    /// First come, first served with too few LoRA slots: the requests that wait, instead of `ahead`.
    by_adapter: Option<Box<AdapterQueue>>,
    ranked: Option<Box<RankedQueue>>,
    limiter: Option<Box<Limiter>>,
}

/// The part of a queue that is not first come, first served.
#[derive(Debug, Clone)]
struct RankedQueue {
    config: Arc<QueueConfig>,
    queue: ClientQueue,
    charges: TokenCharges,
    accounting: OutputAccounting,
    /// The number of clients that are distinguished.
    clients: usize,
    /// Whether it has a list for each adapter and not for each client, or of each client one for each adapter.
    by_adapter: bool,
}

impl WaitingQueue {
    /// An empty queue of a replica with `pool_tokens` tokens of KV memory. Batch-aware policies are first come, first served
    /// here: S-LoRA's scheduler looks at the requests in that order.
    pub(crate) fn new(
        config: &Arc<QueueConfig>,
        rules: FairnessRules,
        trace: &Trace,
        pool_tokens: f64,
    ) -> Self {
        let mut queue = Self::limited(config, trace);
        if !matches!(config.policy, QueuePolicy::Fcfs | QueuePolicy::Rpm { .. })
            && !config.policy.is_batch_aware()
        {
            queue.ranked = Some(Box::new(RankedQueue::new(config, rules, trace, pool_tokens)));
        }
        queue
    }

    /// The same with a list of requests for each adapter, where the replica has fewer LoRA slots than the trace has adapters.
    pub(crate) fn listing_by_adapter(mut self, trace: &Trace, are_short: bool) -> Self {
        match &mut self.ranked {
            Some(ranked) if are_short => ranked.list_by_adapter(trace),
            None if are_short => self.by_adapter = Some(Box::default()),
            _ => {}
        }
        self
    }

    /// A first come, first served queue that rejects what the policy rejects on arrival.
    pub(crate) fn limited(config: &QueueConfig, trace: &Trace) -> Self {
        let limiter = match &config.policy {
            QueuePolicy::Rpm { limit } => Some(Box::new(Limiter::new(*limit, config.client.count(trace)))),
            _ => None,
        };
        Self { limiter, ..Self::default() }
    }

    /// Whether a request that comes now may wait; times never decrease.
    pub(crate) fn accepts(
        &mut self,
        config: &QueueConfig,
        trace: &Trace,
        id: RequestId,
        now_us: f64,
    ) -> bool {
        let Some(limiter) = &mut self.limiter else { return true };
        let client = config.client.of(trace, id, limiter.clients());
        limiter.accepts(client.index(), now_us)
    }

    /// Whether it has a policy of its own, in which an arrival or a token may bring another request to the head.
    pub(crate) fn is_ranked(&self) -> bool {
        self.ranked.is_some()
    }

    /// Whether no request waits, not even one that has gone away.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.ahead.is_empty()
            && self.ranked.as_ref().is_none_or(|ranked| ranked.queue.is_empty())
            && self.by_adapter.as_ref().is_none_or(|queue| queue.is_empty())
    }

    /// The requests in the order of arrival, gone ones included, where that is the policy.
    #[inline]
    pub(crate) fn by_arrival_mut(&mut self) -> &mut VecDeque<RequestId> {
        &mut self.ahead
    }

    /// The same, to look at.
    pub(crate) fn by_arrival(&self) -> &VecDeque<RequestId> {
        &self.ahead
    }

    /// All requests in the order of the policy, gone ones included; of policies that rank clients in that of arrival.
    pub(crate) fn in_order(&self) -> Vec<RequestId> {
        let ranked = self.ranked.as_ref().map_or_else(Vec::new, |ranked| ranked.queue.in_order());
        let by_adapter = self.by_adapter.as_ref().map_or_else(Vec::new, |queue| queue.in_order());
        self.ahead.iter().copied().chain(ranked).chain(by_adapter).collect()
    }

    /// Whether clients are charged for what they are served.
    pub(crate) fn keeps_counters(&self) -> bool {
        self.ranked.as_ref().is_some_and(|ranked| ranked.queue.keeps_counters())
    }

    /// Whether a decision may move counters although no request is admitted.
    pub(crate) fn decision_has_side_effects(&self) -> bool {
        self.ranked.as_ref().is_some_and(|ranked| ranked.queue.decision_has_side_effects())
    }

    /// A request joins; says whether the head may from now on change sooner.
    #[inline]
    pub(crate) fn push(&mut self, trace: &Trace, id: RequestId, now_us: f64) -> bool {
        let Some(ranked) = &mut self.ranked else {
            match &mut self.by_adapter {
                Some(queue) => queue.push_back(trace.adapter[id], id),
                None => self.ahead.push_back(id),
            }
            return false;
        };
        let is_new = ranked.push(trace, id, ranked.config.predicted_tokens(trace, id), now_us);
        is_new && ranked.queue.keeps_counters()
    }

    /// A preempted request comes back that arrived at `arrival_us`.
    pub(crate) fn come_back(&mut self, trace: &Trace, id: RequestId, arrival_us: f64, is_on_host: bool) {
        match &mut self.ranked {
            Some(ranked) if ranked.is_by_class() && !is_on_host => {
                ranked.push(trace, id, 0.0, arrival_us);
            }
            _ => match &mut self.by_adapter {
                Some(queue) => queue.push_front(trace.adapter[id], id),
                None => self.ahead.push_front(id),
            },
        }
    }

    /// The first of the requests ahead of the policy; first come, first served that is the head.
    #[inline]
    pub(crate) fn first_ahead(&self) -> Option<RequestId> {
        self.by_adapter.as_ref().map_or_else(|| self.ahead.front().copied(), |queue| queue.head())
    }

    /// The request that is admitted next. Those before it that have gone away leave the queue.
    #[inline]
    pub(crate) fn head(&mut self, is_gone: impl Fn(RequestId) -> bool) -> Option<RequestId> {
        match (self.first_ahead(), &mut self.ranked) {
            (None, Some(ranked)) => ranked.head(is_gone).map(|head| head.1),
            (first, _) => first,
        }
    }

    /// Takes the head out, to be admitted, and charges its client for the prompt.
    pub(crate) fn pop(&mut self, trace: &Trace, is_gone: impl Fn(RequestId) -> bool) -> Option<RequestId> {
        if let Some(queue) = &mut self.by_adapter {
            return queue.pop(is_gone);
        }
        let head = self.ahead.pop_front();
        if head.is_some() {
            self.skip_gone(is_gone);
            return head;
        }
        let ranked = self.ranked.as_mut()?;
        let (client, id) = ranked.head(is_gone)?;
        ranked.charge_prompt(client, id, trace);
        ranked.queue.pop(client);
        Some(id)
    }

    /// The head does not fit and stays.
    pub(crate) fn block(&mut self) {
        if let Some(ranked) = &mut self.ranked {
            ranked.queue.block();
        }
    }

    /// The head is skipped, and those behind it up to the first whose adapter has one of the slots in use, or that has no
    /// adapter; until one is taken out or [`Self::put_back`]. No client is charged for them. Returns the new head; `skipped`, if
    /// asked for, gets those that were skipped; where no counters are kept, only the first one of each adapter.
    pub(crate) fn skip_to_slots(
        &mut self,
        trace: &Trace,
        in_use: &[u32],
        is_gone: impl Fn(RequestId) -> bool,
        mut skipped: Option<&mut Vec<RequestId>>,
    ) -> Option<RequestId> {
        if let Some(queue) = &mut self.by_adapter {
            let head = if queue.skip_to(in_use.iter().copied()) { queue.head() } else { None };
            if let Some(skipped) = skipped {
                skipped.extend(queue.skipped());
            }
            return head;
        }
        loop {
            let Some(first) = self.ahead.pop_front() else {
                return self.ranked.as_mut()?.skip_to_slots(in_use, is_gone, skipped);
            };
            if let Some(skipped) = &mut skipped {
                skipped.push(first);
            }
            self.deferred.push(first);
            self.skip_gone(&is_gone);
            let id = self.head(&is_gone)?;
            let adapter = trace.adapter[id];
            if adapter == BASE_MODEL || in_use.contains(&adapter) {
                return Some(id);
            }
        }
    }

    /// Requests that were passed over are back in their places.
    pub(crate) fn put_back(&mut self) {
        while let Some(id) = self.deferred.pop() {
            self.ahead.push_front(id);
        }
        if let Some(ranked) = &mut self.ranked {
            ranked.queue.put_back();
        }
        if let Some(queue) = &mut self.by_adapter {
            queue.put_back();
        }
    }

    /// A request that waits has gone away.
    pub(crate) fn forget(&mut self, trace: &Trace, id: RequestId, is_gone: impl Fn(RequestId) -> bool) {
        if let Some(queue) = &mut self.by_adapter {
            return queue.forget(trace.adapter[id], is_gone);
        }
        if let Some(ranked) = &mut self.ranked
            && !self.ahead.contains(&id)
        {
            let (client, _) = ranked.list_of(trace, id);
            ranked.queue.forget(client);
        }
        self.skip_gone(is_gone);
    }

    fn skip_gone(&mut self, is_gone: impl Fn(RequestId) -> bool) {
        while self.ahead.front().is_some_and(|&id| is_gone(id)) {
            self.ahead.pop_front();
        }
    }

    /// The key by which requests that hold memory are looked at, and preempted from the end: under priority that of the
    /// queue, otherwise their arrival.
    pub(crate) fn key(&self, trace: &Trace, id: RequestId, arrival_us: f64) -> f64 {
        match self.ranked.as_deref() {
            Some(ranked) => ranked.key(trace, id, arrival_us),
            None => arrival_us,
        }
    }

    /// Whether requests that hold memory stand in the order of the queue, and not in that in which they were admitted.
    pub(crate) fn ranks_holders(&self) -> bool {
        self.ranked.as_ref().is_some_and(|ranked| ranked.is_by_class())
    }

    /// For how many iterations in which the whole batch decodes the head stays the same, at least 1.
    pub(crate) fn steady(&mut self) -> u32 {
        match &mut self.ranked {
            Some(ranked) if self.ahead.is_empty() => ranked.steady().max(1.0) as u32,
            _ => u32::MAX,
        }
    }

    /// A lower bound of the iterations in which the whole batch decodes and the head, which ranked first when it was looked
    /// at, stays the same; `None`: every iteration may change it.
    pub(crate) fn iterations_blocked(&mut self) -> Option<f64> {
        match &mut self.ranked {
            Some(ranked) if ranked.charges.is_itemised() => None,
            Some(ranked) => Some(ranked.steady()),
            None => Some(f64::INFINITY),
        }
    }

    /// Whether looking at the head moves counters.
    pub(crate) fn is_round_robin(&self) -> bool {
        self.ranked.as_ref().is_some_and(|r| matches!(r.config.policy, QueuePolicy::Drr(_)))
    }

    /// Every client's counter, in the units of the token cost.
    pub(crate) fn counters(&mut self) -> Vec<(ClientId, f64)> {
        self.ranked.as_mut().map_or_else(Vec::new, |ranked| ranked.queue.counters())
    }

    /// The counter of a client before the weights are put into the units of the token cost, in which others are compared
    /// with it and raised to it.
    pub(crate) fn raw_counter(&mut self, trace: &Trace, id: RequestId) -> f64 {
        self.ranked.as_mut().map_or(0.0, |ranked| {
            let client = ranked.client_of(trace, id);
            ranked.queue.service().value(client)
        })
    }

    /// Raises every client's counter to at least `floor`; `None`: to the largest.
    pub(crate) fn raise_all(&mut self, floor: Option<f64>) {
        if let Some(ranked) = &mut self.ranked {
            ranked.queue.raise_all(floor);
        }
    }

    /// Every client that has sent a request, with the output tokens that are expected of its next one, under virtual token
    /// counters; in the order of their first requests.
    pub(crate) fn predicted_lengths(&self) -> Vec<(ClientId, f64)> {
        match self.ranked.as_deref() {
            Some(RankedQueue { config, queue, charges, .. })
                if matches!(config.policy, QueuePolicy::Vtc(_)) =>
            {
                queue.seen().iter().map(|&client| (client, charges.expected(client))).collect()
            }
            _ => Vec::new(),
        }
    }

    fn counting(&mut self) -> Option<&mut RankedQueue> {
        self.ranked.as_deref_mut().filter(|ranked| ranked.queue.keeps_counters())
    }

    fn counting_artifacts(&mut self) -> Option<&mut RankedQueue> {
        self.counting().filter(|ranked| ranked.accounting == OutputAccounting::Artifact)
    }

    /// A request decodes in the batch from now on, or no more.
    pub(crate) fn decodes(&mut self, trace: &Trace, id: RequestId, joins: bool) {
        let Some(ranked) = self.counting() else { return };
        let client = ranked.client_of(trace, id);
        ranked.charges.decodes(&mut ranked.queue, client, id, joins);
    }

    /// Every request of the batch has made this many tokens.
    pub(crate) fn decoded(&mut self, iterations: u32) {
        let Some(ranked) = self.counting() else { return };
        ranked.charges.decoded(&mut ranked.queue, iterations);
    }

    /// A request has made a token outside the batch: its first one, or another.
    pub(crate) fn made_token(&mut self, trace: &Trace, id: RequestId, is_first: bool) {
        let Some(ranked) = self.counting() else { return };
        let is_charged = !is_first || ranked.accounting == OutputAccounting::Ideal;
        ranked.makes(trace, id, 1.0, is_charged);
    }

    /// A request has made its first token, and pays for it if `is_charged`: the scheduler knows what else has ended.
    pub(crate) fn made_first_token(&mut self, trace: &Trace, id: RequestId, is_charged: bool) {
        let Some(ranked) = self.counting() else { return };
        ranked.makes(trace, id, 1.0, is_charged);
    }

    /// A request of an iteration has ended: all others of its batch are charged once more by the artifact.
    pub(crate) fn finishing(&mut self) {
        self.finishing_with(|_| false);
    }

    /// The same for a batch of which those that `have_ended` are still part.
    pub(crate) fn finishing_with(&mut self, have_ended: impl Fn(RequestId) -> bool) {
        if let Some(ranked) = self.counting_artifacts() {
            ranked.charges.charge_again(&mut ranked.queue, have_ended);
        }
    }

    /// The same for a request of the iteration outside the batch.
    pub(crate) fn finishing_beside(&mut self, trace: &Trace, id: RequestId) {
        if let Some(ranked) = self.counting_artifacts() {
            ranked.makes(trace, id, 0.0, true);
        }
    }

    /// An admitted request has come to its end with this many tokens.
    pub(crate) fn ended(&mut self, trace: &Trace, id: RequestId, produced: u32, is_done: bool) {
        if is_done {
            self.finishing_beside(trace, id);
        }
        let Some(ranked) = self.counting() else { return };
        ranked.charges.end(&mut ranked.queue, id, Some(produced));
    }

    /// A request that was charged for all of its tokens has ended; the ideal accounting now charges the first one.
    pub(crate) fn ended_in_full(&mut self, trace: &Trace, id: RequestId, is_first_due: bool) {
        let Some(ranked) = self.counting() else { return };
        if is_first_due && ranked.accounting == OutputAccounting::Ideal {
            ranked.makes(trace, id, 0.0, true);
        }
        ranked.charges.end(&mut ranked.queue, id, None);
    }

    /// The client of a request of the batch has gone away, which the artifact takes for its end in every iteration until it
    /// is.
    pub(crate) fn abandoned(&mut self, id: RequestId) {
        if let Some(ranked) = self.counting_artifacts() {
            ranked.charges.abandon(id);
        }
    }
}

impl RankedQueue {
    fn new(config: &Arc<QueueConfig>, rules: FairnessRules, trace: &Trace, pool_tokens: f64) -> Self {
        let clients = config.client.count(trace);
        let queue = ClientQueue::new(&config.policy, rules, clients, pool_tokens);
        Self {
            charges: TokenCharges::new(&config.policy, rules, &queue),
            config: Arc::clone(config),
            queue,
            accounting: config.policy.accounting(),
            clients,
            by_adapter: false,
        }
    }

    /// Keeps the requests in a list for each adapter, so that those whose adapter has no slot are skipped together and not one
    /// by one. Their keys put them in order whichever lists they are in; where service is counted, each client has such lists.
    fn list_by_adapter(&mut self, trace: &Trace) {
        self.by_adapter = true;
        if self.queue.keeps_counters() {
            self.queue = self.queue.clone().listed_by_adapter();
            return;
        }
        let lists = trace.adapter_count() + 1;
        self.queue = ClientQueue::new(&self.config.policy, FairnessRules::Engine, lists, 0.0);
    }

    fn client_of(&self, trace: &Trace, id: RequestId) -> ClientId {
        self.config.client.of(trace, id, self.clients)
    }

    /// The client in whose place a request waits, and in which list of it.
    fn list_of(&self, trace: &Trace, id: RequestId) -> (ClientId, u32) {
        let list = || list_number(trace.adapter[id]);
        match (self.by_adapter, self.queue.keeps_counters()) {
            (false, _) => (self.client_of(trace, id), 0),
            (true, false) => (ClientId::new(list()), 0),
            (true, true) => (self.client_of(trace, id), list()),
        }
    }

    /// A request joins; says whether its list was empty.
    fn push(&mut self, trace: &Trace, id: RequestId, predicted_output: f64, at_us: f64) -> bool {
        let (list, client) = (self.list_of(trace, id), self.client_of(trace, id));
        self.queue.push_to(list, id, client, predicted_output, at_us)
    }

    /// The head is skipped, and those behind it up to the first of the base model or one of the adapters in use, which is the
    /// head then.
    fn skip_to_slots(
        &mut self,
        in_use: &[u32],
        is_gone: impl Fn(RequestId) -> bool,
        skipped: Option<&mut Vec<RequestId>>,
    ) -> Option<RequestId> {
        let lists = || std::iter::once(BASE_MODEL).chain(in_use.iter().copied()).map(list_number);
        let head = loop {
            let Some((list, id)) = self.queue.skip_to(lists()) else { break None };
            if !is_gone(id) {
                break Some(id);
            }
            self.queue.skip(list);
        };
        if let Some(skipped) = skipped {
            skipped.extend(self.queue.skipped(is_gone));
        }
        head
    }

    fn is_by_class(&self) -> bool {
        matches!(self.config.policy, QueuePolicy::Priority { .. })
    }

    fn key(&self, trace: &Trace, id: RequestId, arrival_us: f64) -> f64 {
        match &self.config.policy {
            QueuePolicy::Priority { classes, ageing_us } => {
                let class = cycle_get(classes, self.client_of(trace, id).index(), 0.0);
                priority::key(class, *ageing_us, arrival_us)
            }
            _ => arrival_us,
        }
    }

    fn head(&mut self, is_gone: impl Fn(RequestId) -> bool) -> Option<(ClientId, RequestId)> {
        loop {
            let (client, id) = self.queue.head()?;
            if !is_gone(id) {
                return Some((client, id));
            }
            self.queue.skip(client);
        }
    }

    fn steady(&mut self) -> f64 {
        let Self { queue, charges, .. } = self;
        queue.steady(|client, counters, token_costs| {
            if charges.is_itemised() {
                charges.most_per_iteration(token_costs, client)
            } else {
                counters.rate(client).abs()
            }
        })
    }

    /// A request is admitted for the first time.
    fn charge_prompt(&mut self, client: ClientId, id: RequestId, trace: &Trace) {
        let Self { config, queue, charges, .. } = self;
        if queue.keeps_counters() {
            let tokens = [trace.input_tokens[id], trace.output_tokens[id]];
            charges.admit(queue, client, id, tokens, || config.predicted_tokens(trace, id));
        }
    }

    fn makes(&mut self, trace: &Trace, id: RequestId, tokens: f64, is_charged: bool) {
        let client = self.client_of(trace, id);
        self.charges.makes(&mut self.queue, client, id, tokens, is_charged);
    }
}
