//! A deployment: which model runs on how many of which GPUs, and in what formats.

use crate::gpus::Gpu;
use crate::models::{Attention, Model};

/// How weights are stored, and at which peak their products run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WeightFormat {
    /// 16 bits.
    Bf16,
    /// 8 bits; products run at FP8 where the GPU has it, else at 16 bits.
    Fp8,
    /// 8 bits, widened for the products, which run at 16 bits.
    Int8,
    /// 4 bits in groups of 128 with a 16-bit scale, widened for the products, which run at 16 bits.
    Int4,
}

impl WeightFormat {
    /// Every format.
    pub const ALL: [Self; 4] = [Self::Bf16, Self::Fp8, Self::Int8, Self::Int4];

    /// Bytes of a parameter of a layer's matrices. Embedding, head, norms and biases stay at 2.
    pub fn bytes(self) -> f64 {
        match self {
            Self::Bf16 => 2.0,
            Self::Fp8 | Self::Int8 => 1.0,
            Self::Int4 => 0.5 + 2.0 / 128.0,
        }
    }
}

/// How keys and values are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KvFormat {
    /// 16 bits.
    Bf16,
    /// 8 bits.
    Fp8,
}

impl KvFormat {
    /// Bytes of a value.
    pub fn bytes(self) -> f64 {
        match self {
            Self::Bf16 => 2.0,
            Self::Fp8 => 1.0,
        }
    }
}

/// One replica's hardware and model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Deployment {
    /// GPU.
    pub gpu: &'static Gpu,
    /// Model.
    pub model: Model,
    /// Tensor parallel degree: GPUs that share each layer.
    pub tensor_parallel: u32,
    /// Pipeline parallel degree: stages into which the layers are cut.
    pub pipeline_parallel: u32,
    /// Weights.
    pub weights: WeightFormat,
    /// KV cache.
    pub kv: KvFormat,
}

impl Deployment {
    /// GPUs of a replica.
    pub fn gpus(&self) -> u32 {
        self.tensor_parallel * self.pipeline_parallel
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

    /// Values that the GPU with most heads keeps for a token in a layer.
    pub fn kv_values_per_layer(&self) -> f64 {
        match self.model.attention {
            Attention::Grouped { kv_heads, head_dim, .. } => {
                2.0 * f64::from(kv_heads.div_ceil(self.tensor_parallel.max(1))) * f64::from(head_dim)
            }
            // The compressed vector serves all heads: every GPU has it.
            Attention::Latent { kv_rank, rope_dim, .. } => f64::from(kv_rank + rope_dim),
        }
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
                    gpu: &GPUS[0],
                    model: *model,
                    tensor_parallel: 2,
                    pipeline_parallel: stages,
                    weights: WeightFormat::Bf16,
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
