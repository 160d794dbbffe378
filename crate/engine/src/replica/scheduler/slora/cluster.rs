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

/// The adapters of the batch.
#[derive(Debug, Clone)]
pub(super) struct Cluster {
    limit: usize,
    /// Running requests of each adapter, the base model behind the last.
    running: Vec<u32>,
    /// How many entries of `running` are not 0.
    distinct: usize,
    left: VecDeque<u32>,
}

impl Cluster {
    /// A policy that prefers running adapters once `limit` of them run.
    pub(super) fn new(limit: u32, adapters: usize) -> Self {
        Self { limit: limit as usize, running: vec![0; adapters + 1], distinct: 0, left: VecDeque::new() }
    }

    fn place(&self, adapter: u32) -> usize {
        if adapter == BASE_MODEL { self.running.len() - 1 } else { adapter as usize }
    }

    /// A request with `adapter` joined the batch.
    pub(super) fn joined(&mut self, adapter: u32) {
        let place = self.place(adapter);
        self.running[place] += 1;
        self.distinct += usize::from(self.running[place] == 1);
    }

    /// A request with `adapter` left the batch.
    pub(super) fn left(&mut self, adapter: u32) {
        let place = self.place(adapter);
        self.running[place] -= 1;
        self.distinct -= usize::from(self.running[place] == 0);
    }

    /// Takes a decision over requests in the order of arrival.
    pub(super) fn decide(&mut self, waiting: &mut VecDeque<u32>, admission: &mut Admission<'_>) {
        if self.distinct == 0 || self.distinct < self.limit {
            return fcfs::decide(waiting, admission);
        }
        if admission.is_full() || waiting.iter().all(|&id| admission.is_cancelled(id)) {
            return;
        }
        let trace = admission.trace;
        let runs = |own: &Self, id: u32| own.running[own.place(trace.adapter[id as usize])] > 0;
        let refused = self.pass(waiting, admission, runs);
        let ghost = refused.map(|id| {
            let (i, step) = (id as usize, admission.step);
            let adapter = trace.adapter[i];
            let entry = Admission::entry(step, trace.input_tokens[i], trace.max_tokens[i]);
            admission.memory.insert(entry);
            admission.adapters.acquire(adapter);
            (entry, adapter)
        });
        self.pass(waiting, admission, |_, _| true);
        if let Some((entry, adapter)) = ghost {
            admission.memory.remove(entry);
            admission.adapters.release(adapter);
        }
        // With the refused candidate in the estimate nothing closed says when the next one fits.
        admission.reschedule_no_later_than(admission.step + 1);
    }

    /// Picks the wanted requests in order of arrival and returns the first that is refused. What is picked, and the wanted
    /// ones whose client went away, leave the line.
    fn pass(
        &mut self,
        waiting: &mut VecDeque<u32>,
        admission: &mut Admission<'_>,
        wanted: impl Fn(&Self, u32) -> bool,
    ) -> Option<u32> {
        let mut refused = None;
        let mut scanned = 0;
        for &id in waiting.iter() {
            if !wanted(self, id) {
                self.left.push_back(id);
            } else if !admission.is_cancelled(id) && !admission.admit(id) {
                refused = Some(id);
                break;
            }
            scanned += 1;
        }
        waiting.drain(..scanned);
        while let Some(id) = self.left.pop_back() {
            waiting.push_front(id);
        }
        refused
    }
}
