//! One direction of the link between a GPU and its host: one copy after another.

use servescope_workload::RequestId;

use super::{CopyId, NewCopy};

/// A copy that is decided.
#[derive(Debug, Clone)]
struct Copy {
    id: CopyId,
    requests: Vec<RequestId>,
    blocks: u32,
    /// When it ends; `None`: it has not begun.
    end_us: Option<f64>,
    /// Whether an iteration reports its end.
    is_reported: bool,
}

/// The copies that are decided and of whose end the scheduler does not know, in their order.
#[derive(Debug, Clone)]
pub(super) struct Link {
    base_us: f64,
    block_us: f64,
    free_us: f64,
    copies: Vec<Copy>,
}

impl Link {
    pub(super) fn new(base_us: f64, block_us: f64) -> Self {
        Self { base_us, block_us, free_us: 0.0, copies: Vec::new() }
    }

    /// A copy is decided. It begins later.
    pub(super) fn decide(&mut self, NewCopy { id, requests, blocks }: NewCopy) {
        self.copies.push(Copy { id, requests, blocks, end_us: None, is_reported: false });
    }

    /// A copy begins at a time, or when those before it have ended.
    pub(super) fn begin(&mut self, id: CopyId, now_us: f64) {
        let Some(copy) = self.copies.iter_mut().find(|copy| copy.id == id) else { return };
        self.free_us = self.free_us.max(now_us) + self.base_us + self.block_us * f64::from(copy.blocks);
        copy.end_us = Some(self.free_us);
    }

    /// An iteration reports those that have ended by a time. Each is reported once.
    pub(super) fn report(&mut self, now_us: f64) -> Vec<CopyId> {
        let has_ended = |copy: &Copy| copy.end_us.is_some_and(|end_us| end_us <= now_us);
        let is_due = |copy: &&mut Copy| !copy.is_reported && has_ended(copy);
        let due = self.copies.iter_mut().filter(is_due);
        due.map(|copy| {
            copy.is_reported = true;
            copy.id
        })
        .collect()
    }

    /// The scheduler learns that a copy has ended. Returns for whom it was; `None`: it was not on this link.
    pub(super) fn take(&mut self, id: CopyId) -> Option<Vec<RequestId>> {
        let place = self.copies.iter().position(|copy| copy.id == id)?;
        Some(self.copies.remove(place).requests)
    }

    /// When a copy ends; infinite where it has not begun, `None` where the scheduler knows of its end.
    pub(super) fn end_us(&self, id: CopyId) -> Option<f64> {
        let copy = self.copies.iter().find(|copy| copy.id == id)?;
        Some(copy.end_us.unwrap_or(f64::INFINITY))
    }

    pub(super) fn under_way(&self) -> impl Iterator<Item = CopyId> {
        self.copies.iter().map(|copy| copy.id)
    }

    /// When the first of those ends that no iteration reports.
    pub(super) fn next_end_us(&self) -> Option<f64> {
        self.copies.iter().filter(|copy| !copy.is_reported).find_map(|copy| copy.end_us)
    }
}
