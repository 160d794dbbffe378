//! The LoRA adapters of one replica: which of them are in GPU memory, which requests use them, and how long loading one
//! takes. S-LoRA's scheduler with unified memory keeps its own pool (`scheduler/slora/`), because its admission test counts it.
//!
//! An adapter is loaded when the first request that uses it is admitted, and the iteration waits for it: once for each, one
//! after the other. Where it is then, and when it goes, is for one of three memories to say: [`slots`], [`unified`] and
//! [`resident`]. In the KV pool the adapter of the next request may be loaded ahead, behind the iterations before its own.

pub mod pool;
mod resident;
pub(crate) mod seen;
mod slots;
mod unified;

use servescope_cost::LoraBatch;
use servescope_workload::{BASE_MODEL, Trace};

use super::adapter_users::{Users, entry};
use super::decode_batch::DecodeBatch;
use super::iteration::ScheduledBatch;
use super::kv_cache::KvCache;
use crate::config::adapters::{AdapterConfig, AdapterLoading, AdapterMemory};
use resident::Resident;
use slots::Slots;
use unified::Unified;

#[derive(Debug, Clone)]
enum AdapterStore {
    Unified(Unified),
    Slots(Slots),
    Resident(Resident),
}

/// The adapters of one replica.
#[derive(Debug, Clone)]
pub(crate) struct Adapters {
    memory: AdapterStore,
    loading: AdapterLoading,
    /// With slots: waiting requests by adapter, and how many of them may be admitted when every slot is used: those without an adapter,
    /// or with one that is.
    waiting: Vec<u32>,
    admissible_waiting: u32,
    /// Iterations formed so far, and the one in which each adapter was counted last.
    iteration: u64,
    counted: Vec<u64>,
    /// Times that an adapter was loaded.
    pub(crate) loads: u64,
    /// Times that one was evicted.
    pub(crate) evictions: u64,
}

impl Adapters {
    pub(crate) fn new(config: &AdapterConfig, block_size: u32, trace: &Trace) -> Self {
        Self {
            memory: match config.memory {
                AdapterMemory::Unified => AdapterStore::Unified(Unified::new(config, block_size, trace)),
                AdapterMemory::Slots => AdapterStore::Slots(Slots::new(config)),
                AdapterMemory::Resident => AdapterStore::Resident(Resident::new(trace)),
            },
            loading: config.loading,
            waiting: Vec::new(),
            admissible_waiting: 0,
            iteration: 0,
            counted: Vec::new(),
            loads: 0,
            evictions: 0,
        }
    }

    /// Whether a waiting request may be admitted as far as its adapter goes: where every slot is used, only if it is in one
    /// of them (vLLM: vllm/v1/core/sched/scheduler.py).
    pub(crate) fn admits(&self, adapter: u32) -> bool {
        match &self.memory {
            AdapterStore::Slots(slots) => adapter == BASE_MODEL || slots.admits(adapter),
            AdapterStore::Unified(_) | AdapterStore::Resident(_) => true,
        }
    }

    /// Whether the requests of a trace may want more adapters than there are slots.
    pub(crate) fn has_short_slots(&self, trace: &Trace) -> bool {
        matches!(&self.memory, AdapterStore::Slots(slots) if slots.max_loras() < trace.adapter_rank.len() as u32)
    }

    /// Whether no waiting request may be admitted, whichever it is.
    pub(crate) fn admits_none(&self) -> bool {
        self.admissible_waiting == 0 && matches!(&self.memory, AdapterStore::Slots(slots) if slots.is_full())
    }

    /// The adapters in slots that requests use.
    pub(crate) fn in_use(&self) -> &[u32] {
        match &self.memory {
            AdapterStore::Slots(slots) => &slots.in_use,
            AdapterStore::Unified(_) | AdapterStore::Resident(_) => &[],
        }
    }

    /// How many adapters may be in slots at once.
    pub(crate) fn max_loras(&self) -> u32 {
        match &self.memory {
            AdapterStore::Slots(slots) => slots.max_loras(),
            AdapterStore::Unified(_) | AdapterStore::Resident(_) => u32::MAX,
        }
    }

    /// A request joins the waiting queue.
    #[inline]
    pub(crate) fn waits(&mut self, adapter: u32) {
        if !matches!(self.memory, AdapterStore::Slots(_)) {
            return;
        }
        if adapter != BASE_MODEL {
            *entry(&mut self.waiting, adapter) += 1;
        }
        self.admissible_waiting += u32::from(self.is_admissible(adapter));
    }

    /// A request leaves it.
    #[inline]
    pub(crate) fn waits_no_more(&mut self, adapter: u32) {
        if !matches!(self.memory, AdapterStore::Slots(_)) {
            return;
        }
        if adapter != BASE_MODEL {
            *entry(&mut self.waiting, adapter) -= 1;
        }
        self.admissible_waiting -= u32::from(self.is_admissible(adapter));
    }

    #[inline]
    fn is_admissible(&self, adapter: u32) -> bool {
        adapter == BASE_MODEL
            || matches!(&self.memory, AdapterStore::Slots(slots) if slots.users.has(adapter))
    }

    /// KV blocks that loading the adapter of a waiting request takes; none where it is loaded.
    pub(crate) fn blocks_to_load(&self, adapter: u32) -> u32 {
        match &self.memory {
            AdapterStore::Unified(unified) if adapter != BASE_MODEL => unified.blocks_to_load(adapter),
            _ => 0,
        }
    }

    /// The adapter of the head of the waiting queue, for which there is room, is loaded while the iteration that begins now and
    /// those after it run.
    pub(crate) fn prefetch(&mut self, kv: &mut KvCache, adapter: u32, rank: u32, now_us: f64) {
        if let AdapterStore::Unified(unified) = &mut self.memory
            && adapter != BASE_MODEL
            && unified.load_ahead(kv, adapter, self.loading.us(rank, true), now_us)
        {
            self.loads += 1;
        }
    }

