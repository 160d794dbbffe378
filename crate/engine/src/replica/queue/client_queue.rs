//! The waiting requests of many clients, and which of them comes next. The waiting queues of the replicas are made of it,
//! and the gateway's proxy waits in it.
//!
//! Under first come, last come, shortest and priority a client stands for its first request's key. Under virtual token
//! counters ([`super::vtc`]) and least counter it stands for its counter, under deficit round robin it has its turn
//! ([`super::drr`]); inside a client these serve first come, first served. A client that may not send just now, for a
//! quota of its own, is throttled, and the others pass. Every change costs O(log clients + log requests),
//! but for a return under [`Lift::Max`](super::vtc::Lift::Max).

#[cfg(test)]
mod tests;

use servescope_workload::statistics::sort_by_number;

use crate::client::ClientId;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use servescope_workload::RequestId;

use super::adapter_lists::{AdapterLists, ClientsByAdapter};
use super::drr::ClientTurns;
use super::fairness::FairnessRules;
use super::policy::QueuePolicy;
use super::priority_queue::{QueueHeads, Sorted};
use super::queue_key::{Numbered, QueueKey};
use super::service_counters::ServiceCounters;
use super::token_cost::TokenCostModel;
use super::vtc::{LeastCounter, VtcConfig};
use super::{fcfs, lifo, priority, sjf};
use crate::client::cycle_get;

/// What a client is doing.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Standing {
    /// None of its requests waits.
    Absent,
    /// It may be next.
    Ready,
    /// It may not send before this time, microseconds; infinite: before one of its requests ends.
    Throttled(f64),
}

/// One client.
#[derive(Debug, Clone)]
struct ClientEntry {
    waiting: Sorted,
    /// How many of them have not gone away.
    stay: u32,
    standing: Standing,
    /// Place among clients in the order of their first requests.
    seen: u32,
}

impl ClientEntry {
    /// Its next request, if it may be served.
    fn head(&self) -> Option<QueueKey<Numbered>> {
        self.waiting.peek().filter(|_| self.standing == Standing::Ready)
    }

    fn is_ready(&self) -> bool {
        self.standing == Standing::Ready
    }
}

/// Which client comes next.
#[derive(Debug, Clone)]
enum Ranking {
    QueueKey(QueuePolicy, QueueHeads),
    Least(LeastCounter),
    Turns(ClientTurns),
}

/// The queue.
#[derive(Debug, Clone)]
pub struct ClientQueue {
    ranking: Ranking,
    clients: Vec<ClientEntry>,
    counters: ServiceCounters,
    token_costs: TokenCostModel,
    /// (time as bits, place among clients in the order of their first requests), and some that are throttled no more.
    throttled: BinaryHeap<Reverse<(u64, u32)>>,
    /// Clients in the order of their first requests.
    seen: Vec<ClientId>,
    /// Requests so far.
    number: u32,
    /// Clients of which a request waits.
    present: u32,
    /// The client that is next while the requests of others are skipped.
    chosen: Option<ClientId>,
    /// Clients of round robin whose turn was skipped.
    passed: Vec<ClientId>,
    /// Where LoRA slots are short and service is counted: the clients by adapter.
    by_adapter: Option<Box<ClientsByAdapter>>,
}

impl ClientQueue {
    /// An empty queue for `clients` clients of a server with `pool_tokens` tokens of KV memory. Batch-aware policies serve
    /// first come, first served here.
    pub fn new(policy: &QueuePolicy, rules: FairnessRules, clients: usize, pool_tokens: f64) -> Self {
        let (ranking, token_costs) = match policy {
            QueuePolicy::Vtc(rule) => {
                (Ranking::Least(LeastCounter::new(rule.lift, rules, clients)), rule.token_costs(clients))
            }
            QueuePolicy::Drr(rule) => {
                (Ranking::Turns(ClientTurns::new(rule, rules, clients, pool_tokens)), rule.token_costs())
            }
            keyed => (
                Ranking::QueueKey(keyed.clone(), QueueHeads::default()),
                VtcConfig::default().token_costs(clients),
            ),
        };
        let sign = if matches!(ranking, Ranking::Turns(_)) { -1.0 } else { 1.0 };
        let charges = ClientId::first(clients).map(|client| sign * token_costs.token(client, 0.0, 1.0));
        let is_sorted = matches!(policy, QueuePolicy::Lifo | QueuePolicy::Sjf | QueuePolicy::Priority { .. });
        let entry = ClientEntry {
            waiting: if is_sorted { Sorted::Heap(BinaryHeap::new()) } else { Sorted::Fifo(VecDeque::new()) },
            stay: 0,
            standing: Standing::Absent,
            seen: u32::MAX,
        };
        Self {
            counters: ServiceCounters::new(charges),
            ranking,
            clients: vec![entry; clients],
            token_costs,
            throttled: BinaryHeap::new(),
            seen: Vec::new(),
            number: 0,
            present: 0,
            chosen: None,
            passed: Vec::new(),
            by_adapter: None,
        }
    }

