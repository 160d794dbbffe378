//! The KV cache manager of one replica: its blocks in GPU memory, those that the host keeps of preempted requests, and the
//! prefixes that requests share. No other file changes these counters. (vLLM: vllm/v1/core/kv_cache_manager.py.)
//!
//! Where the model's layers form groups, a request has blocks of each group, and a group that looks back over a window only gives
//! blocks back while the request runs (vllm/v1/core/single_type_kv_cache_manager.py).

mod blocks;
mod held;
#[cfg(test)]
mod naive_pool;
mod watch;

use std::sync::Arc;

use servescope_workload::RequestId;

use crate::block_numbers::{BlockNumbers, Numbers};
use crate::config::kv_groups::{BlockGroup, KvGroup};
use crate::config::{PoolConfig, Preemption};
use crate::record::request_timings::PrefixLookups;

pub(crate) use blocks::{BlockCache, BlockContents, ContentsInOrder, contents_of};
pub(crate) use held::Held;
pub(crate) use watch::{BlockChange, CacheTier};

/// A number of tokens or iterations modulo the block size.
#[inline]
pub(crate) fn within_block(tokens: u32, block_size: usize) -> usize {
    tokens as usize % block_size
}

/// Blocks of one replica.
#[derive(Debug, Clone)]
pub(crate) struct KvCache {
    total: u32,
    used: u32,
    /// Blocks in which adapters are.
    adapters: u32,
    host_total: u32,
    host_used: u32,
    block_size: u32,
    groups: Vec<BlockGroup>,
    /// Of each group, the most blocks that a request holds at once.
    most_blocks: Vec<u32>,
    /// The prefix cache, which vLLM v1 has.
    blocks: Option<BlockCache>,
    /// A free block without contents that a tier below remembers: how many stand before it, as blocks are taken from the front.
    marked: Option<u32>,
}

impl KvCache {
    /// An empty cache of a replica with so many batches under way at once. It caches prefixes where the blocks of each group have
    /// numbers.
    pub(crate) fn new(config: &PoolConfig, numbers: &[Arc<BlockNumbers>], batches_under_way: u32) -> Self {
        let host_total = match config.preemption {
            Preemption::Swap { host_blocks, .. } => host_blocks,
            _ => 0,
        };
        let groups: Vec<BlockGroup> = config.kv_groups.groups(config.block_size).collect();
        let under_way = config.max_batch_tokens.saturating_mul(batches_under_way);
        let (size, longest) = (config.block_size, config.max_request_tokens);
        let blocks = (!numbers.is_empty()).then(|| {
            let cache = BlockCache::new(size, groups.iter().copied().zip(numbers.iter().cloned()));
            if config.host_tier().is_some() { cache.above_lower_tier() } else { cache }
        });
        Self {
            total: config.blocks,
            used: 0,
            adapters: 0,
            host_total,
            host_used: 0,
            block_size: size,
            most_blocks: groups.iter().map(|group| group.most_blocks(under_way, longest)).collect(),
            groups,
            blocks,
            marked: None,
        }
    }

    /// Blocks that requests use.
    pub(crate) fn used(&self) -> u32 {
        self.used
    }

    /// Share of the blocks that requests and adapters use, as vLLM computes it (vllm/v1/core/block_pool.py, `get_usage`).
    pub(crate) fn usage(&self) -> f64 {
        1.0 - f64::from(self.available()) / f64::from(self.total.max(1))
    }

    /// Blocks in which adapters are.
    pub(crate) fn adapter_blocks(&self) -> u32 {
        self.adapters
    }

    /// An adapter takes blocks that are known to be free.
    pub(crate) fn take_for_adapter(&mut self, blocks: u32) {
        debug_assert!(blocks <= self.available(), "{blocks} blocks of {} free ones", self.available());
        self.adapters += blocks;
    }

    /// An adapter gives its blocks back.
    pub(crate) fn free_adapter(&mut self, blocks: u32) {
        self.adapters -= blocks;
    }

    /// Blocks that are free; those of prefixes that no request uses count as free.
    pub(crate) fn available(&self) -> u32 {
        self.total - self.used - self.adapters
    }

    /// Those of them that are cached.
    pub(crate) fn idle(&self) -> u32 {
        self.blocks.as_ref().map_or(0, BlockCache::idle)
    }

    /// Those of them without contents; adapters may have taken blocks of which the contents are still known.
    pub(crate) fn empty(&self) -> u32 {
        self.available().saturating_sub(self.idle())
    }

    /// Blocks that the host keeps.
    pub(crate) fn host_used(&self) -> u32 {
        self.host_used
    }

    /// Takes blocks that are known to be free.
    pub(crate) fn allocate(&mut self, blocks: u32) {
        debug_assert!(blocks <= self.available(), "{blocks} blocks of {} free ones", self.available());
        // Those without contents are taken first.
        if let Some(before) = self.marked {
            self.marked = before.checked_sub(blocks.min(self.empty()));
        }
        self.used += blocks;
    }

