//! What the proxy keeps over time: its queue's counters, and what is reserved for whom.

use servescope_workload::{RequestId, Trace};

use super::config::{Check, GatewayConfig};
use super::reservations::{Ended, KvReservations};
use super::reserved::{Recorder, ReservationTimeline};
use crate::record::sampler::{CounterSample, Sampler};
use crate::replica::queue::client_queue::ClientQueue;

/// What is kept so far.
#[derive(Debug, Clone)]
pub(super) struct ReservationRecorder {
    /// When the next is to be kept, and the last time that was reached, microseconds.
    due_us: f64,
    now_us: f64,
    counters: Sampler,
    /// `None` where KV memory is not checked.
    reserved: Option<Box<Recorder>>,
    leaks: bool,
}

impl ReservationRecorder {
    pub(super) fn new(config: &GatewayConfig, trace: &Trace, queue: &ClientQueue) -> Self {
        let lasts_us = trace.arrival_us.last().copied().unwrap_or(0.0);
        let keeps = queue.keeps_counters();
        let checks = config.checks.contains(&Check::Kv);
        Self {
            due_us: 0.0,
            now_us: 0.0,
            counters: if keeps {
                Sampler::of(config.client.count(trace), lasts_us)
            } else {
                Sampler::default()
            },
            reserved: checks.then(|| Box::new(Recorder::new(trace, lasts_us))),
            leaks: config.kv.leaks,
        }
    }

    /// It is `at_us` now and nothing has happened at that time.
    #[inline]
    pub(super) fn advance_to<T>(
        &mut self,
        trace: &Trace,
        at_us: f64,
        reservations: &mut KvReservations<T>,
        queue: &mut ClientQueue,
    ) {
        debug_assert!(at_us >= self.now_us, "time goes on");
        self.now_us = at_us;
        if at_us >= self.due_us {
            self.keep(trace, at_us, reservations, queue);
        }
    }

    #[cold]
    fn keep<T>(
        &mut self,
        trace: &Trace,
        at_us: f64,
        reservations: &mut KvReservations<T>,
        queue: &mut ClientQueue,
    ) {
        if self.counters.next_us().is_some_and(|due| due <= at_us) {
            let values = queue.counters().into_iter().map(|(_, counter)| counter);
            self.counters.take(values.collect(), at_us);
        }
        self.due_us = self.counters.next_us().unwrap_or(f64::INFINITY);
        if let Some(recorder) = &mut self.reserved {
            self.due_us = self.due_us.min(recorder.advance_to(trace, at_us, reservations));
        }
    }

    /// A request has ended.
    pub(super) fn end<T>(&mut self, trace: &Trace, id: RequestId, ended: &Ended<T>, at_us: f64) {
        if let Some(recorder) = &mut self.reserved {
            recorder.add(trace, id, ended.token_us);
            if self.leaks {
                recorder.leak(trace, id, ended.left, at_us);
            }
        }
    }

    pub(super) fn finish<T>(
        self,
        trace: &Trace,
        reservations: &mut KvReservations<T>,
    ) -> (Vec<CounterSample>, Option<ReservationTimeline>) {
        let reserved = self.reserved.map(|recorder| recorder.finish(trace, self.now_us, reservations));
        (self.counters.into_samples(), reserved)
    }
}
