//! Virtual token counters (Sheng et al., "Fairness in Serving Large Language Models", OSDI 2024) and their relatives.
//!
//! Each client has a counter of the weighted tokens it was served. The client with the smallest counter is served next,
//! equal ones in the order in which they were first seen; if its oldest request does not fit, nobody is admitted. A
//! request's prompt is charged when it is picked, its output as it appears. A client that had nothing waiting is lifted, on
//! its next request, to the smallest counter of those who wait, so that idle time is not saved up.
//!
//! Relatives: least counter first never lifts; `vtc_max_fair` raises everybody before each decision; predicting variants
//! charge the expected output at once and settle the difference later; a profiled cost takes the place of prices.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::accounts::{Accounts, Charging};
use super::admission::{Admission, DecodeSpan};
use super::keyed::Keyed;
use super::order::Client;
use super::prediction::updated_mean;
use super::tariff::Tariff;
use crate::request::{Fate, Outcome};
use servescope_workload::Trace;

/// What happens to the counter of a client that had nothing waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Lift {
    /// Raised to the smallest counter of the other clients that wait, if any (the authors' code).
    #[default]
    Waiting,
    /// The same, and where nobody waits to the counter of the client that last stopped waiting (the paper, algorithm 2).
    Paper,
    /// Nothing: least counter first.
    Never,
    /// Before each decision every counter is raised: to the largest when nothing runs, otherwise to that of the newest
    /// running request less its own tokens (`vtc_max_fair`).
    Max,
}

/// What tokens cost.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum TokenCost {
    /// A price for each prompt token and one for each output token.
    #[default]
    Linear,
    /// The authors' fit of measured times, milliseconds: [`profiled_cost`].
    Profile,
}

/// What is charged for output when a request is picked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Prediction {
    /// Nothing.
    #[default]
    None,
    /// The running mean of the client's finished outputs (`vtc_len_predict`).
    History,
    /// [`super::Queueing::predictions`] (`vtc_oracle`).
    Given,
}

/// The settings.
#[derive(Debug, Clone, PartialEq)]
pub struct Fair {
    /// Weight of each client in turn; clients beyond the list weigh 1.
    pub weights: Vec<f64>,
    /// Price of a prompt token.
    pub input_price: f64,
    /// Price of an output token.
    pub output_price: f64,
    /// What tokens cost.
    pub cost: TokenCost,
    /// When output is charged.
    pub charging: Charging,
    /// What returning clients get.
    pub lift: Lift,
    /// What is charged ahead.
    pub prediction: Prediction,
}

impl Default for Fair {
    /// S-LoRA's `vtc_fair`.
    fn default() -> Self {
        Self {
            weights: Vec::new(),
            input_price: 1.0,
            output_price: 2.0,
            cost: TokenCost::Linear,
            charging: Charging::Slora,
            lift: Lift::Waiting,
            prediction: Prediction::None,
        }
    }
}

/// The time in milliseconds that `input` prompt tokens and `output` tokens of one request cost on an A10G with Llama-7B, as
/// VTC's authors fitted it.
pub fn profiled_cost(input: f64, output: f64) -> f64 {
    0.210_018_91 * input
        + 0.100_753_95 * output
        + 0.003_986_8 * input * output
        + 0.003_247_33 * output * output
        + 1.146_014_54
}

/// One client's line.
#[derive(Debug, Clone)]
struct Queue {
    waiting: VecDeque<u32>,
    /// Place among clients in the order of their first request; [`UNSEEN`] before it.
    seen: u32,
    /// Key of the entry of the heap that stands for it, infinite if there is none; other entries are stale.
    key: f64,
    predicted: f64,
}

const UNSEEN: u32 = u32::MAX;

/// A running request where charges differ from request to request.
#[derive(Debug, Clone, Copy)]
struct Item {
    id: u32,
    client: u32,
    predicted: f64,
}

/// The waiting line.
#[derive(Debug, Clone)]
pub struct FairLine {
    rule: Fair,
    tariff: Tariff,
    client: Client,
    given: Vec<f64>,
    accounts: Accounts,
    queues: Vec<Queue>,
    /// Clients in the order of their first request.
    seen: Vec<u32>,
    /// Requests in all queues.
    waiting: usize,
    /// (counter, order of first request) of clients that wait. An entry may lag behind its counter, never be ahead of it.
    turns: BinaryHeap<Reverse<Keyed>>,
    last_departed: Option<u32>,
    /// Requests picked by the last decision, then the batch in order of joining; only where [`Self::is_itemised`].
    picked: Vec<Item>,
    batch: Vec<Item>,
}

