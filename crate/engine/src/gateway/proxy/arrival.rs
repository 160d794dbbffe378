//! An attempt of a request at the gateway: the chain of checks, then the waiting queue or a rejection.

use crate::client::ClientId;
use std::cmp::Reverse;

use servescope_workload::{RequestId, Trace};

use super::super::charge::QuotaCharge;
use super::super::config::{Check, Timeout};
use super::super::load::{LoadPolicy, LoadState};
use super::super::log::GatewayHoldReason;
use super::{KvUsageProbe, Place, Proxy};
use crate::request::Rejection;

impl Proxy {
    /// An attempt comes in.
    pub(crate) fn submit_attempt(
        &mut self,
        trace: &Trace,
        id: RequestId,
        at_us: f64,
        probe: &dyn KvUsageProbe,
    ) {
        let i = id.index();
        if self.place[i] == Place::Gone {
            return;
        }
        self.due_us = f64::NAN;
        self.record.advance_to(trace, at_us, &mut self.reservations, &mut self.queue);
        self.is_seen(trace, at_us);
        let client = self.config.client.of(trace, id, self.clients);
        let input = trace.input_tokens[i];
        let predicted = self.lengths.predict(trace, id, client);
        let estimate = self.waits.ttft_us(client, input);
        let passage = &mut self.log.passages[i];
        passage.attempts = passage.attempts.saturating_add(1);
        passage.asked_us = at_us;
        passage.predicted_tokens = predicted;
        passage.estimate_us = estimate.map_or(f32::NAN, |us| us as f32);
        passage.held = GatewayHoldReason::Nothing;
        self.attempts += 1;
        self.next_sample_us = self.next_sample_us.min(self.next_look(at_us));
        let mut paid = QuotaCharge::default();
        if let Err((reason, wait_us)) =
            self.run_checks(client, [input, predicted], estimate, &mut paid, at_us)
        {
            return self.end_attempt(trace, id, Some(reason), at_us, wait_us);
        }
        if let Some(early) = self.paid_early.get_mut(i) {
            *early = paid;
        }
        self.place[i] = Place::Queued;
        self.waiting += 1;
        self.waiting_tokens += u64::from(input) + u64::from(predicted);
        self.client_loads.waits(client);
        self.waits.arrives(client, input, at_us);
        self.queue.push(id, client, f64::from(predicted), at_us);
        self.dispatch(trace, at_us, probe);
        if self.waits(id) {
            self.waits.stays(client, id, at_us);
            self.has_to_wait(id, estimate, at_us);
        }
    }

    /// A request was not let through when it came.
    fn has_to_wait(&mut self, id: RequestId, estimate_us: Option<f64>, at_us: f64) {
        let passage = &mut self.log.passages[id];
        if passage.held == GatewayHoldReason::Nothing {
            passage.held = GatewayHoldReason::Behind;
        }
        let timeout_us = match self.config.timeout {
            Timeout::Fixed(us) => us,
            Timeout::Estimated { times, most_us } => {
                estimate_us.map_or(most_us, |us| (times * us).min(most_us))
            }
        };
        if timeout_us < f64::INFINITY {
            self.deadlines.push(Reverse(((at_us + timeout_us).to_bits(), id, passage.attempts)));
        }
    }

    /// The checks that are made when a request comes in, in the order of the chain. What the earlier ones charged stays
    /// charged when a later one refuses.
    fn run_checks(
        &mut self,
        client: ClientId,
        [input, predicted]: [u32; 2],
        estimate_us: Option<f64>,
        paid: &mut QuotaCharge,
        at_us: f64,
    ) -> Result<(), (Rejection, Option<f64>)> {
        if self.load.state() == LoadState::Over && self.config.load.policy == LoadPolicy::Shed {
            return Err((Rejection::Overload, None));
        }
        let cost = [input, predicted];
        for k in 0..self.config.checks.len() {
            match self.config.checks[k] {
                Check::Rpm => self.limiter.on_arrival_rpm(client, at_us)?,
                Check::Tpm => {
                    self.limiter.on_arrival_tpm(client, cost, self.pressure(), paid, at_us)?;
                }
                Check::Concurrency if self.config.quotas.refuses => {
                    if self.stops_concurrency() || self.client_is_busy(client) {
                        return Err((Rejection::Concurrency, None));
                    }
                }
                Check::Queue => {
                    let tokens = self.waiting_tokens as f64 + f64::from(input) + f64::from(predicted);
                    let is_full = self.waiting >= self.config.queue_requests
                        || (self.waiting > 0 && tokens > self.config.queue_tokens);
                    if is_full {
                        return Err((Rejection::QueueFull, None));
                    }
                }
                Check::Ttft if estimate_us.is_some_and(|us| us > self.config.ttft_bound_us) => {
                    return Err((Rejection::LateFirstToken, None));
                }
                Check::Concurrency | Check::Kv | Check::Ttft => {}
            }
        }
        Ok(())
    }

    /// How near the engine is to overload; one without requests is not.
    pub(super) fn pressure(&self) -> f64 {
        if self.reservations.open().is_empty() { 0.0 } else { self.load.pressure() }
    }

    pub(super) fn stops_concurrency(&self) -> bool {
        self.slots_taken() >= u64::from(self.config.concurrency)
    }

    /// Places at the engine that are taken: by requests there, and by those that ended and kept theirs.
    pub(super) fn slots_taken(&self) -> u64 {
        self.reservations.open().len() as u64 + u64::from(self.leaked_slots)
    }

    pub(super) fn client_is_busy(&self, client: ClientId) -> bool {
        self.client_loads.slots_taken(client) >= self.config.client_concurrency
    }
}
