//! Unified paging as S-LoRA has it (Sheng et al., MLSys 2024): adapters take blocks of the KV pool while requests use them. The
//! host keeps all of them, so none comes from the disk.
//!
//! S-LoRA keeps no cache: when requests have left, what the remaining batch does not use is offloaded. Here that is at the end
//! of their iteration, and at once where a preemption looks for memory. What is loaded ahead for the head of the waiting queue
//! stays as long as it is the head.

use servescope_workload::Trace;

use super::super::kv_cache::KvCache;
use super::Loaded;
use super::pool::AdapterPool;
use crate::config::adapters::AdapterConfig;

/// An adapter that is loaded for a request which waits.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Ahead {
    adapter: u32,
    /// When it is there.
    ready_us: f64,
}

/// The adapters in the KV pool.
#[derive(Debug, Clone)]
pub(super) struct Unified {
    pool: AdapterPool,
    config: AdapterConfig,
    block_size: u32,
    tokens: u32,
    /// It counts as used.
    ahead: Option<Ahead>,
    /// When the link to the host has carried all that was loaded ahead.
    link_free_us: f64,
    /// The adapters to evict, while they are evicted.
    gone: Vec<u32>,
}

impl Unified {
    pub(super) fn new(config: &AdapterConfig, block_size: u32, trace: &Trace) -> Self {
        let pool = AdapterPool::new(trace.adapter_count(), &trace.adapter_rank);
        Self {
            pool,
            config: *config,
            block_size,
            tokens: 0,
            ahead: None,
            link_free_us: 0.0,
            gone: Vec::new(),
        }
    }

    fn blocks(&self, adapter: u32) -> u32 {
        self.config.blocks(self.pool.rank(adapter), self.block_size)
    }

    pub(super) fn blocks_to_load(&self, adapter: u32) -> u32 {
        if self.pool.is_resident(adapter) { 0 } else { self.blocks(adapter) }
    }

    /// The adapters as a pool.
    pub(super) fn pool(&self) -> &AdapterPool {
        &self.pool
    }

    /// Adapters in memory and the tokens of the pool that they take.
    pub(super) fn in_memory(&self) -> (u32, u32) {
        (self.pool.resident_count(), self.tokens)
    }

    pub(super) fn acquire(&mut self, kv: &mut KvCache, adapter: u32) -> Loaded {
        if let Some(ahead) = self.ahead.take_if(|ahead| ahead.adapter == adapter) {
            // What was loaded for a request that waits is now the request's.
            return Loaded::Ahead { ready_us: ahead.ready_us };
        }
        if self.load(kv, adapter) { Loaded::FromHost { evicts: false } } else { Loaded::No }
    }

    /// One more uses an adapter; says whether it is loaded for that.
    fn load(&mut self, kv: &mut KvCache, adapter: u32) -> bool {
        self.pool.acquire(adapter);
        let loads = self.pool.load(adapter);
        if loads {
            kv.take_for_adapter(self.blocks(adapter));
            self.tokens += self.config.pool_tokens(self.pool.rank(adapter));
        }
        loads
    }

    /// Says whether an adapter that takes `load_us` is loaded from now on for a request that waits.
    pub(super) fn load_ahead(&mut self, kv: &mut KvCache, adapter: u32, load_us: f64, now_us: f64) -> bool {
        if self.ahead.is_some() || self.pool.is_resident(adapter) {
            return false;
        }
        self.load(kv, adapter);
        self.link_free_us = self.link_free_us.max(now_us) + load_us;
        self.ahead = Some(Ahead { adapter, ready_us: self.link_free_us });
        true
    }

    pub(super) fn is_ahead(&self) -> bool {
        self.ahead.is_some()
    }

    /// Says how many went.
    pub(super) fn keep_ahead(&mut self, kv: &mut KvCache, next: Option<u32>) -> u64 {
        let Some(other) = self.ahead.take_if(|ahead| Some(ahead.adapter) != next) else { return 0 };
        self.pool.release(other.adapter);
        self.offload_unused(kv)
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
        used.extend(self.ahead.map(|ahead| ahead.adapter));
        used.sort_unstable();
        used.dedup();
        let blocks: u32 = used.iter().map(|&adapter| self.blocks(adapter)).sum();
        blocks == kv.adapter_blocks()
            && used.len() == self.pool.resident_count() as usize
            && used.iter().all(|&adapter| self.pool.is_resident(adapter))
    }
}
