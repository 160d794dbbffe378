//! The iterations of all replicas in order of their start.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use super::ReplicaIterations;
use super::read::LogCursor;
use crate::record::timeline::IterationRun;
use crate::replica_index::ReplicaIndex;

/// When the next run of a replica starts.
#[derive(Debug, Clone, Copy)]
struct ReplicaTurn {
    start_us: f64,
    /// Its place among the heads, which are in order of the replicas.
    head: usize,
}

impl Ord for ReplicaTurn {
    /// The earliest is the greatest.
    fn cmp(&self, other: &Self) -> Ordering {
        other.start_us.total_cmp(&self.start_us).then(other.head.cmp(&self.head))
    }
}

impl PartialOrd for ReplicaTurn {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for ReplicaTurn {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for ReplicaTurn {}

/// Runs of all replicas in order of their start.
#[derive(Debug, Clone)]
pub struct Iter<'a> {
    /// The only replica: nothing is to be put in order.
    only: Option<LogCursor<'a>>,
    /// The next run of each of the others, and the place behind it.
    heads: Vec<(IterationRun, LogCursor<'a>)>,
    /// Whose turn it is: of a heap that is told apart from the runs little is moved.
    order: BinaryHeap<ReplicaTurn>,
}

impl<'a> Iter<'a> {
    /// The runs of these replicas.
    pub(super) fn of(replicas: &'a [ReplicaIterations]) -> Self {
        let mut iter = Iter { only: None, heads: Vec::new(), order: BinaryHeap::new() };
        for (replica, log) in replicas.iter().enumerate() {
            let mut cursor = LogCursor::new(log, ReplicaIndex::new(replica as u16));
            if replicas.len() == 1 {
                iter.only = Some(cursor);
            } else if let Some(run) = cursor.next() {
                iter.order.push(ReplicaTurn { start_us: run.start_us, head: iter.heads.len() });
                iter.heads.push((run, cursor));
            }
        }
        iter
    }
}

impl Iter<'_> {
    /// Takes the runs one after the other; where there is one replica without a copy of each.
    pub(super) fn each(mut self, mut take: impl FnMut(&IterationRun)) {
        let Some(mut cursor) = self.only.take() else { return self.for_each(|run| take(&run)) };
        while let Some(run) = cursor.advance() {
            take(run);
        }
    }
}

impl Iterator for Iter<'_> {
    type Item = IterationRun;

    fn next(&mut self) -> Option<IterationRun> {
        if let Some(cursor) = &mut self.only {
            return cursor.next();
        }
        let mut turn = self.order.peek_mut()?;
        let (head, cursor) = &mut self.heads[turn.head];
        let run = *head;
        match cursor.advance() {
            Some(next) => {
                turn.start_us = next.start_us;
                *head = *next;
            }
            None => drop(PeekMut::pop(turn)),
        }
        Some(run)
    }
}
