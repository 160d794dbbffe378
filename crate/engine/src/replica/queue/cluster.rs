//! Adapter clustering (`batch_num_adapters` of S-LoRA): once the running batch uses as many adapters as the limit,
//! requests whose adapter runs already come first, then the rest in order of arrival.
//!
//! The limit is a preference, not a cap: the second pass lets new adapters in, and from idle there is no limit at all. A
//! candidate that either pass refuses goes on counting in the memory estimate of the same decision, and both passes share
//! one prompt budget. Cancelled requests that were passed leave the line even if nobody is picked.

use std::collections::VecDeque;

use servescope_workload::BASE_MODEL;

use super::admission::Admission;
use super::fcfs;

/// The line, in order of arrival, and the adapters of the batch.
#[derive(Debug, Clone)]
pub struct Cluster {
    /// Waiting requests.
    pub waiting: VecDeque<u32>,
    limit: usize,
    /// Running requests of each adapter, the base model behind the last.
    running: Vec<u32>,
    /// How many entries of `running` are not 0.
    distinct: usize,
    left: VecDeque<u32>,
}

impl Cluster {
    /// A line that prefers running adapters once `limit` of them run.
    pub fn new(limit: u32, adapters: usize) -> Self {
        Self {
            waiting: VecDeque::new(),
            limit: limit as usize,
            running: vec![0; adapters + 1],
            distinct: 0,
            left: VecDeque::new(),
        }
    }

    fn place(&self, adapter: u32) -> usize {
        if adapter == BASE_MODEL { self.running.len() - 1 } else { adapter as usize }
    }

    /// A request with `adapter` joined the batch.
    pub fn joined(&mut self, adapter: u32) {
        let place = self.place(adapter);
        self.running[place] += 1;
        self.distinct += usize::from(self.running[place] == 1);
    }

    /// A request with `adapter` left the batch.
    pub fn left(&mut self, adapter: u32) {
        let place = self.place(adapter);
        self.running[place] -= 1;
        self.distinct -= usize::from(self.running[place] == 0);
    }

    /// Takes a decision.
    pub fn decide(&mut self, admission: &mut Admission<'_>) {
        if self.distinct == 0 || self.distinct < self.limit {
            return fcfs::decide(&mut self.waiting, admission);
        }
        if admission.is_full() || self.waiting.iter().all(|&id| admission.is_cancelled(id)) {
            return;
        }
        let trace = admission.trace;
        let runs = |line: &Self, id: u32| line.running[line.place(trace.adapter[id as usize])] > 0;
        let refused = self.pass(admission, runs);
        let ghost = refused.map(|id| {
            let (i, step) = (id as usize, admission.step);
            let adapter = trace.adapter[i];
            let entry = Admission::entry(step, trace.input_tokens[i], trace.max_tokens[i]);
            admission.memory.insert(entry);
            admission.adapters.acquire(adapter);
            (entry, adapter)
        });
        self.pass(admission, |_, _| true);
        if let Some((entry, adapter)) = ghost {
            admission.memory.remove(entry);
            admission.adapters.release(adapter);
        }
        // With the refused candidate in the estimate nothing closed says when the next one fits.
        admission.retry_by(admission.step + 1);
    }

    /// Picks the wanted requests in order of arrival and returns the first that is refused. What is picked, and the wanted
    /// ones whose client went away, leave the line.
    fn pass(&mut self, admission: &mut Admission<'_>, wanted: impl Fn(&Self, u32) -> bool) -> Option<u32> {
        let mut refused = None;
        let mut scanned = 0;
        for i in 0..self.waiting.len() {
            let id = self.waiting[i];
            if !wanted(self, id) {
                self.left.push_back(id);
            } else if !admission.is_cancelled(id) && !admission.admit(id) {
                refused = Some(id);
                break;
            }
            scanned += 1;
        }
        self.waiting.drain(..scanned);
        while let Some(id) = self.left.pop_back() {
            self.waiting.push_front(id);
        }
        refused
    }
}
