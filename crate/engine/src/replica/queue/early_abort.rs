//! Early abort (`enable_abort` of S-LoRA): the line is newest first; who would miss the bound on the first token anyway is
//! rejected; and when requests come faster than the batches take them, the newest are served first, otherwise the oldest.
//!
//! Both speeds are integers, smoothed and truncated at every decision: rate = trunc(0.7 (waiting - waiting after the last
//! pick) + 0.3 rate), and after a pick batch = max(trunc(0.7 picked + 0.3 batch), 1).

use std::collections::VecDeque;

use super::admission::Admission;
use crate::record::observer::Event;

/// A request is given up this long before the bound, microseconds.
const MARGIN_US: f64 = 500_000.0;

/// The line, in order of arrival, and the two estimates.
#[derive(Debug, Clone)]
pub struct EarlyAbort {
    /// Waiting requests and when they arrived.
    pub waiting: VecDeque<(u32, f64)>,
    /// Requests that the last decision rejected, newest first.
    pub rejected: Vec<u32>,
    /// Estimated arrivals between two decisions.
    pub request_rate: i64,
    /// Estimated batch size.
    pub batch_size: i64,
    /// Requests left waiting by the last decision that picked somebody.
    pub last_waiting: usize,
    patience_us: f64,
    /// Whether one more decision over the same line would leave the rate as it is.
    settled: bool,
}

impl EarlyAbort {
    /// A line that gives up requests whose first token would come after `bound_us`.
    pub fn new(bound_us: f64) -> Self {
        Self {
            waiting: VecDeque::new(),
            rejected: Vec::new(),
            request_rate: 1,
            batch_size: 1,
            last_waiting: 0,
            patience_us: bound_us - MARGIN_US,
            settled: false,
        }
    }

    /// Whether decisions no longer change anything while nobody arrives or leaves.
    pub fn is_settled(&self) -> bool {
        self.settled
    }

    /// When the oldest request will be given up.
    pub fn due_us(&self) -> Option<f64> {
        self.waiting.front().map(|&(_, at_us)| at_us + self.patience_us)
    }

    fn next_rate(&self, waiting: usize) -> i64 {
        let surplus = waiting as f64 - self.last_waiting as f64;
        (0.7 * surplus + 0.3 * self.request_rate as f64) as i64
    }

    /// Takes up to `decisions` decisions over an empty line.
    pub fn idle(&mut self, decisions: f64) {
        let mut taken = 0.0;
        while taken < decisions && self.waiting.is_empty() && !self.settled {
            self.request_rate = self.next_rate(0);
            self.settled = self.next_rate(0) == self.request_rate;
            taken += 1.0;
        }
    }

    /// Takes a decision.
    pub fn decide(&mut self, admission: &mut Admission<'_>) {
        self.rejected.clear();
        if admission.is_full() {
            return;
        }
        admission.rest();
        self.request_rate = self.next_rate(self.waiting.len());
        self.give_up(admission);
        let newest_first = self.request_rate >= self.batch_size;
        let mut scanned = 0;
        for i in 0..self.waiting.len() {
            let place = if newest_first { self.waiting.len() - 1 - i } else { i };
            let (id, _) = self.waiting[place];
            if !admission.is_cancelled(id) && !admission.admit(id) {
                break;
            }
            scanned += 1;
        }
        if !admission.picked.is_empty() {
            if newest_first {
                self.waiting.truncate(self.waiting.len() - scanned);
            } else {
                self.waiting.drain(..scanned);
            }
            self.last_waiting = self.waiting.len();
            let picked = admission.picked.len() as f64;
            self.batch_size = ((0.7 * picked + 0.3 * self.batch_size as f64) as i64).max(1);
        }
        self.settled = self.next_rate(self.waiting.len()) == self.request_rate;
        if !self.settled {
            // Not the next step: an idle router decides again without one.
            admission.retry_by(admission.step);
        }
    }

    /// Rejects the oldest requests as far as they have waited too long.
    fn give_up(&mut self, admission: &mut Admission<'_>) {
        while self.due_us().is_some_and(|due| admission.now_us >= due) {
            let (id, _) = self.waiting.pop_front().expect("the line has an oldest request");
            self.rejected.push(id);
        }
        self.rejected.reverse();
        for &id in &self.rejected {
            admission.watch.see(|| Event::Rejected(id));
        }
    }
}
