//! Attention as a formula of heads, head dimension, tokens read and tokens computed, for where it was not measured.
//!
//! Decoding reads the KV cache: base + requests x query heads + KV tokens x (1 + requests x (KV heads + query heads)).
//! A prompt's chunk computes: base + chunk x query heads + KV tokens + query heads x chunk x (KV tokens + chunk). Each
//! term has a coefficient, found by least squares of the relative error on measured points. A GPU of other speed divides
//! the terms that grow with the KV cache by its bandwidth and those of products by its FLOP/s, both relative to the
//! GPU that the formula was fitted on.

use super::least_squares::relative_least_squares;
use crate::batch_stages::TokenLine;

/// Largest coefficient that a profile's file may contain.
pub(super) const MOST_COEFFICIENT: f64 = 1e9;

/// A measured coefficient, cut to the range that a file may contain.
fn within_file_limits(coefficient: f64) -> f64 {
    if coefficient > 0.0 { coefficient.min(MOST_COEFFICIENT) } else { 0.0 }
}

/// Attention heads on one GPU.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AttentionHeads {
    /// Query heads.
    pub query: f64,
    /// Key and value heads.
    pub kv: f64,
    /// Dimension of a head.
    pub dim: f64,
}

/// How fast a GPU is relative to that of the formula.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Speed {
    /// Memory bandwidth.
    pub bandwidth: f64,
    /// FLOP/s.
    pub flops: f64,
}

impl Speed {
    /// The GPU of the formula itself.
    pub const SAME: Self = Self { bandwidth: 1.0, flops: 1.0 };
}

/// Microseconds of the attention of a layer's decoding requests on one GPU: `us` + `requests` b + kv (`kv` +
/// `requests_kv` b) for b requests of kv tokens each.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct DecodeFormula {
    /// Always.
    pub us: f64,
    /// For each request.
    pub requests: f64,
    /// For each KV token of the mean.
    pub kv: f64,
    /// For each KV token of each request.
    pub requests_kv: f64,
}

impl DecodeFormula {
    /// Its line along the KV tokens of the mean.
    pub fn line(&self, requests: f64) -> TokenLine {
        let first_us = self.us + self.requests * requests;
        TokenLine { first_us, rise_us: self.kv + self.requests_kv * requests, ..TokenLine::ZERO }
    }

    /// Its time.
    pub fn at(&self, requests: f64, kv: f64) -> f64 {
        self.line(requests).at(kv)
    }
}

/// Microseconds of the attention of a layer's prompts on one GPU.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PrefillFormula {
    /// Always.
    pub us: f64,
    /// For each token of the chunk.
    pub chunk: f64,
    /// For each KV token that is read.
    pub kv: f64,
    /// For each pair of a chunk's and a KV token.
    pub chunk_kv: f64,
    /// For each pair of tokens of the chunk.
    pub chunk_chunk: f64,
}

impl PrefillFormula {
    /// Its time.
    pub fn at(&self, kv: f64, chunk: f64) -> f64 {
        self.us + self.kv * kv + chunk * (self.chunk + self.chunk_kv * kv + self.chunk_chunk * chunk)
    }
}

/// The formula by heads, per 128 of head dimension.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AttentionFormula {
    /// Base, requests x query heads, KV, requests x KV heads x KV, requests x query heads x KV; microseconds.
    pub decode: [f64; 5],
    /// Base, chunk x query heads, KV, query heads x chunk x KV, query heads x chunk^2; microseconds.
    pub prefill: [f64; 5],
}

/// Head dimension that the coefficients are for.
const DIM: f64 = 128.0;

/// Attention measured with certain heads: decoding as (requests, KV tokens, microseconds), prompts as (KV tokens,
/// chunk, microseconds).
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredAttention<'a> {
    /// Heads on the GPU.
    pub heads: AttentionHeads,
    /// Decoding.
    pub decode: &'a [(u32, u32, f64)],
    /// Prompts.
    pub prefill: &'a [(u32, u32, f64)],
}

