//! The prefix cache of vLLM v1: KV blocks of prompts are kept by the hash of what they hold and of all before it, shared
//! while in use, and forgotten longest unused first when their memory is wanted.
//!
//! The trace says which prompts begin alike, as ids of blocks of so many tokens. A unit is the least whole number of both
//! those blocks and KV blocks. Units are known once their whole prompt is processed; answers are not known.

use std::collections::BTreeMap;

use servescope_workload::trace::PrefixBlocks;

use crate::record::served::PrefixLookups;

/// Prefix caching: the units of one replica.
#[derive(Debug)]
pub(crate) struct PrefixCache {
    /// Tokens in a unit.
    pub(crate) unit_tokens: u32,
    /// KV blocks in a unit.
    pub(crate) unit_blocks: u32,
    ids_per_unit: usize,
    units: BTreeMap<u64, Unit>,
    /// Units that nobody uses, by when that began.
    idle: BTreeMap<u64, u64>,
    clock: u64,
    /// What admitted requests asked it for.
    pub(super) asked: PrefixLookups,
}

#[derive(Debug, Clone, Copy)]
struct Unit {
    users: u32,
    /// Key in `idle` while there is no user.
    since: u64,
}

impl PrefixCache {
    /// A cache for prompts told in blocks of `block_tokens`; `None` where these and KV blocks do not divide each other.
    pub(crate) fn new(block_tokens: u32, kv_block_size: u32) -> Option<Self> {
        let unit_tokens = block_tokens.max(kv_block_size);
        let fits = block_tokens > 0
            && unit_tokens.is_multiple_of(block_tokens)
            && unit_tokens.is_multiple_of(kv_block_size);
        fits.then(|| Self {
            unit_tokens,
            unit_blocks: unit_tokens / kv_block_size,
            ids_per_unit: (unit_tokens / block_tokens) as usize,
            units: BTreeMap::new(),
            idle: BTreeMap::new(),
            clock: 0,
            asked: PrefixLookups::default(),
        })
    }

    /// Units that somebody uses.
    pub(crate) fn units_in_use(&self) -> u32 {
        (self.units.len() - self.idle.len()) as u32
    }

    /// The keys of a prompt's whole units. An id stands for its block and all before it, so the last one is enough.
    fn keys<'a>(
        &self,
        blocks: &'a PrefixBlocks,
        id: u32,
        tokens: u32,
    ) -> impl Iterator<Item = u64> + use<'a> {
        let (each, whole) = (self.ids_per_unit, (tokens / self.unit_tokens) as usize);
        blocks.of(id as usize).chunks_exact(each).take(whole).map(move |ids| ids[each - 1])
    }

    /// How many units of the start of a prompt are known, and how many of them nobody uses. One token at least is left to
    /// process.
    pub(crate) fn known(&self, blocks: &PrefixBlocks, id: u32, tokens: u32) -> (u32, u32) {
        let mut found = (0, 0);
        for key in self.keys(blocks, id, tokens.saturating_sub(1)) {
            let Some(unit) = self.units.get(&key) else { break };
            found.0 += 1;
            found.1 += u32::from(unit.users == 0);
        }
        found
    }

    /// A request uses the first `count` units of its prompt, which are known.
    pub(crate) fn take(&mut self, blocks: &PrefixBlocks, id: u32, count: u32) {
        let keys: Vec<u64> = self.keys(blocks, id, count * self.unit_tokens).collect();
        for key in keys {
            if let Some(unit) = self.units.get_mut(&key) {
                if unit.users == 0 {
                    self.idle.remove(&unit.since);
                }
                unit.users += 1;
            }
        }
    }

    /// A prompt of `tokens` is processed, of which `shared` units were known: says how many of its units are shared now.
    /// Where somebody else was first, its own stay its own.
    pub(crate) fn learn(&mut self, blocks: &PrefixBlocks, id: u32, tokens: u32, shared: u32) -> u32 {
        let keys: Vec<u64> = self.keys(blocks, id, tokens).skip(shared as usize).collect();
        let mut shared = shared;
        for key in keys {
            if self.units.contains_key(&key) {
                break;
            }
            self.units.insert(key, Unit { users: 1, since: 0 });
            shared += 1;
        }
        shared
    }

    /// A request gives its first `count` units back: says how many nobody uses now. The end of a prompt is forgotten
    /// before its start.
    pub(crate) fn release(&mut self, blocks: &PrefixBlocks, id: u32, count: u32) -> u32 {
        let keys: Vec<u64> = self.keys(blocks, id, count * self.unit_tokens).collect();
        let mut unused = 0;
        for key in keys.into_iter().rev() {
            let Some(unit) = self.units.get_mut(&key) else { continue };
            unit.users -= 1;
            if unit.users == 0 {
                self.clock += 1;
                unit.since = self.clock;
                self.idle.insert(self.clock, key);
                unused += 1;
            }
        }
        unused
    }

    /// Forgets units that nobody uses until what is kept fits `free` blocks.
    pub(crate) fn trim(&mut self, free: u32) {
        while self.idle.len() as u64 * u64::from(self.unit_blocks) > u64::from(free) {
            let Some((_, key)) = self.idle.pop_first() else { break };
            self.units.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_shared_kept_and_forgotten_longest_unused_first() {
        let mut blocks = PrefixBlocks { block_tokens: 8, ..PrefixBlocks::default() };
        blocks.push([1, 2, 3, 4, 5]);
        blocks.push([1, 2, 9, 10]);
        let mut cache = PrefixCache::new(8, 16).unwrap();
        assert_eq!((cache.unit_tokens, cache.unit_blocks), (16, 1));
        assert_eq!(cache.known(&blocks, 0, 40), (0, 0));
        assert_eq!(cache.learn(&blocks, 0, 40, 0), 2);
        assert_eq!(cache.known(&blocks, 1, 33), (1, 0));
        cache.take(&blocks, 1, 1);
        assert_eq!(cache.learn(&blocks, 1, 33, 1), 2);
        assert_eq!(cache.release(&blocks, 0, 2), 1);
        // A prompt that is known whole still has its last token processed.
        assert_eq!((cache.known(&blocks, 0, 33), cache.known(&blocks, 0, 32)), ((2, 1), (1, 0)));
        assert_eq!(cache.release(&blocks, 1, 2), 2);
        cache.trim(1);
        assert_eq!((cache.known(&blocks, 0, 40), cache.known(&blocks, 1, 33)), ((1, 1), (1, 1)));
        assert!(PrefixCache::new(24, 16).is_none());
        assert_eq!(PrefixCache::new(512, 16).unwrap().unit_blocks, 32);
    }
}