    /// Keeps the requests of each client by adapter, in a queue that counts service: for [`Self::skip_to`].
    pub(super) fn listed_by_adapter(mut self) -> Self {
        self.clients.iter_mut().for_each(|own| own.waiting = Sorted::ByAdapter(AdapterLists::default()));
        self.by_adapter = Some(Box::default());
        self
    }

    /// Whether service is counted.
    pub fn keeps_counters(&self) -> bool {
        !matches!(self.ranking, Ranking::QueueKey(..))
    }

    /// Whether a decision may move counters although no request waits, or all that wait stay.
    pub fn decision_has_side_effects(&self) -> bool {
        match &self.ranking {
            Ranking::QueueKey(..) => false,
            Ranking::Least(least) => least.is_raised_at_decisions(),
            Ranking::Turns(turns) => !turns.is_empty(),
        }
    }

    /// What tokens cost.
    pub fn token_costs(&self) -> &TokenCostModel {
        &self.token_costs
    }

    /// Whether no request waits.
    pub fn is_empty(&self) -> bool {
        self.present == 0
    }

    /// The number of clients that it distinguishes.
    pub fn client_count(&self) -> usize {
        self.clients.len()
    }

    /// Every client that has sent a request, in the order of their first ones.
    pub fn seen(&self) -> &[ClientId] {
        &self.seen
    }

    /// Every client that has sent a request, with its counter (a deficit counter for round robin) in the units of the token
    /// cost, in the order of their first requests; nothing where none are kept.
    pub fn counters(&mut self) -> Vec<(ClientId, f64)> {
        let keeps = self.keeps_counters();
        let counter = |c: ClientId| (c, self.token_costs.counter(self.counters.value(c)));
        self.seen.iter().filter(|_| keeps).copied().map(counter).collect()
    }

    /// The requests that wait in the order of their keys, gone ones included.
    pub fn in_order(&self) -> Vec<RequestId> {
        let mut all: Vec<QueueKey<Numbered>> =
            self.clients.iter().flat_map(|client| client.waiting.iter()).collect();
        all.sort_unstable();
        all.into_iter().map(|entry| entry.id.id).collect()
    }

    /// A request joins the queue; says whether its client was not waiting. `predicted_output`: tokens.
    pub fn push(&mut self, id: RequestId, client: ClientId, predicted_output: f64, at_us: f64) -> bool {
        self.push_to((client, 0), id, client, predicted_output, at_us)
    }

    /// The same where the requests of one list are kept as those of a client, and `owner` says of which class one is, or where
    /// those of a client are kept in lists by adapter.
    pub(super) fn push_to(
        &mut self,
        (client, list): (ClientId, u32),
        id: RequestId,
        owner: ClientId,
        predicted_output: f64,
        at_us: f64,
    ) -> bool {
        let number = match &self.ranking {
            // A preempted request is back in its place among those of its class that arrived when it did.
            Ranking::QueueKey(QueuePolicy::Priority { .. }, _) => id.get(),
            _ => self.number,
        };
        self.number += 1;
        let key = match &self.ranking {
            Ranking::QueueKey(QueuePolicy::Lifo, _) => lifo::key(number),
            Ranking::QueueKey(QueuePolicy::Sjf, _) => sjf::key(predicted_output),
            Ranking::QueueKey(QueuePolicy::Priority { classes, ageing_us }, _) => {
                priority::key(cycle_get(classes, owner.index(), 0.0), *ageing_us, at_us)
            }
            _ => fcfs::key(number),
        };
        let is_new = self.clients[client].standing == Standing::Absent;
        if is_new {
            self.lift(client);
            self.present += 1;
        }
        let own = &mut self.clients[client];
        if own.seen == u32::MAX {
            own.seen = self.seen.len() as u32;
            self.seen.push(client);
        }
        let entry = QueueKey { key, id: Numbered { number, id } };
        let leads = own.waiting.peek().is_none_or(|head| entry < head);
        own.waiting.push(entry, list);
        own.stay += 1;
        if let (Some(by_adapter), Ranking::Least(_)) = (&mut self.by_adapter, &self.ranking) {
            let numbered = Numbered { number: own.seen, id: client };
            by_adapter.enter(list, numbered, self.counters.value(client));
        }
        if is_new {
            self.stand(client);
        } else if let (true, true, Ranking::QueueKey(_, heads)) = (leads, own.is_ready(), &mut self.ranking) {
            heads.enter(client, entry);
        }
        is_new
    }

