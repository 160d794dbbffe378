//! Deficit round robin over clients (Shreedhar and Varghese, SIGCOMM 1995, with costs that are known only afterwards;
//! `mdrr_fair` of VTC's artifact).
//!
//! Clients take turns. At its turn a client whose deficit counter is not positive gets a quantum, and is served while the
//! counter is positive: the prompt is deducted when a request is admitted, output as it appears. A request that does not
//! fit keeps the turn of its client until the counter has run out; the client then waits for its next turn.
//!
//! Two rules differ between the systems ([`FairnessRules`]): what a client keeps of its counter while nothing of it waits,
//! and whether one that was blocked at a counter of exactly 0 has lost its turn.

use crate::client::ClientId;
use std::collections::VecDeque;

use super::fairness::FairnessRules;
use super::service_counters::{OutputAccounting, ServiceCounters};
use super::token_cost::{TokenCost, TokenCostModel};

/// With a smaller quantum rounds would not end.
const LEAST_QUANTUM: f64 = 1.0;

/// The settings.
#[derive(Debug, Clone, PartialEq)]
pub struct DrrConfig {
    /// Weight of each client in turn; clients beyond the list weigh 1.
    pub weights: Vec<f64>,
    /// Weight of a prompt token.
    pub input_price: f64,
    /// Weight of an output token.
    pub output_price: f64,
    /// When output is charged.
    pub accounting: OutputAccounting,
    /// What a turn is worth, at least 1; absent: a 20th of the memory pool.
    pub quantum: Option<f64>,
}

impl Default for DrrConfig {
    fn default() -> Self {
        Self {
            weights: Vec::new(),
            input_price: 1.0,
            output_price: 2.0,
            accounting: OutputAccounting::Slora,
            quantum: None,
        }
    }
}

impl DrrConfig {
    /// What tokens cost.
    pub(super) fn token_costs(&self) -> TokenCostModel {
        TokenCostModel::new(&self.weights, [self.input_price, self.output_price], TokenCost::Linear)
    }
}

/// The turns of the clients.
#[derive(Debug, Clone)]
pub(super) struct ClientTurns {
    quantum: f64,
    rules: FairnessRules,
    /// Clients in the order of their turns.
    active: VecDeque<ClientId>,
    is_active: Vec<bool>,
    /// The client whose turn has begun, with a positive counter.
    served: Option<ClientId>,
    /// S-LoRA: the client whose request did not fit last.
    blocked: Option<ClientId>,
}

impl ClientTurns {
    /// No client is active yet. `pool_tokens`: KV memory, tokens.
    pub(super) fn new(rule: &DrrConfig, rules: FairnessRules, clients: usize, pool_tokens: f64) -> Self {
        Self {
            quantum: rule.quantum.unwrap_or(pool_tokens / 20.0).max(LEAST_QUANTUM),
            rules,
            active: VecDeque::new(),
            is_active: vec![false; clients],
            served: None,
            blocked: None,
        }
    }

    /// Whether no client is active, waiting or in debt.
    pub(super) fn is_empty(&self) -> bool {
        self.active.is_empty()
    }

    /// The client at its turn, whether it waits or not.
    pub(super) fn front(&self) -> Option<ClientId> {
        self.active.front().copied()
    }

    /// A client waits: it is active, behind all others if it was not.
    pub(super) fn enter(&mut self, client: ClientId) {
        if !self.is_active[client] {
            self.is_active[client] = true;
            self.active.push_back(client);
        }
    }

    /// The same for a client whose request was passed over: its turn is next.
    pub(super) fn enter_first(&mut self, client: ClientId) {
        if !self.is_active[client] {
            self.is_active[client] = true;
            self.active.push_front(client);
        }
    }

    /// The turn of a client is over, and it is active no more.
    pub(super) fn leave(&mut self, client: ClientId) {
        self.served = self.served.filter(|&served| served != client);
        self.is_active[client] = false;
        if self.front() == Some(client) {
            self.active.pop_front();
        } else {
            self.active.retain(|&other| other != client);
        }
    }

    /// No request of a client waits any more.
    pub(super) fn depart(&mut self, client: ClientId, counters: &mut ServiceCounters) {
        let counter = counters.value(client);
        match self.rules {
            // What is saved up is lost with the turn.
            FairnessRules::Engine => counters.add(client, -counter.max(0.0)),
            // Debts are paid before the client is active no more.
            FairnessRules::Slora if counter < 0.0 => self.enter(client),
            FairnessRules::Slora => {}
        }
    }

