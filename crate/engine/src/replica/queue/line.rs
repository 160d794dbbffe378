//! The waiting line of a replica, in any order of service that needs no batcher, and what its clients are charged.
//!
//! Those who were evicted stand ahead of everybody, the last one first, as vLLM prepends them. Under priority they go back to
//! their place, as in vLLM's priority queue (vllm/v1/core/sched/request_queue.py), but for those whom the host keeps. Counters
//! are the replica's own: instances share none. A prompt is charged when it is first let in, what was evicted not again; an
//! output token when it is there. S-LoRA's charging gives a request's first token away, the ideal one does not, and under the
//! artifact's every request that makes a token in an iteration with which one ends is charged that token once more.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use servescope_workload::Trace;

use super::accounts::Charging;
use super::client_queue::ClientQueue;
use super::order::{Order, Queueing, dealt};
use super::prediction::updated_mean;
use super::priority;
use super::rpm::Limiter;
use super::vtc::Prediction;
use crate::replica::requests::Place;

/// A waiting line.
#[derive(Debug, Default)]
pub(crate) struct Line {
    /// Who waits first come, first served; in another order those who stand ahead of it. Those who went away stay in it until
    /// they are at its head, which always waits.
    ahead: VecDeque<u32>,
    /// Those of them who are passed over while an iteration is formed.
    aside: Vec<u32>,
    ranked: Option<Box<Ranked>>,
    limiter: Option<Box<Limiter>>,
}

/// The part of a line that is not first come, first served.
#[derive(Debug)]
struct Ranked {
    queueing: Arc<Queueing>,
    queue: ClientQueue,
    clients: usize,
    charging: Charging,
    prediction: Prediction,
    /// Whether the charge of a token depends on its request, so that requests are charged one by one.
    is_itemised: bool,
    /// Requests that were let in and have not ended, where they are charged one by one.
    items: BTreeMap<u32, Item>,
    /// The length that is expected of each client's next answer.
    expected: Vec<f64>,
}

/// A request that is charged token by token.
#[derive(Debug, Clone, Copy)]
struct Item {
    client: u32,
    input: f64,
    predicted: f64,
    /// Tokens that are there, and that its answer has in all.
    produced: f64,
    all: f64,
    /// Whether it is in the lockstep of its replica.
    decodes: bool,
}

impl Line {
    /// An empty line of a replica with so many tokens of memory. An order that needs a batcher is first come, first served.
    pub(crate) fn new(queueing: &Arc<Queueing>, trace: &Trace, pool_tokens: f64) -> Self {
        let mut line = Self::default();
        match &queueing.order {
            Order::Fcfs => {}
            Order::Rpm { limit } => {
                line.limiter = Some(Box::new(Limiter::new(*limit, queueing.client.count(trace))));
            }
            order if order.needs_no_batcher() => {
                line.ranked = Some(Box::new(Ranked::new(queueing, trace, pool_tokens)));
            }
            _ => {}
        }
        line
    }

    /// Whether a request that comes now may wait; times never decrease.
    pub(crate) fn accepts(&mut self, queueing: &Queueing, trace: &Trace, id: u32, now_us: f64) -> bool {
        let Some(limiter) = &mut self.limiter else { return true };
        let client = queueing.client.of(trace, id, limiter.clients());
        limiter.accepts(client as usize, now_us)
    }

    /// Whether it has an order of its own, in which an arrival or a token may bring another request to the head.
    pub(crate) fn is_ranked(&self) -> bool {
        self.ranked.is_some()
    }

    /// Whether clients are charged for what they are served.
    pub(crate) fn keeps_counters(&self) -> bool {
        self.ranked.as_ref().is_some_and(|ranked| ranked.queue.keeps_counters())
    }

