//! How a checkpoint's weights are kept, and in which formats its products are computed.

use servescope_cost::kernels::NumberFormat;
use servescope_cost::{Gpu, Model, WeightFormat};

/// The format of a whole checkpoint, as files name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckpointFormat {
    /// 16 bits.
    Bf16,
    /// 8 bits.
    Fp8,
    /// 8 bits, a scale for each 128 x 128 values.
    Fp8Block,
    /// 4 bits, a scale for each 16 values.
    Nvfp4,
    /// 4-bit weights, computed at 16 bits.
    Int4,
}

impl CheckpointFormat {
    /// Formats of attention's projections, dense MLPs and experts. Which parts of a model have its checkpoint's format is the
    /// checkpoint's matter: FP8 checkpoints of mixtures have scales by block, 4-bit ones leave attention at 16 bits.
    pub fn formats(self, gpu: &Gpu, model: &Model) -> [NumberFormat; 3] {
        let is_mixture = model.experts.is_some();
        if has_own_format(model) {
            // Blackwell computes its experts at 8 bits.
            let is_8_bit = gpu.has_compute_capability_10();
            let experts = if is_8_bit { NumberFormat::Mxfp4Fp8 } else { NumberFormat::Mxfp4 };
            return [NumberFormat::Bf16, NumberFormat::Bf16, experts];
        }
        match self {
            Self::Bf16 => [NumberFormat::Bf16; 3],
            Self::Fp8 if is_mixture => [NumberFormat::Fp8Block; 3],
            Self::Fp8 => [NumberFormat::Fp8; 3],
            Self::Fp8Block => [NumberFormat::Fp8Block; 3],
            Self::Nvfp4 if is_mixture => [NumberFormat::Bf16, NumberFormat::Bf16, NumberFormat::Nvfp4],
            Self::Nvfp4 => [NumberFormat::Nvfp4; 3],
            Self::Int4 => [NumberFormat::Bf16, NumberFormat::Bf16, NumberFormat::Int4],
        }
    }

    /// The checkpoints that weights in a format may stand for, the likeliest first. INT8 has no measured kernels, dense models
    /// have no measured products of 4-bit weights but NVFP4's, and a model that is published in one format has that.
    pub fn of(weights: WeightFormat, gpu: &Gpu, model: &Model) -> &'static [Self] {
        match weights {
            WeightFormat::Int4 | WeightFormat::Mxfp4 if has_own_format(model) => &[Self::Int4],
            _ if has_own_format(model) => &[],
            WeightFormat::Bf16 => &[Self::Bf16],
            WeightFormat::Fp8 => &[Self::Fp8],
            // Experts of 4 bits are NVFP4 where the GPU computes with that.
            WeightFormat::Int4 if model.experts.is_some() && gpu.fp4_tflops.is_some() => {
                &[Self::Nvfp4, Self::Int4]
            }
            WeightFormat::Int4 if model.experts.is_some() => &[Self::Int4, Self::Nvfp4],
            WeightFormat::Int4 | WeightFormat::Nvfp4 => &[Self::Nvfp4],
            WeightFormat::Int8 | WeightFormat::Mxfp4 => &[],
        }
    }
}

/// Models whose checkpoints have 4-bit experts with scales of their own kind (MXFP4).
fn has_own_format(model: &Model) -> bool {
    model.id.starts_with("gpt-oss")
}
