//! The KV cache manager of one replica: its blocks in GPU memory, those that the host keeps of preempted requests, and the
//! prefixes that requests share. No other file changes these counters. (vLLM: vllm/v1/core/kv_cache_manager.py.)

mod blocks;

use servescope_workload::{RequestId, Trace};

use crate::config::{PoolConfig, Preemption};
use crate::record::request_timings::PrefixLookups;
use blocks::BlockCache;

pub(crate) use blocks::Held;

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
    /// The prefix cache, which vLLM v1 has.
    blocks: Option<BlockCache>,
}

impl KvCache {
    /// An empty cache.
    pub(crate) fn new(config: &PoolConfig, caches_prefixes: bool) -> Self {
        let host_total = match config.preemption {
            Preemption::Swap { host_blocks, .. } => host_blocks,
            _ => 0,
        };
        let keeps_blocks = config.prefix_cache && caches_prefixes;
        let blocks = keeps_blocks.then(|| BlockCache::new(config.block_size));
        Self { total: config.blocks, used: 0, adapters: 0, host_total, host_used: 0, blocks }
    }

    /// Blocks that requests use.
    pub(crate) fn used(&self) -> u32 {
        self.used
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

    /// Blocks that the host keeps.
    pub(crate) fn host_used(&self) -> u32 {
        self.host_used
    }

    /// Takes blocks that are known to be free.
    pub(crate) fn allocate(&mut self, blocks: u32) {
        debug_assert!(blocks <= self.available(), "{blocks} blocks of {} free ones", self.available());
        self.used += blocks;
    }

    /// Gives `blocks` back.
    pub(crate) fn free(&mut self, blocks: u32) {
        self.used -= blocks;
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

    /// How many of the first `most` blocks of a request are cached, and how many of these no request uses.
    pub(crate) fn get_computed_blocks(&self, trace: &Trace, id: RequestId, most: u32) -> (u32, u32) {
        self.blocks.as_ref().map_or((0, 0), |cache| cache.known(trace, id, most))
    }

    /// A request of `tokens` is admitted and uses its first `count` blocks, which are cached.
    pub(crate) fn touch_blocks(
        &mut self,
        trace: &Trace,
        id: RequestId,
        tokens: u32,
        count: u32,
        held: &mut Held,
    ) {
        let Some(cache) = &mut self.blocks else { return };
        let before = cache.idle();
        cache.share(trace, id, count, held);
        self.used += before - cache.idle();
        cache.asked.tokens += u64::from(tokens);
        cache.asked.cached_tokens += u64::from(count * cache.block_size());
    }

    /// A request takes `count` more blocks, which are known to be free.
    pub(crate) fn take_blocks(&mut self, count: u32, held: &mut Held) {
        held.take(count);
        self.take_unwritten(count);
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
    pub(crate) fn cache_blocks(&mut self, trace: &Trace, id: RequestId, tokens: u32, held: &mut Held) {
        if let Some(cache) = &mut self.blocks {
            cache.learn(trace, id, tokens, held);
        }
    }

    /// After how many tokens of a request a further block of it can be found by others; `None`: none of it can.
    pub(crate) fn next_named_block(&self, trace: &Trace, id: RequestId, held: &Held) -> Option<u32> {
        self.blocks.as_ref()?.next_named(trace, id, held)
    }

    /// A request gives its blocks back; one that is resumed later looks them up then.
    pub(crate) fn free_blocks(&mut self, id: RequestId, held: &mut Held, is_resumed_later: bool) {
        self.used -= match &mut self.blocks {
            Some(cache) => cache.release(id, held, is_resumed_later),
            None => std::mem::take(held).count(),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_allocated_swapped_and_freed() {
        let preemption = Preemption::Swap { host_blocks: 3, us_per_block: 1.0 };
        let config = PoolConfig { blocks: 10, preemption, ..PoolConfig::default() };
        let mut cache = KvCache::new(&config, false);
        cache.allocate(7);
        assert_eq!((cache.used(), cache.available(), cache.host_used()), (7, 3, 0));
        cache.free(4);
        assert!(!cache.swap_out(4) && cache.swap_out(3) && !cache.swap_out(1));
        assert_eq!((cache.used(), cache.host_used()), (3, 3));
        cache.swap_in(3, 4);
        assert_eq!((cache.used(), cache.available(), cache.host_used()), (7, 3, 0));
        assert!(cache.prefix_lookups().is_none());
    }
}
