//! The iterations of replicas: runs of equal ones, and beside them what the runs read of each of their prompts.

#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use servescope_cost::Chunk;

use super::IterationRun;
use crate::replica_index::ReplicaIndex;

/// Runs of iterations, replica by replica.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Iterations {
    replicas: Vec<ReplicaIterations>,
    end_us: f64,
}

/// Those of one replica.
#[derive(Debug, Clone, Default, PartialEq)]
struct ReplicaIterations {
    /// In the order of their start.
    runs: Vec<IterationRun>,
    /// What the runs read of their prompts, one run after the other; [`IterationRun::chunks_at`] is where those of a run begin.
    chunks: Vec<Chunk>,
}

impl Iterations {
    /// Writes one down, with what it reads of each of its prompts. Those of a replica come in the order of their start.
    pub fn push(&mut self, run: &IterationRun, chunks: &[Chunk]) {
        let place = usize::from(run.replica);
        if self.replicas.len() <= place {
            self.replicas.resize_with(place + 1, ReplicaIterations::default);
        }
        let replica = &mut self.replicas[place];
        debug_assert!(replica.runs.last().is_none_or(|last| last.start_us <= run.start_us));
        replica.runs.push(IterationRun { chunks_at: replica.chunks.len(), ..*run });
        replica.chunks.extend_from_slice(chunks);
        self.end_us = self.end_us.max(run.end_us);
    }

    /// What a run of these reads of each of its prompts.
    pub fn chunks(&self, run: &IterationRun) -> &[Chunk] {
        let replica = self.replicas.get(usize::from(run.replica));
        replica.map_or(&[], |replica| &replica.chunks[run.chunks_at..][..run.prompts as usize])
    }

    /// Those of one replica, in the order of their start.
    pub fn of_replica(&self, replica: ReplicaIndex) -> &[IterationRun] {
        self.replicas.get(usize::from(replica)).map_or(&[], |replica| &replica.runs)
    }

    /// When the last of them ends, microseconds; 0 where there is none.
    pub fn end_us(&self) -> f64 {
        self.end_us
    }

    /// How many runs.
    pub fn len(&self) -> usize {
        self.replicas.iter().map(|replica| replica.runs.len()).sum()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All of them in order of their start; of those that start together, the lower replica's first.
    pub fn iter(&self) -> Iter<'_> {
        let of_each = self.replicas.iter().map(|replica| NextRuns(&replica.runs));
        Iter { left: of_each.filter(|next| !next.0.is_empty()).collect() }
    }
}

/// Runs of all replicas in order of their start.
#[derive(Debug, Clone)]
pub struct Iter<'a> {
    /// What is left of each replica that has any.
    left: BinaryHeap<NextRuns<'a>>,
}

impl<'a> Iterator for Iter<'a> {
    type Item = &'a IterationRun;

    fn next(&mut self) -> Option<&'a IterationRun> {
        let mut first = self.left.peek_mut()?;
        let (run, rest) = first.0.split_first()?;
        if rest.is_empty() {
            PeekMut::pop(first);
        } else {
            first.0 = rest;
        }
        Some(run)
    }
}

/// The next runs of a replica, at least one. The greatest is the one that starts first.
#[derive(Debug, Clone, Copy)]
struct NextRuns<'a>(&'a [IterationRun]);

impl Ord for NextRuns<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let (own, others) = (&self.0[0], &other.0[0]);
        others.start_us.total_cmp(&own.start_us).then(others.replica.cmp(&own.replica))
    }
}

impl PartialOrd for NextRuns<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for NextRuns<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for NextRuns<'_> {}

impl<'a> IntoIterator for &'a Iterations {
    type Item = &'a IterationRun;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

/// How long the stages work where they do all the time, but for waiting for other ranks.
pub(crate) fn whole_us(run: &IterationRun) -> f64 {
    let us = run.end_us - run.start_us - run.adapter_load_us - run.waited_us;
    // Where they take no time but for the loading, rounding may leave less than nothing.
    if us > 0.0 { us } else { 0.0 }
}
