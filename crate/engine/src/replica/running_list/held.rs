//! What the running requests hold, for a debugger and for routers.

use servescope_workload::RequestId;

use super::{Replica, RunningList, RunningRequest};

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
    pub(in crate::replica) fn seen(&self, replica: &Replica) -> Vec<SeenRequest> {
        let entries = self.order.iter().map(|&place| (place, &self.entries[place as usize]));
        let tell = |(place, entry): (u32, &RunningRequest)| {
            let formed =
                if entry.is_in_group { (replica.decode_batch.step - entry.joined) as u32 } else { 0 };
            let computed = entry.computed + formed;
            let known = entry.known + self.unwritten_of(place).unwrap_or(0);
            SeenRequest {
                id: entry.id,
                known,
                computed,
                next_tokens: known.saturating_sub(computed),
                blocks: blocks_of(replica, entry, formed),
            }
        };
        entries.map(tell).collect()
    }

    /// The drafts of the request at a place.
    pub(crate) fn drafts_at(&self, place: u32) -> u32 {
        self.entries[place as usize].drafts
    }

    /// What running requests hold: their computed tokens and their blocks, those of iterations that are not written down included.
    pub(crate) fn held_blocks(&self, replica: &Replica) -> HeldBlocks {
        let entries = || self.order.iter().map(|&place| &self.entries[place as usize]);
        let list = entries().map(|entry| {
            let formed =
                if entry.is_in_group { (replica.decode_batch.step - entry.joined) as u32 } else { 0 };
            (entry.id, entry.computed + formed, blocks_of(replica, entry, formed))
        });
        let of_running = entries().flat_map(|entry| entry.held.cached());
        let of_loading = replica.holding.waiting().flat_map(|one| one.held.cached());
        let mut shared: Vec<u32> = of_running.chain(of_loading).collect();
        let counted = shared.len();
        shared.sort_unstable();
        shared.dedup();
        HeldBlocks { requests: list.collect(), shared: (counted - shared.len()) as u32 }
    }
}

impl RunningList {
    /// Blocks that come free when `iterations` more are formed in which nothing else changes, each when one has ended.
    pub(in crate::replica) fn skipped_later(&self, replica: &Replica, iterations: u32) -> u32 {
        if iterations == 0 || replica.kv.keeps_all_tokens() {
            return 0;
        }
        let lag = (replica.decode_batch.step - self.group.next_end).saturating_sub(1);
        let last = replica.decode_batch.step + u64::from(iterations) - 1;
        let entries = self.order.iter().map(|&place| &self.entries[place as usize]);
        let processed = |entry: &RunningRequest| {
            let ended = (last - entry.joined).saturating_sub(lag) as u32;
            entry.computed - entry.under_way + ended
        };
        replica.kv.blocks_to_skip(
            entries.filter(|entry| entry.is_in_group).map(|entry| (processed(entry), &entry.held)),
        )
    }
}

/// Blocks of a request, those that it took in so many iterations that are not written down included.
fn blocks_of(replica: &Replica, entry: &RunningRequest, formed: u32) -> u32 {
    if formed == 0 {
        return entry.held.count();
    }
    replica.kv.blocks_held(entry.computed + formed, &entry.held)
}
