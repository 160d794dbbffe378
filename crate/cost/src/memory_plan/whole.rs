//! The plan of one replica: what lies on the GPU that has most to hold, and how many KV tokens that leaves room for.

use super::drafter::DrafterMemory;
use super::kv_token::kv_token_bytes;
use super::vllm::{self, Profiled, VllmVersion};
use super::weights::{kernel_bytes, weight_bytes};
use crate::deployment::Deployment;
use crate::kv_groups::KvGroupsPlan;
use crate::models::Attention;

/// What of the memory is not for weights, adapters and KV cache.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Reserve {
    /// The tensors of an iteration, and a share for what is not counted: context, collectives, fragments.
    Margin(f64),
    /// The share outside SGLang's own (`--mem-fraction-static`) is left to activations and graphs; of the memory that is there before
    /// the weights are loaded.
    Sglang {
        /// Its share of the memory.
        static_share: f64,
    },
    /// TensorRT-LLM takes a share of what weights, activations and context leave free (tensorrt_llm/_torch/pyexecutor/_util.py,
    /// `_cal_max_memory`). What its own profiling run measures is estimated here.
    Trtllm {
        /// Its share of the free memory (`free_gpu_memory_fraction`).
        free_fraction: f64,
    },
    /// What vLLM counts when it starts; the share outside its own is left alone.
    Vllm {
        /// Its share of the memory (`--gpu-memory-utilization`).
        utilization: f64,
        /// The version that counts.
        version: VllmVersion,
    },
}

/// What is asked of the memory beside the model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ask {
    /// The largest iteration.
    pub largest: Profiled,
    /// Bytes for adapters on each GPU: of all that stay on the GPU, or of its LoRA slots.
    pub adapter_bytes: f64,
    /// The drafter of speculative decoding; nothing without.
    pub drafter: DrafterMemory,
    /// What is reserved.
    pub reserve: Reserve,
    /// Bytes for the KV cache of each GPU, whatever the reserve; 0: what is left.
    pub kv_bytes: f64,
    /// Tokens of a block.
    pub block_size: u32,
}

/// Bytes on the GPU that has most to hold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MemoryPlan {
    /// Memory of the GPU.
    pub memory_bytes: f64,
    /// Weights.
    pub weight_bytes: f64,
    /// Activations.
    pub activation_bytes: f64,
    /// CUDA graphs, where they are counted.
    pub graph_bytes: f64,
    /// Context, collectives, libraries, and what kernels keep of the weights in their own form, where they are counted.
    pub other_bytes: f64,
    /// Adapters that stay, or LoRA slots.
    pub adapter_bytes: f64,
    /// Weights of the drafter of speculative decoding.
    pub drafter_bytes: f64,
    /// What is left alone.
    pub margin_bytes: f64,
    /// KV cache: what is left, or what is asked for.
    pub kv_bytes: f64,
    /// Bytes of a KV token on this GPU, within every window, the drafter's counted.
    pub kv_token_bytes: f64,
    /// Blocks that a replica gives to requests.
    pub blocks: u32,
    /// Tokens of the longest request that fits; 0 where the weights and the rest leave nothing.
    pub longest_tokens: u32,
    /// KV tokens of a replica: in requests of the longest length, where layers keep a part of the tokens only.
    pub kv_tokens: u32,
    /// Bytes that are missing for the weights, the activations, the adapters and one token, block or request, or the KV cache asked for; 0
    /// where they fit.
    pub missing_bytes: f64,
}

