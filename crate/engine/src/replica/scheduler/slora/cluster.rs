//! Adapter clustering (`batch_num_adapters` of S-LoRA): once the running batch uses as many adapters as the limit,
//! requests whose adapter runs already come first, then the rest in order of arrival.
//!
//! The limit is a preference, not a cap: the second pass admits new adapters, and from idle there is no limit at all. A
//! candidate that does not fit in either pass goes on counting in the memory estimate of the same decision, and both passes share
//! one prompt budget. Cancelled requests that were passed leave the queue even if no request is admitted.

use std::collections::VecDeque;

use servescope_workload::{BASE_MODEL, RequestId};

use super::admission::AdmissionPass;
use super::fcfs;

/// The adapters of the batch.
#[derive(Debug, Clone)]
pub(super) struct Cluster {
    limit: usize,
    /// Running requests of each adapter, the base model behind the last.
    running: Vec<u32>,
    /// How many entries of `running` are not 0.
    distinct: usize,
    left: VecDeque<RequestId>,
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
    pub(super) fn decide(&mut self, waiting: &mut VecDeque<RequestId>, pass: &mut AdmissionPass<'_>) {
        if self.distinct == 0 || self.distinct < self.limit {
            return fcfs::decide(waiting, pass);
        }
        if pass.is_full() || waiting.iter().all(|&id| pass.is_cancelled(id)) {
            return;
        }
        let trace = pass.trace;
        let runs = |own: &Self, id: RequestId| own.running[own.place(trace.adapter[id])] > 0;
        let blocked = self.pass(waiting, pass, runs);
        let ghost = blocked.map(|id| {
            let (i, step) = (id.index(), pass.step);
            let adapter = trace.adapter[i];
            let entry = AdmissionPass::entry(step, trace.input_tokens[i], trace.max_tokens[i]);
            pass.memory.insert(entry);
            pass.adapters.acquire(adapter);
            (entry, adapter)
        });
        self.pass(waiting, pass, |_, _| true);
        if let Some((entry, adapter)) = ghost {
            pass.memory.remove(entry);
            pass.adapters.release(adapter);
        }
        // With the blocked candidate in the estimate nothing closed says when the next one fits.
        pass.reschedule_no_later_than(pass.step + 1);
    }

    /// Admits the wanted requests in order of arrival and returns the first that does not fit. Admitted ones, and wanted ones
    /// whose client went away, leave the queue.
    fn pass(
        &mut self,
        waiting: &mut VecDeque<RequestId>,
        pass: &mut AdmissionPass<'_>,
        wanted: impl Fn(&Self, RequestId) -> bool,
    ) -> Option<RequestId> {
        let mut blocked = None;
        let mut scanned = 0;
        for &id in waiting.iter() {
            if !wanted(self, id) {
                self.left.push_back(id);
            } else if !pass.is_cancelled(id) && !pass.admit(id) {
                blocked = Some(id);
                break;
            }
            scanned += 1;
        }
        waiting.drain(..scanned);
        while let Some(id) = self.left.pop_back() {
            waiting.push_front(id);
        }
        blocked
    }
}