    /// The request of the client at its turn does not fit.
    pub(super) fn block(&mut self) {
        if self.rules == FairnessRules::Slora {
            self.blocked = self.served.take();
        }
    }

    /// The first client that waits by `waits`, and whose deficit counter is, or becomes with its quantum, positive.
    pub(super) fn first(
        &mut self,
        counters: &mut ServiceCounters,
        waits: impl Fn(ClientId) -> bool,
    ) -> Option<ClientId> {
        let mut passed = 0;
        loop {
            let client = self.front()?;
            let begins = self.served != Some(client);
            if begins && self.blocked == Some(client) && counters.value(client) < 0.0 {
                self.blocked = None;
                self.active.rotate_left(1);
                continue;
            }
            // A turn at which the counter ran out while a request did not fit is lost without a quantum.
            if begins && counters.value(client) <= 0.0 {
                counters.add(client, self.quantum);
            }
            let (counter, waits) = (counters.value(client), waits(client));
            if counter > 0.0 && waits {
                self.served = Some(client);
                return Some(client);
            }
            self.served = None;
            if waits || counter < 0.0 {
                self.active.rotate_left(1);
            } else {
                self.leave(client);
            }
            passed += 1;
            if passed >= self.active.len() {
                self.pass_rounds(counters);
                passed = 0;
            }
        }
    }

    /// Takes the rounds at once in which all active clients get their quantum and none is served.
    fn pass_rounds(&mut self, counters: &mut ServiceCounters) {
        let mut rounds = f64::INFINITY;
        for &client in &self.active {
            let debt = -counters.value(client) / self.quantum;
            rounds = rounds.min(if self.blocked == Some(client) { 0.0 } else { debt * (1.0 - 1e-9) - 2.0 });
        }
        if rounds >= 1.0 {
            for &client in &self.active {
                counters.add_repeated(client, self.quantum, rounds as u64);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turns(rules: FairnessRules) -> (ClientTurns, ServiceCounters) {
        let rule = DrrConfig { quantum: Some(10.0), ..DrrConfig::default() };
        (ClientTurns::new(&rule, rules, 2, 1_000.0), ServiceCounters::new((0..2).map(|_| -2.0)))
    }

    #[test]
    fn a_deep_debt_is_passed_at_once_and_to_the_bit() {
        for rules in [FairnessRules::Slora, FairnessRules::Engine] {
            let (mut turns, mut counters) = turns(rules);
            turns.enter(ClientId::new(0));
            counters.add(ClientId::new(0), -1e6 - 0.3);
            assert_eq!(turns.first(&mut counters, |_| true), Some(ClientId::new(0)));
            let by_hand = (0..100_001).fold(-1e6 - 0.3, |counter: f64, _| counter + 10.0);
            assert_eq!(counters.value(ClientId::new(0)).to_bits(), by_hand.to_bits());
        }
    }

    #[test]
    fn what_an_idle_client_keeps_differs() {
        for (rules, credit, debt) in [(FairnessRules::Slora, 5.0, 5.0), (FairnessRules::Engine, 0.0, -15.0)] {
            let (mut turns, mut counters) = turns(rules);
            counters.add(ClientId::new(0), 5.0);
            turns.depart(ClientId::new(0), &mut counters);
            assert_eq!(counters.value(ClientId::new(0)), credit, "credit under {rules:?}");
            counters.add(ClientId::new(1), -15.0);
            turns.depart(ClientId::new(1), &mut counters);
            assert_eq!(turns.first(&mut counters, |_| false), None);
            assert_eq!(counters.value(ClientId::new(1)), debt, "debt under {rules:?}");
        }
    }

    #[test]
    fn a_blocked_client_loses_its_turn_with_its_counter() {
        for (rules, counter, next) in [
            (FairnessRules::Slora, 0.0, 0),
            (FairnessRules::Slora, -1.0, 1),
            (FairnessRules::Engine, 0.0, 1),
            (FairnessRules::Engine, -1.0, 1),
        ] {
            let (mut turns, mut counters) = turns(rules);
            turns.enter(ClientId::new(0));
            turns.enter(ClientId::new(1));
            assert_eq!(turns.first(&mut counters, |_| true), Some(ClientId::new(0)));
            turns.block();
            counters.add(ClientId::new(0), counter - 10.0);
            assert_eq!(
                turns.first(&mut counters, |_| true),
                Some(ClientId::new(next)),
                "{rules:?} at {counter}"
            );
        }
    }
}
