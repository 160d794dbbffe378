//! Unified paging as S-LoRA has it (Sheng et al., MLSys 2024): adapters take blocks of the KV pool while requests use them. The
//! host keeps all of them, so none comes from the disk.
//!
//! S-LoRA keeps no cache: when requests have left, what the remaining batch does not use is offloaded. Here that is at the end
//! of their iteration, and at once where a preemption looks for memory.

use servescope_workload::Trace;

use super::{AdapterConfig, Loaded};
use crate::adapters::AdapterPool;
use crate::fleet::kv_cache::KvCache;

/// The adapters in the KV pool.
#[derive(Debug)]
pub(super) struct Unified {
    pool: AdapterPool,
    config: AdapterConfig,
    block_size: u32,
    tokens: u32,
    /// Who goes, while they go.
    gone: Vec<u32>,
}

impl Unified {
    pub(super) fn new(config: &AdapterConfig, block_size: u32, trace: &Trace) -> Self {
        let pool = AdapterPool::new(trace.adapter_count(), &trace.adapter_rank);
        Self { pool, config: *config, block_size, tokens: 0, gone: Vec::new() }
    }

    fn blocks(&self, adapter: u32) -> u32 {
        self.config.blocks(self.pool.rank(adapter), self.block_size)
    }

    pub(super) fn blocks_to_load(&self, adapter: u32) -> u32 {
        if self.pool.is_resident(adapter) { 0 } else { self.blocks(adapter) }
    }

    /// Adapters in memory and the tokens of the pool that they take.
    pub(super) fn in_memory(&self) -> (u32, u32) {
        (self.pool.resident_count(), self.tokens)
    }

    pub(super) fn acquire(&mut self, kv: &mut KvCache, adapter: u32) -> Loaded {
        self.pool.acquire(adapter);
        if !self.pool.load(adapter) {
            return Loaded::No;
        }
        kv.take_for_adapter(self.blocks(adapter));
        self.tokens += self.config.pool_tokens(self.pool.rank(adapter));
        Loaded::FromHost { evicts: false }
    }

    pub(super) fn release(&mut self, adapter: u32) {
        self.pool.release(adapter);
    }

    /// Says how many went.
    pub(super) fn offload_unused(&mut self, kv: &mut KvCache) -> u64 {
        let mut gone = std::mem::take(&mut self.gone);
        self.pool.offload_unused(|adapter| gone.push(adapter));
        for &adapter in &gone {
            kv.free_adapter(self.blocks(adapter));
            self.tokens -= self.config.pool_tokens(self.pool.rank(adapter));
        }
        let count = gone.len() as u64;
        gone.clear();
        self.gone = gone;
        count
    }

    pub(super) fn audit(&self, holders: &[u32], kv: &KvCache) -> bool {
        let mut used = holders.to_vec();
        used.sort_unstable();
        used.dedup();
        let blocks: u32 = used.iter().map(|&adapter| self.blocks(adapter)).sum();
        blocks == kv.adapter_blocks()
            && used.len() == self.pool.resident_count() as usize
            && used.iter().all(|&adapter| self.pool.is_resident(adapter))
    }
}