    /// A client of which no request waited gets a counter that does not save up the time.
    fn lift(&mut self, client: ClientId) {
        let Self { ranking: Ranking::Least(least), clients, counters, seen, present, .. } = self else {
            return;
        };
        let floor = least.floor(seen, *present == 0, counters, |other| clients[other].is_ready());
        if let Some(floor) = floor {
            counters.raise(client, floor);
        }
    }

    /// A client's requests may be served.
    fn stand(&mut self, client: ClientId) {
        let own = &mut self.clients[client];
        let Some(head) = own.waiting.peek() else {
            own.standing = Standing::Absent;
            self.present -= 1;
            match &mut self.ranking {
                Ranking::QueueKey(..) => {}
                Ranking::Least(least) => least.depart(client),
                Ranking::Turns(turns) => turns.depart(client, &mut self.counters),
            }
            return;
        };
        own.standing = Standing::Ready;
        match &mut self.ranking {
            Ranking::QueueKey(_, heads) => heads.enter(client, head),
            Ranking::Least(least) => least.enter(client, own.seen, &mut self.counters),
            Ranking::Turns(turns) => turns.enter(client),
        }
    }

    /// The next request, with its client.
    pub fn head(&mut self) -> Option<(ClientId, RequestId)> {
        let Self { ranking, clients, counters, .. } = self;
        let client = match ranking {
            _ if self.chosen.is_some() => self.chosen?,
            Ranking::QueueKey(_, heads) => heads.first(|client| clients[client].head())?,
            Ranking::Least(least) => least.first(counters, |client| clients[client].is_ready())?.0,
            Ranking::Turns(turns) => turns.first(counters, |client| clients[client].is_ready())?,
        };
        clients[client].waiting.peek().map(|head| (client, head.id.id))
    }

    /// The next request, as [`Self::head`] gave it, does not fit and stays.
    pub fn block(&mut self) {
        if let Ranking::Turns(turns) = &mut self.ranking {
            turns.block();
        }
    }

    /// The next request of `client` leaves to be served; its client has been charged.
    pub fn pop(&mut self, client: ClientId) {
        let own = &mut self.clients[client];
        own.stay = own.stay.saturating_sub(1);
        self.skip(client);
    }

    /// The next request of `client`, which has gone away, is looked at no more.
    pub fn skip(&mut self, client: ClientId) {
        self.chosen = None;
        let Self { clients, by_adapter, .. } = self;
        let own = &mut clients[client];
        let taken = own.waiting.peek();
        if let (Some(list), Some(by_adapter)) = (own.waiting.pop(), by_adapter) {
            by_adapter.leave(list, client);
        }
        if own.stay == 0 {
            self.clear(client);
        }
        let own = &self.clients[client];
        if let Ranking::Turns(turns) = &mut self.ranking {
            if own.waiting.last().zip(taken).is_some_and(|(last, taken)| last < taken.id.number) {
                return self.skip_turn(client);
            }
            if !own.waiting.is_empty() && self.counters.value(client) > 0.0 {
                return;
            }
            turns.leave(client);
        }
        self.stand(client);
    }

    /// All requests of a client leave, which have gone away.
    fn clear(&mut self, client: ClientId) {
        let Self { clients, by_adapter, .. } = self;
        clients[client].waiting.clear(|list| {
            if let Some(by_adapter) = by_adapter {
                by_adapter.leave(list, client);
            }
        });
    }

    /// From now on the next request is the first one of these clients by its key, or where requests are kept by adapter the
    /// first of these lists of the client that comes first, until it leaves or [`Self::put_back`]. Returns that request with
    /// its client, if there is one.
    pub(super) fn skip_to(
        &mut self,
        among: impl Iterator<Item = u32> + Clone,
    ) -> Option<(ClientId, RequestId)> {
        if self.by_adapter.is_some() {
            return self.skip_to_adapters(among);
        }
        let first = |client: ClientId| self.clients[client].head().map(|head| (head, client));
        let (head, client) = among.map(ClientId::new).filter_map(first).min()?;
        self.chosen = Some(client);
        Some((client, head.id.id))
    }

    /// No list is chosen.
    fn choose_none(&mut self) {
        if let Some(own) = self.chosen.take().map(|client| &mut self.clients[client])
            && let Some(lists) = own.waiting.by_adapter()
        {
            lists.put_back();
        }
    }

