//! Which requests wait at the gateway for the engine, since when, and which are held back by a limit of their client.
//!
//! A client over its quota, or with as many requests at the engine as it may have, is held back: that its requests wait says
//! nothing about the engine, and no other request waits behind them. Such waits are no sign of overload, and such prompts are not
//! ahead of any other client's ([`super::estimate`]). A wait for the engine begins when a request comes in, or when its client is
//! held back no longer. Each change costs O(log clients).

use crate::client::ClientId;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use servescope_workload::RequestId;

use super::estimate::Estimator;

/// What of a client waits.
#[derive(Debug, Clone, Default)]
struct WaitingClient {
    is_held_back: bool,
    /// When it was held back last, up to when.
    free_since_us: f64,
    /// Whether the heap has an entry of it.
    is_listed: bool,
    /// Prompt tokens that wait.
    tokens: u64,
    /// (when the attempt came in, request) in order of time, and some that wait no more.
    asked: VecDeque<(f64, RequestId)>,
}

/// The waiting requests of all clients.
#[derive(Debug, Clone)]
pub(super) struct Waits {
    clients: Vec<WaitingClient>,
    /// (start of the wait as bits, client). An entry that is out of date is never later than the true start.
    since: BinaryHeap<Reverse<(u64, ClientId)>>,
    /// Of the prompts that wait for the engine.
    estimator: Estimator,
    /// Of all prompts, from when a client was held back for the first time: what a client that is held back has before it.
    with_held: Option<Box<Estimator>>,
}

impl Waits {
    pub(super) fn new(clients: usize, estimate_over_us: f64) -> Self {
        Self {
            clients: vec![WaitingClient::default(); clients],
            since: BinaryHeap::new(),
            estimator: Estimator::new(estimate_over_us),
            with_held: None,
        }
    }

    /// Estimated time to first token of a client's prompt that comes now, microseconds.
    pub(super) fn ttft_us(&self, client: ClientId, input_tokens: u32) -> Option<f64> {
        let estimator = match &self.with_held {
            Some(all) if self.clients[client].is_held_back => all,
            _ => &self.estimator,
        };
        estimator.ttft_us(input_tokens)
    }

    /// The same for a client that is not held back.
    pub(super) fn ttft_of_free_us(&self) -> Option<f64> {
        self.estimator.ttft_us(0)
    }

    /// Mean time between two tokens lately, microseconds; 0 = none was seen.
    pub(super) fn step_us(&self) -> f64 {
        self.estimator.step_us()
    }

    /// The estimators of all prompts and, if `counts`, of those that wait for the engine.
    fn tell(&mut self, counts: bool, tell: impl Fn(&mut Estimator)) {
        if let Some(all) = &mut self.with_held {
            tell(all);
        }
        if counts {
            tell(&mut self.estimator);
        }
    }

    /// A prompt begins to wait.
    pub(super) fn arrives(&mut self, client: ClientId, input_tokens: u32, now_us: f64) {
        let own = &mut self.clients[client];
        own.tokens += u64::from(input_tokens);
        let counts = !own.is_held_back;
        self.tell(counts, |estimator| estimator.arrives(u64::from(input_tokens), now_us));
    }

    /// It was not let through at once.
    pub(super) fn stays(&mut self, client: ClientId, id: RequestId, now_us: f64) {
        self.clients[client].asked.push_back((now_us, id));
        self.list(client);
    }

    /// It waits no more because it was let through: for its first token it waits on.
    pub(super) fn is_let_through(&mut self, client: ClientId, input_tokens: u32) {
        self.clients[client].tokens -= u64::from(input_tokens);
    }

    /// It waits no more because its client gave it up.
    pub(super) fn leaves(&mut self, client: ClientId, input_tokens: u32, now_us: f64) {
        let own = &mut self.clients[client];
        own.tokens -= u64::from(input_tokens);
        let counts = !own.is_held_back;
        self.tell(counts, |estimator| estimator.on_dequeue(input_tokens, now_us));
    }

    /// A prompt at the engine has its first token.
    pub(super) fn first_token(&mut self, input_tokens: u32, now_us: f64) {
        self.tell(true, |estimator| estimator.first_token(input_tokens, now_us));
    }

    /// A prompt at the engine will never have one.
    pub(super) fn on_dequeue(&mut self, input_tokens: u32, now_us: f64) {
        self.tell(true, |estimator| estimator.on_dequeue(input_tokens, now_us));
    }

    /// A request ended whose tokens came so far apart.
    pub(super) fn step(&mut self, gap_us: f64) {
        self.tell(true, |estimator| estimator.step(gap_us));
    }

