//! Iteration times from kernels that were timed one by one: GEMM, attention of prompts and of decoding requests, experts,
//! collectives, latent attention, each kept as time over roofline on a grid and interpolated in that.
//!
//! Tables come from the operator tables of NVIDIA's AIConfigurator (Apache-2.0), by `servescope profile import`. What they do not
//! hold (pointwise kernels, gaps between kernels, the host) is in [`Overheads`], few constants calibrated on measured deployments.

mod assembly;
mod base;
mod curves;
mod grid;
pub mod import;
mod layout;
mod left_out;
mod step;
mod text;

#[cfg(test)]
mod tests;

pub use base::{ExpertShape, Heads, Peaks};
pub use grid::Grid;
pub use layout::{Layout, MissingTable};
pub use left_out::{LeftOutError, left_out, ranges};
pub use step::{KernelCost, Overheads};
pub use text::{KernelTable, Kernels};

/// The format in which a product is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumberFormat {
    /// 16 bits.
    Bf16,
    /// 8 bits, one scale a tensor.
    Fp8,
    /// 8 bits, a scale for each 128 x 128 values.
    Fp8Block,
    /// 4 bits, a scale for each 16 values.
    Nvfp4,
    /// 4-bit weights, a scale for each 32 values, computed at 16 bits.
    Mxfp4,
    /// The same computed at 8 bits.
    Mxfp4Fp8,
    /// 4-bit weights, computed at 16 bits.
    Int4,
}

impl NumberFormat {
    /// Every format.
    pub const ALL: [Self; 7] =
        [Self::Bf16, Self::Fp8, Self::Fp8Block, Self::Nvfp4, Self::Mxfp4, Self::Mxfp4Fp8, Self::Int4];

    /// Its name in AIConfigurator's tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bf16 => "bfloat16",
            Self::Fp8 => "fp8",
            Self::Fp8Block => "fp8_block",
            Self::Nvfp4 => "nvfp4",
            Self::Mxfp4 => "w4a16_mxfp4",
            Self::Mxfp4Fp8 => "w4a8_mxfp4_mxfp8",
            Self::Int4 => "int4_wo",
        }
    }

    /// The format of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// Bytes of a weight.
    pub fn bytes(self) -> f64 {
        match self {
            Self::Bf16 => 2.0,
            Self::Fp8 | Self::Fp8Block => 1.0,
            Self::Nvfp4 | Self::Int4 => 0.5 + 1.0 / 16.0,
            Self::Mxfp4 | Self::Mxfp4Fp8 => 0.5 + 1.0 / 32.0,
        }
    }

    /// Whether it is computed at 16 bits.
    pub fn is_wide(self) -> bool {
        matches!(self, Self::Bf16 | Self::Mxfp4 | Self::Int4)
    }
}
