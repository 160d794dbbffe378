//! What vLLM takes from a GPU's memory before the KV cache: it runs an iteration of the largest size when it starts, measures
//! what that needs, and gives the cache what is left of its share (vllm/v1/worker/gpu_worker.py,
//! `determine_available_memory`; vllm/v1/worker/gpu_model_runner.py, `profile_run`).

use crate::deployment::Deployment;
use crate::models::{Attention, Model};

const GIB: f64 = 1_073_741_824.0;
/// Bytes of an activation.
const ACTIVATION: f64 = 2.0;
/// What the allocator loses between tensors.
const FRAGMENTS: f64 = 0.05 * GIB;
/// Bytes of a 32-bit logit.
const LOGIT: f64 = 4.0;

/// Versions of vLLM whose accounting differs; each stands for those from it to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum VllmVersion {
    /// 0.8: the CUDA context counts as used.
    V0_8,
    /// 0.9 and 0.10: so do the buffers of collectives.
    V0_9,
    /// 0.11 to 0.16: neither does; sampling sorts all logits.
    V0_11,
    /// 0.17 to 0.19: sampling sorts no more.
    V0_17,
    /// 0.20 to 0.32: .92 of the memory in place of .90, and the CUDA graphs are estimated and counted.
    V0_20,
    /// From 0.33 on.
    V0_33,
}

impl VllmVersion {
    /// Of a version as it is written: `0.19.0`, `v0.11.2rc1`. `None`: it is none, or older than 0.8.
    pub fn of(text: &str) -> Option<Self> {
        let mut numbers = text.trim_start_matches('v').split('.');
        let (major, minor) = (numbers.next()?.parse::<u32>().ok()?, numbers.next()?.parse::<u32>().ok()?);
        Some(match (major, minor) {
            (0, 0..=7) => return None,
            (0, 8) => Self::V0_8,
            (0, 9..=10) => Self::V0_9,
            (0, 11..=16) => Self::V0_11,
            (0, 17..=19) => Self::V0_17,
            (0, 20..=32) => Self::V0_20,
            _ => Self::V0_33,
        })
    }

    /// Its share of the memory where none is given (`--gpu-memory-utilization`).
    pub fn utilization(self) -> f64 {
        if self >= Self::V0_20 { 0.92 } else { 0.90 }
    }

    fn counts_graphs(self) -> bool {
        self >= Self::V0_20
    }

    /// Copies of the 32-bit logits of a request while its token is sampled, at the peak: through 0.16 a sort of values and
    /// indices with its work space, and a softmax; later logits at 16 and at 32 bits, probabilities and noise.
    fn sampler_copies(self) -> f64 {
        if self >= Self::V0_17 { 3.5 } else { 9.5 }
    }

    /// The same that stay: counts for penalties, and a bit for each word of the prompt.
    fn kept_copies(self) -> f64 {
        if self >= Self::V0_33 { 1.0 + 1.0 / 32.0 } else { 0.0 }
    }

    /// Batches that may be under way together.
    pub fn batches_under_way(self, stages: u32) -> u32 {
        if self >= Self::V0_20 { stages + 1 } else { stages }
    }
}

/// What the accounting depends on beside the deployment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Profiled {
    /// Tokens of the largest iteration (`max_num_batched_tokens`).
    pub batch_tokens: u32,
    /// Requests that run together at most (`max_num_seqs`).
    pub requests: u32,
    /// Longest request, tokens (`max_model_len`).
    pub longest: u32,
    /// The largest iteration of which a CUDA graph is captured; 0: none is.
    pub captured_tokens: u32,
}

/// Bytes of the activations: what the experts' kernels keep, and the larger of the rest of a forward pass and of sampling.
pub(super) fn activation_bytes(deployment: &Deployment, of: &Profiled, version: VllmVersion) -> f64 {
    let model = &deployment.model;
    let tokens = f64::from(of.batch_tokens);
    let rows = f64::from(of.requests.min(of.batch_tokens));
    let logits = LOGIT * rows * f64::from(model.vocabulary);
    let sampling = version.sampler_copies() * logits;
    let kept = version.kept_copies() * logits;
    let outputs = ACTIVATION * tokens * f64::from(model.hidden);
    let forward = tokens * dense_token_bytes(deployment).max(attention_token_bytes(deployment));
    let experts = tokens * expert_token_bytes(deployment);
    let latent = latent_work_space(deployment, of);
    let peak = |forward: f64| forward.max(sampling + outputs) + FRAGMENTS;
    // The experts' work space stays once it has been taken.
    if version >= VllmVersion::V0_17 {
        return experts + latent + kept + peak(forward + outputs);
    }
    latent + peak(forward + experts + outputs)
}

/// Of a token in a dense MLP or shared experts: residual stream and input, both products, the activation.
fn dense_token_bytes(deployment: &Deployment) -> f64 {
    let model = &deployment.model;
    let shared = model.experts.map_or(0, |e| e.shared * e.shared_hidden);
    let inner = f64::from(model.mlp_hidden.max(shared)) / tensor(deployment);
    ACTIVATION * (2.0 * f64::from(model.hidden) + model.mlp_matrices() * inner)
}

