//! A deployment: which model runs on how many of which GPUs, and in what formats.

use crate::expert_layout::ExpertLayout;
pub use crate::formats::{KvFormat, WeightFormat};
use crate::gpus::Gpu;
use crate::models::{Attention, Model};

/// One replica's hardware and model; of one with data-parallel ranks, a rank's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Deployment {
    /// GPU.
    pub gpu: Gpu,
    /// Model.
    pub model: Model,
    /// Tensor parallel degree: GPUs that share each layer.
    pub tensor_parallel: u32,
    /// Pipeline parallel degree: stages into which the layers are cut.
    pub pipeline_parallel: u32,
    /// How experts lie on the GPUs of data-parallel ranks, of which the replica is one.
    pub expert_layout: ExpertLayout,
    /// Weights.
    pub weights: WeightFormat,
    /// Whether the output head has the format of the layers' matrices.
    pub quantized_head: bool,
    /// KV cache.
    pub kv: KvFormat,
}

impl Deployment {
    /// GPUs of a replica, or of a rank.
    pub fn gpus(&self) -> u32 {
        self.tensor_parallel * self.pipeline_parallel
    }

    /// The format of the layers' matrices. Four bits of a model that is published in MXFP4 are MXFP4.
    pub fn format(&self) -> WeightFormat {
        match (self.weights, self.model.checkpoint) {
            (WeightFormat::Int4, Some(WeightFormat::Mxfp4)) => WeightFormat::Mxfp4,
            _ => self.weights,
        }
    }

    /// Bytes of a parameter of the layers' matrices, on average over those that stay at 16 bits.
    pub fn matrix_bytes(&self) -> f64 {
        let kept = self.model.unquantized;
        self.format().bytes() * (1.0 - kept) + WeightFormat::Bf16.bytes() * kept
    }

    /// Layers of the last stage, and of each other one on average. Where they cannot be shared evenly, the last stage, which
    /// also has the head, gets fewer.
    pub fn stage_layers(&self, is_last: bool) -> f64 {
        let last = self.model.layers / self.pipeline_parallel.max(1);
        if is_last {
            return f64::from(last);
        }
        f64::from(self.model.layers - last) / f64::from(self.pipeline_parallel.max(2) - 1)
    }

    /// Layers of the stage that has most.
    pub fn most_layers(&self) -> u32 {
        self.model.layers.div_ceil(self.pipeline_parallel.max(1))
    }

    /// Bytes that the GPU with most heads keeps for a token in a layer with attention over the whole context,
    /// beside an indexer's key.
    pub fn kv_bytes_per_layer(&self) -> f64 {
        self.kv_values(&self.model.attention) * self.kv.bytes()
    }

    /// The same in a layer with a window; 0 without such layers.
    pub fn window_kv_bytes_per_layer(&self) -> f64 {
        let attention = self.model.window.map(|window| window.attention(&self.model.attention));
        attention.map_or(0.0, |attention| self.kv_values(&attention) * self.kv.bytes())
    }

    /// Values that the GPU with most heads keeps for a token in a layer.
    pub fn kv_values(&self, attention: &Attention) -> f64 {
        match *attention {
            Attention::Grouped { kv_heads, head_dim, .. } => {
                2.0 * f64::from(kv_heads.div_ceil(self.tensor_parallel.max(1))) * f64::from(head_dim)
            }
            // The compressed vector serves all heads: every GPU has it.
            Attention::Latent { kv_rank, rope_dim, .. } => f64::from(kv_rank + rope_dim),
        }
    }

    /// Bytes that a layer with a state of fixed size keeps for a request: the state, and the last tokens that the convolution
    /// sees, at 16 bits; 0 without such layers.
    pub fn state_bytes_per_layer(&self) -> f64 {
        self.model.recurrent.map_or(0.0, |layers| {
            let state = f64::from(layers.state_bytes) * layers.state_values();
            (state + 2.0 * layers.convolution_values()) / f64::from(self.tensor_parallel.max(1))
        })
    }

    /// Bytes of a LoRA slot of vLLM on each GPU: it sets apart all linear modules of the layers at 16 bits, whatever the
    /// adapters change. The first matrix of a module that shares its outputs is on every GPU, and so is the second one of a
    /// module that shares its inputs (vllm/lora/layers, `create_lora_weights`).
    pub fn lora_slot_bytes(&self, rank: u32) -> f64 {
        let model = &self.model;
        let tensor = f64::from(self.tensor_parallel.max(1));
        let stage = f64::from(self.most_layers()) / f64::from(model.layers);
        let h = f64::from(model.hidden);
        let column = |inputs: f64, outputs: f64| inputs + outputs / tensor;
        let row = |inputs: f64, outputs: f64| inputs / tensor + outputs;
        let mlp =
            |width: f64, inner: f64| (model.mlp_matrices() - 1.0) * column(width, inner) + row(inner, width);
        let of_attention = |attention: &Attention| match *attention {
            Attention::Grouped { heads, kv_heads, head_dim, .. } => {
                let [q, k] = [heads, kv_heads].map(|n| f64::from(n) * f64::from(head_dim));
                column(h, q) + 2.0 * column(h, k) + row(q, h)
            }
            Attention::Latent { heads, query_rank, kv_rank, rope_dim, nope_dim, value_dim, .. } => {
                let [n, q, c, r, k, v] =
                    [heads, query_rank, kv_rank, rope_dim, nope_dim, value_dim].map(f64::from);
                h + q + column(q, n * (k + r)) + h + c + r + column(c, n * (k + v)) + row(n * v, h)
            }
        };
        let windowed = model.window.map_or(0.0, |window| {
            f64::from(window.layers) * of_attention(&window.attention(&model.attention))
        });
        let experts = model.experts.map_or(0.0, |e| {
            let width = if e.latent > 0 { f64::from(e.latent) } else { h };
            f64::from(e.count) * mlp(width, f64::from(e.hidden))
                + f64::from(e.shared) * mlp(h, f64::from(e.shared_hidden))
        });
        let dense = f64::from(model.mlp_layers() - model.expert_layers());
        let numbers = f64::from(model.full_layers()) * of_attention(&model.attention)
            + windowed
            + dense * mlp(h, f64::from(model.mlp_hidden))
            + f64::from(model.expert_layers()) * experts;
        2.0 * f64::from(rank) * numbers * stage
    }

    /// Bytes that a unit of an adapter's rank takes on the GPU that has most to hold: 16 bits, each module shared by the GPUs
    /// of its layer.
    pub fn adapter_bytes_per_rank(&self) -> f64 {
        let model = &self.model;
        let layers = f64::from(self.most_layers()) / f64::from(model.layers);
        2.0 * model.adapter_parameters_per_rank() * layers / f64::from(self.tensor_parallel.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpus::GPUS;
    use crate::models::MODELS;

    #[test]
    fn every_layer_is_on_some_stage() {
        for model in &MODELS {
            for stages in 1..=64 {
                let deployment = Deployment {
                    gpu: GPUS[0],
                    model: *model,
                    tensor_parallel: 2,
                    pipeline_parallel: stages,
                    expert_layout: ExpertLayout::ALONE,
                    weights: WeightFormat::Bf16,
                    quantized_head: false,
                    kv: KvFormat::Bf16,
                };
                let all =
                    deployment.stage_layers(true) + f64::from(stages - 1) * deployment.stage_layers(false);
                assert!((all - f64::from(model.layers)).abs() < 1e-9, "{} on {stages}", model.id);
                assert!(deployment.stage_layers(stages == 1) <= f64::from(deployment.most_layers()));
            }
        }
    }
}
