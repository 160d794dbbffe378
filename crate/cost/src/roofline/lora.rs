//! What vLLM's LoRA operators take: of each linear module of a layer a shrink to the rank and an expand to the outputs, over all
//! slots (vllm/lora/ops/triton_ops). Their time is that of the tiles that the kernels are cut into, not of the bytes that they
//! read: an adapter more costs a tile more for every output block, and a slot that no request uses still has tiles, which
//! leave early.
//!
//! Newer kernels: tiles of vLLM 0.8.5 on an H100, fitted to Llama-3.1-8B with 300 slots (arXiv 2508.08343); Qwen2.5-7B of the same
//! source, which was held out, is within 4 % but for one adapter alone (12 %). Older kernels: the profile of vllm-project/vllm
//! issue 10062 (Llama-2-7B, A100).

use crate::deployment::Deployment;
use crate::models::Attention;

/// Which kernels compute adapters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LoraKernels {
    /// S-LoRA's, Punica's and SGLang's, which take as long as what they read and compute.
    Grouped {
        /// The rank to which every adapter is filled up; `None`: each has its own.
        rank: Option<u32>,
    },
    /// vLLM's, with slots of one rank.
    Slots {
        /// The rank to which every adapter is filled up.
        rank: u32,
        /// Slots (`--max-loras`).
        slots: u32,
        /// Those of 2024 (0.5 to 0.7) in place of those from 0.8 on.
        are_older: bool,
        /// The largest iteration with prompts that a CUDA graph covers, tokens; older versions launch the kernels of all of them
        /// one by one.
        captured_tokens: u32,
    },
}

/// A linear module, or several that are computed together: inputs, and the outputs of each on one GPU.
struct Module {
    inputs: f64,
    outputs: Vec<f64>,
}

/// Microseconds in a layer for `tokens` tokens with `adapters` distinct adapters.
pub(super) fn slots_us(
    deployment: &Deployment,
    (tokens, adapters): (f64, f64),
    (rank, slots): (f64, f64),
    are_older: bool,
) -> f64 {
    let modules = modules(deployment);
    if are_older {
        /// Shrink, expand, and launching and clearing for each slice.
        const SLICE_US: f64 = 22.5;
        return SLICE_US * modules.iter().map(|module| module.outputs.len() as f64).sum::<f64>();
    }
    modules.iter().map(|module| module_us(deployment, module, (tokens, adapters), (rank, slots))).sum()
}

/// Microseconds in which the host launches the kernels of a layer one by one, those of the model among them.
///
/// A launch of a LoRA kernel takes 110 us from Python (87 in vllm-project/vllm issue 13204, 145 in 9143): a shrink and an expand for
/// each module, before 0.8 for each slice. The others are those of 32 layers in 25 ms (issue 11436) and in 10 ms, which is assumed.
pub(super) fn launch_layer_us(deployment: &Deployment, are_older: bool) -> f64 {
    const LAUNCH_US: f64 = 110.0;
    let modules = modules(deployment);
    let (kernels, others_us) = if are_older {
        (2 * modules.iter().map(|module| module.outputs.len()).sum::<usize>(), 25_000.0 / 32.0)
    } else {
        (2 * modules.len(), 10_000.0 / 32.0)
    };
    LAUNCH_US * kernels as f64 + others_us
}

fn module_us(
    deployment: &Deployment,
    module: &Module,
    (tokens, adapters): (f64, f64),
    (rank, slots): (f64, f64),
) -> f64 {
    /// Two launches in a CUDA graph, and clearing what is added to.
    const LAUNCH_US: f64 = 5.0;
    /// A tile that leaves at once, and one of the expand.
    const EMPTY_US: f64 = 0.87e-3;
    const EXPAND_US: f64 = 29.1e-3;
    /// What a kernel takes at least.
    const LEAST_SHRINK_US: f64 = 4.2;
    const LEAST_EXPAND_US: f64 = 4.1;
    /// Share of the memory bandwidth that small matrices reach.
    const BANDWIDTH: f64 = 0.5;
    // Few tokens split the inputs more finely.
    let (split, shrink_us) = if tokens < 128.0 { (64.0, 7.2e-3) } else { (8.0, 23.0e-3) };
    let slices = module.outputs.len() as f64;
    let blocks = |of: f64, size: f64| (of / size).ceil();
    let widest = module.outputs.iter().copied().fold(0.0, f64::max);
    let wide: f64 = module.outputs.iter().map(|outputs| blocks(*outputs, 128.0)).sum();
    let each = tokens / adapters.max(1.0);
    let shrink_all = split * blocks(tokens, 32.0) * blocks(rank, 16.0) * slices * (slots + 1.0);
    let shrink = split * adapters * blocks(each, 32.0) * blocks(rank, 16.0) * slices;
    let expand_all = blocks(tokens, 64.0) * blocks(widest, 128.0) * slices * (slots + 1.0);
    let expand = adapters * blocks(each, 64.0) * wide;
    let speed = speed(deployment.gpu.id);
    let outputs: f64 = module.outputs.iter().sum();
    let bytes = 2.0 * tokens * (slices * module.inputs + 2.0 * outputs)
        + 2.0 * adapters * rank * (slices * module.inputs + outputs);
    let tiles =
        (shrink * shrink_us / speed).max(LEAST_SHRINK_US) + (expand * EXPAND_US / speed).max(LEAST_EXPAND_US);
    let bandwidth_bytes_us = BANDWIDTH * deployment.gpu.bandwidth_gb_s.value * 1e3;
    let empty = (shrink_all + expand_all - shrink - expand).max(0.0) * EMPTY_US / speed;
    LAUNCH_US + empty + tiles.max(bytes / bandwidth_bytes_us)
}