impl FairLine {
    /// A line for a trace's clients.
    pub fn new(rule: Fair, client: Client, predictions: Vec<f64>, trace: &Trace) -> Self {
        let clients = client.count(trace);
        let tariff = Tariff::of_fair(&rule, clients);
        let charges = (0..clients as u32).map(|client| tariff.token(client, 0.0, 1.0));
        let queue = Queue { waiting: VecDeque::new(), seen: UNSEEN, key: f64::INFINITY, predicted: 0.0 };
        Self {
            client,
            given: predictions,
            accounts: Accounts::new(charges, rule.charging),
            queues: vec![queue; clients],
            seen: Vec::new(),
            waiting: 0,
            turns: BinaryHeap::new(),
            last_departed: None,
            picked: Vec::new(),
            batch: Vec::new(),
            rule,
            tariff,
        }
    }

    /// Whether the charge of a token depends on its request, so that requests are charged one by one.
    fn is_itemised(&self) -> bool {
        self.tariff.is_profiled() || self.rule.prediction != Prediction::None
    }

    fn keeps_batch(&self) -> bool {
        self.is_itemised() || self.rule.lift == Lift::Max
    }

    /// Whether every decision may move counters, even one over an empty line.
    pub fn is_restless(&self) -> bool {
        self.rule.lift == Lift::Max
    }

    /// Requests waiting, in no particular order between clients.
    pub fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// Every client seen so far with its counter, in the order of their first requests.
    pub fn counters(&mut self) -> Vec<(u32, f64)> {
        let counter = |client: u32| (client, self.tariff.counter(self.accounts.value(client)));
        self.seen.iter().copied().map(counter).collect()
    }

    /// Every client seen so far with the length that is expected of its next answer, in the order of their first requests.
    pub fn predicted_lengths(&self) -> Vec<(u32, f64)> {
        self.seen.iter().map(|&client| (client, self.queues[client as usize].predicted)).collect()
    }

    fn client_of(&self, trace: &Trace, id: u32) -> u32 {
        self.client.of(trace, id, self.queues.len())
    }

    /// A request arrives.
    pub fn arrive(&mut self, id: u32, trace: &Trace) {
        let client = self.client_of(trace, id);
        let queue = &mut self.queues[client as usize];
        if queue.seen == UNSEEN {
            queue.seen = self.seen.len() as u32;
            self.seen.push(client);
        }
        let returns = queue.waiting.is_empty();
        if returns {
            let floor = match self.rule.lift {
                Lift::Never | Lift::Max => None,
                Lift::Waiting => self.first(),
                Lift::Paper => self.first().or(self.last_departed),
            };
            if let Some(other) = floor {
                let floor = self.accounts.value(other);
                self.accounts.raise(client, floor);
            }
        }
        self.queues[client as usize].waiting.push_back(id);
        self.waiting += 1;
        if returns {
            self.line_up(client);
        }
    }

    /// Sees to it that a client that waits has an entry that is not ahead of its counter.
    fn line_up(&mut self, client: u32) {
        let key = self.accounts.value(client);
        let queue = &mut self.queues[client as usize];
        if key < queue.key {
            queue.key = key;
            let id = queue.seen;
            self.turns.push(Reverse(Keyed { key, id }));
        }
    }

    /// The waiting client with the smallest counter.
    fn first(&mut self) -> Option<u32> {
        loop {
            let &Reverse(turn) = self.turns.peek()?;
            let client = self.seen[turn.id as usize];
            let value = self.accounts.value(client);
            let queue = &mut self.queues[client as usize];
            if turn.key != queue.key {
                self.turns.pop();
            } else if queue.waiting.is_empty() {
                queue.key = f64::INFINITY;
                self.turns.pop();
            } else if turn.key < value {
                queue.key = value;
                if let Some(mut top) = self.turns.peek_mut() {
                    top.0.key = value;
                }
            } else {
                return Some(client);
            }
        }
    }