    /// Gives `blocks` back.
    pub(crate) fn free(&mut self, blocks: u32) {
        self.used -= blocks;
    }

    /// A scheduler that keeps the cache itself uses so many blocks.
    pub(crate) fn set_used(&mut self, blocks: u32) {
        self.used = blocks;
    }

    /// Copies `blocks` of a preempted request to the host, if the host has room for them, and returns whether it has.
    pub(crate) fn swap_out(&mut self, blocks: u32) -> bool {
        let fits = blocks <= self.host_total.saturating_sub(self.host_used);
        if fits {
            self.host_used += blocks;
        }
        fits
    }

    /// Copies the `kept` blocks of a preempted request back from the host, into `blocks` that are known to be free.
    pub(crate) fn swap_in(&mut self, kept: u32, blocks: u32) {
        self.free_host(kept);
        self.allocate(blocks);
    }

    /// The host forgets `blocks`.
    pub(crate) fn free_host(&mut self, blocks: u32) {
        self.host_used -= blocks;
    }

    /// What admitted requests asked the prefix cache for; none without one.
    pub(crate) fn prefix_lookups(&self) -> Option<PrefixLookups> {
        self.blocks.as_ref().map(|cache| cache.asked)
    }

    /// Tokens in a block of the block size.
    pub(crate) fn block_size(&self) -> u32 {
        self.block_size
    }

    /// Tokens in a block that events tell of.
    pub(crate) fn event_block_tokens(&self) -> u32 {
        self.groups.first().map_or(self.block_size, |group| group.block_tokens)
    }

    /// From now on a router is told of every change.
    pub(crate) fn keep_changes(&mut self) {
        if let Some(cache) = &mut self.blocks {
            cache.keep_changes();
        }
    }

    /// What changes from now on, changes at this time.
    #[inline]
    pub(crate) fn set_clock(&mut self, now_us: f64) {
        if let Some(watch) = self.blocks.as_mut().and_then(|cache| cache.watch.as_mut()) {
            watch.now_us = now_us;
        }
    }

    /// What changed since the last call.
    pub(crate) fn drain_changes(&mut self) -> Vec<BlockChange> {
        self.blocks.as_mut().map(BlockCache::take_changes).unwrap_or_default()
    }

    /// A router that asks is told of changes on the host.
    pub(crate) fn tell_of_host(&mut self, changes: impl IntoIterator<Item = (u32, bool)>) {
        let Some(cache) = &mut self.blocks else { return };
        changes.into_iter().for_each(|(number, is_stored)| cache.tell_of_host(number, is_stored));
    }

    /// Whether the GPU has a block with this number.
    pub(crate) fn has(&self, number: u32) -> bool {
        self.blocks.as_ref().is_some_and(|cache| cache.find(BlockContents::numbered(number)).is_some())
    }

