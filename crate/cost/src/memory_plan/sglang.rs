//! What SGLang takes of a GPU's memory by default (srt/arg_groups/memory_hook.py, `handle_gpu_memory_settings`, of SGLang 0.5.23):
//! `mem_fraction_static` for weights and KV cache, the rest for activations and CUDA graphs; and the prompt tokens of a batch.

use crate::deployment::Deployment;
use crate::models::Attention;

const MIB: f64 = 1_048_576.0;

/// The defaults of a GPU: up to which memory in MiB, prompt tokens of a batch, and the largest decode of a CUDA graph on fewer than
/// four GPUs, and on more.
const BY_MEMORY: [(f64, u32, [u32; 2]); 6] = [
    (20_480.0, 2048, [8, 8]),
    (35_840.0, 4096, [48, 160]),
    (61_440.0, 4096, [32, 160]),
    (92_160.0, 8192, [256, 512]),
    (163_840.0, 8192, [256, 512]),
    (f64::INFINITY, 16_384, [512, 512]),
];

/// From this memory on at least so much is left to activations and graphs, MiB.
const LARGE_GPU: (f64, f64) = (61_440.0, 10_240.0);

/// CUDA graphs of prompts by the prompt tokens of a batch.
const PROMPT_GRAPHS: [(u32, f64); 4] = [(2048, 42.0), (4096, 50.0), (8192, 58.0), (16_384, 74.0)];

/// What graphs of prompts take with latent attention, MiB.
const LATENT_GRAPHS_MIB: f64 = 1536.0;

/// What the server is told beside the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Server {
    /// Most prompt tokens of a batch (`chunked_prefill_size`); `None`: prompts are not cut.
    pub chunked_prefill_size: Option<u32>,
    /// Prompt tokens at which a batch is closed (`max_prefill_tokens`).
    pub max_prefill_tokens: u32,
    /// Most running requests, where that is given.
    pub max_running_requests: Option<u32>,
}

fn defaults(memory_mib: f64) -> (u32, [u32; 2]) {
    let row = BY_MEMORY.iter().find(|row| memory_mib < row.0).unwrap_or(&BY_MEMORY[BY_MEMORY.len() - 1]);
    (row.1, row.2)
}

/// The default of `chunked_prefill_size` on a GPU of this memory.
pub fn chunked_prefill_size(memory_bytes: f64) -> u32 {
    defaults(memory_bytes / MIB).0
}

/// The largest decode that is replayed from a CUDA graph (`cuda_graph_max_bs`).
pub fn largest_decode_graph(deployment: &Deployment, server: &Server) -> u32 {
    let largest = defaults(deployment.gpu.memory_bytes / MIB).1[usize::from(deployment.tensor_parallel >= 4)];
    server.max_running_requests.map_or(largest, |most| most.min(largest))
}

/// The default of `mem_fraction_static`, to three digits.
pub fn static_share(deployment: &Deployment, server: &Server) -> f64 {
    let memory = deployment.gpu.memory_bytes / MIB;
    let gpus = f64::from(deployment.tensor_parallel) * f64::from(deployment.pipeline_parallel);
    let largest = largest_decode_graph(deployment, server);
    let prompt = server.chunked_prefill_size.unwrap_or(server.max_prefill_tokens).max(2048);
    let graphs =
        PROMPT_GRAPHS.iter().rev().find(|row| row.0 <= prompt).map_or(PROMPT_GRAPHS[0].1, |row| row.1);
    let is_latent = matches!(deployment.model.attention, Attention::Latent { .. });
    let graphs_mib = if is_latent { LATENT_GRAPHS_MIB } else { 8.0 * graphs };
    let reserved = 512.0 + 1.5 * f64::from(prompt) + 128.0 * gpus + 2.0 * f64::from(largest) + graphs_mib;
    let reserved = if memory >= LARGE_GPU.0 { reserved.max(LARGE_GPU.1) } else { reserved };
    (1000.0 * (1.0 - reserved / memory)).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deployment::{KvFormat, WeightFormat};
    use crate::gpus::Gpu;
    use crate::models::Model;

    /// SGLang's own function, run with these memory sizes (MiB): the chunk, and the share on 1, 4 and 8 GPUs.
    const MEASURED: [(f64, u32, [f64; 3]); 7] = [
        (15_360.0, 2048, [0.735, 0.710, 0.677]),
        (24_564.0, 4096, [0.704, 0.679, 0.658]),
        (40_960.0, 4096, [0.823, 0.807, 0.795]),
        (46_068.0, 4096, [0.843, 0.829, 0.818]),
        (81_559.0, 8192, [0.830, 0.819, 0.812]),
        (143_771.0, 8192, [0.903, 0.897, 0.893]),
        (183_359.0, 16_384, [0.854, 0.852, 0.849]),
    ];

    #[test]
    fn shares_are_those_of_its_own_function() {
        for (memory, chunk, shares) in MEASURED {
            let gpu = Gpu { memory_bytes: memory * MIB, ..*Gpu::named("h100_sxm").unwrap() };
            assert_eq!(chunked_prefill_size(gpu.memory_bytes), chunk);
            for (tensor_parallel, share) in [1, 4, 8].into_iter().zip(shares) {
                let deployment = Deployment {
                    gpu,
                    model: *Model::named("llama-3.1-8b").unwrap(),
                    tensor_parallel,
                    pipeline_parallel: 1,
                    expert_layout: crate::ExpertLayout::ALONE,
                    weights: WeightFormat::Bf16,
                    quantized_head: false,
                    kv: KvFormat::Bf16,
                };
                let server = Server {
                    chunked_prefill_size: Some(chunk),
                    max_prefill_tokens: 16_384,
                    max_running_requests: None,
                };
                let own = static_share(&deployment, &server);
                assert_eq!(own, share, "{memory} MiB on {tensor_parallel} GPUs");
            }
        }
    }
}
