//! What the engine reports of a request: its first token, its end, and what both change in loads, reservations and estimates.

use crate::client::ClientId;
use servescope_workload::{RequestId, Trace};

use super::{EngineEvent, Place, Proxy};
use crate::replica::queue::OutputAccounting;

impl Proxy {
    /// The engine reported something; says whether the dispatcher should look.
    pub(super) fn on_engine_event(
        &mut self,
        trace: &Trace,
        id: RequestId,
        event: EngineEvent,
        at_us: f64,
    ) -> bool {
        let i = id.index();
        match event {
            EngineEvent::FirstToken => {
                let Some(note) = self.reservations.note_mut(id) else { return false };
                if note.first_token_us.is_nan() {
                    note.first_token_us = at_us;
                    self.waits.first_token(trace.input_tokens[i], at_us);
                }
                false
            }
            EngineEvent::Ended { produced, completed } => {
                let Some(ended) = self.reservations.release(id, at_us) else { return false };
                self.record.end(trace, id, &ended, at_us);
                let note = ended.note;
                self.place[i] = Place::Gone;
                self.view.is_stale = true;
                if note.first_token_us.is_nan() {
                    self.waits.on_dequeue(trace.input_tokens[i], at_us);
                } else if produced > 1 {
                    self.waits.step((at_us - note.first_token_us) / f64::from(produced - 1));
                }
                if completed {
                    self.lengths.learn(note.client, produced);
                }
                let [input, from, to] = [trace.input_tokens[i], note.charged_output, produced].map(f64::from);
                self.queue.charge(note.client, self.queue.token_costs().output(note.client, input, from, to));
                if self.config.queue_policy.accounting() == OutputAccounting::Artifact {
                    self.charge_again(trace, note.client, input, produced);
                }
                self.limiter.settle(note.client, &note.paid, [trace.input_tokens[i], produced], at_us);
                self.client_loads.leaves_engine(note.client);
                self.ended += 1;
                if self.config.slot_leak_in_effect() * self.ended as f64 >= f64::from(self.leaked_slots) + 1.0
                {
                    self.leaked_slots += 1;
                    self.client_loads.leaks_slot(note.client);
                }
                self.queue.unthrottle(note.client);
                self.waits.release(note.client, at_us);
                true
            }
        }
    }

    /// VTC's artifact: when a request has ended, it and every other one that makes tokens is charged one more. Of one whose
    /// output was not seen yet that is its first.
    fn charge_again(&mut self, trace: &Trace, client: ClientId, input: f64, produced: u32) {
        let queue = &mut self.queue;
        if produced > 0 {
            queue.charge(client, queue.token_costs().token(client, input, f64::from(produced)));
        }
        for (entry, note) in self.reservations.noted().filter(|(_, note)| !note.first_token_us.is_nan()) {
            let input = f64::from(trace.input_tokens[entry.id]);
            let nth = f64::from(note.charged_output.max(1));
            queue.charge(note.client, queue.token_costs().token(note.client, input, nth));
        }
    }
}
