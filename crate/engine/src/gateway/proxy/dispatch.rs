//! The dispatcher: which waiting request goes to the engine, and what holds the others back.

use crate::client::ClientId;
use servescope_workload::{RequestId, Trace};

use super::super::config::Check;
use super::super::load::{LoadPolicy, LoadState};
use super::super::log::GatewayHoldReason;
use super::{GatewayOutcome, KvUsageProbe, Place, Proxy, QueuedNote, after};
use crate::record::decisions::{Compared, Verdict};
use crate::request::Rejection;

/// What becomes of the head of the queue.
#[derive(Debug, Clone, Copy)]
enum DispatchDecision {
    Goes,
    /// Its client has to wait, others may pass.
    Parks(GatewayHoldReason, f64),
    /// Every request has to wait.
    Stops(GatewayHoldReason),
    /// It would wait for ever.
    Never(Rejection),
}

impl Proxy {
    /// Lets requests through, until the first by the scheduling policy has to wait.
    pub(super) fn dispatch(&mut self, trace: &Trace, at_us: f64, probe: &dyn KvUsageProbe) {
        self.wake_us = f64::INFINITY;
        while self.waiting > 0
            && let Some((client, id)) = self.queue.head()
        {
            if !self.waits(id) {
                self.queue.skip(client);
                continue;
            }
            self.is_seen(trace, at_us);
            match self.decision(trace, client, id, at_us, probe) {
                DispatchDecision::Goes => self.forward(trace, client, id, at_us),
                DispatchDecision::Parks(held, until_us) => {
                    self.log.passages[id].held = held;
                    self.decided(at_us, id, Verdict::Skipped, Compared::without_numbers(held.test()));
                    if held != GatewayHoldReason::FairShare {
                        self.waits.hold_back(client, at_us);
                    }
                    self.queue.throttle(client, until_us.max(after(at_us)));
                }
                DispatchDecision::Stops(held) => {
                    self.log.passages[id].held = held;
                    let compared = self.compared_by(trace, id, held);
                    self.decided(at_us, id, Verdict::Waits, compared);
                    return;
                }
                DispatchDecision::Never(reason) => {
                    self.leave_queue(trace, id, at_us);
                    self.end_attempt(trace, id, Some(reason), at_us, None);
                }
            }
        }
    }

    /// What a check compared that stops every request.
    fn compared_by(&self, trace: &Trace, id: RequestId, held: GatewayHoldReason) -> Compared {
        match held {
            GatewayHoldReason::By(Check::Kv) => {
                let predicted = self.log.passages[id].predicted_tokens;
                let need = trace.input_tokens[id].saturating_add(predicted);
                Compared::new(held.test(), need, self.room_tokens().max(0.0) as u32)
            }
            GatewayHoldReason::By(Check::Concurrency) => {
                let taken = self.slots_taken() as u32;
                Compared::new(held.test(), taken.saturating_add(1), self.config.concurrency)
            }
            _ => Compared::without_numbers(held.test()),
        }
    }

    fn decision(
        &mut self,
        trace: &Trace,
        client: ClientId,
        id: RequestId,
        at_us: f64,
        probe: &dyn KvUsageProbe,
    ) -> DispatchDecision {
        let shares = self.load.state() == LoadState::Over
            && self.config.load.policy == LoadPolicy::FairShare
            && !self.reservations.open().is_empty()
            && self.client_loads.is_over_share(client);
        let tokens = [trace.input_tokens[id], self.log.passages[id].predicted_tokens];
        for k in 0..self.config.checks.len() {
            let check = self.config.checks[k];
            if let Some(decision) = self.own_limit(check, client, tokens, at_us) {
                return decision;
            }
            // A client that has more than its share has to wait for no room.
            match check {
                Check::Concurrency if !shares && self.stops_concurrency() => {
                    return DispatchDecision::Stops(GatewayHoldReason::By(check));
                }
                Check::Kv if !shares && !self.fits(tokens[0].saturating_add(tokens[1]), at_us, probe) => {
                    return DispatchDecision::Stops(GatewayHoldReason::By(check));
                }
                _ => {}
            }
        }
        if shares {
            DispatchDecision::Parks(GatewayHoldReason::FairShare, self.next_sample_us)
        } else {
            DispatchDecision::Goes
        }
    }

    /// What a check says of a client's own quota or concurrency, if it does not let its request pass.
    fn own_limit(
        &mut self,
        check: Check,
        client: ClientId,
        tokens: [u32; 2],
        at_us: f64,
    ) -> Option<DispatchDecision> {
        let held = GatewayHoldReason::By(check);
        let (allowed, reason) = match check {
            Check::Rpm => (self.limiter.on_dispatch_rpm(client, at_us), Rejection::RateLimit),
            Check::Tpm => {
                (self.limiter.on_dispatch_tpm(client, tokens, self.pressure(), at_us), Rejection::TokenQuota)
            }
            Check::Concurrency if self.client_is_busy(client) => {
                return Some(DispatchDecision::Parks(held, f64::INFINITY));
            }
            _ => return None,
        };
        match allowed {
            Ok(()) => None,
            Err(Some(until_us)) => Some(DispatchDecision::Parks(held, until_us)),
            Err(None) => Some(DispatchDecision::Never(reason)),
        }
    }

    fn forward(&mut self, trace: &Trace, client: ClientId, id: RequestId, at_us: f64) {
        let i = id.index();
        let (input, predicted) = (trace.input_tokens[i], self.log.passages[i].predicted_tokens);
        let charged_output = if self.config.queue_policy.charges_ahead() { predicted } else { 0 };
        let [prompt, output] = [input, charged_output].map(f64::from);
        self.queue.charge(client, self.queue.token_costs().prompt(client, prompt, output));
        self.queue.pop(client);
        self.waiting -= 1;
        self.waiting_tokens -= u64::from(input) + u64::from(predicted);
        self.waits.is_let_through(client, input);
        self.place[i] = Place::AtEngine;
        self.log.forwarded_us[i] = at_us;
        let paid = self.limiter.pay(client, [input, predicted], at_us);
        let paid = self.paid_early.get(i).copied().unwrap_or(paid);
        self.client_loads.enters_engine(client, f64::from(input) + f64::from(predicted), at_us);
        let note = QueuedNote {
            client,
            predicted_output: predicted,
            charged_output,
            first_token_us: f64::NAN,
            paid,
        };
        self.reservations.admit(id, input.saturating_add(predicted), note, at_us);
        self.decided(at_us, id, Verdict::Forwarded, Compared::NOTHING);
        self.outcomes.push_back((GatewayOutcome::Forward(id), at_us));
    }
}