    /// A request joins; says whether the head may from now on change sooner.
    pub(crate) fn push(&mut self, trace: &Trace, id: u32, now_us: f64) -> bool {
        let Some(ranked) = &mut self.ranked else {
            self.ahead.push_back(id);
            return false;
        };
        let client = ranked.client_of(trace, id);
        let is_new = ranked.queue.push(id, client, ranked.told(trace, id), now_us);
        is_new && ranked.queue.keeps_counters()
    }

    /// A request comes back that was evicted, and that arrived at `arrival_us`.
    pub(crate) fn come_back(&mut self, trace: &Trace, id: u32, arrival_us: f64, is_on_host: bool) {
        match &mut self.ranked {
            Some(ranked) if ranked.is_by_class() && !is_on_host => {
                let client = ranked.client_of(trace, id);
                ranked.queue.push(id, client, 0.0, arrival_us);
            }
            _ => self.ahead.push_front(id),
        }
    }

    /// The first of those who stand ahead of every order; first come, first served that is the head.
    #[inline]
    pub(crate) fn first_ahead(&self) -> Option<u32> {
        self.ahead.front().copied()
    }

    /// The head of the line.
    #[inline]
    pub(crate) fn head(&mut self, places: &[Place]) -> Option<u32> {
        match (self.ahead.front(), &mut self.ranked) {
            (Some(&id), _) => Some(id),
            (None, Some(ranked)) => ranked.head(places).map(|head| head.1),
            (None, None) => None,
        }
    }

    /// Takes the head out, to be let in.
    pub(crate) fn pop(&mut self, trace: &Trace, places: &[Place]) -> Option<u32> {
        let head = self.ahead.pop_front();
        if head.is_some() {
            self.skip_gone(places);
            return head;
        }
        let ranked = self.ranked.as_mut()?;
        let (client, id) = ranked.head(places)?;
        ranked.charge_prompt(client, id, trace);
        ranked.queue.pop(client);
        Some(id)
    }

    /// The head is skipped until [`Self::put_back`]; no client is charged.
    pub(crate) fn set_aside(&mut self, places: &[Place]) {
        if let Some(id) = self.ahead.pop_front() {
            self.aside.push(id);
            self.skip_gone(places);
        } else if let Some(ranked) = &mut self.ranked {
            ranked.queue.set_aside();
        }
    }

    /// Those who were passed over are back in their places.
    pub(crate) fn put_back(&mut self) {
        while let Some(id) = self.aside.pop() {
            self.ahead.push_front(id);
        }
        if let Some(ranked) = &mut self.ranked {
            ranked.queue.put_back();
        }
    }

    /// A request that waits has gone away, as `places` tell.
    pub(crate) fn forget(&mut self, trace: &Trace, id: u32, places: &[Place]) {
        if let Some(ranked) = &mut self.ranked
            && !self.ahead.contains(&id)
        {
            let client = ranked.client_of(trace, id);
            ranked.queue.forget(client);
        }
        self.skip_gone(places);
    }

    fn skip_gone(&mut self, places: &[Place]) {
        while self.ahead.front().is_some_and(|&id| places[id as usize] == Place::Gone) {
            self.ahead.pop_front();
        }
    }

    /// The key by which requests that hold memory are looked at, and given up from the end: under priority that of the line,
    /// otherwise their arrival.
    pub(crate) fn key(&self, trace: &Trace, id: u32, arrival_us: f64) -> f64 {
        match self.ranked.as_deref() {
            Some(ranked) => ranked.key(trace, id, arrival_us),
            None => arrival_us,
        }
    }

    /// Whether those who hold memory stand in the order of the line, and not in that in which they were let in.
    pub(crate) fn ranks_holders(&self) -> bool {
        self.ranked.as_ref().is_some_and(|ranked| ranked.is_by_class())
    }

    /// For how many iterations in which everybody in the lockstep decodes the head stays the same, at least 1.
    pub(crate) fn steady(&mut self) -> u32 {
        match &mut self.ranked {
            Some(ranked) if self.ahead.is_empty() => ranked.steady(),
            _ => u32::MAX,
        }
    }