    /// Whether an adapter is loaded ahead for a waiting request.
    pub(crate) fn is_ahead(&self) -> bool {
        matches!(&self.memory, AdapterStore::Unified(unified) if unified.is_ahead())
    }

    /// Offloads an adapter that was loaded ahead, unless it is that of the next request.
    pub(crate) fn keep_ahead(&mut self, kv: &mut KvCache, next: Option<u32>) {
        if let AdapterStore::Unified(unified) = &mut self.memory {
            self.evictions += unified.keep_ahead(kv, next);
        }
    }

    /// A request is admitted; returns for how long the iteration waits for its adapter, microseconds.
    #[inline]
    pub(crate) fn acquire(&mut self, kv: &mut KvCache, adapter: u32, rank: u32, now_us: f64) -> f64 {
        if adapter == BASE_MODEL || self.all_resident() {
            return 0.0;
        }
        self.acquire_adapter(kv, adapter, rank, now_us)
    }

    /// Whether all of them are in GPU memory, and stay there.
    fn all_resident(&self) -> bool {
        matches!(self.memory, AdapterStore::Resident(_))
    }

    fn acquire_adapter(&mut self, kv: &mut KvCache, adapter: u32, rank: u32, now_us: f64) -> f64 {
        let loaded = match &mut self.memory {
            AdapterStore::Unified(unified) => unified.acquire(kv, adapter),
            AdapterStore::Slots(slots) => {
                if !slots.users.has(adapter) {
                    self.admissible_waiting += self.waiting.get(adapter as usize).copied().unwrap_or(0);
                }
                slots.acquire(adapter, rank)
            }
            AdapterStore::Resident(_) => Loaded::No,
        };
        let is_on_host = match loaded {
            Loaded::No => return 0.0,
            Loaded::Ahead { ready_us } => return (ready_us - now_us).max(0.0),
            Loaded::FromHost { evicts } | Loaded::FromDisk { evicts } => {
                self.evictions += u64::from(evicts);
                matches!(loaded, Loaded::FromHost { .. })
            }
        };
        self.loads += 1;
        self.loading.us(rank, is_on_host)
    }

    /// A request that was admitted leaves the batch.
    #[inline]
    pub(crate) fn release(&mut self, adapter: u32, rank: u32) {
        if adapter != BASE_MODEL && !self.all_resident() {
            self.release_adapter(adapter, rank);
        }
    }

    fn release_adapter(&mut self, adapter: u32, rank: u32) {
        match &mut self.memory {
            AdapterStore::Unified(unified) => unified.release(adapter),
            AdapterStore::Slots(slots) => {
                if slots.release(adapter, rank) {
                    self.admissible_waiting -= self.waiting.get(adapter as usize).copied().unwrap_or(0);
                }
            }
            AdapterStore::Resident(_) => {}
        }
    }

    /// Adapters in the KV pool that no request uses give their memory back.
    pub(crate) fn offload_unused(&mut self, kv: &mut KvCache) {
        if let AdapterStore::Unified(unified) = &mut self.memory {
            self.evictions += unified.offload_unused(kv);
        }
    }

    /// Adapters in GPU memory and the tokens' worth of the KV pool that they take.
    pub(crate) fn in_memory(&self) -> (u32, u32) {
        match &self.memory {
            AdapterStore::Unified(unified) => unified.in_memory(),
            AdapterStore::Slots(slots) => (slots.in_memory(), 0),
            AdapterStore::Resident(resident) => (resident.count, 0),
        }
    }

    /// What the LoRA operators of an iteration work on.
    pub(crate) fn batch(
        &mut self,
        trace: &Trace,
        decode_batch: &DecodeBatch,
        batch: &ScheduledBatch,
    ) -> LoraBatch {
        let mut lora = LoraBatch::default();
        if !batch.any_adapter {
            return lora;
        }
        self.iteration += 1;
        // What decodes is the decode batch, or the members of the batch.
        let decodes_together = batch.decodes > 0 && batch.members.is_empty();
        if decodes_together {
            lora = decode_batch.lora();
        }
        let chunks = batch.prompts.iter().zip(&batch.chunks).map(|(&id, chunk)| (id, chunk.tokens));
        for (id, tokens) in chunks.chain(batch.members.iter().map(|&id| (id, 1))) {
            let adapter = trace.adapter[id];
            if adapter == BASE_MODEL {
                continue;
            }
            let rank = u64::from(trace.rank_of(adapter));
            lora.tokens += tokens;
            lora.token_ranks += u64::from(tokens) * rank;
            let counted = entry(&mut self.counted, adapter);
            if *counted != self.iteration && !(decodes_together && decode_batch.users.has(adapter)) {
                lora.adapters += 1;
                lora.adapter_ranks += rank;
            }
            *counted = self.iteration;
        }
        lora
    }

    /// Says whether users and residents are what `holders`, the adapters of all requests that hold memory, make of them; for
    /// tests.
    pub(crate) fn audit(&self, holders: &[u32], kv: &KvCache) -> bool {
        match &self.memory {
            AdapterStore::Unified(unified) => unified.audit(holders, kv),
            AdapterStore::Slots(slots) => slots.audit(holders),
            AdapterStore::Resident(_) => true,
        }
    }
}

/// What admitting a request did to its adapter.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Loaded {
    /// Nothing: it is in GPU memory.
    No,
    /// It was loaded ahead, and is there at this time.
    Ahead { ready_us: f64 },
    /// It came from the host, maybe in place of another one.
    FromHost { evicts: bool },
    /// It came from the disk.
    FromDisk { evicts: bool },
}
