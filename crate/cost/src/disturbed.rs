//! Iteration times that are off by so much: what a run would be if the model of iteration times were wrong.
//!
//! A model of iteration times is off by some percent for each composition of an iteration, and by the same whenever it comes again. So
//! the noise is a factor drawn for what the iteration holds (the requests that decode and their KV tokens, or its prompts), and
//! no iteration has to know how many came before it. An iteration and the part of it that decodes have the same factor, so that
//! what prompts add to it is off by that factor, too.

use crate::batch::{
    Batch, BatchCost, DecodeUsage, LoraBatch, OperatorTime, Peak, StageParts, StageTime, Work,
};
use crate::batch_stages::{BatchStages, StageConstants};

/// By how much iteration times are off.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TimeError {
    /// By which share of itself every iteration takes longer; above -1.
    pub bias: f64,
    /// Standard deviation of the factor that is drawn for each composition, whose mean is 1.
    pub noise: f64,
    /// Which factors are drawn.
    pub key: u64,
}

impl TimeError {
    /// Whether times are left as they are.
    pub fn is_none(&self) -> bool {
        self.bias == 0.0 && self.noise == 0.0
    }

    /// By what the time of an iteration is multiplied: lognormal around 1 + bias.
    pub fn factor(&self, batch: &Batch<'_>) -> f64 {
        let mean = 1.0 + self.bias;
        if self.noise == 0.0 {
            return mean;
        }
        let mut bits = self.key;
        let mut mix = |word: u64| bits = split_mix(bits ^ word);
        if batch.decodes > 0 {
            mix(u64::from(batch.decodes));
            mix(batch.decode_kv_tokens.to_bits());
        } else {
            for chunk in batch.chunks {
                mix((u64::from(chunk.kv_tokens) << 32) | u64::from(chunk.tokens));
            }
        }
        let variance = libm::log1p(self.noise * self.noise);
        mean * libm::exp(libm::sqrt(variance) * normal(bits) - variance / 2.0)
    }
}