    /// The numbers of the first blocks of a request, up to one that no other request has.
    pub(crate) fn numbers_of(&self, id: RequestId, most: u32) -> Numbers<'_> {
        self.blocks.as_ref().map(|cache| cache.numbers_of(id, most)).unwrap_or_default()
    }

    /// Whether all layers keep every token, in one group.
    pub(crate) fn keeps_all_tokens(&self) -> bool {
        matches!(self.groups[..], [BlockGroup { kind: KvGroup::Full, .. }])
    }

    /// Whether blocks of all groups hold as many tokens, so that a request fills them at once.
    pub(crate) fn fills_alike(&self) -> bool {
        self.groups.iter().all(|group| group.block_tokens == self.block_size)
    }

    /// How many of a group's blocks hold the tokens of `blocks` of the block size.
    fn blocks_in(&self, group: &BlockGroup, blocks: u32) -> u32 {
        blocks / (group.block_tokens / self.block_size).max(1)
    }

    /// How many of the first `most` blocks of the block size of a request are cached in each group that needs them, and how many of
    /// those that it would use no request holds.
    pub(crate) fn get_computed_blocks(&self, id: RequestId, most: u32) -> (u32, u32) {
        self.blocks.as_ref().map_or((0, 0), |cache| cache.known(id, most))
    }

    /// Blocks that a waiting request takes whose first `cached` blocks are cached, to have `tokens`.
    pub(crate) fn blocks_to_admit(&self, cached: u32, tokens: u32) -> u32 {
        let of_group =
            |group: &BlockGroup| group.table_blocks(tokens).saturating_sub(self.blocks_in(group, cached));
        self.groups.iter().map(of_group).sum()
    }

    /// The same for all its tokens, of which a window keeps the last ones only (`full_sequence_must_fit`).
    pub(crate) fn blocks_for_whole(&self, cached: u32, tokens: u32) -> u32 {
        let of_group = |(group, &most): (&BlockGroup, &u32)| {
            group.table_blocks(tokens).min(most).saturating_sub(self.blocks_in(group, cached))
        };
        self.groups.iter().zip(&self.most_blocks).map(of_group).sum()
    }

    /// What a request holds before it is admitted: nothing.
    pub(crate) fn no_blocks(&self) -> Held {
        Held::of_groups(self.groups.len())
    }

    /// A request of `tokens` is admitted and uses its first `count` blocks, which are cached.
    pub(crate) fn touch_blocks(&mut self, id: RequestId, tokens: u32, count: u32, held: &mut Held) {
        let Some(cache) = &mut self.blocks else { return };
        let before = cache.idle();
        cache.share(id, count, held);
        self.used += before - cache.idle();
        cache.asked.tokens += u64::from(tokens);
        cache.asked.cached_tokens += u64::from(count * cache.block_size());
    }

    /// So many tokens of a request that was looked up are loaded from a lower tier.
    pub(crate) fn count_loaded(&mut self, tokens: u32) {
        if let Some(cache) = &mut self.blocks {
            cache.asked.host_tokens += u64::from(tokens);
        }
    }

    /// Blocks that a request lacks to have `tokens`.
    pub(crate) fn blocks_to_take(&self, tokens: u32, held: &Held) -> u32 {
        let lacks = |(group, held): (&BlockGroup, &held::GroupBlocks)| {
            group.table_blocks(tokens).saturating_sub(held.table_len())
        };
        self.groups.iter().zip(held.groups()).map(lacks).sum()
    }

    /// A request takes the blocks that it lacks to have `tokens`, which are known to be free.
    pub(crate) fn take_blocks(&mut self, tokens: u32, held: &mut Held) {
        let count = self.write_down(tokens, held);
        self.take_unwritten(count);
    }

    /// The blocks that a request lacks to have `tokens` are its own. Returns how many.
    pub(crate) fn write_down(&self, tokens: u32, held: &mut Held) -> u32 {
        let mut count = 0;
        for (group, held) in self.groups.iter().zip(held.groups_mut()) {
            let lacks = group.table_blocks(tokens).saturating_sub(held.table_len());
            held.plain += lacks;
            count += lacks;
        }
        count
    }

    /// How many blocks a request takes whose next token begins a new one: one of each group whose blocks hold tokens. Blocks of all
    /// groups hold as many ([`Self::fills_alike`]).
    pub(crate) fn blocks_at_border(&self) -> u32 {
        self.groups.iter().filter(|group| group.kind != KvGroup::State).count() as u32
    }

    /// After how many processed tokens a request gives a further block back while it runs; `None`: it never does.
    pub(crate) fn next_skip(&self, held: &Held) -> Option<u32> {
        let groups = self.groups.iter().zip(held.groups());
        groups.filter_map(|(group, held)| group.next_skip(held.skipped)).min()
    }

    /// How many blocks come free once this many tokens of each of these requests are processed.
    pub(crate) fn blocks_to_skip<'a>(&self, requests: impl Iterator<Item = (u32, &'a Held)>) -> u32 {
        // Blocks that other requests may hold, too, come free with their last request.
        let (mut count, mut shared) = (0, Vec::new());
        for (processed, held) in requests {
            for (group, held) in self.groups.iter().zip(held.groups()) {
                let skips = group.skipped_blocks(processed).saturating_sub(held.skipped) as usize;
                let cached = &held.cached[..skips.min(held.cached.len())];
                shared.extend_from_slice(cached);
                count += (skips - cached.len()) as u32;
            }
        }
        count + self.blocks.as_ref().map_or(0, |cache| cache.freed_by(shared))
    }

    /// Blocks of a request that has `tokens`, those included that are not written down.
    pub(crate) fn blocks_held(&self, tokens: u32, held: &Held) -> u32 {
        held.count() + self.blocks_to_take(tokens, held)
    }

    /// Groups that look back over a window give back the blocks of a request that no later token looks at, `processed` of whose
    /// tokens are computed (`remove_skipped_blocks`).
    pub(crate) fn remove_skipped_blocks(&mut self, id: RequestId, processed: u32, held: &mut Held) {
        if self.keeps_all_tokens() {
            return;
        }
        for (place, (group, held)) in self.groups.iter().zip(held.groups_mut()).enumerate() {
            let until = group.skipped_blocks(processed).min(held.table_len());
            if until <= held.skipped {
                continue;
            }
            self.used -= match &mut self.blocks {
                Some(cache) => cache.skip(place, id, until, held),
                None => held.skip_plain(until),
            };
        }
    }

    /// Requests take `count` more blocks, which are known to be free; whose they are is written down later.
    pub(crate) fn take_unwritten(&mut self, count: u32) {
        self.allocate(count);
        let free = self.available();
        if let Some(cache) = &mut self.blocks {
            cache.trim(free);
        }
    }

    /// The first `tokens` of a request are processed, or scheduled to be.
    pub(crate) fn cache_blocks(&mut self, id: RequestId, tokens: u32, held: &mut Held) {
        if let Some(cache) = &mut self.blocks {
            cache.learn(id, tokens, held);
        }
    }

    /// After how many tokens of a request a further block of it can be found by others; `None`: none of it can.
    pub(crate) fn next_named_block(&self, id: RequestId, held: &Held) -> Option<u32> {
        self.blocks.as_ref()?.next_named(id, held)
    }

    /// The cached blocks, where there are any: a tier below asks what is in them.
    pub(crate) fn cached_blocks(&mut self) -> Option<&mut BlockCache> {
        self.blocks.as_mut()
    }

    /// A free block without contents is remembered, before which so many are taken.
    pub(crate) fn mark_empty(&mut self, before: u32) {
        self.marked = Some(before);
    }

    /// How many blocks are taken before the one that was remembered; `None`: it was taken. It is remembered no more.
    pub(crate) fn take_marked(&mut self) -> Option<u32> {
        self.marked.take()
    }

    /// A copy holds a cached block until it has ended.
    pub(crate) fn hold_block(&mut self, block: u32) {
        let cache = self.blocks.as_mut().expect("blocks are copied that are cached");
        self.used += u32::from(cache.hold(block));
    }

    /// A copy holds a cached block no more.
    pub(crate) fn give_block_back(&mut self, block: u32) {
        let cache = self.blocks.as_mut().expect("blocks are copied that are cached");
        self.used -= cache.give_back(block);
    }

    /// A request gives its blocks back; one that is resumed later looks them up then.
    pub(crate) fn free_blocks(&mut self, id: RequestId, held: &mut Held, is_resumed_later: bool) {
        self.marked = self.marked.map(|before| before + held.empty());
        self.used -= match &mut self.blocks {
            Some(cache) => cache.release(id, held, is_resumed_later),
            None => std::mem::take(held).count(),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::kv_groups::{KvGroups, KvGroupsOfKind};
    use crate::config::{SchedulerKind, VllmRules};

    fn cache(config: &PoolConfig) -> KvCache {
        let facts = config.scheduler.rules().facts(config);
        KvCache::new(config, &[], 1 + facts.batches_ahead)
    }

    #[test]
    fn blocks_are_allocated_swapped_and_freed() {
        let preemption = Preemption::Swap { host_blocks: 3, us_per_block: 1.0 };
        let mut cache = cache(&PoolConfig { blocks: 10, preemption, ..PoolConfig::default() });
        cache.allocate(7);
        assert_eq!((cache.used(), cache.available(), cache.host_used()), (7, 3, 0));
        cache.free(4);
        assert!(!cache.swap_out(4) && cache.swap_out(3) && !cache.swap_out(1));
        assert_eq!((cache.used(), cache.host_used()), (3, 3));
        cache.swap_in(3, 4);
        assert_eq!((cache.used(), cache.available(), cache.host_used()), (7, 3, 0));
        assert!(cache.prefix_lookups().is_none());
    }

    /// gpt-oss-20b with 20 GiB: 12 layers of full attention and 12 with a window of 128 tokens.
    #[test]
    fn a_window_group_gives_blocks_back_while_a_request_runs() {
        let of = |kind| KvGroupsOfKind { kind, count: 1, ratio: 1 };
        let kinds = [KvGroup::SlidingWindow(128), KvGroup::Full].map(of);
        let kv_groups = KvGroups::new(&kinds).expect("groups");
        let config = PoolConfig {
            scheduler: SchedulerKind::VllmV1,
            blocks: 54_612,
            max_batch_tokens: 8_192,
            max_request_tokens: 131_072,
            kv_groups,
            vllm: VllmRules { async_scheduling: false, ..VllmRules::default() },
            ..PoolConfig::default()
        };
        let mut cache = self::cache(&config);
        assert_eq!((cache.blocks_to_admit(0, 8_010), cache.blocks_for_whole(0, 8_010)), (1_002, 1_002));
        assert_eq!(cache.blocks_for_whole(0, 100_000), 6_250 + 521);
        let (id, mut held) = (RequestId::new(0), cache.no_blocks());
        cache.take_blocks(8_010, &mut held);
        assert_eq!((cache.used(), held.count()), (1_002, 1_002));
        cache.remove_skipped_blocks(id, 8_010, &mut held);
        cache.take_blocks(8_011, &mut held);
        assert_eq!((cache.used(), held.count()), (501 + 9, 501 + 9));
        cache.free_blocks(id, &mut held, false);
        assert_eq!((cache.used(), held.count()), (0, 0));
    }
}
