//! What the running requests hold, for a debugger.

use servescope_workload::RequestId;

use super::{Held, RunningList};

/// Requests that hold memory.
pub(crate) struct HeldBlocks {
    /// Each with its tokens and its blocks.
    pub(crate) requests: Vec<(RequestId, u32, u32)>,
    /// Blocks that are counted more than once because requests share them.
    pub(crate) shared: u32,
}

impl RunningList {
    /// What running requests hold: their computed tokens and their blocks, those of iterations that are not written down included.
    pub(crate) fn held_blocks(&self, step: u64, block_size: u32) -> HeldBlocks {
        let entries = || self.order.iter().map(|&place| &self.entries[place as usize]);
        let list = entries().map(|entry| {
            let formed = if entry.is_in_group { (step - entry.joined) as u32 } else { 0 };
            let tokens = entry.computed + formed;
            let blocks = if formed > 0 { tokens.div_ceil(block_size) } else { 0 };
            (entry.id, tokens, blocks.max(entry.held.count()))
        });
        let mut shared: Vec<u32> = entries().flat_map(|entry| Held::cached(&entry.held)).copied().collect();
        let counted = shared.len();
        shared.sort_unstable();
        shared.dedup();
        HeldBlocks { requests: list.collect(), shared: (counted - shared.len()) as u32 }
    }
}