/// Of a token in attention: residual stream and input, projections, rotated queries and keys, output.
fn attention_token_bytes(deployment: &Deployment) -> f64 {
    let model = &deployment.model;
    let own = match model.attention {
        Attention::Grouped { heads, kv_heads, head_dim, gated } => {
            let gate = if gated { heads } else { 0 };
            f64::from(3 * heads + 3 * kv_heads + gate) * f64::from(head_dim) / tensor(deployment)
        }
        Attention::Latent { heads, query_rank, kv_rank, rope_dim, nope_dim, value_dim, .. } => {
            f64::from(query_rank + kv_rank + rope_dim)
                + f64::from(heads) * f64::from(2 * (nope_dim + rope_dim) + value_dim) / tensor(deployment)
        }
    };
    let recurrent =
        model.recurrent.map_or(0.0, |r| (r.projected() + r.channels() + r.inner()) / tensor(deployment));
    ACTIVATION * (2.0 * f64::from(model.hidden) + own.max(recurrent))
}

/// Of a token in experts: two work spaces, for the inputs and products of all experts that it goes through, and the router's
/// numbers (vllm/model_executor/layers/fused_moe/modular_kernel.py, `workspace_shapes`).
fn expert_token_bytes(deployment: &Deployment) -> f64 {
    let Model { experts: Some(e), hidden, .. } = deployment.model else { return 0.0 };
    let width = f64::from(if e.latent > 0 { e.latent } else { hidden });
    let inner = f64::from(e.hidden) / f64::from(deployment.expert_layout.tensor(deployment.tensor_parallel));
    let picks = f64::from(e.per_token);
    let spaces = picks * (inner.max(width) + (2.0 * inner).max(width));
    ACTIVATION * spaces + 4.0 * f64::from(e.count) + 8.0 * picks
}

/// Keys and values that latent attention expands from the cache for chunks of prompts
/// (vllm/model_executor/layers/attention/mla_attention.py, `chunked_prefill_workspace_size`).
fn latent_work_space(deployment: &Deployment, of: &Profiled) -> f64 {
    const MOST_TOKENS: f64 = 65_536.0;
    let Attention::Latent { heads, kv_rank, rope_dim, nope_dim, value_dim, .. } = deployment.model.attention
    else {
        return 0.0;
    };
    let tokens = (8.0 * f64::from(of.longest)).max(64.0 * f64::from(of.requests)).min(MOST_TOKENS);
    let expanded = f64::from(heads) / tensor(deployment) * f64::from(nope_dim + value_dim);
    ACTIVATION * tokens * (expanded + f64::from(kv_rank + rope_dim))
}

/// Bytes of the CUDA graphs as they are estimated; none where they are not counted.
pub(super) fn graph_bytes(deployment: &Deployment, of: &Profiled, version: VllmVersion) -> f64 {
    /// Of the first graph, and of a layer in each further one.
    const FIRST: f64 = 0.15 * GIB;
    const LAYER: f64 = 0.18e6;
    if !version.counts_graphs() || of.captured_tokens == 0 {
        return 0.0;
    }
    let graphs = f64::from(captured_sizes(of.captured_tokens));
    FIRST + graphs * LAYER * f64::from(deployment.most_layers())
}

/// How many sizes are captured up to the largest: 1, 2, 4, then every eighth up to 256, every sixteenth above.
pub fn captured_sizes(largest: u32) -> u32 {
    let small = [1, 2, 4].into_iter().filter(|size| *size <= largest).count() as u32;
    small + largest.min(255) / 8 + (largest.max(240) - 240) / 16
}

/// Bytes that stay beside weights and activations: the CUDA context and the buffers of collectives where the version counts
/// them, and libraries' own.
pub(super) fn other_bytes(deployment: &Deployment, version: VllmVersion) -> f64 {
    const LIBRARIES: f64 = 0.13 * GIB;
    const CONTEXT: f64 = 0.5 * GIB;
    const SHARED: f64 = 0.42 * GIB;
    const COLLECTIVES: f64 = 0.3 * GIB;
    let is_shared = deployment.gpus() > 1;
    let context = if version == VllmVersion::V0_8 { CONTEXT } else { 0.0 };
    let shared = if is_shared { SHARED } else { 0.0 };
    // Through 0.10 the buffers of collectives are taken after the first look at the memory; since 0.17 there are more of them.
    let has_more = is_shared && (version < VllmVersion::V0_11 || version >= VllmVersion::V0_17);
    LIBRARIES + context + shared + if has_more { COLLECTIVES } else { 0.0 }
}

fn tensor(deployment: &Deployment) -> f64 {
    f64::from(deployment.tensor_parallel.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captured_sizes_are_those_of_vllm() {
        // 1, 2, 4, 8 to 248 by 8, and from 256 on by 16.
        assert_eq!(
            [1, 2, 4, 8, 248, 256, 272, 512, 1024].map(captured_sizes),
            [1, 2, 3, 4, 34, 35, 36, 51, 83]
        );
    }
}
