//! The copies on one way to a GPU or from it. On the link of a replica and its host there is one copy after another; when those end
//! that come from another replica, the fleet says.

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
    /// How long it takes where no other copy is in its way, microseconds.
    alone_us: f64,
}

/// How long copies take.
#[derive(Debug, Clone, Copy)]
enum Timing {
    /// One after the other, by the number of blocks.
    InTurn { base_us: f64, block_us: f64, free_us: f64 },
    /// Each until the fleet says that it ends.
    OfFleet,
}

/// The copies that are decided and of whose end the scheduler does not know, in their order.
#[derive(Debug, Clone)]
pub(super) struct Link {
    replica: ReplicaIndex,
    /// Whether it leads to the GPU.
    is_load: bool,
    timing: Timing,
    copies: Vec<Copy>,
}

impl Link {
    pub(super) fn new(replica: ReplicaIndex, is_load: bool, [base_us, block_us]: [f64; 2]) -> Self {
        let timing = Timing::InTurn { base_us, block_us, free_us: 0.0 };
        Self { replica, is_load, timing, copies: Vec::new() }
    }

    /// Of copies to a replica whose ends the fleet knows.
    pub(super) fn of_fleet(replica: ReplicaIndex) -> Self {
        Self { replica, is_load: true, timing: Timing::OfFleet, copies: Vec::new() }
    }

    /// A copy is decided. It begins later.
    pub(super) fn decide(&mut self, NewCopy { id, requests, blocks }: NewCopy, now_us: f64) {
        self.copies.push(Copy {
            id,
            requests,
            blocks,
            decided_us: now_us,
            times_us: None,
            is_reported: false,
            alone_us: 0.0,
        });
    }

    /// A copy begins at a time, or when those before it have ended.
    pub(super) fn begin(&mut self, id: CopyId, now_us: f64) {
        let Some(copy) = self.copies.iter_mut().find(|copy| copy.id == id) else { return };
        copy.times_us = Some(match &mut self.timing {
            Timing::InTurn { base_us, block_us, free_us } => {
                let start_us = free_us.max(now_us);
                copy.alone_us = *base_us + *block_us * f64::from(copy.blocks);
                *free_us = start_us + *base_us + *block_us * f64::from(copy.blocks);
                (start_us, *free_us)
            }
            Timing::OfFleet => (now_us, f64::INFINITY),
        });
    }

    /// Whether the fleet says when copies end.
    pub(super) fn is_of_fleet(&self) -> bool {
        matches!(self.timing, Timing::OfFleet)
    }

    /// The fleet says that a copy ends now, which would have taken so long alone.
    pub(super) fn ends(&mut self, id: CopyId, now_us: f64, alone_us: f64) {
        let Some(copy) = self.copies.iter_mut().find(|copy| copy.id == id) else { return };
        copy.alone_us = alone_us;
        if let Some((_, end_us)) = &mut copy.times_us {
            *end_us = now_us;
        }
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
        let Copy { requests, blocks, decided_us, times_us, alone_us, .. } = self.copies.remove(place);
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
            alone_us,
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

    /// When the first of those ends that no iteration reports; infinite where the fleet says that.
    pub(super) fn next_end_us(&self) -> Option<f64> {
        self.copies
            .iter()
            .filter(|copy| !copy.is_reported)
            .find_map(|copy| copy.times_us)
            .map(|times_us| times_us.1)
    }
}
