//! Host memory that is kept as the GPU's is: a pool of blocks of which the longest unused one goes first
//! (vllm/v1/core/block_pool.py, which the simple connector has a second one of).

use std::sync::Arc;

use crate::config::kv_groups::{BlockGroup, KvGroup};
use crate::replica::kv_cache::{BlockCache, BlockContents};

#[derive(Debug, Clone)]
pub(super) struct HostPool {
    cache: BlockCache,
    total: u32,
    /// Blocks that copies hold.
    used: u32,
}

impl HostPool {
    /// A pool for so many blocks, one of which vLLM keeps for itself.
    pub(super) fn new(blocks: u32, block_size: u32) -> Self {
        let group = BlockGroup { kind: KvGroup::Full, block_tokens: block_size };
        // It is asked by contents, not by requests.
        let cache = BlockCache::new(block_size, [(group, Arc::default())]);
        Self { cache, total: blocks.saturating_sub(1), used: 0 }
    }

    /// Blocks that are free or can be forgotten.
    pub(super) fn free(&self) -> u32 {
        self.total - self.used
    }

    /// Blocks that hold nothing.
    pub(super) fn empty(&self) -> u32 {
        self.free().saturating_sub(self.cache.idle())
    }

    pub(super) fn has(&self, contents: BlockContents) -> bool {
        self.find(contents).is_some()
    }

    pub(super) fn keep_changes(&mut self) {
        self.cache.keep_changes();
    }

    pub(super) fn take_changes(&mut self) -> Vec<(u32, bool)> {
        self.cache.take_changes().into_iter().map(|change| (change.block, change.is_stored)).collect()
    }

    pub(super) fn find(&self, contents: BlockContents) -> Option<u32> {
        self.cache.find(contents)
    }

    /// Takes blocks that are known to be free, for what is being copied.
    pub(super) fn take(&mut self, blocks: u32) {
        self.used += blocks;
        self.cache.trim(self.free());
    }

    /// One of the blocks that were taken holds these contents, and can be found.
    pub(super) fn fill(&mut self, contents: BlockContents) {
        let block = self.cache.keep(contents);
        self.give_back(block);
    }

    /// A block stays until it is given back.
    pub(super) fn hold(&mut self, block: u32) {
        self.used += u32::from(self.cache.hold(block));
    }

    pub(super) fn give_back(&mut self, block: u32) {
        self.used -= self.cache.give_back(block);
    }
}