    /// Takes a decision.
    pub fn decide(&mut self, admission: &mut Admission<'_>) {
        self.picked.clear();
        if admission.is_full() {
            return;
        }
        admission.rest();
        if self.rule.lift == Lift::Max {
            self.raise_all(admission);
        }
        while let Some(client) = self.first() {
            let id = self.queues[client as usize].waiting[0];
            if !admission.is_cancelled(id) {
                if !admission.admit(id) {
                    self.until_another_turn(client, admission);
                    break;
                }
                self.charge_prompt(client, id, admission.trace);
            }
            let queue = &mut self.queues[client as usize];
            queue.waiting.pop_front();
            self.waiting -= 1;
            if queue.waiting.is_empty() {
                self.last_departed = Some(client);
            }
        }
        if self.rule.lift == Lift::Max {
            admission.retry_by(admission.step + 1);
        }
    }

    /// The head of `client` does not fit: says when another client's turn may come.
    fn until_another_turn(&mut self, client: u32, admission: &mut Admission<'_>) {
        if self.is_itemised() {
            return admission.retry_by(admission.step + 1);
        }
        let rate = self.accounts.rate(client);
        let own = self.turns.pop();
        if let (true, Some(next)) = (rate > 0.0, self.first()) {
            let gap = self.accounts.value(next) - self.accounts.value(client);
            // Others' counters never fall, so this is a lower bound; rounding is left a step.
            let steps = gap / rate * (1.0 - 1e-9) - 1.0;
            if steps < 1e15 {
                admission.retry_by(admission.step + 1 + steps.max(0.0) as u64);
            }
        }
        self.turns.extend(own);
    }

    /// Raises every known client (`vtc_max_fair`).
    fn raise_all(&mut self, admission: &Admission<'_>) {
        let floor = if let Some(newest) = self.batch.last() {
            let i = newest.id as usize;
            let produced = 1 + admission.step - u64::from(admission.spans[i].first_step);
            let tokens = f64::from(admission.trace.input_tokens[i]);
            Some(self.accounts.value(newest.client) - tokens - produced as f64)
        } else {
            let values = self.seen.iter().map(|&client| self.accounts.value(client));
            values.max_by(f64::total_cmp)
        };
        if let Some(floor) = floor {
            self.seen.iter().for_each(|&client| self.accounts.raise(client, floor));
        }
    }

    fn charge_prompt(&mut self, client: u32, id: u32, trace: &Trace) {
        let input = f64::from(trace.input_tokens[id as usize]);
        let predicted = match self.rule.prediction {
            Prediction::None => 0.0,
            Prediction::History => self.queues[client as usize].predicted,
            Prediction::Given => {
                self.given.get(id as usize).copied().unwrap_or(f64::from(trace.max_tokens[id as usize]))
            }
        };
        let amount = self.tariff.prompt(client, input, predicted);
        self.accounts.add(client, amount);
        if self.keeps_batch() {
            self.picked.push(Item { id, client, predicted });
        }
    }

    /// The prefill of the picked requests ended.
    pub fn prefilled(&mut self, picked: &[u32], trace: &Trace) {
        let ended = |id: u32| trace.output_tokens[id as usize] == 1;
        let any = picked.iter().any(|&id| ended(id));
        if !self.is_itemised() {
            let count = self.queues.len();
            let clients = picked.iter().map(|&id| (self.client.of(trace, id, count), ended(id)));
            return self.accounts.prefilled(clients, any);
        }
        for i in 0..self.picked.len() {
            let item = self.picked[i];
            let has_ended = ended(item.id);
            self.charge_at_end(item, trace, 1.0, has_ended, any);
        }
    }

    /// A prefilled request joins the batch.
    pub fn joined(&mut self, id: u32, trace: &Trace) {
        let client = self.client_of(trace, id);
        if self.keeps_batch() {
            self.batch.extend(self.picked.iter().find(|item| item.id == id));
        }
        if !self.is_itemised() {
            self.accounts.joined(client);
        }
    }

    /// So many decode iterations began at step `step`.
    pub fn decoded(
        &mut self,
        step: u64,
        iterations: u32,
        trace: &Trace,
        (fates, spans): (&[Fate], &[DecodeSpan]),
    ) {
        if !self.is_itemised() {
            return self.accounts.decoded(iterations);
        }
        for step in step..step + u64::from(iterations) {
            for i in 0..self.batch.len() {
                let item = self.batch[i];
                let i = item.id as usize;
                let produced = (1 + step - u64::from(spans[i].first_step)) as f64;
                // The original takes a request whose client went away for a finished one at once.
                self.charge_token(item, trace, produced);
                if fates[i].outcome == Outcome::Cancelled && self.rule.charging == Charging::Artifact {
                    self.settle(item, trace, produced);
                }
            }
        }
    }

