//! Virtual token counters (Sheng et al., "Fairness in Serving Large Language Models", OSDI 2024) and their relatives.
//!
//! Each client has a counter of the weighted tokens it was served. The client with the smallest counter is served next,
//! equal ones in the order in which they were first seen; if its oldest request does not fit, none is admitted. A
//! request's prompt is charged when it is admitted, its output as it appears. A client that had nothing waiting is lifted, on
//! its next request, to the smallest counter of those that wait, so that idle time is not saved up.
//!
//! Relatives: least counter first (LCF) never lifts; `vtc_max_fair` raises all clients before each decision; predicting variants
//! charge the expected output at once and settle the difference later; a profiled cost takes the place of weights of tokens.

use crate::client::ClientId;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::fairness::FairnessRules;
use super::prediction::Prediction;
use super::queue_key::{Numbered, QueueKey};
use super::service_counters::{OutputAccounting, ServiceCounters};
use super::token_cost::{TokenCost, TokenCostModel};

/// What happens to the counter of a client that had nothing waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Lift {
    /// Raised to the smallest counter of the other clients that wait, if any (the authors' code).
    #[default]
    Waiting,
    /// The same, and where no request waits to the counter of the client that last stopped waiting (the paper, algorithm 2).
    Paper,
    /// Nothing: least counter first (LCF).
    Never,
    /// Before each decision every counter is raised: to the largest when nothing runs, otherwise to that of the newest
    /// running request less its own tokens (`vtc_max_fair`); elsewhere than in S-LoRA a returning client's to the largest.
    Max,
}

/// The settings.
#[derive(Debug, Clone, PartialEq)]
pub struct VtcConfig {
    /// Weight of each client in turn; clients beyond the list weigh 1.
    pub weights: Vec<f64>,
    /// Weight of a prompt token.
    pub input_price: f64,
    /// Weight of an output token.
    pub output_price: f64,
    /// What tokens cost.
    pub cost: TokenCost,
    /// When output is charged.
    pub accounting: OutputAccounting,
    /// What returning clients get.
    pub lift: Lift,
    /// What is charged ahead.
    pub prediction: Prediction,
}

impl Default for VtcConfig {
    /// S-LoRA's `vtc_fair`.
    fn default() -> Self {
        Self {
            weights: Vec::new(),
            input_price: 1.0,
            output_price: 2.0,
            cost: TokenCost::Linear,
            accounting: OutputAccounting::Slora,
            lift: Lift::Waiting,
            prediction: Prediction::None,
        }
    }
}

impl VtcConfig {
    /// What tokens of `clients` clients cost. Only the ratios of weights count: without their common factor equal weights
    /// give the counters of no weights, and ties stay ties.
    pub(super) fn token_costs(&self, clients: usize) -> TokenCostModel {
        TokenCostModel::new(&self.weights, [self.input_price, self.output_price], self.cost)
            .without_common_factor(clients)
    }
}

/// Clients that wait, least counter first.
#[derive(Debug, Clone)]
pub(super) struct LeastCounter {
    lift: Lift,
    rules: FairnessRules,
    /// (counter, place among clients in the order of their first requests, client). An entry may lag behind its counter,
    /// never be ahead of it.
    entries: BinaryHeap<Reverse<QueueKey<Numbered<ClientId>>>>,
    /// Key of the entry that stands for each client, infinite if there is none; other entries are stale.
    keys: Vec<f64>,
    /// The client that last stopped waiting.
    last_departed: Option<ClientId>,
}

impl LeastCounter {
    /// No client waits yet.
    pub(super) fn new(lift: Lift, rules: FairnessRules, clients: usize) -> Self {
        let keys = vec![f64::INFINITY; clients];
        Self { lift, rules, entries: BinaryHeap::new(), keys, last_departed: None }
    }

    /// Whether counters are raised before each decision.
    pub(super) fn is_raised_at_decisions(&self) -> bool {
        self.lift == Lift::Max && self.rules == FairnessRules::Slora
    }

    /// Sees to it that a client that waits, the `seen`-th that ever sent a request, has an entry that is not ahead of its
    /// counter.
    pub(super) fn enter(&mut self, client: ClientId, seen: u32, counters: &mut ServiceCounters) {
        let key = counters.value(client);
        let own = &mut self.keys[client];
        if key < *own {
            *own = key;
            self.entries.push(Reverse(QueueKey { key, id: Numbered { number: seen, id: client } }));
        }
    }

    /// No request of a client waits any more.
    pub(super) fn depart(&mut self, client: ClientId) {
        self.last_departed = Some(client);
    }

