//! Deficit round robin over clients (`mdrr_fair` of VTC's artifact, after Shreedhar and Varghese, SIGCOMM 1995, with costs
//! that are known only afterwards).
//!
//! Active clients take turns. At its turn a client whose deficit counter is not positive gets a quantum, and is served
//! while the counter is positive: the prompt is deducted when a request is picked, output as it appears. A request that does
//! not fit ends the decision and its client keeps the turn, unless its counter has fallen below 0 by the next one. Clients
//! without waiting requests stay active until their debt is paid.

use std::collections::VecDeque;

use super::accounts::{Accounts, Charging};
use super::admission::Admission;
use super::order::Client;
use super::tariff::Tariff;
use servescope_workload::Trace;

/// With a smaller quantum rounds would not end.
const LEAST_QUANTUM: f64 = 1.0;

/// So many quanta of debt make it worth while to look for rounds without service.
const DEEP: f64 = 8.0;

/// The settings.
#[derive(Debug, Clone, PartialEq)]
pub struct RoundRobin {
    /// Weight of each client in turn; clients beyond the list weigh 1.
    pub weights: Vec<f64>,
    /// Price of a prompt token.
    pub input_price: f64,
    /// Price of an output token.
    pub output_price: f64,
    /// When output is charged.
    pub charging: Charging,
    /// What a turn is worth, at least 1; absent: a 20th of the memory pool.
    pub quantum: Option<f64>,
}

impl Default for RoundRobin {
    fn default() -> Self {
        Self {
            weights: Vec::new(),
            input_price: 1.0,
            output_price: 2.0,
            charging: Charging::Slora,
            quantum: None,
        }
    }
}

/// One client's line.
#[derive(Debug, Clone, Default)]
struct Queue {
    waiting: VecDeque<u32>,
    is_active: bool,
    is_seen: bool,
}

/// The waiting line.
#[derive(Debug, Clone)]
pub struct RoundRobinLine {
    tariff: Tariff,
    quantum: f64,
    client: Client,
    accounts: Accounts,
    queues: Vec<Queue>,
    seen: Vec<u32>,
    active: VecDeque<u32>,
    /// Whose request did not fit last.
    refused: Option<u32>,
    waiting: usize,
}

impl RoundRobinLine {
    /// A line for a trace's clients under a pool of `pool_tokens`.
    pub fn new(rule: RoundRobin, client: Client, pool_tokens: u32, trace: &Trace) -> Self {
        let clients = client.count(trace);
        let tariff = Tariff::from(&rule);
        let charges = (0..clients as u32).map(|client| -tariff.token(client, 0.0, 1.0));
        Self {
            quantum: rule.quantum.unwrap_or(f64::from(pool_tokens) / 20.0).max(LEAST_QUANTUM),
            client,
            accounts: Accounts::new(charges, rule.charging),
            queues: vec![Queue::default(); clients],
            seen: Vec::new(),
            active: VecDeque::new(),
            refused: None,
            waiting: 0,
            tariff,
        }
    }

    /// Whether nobody waits.
    pub fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// Whether a decision would change anything.
    pub fn is_restless(&self) -> bool {
        !self.active.is_empty()
    }

    /// Every client seen so far with its deficit counter, in the order of their first requests.
    pub fn counters(&mut self) -> Vec<(u32, f64)> {
        self.seen.iter().map(|&client| (client, self.accounts.value(client))).collect()
    }

    /// The accounts, for the charging of output.
    pub fn accounts(&mut self) -> &mut Accounts {
        &mut self.accounts
    }

    /// The client of a request.
    pub fn client_of(&self, trace: &Trace, id: u32) -> u32 {
        self.client.of(trace, id, self.queues.len())
    }

    /// A request arrives.
    pub fn arrive(&mut self, id: u32, trace: &Trace) {
        let client = self.client_of(trace, id);
        let queue = &mut self.queues[client as usize];
        queue.waiting.push_back(id);
        self.waiting += 1;
        if !queue.is_seen {
            queue.is_seen = true;
            self.seen.push(client);
        }
        if !queue.is_active {
            queue.is_active = true;
            self.active.push_back(client);
        }
    }

    /// Takes a decision.
    pub fn decide(&mut self, admission: &mut Admission<'_>) {
        if admission.is_full() {
            return;
        }
        admission.rest();
        while let Some(client) = self.active.pop_front() {
            if self.refused == Some(client) && self.accounts.value(client) < 0.0 {
                self.active.push_back(client);
                self.refused = None;
                continue;
            }
            if self.accounts.value(client) <= -DEEP * self.quantum {
                self.pass_rounds(client);
            }
            if self.accounts.value(client) <= 0.0 {
                self.accounts.add(client, self.quantum);
            }
            if !self.serve(client, admission) {
                self.active.push_front(client);
                self.refused = Some(client);
                return self.until_turn_is_lost(client, admission);
            }
            if !self.queues[client as usize].waiting.is_empty() || self.accounts.value(client) < 0.0 {
                self.active.push_back(client);
            } else {
                self.queues[client as usize].is_active = false;
            }
        }
    }

    /// Takes the rounds at once in which `client` and all other active clients get their quantum and nobody is served.
    fn pass_rounds(&mut self, client: u32) {
        let mut rounds = f64::INFINITY;
        for i in 0..=self.active.len() {
            let other = self.active.get(i).copied().unwrap_or(client);
            let debt = -self.accounts.value(other) / self.quantum;
            rounds = rounds.min(if self.refused == Some(other) { 0.0 } else { debt * (1.0 - 1e-9) - 2.0 });
        }
        if rounds >= 1.0 {
            for i in 0..=self.active.len() {
                let other = self.active.get(i).copied().unwrap_or(client);
                self.accounts.add_repeated(other, self.quantum, rounds as u64);
            }
        }
    }

    /// Serves a client while its counter is positive; `false`: its oldest request does not fit.
    fn serve(&mut self, client: u32, admission: &mut Admission<'_>) -> bool {
        while self.accounts.value(client) > 0.0 {
            let Some(&id) = self.queues[client as usize].waiting.front() else { break };
            if !admission.is_cancelled(id) {
                if !admission.admit(id) {
                    return false;
                }
                let input = f64::from(admission.trace.input_tokens[id as usize]);
                self.accounts.add(client, -self.tariff.prompt(client, input, 0.0));
            }
            self.queues[client as usize].waiting.pop_front();
            self.waiting -= 1;
        }
        true
    }

    /// The head of `client` does not fit: says when its counter may have run out.
    fn until_turn_is_lost(&mut self, client: u32, admission: &mut Admission<'_>) {
        let rate = -self.accounts.rate(client);
        if rate > 0.0 {
            let steps = self.accounts.value(client) / rate * (1.0 - 1e-9) - 1.0;
            if steps < 1e15 {
                admission.retry_by(admission.step + 1 + steps.max(0.0) as u64);
            }
        }
    }
}