    /// A limit of its own holds a client back.
    pub(super) fn hold_back(&mut self, client: ClientId, now_us: f64) {
        if self.with_held.is_none() {
            self.with_held = Some(Box::new(self.estimator.clone()));
        }
        let own = &mut self.clients[client];
        if !own.is_held_back {
            own.is_held_back = true;
            self.estimator.sets_aside(own.tokens, now_us);
        }
    }

    /// It does so no longer, or may do so no longer.
    pub(super) fn release(&mut self, client: ClientId, now_us: f64) {
        let own = &mut self.clients[client];
        if own.is_held_back {
            (own.is_held_back, own.free_since_us) = (false, now_us);
            self.estimator.arrives(own.tokens, now_us);
            self.list(client);
        }
    }

    /// Sees to it that a client that waits for the engine has an entry.
    fn list(&mut self, client: ClientId) {
        let own = &mut self.clients[client];
        if let Some(&(asked_us, _)) = own.asked.front()
            && !own.is_listed
            && !own.is_held_back
        {
            own.is_listed = true;
            self.since.push(Reverse((asked_us.max(own.free_since_us).to_bits(), client)));
        }
    }

    /// How long the request waits for the engine that has waited longest for it, microseconds; 0 = none does. `waits` says
    /// whether an attempt of that time still waits.
    pub(super) fn longest_us(&mut self, now_us: f64, waits: impl Fn(f64, RequestId) -> bool) -> f64 {
        while let Some(&Reverse((bits, client))) = self.since.peek() {
            let own = &mut self.clients[client];
            while own.asked.front().is_some_and(|&(asked_us, id)| !waits(asked_us, id)) {
                own.asked.pop_front();
            }
            let since_us = own.asked.front().map(|asked| asked.0.max(own.free_since_us));
            match since_us.filter(|_| !own.is_held_back) {
                Some(since_us) if since_us.to_bits() == bits => return now_us - since_us,
                since_us => {
                    self.since.pop();
                    own.is_listed = since_us.is_some();
                    self.since.extend(since_us.map(|since_us| Reverse((since_us.to_bits(), client))));
                }
            }
        }
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CLIENTS: u32 = 3;

    proptest! {
        /// Against a list of all requests, each with the time since which it waits for the engine.
        #[test]
        fn the_longest_wait_is_that_of_a_client_within_its_limits(
            moves in prop::collection::vec((0u32..6, 0..CLIENTS, 0u32..1_000), 1..200),
        ) {
            let mut waits = Waits::new(CLIENTS as usize, 30e6);
            let mut held = [false; CLIENTS as usize];
            // (asked, since when it waits for the engine, request, client, tokens)
            let mut model: Vec<(f64, f64, RequestId, ClientId, u32)> = Vec::new();
            let (mut now, mut next, mut engine_tokens) = (0.0, 0u32, 0.0);
            for (what, client, gap) in moves {
                let client = ClientId::new(client);
                now += f64::from(gap);
                match what {
                    0 | 1 => {
                        waits.arrives(client, gap, now);
                        let id = RequestId::new(next); waits.stays(client, id, now);
                        model.push((now, now, id, client, gap));
                        next += 1;
                    }
                    2 => if let Some(place) = model.iter().position(|t| t.3 == client) {
                        let gone = model.remove(place);
                        waits.leaves(client, gone.4, now);
                    },
                    3 => if let Some(place) = model.iter().position(|t| t.3 == client && !held[client]) {
                        let through = model.remove(place);
                        waits.is_let_through(client, through.4);
                        engine_tokens += f64::from(through.4);
                    },
                    4 => {
                        waits.hold_back(client, now);
                        held[client] = true;
                    }
                    _ => {
                        waits.release(client, now);
                        if std::mem::take(&mut held[client]) {
                            model.iter_mut().filter(|t| t.3 == client).for_each(|t| t.1 = now);
                        }
                    }
                }
                let free = || model.iter().filter(|t| !held[t.3]);
                let longest = free().map(|t| now - t.1).fold(0.0, f64::max);
                let is_there = |at: f64, id: RequestId| model.iter().any(|t| t.2 == id && t.0 == at);
                prop_assert_eq!(waits.longest_us(now, is_there), longest);
                let ahead = free().map(|t| f64::from(t.4)).sum::<f64>() + engine_tokens;
                prop_assert_eq!(waits.estimator.backlog() as f64, ahead);
                let all = model.iter().map(|t| f64::from(t.4)).sum::<f64>() + engine_tokens;
                if let Some(with_held) = &waits.with_held {
                    prop_assert_eq!(with_held.backlog() as f64, all);
                }
            }
        }
    }
}