    /// The client that is served next, with its counter; `is_ready` says which clients may be.
    pub(super) fn first(
        &mut self,
        counters: &mut ServiceCounters,
        is_ready: impl Fn(ClientId) -> bool,
    ) -> Option<(ClientId, f64)> {
        while let Some(&Reverse(top)) = self.entries.peek() {
            let client = top.id.id;
            let own = &mut self.keys[client];
            if top.key != *own {
                self.entries.pop();
                continue;
            }
            if !is_ready(client) {
                *own = f64::INFINITY;
                self.entries.pop();
                continue;
            }
            let counter = counters.value(client);
            if counter <= top.key {
                return Some((client, top.key));
            }
            // Counters grow while their entries keep the old key.
            *own = counter;
            if let Some(mut top) = self.entries.peek_mut() {
                top.0.key = counter;
            }
        }
        None
    }

    /// The client that is served next, and how far its counter is below that of the one after it; infinite: it is alone.
    pub(super) fn lead(
        &mut self,
        counters: &mut ServiceCounters,
        is_ready: impl Fn(ClientId) -> bool,
    ) -> Option<(ClientId, f64)> {
        let (client, counter) = self.first(counters, &is_ready)?;
        let own = self.entries.pop();
        let next = self.first(counters, is_ready).map_or(f64::INFINITY, |next| next.1);
        self.entries.extend(own);
        Some((client, next - counter))
    }

    /// The least counter that a client gets of which nothing waited; `clients` are all that were ever seen, `is_idle` says
    /// that no request of any of them waits.
    pub(super) fn floor(
        &mut self,
        clients: &[ClientId],
        is_idle: bool,
        counters: &mut ServiceCounters,
        is_ready: impl Fn(ClientId) -> bool,
    ) -> Option<f64> {
        match self.lift {
            Lift::Never => None,
            Lift::Max if self.is_raised_at_decisions() => None,
            Lift::Max => clients.iter().map(|&client| counters.value(client)).reduce(f64::max),
            Lift::Waiting => self.first(counters, is_ready).map(|first| first.1),
            Lift::Paper => {
                let first = self.first(counters, is_ready).map(|first| first.1);
                let last = self.last_departed.filter(|_| is_idle);
                first.or_else(|| last.map(|client| counters.value(client)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_first_is_the_least_whatever_counters_do(
            moves in prop::collection::vec((0u32..6, -20.0..30f64, any::<bool>(), any::<bool>()), 1..120),
        ) {
            let mut least = LeastCounter::new(Lift::Waiting, FairnessRules::Slora, 6);
            let mut counters = ServiceCounters::new((0..6).map(|_| 2.0));
            let mut waits = [false; 6];
            for (client, amount, arrives, leaves) in moves {
                let client = ClientId::new(client);
                counters.add(client, amount);
                waits[client] |= arrives;
                if waits[client] {
                    least.enter(client, client.get(), &mut counters);
                }
                let waiting = ClientId::first(6).filter(|&c| waits[c]);
                let values: Vec<(f64, ClientId)> = waiting.map(|c| (counters.value(c), c)).collect();
                let by_scan = values.iter().copied().reduce(|a, b| if b.0 < a.0 { b } else { a });
                let first = least.first(&mut counters, |c| waits[c]);
                prop_assert_eq!(first, by_scan.map(|(counter, client)| (client, counter)));
                let next = values.iter().filter(|v| Some(v.1) != first.map(|f| f.0)).map(|v| v.0).reduce(f64::min);
                let lead = least.lead(&mut counters, |c| waits[c]);
                prop_assert_eq!(lead, first.map(|f| (f.0, next.unwrap_or(f64::INFINITY) - f.1)));
                if let (true, Some((client, _))) = (leaves, first) {
                    waits[client] = false;
                }
            }
        }
    }

    #[test]
    fn a_client_that_returns_is_lifted_as_its_rule_says() {
        let floor = |lift, rules, is_idle: bool| {
            let mut least = LeastCounter::new(lift, rules, 4);
            let mut counters = ServiceCounters::new((0..4).map(|_| 2.0));
            [5.0, 7.0, 9.0]
                .iter()
                .zip(0..)
                .for_each(|(&value, client)| counters.add(ClientId::new(client), value));
            least.depart(ClientId::new(1));
            if !is_idle {
                least.enter(ClientId::new(0), 0, &mut counters);
            }
            least.floor(
                &[ClientId::new(0), ClientId::new(1), ClientId::new(2)],
                is_idle,
                &mut counters,
                |client| client == ClientId::new(0),
            )
        };
        for rules in [FairnessRules::Slora, FairnessRules::Engine] {
            assert_eq!([false, true].map(|idle| floor(Lift::Waiting, rules, idle)), [Some(5.0), None]);
            assert_eq!([false, true].map(|idle| floor(Lift::Paper, rules, idle)), [Some(5.0), Some(7.0)]);
            assert_eq!([false, true].map(|idle| floor(Lift::Never, rules, idle)), [None, None]);
        }
        assert_eq!(floor(Lift::Max, FairnessRules::Slora, false), None, "raised at decisions instead");
        assert_eq!(floor(Lift::Max, FairnessRules::Engine, false), Some(9.0));
    }
}
