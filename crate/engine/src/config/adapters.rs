//! Where the LoRA adapters of a replica are kept, what of its memory they take, and how long loading one takes.

/// Pool tokens that one unit of an adapter's rank takes.
pub const TOKENS_PER_RANK: u32 = 4;

/// Where adapters are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdapterMemory {
    /// In the KV pool, as long as they are used (S-LoRA's unified paging).
    Unified,
    /// In slots of one size beside the KV pool, the least recently used replaced (vLLM).
    Slots,
    /// All of them, from the start, beside the KV pool.
    Resident,
}

/// How long loading an adapter takes: `base_us`, and for each unit of its rank the way from the host to the GPU, and before it
/// that from the disk where the host does not keep it. Microseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdapterLoading {
    /// For each load.
    pub base_us: f64,
    /// For each unit of rank, from the host to the GPU.
    pub host_us_per_rank: f64,
    /// For each unit of rank, from the disk to the host.
    pub disk_us_per_rank: f64,
}

impl AdapterLoading {
    /// Loading takes no time.
    pub const FREE: Self = Self { base_us: 0.0, host_us_per_rank: 0.0, disk_us_per_rank: 0.0 };

    /// How long loading an adapter of a rank takes, microseconds.
    pub(crate) fn us(&self, rank: u32, is_on_host: bool) -> f64 {
        let disk_us_per_rank = if is_on_host { 0.0 } else { self.disk_us_per_rank };
        self.base_us + (self.host_us_per_rank + disk_us_per_rank) * f64::from(rank)
    }
}

/// The adapters of every replica of a fleet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdapterConfig {
    /// Where they are kept.
    pub memory: AdapterMemory,
    /// Slots: most distinct adapters of the requests that hold memory (vLLM: `--max-loras`).
    pub max_loras: u32,
    /// Slots: a request whose adapter has a larger rank is rejected (vLLM: `--max-lora-rank`).
    pub max_lora_rank: u32,
    /// Slots: adapters that the host keeps, those in GPU memory counted (vLLM: `--max-cpu-loras`).
    pub max_cpu_loras: u32,
    /// Slots and resident adapters: tokens' worth of KV memory set apart for them, which [`super::PoolConfig::blocks`] does
    /// not count.
    pub reserved_tokens: u32,
    /// Unified: tokens' worth of the KV pool that a unit of rank takes.
    pub tokens_per_rank: f64,
    /// Unified: whether the adapter of the head of the waiting queue is loaded while iterations run.
    pub prefetch: bool,
    /// How long loading takes.
    pub loading: AdapterLoading,
}

impl AdapterConfig {
    /// Adapters that are there from the start and take no memory.
    pub const FREE: Self = Self {
        memory: AdapterMemory::Resident,
        max_loras: u32::MAX,
        max_lora_rank: u32::MAX,
        max_cpu_loras: u32::MAX,
        reserved_tokens: 0,
        tokens_per_rank: 0.0,
        prefetch: false,
        loading: AdapterLoading::FREE,
    };

    /// Whether adapters are loaded ahead.
    pub(crate) fn loads_ahead(&self) -> bool {
        self.prefetch && self.memory == AdapterMemory::Unified
    }

    /// KV blocks of `block_size` tokens that an adapter takes.
    pub(crate) fn blocks(&self, rank: u32, block_size: u32) -> u32 {
        match self.memory {
            AdapterMemory::Unified if rank > 0 => self.pool_tokens(rank).div_ceil(block_size),
            AdapterMemory::Unified | AdapterMemory::Slots | AdapterMemory::Resident => 0,
        }
    }

    /// Tokens' worth of the KV pool that an adapter takes.
    pub(crate) fn pool_tokens(&self, rank: u32) -> u32 {
        let tokens = self.tokens_per_rank * f64::from(rank);
        let whole = tokens as u32;
        whole.saturating_add(u32::from(f64::from(whole) < tokens))
    }
}