impl MemoryPlan {
    /// Plans a replica of `deployment`.
    pub fn of(deployment: &Deployment, ask: &Ask) -> Self {
        let memory_bytes = deployment.gpu.memory_bytes;
        let weight_bytes = weight_bytes(deployment);
        let adapter_bytes = ask.adapter_bytes;
        let drafter_bytes = ask.drafter.weight_bytes;
        let target_token_bytes = kv_token_bytes(deployment);
        let kv_token_bytes = target_token_bytes + ask.drafter.kv_token_bytes;
        // Which share of each block is the target model's.
        let target = if ask.drafter.kv_token_bytes > 0.0 { target_token_bytes / kv_token_bytes } else { 1.0 };
        let (activation_bytes, graph_bytes, other_bytes, margin) = match ask.reserve {
            Reserve::Margin(margin) => (activation_bytes(deployment, &ask.largest), 0.0, 0.0, margin),
            Reserve::Sglang { static_share } => {
                let before = vllm::other_bytes(deployment, VllmVersion::V0_33);
                (0.0, 0.0, before * static_share, 1.0 - static_share)
            }
            Reserve::Trtllm { .. } => (
                activation_bytes(deployment, &ask.largest),
                0.0,
                vllm::other_bytes(deployment, VllmVersion::V0_33),
                0.0,
            ),
            Reserve::Vllm { utilization, version } => (
                vllm::activation_bytes(deployment, &ask.largest, version),
                vllm::graph_bytes(deployment, &ask.largest, version),
                vllm::other_bytes(deployment, version) + kernel_bytes(deployment),
                1.0 - utilization,
            ),
        };
        let taken =
            weight_bytes + activation_bytes + graph_bytes + other_bytes + adapter_bytes + drafter_bytes;
        let left = memory_bytes - taken;
        let (kv_bytes, margin_bytes, left) = if ask.kv_bytes > 0.0 {
            (ask.kv_bytes, (left - ask.kv_bytes).max(0.0), left)
        } else {
            let margin_bytes = match ask.reserve {
                Reserve::Trtllm { free_fraction } => left.max(0.0) * (1.0 - free_fraction),
                _ => memory_bytes * margin,
            };
            let left = left - margin_bytes;
            (left.max(0.0), margin_bytes, left)
        };
        let pool = match ask.reserve {
            Reserve::Margin(_) | Reserve::Sglang { .. } | Reserve::Trtllm { .. } => {
                Pool::of_tokens(kv_bytes, kv_token_bytes, ask.block_size)
            }
            Reserve::Vllm { version, .. } => Pool::of_groups(deployment, ask, version, (kv_bytes, target)),
        };
        Self {
            memory_bytes,
            weight_bytes,
            activation_bytes,
            graph_bytes,
            other_bytes,
            adapter_bytes,
            drafter_bytes,
            margin_bytes,
            kv_bytes,
            kv_token_bytes,
            blocks: pool.blocks,
            kv_tokens: pool.tokens,
            longest_tokens: pool.longest_tokens,
            missing_bytes: pool.missing_bytes(ask.kv_bytes, left, memory_bytes),
        }
    }

    /// Whether it fits.
    pub fn fits(&self) -> bool {
        self.missing_bytes == 0.0
    }
}

/// What the memory of the KV cache holds.
struct Pool {
    blocks: u32,
    tokens: u32,
    /// The longest request that it holds.
    longest_tokens: u32,
    /// What it has to hold at least.
    least_bytes: f64,
    /// Whether less is enough by as much as the plan itself may be off.
    uncertain: bool,
}

impl Pool {
    /// Every layer keeps every token; one has to fit.
    fn of_tokens(kv_bytes: f64, kv_token_bytes: f64, block_size: u32) -> Self {
        let tokens = (kv_bytes / kv_token_bytes) as u32;
        Self {
            blocks: tokens / block_size.max(1),
            tokens,
            longest_tokens: tokens,
            least_bytes: kv_token_bytes,
            uncertain: false,
        }
    }