    /// Some requests of the batch end with step `step`.
    pub fn finishing(&mut self, step: u64, trace: &Trace, spans: &[DecodeSpan]) {
        if !self.is_itemised() {
            return self.accounts.finishing();
        }
        for i in 0..self.batch.len() {
            let item = self.batch[i];
            let span = &spans[item.id as usize];
            let produced = (1 + step - u64::from(span.first_step)) as f64;
            self.charge_at_end(item, trace, produced, u64::from(span.last_step) <= step, true);
        }
    }

    /// A request leaves the batch.
    pub fn left(&mut self, id: u32, trace: &Trace) {
        let client = self.client_of(trace, id);
        if self.keeps_batch() {
            self.batch.retain(|item| item.id != id);
        }
        if !self.is_itemised() {
            self.accounts.left(client);
        }
    }

    /// What a request of a batch is charged when a request of it ends, perhaps itself.
    fn charge_at_end(&mut self, item: Item, trace: &Trace, produced: f64, has_ended: bool, any: bool) {
        let charged = match self.rule.charging {
            Charging::Slora => false,
            Charging::Ideal => has_ended,
            Charging::Artifact => any,
        };
        if charged {
            self.charge_token(item, trace, produced);
        }
        if has_ended {
            self.settle(item, trace, produced);
        }
    }

    /// Charges the `produced`-th token of a request, unless it was charged ahead.
    fn charge_token(&mut self, item: Item, trace: &Trace, produced: f64) {
        if self.rule.prediction != Prediction::None && produced <= item.predicted {
            return;
        }
        let input = f64::from(trace.input_tokens[item.id as usize]);
        let amount = self.tariff.token(item.client, input, produced);
        self.accounts.add(item.client, amount);
    }

    /// Gives back what was charged ahead and not produced, and learns from the length.
    fn settle(&mut self, item: Item, trace: &Trace, produced: f64) {
        if self.rule.prediction == Prediction::None {
            return;
        }
        if produced < item.predicted {
            let input = f64::from(trace.input_tokens[item.id as usize]);
            let amount = self.tariff.output(item.client, input, item.predicted, produced);
            self.accounts.add(item.client, amount);
            // The counter fell: an entry of the heap must not be ahead of it.
            if !self.queues[item.client as usize].waiting.is_empty() {
                self.line_up(item.client);
            }
        }
        if self.rule.prediction == Prediction::History {
            let mean = &mut self.queues[item.client as usize].predicted;
            *mean = updated_mean(*mean, produced);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use servescope_workload::BASE_MODEL;
    use servescope_workload::trace::Request;

    /// A trace in which request i is sent by user `users[i]`.
    fn sent_by(users: &[u32]) -> Trace {
        let mut trace = Trace::default();
        for &user in users {
            trace.push(Request {
                arrival_us: 0.0,
                user,
                adapter: BASE_MODEL,
                input_tokens: 10,
                output_tokens: 10,
                max_tokens: 10,
            });
        }
        trace
    }

    proptest! {
        #[test]
        fn the_first_is_the_least_whatever_counters_do(
            users in prop::collection::vec(0u32..6, 1..60),
            moves in prop::collection::vec((0u32..6, -20.0..30f64, any::<bool>(), any::<bool>()), 1..120),
        ) {
            let trace = sent_by(&users);
            let rule = Fair { prediction: Prediction::History, ..Fair::default() };
            let mut line = FairLine::new(rule, Client::User, Vec::new(), &trace);
            let mut next = 0;
            for (user, amount, arrives, serves) in moves {
                if arrives && next < users.len() {
                    line.arrive(next as u32, &trace);
                    next += 1;
                }
                if (user as usize) < line.queues.len() {
                    line.accounts.add(user, amount);
                    if !line.queues[user as usize].waiting.is_empty() {
                        line.line_up(user);
                    }
                }
                let waits = |c: &u32| !line.queues[*c as usize].waiting.is_empty();
                let waiting: Vec<u32> = line.seen.iter().copied().filter(waits).collect();
                let values: Vec<(f64, u32)> =
                    waiting.into_iter().map(|c| (line.accounts.value(c), c)).collect();
                let by_scan = values.iter().copied().reduce(|a, b| if b.0 < a.0 { b } else { a });
                let first = line.first();
                prop_assert_eq!(first, by_scan.map(|(_, client)| client));
                if let (true, Some(client)) = (serves, first) {
                    line.queues[client as usize].waiting.pop_front();
                }
            }
        }
    }
}