    /// Whether looking at the head moves counters.
    pub(crate) fn takes_turns(&self) -> bool {
        self.ranked.as_ref().is_some_and(|r| matches!(r.queueing.order, Order::RoundRobin(_)))
    }

    /// Every client's counter.
    pub(crate) fn counters(&mut self) -> Vec<(u32, f64)> {
        self.ranked.as_mut().map_or_else(Vec::new, |ranked| ranked.queue.counters())
    }

    fn counting(&mut self) -> Option<&mut Ranked> {
        self.ranked.as_deref_mut().filter(|ranked| ranked.queue.keeps_counters())
    }

    /// A request decodes in the lockstep from now on, or no more.
    pub(crate) fn decodes(&mut self, trace: &Trace, id: u32, joins: bool) {
        let Some(ranked) = self.counting() else { return };
        if ranked.is_itemised {
            ranked.items.get_mut(&id).into_iter().for_each(|item| item.decodes = joins);
            return;
        }
        let client = ranked.client_of(trace, id);
        let accounts = ranked.queue.accounts();
        if joins { accounts.joined(client) } else { accounts.left(client) }
    }

    /// Everybody in the lockstep has made so many tokens.
    pub(crate) fn decoded(&mut self, iterations: u32) {
        let Some(ranked) = self.counting() else { return };
        if !ranked.is_itemised {
            return ranked.queue.accounts().decoded(iterations);
        }
        for _ in 0..iterations {
            ranked.charge_lockstep(1.0);
        }
    }

    /// A request has made a token outside the lockstep: its first one, or another.
    pub(crate) fn made_token(&mut self, trace: &Trace, id: u32, is_first: bool) {
        let Some(ranked) = self.counting() else { return };
        let is_charged = !is_first || ranked.charging == Charging::Ideal;
        ranked.made(trace, id, 1.0, is_charged);
    }

    /// A request of an iteration has ended: everybody else of its lockstep is charged once more by the artifact.
    pub(crate) fn finishing(&mut self) {
        let Some(ranked) = self.counting().filter(|r| r.charging == Charging::Artifact) else { return };
        if ranked.is_itemised {
            ranked.charge_lockstep(0.0);
        } else {
            ranked.queue.accounts().decoded(1);
        }
    }

    /// The same for a request of the iteration outside the lockstep.
    pub(crate) fn finishing_beside(&mut self, trace: &Trace, id: u32) {
        if let Some(ranked) = self.counting().filter(|r| r.charging == Charging::Artifact) {
            ranked.made(trace, id, 0.0, true);
        }
    }

    /// A request that was let in has come to its end with so many tokens.
    pub(crate) fn ended(&mut self, trace: &Trace, id: u32, produced: u32, is_done: bool) {
        let Some(ranked) = self.counting() else { return };
        if is_done && ranked.charging == Charging::Artifact {
            ranked.made(trace, id, 0.0, true);
        }
        if let Some(item) = ranked.items.remove(&id) {
            ranked.settle(item, f64::from(produced));
        }
    }
}

impl Ranked {
    fn new(queueing: &Arc<Queueing>, trace: &Trace, pool_tokens: f64) -> Self {
        let clients = queueing.client.count(trace);
        let queue = ClientQueue::new(&queueing.order, clients, pool_tokens);
        let prediction = match &queueing.order {
            Order::Fair(rule) => rule.prediction,
            _ => Prediction::None,
        };
        Self {
            is_itemised: queue.tariff().is_profiled() || prediction != Prediction::None,
            expected: if prediction == Prediction::History { vec![0.0; clients] } else { Vec::new() },
            queueing: Arc::clone(queueing),
            queue,
            clients,
            charging: queueing.order.charging(),
            prediction,
            items: BTreeMap::new(),
        }
    }

    fn client_of(&self, trace: &Trace, id: u32) -> u32 {
        self.queueing.client.of(trace, id, self.clients)
    }

