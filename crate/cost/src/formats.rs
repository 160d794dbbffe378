//! Formats of weights and of cached keys and values.

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
    /// 4-bit floats in groups of 32 with an 8-bit scale (OCP MXFP4, gpt-oss).
    Mxfp4,
    /// 4-bit floats in groups of 16 with an FP8 scale; products run at FP4 where the GPU has it.
    Nvfp4,
}

impl WeightFormat {
    /// Every format.
    pub const ALL: [Self; 6] = [Self::Bf16, Self::Fp8, Self::Int8, Self::Int4, Self::Mxfp4, Self::Nvfp4];

    /// Bytes of a parameter of a layer's matrices. Embedding, head, norms and biases stay at 2.
    pub fn bytes(self) -> f64 {
        match self {
            Self::Bf16 => 2.0,
            Self::Fp8 | Self::Int8 => 1.0,
            Self::Int4 => 0.5 + 2.0 / 128.0,
            Self::Mxfp4 => 0.5 + 1.0 / 32.0,
            Self::Nvfp4 => 0.5 + 1.0 / 16.0,
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