/// The output function of SplitMix64 (Steele, Lea, Flood 2014) on its next state.
fn split_mix(state: u64) -> u64 {
    let mut bits = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

/// A standard normal number of these bits (Box and Muller 1958).
fn normal(bits: u64) -> f64 {
    // In (0, 1): the logarithm is finite.
    let uniform = |bits: u64| ((bits >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
    let (u, v) = (uniform(bits), uniform(split_mix(bits)));
    libm::sqrt(-2.0 * libm::log(u)) * libm::cos(2.0 * std::f64::consts::PI * v)
}

/// A model of iteration times with an error.
#[derive(Debug)]
pub struct Disturbed {
    cost: Box<dyn BatchCost>,
    error: TimeError,
}

impl Disturbed {
    /// The times of `cost`, off by `error`; `cost` itself where that is none.
    pub fn or_as_it_is(cost: Box<dyn BatchCost>, error: TimeError) -> Box<dyn BatchCost> {
        if error.is_none() { cost } else { Box::new(Self { cost, error }) }
    }
}

impl BatchCost for Disturbed {
    fn stages(&self) -> u32 {
        self.cost.stages()
    }

    /// Each iteration is asked for: the next one has a factor of its own.
    fn stage_time(&self, batch: &Batch<'_>, is_last: bool) -> StageTime {
        StageTime::once(self.cost.stage_time(batch, is_last).first_us * self.error.factor(batch))
    }

    fn reads_lora(&self) -> bool {
        self.cost.reads_lora()
    }

    fn stage_constants(&self, batch: &Batch<'_>) -> StageConstants {
        self.cost.stage_constants(batch)
    }

    fn batch_stages(&self, batch: &Batch<'_>, constants: &StageConstants) -> BatchStages {
        let factor = self.error.factor(batch);
        BatchStages::once(self.cost.batch_stages(batch, constants).us.map(|us| us * factor))
    }

    fn stage_parts(&self, batch: &Batch<'_>) -> [StageParts; 2] {
        let factor = self.error.factor(batch);
        self.cost.stage_parts(batch).map(|parts| parts.map(|us| us * factor))
    }

    fn operators(&self, batch: &Batch<'_>, is_last: bool) -> Vec<OperatorTime> {
        let factor = self.error.factor(batch);
        let mut operators = self.cost.operators(batch, is_last);
        operators.iter_mut().for_each(|operator| operator.us *= factor);
        operators
    }

    fn work(&self, batch: &Batch<'_>) -> Option<Work> {
        self.cost.work(batch)
    }

    /// Iterations that differ in their KV tokens have nothing in common but their bias.
    fn decode_usage(&self, decodes: u32) -> Option<DecodeUsage> {
        let factor = 1.0 + self.error.bias;
        let usage = self.cost.decode_usage(decodes).filter(|_| self.error.noise == 0.0)?;
        Some(DecodeUsage { parts: usage.parts.map(|us| us * factor), ..usage })
    }

    fn lora_usage(&self, lora: &LoraBatch) -> (f64, Work) {
        let (us, work) = self.cost.lora_usage(lora);
        (us * (1.0 + self.error.bias), work)
    }

    fn peak(&self) -> Option<Peak> {
        self.cost.peak()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::Chunk;
    use crate::linear::{AdapterCost, LinearCost};
    use proptest::prelude::*;

    #[test]
    fn factors_have_the_mean_and_the_deviation_that_are_asked_for() {
        for (bias, noise) in [(0.0, 0.1), (0.09, 0.3), (-0.5, 0.05)] {
            let error = TimeError { bias, noise, key: 7 };
            let factor = |kv: u32| {
                error.factor(&Batch { decodes: 8, decode_kv_tokens: f64::from(kv), ..Batch::default() })
            };
            let all: Vec<f64> = (0..40_000).map(factor).collect();
            let mean = all.iter().sum::<f64>() / all.len() as f64;
            let variance = all.iter().map(|f| (f - mean) * (f - mean)).sum::<f64>() / all.len() as f64;
            let expected = 1.0 + bias;
            assert!((mean / expected - 1.0).abs() < 0.01, "{mean}");
            assert!((variance.sqrt() / (noise * expected) - 1.0).abs() < 0.03, "{}", variance.sqrt());
        }
    }

    proptest! {
        #[test]
        fn equal_iterations_are_off_by_the_same_and_stages_too(
            bias in -0.9..4.0f64, noise in 0.0..1.0f64, key: u64,
            chunks in prop::collection::vec((0u32..9_000, 1u32..9_000), 0..4), decodes in 0u32..300, kv in 0u32..9_000_000,
        ) {
            let chunks: Vec<Chunk> = chunks.into_iter().map(|(kv_tokens, tokens)| Chunk { kv_tokens, tokens }).collect();
            let batch = Batch { chunks: &chunks, decodes, decode_kv_tokens: f64::from(kv), ..Batch::default() };
            let error = TimeError { bias, noise, key };
            let factor = error.factor(&batch);
            prop_assert!(factor.is_finite() && factor > 0.0);
            prop_assert_eq!(factor, error.factor(&batch));
            if decodes > 0 {
                prop_assert_eq!(factor, error.factor(&Batch { chunks: &[], ..batch }));
            }
            let plain = LinearCost {
                prefill_base_us: 5e3,
                prefill_per_token_us: 220.0,
                decode_base_us: 18e3,
                decode_per_request_us: 216.0,
                decode_per_kv_token_us: 0.1,
                overhead_us: 0.0,
                adapters: AdapterCost::FREE,
            };
            let cost = Disturbed::or_as_it_is(Box::new(plain), error);
            let time = cost.stage_time(&batch, true);
            prop_assert_eq!(time.first_us, plain.stage_time(&batch, true).first_us * factor);
            prop_assert_eq!(cost.batch_stages(&batch, &cost.stage_constants(&batch)).us[1], time.first_us);
            let parts: f64 = cost.stage_parts(&batch)[1].iter().sum();
            prop_assert!((parts - time.first_us).abs() <= 1e-9 * time.first_us.max(1.0));
        }
    }
}
