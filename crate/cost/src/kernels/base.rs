//! What the roofline says of each operator: the base over which measured times are kept. A fixed time is part of it, so that
//! small shapes, which are all launch, have a ratio near 1 too.

use super::NumberFormat;
use crate::gpus::Gpu;

/// Fixed part of a product or of experts, microseconds.
const PRODUCT_US: f64 = 2.0;
/// Fixed part of attention.
const ATTENTION_US: f64 = 8.0;

/// Peaks of a GPU.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Peaks {
    wide_flops_us: f64,
    fp8_flops_us: f64,
    fp4_flops_us: f64,
    bytes_us: f64,
    link_bytes_us: f64,
}

/// Heads of one GPU's attention.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Heads {
    /// Of queries.
    pub queries: f64,
    /// Of keys and values.
    pub keys: f64,
    /// Dimension.
    pub dim: f64,
    /// Bytes of a kept value.
    pub kv_bytes: f64,
    /// Tokens that are looked back; infinite = all.
    pub window: f64,
}

/// Experts of one GPU.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExpertShape {
    /// Hidden size of the model.
    pub hidden: f64,
    /// Hidden size of an expert on this GPU.
    pub inner: f64,
    /// Experts that a token goes through.
    pub per_token: f64,
    /// All experts.
    pub count: f64,
    /// Groups of GPUs with different experts.
    pub groups: f64,
}

impl Peaks {
    /// Of a GPU.
    pub fn of(gpu: &Gpu) -> Self {
        let wide = gpu.bf16_tflops.value * 1e6;
        let fp8 = gpu.fp8_tflops.map_or(wide, |fact| fact.value * 1e6);
        Self {
            wide_flops_us: wide,
            fp8_flops_us: fp8,
            fp4_flops_us: gpu.fp4_tflops.map_or(fp8, |fact| fact.value * 1e6),
            bytes_us: gpu.bandwidth_gb_s.value * 1e3,
            link_bytes_us: gpu.link_gb_s.value * 1e3,
        }
    }

    /// Bytes that the memory moves in a microsecond.
    pub fn bytes_us(&self) -> f64 {
        self.bytes_us
    }

    /// Operations in a microsecond at the peak of the format that products are computed in.
    pub fn peak_flops_us(&self, format: NumberFormat) -> f64 {
        if format == NumberFormat::Nvfp4 { self.fp4_flops_us } else { self.flops_us(format) }
    }

    /// The peak of the bases, which have one for all formats below 16 bits.
    fn flops_us(&self, format: NumberFormat) -> f64 {
        if format.is_wide() { self.wide_flops_us } else { self.fp8_flops_us }
    }

    /// A product of m rows with n outputs of k inputs.
    pub fn product_us(&self, format: NumberFormat, m: f64, n: f64, k: f64) -> f64 {
        let bytes = n * k * format.bytes() + 2.0 * m * (n + k);
        PRODUCT_US + 2.0 * m * n * k / self.flops_us(format) + bytes / self.bytes_us
    }

    /// Attention of prompts: `pairs` of query and KV tokens, this many query tokens, this many KV tokens.
    pub fn prefill_us(&self, heads: &Heads, pairs: f64, queries: f64, kv_tokens: f64) -> f64 {
        let flops = 4.0 * heads.queries * heads.dim * pairs;
        let bytes = 4.0 * queries * heads.queries * heads.dim
            + 2.0 * kv_tokens * heads.keys * heads.dim * heads.kv_bytes;
        ATTENTION_US + flops / self.wide_flops_us + bytes / self.bytes_us
    }

    /// Attention of requests that decode, which read this many KV tokens in all.
    pub fn decode_us(&self, heads: &Heads, requests: f64, kv_tokens: f64) -> f64 {
        let read = kv_tokens.min(requests * heads.window);
        let bytes =
            2.0 * read * heads.keys * heads.dim * heads.kv_bytes + 4.0 * requests * heads.queries * heads.dim;
        ATTENTION_US + bytes / self.bytes_us
    }

    /// Experts: both products of this many tokens.
    pub fn experts_us(&self, format: NumberFormat, shape: &ExpertShape, tokens: f64) -> f64 {
        let rows = tokens * shape.per_token / shape.groups;
        let untouched = libm::pow(1.0 - shape.per_token / shape.count, tokens);
        let matrices = 3.0 * shape.hidden * shape.inner;
        let bytes = shape.count / shape.groups * (1.0 - untouched) * matrices * format.bytes();
        let moved = 4.0 * rows * (shape.hidden + shape.inner);
        PRODUCT_US + 2.0 * rows * matrices / self.flops_us(format) + (bytes + moved) / self.bytes_us
    }

    /// Operations of experts, both products of this many tokens.
    pub fn experts_flops(shape: &ExpertShape, tokens: f64) -> f64 {
        6.0 * tokens * shape.per_token / shape.groups * shape.hidden * shape.inner
    }

    /// Latent attention with its projections: this many query tokens, pairs and KV tokens, on a GPU with this many heads.
    pub fn latent_us(&self, heads: f64, queries: f64, pairs: f64, kv_tokens: f64, kv_bytes: f64) -> f64 {
        // DeepSeek-V3's dimensions, which the tables are measured for: hidden 7168, ranks 1536 and 512, heads 128 + 64 and 128.
        let matrices = 7168.0 * 2112.0 + heads * (1536.0 * 192.0 + 512.0 * 256.0 + 128.0 * 7168.0);
        let flops = 2.0 * queries * matrices + 2.0 * pairs * heads * 320.0;
        let bytes = matrices + kv_tokens * 576.0 * kv_bytes + queries * heads * 640.0;
        4.0 * ATTENTION_US + flops / self.wide_flops_us + bytes / self.bytes_us
    }

    /// A collective of this many values of 16 bits.
    pub fn collective_us(&self, values: f64) -> f64 {
        PRODUCT_US + 2.0 * values / self.link_bytes_us
    }
}
