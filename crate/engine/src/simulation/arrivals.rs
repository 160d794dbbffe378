//! Who comes to the engine, and who gives up before it is served: arrivals, cancellations and timeouts in order of time.

use std::sync::Arc;

use servescope_cost::IterationCost;
use servescope_workload::Trace;

use super::Simulation;
use super::sight::engine;
use crate::gateway::proxy::Given;
use crate::gateway::{self, Refusal};
use crate::observer::{Event, Observer};
use crate::report::Outcome;

impl<C: IterationCost> Simulation<C> {
    /// Sees arrivals, cancellations and timeouts up to now, in order of time: each may let a held request go.
    pub(super) fn deliver(&mut self, observer: &mut impl Observer) {
        let trace = Arc::clone(&self.trace);
        if self.next_cancellation == trace.cancellations.len() && self.config.patience_us == f64::INFINITY {
            while self.take_next(&trace, self.now_us, observer) {}
            return;
        }
        loop {
            let now = self.now_us;
            let cancellation =
                trace.cancellations.get(self.next_cancellation).filter(|c| c.0 <= now).copied();
            let deadline = self.deadline_us().filter(|&at| at <= now);
            let cancelled_us = cancellation.map_or(now, |c| c.0);
            let before = deadline.map_or(cancelled_us, |at| at.min(cancelled_us));
            if self.take_next(&trace, before, observer) {
                continue;
            }
            if let Some((at_us, id)) = cancellation.filter(|c| c.0 <= before) {
                self.next_cancellation += 1;
                self.cancel(id, at_us, observer);
            } else if let Some(at_us) = deadline {
                self.time_out(at_us, observer);
            } else {
                break;
            }
        }
    }

    /// Takes the next that comes in up to `until_us`, and says whether there was one.
    #[inline]
    fn take_next(&mut self, trace: &Trace, until_us: f64, observer: &mut impl Observer) -> bool {
        let engine = engine!(self, trace);
        let Some((given, at_us)) = self.intake.next_until(trace, until_us, &engine) else { return false };
        match given {
            Given::Forward(id) => self.arrive(trace, id, at_us, observer),
            Given::Refused(id, reason) => {
                self.fates[id as usize].outcome = Outcome::Refused(reason);
                self.timeline.departs(at_us, id);
                observer.see(|| Event::Refused(id));
            }
            Given::TimedOut(id) => {
                self.fates[id as usize].outcome = Outcome::TimedOut;
                self.timeline.departs(at_us, id);
                observer.see(|| Event::TimedOut(id));
            }
        }
        true
    }

    /// A request comes in: it is refused, or joins the line.
    fn arrive(&mut self, trace: &Trace, id: u32, at_us: f64, observer: &mut impl Observer) {
        let i = id as usize;
        let gone = self.fates[i].outcome == Outcome::Cancelled;
        let refusal =
            gateway::refusal(&self.config, trace.input_tokens[i], trace.max_tokens[i], trace.rank(i));
        if let Some(reason) = refusal {
            self.fates[i].outcome = Outcome::Refused(reason);
            observer.see(|| Event::Refused(id));
        } else {
            self.wait(id, at_us, observer);
        }
        if gone || matches!(self.fates[i].outcome, Outcome::Refused(_)) {
            self.intake.ended(trace, id, at_us, 0, false);
        }
    }

    /// A request that was let in joins the waiting line, unless too many are there or the order of service refuses it.
    fn wait(&mut self, id: u32, at_us: f64, observer: &mut impl Observer) {
        observer.see(|| Event::Arrived(id));
        let admitted = if self.waiting + self.running.count >= self.config.max_in_system {
            Err(Refusal::Concurrency)
        } else {
            self.line.arrive(id, at_us, &self.trace)
        };
        if let Err(reason) = admitted {
            self.fates[id as usize].outcome = Outcome::Refused(reason);
            observer.see(|| Event::Rejected(id));
            return;
        }
        // A client may go away before its request is there.
        self.waiting += u32::from(self.fates[id as usize].outcome == Outcome::Unfinished);
        if self.config.patience_us < f64::INFINITY {
            self.deadlines.push_back((at_us + self.config.patience_us, id));
        }
        if self.line.heeds_arrivals() {
            self.retry_step = 0;
        }
    }

    /// When the next request will have waited too long.
    #[inline]
    pub(super) fn deadline_us(&mut self) -> Option<f64> {
        while let Some(&(at_us, id)) = self.deadlines.front() {
            let i = id as usize;
            if self.served.scheduled_us[i].is_nan() && self.fates[i].outcome == Outcome::Unfinished {
                return Some(at_us);
            }
            self.deadlines.pop_front();
        }
        None
    }

    /// The request with the next deadline is given up: it leaves the line when the queue is next scanned.
    fn time_out(&mut self, at_us: f64, observer: &mut impl Observer) {
        let Some((_, id)) = self.deadlines.pop_front() else { return };
        observer.see(|| Event::TimedOut(id));
        self.fates[id as usize].outcome = Outcome::TimedOut;
        self.timeline.departs(at_us, id);
        self.waiting -= 1;
        self.retry_step = 0;
        self.intake.ended(&self.trace, id, at_us, 0, false);
    }

    /// A client goes away: its request leaves the line when the queue is next scanned, or the batch after one more token.
    fn cancel(&mut self, id: u32, at_us: f64, observer: &mut impl Observer) {
        observer.see(|| Event::Cancelled(id));
        let fate = &mut self.fates[id as usize];
        if fate.outcome != Outcome::Unfinished {
            return;
        }
        fate.outcome = Outcome::Cancelled;
        if self.served.scheduled_us[id as usize].is_nan() {
            let is_outside = self.intake.gave_up(&self.trace, id, at_us);
            self.waiting -= u32::from(!is_outside);
            self.retry_step = 0;
        } else {
            let span = &mut self.spans[id as usize];
            let last_step = self.step + 1;
            if last_step < span.last_step {
                span.last_step = last_step;
                self.running.ends_at(last_step, span.joined, id);
            }
        }
    }
}