    /// [`Self::skip_to`] where requests are kept by adapter: a scan skips a client's requests of one adapter at once. Under
    /// virtual token counters it costs O(log n) for each of the lists, under round robin a client at its turn costs that, for
    /// each gets its quantum.
    fn skip_to_adapters(
        &mut self,
        among: impl Iterator<Item = u32> + Clone,
    ) -> Option<(ClientId, RequestId)> {
        self.choose_none();
        loop {
            let Self { ranking, clients, counters, by_adapter, .. } = self;
            let client = if let Ranking::Turns(turns) = ranking {
                turns.first(counters, |client| clients[client].is_ready())?
            } else {
                let by_adapter = by_adapter.as_mut()?;
                let first = |list| by_adapter.first(list, counters);
                among.clone().filter_map(first).min()?.id.id
            };
            let own = &mut clients[client];
            if own.waiting.by_adapter()?.choose(among.clone()) {
                self.chosen = Some(client);
                return self.head();
            }
            self.skip_turn(client);
        }
    }

    /// All requests of a client that wait are skipped: its turn comes first when this is over.
    fn skip_turn(&mut self, client: ClientId) {
        self.throttle(client, f64::INFINITY);
        self.passed.push(client);
    }

    /// Where requests are kept by adapter, those before the next one in the order in which they would come.
    fn skipped_in_order(&mut self, is_gone: impl Fn(RequestId) -> bool) -> Vec<RequestId> {
        let Self { ranking, clients, counters, chosen, passed, seen, .. } = self;
        let mut before = passed.clone();
        if !matches!(ranking, Ranking::Turns(_)) {
            let ready = seen.iter().copied().filter(|&client| clients[client].is_ready());
            let mut ready: Vec<(f64, ClientId)> =
                ready.map(|client| (counters.value(client), client)).collect();
            sort_by_number(&mut ready, |own| own.0);
            before.extend(ready.into_iter().map(|own| own.1).take_while(|&client| Some(client) != *chosen));
        }
        before.extend(*chosen);
        let mut skipped = Vec::new();
        for client in before {
            let waiting = &clients[client].waiting;
            let next =
                waiting.peek().filter(|_| Some(client) == *chosen).map_or(u32::MAX, |next| next.id.number);
            let mut own: Vec<Numbered> = waiting.iter().map(|entry| entry.id).collect();
            own.retain(|id| id.number < next && !is_gone(id.id));
            own.sort_unstable();
            skipped.extend(own.into_iter().map(|id| id.id));
        }
        skipped
    }

    /// Of each client the first request, if it is before the next one, in the order of their keys; where requests are kept by
    /// adapter all of them. Those that have gone away leave the queue.
    pub(super) fn skipped(&mut self, is_gone: impl Fn(RequestId) -> bool) -> Vec<RequestId> {
        if self.by_adapter.is_some() {
            return self.skipped_in_order(is_gone);
        }
        let chosen = self.chosen;
        for client in ClientId::first(self.clients.len()).filter(|&client| Some(client) != chosen) {
            while self.clients[client].head().is_some_and(|head| is_gone(head.id.id)) {
                self.skip(client);
            }
        }
        self.chosen = chosen;
        let next = chosen.and_then(|client| self.clients[client].head());
        let heads = self.clients.iter().filter_map(ClientEntry::head);
        let mut before: Vec<_> = heads.filter(|head| next.is_none_or(|next| *head < next)).collect();
        before.sort_unstable();
        before.into_iter().map(|head| head.id.id).collect()
    }

    /// No request is skipped any more; clients whose turn was skipped come first.
    pub fn put_back(&mut self) {
        self.choose_none();
        while let Some(client) = self.passed.pop() {
            if self.is_throttled(client) {
                if let Ranking::Turns(turns) = &mut self.ranking {
                    turns.enter_first(client);
                }
                self.stand(client);
            }
        }
        let Self { ranking, clients, present, .. } = self;
        if let Ranking::QueueKey(_, heads) = ranking {
            heads.compact(*present, |client| clients[client].head());
        }
    }

    /// A waiting request of `client` goes away. It comes up all the same, for [`Self::skip`], if others of its client wait.
    pub fn forget(&mut self, client: ClientId) {
        let own = &mut self.clients[client];
        own.stay = own.stay.saturating_sub(1);
        if own.stay == 0 && own.standing != Standing::Absent {
            self.clear(client);
            if let Ranking::Turns(turns) = &mut self.ranking {
                turns.leave(client);
            }
            self.stand(client);
        }
    }

