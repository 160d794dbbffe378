//! Vidur's memory planner: how many requests of the longest length fit beside the weights, and the KV blocks they make.
//!
//! It counts the layers' matrices at 2 bytes and nothing else: no embedding, LM head, activations or buffers. KV blocks
//! come in whole requests of `max_tokens`, so up to `max_tokens` - 1 tokens of memory are lost.

use crate::model_shape::ModelShape;

/// The cluster's part of the formula.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Device {
    /// Memory of one GPU in GiB.
    pub memory_gib: f64,
    /// Share of it that is left alone.
    pub margin: f64,
    /// Tensor parallel degree.
    pub tensor_parallel: u32,
    /// Pipeline stages.
    pub stages: u32,
}

/// The models and their dimensions as Vidur has them.
pub const MODELS: [(&str, ModelShape); 9] = [
    ("meta-llama/Llama-2-7b-hf", shape([32, 4096, 32, 32, 11_008], true)),
    ("meta-llama/Llama-2-70b-hf", shape([80, 8192, 64, 8, 28_672], true)),
    ("codellama/CodeLlama-34b-Instruct-hf", shape([48, 8192, 64, 8, 22_016], true)),
    ("meta-llama/Meta-Llama-3-8B", shape([32, 4096, 32, 8, 14_336], true)),
    ("meta-llama/Meta-Llama-3-70B", shape([80, 8192, 64, 8, 28_672], true)),
    ("internlm/internlm-20b", shape([60, 5120, 40, 40, 13_824], true)),
    ("internlm/internlm2-20b", shape([48, 6144, 48, 8, 16_384], true)),
    ("microsoft/phi-2", shape([32, 2560, 32, 32, 10_240], false)),
    ("Qwen/Qwen-72B", shape([80, 8192, 64, 64, 24_576], true)),
];

/// Layers, hidden size, query heads, KV heads, hidden size of the MLP.
const fn shape([layers, hidden, query_heads, kv_heads, mlp_hidden]: [u32; 5], gated_mlp: bool) -> ModelShape {
    ModelShape { layers, hidden, query_heads, kv_heads, mlp_hidden, gated_mlp }
}

/// The GPUs and their memory in GiB as Vidur has them.
pub const DEVICES: [(&str, f64); 3] = [("a40", 45.0), ("a100", 80.0), ("h100", 80.0)];

/// What fits on one replica.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VidurMemoryPlan {
    /// Weights on each GPU, bytes.
    pub parameter_bytes: f64,
    /// KV cache of one request of `max_tokens`, bytes; all layers are counted on each GPU.
    pub request_bytes: f64,
    /// Memory that weights and KV may take on each GPU, bytes.
    pub available_bytes: f64,
    /// Requests of `max_tokens` that fit: Vidur's bound on static and Orca batches.
    pub slots: u32,
}

impl VidurMemoryPlan {
    /// KV blocks of a replica.
    pub fn blocks(&self, max_tokens: u32, block_size: u32, stages: u32) -> u32 {
        (max_tokens / block_size.max(1)).saturating_mul(self.slots).saturating_mul(stages)
    }
}

/// Plans the memory of one replica for requests of up to `max_tokens` tokens. No slot is an answer: the model is too
/// large.
pub fn plan(model: &ModelShape, device: &Device, max_tokens: u32) -> VidurMemoryPlan {
    let tensor = device.tensor_parallel.max(1);
    let queries = f64::from(model.query_heads / tensor);
    let keys = f64::from(model.kv_heads.div_ceil(tensor));
    let (hidden, head) = (f64::from(model.hidden), f64::from(model.head_dim()));
    let matrices = if model.gated_mlp { 3.0 } else { 2.0 };
    let layer = hidden * head * (queries + 2.0 * keys)
        + hidden * head * queries
        + (matrices * hidden * f64::from(model.mlp_hidden) / f64::from(tensor)).floor();
    let parameter_bytes = 2.0 * layer * f64::from(model.layers / device.stages.max(1));
    let request_bytes = 4.0 * head * keys * f64::from(max_tokens) * f64::from(model.layers);
    let available_bytes = device.memory_gib * 1_073_741_824.0 * (1.0 - device.margin);
    let slots = ((available_bytes - parameter_bytes) / request_bytes).max(0.0) as u32;
    VidurMemoryPlan { parameter_bytes, request_bytes, available_bytes, slots }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worked_values() {
        let llama_7b = ModelShape {
            layers: 32,
            hidden: 4096,
            query_heads: 32,
            kv_heads: 32,
            mlp_hidden: 11_008,
            gated_mlp: true,
        };
        let a100 = Device { memory_gib: 80.0, margin: 0.1, tensor_parallel: 1, stages: 1 };
        let found = plan(&llama_7b, &a100, 4096);
        assert_eq!(found.slots, 29);
        assert_eq!(found.blocks(4096, 16, 1), 7_424);
        assert_eq!(found.blocks(4096, 1, 1), 118_784);
        let llama_70b = ModelShape {
            layers: 80,
            hidden: 8192,
            query_heads: 64,
            kv_heads: 8,
            mlp_hidden: 28_672,
            ..llama_7b
        };
        // Where a degree does not divide the width, the product is cut to a whole number and not the width.
        let three = plan(&llama_7b, &Device { tensor_parallel: 3, ..a100 }, 4096);
        let attention = 4096.0 * 128.0 * (2.0 * 10.0 + 2.0 * 11.0);
        assert_eq!(three.parameter_bytes, 2.0 * 32.0 * (attention + 4096.0 * 11_008.0));
        let two_by_two = Device { tensor_parallel: 2, stages: 2, ..a100 };
        let found = plan(&llama_70b, &two_by_two, 4096);
        assert_eq!((found.slots, found.blocks(4096, 16, 2)), (64, 32_768));
        // One GPU cannot hold it.
        assert_eq!(plan(&llama_70b, &a100, 4096).slots, 0);
    }
}