    /// As vLLM has it: one block is never given to a request, and one request of the longest length has to fit
    /// (vllm/v1/core/kv_cache_planning.py, `check_enough_kv_cache_memory`).
    fn of_groups(
        deployment: &Deployment,
        ask: &Ask,
        version: VllmVersion,
        (kv_bytes, target): (f64, f64),
    ) -> Self {
        let Some(groups) = KvGroupsPlan::of(deployment) else {
            return Self { blocks: 0, tokens: 0, longest_tokens: 0, least_bytes: 0.0, uncertain: false };
        };
        let batches = version.batches_under_way(deployment.pipeline_parallel);
        let under_way = ask.largest.batch_tokens.saturating_mul(batches);
        let needed = groups.blocks_of_request(ask.largest.longest, under_way, ask.block_size).max(1);
        let blocks = groups.blocks(kv_bytes * target, ask.block_size).saturating_sub(1);
        let requests = f64::from(blocks) / f64::from(needed);
        Self {
            blocks,
            tokens: (requests * f64::from(ask.largest.longest)) as u32,
            longest_tokens: groups.longest_request(blocks, under_way, ask.block_size),
            uncertain: blocks > 0,
            least_bytes: f64::from(needed + 1) * groups.block_bytes(ask.block_size) / target,
        }
    }
}

impl Pool {
    /// Bytes that are missing. Where some blocks fit but the longest request lacks less than the plan is off by beside start-up
    /// logs, nothing is.
    fn missing_bytes(&self, asked: f64, left: f64, memory: f64) -> f64 {
        /// Share of the memory by which four of five plans are off at most.
        const ERROR: f64 = 0.015;
        let missing = (asked.max(self.least_bytes) - left).max(0.0);
        let is_within = self.uncertain && asked == 0.0 && missing <= ERROR * memory;
        if is_within { 0.0 } else { missing }
    }
}

