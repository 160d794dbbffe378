//! The waiting line: one of the orders of service, with what it must be told.

use std::cmp::Reverse;
use std::collections::VecDeque;

use servescope_workload::Trace;

use super::admission::{Admission, DecodeSpan};
use super::cluster::Cluster;
use super::early_abort::EarlyAbort;
use super::keyed::{Heap, Keyed};
use super::order::{Client, Order, Queueing, dealt};
use super::peft::Peft;
use super::round_robin::RoundRobinLine;
use super::rpm::Limiter;
use super::vtc::FairLine;
use super::{fcfs, keyed, lifo, pets, priority, shortest};
use crate::request::{Fate, Outcome, Refusal};

/// The waiting requests.
#[derive(Debug, Clone)]
pub struct Line {
    kind: Kind,
    /// Whether an arrival may change what a decision over the waiting ones comes to.
    heeds_arrivals: bool,
    /// Whether it must be told what becomes of the requests that it let go.
    follows_batch: bool,
    client: Client,
    clients: usize,
}

#[derive(Debug, Clone)]
enum Kind {
    Fcfs(VecDeque<u32>),
    Rpm(VecDeque<u32>, Limiter),
    /// A heap over places in the order of arrival, and the requests in that order.
    Keyed(Heap, Key, Vec<u32>),
    Cluster(Cluster),
    Peft(Peft),
    Pets(VecDeque<u32>),
    EarlyAbort(EarlyAbort),
    Fair(Box<FairLine>),
    RoundRobin(Box<RoundRobinLine>),
}

/// What a keyed line is sorted by.
#[derive(Debug, Clone)]
enum Key {
    Lifo,
    Shortest(Vec<f64>),
    Priority { classes: Vec<f64>, ageing_us: f64 },
}

impl Line {
    /// An empty line for a trace and a pool of so many tokens.
    pub fn new(queueing: Queueing, pool_tokens: u32, trace: &Trace) -> Self {
        let Queueing { order, client, predictions } = queueing;
        let given = predictions.unwrap_or_default();
        let keyed = |key| Kind::Keyed(Heap::new(), key, Vec::new());
        let clients = if matches!(order, Order::Fcfs) { 0 } else { client.count(trace) };
        let kind = match order {
            Order::Fcfs => Kind::Fcfs(VecDeque::new()),
            Order::Rpm { limit } => Kind::Rpm(VecDeque::new(), Limiter::new(limit, clients)),
            Order::Lifo => keyed(Key::Lifo),
            Order::Shortest => keyed(Key::Shortest(given)),
            Order::Priority { classes, ageing_us } => keyed(Key::Priority { classes, ageing_us }),
            Order::Cluster { adapters } => Kind::Cluster(Cluster::new(adapters, trace.adapter_count())),
            Order::Peft => Kind::Peft(Peft::default()),
            Order::Pets => Kind::Pets(VecDeque::new()),
            Order::EarlyAbort { bound_us } => Kind::EarlyAbort(EarlyAbort::new(bound_us)),
            Order::Fair(rule) => Kind::Fair(Box::new(FairLine::new(rule, client, given, trace))),
            Order::RoundRobin(rule) => {
                Kind::RoundRobin(Box::new(RoundRobinLine::new(rule, client, pool_tokens, trace)))
            }
        };
        let heeds_arrivals = !matches!(kind, Kind::Fcfs(_) | Kind::Rpm(..));
        let follows_batch =
            matches!(kind, Kind::Cluster(_) | Kind::Peft(_) | Kind::Fair(_) | Kind::RoundRobin(_));
        Self { kind, heeds_arrivals, follows_batch, client, clients }
    }

    /// A request arrives and waits.
    ///
    /// # Errors
    /// Why it may not.
    #[inline]
    pub fn arrive(&mut self, id: u32, at_us: f64, trace: &Trace) -> Result<(), Refusal> {
        if let Kind::Fcfs(waiting) = &mut self.kind {
            waiting.push_back(id);
            return Ok(());
        }
        self.line_up(id, at_us, trace)
    }