    /// Moves a client's counter by what it was served, or for negative amounts was charged too much.
    pub fn charge(&mut self, client: ClientId, amount: f64) {
        match &mut self.ranking {
            Ranking::QueueKey(..) => {}
            Ranking::Turns(_) => self.counters.add(client, -amount),
            Ranking::Least(least) => {
                self.counters.add(client, amount);
                let own = &mut self.clients[client];
                if amount < 0.0 && own.is_ready() {
                    least.enter(client, own.seen, &mut self.counters);
                    let numbered = Numbered { number: own.seen, id: client };
                    if let (Some(by_adapter), Some(lists)) = (&mut self.by_adapter, own.waiting.by_adapter())
                    {
                        let counter = self.counters.value(client);
                        lists.numbers().for_each(|list| by_adapter.enter(list, numbered, counter));
                    }
                }
            }
        }
    }

    /// Raises the counter of every client that has sent a request to at least `floor`; `None`: to the largest of them.
    pub fn raise_all(&mut self, floor: Option<f64>) {
        let Self { counters, seen, .. } = self;
        let floor =
            floor.or_else(|| seen.iter().map(|&client| counters.value(client)).max_by(f64::total_cmp));
        if let Some(floor) = floor {
            seen.iter().for_each(|&client| counters.raise(client, floor));
        }
    }

    /// The counters, for requests whose every output token is charged alike.
    pub fn service(&mut self) -> &mut ServiceCounters {
        &mut self.counters
    }

    /// For how many further tokens of each of its requests the client of the next request stays next, if no other client's
    /// counter falls and no request comes or leaves: a lower bound, infinite for ever. A token of each of the requests costs
    /// the client at most `rate`.
    pub fn steady(&mut self, rate: impl FnOnce(ClientId, &ServiceCounters, &TokenCostModel) -> f64) -> f64 {
        let Self { ranking, clients, counters, token_costs, .. } = self;
        let room = match ranking {
            Ranking::QueueKey(..) => None,
            Ranking::Turns(turns) => turns.front().map(|client| (client, counters.value(client))),
            Ranking::Least(least) => least.lead(counters, |client| clients[client].is_ready()),
        };
        let Some((client, room)) = room else { return f64::INFINITY };
        let rate = rate(client, counters, token_costs);
        if rate == 0.0 || room == f64::INFINITY {
            return f64::INFINITY;
        }
        // Rounding is left a step.
        room / rate * (1.0 - 1e-9) - 1.0
    }

    /// The client of the next request may not send before `until_us`.
    pub fn throttle(&mut self, client: ClientId, until_us: f64) {
        let own = &mut self.clients[client];
        own.standing = Standing::Throttled(until_us);
        if let Ranking::Turns(turns) = &mut self.ranking {
            turns.leave(client);
        }
        if until_us < f64::INFINITY {
            self.throttled.push(Reverse((until_us.to_bits(), own.seen)));
        }
    }

    /// Whether a client that waits is throttled.
    pub fn is_throttled(&self, client: ClientId) -> bool {
        matches!(self.clients[client].standing, Standing::Throttled(_))
    }

    /// A client may try again.
    pub fn unthrottle(&mut self, client: ClientId) {
        if self.is_throttled(client) {
            self.stand(client);
        }
    }

    /// Every client may try again; `each` gets those that were throttled.
    pub fn unthrottle_all(&mut self, mut each: impl FnMut(ClientId)) {
        for place in 0..self.seen.len() {
            let client = self.seen[place];
            if self.is_throttled(client) {
                self.stand(client);
                each(client);
            }
        }
    }

    /// Clients may try again whose time has come; `each` gets them.
    pub fn unthrottle_until(&mut self, now_us: f64, mut each: impl FnMut(ClientId)) {
        while let Some(until_us) = self.next_unthrottle_us().filter(|&at| at <= now_us) {
            let Some(Reverse((_, seen))) = self.throttled.pop() else { return };
            let client = self.seen[seen as usize];
            if self.clients[client].standing == Standing::Throttled(until_us) {
                self.stand(client);
                each(client);
            }
        }
    }

    /// When a client may try again next.
    pub fn next_unthrottle_us(&mut self) -> Option<f64> {
        while let Some(&Reverse((bits, seen))) = self.throttled.peek() {
            let (until_us, client) = (f64::from_bits(bits), self.seen[seen as usize]);
            if self.clients[client].standing == Standing::Throttled(until_us) {
                return Some(until_us);
            }
            self.throttled.pop();
        }
        None
    }
}