/// Activations of the largest iteration: the residual stream and what is widest beside it, and a row of 32-bit logits for
/// each request.
fn activation_bytes(deployment: &Deployment, of: &Profiled) -> f64 {
    let model = &deployment.model;
    let tensor = f64::from(deployment.tensor_parallel.max(1));
    let hidden = f64::from(model.hidden);
    let inner = model.mlp_matrices();
    let routed = model.experts.map_or(0.0, |e| {
        f64::from(e.per_token) * f64::from(e.hidden) + f64::from(e.shared) * f64::from(e.shared_hidden)
    });
    let mlp = inner * f64::from(model.mlp_hidden).max(routed) / tensor;
    let attention = match model.attention {
        Attention::Grouped { heads, kv_heads, head_dim, .. } => {
            f64::from(2 * heads + 2 * kv_heads) * f64::from(head_dim)
        }
        Attention::Latent { heads, rope_dim, nope_dim, value_dim, .. } => {
            f64::from(heads) * f64::from(2 * (nope_dim + rope_dim) + 2 * value_dim)
        }
    } / tensor;
    let token = 2.0 * (3.0 * hidden + mlp.max(attention));
    let logits = 4.0 * f64::from(model.vocabulary) * f64::from(of.requests.min(of.batch_tokens));
    f64::from(of.batch_tokens) * token + logits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deployment::{KvFormat, WeightFormat};
    use crate::gpus::{GPU_IDS, Gpu};
    use crate::models::{MODEL_IDS, Model};
    use proptest::prelude::*;

    const LARGEST: Profiled =
        Profiled { batch_tokens: 2048, requests: 256, longest: 4096, captured_tokens: 512 };
    const ASK: Ask = Ask {
        largest: LARGEST,
        adapter_bytes: 0.0,
        drafter: DrafterMemory { weight_bytes: 0.0, kv_token_bytes: 0.0 },
        reserve: Reserve::Margin(0.1),
        kv_bytes: 0.0,
        block_size: 16,
    };

    fn deployment(gpu: &str, model: &str, tensor_parallel: u32, pipeline_parallel: u32) -> Deployment {
        Deployment {
            gpu: *Gpu::named(gpu).unwrap(),
            model: *Model::named(model).unwrap(),
            tensor_parallel,
            pipeline_parallel,
            expert_layout: crate::ExpertLayout::ALONE,
            weights: WeightFormat::Bf16,
            quantized_head: false,
            kv: KvFormat::Bf16,
        }
    }

    #[test]
    fn weights_of_one_gpu_are_all_parameters() {
        for id in MODEL_IDS {
            let deployment = deployment("mi355x", id, 1, 1);
            let plan = MemoryPlan::of(&deployment, &ASK);
            let all = 2.0 * deployment.model.parameters();
            // The vocabulary is filled up.
            let more = plan.weight_bytes / all - 1.0;
            assert!((0.0..0.004).contains(&more), "{id}: {} of {all}", plan.weight_bytes);
            let model = &deployment.model;
            let indexed = model.attention.indexer().map_or(0.0, |i| f64::from(i.layers) * i.kv_bytes());
            assert_eq!(plan.kv_token_bytes, 2.0 * model.kv_values_per_token() + indexed, "{id}");
        }
    }

    /// The pool of DistServe's measured capacity table for OPT-13B on one A100-80GB: 66,144 tokens.
    #[test]
    fn pools_are_near_measured_ones() {
        let plan = MemoryPlan::of(&deployment("a100_80_sxm", "opt-13b", 1, 1), &ASK);
        assert!((60_000..70_000).contains(&plan.kv_tokens), "{}", plan.kv_tokens);
    }

    #[test]
    fn what_does_not_fit_says_how_much_is_missing() {
        let plan = MemoryPlan::of(&deployment("a100_80_sxm", "llama-2-70b", 1, 1), &ASK);
        assert!(!plan.fits() && plan.kv_tokens == 0);
        let missing = plan.missing_bytes / 1e9;
        assert!((60.0..64.0).contains(&missing), "{missing}");
        assert!(MemoryPlan::of(&deployment("a100_80_sxm", "llama-2-70b", 4, 1), &ASK).fits());
    }

    proptest! {
        #[test]
        fn more_gpus_never_hold_less_kv(
            gpu in 0..GPU_IDS.len(), model in 0..MODEL_IDS.len(), tensor in 1..9u32, stages in 1..9u32,
            format in 0..4usize, fp8: bool,
        ) {
            let weights = WeightFormat::ALL[format];
            let kv = if fp8 { KvFormat::Fp8 } else { KvFormat::Bf16 };
            let with = |tensor, stages| {
                let base = deployment(GPU_IDS[gpu], MODEL_IDS[model], tensor, stages);
                MemoryPlan::of(&Deployment { weights, kv, ..base }, &ASK)
            };
            let one = with(tensor, stages);
            prop_assert!(with(2 * tensor, stages).kv_tokens >= one.kv_tokens);
            prop_assert!(with(tensor, stages + 1).kv_tokens >= one.kv_tokens);
            let parts =
                one.weight_bytes + one.activation_bytes + one.adapter_bytes + one.margin_bytes + one.kv_bytes;
            prop_assert!(!one.fits() || (parts / one.memory_bytes - 1.0).abs() < 1e-9);
            prop_assert_eq!(one.fits(), one.kv_tokens >= 1);
        }

        /// A KV cache of a given size fits exactly where its bytes are left, and what is missing is what is not left.
        #[test]
        fn a_given_kv_cache_fits_where_its_bytes_are_left(
            gpu in 0..GPU_IDS.len(), model in 0..MODEL_IDS.len(), tensor in 1..9u32, tenths in 1..4000u32, share in 0.0..1.2f64,
            is_share: bool,
        ) {
            let deployment = deployment(GPU_IDS[gpu], MODEL_IDS[model], tensor, 1);
            let all = MemoryPlan::of(&deployment, &Ask { reserve: Reserve::Margin(0.0), ..ASK });
            let left = all.memory_bytes - (all.weight_bytes + all.activation_bytes + all.adapter_bytes);
            let typed = f64::from(tenths) / 10.0 * 1_073_741_824.0;
            let kv_bytes = if is_share { f64::max(left * share, 1.0) } else { typed };
            let plan = MemoryPlan::of(&deployment, &Ask { kv_bytes, ..ASK });
            let needed = kv_bytes.max(plan.kv_token_bytes);
            prop_assert_eq!(plan.missing_bytes, (needed - left).max(0.0));
            prop_assert_eq!(plan.fits(), needed <= left);
            prop_assert_eq!(plan.kv_bytes, kv_bytes);
        }
    }
}