    /// What is believed of a request's output before it is let in.
    fn told(&self, trace: &Trace, id: u32) -> f64 {
        let given = self.queueing.predictions.as_ref().and_then(|given| given.get(id as usize));
        given.copied().unwrap_or(f64::from(trace.max_tokens[id as usize]))
    }

    fn is_by_class(&self) -> bool {
        matches!(self.queueing.order, Order::Priority { .. })
    }

    fn key(&self, trace: &Trace, id: u32, arrival_us: f64) -> f64 {
        match &self.queueing.order {
            Order::Priority { classes, ageing_us } => {
                let class = dealt(classes, self.client_of(trace, id) as usize, 0.0);
                priority::key(class, *ageing_us, arrival_us)
            }
            _ => arrival_us,
        }
    }

    fn head(&mut self, places: &[Place]) -> Option<(u32, u32)> {
        loop {
            let (client, id) = self.queue.head()?;
            if places[id as usize] != Place::Gone {
                return Some((client, id));
            }
            self.queue.skip(client);
        }
    }

    fn steady(&mut self) -> u32 {
        let Self { queue, items, is_itemised, .. } = self;
        let tariff = queue.tariff().clone();
        queue.steady(|client, accounts| {
            if !*is_itemised {
                return accounts.rate(client).abs();
            }
            // A later token never costs less.
            let own = items.values().filter(|item| item.decodes && item.client == client);
            own.map(|item| tariff.token(client, item.input, item.all)).sum()
        })
    }

    /// A request is let in for the first time.
    fn charge_prompt(&mut self, client: u32, id: u32, trace: &Trace) {
        if !self.queue.keeps_counters() {
            return;
        }
        let predicted = match self.prediction {
            Prediction::None => 0.0,
            Prediction::History => self.expected[client as usize],
            Prediction::Given => self.told(trace, id),
        };
        let input = f64::from(trace.input_tokens[id as usize]);
        self.queue.charge(client, self.queue.tariff().prompt(client, input, predicted));
        if self.is_itemised {
            let all = f64::from(trace.output_tokens[id as usize]);
            self.items.insert(id, Item { client, input, predicted, produced: 0.0, all, decodes: false });
        }
    }

    /// A request is `tokens` further, and charged for the last of its tokens.
    fn made(&mut self, trace: &Trace, id: u32, tokens: f64, is_charged: bool) {
        if self.is_itemised {
            let Some(item) = self.items.get_mut(&id) else { return };
            item.produced += tokens;
            if is_charged {
                charge_token(&mut self.queue, item, self.prediction);
            }
        } else if is_charged {
            let client = self.client_of(trace, id);
            self.queue.accounts().charge(client);
        }
    }

    /// Everybody in the lockstep is `tokens` further, and charged for the last of their tokens.
    fn charge_lockstep(&mut self, tokens: f64) {
        for item in self.items.values_mut().filter(|item| item.decodes) {
            item.produced += tokens;
            charge_token(&mut self.queue, item, self.prediction);
        }
    }

    /// Gives back what was charged ahead and not produced, and learns from the length.
    fn settle(&mut self, item: Item, produced: f64) {
        if self.prediction == Prediction::None {
            return;
        }
        if produced < item.predicted {
            let amount = self.queue.tariff().output(item.client, item.input, item.predicted, produced);
            self.queue.charge(item.client, amount);
        }
        if let Some(mean) = self.expected.get_mut(item.client as usize) {
            *mean = updated_mean(*mean, produced);
        }
    }
}

/// Charges the last token of a request, or what of it was not charged ahead.
fn charge_token(queue: &mut ClientQueue, item: &Item, prediction: Prediction) {
    let ahead = if prediction == Prediction::None { 0.0 } else { item.predicted };
    if item.produced > ahead {
        let from = ahead.max(item.produced - 1.0);
        queue.charge(item.client, queue.tariff().output(item.client, item.input, from, item.produced));
    }
}
