//! What clients are charged for the output of admitted requests, token by token or, where all tokens of a client cost the
//! same, for the whole batch at once.
//!
//! A token is charged when it is there; what was charged ahead of it, by prediction, is charged no more, and what of that
//! was not produced is given back in the end. Which tokens are free and which are charged twice is for the scheduler to
//! say ([`super::service_counters::OutputAccounting`]).

use crate::client::ClientId;
use servescope_workload::RequestId;

use super::client_queue::ClientQueue;
use super::fairness::FairnessRules;
use super::policy::QueuePolicy;
use super::prediction::{Prediction, updated_mean};
use super::token_cost::TokenCostModel;

/// An admitted request, where requests are charged one by one.
#[derive(Debug, Clone, Copy)]
struct Item {
    id: RequestId,
    client: ClientId,
    /// Tokens of the prompt, of the output that was charged ahead, of the output that is there, and of all the output.
    input: f64,
    predicted: f64,
    produced: f64,
    output: f64,
    /// Whether it decodes in the batch that is charged as one.
    decodes: bool,
    /// Whether its client has gone away, and the rules take that for its end in every iteration.
    is_abandoned: bool,
}

/// The charges.
#[derive(Debug, Clone)]
pub(super) struct TokenCharges {
    rules: FairnessRules,
    prediction: Prediction,
    /// Whether the charge of a token depends on its request, so that requests are charged one by one.
    is_itemised: bool,
    /// Admitted requests that have not ended, where they are charged one by one, in the order in which they are charged.
    items: Vec<Item>,
    /// Output tokens that are expected of each client's next request, where that is learnt.
    expected: Vec<f64>,
}

impl TokenCharges {
    pub(super) fn new(policy: &QueuePolicy, rules: FairnessRules, queue: &ClientQueue) -> Self {
        let prediction = match policy {
            QueuePolicy::Vtc(rule) => rule.prediction,
            _ => Prediction::None,
        };
        let learns = prediction == Prediction::History;
        Self {
            rules,
            prediction,
            is_itemised: queue.token_costs().is_profiled() || prediction != Prediction::None,
            items: Vec::new(),
            expected: vec![0.0; if learns { queue.client_count() } else { 0 }],
        }
    }

    /// Whether requests are charged one by one.
    pub(super) fn is_itemised(&self) -> bool {
        self.is_itemised
    }

    /// Output tokens that are expected of a client's next request; 0 where nothing was learnt.
    pub(super) fn expected(&self, client: ClientId) -> f64 {
        self.expected.get(client.index()).copied().unwrap_or(0.0)
    }

    fn place(&self, id: RequestId) -> Option<usize> {
        match self.rules {
            FairnessRules::Slora => self.items.iter().position(|item| item.id == id),
            FairnessRules::Engine => self.items.binary_search_by_key(&id, |item| item.id).ok(),
        }
    }

    fn item(&mut self, id: RequestId) -> Option<&mut Item> {
        let place = self.place(id)?;
        Some(&mut self.items[place])
    }

    /// A request is admitted for the first time: its prompt of `tokens[0]` is charged, and what is expected of its output of
    /// `tokens[1]`, which is `given_tokens` where that is not learnt.
    pub(super) fn admit(
        &mut self,
        queue: &mut ClientQueue,
        client: ClientId,
        id: RequestId,
        tokens: [u32; 2],
        given_tokens: impl FnOnce() -> f64,
    ) {
        let predicted = match self.prediction {
            Prediction::None => 0.0,
            Prediction::History => self.expected(client),
            Prediction::Given => given_tokens(),
        };
        let [input, output] = tokens.map(f64::from);
        queue.charge(client, queue.token_costs().prompt(client, input, predicted));
        if self.is_itemised {
            let item = Item {
                id,
                client,
                input,
                predicted,
                produced: 0.0,
                output,
                decodes: false,
                is_abandoned: false,
            };
            let place = match self.rules {
                FairnessRules::Slora => self.items.len(),
                FairnessRules::Engine => self.items.partition_point(|other| other.id < id),
            };
            self.items.insert(place, item);
        }
    }

    /// A request of `client` decodes in the batch from now on, or no more.
    pub(super) fn decodes(&mut self, queue: &mut ClientQueue, client: ClientId, id: RequestId, joins: bool) {
        if self.is_itemised {
            if let Some(item) = self.item(id) {
                item.decodes = joins;
            }
        } else if joins {
            queue.service().joined(client);
        } else {
            queue.service().left(client);
        }
    }

