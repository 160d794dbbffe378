//! What lies in a GPU's memory, beside the numbers of a run.

use serde::Serialize;
use servescope_settings::scenario::{AdapterRanks, Scenario};

/// The memory plan of a replica of the first pool, of the GPU that has most to hold. Gigabytes are of 1e9 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "RunMemory"))]
pub struct RunMemory {
    /// Memory of the GPU.
    pub gpu_gb: f64,
    /// Weights, as the checkpoint has them.
    pub weights_gb: f64,
    /// Activations of the largest iteration.
    pub activations_gb: f64,
    /// CUDA graphs.
    pub graphs_gb: f64,
    /// Context, collectives, and what kernels keep of the weights in their own form.
    pub other_gb: f64,
    /// Adapters that stay, or LoRA slots.
    pub adapters_gb: f64,
    /// Weights of the drafter of speculative decoding.
    pub drafter_gb: f64,
    /// KV cache.
    pub kv_gb: f64,
    /// What is left alone.
    pub margin_gb: f64,
    /// Bytes that the GPU keeps for a token, within every window.
    pub kv_bytes_per_token: f64,
    /// KV tokens of a replica.
    pub kv_tokens: u32,
}

impl RunMemory {
    /// Of a scenario whose KV memory is planned by what the engine accounts; `None` for others.
    pub fn of(scenario: &Scenario, ranks: AdapterRanks) -> Option<Self> {
        let plan = scenario.planned_memory(ranks)?;
        let gb = |bytes: f64| bytes / 1e9;
        Some(Self {
            gpu_gb: gb(plan.memory_bytes),
            weights_gb: gb(plan.weight_bytes),
            activations_gb: gb(plan.activation_bytes),
            graphs_gb: gb(plan.graph_bytes),
            other_gb: gb(plan.other_bytes),
            adapters_gb: gb(plan.adapter_bytes),
            drafter_gb: gb(plan.drafter_bytes),
            kv_gb: gb(plan.kv_bytes),
            margin_gb: gb(plan.margin_bytes),
            kv_bytes_per_token: plan.kv_token_bytes,
            kv_tokens: plan.kv_tokens,
        })
    }
}
