//! What the proxy sees of the engine, and when it looks: the room in KV memory for the next request, and the load.

use servescope_workload::{RequestId, Trace};

use super::super::load::{LoadSignals, LoadState};
use super::super::log::Sample;
use super::{EngineSnapshot, KvUsageProbe, Place, Proxy, after};

/// Where no request asks for it the usage is looked at so often, microseconds.
const LOOK_EVERY_US: f64 = 2e6;

/// Pressure below which a quiet service need not be looked at.
const CALM: f64 = 1e-3;

impl Proxy {
    /// Whether free - headroom - reserved >= predicted. An engine that no request uses takes any request, unless reservations
    /// that no request has stand in the way.
    pub(super) fn fits(&mut self, predicted_tokens: u32, at_us: f64, probe: &dyn KvUsageProbe) -> bool {
        if self.reservations.open().is_empty() && self.reservations.leaked() == 0 {
            return true;
        }
        if at_us - self.view.at_us >= self.config.kv.lag_us {
            self.look(at_us, probe);
        }
        let fits = self.room_tokens() >= f64::from(predicted_tokens);
        if !fits && self.view.is_stale {
            // The old look hides what has become free.
            let fresh_us = self.view.at_us + self.config.kv.lag_us;
            self.wake_us = self.tick(fresh_us.max(after(at_us)));
        }
        fits
    }

    /// Tokens of the pool that were free at the last look, less the headroom and what is reserved.
    pub(super) fn room_tokens(&self) -> f64 {
        let free = self.config.pool_tokens - self.view.used_tokens;
        free - self.config.kv.headroom_tokens - self.reservations.reserved() as f64
    }

    /// Looks at the engine's usage: reservations shrink by what appeared, and counters grow by it.
    fn look(&mut self, at_us: f64, probe: &dyn KvUsageProbe) {
        #[cfg(test)]
        self.note_what_is_seen(at_us, probe);
        self.view = EngineSnapshot { at_us, used_tokens: probe.used_tokens(at_us), is_stale: false };
        self.held.clear();
        probe.held_tokens(self.reservations.watched(), at_us, &mut self.held);
        let queue = &mut self.queue;
        // The order of the queue matters where several wait; what is not charged now is charged at a request's end.
        let counts = self.waiting > 1 && queue.keeps_counters();
        self.reservations.look(at_us, &self.held, |entry, note, held| {
            if !counts {
                return;
            }
            let input = entry.predicted.saturating_sub(note.predicted_output);
            let output = held.saturating_sub(input);
            if output > note.charged_output {
                let [input, from, to] = [input, note.charged_output, output].map(f64::from);
                queue.charge(note.client, queue.token_costs().output(note.client, input, from, to));
                note.charged_output = output;
            }
        });
        #[cfg(test)]
        self.compare_with_all();
    }

    /// The first look at the load after a time.
    pub(super) fn next_look(&self, at_us: f64) -> f64 {
        ((at_us / self.load_every_us).floor() + 1.0) * self.load_every_us
    }

    /// Looks at the load, and lets requests through where that changes it.
    pub(super) fn sample(&mut self, trace: &Trace, at_us: f64, probe: &dyn KvUsageProbe) {
        if at_us - self.view.at_us >= LOOK_EVERY_US {
            self.look(at_us, probe);
        }
        #[cfg(test)]
        self.explain(trace);
        let at_engine = self.reservations.open().len() as u32;
        let (place, passages) = (&self.place, &self.log.passages);
        let waits =
            |asked_us: f64, id: RequestId| place[id] == Place::Queued && passages[id].asked_us == asked_us;
        let signals = LoadSignals {
            kv_share: probe.used_tokens(at_us) / self.config.pool_tokens,
            wait_us: self.waits.longest_us(at_us, waits),
            step_us: if at_engine > 0 { self.waits.step_us() } else { 0.0 },
        };
        let changes = self.load.sample(signals, at_us);
        if changes {
            self.log.states.push((at_us, self.load.state()));
        }
        self.log.samples.add(Sample {
            at_us,
            used_tokens: self.view.used_tokens,
            reserved_tokens: self.reservations.reserved() as f64,
            leaked_tokens: self.reservations.leaked() as f64,
            waiting: self.waiting,
            at_engine,
            pressure: self.load.pressure(),
            attempts: self.attempts,
            refusals: self.refused,
            estimate_us: self.waits.ttft_of_free_us().unwrap_or(f64::NAN),
        });
        self.next_sample_us = at_us + self.load_every_us;
        if changes {
            let waits = &mut self.waits;
            self.queue.unthrottle_all(|client| waits.release(client, at_us));
            self.dispatch(trace, at_us, probe);
        }
        if self.reservations.open().is_empty() {
            // Only a request that comes or waits can change anything, or time itself until the pressure is gone.
            let is_calm = self.load.state() == LoadState::Under && self.load.pressure() < CALM;
            let due_us = self.find_due_us();
            if is_calm || self.waiting > 0 {
                self.next_sample_us = self.next_look(due_us).max(self.next_sample_us);
            }
        }
    }
}