    /// Every request of the batch has made this many tokens.
    pub(super) fn decoded(&mut self, queue: &mut ClientQueue, iterations: u32) {
        if !self.is_itemised {
            return queue.service().decoded(iterations);
        }
        for _ in 0..iterations {
            for place in 0..self.items.len() {
                if self.items[place].decodes {
                    self.decoded_once(queue, place);
                }
            }
        }
    }

    fn decoded_once(&mut self, queue: &mut ClientQueue, place: usize) {
        let item = &mut self.items[place];
        match self.rules {
            FairnessRules::Engine => {
                item.produced += 1.0;
                charge(self.rules, self.prediction, queue, item);
            }
            FairnessRules::Slora => {
                let before = *item;
                item.produced += 1.0;
                charge(self.rules, self.prediction, queue, &before);
                if before.is_abandoned {
                    self.settle(queue, &before, before.produced);
                }
            }
        }
    }

    /// A request of `client` is `tokens` further, and if it `is_charged` pays for the last of its tokens.
    pub(super) fn makes(
        &mut self,
        queue: &mut ClientQueue,
        client: ClientId,
        id: RequestId,
        tokens: f64,
        is_charged: bool,
    ) {
        if self.is_itemised {
            let Some(place) = self.place(id) else { return };
            let item = &mut self.items[place];
            item.produced += tokens;
            if is_charged {
                charge(self.rules, self.prediction, queue, item);
            }
        } else if is_charged {
            queue.service().charge(client);
        }
    }

    /// Every request of the batch pays once more for the last of its tokens. Those that `have_ended` are settled.
    pub(super) fn charge_again(&mut self, queue: &mut ClientQueue, have_ended: impl Fn(RequestId) -> bool) {
        if !self.is_itemised {
            return queue.service().decoded(1);
        }
        for place in 0..self.items.len() {
            let item = self.items[place];
            if item.decodes {
                charge(self.rules, self.prediction, queue, &item);
                if have_ended(item.id) {
                    self.settle(queue, &item, item.produced);
                }
            }
        }
        self.items.retain(|item| !(item.decodes && have_ended(item.id)));
    }

    /// An admitted request has come to its end; `produced`: the tokens that it has, if that is not what it was charged for.
    pub(super) fn end(&mut self, queue: &mut ClientQueue, id: RequestId, produced: Option<u32>) {
        if let Some(place) = self.place(id) {
            let item = self.items.remove(place);
            self.settle(queue, &item, produced.map_or(item.produced, f64::from));
        }
    }

    /// The client of a request of the batch has gone away, and every iteration until its end takes it for ended.
    pub(super) fn abandon(&mut self, id: RequestId) {
        if let Some(item) = self.item(id) {
            item.is_abandoned = true;
        }
    }

    /// What a token of each request of `client` in the batch costs at most: a later one never costs less.
    pub(super) fn most_per_iteration(&self, token_costs: &TokenCostModel, client: ClientId) -> f64 {
        let own = self.items.iter().filter(|item| item.decodes && item.client == client);
        own.map(|item| token_costs.token(client, item.input, item.output)).sum()
    }

    /// Gives back what was charged ahead and not produced, and learns from the length.
    fn settle(&mut self, queue: &mut ClientQueue, item: &Item, produced: f64) {
        if self.prediction == Prediction::None {
            return;
        }
        if produced < item.predicted {
            let amount = queue.token_costs().output(item.client, item.input, item.predicted, produced);
            queue.charge(item.client, amount);
        }
        if let Some(mean) = self.expected.get_mut(item.client.index()) {
            *mean = updated_mean(*mean, produced);
        }
    }
}

/// Charges the last token of a request, or what of it was not charged ahead.
fn charge(rules: FairnessRules, prediction: Prediction, queue: &mut ClientQueue, item: &Item) {
    let ahead = if prediction == Prediction::None { 0.0 } else { item.predicted };
    if prediction != Prediction::None && item.produced <= ahead {
        return;
    }
    let from = match rules {
        FairnessRules::Slora => item.produced - 1.0,
        FairnessRules::Engine => ahead.max(item.produced - 1.0),
    };
    queue.charge(item.client, queue.token_costs().output(item.client, item.input, from, item.produced));
}
