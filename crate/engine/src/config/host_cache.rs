//! A tier of host memory below the KV cache of a replica (vLLM's KV offloading: `--kv-offloading-size`).

/// Which of vLLM's two connectors keeps KV blocks in host memory. They differ in what they store, when, and in what a request does
/// whose block is being copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OffloadConnector {
    /// `OffloadingConnector`, the default of `--kv-offloading-size`
    /// (vllm/distributed/kv_transfer/kv_connector/v1/offloading/scheduler.py).
    Offloading,
    /// `SimpleCPUOffloadConnector`, with `VLLM_USE_SIMPLE_KV_OFFLOAD=1` (vllm/v1/simple_kv_offload/manager.py).
    SimpleCpu,
}

/// Which block leaves host memory where another one needs its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostEviction {
    /// The one that was used longest ago; of one request the end of its prompt first.
    Lru,
    /// vLLM's form of the adaptive replacement cache (vllm/v1/kv_offload/cpu/policies/arc.py).
    Arc,
}

/// Host memory of a replica for KV blocks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HostCache {
    /// Who keeps them.
    pub connector: OffloadConnector,
    /// For how many blocks there is room; at least 1.
    pub blocks: u32,
    /// Which one leaves (the simple connector always takes the one used longest ago).
    pub eviction: HostEviction,
    /// A block is stored when it is offered so often (`store_threshold`; `OffloadingConnector` alone).
    pub store_threshold: u32,
    /// Whether blocks of answers are left out (`offload_prompt_only`; `OffloadingConnector` alone).
    pub prompts_only: bool,
    /// Whether only blocks that are near their eviction from the GPU are stored (`lazy_offload`; the simple connector alone).
    pub lazy: bool,
    /// How long a copy takes beside its blocks, microseconds.
    pub base_us: f64,
    /// How long a block takes on the way to the GPU, microseconds.
    pub load_block_us: f64,
    /// How long a block takes on the way to the host, microseconds.
    pub store_block_us: f64,
}
