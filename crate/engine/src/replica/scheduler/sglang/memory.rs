//! The KV memory of a replica: free tokens, those that requests hold, and the tree (mem_cache/common.py, mem_cache/allocation.py).

use crate::config::PoolConfig;
use crate::replica::kv_cache::KvCache;

use super::contents::Contents;
use super::radix_tree::RadixTree;
use super::request::{Done, Request};

/// The memory of one replica.
#[derive(Debug, Clone)]
pub(super) struct Memory {
    page: u32,
    pool: u32,
    free: u32,
    evicted: u64,
    /// `None` where nothing is cached (`disable_radix_cache`).
    tree: Option<RadixTree>,
}

impl Memory {
    pub(super) fn new(config: &PoolConfig, contents: Contents) -> Self {
        let page = config.block_size;
        let pool = config.blocks.saturating_mul(page);
        let tree =
            config.prefix_cache.then(|| RadixTree::new(page, config.sglang.radix_eviction_policy, contents));
        Self { page, pool, free: pool, evicted: 0, tree }
    }

    pub(super) fn page(&self) -> u32 {
        self.page
    }

    /// Tokens of the whole pool.
    pub(super) fn pool(&self) -> u32 {
        self.pool
    }

    pub(super) fn free(&self) -> u32 {
        self.free
    }

    /// Tokens that were evicted so far.
    pub(super) fn evicted(&self) -> u64 {
        self.evicted
    }

    pub(super) fn caches(&self) -> bool {
        self.tree.is_some()
    }

    pub(super) fn tree(&self) -> Option<&RadixTree> {
        self.tree.as_ref()
    }

    pub(super) fn tree_mut(&mut self) -> Option<&mut RadixTree> {
        self.tree.as_mut()
    }

    pub(super) fn evictable(&self) -> u32 {
        self.tree.as_ref().map_or(0, RadixTree::evictable)
    }

    /// Tokens that are free or could be.
    pub(super) fn available(&self) -> u32 {
        self.free + self.evictable()
    }

    /// So many tokens in whole pages.
    pub(super) fn up(&self, tokens: u32) -> u32 {
        tokens.div_ceil(self.page) * self.page
    }

    /// Whole pages of so many tokens.
    pub(super) fn down(&self, tokens: u32) -> u32 {
        tokens / self.page * self.page
    }

    /// Evicts until so many tokens are free, if that can be.
    pub(super) fn evict_until(&mut self, tokens: u32) {
        if let Some(tree) = &mut self.tree
            && self.free < tokens
        {
            let gone = tree.evict(tokens - self.free);
            self.free += gone;
            self.evicted += u64::from(gone);
        }
    }

    /// Takes tokens that are free. Says whether they are.
    pub(super) fn take(&mut self, tokens: u32) -> bool {
        let left = self.free.checked_sub(tokens);
        self.free = left.unwrap_or(self.free);
        left.is_some()
    }

    /// What a waiting request finds of its first tokens.
    pub(super) fn look_up(&mut self, request: &mut Request, tokens: u32) {
        if let Some(tree) = &mut self.tree {
            (request.node, request.prefix) = tree.look_up(&request.sequence, tokens);
        } else {
            request.prefix = 0;
        }
    }

    /// A request uses what it found in the tree.
    pub(super) fn lock_prefix(&mut self, request: &mut Request) {
        if let Some(tree) = &mut self.tree {
            tree.lock(request.node);
            request.lock = Some(request.node);
        }
    }

    /// What is available to a request beside the prefix that it found.
    pub(super) fn available_beside_prefix(&mut self, request: &Request) -> u32 {
        if let Some(tree) = &mut self.tree {
            tree.lock(request.node);
        }
        let available = self.available();
        if let Some(tree) = &mut self.tree {
            tree.unlock(request.node);
        }
        available
    }

    /// The tree keeps the whole pages of a request's first tokens, and is split behind the prompt.
    pub(super) fn checkpoint(&mut self, request: &mut Request, tokens: u32) {
        let tokens = tokens.min(request.seen);
        let (kept, prompt) = (self.down(tokens), self.down(request.prompt));
        let Some(tree) = self.tree.as_mut().filter(|_| tokens > 0) else { return };
        let owned = [request.owned, request.inserted];
        let reached = tree.insert(&request.sequence, kept, owned, request.priority);
        self.free += reached.twice;
        request.inserted = request.inserted.max(kept);
        if prompt > 0 && prompt < kept {
            tree.insert(&request.sequence, prompt, [prompt, prompt], request.priority.saturating_add(1));
        }
        if let Some(lock) = request.lock {
            tree.unlock(lock);
        }
        tree.lock(reached.node);
        (request.lock, request.node, request.owned) = (Some(reached.node), reached.node, kept);
    }

    /// A request that holds memory gives it back; `keeps`: the tree keeps what it has computed.
    pub(super) fn release(&mut self, request: &mut Request, keeps: bool) {
        let has =
            if request.done == Some(Done::Complete) { request.kv.min(request.fill()) } else { request.kv };
        if keeps {
            request.seen = request.fill();
            self.checkpoint(request, has);
        }
        self.free += self.up(request.kv) - request.owned;
        if let (Some(tree), Some(lock)) = (&mut self.tree, request.lock.take()) {
            tree.unlock(lock);
        }
        (request.has_slot, request.kv) = (false, 0);
    }

    /// Tokens of pages that a decode of a request takes.
    pub(super) fn new_page(&self, request: &Request) -> u32 {
        if request.kv.is_multiple_of(self.page) { self.page } else { 0 }
    }

    /// The books of the replica follow: what is not free and could not be is used.
    pub(super) fn tell(&self, kv: &mut KvCache) {
        kv.set_used((self.pool - self.available()) / self.page);
    }
}
