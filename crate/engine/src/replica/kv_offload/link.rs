//! One direction of the link between a GPU and its host: one copy after another.

use servescope_workload::RequestId;

use super::{CopyId, NewCopy};
use crate::record::kv_copies::KvCopy;
use crate::replica_index::ReplicaIndex;

/// A copy that is decided.
#[derive(Debug, Clone)]
struct Copy {
    id: CopyId,
    requests: Vec<RequestId>,
    blocks: u32,
    decided_us: f64,
    /// When it began, and when it ends; `None`: it has not begun.
    times_us: Option<(f64, f64)>,
    /// Whether an iteration reports its end.
    is_reported: bool,
}

/// The copies that are decided and of whose end the scheduler does not know, in their order.
#[derive(Debug, Clone)]
pub(super) struct Link {
    replica: ReplicaIndex,
    /// Whether it leads to the GPU.
    is_load: bool,
    base_us: f64,
    block_us: f64,
    free_us: f64,
    copies: Vec<Copy>,
}

impl Link {
    pub(super) fn new(replica: ReplicaIndex, is_load: bool, [base_us, block_us]: [f64; 2]) -> Self {
        Self { replica, is_load, base_us, block_us, free_us: 0.0, copies: Vec::new() }
    }

    /// A copy is decided. It begins later.
    pub(super) fn decide(&mut self, NewCopy { id, requests, blocks }: NewCopy, now_us: f64) {
        let copy = Copy { id, requests, blocks, decided_us: now_us, times_us: None, is_reported: false };
        self.copies.push(copy);
    }

    /// A copy begins at a time, or when those before it have ended.
    pub(super) fn begin(&mut self, id: CopyId, now_us: f64) {
        let Some(copy) = self.copies.iter_mut().find(|copy| copy.id == id) else { return };
        let start_us = self.free_us.max(now_us);
        self.free_us = start_us + self.base_us + self.block_us * f64::from(copy.blocks);
        copy.times_us = Some((start_us, self.free_us));
    }

    /// An iteration reports those that have ended by a time. Each is reported once.
    pub(super) fn report(&mut self, now_us: f64) -> Vec<CopyId> {
        let has_ended = |copy: &Copy| copy.times_us.is_some_and(|(_, end_us)| end_us <= now_us);
        let is_due = |copy: &&mut Copy| !copy.is_reported && has_ended(copy);
        let due = self.copies.iter_mut().filter(is_due);
        due.map(|copy| {
            copy.is_reported = true;
            copy.id
        })
        .collect()
    }

    /// The scheduler learns that a copy has ended; `None`: it was not on this link.
    pub(super) fn take(&mut self, id: CopyId, now_us: f64) -> Option<KvCopy> {
        let place = self.copies.iter().position(|copy| copy.id == id)?;
        let Copy { requests, blocks, decided_us, times_us, .. } = self.copies.remove(place);
        let (start_us, end_us) = times_us.unwrap_or((now_us, now_us));
        Some(KvCopy {
            replica: self.replica,
            is_load: self.is_load,
            requests: requests.into(),
            blocks,
            decided_us,
            start_us,
            end_us,
            known_us: now_us,
        })
    }

    /// When a copy ends; infinite where it has not begun, `None` where the scheduler knows of its end.
    pub(super) fn end_us(&self, id: CopyId) -> Option<f64> {
        let copy = self.copies.iter().find(|copy| copy.id == id)?;
        Some(copy.times_us.map_or(f64::INFINITY, |times_us| times_us.1))
    }

    pub(super) fn under_way(&self) -> impl Iterator<Item = CopyId> {
        self.copies.iter().map(|copy| copy.id)
    }

    /// When the first of those ends that no iteration reports.
    pub(super) fn next_end_us(&self) -> Option<f64> {
        self.copies
            .iter()
            .filter(|copy| !copy.is_reported)
            .find_map(|copy| copy.times_us)
            .map(|times_us| times_us.1)
    }
}
