//! Early abort (`enable_abort` of S-LoRA): the queue is newest first; requests that would miss the bound on the first token
//! anyway are rejected; and when requests come faster than the batches take them, the newest are served first, otherwise the
//! oldest.
//!
//! Both speeds are integers, smoothed and truncated at every decision: rate = trunc(0.7 (waiting - waiting after the last
//! pick) + 0.3 rate), and after an admission batch = max(trunc(0.7 admitted + 0.3 batch), 1).

use std::collections::VecDeque;

use servescope_workload::RequestId;

use super::admission::AdmissionPass;
use crate::record::observer::RouterEvent;

/// A request is rejected this long before the bound, seconds.
const MARGIN_S: f64 = 0.5;

/// When the waiting requests are too late, and the two estimates.
#[derive(Debug, Clone)]
pub(super) struct EarlyAbort {
    /// When the waiting requests are too late, in the order of their arrival, microseconds.
    late_from_us: VecDeque<f64>,
    /// Requests that the last decision rejected, newest first.
    pub(super) rejected: Vec<RequestId>,
    /// Estimated arrivals between two decisions.
    pub(super) request_rate: i64,
    /// Estimated batch size.
    pub(super) batch_size: i64,
    /// Requests left waiting by the last decision that admitted a request.
    pub(super) last_waiting: usize,
    bound_s: f64,
    /// Whether one more decision over the same queue would leave the rate as it is.
    settled: bool,
}

impl EarlyAbort {
    /// A policy that rejects requests whose first token would come after `bound_us`.
    pub(super) fn new(bound_us: f64) -> Self {
        Self {
            late_from_us: VecDeque::new(),
            rejected: Vec::new(),
            request_rate: 1,
            batch_size: 1,
            last_waiting: 0,
            bound_s: bound_us / 1e6,
            settled: false,
        }
    }

    /// Whether decisions no longer change anything while no request arrives or leaves.
    pub(super) fn is_fixed_point(&self) -> bool {
        self.settled
    }

    /// A request joins the queue at `at_us`.
    pub(super) fn arrive(&mut self, at_us: f64) {
        self.late_from_us.push_back(late_from_us(self.bound_s, at_us));
    }

    /// When the oldest request will be rejected, microseconds.
    pub(super) fn due_us(&self) -> Option<f64> {
        self.late_from_us.front().copied()
    }

    fn next_rate(&self, waiting: usize) -> i64 {
        let surplus = waiting as f64 - self.last_waiting as f64;
        (0.7 * surplus + 0.3 * self.request_rate as f64) as i64
    }

    /// Takes up to `decisions` decisions over an empty queue.
    pub(super) fn idle(&mut self, decisions: f64) {
        let mut taken = 0.0;
        while taken < decisions && self.late_from_us.is_empty() && !self.settled {
            self.request_rate = self.next_rate(0);
            self.settled = self.next_rate(0) == self.request_rate;
            taken += 1.0;
        }
    }

    /// Takes a decision over requests in the order of arrival.
    pub(super) fn decide(&mut self, waiting: &mut VecDeque<RequestId>, pass: &mut AdmissionPass<'_>) {
        self.rejected.clear();
        if pass.is_full() {
            return;
        }
        pass.mark_stable();
        self.request_rate = self.next_rate(waiting.len());
        self.reject_late(waiting, pass);
        let newest_first = self.request_rate >= self.batch_size;
        let mut scanned = 0;
        for i in 0..waiting.len() {
            let place = if newest_first { waiting.len() - 1 - i } else { i };
            let id = waiting[place];
            if !pass.is_cancelled(id) && !pass.admit(id) {
                break;
            }
            scanned += 1;
        }
        if !pass.admitted.is_empty() {
            if newest_first {
                waiting.truncate(waiting.len() - scanned);
                self.late_from_us.truncate(waiting.len());
            } else {
                waiting.drain(..scanned);
                self.late_from_us.drain(..scanned);
            }
            self.last_waiting = waiting.len();
            let admitted = pass.admitted.len() as f64;
            self.batch_size = ((0.7 * admitted + 0.3 * self.batch_size as f64) as i64).max(1);
        }
        self.settled = self.next_rate(waiting.len()) == self.request_rate;
        if !self.settled {
            // Not the next step: an idle router decides again without one.
            pass.reschedule_no_later_than(pass.step);
        }
    }

    /// Rejects the oldest requests as far as they have waited too long.
    fn reject_late(&mut self, waiting: &mut VecDeque<RequestId>, pass: &mut AdmissionPass<'_>) {
        while self.due_us().is_some_and(|due| pass.now_us >= due) {
            self.late_from_us.pop_front();
            self.rejected.extend(waiting.pop_front());
        }
        self.rejected.reverse();
        for &id in &self.rejected {
            pass.watch.emit(|| RouterEvent::Rejected(id));
        }
    }
}

/// From when on a request that arrived at `at_us` is too late, microseconds. S-LoRA counts seconds in floating-point numbers, so
/// about a wait of just the bound rounding decides.
fn late_from_us(bound_s: f64, at_us: f64) -> f64 {
    let is_late = |now_us: f64| now_us / 1e6 - at_us / 1e6 + MARGIN_S >= bound_s;
    let mut from_us = at_us + (bound_s - MARGIN_S) * 1e6;
    let mut step_us = from_us.next_up() - from_us;
    while !is_late(from_us) {
        from_us += step_us;
        step_us *= 2.0;
    }
    from_us
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_of_just_the_bound_is_too_late_unless_its_seconds_round_below_it() {
        let waits = |at_us: f64, wait_us: f64| at_us + wait_us >= late_from_us(6.0, at_us);
        assert!(waits(23_210_000.0, 5_500_000.0));
        assert!(!waits(28_010_000.0, 5_500_000.0), "33.51 - 28.01 + 0.5 is 5.999999999999996");
        assert_eq!(late_from_us(f64::INFINITY, 1.0), f64::INFINITY);
        for at_us in [0.0, 1.0, 28_010_000.0, 1e12] {
            assert!(waits(at_us, 5_500_001.0) && !waits(at_us, 5_499_999.0), "{at_us}");
        }
    }
}