    fn line_up(&mut self, id: u32, at_us: f64, trace: &Trace) -> Result<(), Refusal> {
        match &mut self.kind {
            Kind::Fcfs(waiting) | Kind::Pets(waiting) => waiting.push_back(id),
            Kind::Cluster(line) => line.waiting.push_back(id),
            Kind::Peft(line) => line.waiting.push_back(id),
            Kind::EarlyAbort(line) => line.waiting.push_back((id, at_us)),
            Kind::Fair(line) => line.arrive(id, trace),
            Kind::RoundRobin(line) => line.arrive(id, trace),
            Kind::Rpm(waiting, limiter) => {
                let client = self.client.of(trace, id, self.clients);
                if !limiter.accepts(client as usize, at_us) {
                    return Err(Refusal::RateLimit);
                }
                waiting.push_back(id);
            }
            Kind::Keyed(heap, key, arrived) => {
                let place = arrived.len() as u32;
                arrived.push(id);
                let key = match key {
                    Key::Lifo => lifo::key(place),
                    Key::Shortest(predicted) => {
                        let told = f64::from(trace.max_tokens[id as usize]);
                        shortest::key(predicted.get(id as usize).copied().unwrap_or(told))
                    }
                    Key::Priority { classes, ageing_us } => {
                        let client = self.client.of(trace, id, self.clients);
                        priority::key(dealt(classes, client as usize, 0.0), *ageing_us, at_us)
                    }
                };
                heap.push(Reverse(Keyed { key, id: place }));
            }
        }
        Ok(())
    }

