//! What a debugger asks of the log of decisions beside the decisions: the adapters that were loaded, and which decisions belong
//! together.

use super::{Decision, DecisionLog};
use crate::replica_index::ReplicaIndex;

/// Adapters that a replica loaded while it formed one iteration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdapterLoad {
    /// When, microseconds.
    pub time_us: f64,
    /// Which replica.
    pub replica: ReplicaIndex,
    /// How many adapters.
    pub count: u32,
}

/// One pass over a waiting queue: what it began with, and which of the decisions of the log it took.
#[derive(Debug, Clone)]
pub(crate) struct QueuePass<T> {
    pub(crate) before: T,
    pub(crate) first: usize,
    pub(crate) end: usize,
}

impl<T> QueuePass<T> {
    /// A pass that has taken no decision yet.
    pub(crate) fn begins(before: T, log: &DecisionLog) -> Self {
        let first = log.len();
        Self { before, first, end: first }
    }
}

impl DecisionLog {
    /// The decisions since the last call.
    pub(crate) fn drain(&mut self) -> Vec<Decision> {
        self.0.as_mut().map(|kept| std::mem::take(&mut kept.decisions)).unwrap_or_default()
    }

    /// How many decisions are kept.
    pub(crate) fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |kept| kept.decisions.len())
    }

    /// Adapters were loaded.
    pub(crate) fn add_load(&mut self, load: AdapterLoad) {
        if let Some(kept) = &mut self.0 {
            kept.loads.push(load);
        }
    }

    /// The adapters loaded so far.
    pub(crate) fn loads(&self) -> &[AdapterLoad] {
        self.0.as_ref().map_or(&[], |kept| &kept.loads)
    }
}
