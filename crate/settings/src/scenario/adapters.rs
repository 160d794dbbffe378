//! The scenario's adapters: where replicas keep them, what of the memory they take, how long loading one takes.

use servescope_engine::{AdapterConfig, AdapterLoading, AdapterMemory, TOKENS_PER_RANK};
use servescope_workload::Trace;

use super::{CostKind, Scenario};
use crate::diagnostic::Diagnostic;
use crate::parameters::{Id, Value, choices};

/// The ranks of the adapters that requests ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AdapterRanks {
    /// Of all adapters together.
    pub sum: u64,
    /// The largest.
    pub largest: u32,
    /// How many adapters.
    pub count: u32,
}

impl AdapterRanks {
    /// Those of a trace.
    pub fn of(trace: &Trace) -> Self {
        Self {
            sum: trace.adapter_rank.iter().map(|&rank| u64::from(rank)).sum(),
            largest: trace.adapter_rank.iter().copied().max().unwrap_or(0),
            count: trace.adapter_count() as u32,
        }
    }
}

impl Scenario {
    /// Where the scheduler's own system keeps adapters.
    pub(super) fn usual_memory(&self) -> Value {
        choices::ADAPTER_MEMORY.value(self.scheduler().adapter_memory)
    }
}

impl Scenario {
    /// The ranks of the adapters that a scenario's own traffic asks for.
    pub fn adapter_ranks(&self) -> AdapterRanks {
        let count = self.whole(Id::Adapters);
        let list = self.list(Id::Ranks);
        let ranks = || list.iter().cycle().take(if list.is_empty() { 0 } else { count as usize });
        AdapterRanks {
            sum: ranks().map(|&rank| rank as u64).sum(),
            largest: ranks().map(|&rank| rank as u32).max().unwrap_or(0),
            count,
        }
    }

    /// The rank for which each LoRA slot has memory.
    pub fn slot_rank(&self, ranks: AdapterRanks) -> u32 {
        Some(self.whole(Id::MaxLoraRank)).filter(|&rank| rank > 0).unwrap_or(ranks.largest)
    }

    /// Sum of the ranks for which memory is set apart beside the KV pool; 0 where no request asks for an adapter.
    pub fn reserved_ranks(&self, ranks: AdapterRanks) -> u64 {
        match self.chosen(choices::ADAPTER_MEMORY) {
            _ if ranks.count == 0 => 0,
            AdapterMemory::Unified => 0,
            AdapterMemory::Slots => u64::from(self.whole(Id::MaxLoras)) * u64::from(self.slot_rank(ranks)),
            AdapterMemory::Resident => ranks.sum,
        }
    }

    /// Tokens' worth of KV memory that a unit of rank takes: by the bytes of the model, under the linear model as in S-LoRA.
    fn tokens_per_rank(&self) -> f64 {
        if self.cost_kind() == CostKind::Linear {
            return f64::from(TOKENS_PER_RANK);
        }
        self.deployment().adapter_bytes_per_rank() / self.kv_token_bytes()
    }

    /// Tokens' worth of KV memory that is set apart for adapters.
    pub(super) fn reserved_tokens(&self, ranks: AdapterRanks) -> u32 {
        (self.tokens_per_rank() * self.reserved_ranks(ranks) as f64).ceil() as u32
    }

    /// The adapters of each replica.
    pub(super) fn fleet_adapters(&self, ranks: AdapterRanks) -> AdapterConfig {
        let max_loras = self.whole(Id::MaxLoras);
        AdapterConfig {
            memory: self.chosen(choices::ADAPTER_MEMORY),
            max_loras,
            max_lora_rank: self.slot_rank(ranks),
            max_cpu_loras: self.whole(Id::MaxCpuLoras).max(max_loras),
            reserved_tokens: self.reserved_tokens(ranks),
            tokens_per_rank: self.tokens_per_rank(),
            prefetch: self.is_active(Id::PrefetchAdapters) && self.flag(Id::PrefetchAdapters),
            loading: self.adapter_loading(),
        }
    }

    /// By the linear model as in S-LoRA; otherwise at the bandwidths. Every GPU loads its part of an adapter at the same
    /// time; from the disk it is read once.
    fn adapter_loading(&self) -> AdapterLoading {
        if self.cost_kind() == CostKind::Linear {
            let us = |id: Id| self.number(id) * 1e3;
            let (base_us, host_us_per_rank) = (us(Id::LoadBase), us(Id::LoadPerRank));
            return AdapterLoading { base_us, host_us_per_rank, disk_us_per_rank: 0.0 };
        }
        let deployment = self.deployment();
        let whole_bytes = 2.0 * deployment.model.adapter_parameters_per_rank();
        let us = |bytes: f64, id: Id| bytes / (self.number(id) * 1e3);
        AdapterLoading {
            base_us: 0.0,
            host_us_per_rank: us(deployment.adapter_bytes_per_rank(), Id::HostRate),
            disk_us_per_rank: us(whole_bytes, Id::DiskRate),
        }
    }

    /// A host that keeps fewer adapters than there are slots, which vLLM rejects.
    pub(super) fn adapter_problems(&self) -> Option<Diagnostic> {
        let (slots, host) = (self.number(Id::MaxLoras), self.number(Id::MaxCpuLoras));
        let is_bad = self.is_active(Id::MaxCpuLoras) && host > 0.0 && host < slots;
        is_bad.then(|| Diagnostic::out_of_range(Id::MaxCpuLoras.row().id, host, slots, 100_000.0))
    }
}

/// Why a pool of this many tokens is too small for the adapters.
pub(super) fn adapters_over_pool(reserved: u32, pool: u32) -> Diagnostic {
    let path = Id::AdapterMemory.row().id;
    let message = format!(
        "{path}: the adapters take {reserved} tokens' worth of memory, and the memory pool has {pool}"
    );
    Diagnostic::error("adapters_over_pool", path, message)
        .number("reserved", reserved.into())
        .number("pool", pool.into())
}