/// Multiprocessors times clock beside an H100's, by which tiles are scaled to other GPUs: an assumption, not a measurement.
fn speed(gpu: &str) -> f64 {
    const H100: f64 = 132.0 * 1.7;
    let of = |multiprocessors: f64, ghz: f64| multiprocessors * ghz / H100;
    match gpu {
        "a100_80_sxm" | "a100_40_sxm" | "a100_80_pcie" => of(108.0, 1.41),
        "h100_pcie" => of(114.0, 1.6),
        "b200_sxm" | "b300_sxm" | "gb200_nvl72" | "gb300_nvl72" => of(148.0, 1.85),
        "a10" => of(72.0, 1.5),
        "a10g" => of(80.0, 1.5),
        "a40" => of(84.0, 1.5),
        "l4" => of(58.0, 1.6),
        "l40s" => of(142.0, 2.2),
        "rtx4090" => of(128.0, 2.4),
        "rtx_pro_6000" => of(188.0, 2.3),
        _ => 1.0,
    }
}

/// The linear modules of a layer that vLLM computes adapters on, where the layer has attention and an MLP; experts are left out.
fn modules(deployment: &Deployment) -> Vec<Module> {
    let model = &deployment.model;
    let tensor = f64::from(deployment.tensor_parallel.max(1));
    let h = f64::from(model.hidden);
    let module = |inputs: f64, outputs: &[f64]| Module { inputs, outputs: outputs.to_vec() };
    let mut all = match model.attention {
        Attention::Grouped { heads, kv_heads, head_dim, .. } => {
            let [q, k] = [heads, kv_heads].map(|n| f64::from(n) * f64::from(head_dim) / tensor);
            vec![module(h, &[q, k, k]), module(q, &[h])]
        }
        Attention::Latent { heads, query_rank, kv_rank, rope_dim, nope_dim, value_dim, .. } => {
            let [n, q, c, r, k, v] =
                [heads, query_rank, kv_rank, rope_dim, nope_dim, value_dim].map(f64::from);
            vec![
                module(h, &[q, c + r]),
                module(q, &[n * (k + r) / tensor]),
                module(c, &[n * (k + v) / tensor]),
                module(n * v / tensor, &[h]),
            ]
        }
    };
    let inner = f64::from(model.mlp_hidden) / tensor;
    if model.expert_layers() < model.mlp_layers() {
        let up = [inner, inner];
        all.push(module(h, if model.gated_mlp { &up } else { &up[..1] }));
        all.push(module(inner, &[h]));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deployment::{KvFormat, WeightFormat};
    use crate::gpus::Gpu;
    use crate::models::Model;

    fn deployment(gpu: &str, model: &str) -> Deployment {
        Deployment {
            gpu: *Gpu::named(gpu).unwrap(),
            model: *Model::named(model).unwrap(),
            tensor_parallel: 1,
            pipeline_parallel: 1,
            expert_layout: crate::ExpertLayout::ALONE,
            weights: WeightFormat::Bf16,
            quantized_head: false,
            kv: KvFormat::Bf16,
        }
    }

    /// Milliseconds that adapters add to an iteration, as they were measured beside a server without LoRA (vLLM 0.8.5, H100, 300
    /// slots of rank 8; arXiv 2508.08343). Llama's five rows fitted the constants, Qwen's were held out.
    #[test]
    fn iterations_with_many_slots_take_what_was_measured() {
        // Requests draw their adapters evenly: some adapters are drawn twice.
        let ms = |model: &str, tokens: f64, of: f64| {
            let deployment = deployment("h100_sxm", model);
            let adapters = of * (1.0 - libm::pow(1.0 - 1.0 / of, tokens));
            let layers = f64::from(deployment.model.layers);
            layers * slots_us(&deployment, (tokens, adapters), (8.0, 300.0), false) / 1e3
        };
        for (adapters, measured) in [(1.0, 18.4), (32.0, 28.1), (64.0, 37.8), (128.0, 52.5)] {
            let off = ms("llama-3.1-8b", 220.0, adapters) / measured - 1.0;
            assert!(off.abs() < 0.06, "{adapters}: {off}");
        }
        for (adapters, measured) in [(1.0, 16.6), (32.0, 27.4), (96.0, 46.2), (128.0, 52.4)] {
            let off = ms("qwen2.5-7b", 250.0, adapters) / measured - 1.0;
            assert!(off.abs() < 0.15, "{adapters}: {off}");
        }
    }

    /// Issue 10062: a third of an iteration of Llama-2-7B on an A100 was in kernels of LoRA.
    #[test]
    fn older_kernels_take_as_long_for_every_batch() {
        let deployment = deployment("a100_80_sxm", "llama-2-7b");
        let us = |tokens, adapters| slots_us(&deployment, (tokens, adapters), (64.0, 4.0), true);
        assert_eq!(us(1.0, 1.0), us(64.0, 4.0));
        assert!((32.0 * us(1.0, 1.0) / 1e3 - 5.04).abs() < 0.01);
    }
}