    /// Whether nobody waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        if let Kind::Fcfs(waiting) = &self.kind { waiting.is_empty() } else { self.has_nobody() }
    }

    fn has_nobody(&self) -> bool {
        match &self.kind {
            Kind::Fcfs(waiting) | Kind::Pets(waiting) | Kind::Rpm(waiting, _) => waiting.is_empty(),
            Kind::Keyed(heap, ..) => heap.is_empty(),
            Kind::Cluster(line) => line.waiting.is_empty(),
            Kind::Peft(line) => line.waiting.is_empty(),
            Kind::EarlyAbort(line) => line.waiting.is_empty(),
            Kind::Fair(line) => line.is_empty(),
            Kind::RoundRobin(line) => line.is_empty(),
        }
    }

    /// Whether a decision may change anything: somebody waits, or the order keeps accounts that decisions move.
    #[inline]
    pub fn wants_decision(&self) -> bool {
        if let Kind::Fcfs(waiting) = &self.kind { !waiting.is_empty() } else { self.is_restless() }
    }

    fn is_restless(&self) -> bool {
        match &self.kind {
            Kind::EarlyAbort(line) => !line.waiting.is_empty() || !line.is_settled(),
            Kind::Fair(line) => !line.is_empty() || line.is_restless(),
            Kind::RoundRobin(line) => !line.is_empty() || line.is_restless(),
            _ => !self.has_nobody(),
        }
    }

    /// Whether an arrival may change what a decision over the waiting ones comes to, so that it must be seen at its own
    /// decode iteration.
    #[inline]
    pub fn heeds_arrivals(&self) -> bool {
        self.heeds_arrivals
    }

    /// Whether further decisions of an idle router over the requests that wait now would differ.
    pub fn is_unsettled(&self) -> bool {
        matches!(&self.kind, Kind::EarlyAbort(line) if !line.waiting.is_empty() && !line.is_settled())
    }

    /// When time alone will change the line next, microseconds.
    #[inline]
    pub fn due_us(&self) -> Option<f64> {
        match &self.kind {
            Kind::EarlyAbort(line) => line.due_us(),
            _ => None,
        }
    }

    /// An idle router took so many decisions over an empty line.
    pub fn idle(&mut self, decisions: f64) {
        if let Kind::EarlyAbort(line) = &mut self.kind {
            line.idle(decisions);
        }
    }

    /// Takes an admission decision.
    #[inline]
    pub fn decide(&mut self, admission: &mut Admission<'_>) {
        if let Kind::Fcfs(waiting) = &mut self.kind {
            return fcfs::decide(waiting, admission);
        }
        self.decide_otherwise(admission);
    }

    fn decide_otherwise(&mut self, admission: &mut Admission<'_>) {
        match &mut self.kind {
            Kind::Fcfs(waiting) | Kind::Rpm(waiting, _) => fcfs::decide(waiting, admission),
            Kind::Keyed(heap, _, arrived) => keyed::decide(heap, arrived, admission),
            Kind::Cluster(line) => line.decide(admission),
            Kind::Peft(line) => line.decide(admission),
            Kind::Pets(waiting) => pets::decide(waiting, admission),
            Kind::EarlyAbort(line) => line.decide(admission),
            Kind::Fair(line) => line.decide(admission),
            Kind::RoundRobin(line) => line.decide(admission),
        }
    }

    /// How many clients it tells apart.
    pub fn clients(&self) -> usize {
        self.clients
    }

    /// Requests that the last decision gave up.
    #[inline]
    pub fn rejected(&self) -> &[u32] {
        match &self.kind {
            Kind::EarlyAbort(line) => &line.rejected,
            _ => &[],
        }
    }

    /// The requests that a look ahead finds first in the line until their prompts fill `batch_max_tokens`, for the prefetch
    /// of their adapters. Orders that rank clients cannot look ahead, and one that merges its adapter does not.
    pub fn look_ahead(&self, batch_max_tokens: u32, trace: &Trace, fates: &[Fate], mut see: impl FnMut(u32)) {
        let mut tokens = 0u64;
        let mut take = |id: u32| {
            if fates[id as usize].outcome != Outcome::Unfinished {
                return true;
            }
            tokens += u64::from(trace.input_tokens[id as usize]);
            let fits = tokens <= u64::from(batch_max_tokens);
            if fits {
                see(id);
            }
            fits
        };
        match &self.kind {
            Kind::Fcfs(waiting) | Kind::Pets(waiting) => {
                waiting.iter().all(|&id| take(id));
            }
            Kind::Cluster(line) => {
                line.waiting.iter().all(|&id| take(id));
            }
            Kind::Peft(line) => {
                line.waiting.iter().all(|&id| take(id));
            }
            // The originals keep these two lines newest first.
            Kind::EarlyAbort(line) => {
                line.waiting.iter().rev().all(|&(id, _)| take(id));
            }
            Kind::Rpm(waiting, _) => {
                waiting.iter().rev().all(|&id| take(id));
            }
            Kind::Keyed(heap, _, arrived) => {
                let mut sorted: Vec<Keyed> = heap.iter().map(|entry| entry.0).collect();
                sorted.sort_unstable();
                sorted.into_iter().all(|entry| take(arrived[entry.id as usize]));
            }
            Kind::Fair(_) | Kind::RoundRobin(_) => {}
        }
    }

    /// Whether adapters can be prefetched for the requests that wait.
    pub fn can_prefetch(&self) -> bool {
        !matches!(self.kind, Kind::Peft(_) | Kind::Fair(_) | Kind::RoundRobin(_))
    }

    /// Whether the line must be told of prefills, of decode iterations and of who joins and leaves the batch.
    #[inline]
    pub fn follows_batch(&self) -> bool {
        self.follows_batch
    }

    /// The prefill of the picked requests ended.
    pub fn prefilled(&mut self, picked: &[u32], trace: &Trace) {
        match &mut self.kind {
            Kind::Fair(line) => line.prefilled(picked, trace),
            Kind::RoundRobin(line) => {
                let ended = |id: u32| trace.output_tokens[id as usize] == 1;
                let any = picked.iter().any(|&id| ended(id));
                let clients: Vec<(u32, bool)> =
                    picked.iter().map(|&id| (line.client_of(trace, id), ended(id))).collect();
                line.accounts().prefilled(clients.into_iter(), any);
            }
            _ => {}
        }
    }

    /// A prefilled request joins the batch.
    pub fn joined(&mut self, id: u32, trace: &Trace) {
        match &mut self.kind {
            Kind::Cluster(line) => line.joined(trace.adapter[id as usize]),
            Kind::Peft(line) => line.joined(trace.adapter[id as usize]),
            Kind::Fair(line) => line.joined(id, trace),
            Kind::RoundRobin(line) => {
                let client = line.client_of(trace, id);
                line.accounts().joined(client);
            }
            _ => {}
        }
    }

    /// So many decode iterations passed, the first at step `step`.
    pub fn decoded(&mut self, step: u64, iterations: u32, trace: &Trace, batch: (&[Fate], &[DecodeSpan])) {
        match &mut self.kind {
            Kind::Fair(line) => line.decoded(step, iterations, trace, batch),
            Kind::RoundRobin(line) => line.accounts().decoded(iterations),
            _ => {}
        }
    }

    /// Some requests of the batch end with step `step`; each of them then leaves.
    pub fn finishing(&mut self, step: u64, trace: &Trace, spans: &[DecodeSpan]) {
        match &mut self.kind {
            Kind::Fair(line) => line.finishing(step, trace, spans),
            Kind::RoundRobin(line) => line.accounts().finishing(),
            _ => {}
        }
    }

    /// A request leaves the batch.
    pub fn left(&mut self, id: u32, trace: &Trace) {
        match &mut self.kind {
            Kind::Cluster(line) => line.left(trace.adapter[id as usize]),
            Kind::Peft(line) => line.left(),
            Kind::Fair(line) => line.left(id, trace),
            Kind::RoundRobin(line) => {
                let client = line.client_of(trace, id);
                line.accounts().left(client);
            }
            _ => {}
        }
    }

    /// Who counts as a client, and each client seen so far with its counter (a deficit counter for round robin), in the
    /// order of their first requests. `None` for an order without counters.
    pub fn counters(&mut self) -> Option<(Client, Vec<(u32, f64)>)> {
        let counters = match &mut self.kind {
            Kind::Fair(line) => line.counters(),
            Kind::RoundRobin(line) => line.counters(),
            _ => return None,
        };
        Some((self.client, counters))
    }

    /// Whether the order of service keeps a counter for each client.
    pub fn keeps_counters(&self) -> bool {
        matches!(self.kind, Kind::Fair(_) | Kind::RoundRobin(_))
    }

    /// What each client is expected to produce, where that is learnt.
    pub fn predicted_lengths(&self) -> Vec<(u32, f64)> {
        match &self.kind {
            Kind::Fair(line) => line.predicted_lengths(),
            _ => Vec::new(),
        }
    }

    /// The two estimates and the memory of early abort: request rate, batch size, waiting after the last pick.
    pub fn abort_estimates(&self) -> Option<(i64, i64, usize)> {
        match &self.kind {
            Kind::EarlyAbort(line) => Some((line.request_rate, line.batch_size, line.last_waiting)),
            _ => None,
        }
    }

    /// Everybody who still waits, in order of arrival, entries of gone clients included that were not passed yet.
    pub fn waiting(&self) -> Vec<u32> {
        let mut ids: Vec<u32> = match &self.kind {
            Kind::Fcfs(waiting) | Kind::Pets(waiting) | Kind::Rpm(waiting, _) => {
                waiting.iter().copied().collect()
            }
            Kind::Keyed(heap, _, arrived) => heap.iter().map(|entry| arrived[entry.0.id as usize]).collect(),
            Kind::Cluster(line) => line.waiting.iter().copied().collect(),
            Kind::Peft(line) => line.waiting.iter().copied().collect(),
            Kind::EarlyAbort(line) => line.waiting.iter().map(|&(id, _)| id).collect(),
            Kind::Fair(_) | Kind::RoundRobin(_) => Vec::new(),
        };
        ids.sort_unstable();
        ids
    }
}