impl AttentionFormula {
    /// Fitted on Vidur's A100 profiles of dimension 128: 32 query and 4 KV heads on a GPU, measured; 32 and 32,
    /// reconstructed from 251 measured samples. `servescope profile build` prints the fit.
    pub const A100: Self = Self {
        decode: [12.05, 1.358e-3, 1.956e-3, 2.840e-4, 3.660e-6],
        prefill: [8.825, 3.099e-3, 7.051e-3, 3.281e-6, 3.856e-6],
    };

    /// Median and 95th percentile of its relative errors where it was fitted, in ten-thousandths.
    pub const A100_ERRORS: [u32; 2] = [850, 2900];

    fn decode_terms(heads: &AttentionHeads, requests: f64, kv: f64) -> [f64; 5] {
        let read = requests * kv * heads.dim / DIM;
        [1.0, requests * heads.query, kv, read * heads.kv, read * heads.query]
    }

    fn prefill_terms(heads: &AttentionHeads, kv: f64, chunk: f64) -> [f64; 5] {
        let products = heads.query * chunk * heads.dim / DIM;
        [1.0, products, kv, products * kv, products * chunk]
    }

    /// Fits the formula; each set of measurements weighs alike.
    pub fn fit(sets: &[MeasuredAttention<'_>]) -> Self {
        let (mut decode, mut prefill) = (Vec::new(), Vec::new());
        for set in sets {
            let weight = |points: usize| 1.0 / points.max(1) as f64;
            for &(requests, kv, us) in set.decode {
                let terms = Self::decode_terms(&set.heads, requests.into(), kv.into());
                decode.push((terms, us, weight(set.decode.len())));
            }
            for &(kv, chunk, us) in set.prefill {
                let terms = Self::prefill_terms(&set.heads, kv.into(), chunk.into());
                prefill.push((terms, us, weight(set.prefill.len())));
            }
        }
        Self { decode: relative_least_squares(&decode), prefill: relative_least_squares(&prefill) }
    }

    /// The decode formula for certain heads on a GPU of a certain speed.
    pub fn decode_formula(&self, heads: &AttentionHeads, speed: Speed) -> DecodeFormula {
        let [us, query, kv, read_kv, read_query] = self.decode;
        let dim = heads.dim / DIM;
        DecodeFormula {
            us: within_file_limits(us),
            requests: within_file_limits(query * heads.query),
            kv: within_file_limits(kv / speed.bandwidth),
            requests_kv: within_file_limits(
                (read_kv * heads.kv + read_query * heads.query) * dim / speed.bandwidth,
            ),
        }
    }

    /// The prefill formula for certain heads on a GPU of a certain speed.
    pub fn prefill_formula(&self, heads: &AttentionHeads, speed: Speed) -> PrefillFormula {
        let [us, chunk, kv, chunk_kv, chunk_chunk] = self.prefill;
        let products = heads.query * heads.dim / DIM / speed.flops;
        PrefillFormula {
            us: within_file_limits(us),
            chunk: within_file_limits(chunk * products),
            kv: within_file_limits(kv / speed.bandwidth),
            chunk_kv: within_file_limits(chunk_kv * products),
            chunk_chunk: within_file_limits(chunk_chunk * products),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_formula_can_be_written_to_a_file(
            decode in prop::array::uniform5(any::<f64>()), prefill in prop::array::uniform5(any::<f64>()),
            heads in (1u32..1_000, 1u32..1_000, 1u32..1_000), speed in (1e-9..1e3f64, 1e-9..1e3f64),
        ) {
            let heads = AttentionHeads { query: heads.0.into(), kv: heads.1.into(), dim: heads.2.into() };
            let speed = Speed { bandwidth: speed.0, flops: speed.1 };
            let formula = AttentionFormula { decode, prefill };
            let (d, p) = (formula.decode_formula(&heads, speed), formula.prefill_formula(&heads, speed));
            let told = [d.us, d.requests, d.kv, d.requests_kv, p.us, p.chunk, p.kv, p.chunk_kv, p.chunk_chunk];
            prop_assert!(told.iter().all(|x| (0.0..=MOST_COEFFICIENT).contains(x)), "{told:?}");
        }
    }
}
