//! What the running requests hold, for a debugger.

use servescope_workload::RequestId;

use super::{Replica, RunningList, RunningRequest, ScheduleContext};

/// Requests that hold memory.
pub(crate) struct HeldBlocks {
    /// Each with its tokens and its blocks.
    pub(crate) requests: Vec<(RequestId, u32, u32)>,
    /// Blocks that are counted more than once because requests share them.
    pub(crate) shared: u32,
}

/// A running request as a scheduler sees it, iterations that are not written down included.
pub(in crate::replica) struct SeenRequest {
    pub(in crate::replica) id: RequestId,
    /// Tokens of its prompt and answer that are known, and that are computed or under way.
    pub(in crate::replica) known: u32,
    pub(in crate::replica) computed: u32,
    /// Tokens that it can have in the next iteration.
    pub(in crate::replica) next_tokens: u32,
    pub(in crate::replica) blocks: u32,
}

impl RunningList {
    /// The running requests, in the order of their admission.
    pub(in crate::replica) fn seen(
        &self,
        replica: &Replica,
        context: &ScheduleContext<'_>,
    ) -> Vec<SeenRequest> {
        let entries = self.order.iter().map(|&place| (place, &self.entries[place as usize]));
        let tell = |(place, entry): (u32, &RunningRequest)| {
            let formed =
                if entry.is_in_group { (replica.decode_batch.step - entry.joined) as u32 } else { 0 };
            let computed = entry.computed + formed;
            let known = entry.known + self.unwritten_of(place).unwrap_or(0);
            let in_group = if formed > 0 { context.config.blocks_for(computed) } else { 0 };
            SeenRequest {
                id: entry.id,
                known,
                computed,
                next_tokens: known.saturating_sub(computed),
                blocks: entry.held.count().max(in_group),
            }
        };
        entries.map(tell).collect()
    }

    /// What running requests hold: their computed tokens and their blocks, those of iterations that are not written down included.
    pub(crate) fn held_blocks(&self, step: u64, block_size: u32) -> HeldBlocks {
        let entries = || self.order.iter().map(|&place| &self.entries[place as usize]);
        let list = entries().map(|entry| {
            let formed = if entry.is_in_group { (step - entry.joined) as u32 } else { 0 };
            let tokens = entry.computed + formed;
            let blocks = if formed > 0 { tokens.div_ceil(block_size) } else { 0 };
            (entry.id, tokens, blocks.max(entry.held.count()))
        });
        let mut shared: Vec<u32> = entries().flat_map(|entry| entry.held.cached()).collect();
        let counted = shared.len();
        shared.sort_unstable();
        shared.dedup();
        HeldBlocks { requests: list.collect(), shared: (counted - shared.len()) as u32 }
    }
}
