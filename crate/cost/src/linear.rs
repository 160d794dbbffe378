//! The linear model: an iteration costs a constant, plus a part for each token, request and KV token.
//!
//! Such a model describes measured iterations of one model on one GPU within a few per cent (S-LoRA and VTC profiles,
//! DistServe's `simdistserve`), and it is what the closed forms of queueing theory are stated for.

/// Coefficients in microseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinearCost {
    /// Constant of a prefill iteration.
    pub prefill_base_us: f64,
    /// For each prompt token.
    pub prefill_per_token_us: f64,
    /// Constant of a decode iteration.
    pub decode_base_us: f64,
    /// For each request in the batch.
    pub decode_per_request_us: f64,
    /// For each KV token read.
    pub decode_per_kv_token_us: f64,
    /// Scheduler, sampling and Python, for each decode iteration.
    pub overhead_us: f64,
    /// What adapters add.
    pub adapters: AdapterCost,
}

/// What adapters add to an iteration, and what loading one costs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdapterCost {
    /// Constant of loading one.
    pub load_base_us: f64,
    /// For each unit of its rank.
    pub load_per_rank_us: f64,
    /// Prefill time is multiplied by this when any request uses an adapter.
    pub prefill_factor: f64,
    /// Added to a decode iteration when any request uses an adapter.
    pub decode_active_us: f64,
    /// Added for each unit of the sum of ranks over the batch.
    pub decode_per_rank_us: f64,
}

impl AdapterCost {
    /// Adapters that cost nothing.
    pub const FREE: Self = Self {
        load_base_us: 0.0,
        load_per_rank_us: 0.0,
        prefill_factor: 1.0,
        decode_active_us: 0.0,
        decode_per_rank_us: 0.0,
    };
}

/// Most iterations that are given at once.
const MOST: f64 = u32::MAX as f64 / 2.0;

/// Times of consecutive decode iterations of one batch: iteration j takes `first_us` + j `growth_us`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinearDecode {
    first_us: f64,
    growth_us: f64,
}

impl LinearDecode {
    /// Iterations of `first_us`, `first_us` + `growth_us`, …
    pub fn new(first_us: f64, growth_us: f64) -> Self {
        Self { first_us, growth_us }
    }

    /// The first iteration.
    pub fn first_us(&self) -> f64 {
        self.first_us
    }

    /// By how much each is longer than the one before.
    pub fn growth_us(&self) -> f64 {
        self.growth_us
    }

    /// Duration of the first `iterations` together. Increasing, and 0 at 0.
    ///
    /// The clock after k iterations is defined as start + `elapsed_us(k)`, whether the k are charged at once or one by
    /// one: that is what makes both ways equal to the last bit.
    pub fn elapsed_us(&self, iterations: u32) -> f64 {
        let k = f64::from(iterations);
        self.first_us * k + self.growth_us * (k * (k - 1.0) * 0.5)
    }

    /// Duration of iteration `index` (0 = first).
    pub fn iteration_us(&self, index: u32) -> f64 {
        self.first_us + self.growth_us * f64::from(index)
    }

    /// The least number of iterations, at least 1, after which `elapsed_us` is at least `time_us`.
    pub fn iterations_until(&self, time_us: f64) -> u32 {
        let mut k = self.about_until(time_us);
        while k > 1 && self.elapsed_us(k - 1) >= time_us {
            k -= 1;
        }
        while f64::from(k) < MOST && self.elapsed_us(k) < time_us {
            k += 1;
        }
        k
    }

    /// The same but for rounding.
    pub fn about_until(&self, time_us: f64) -> u32 {
        // growth/2 k^2 + (first - growth/2) k = time, solved in the form that does not cancel.
        let linear = self.first_us - 0.5 * self.growth_us;
        let root = f64::sqrt(linear * linear + 2.0 * self.growth_us * time_us);
        let about = if linear + root > 0.0 { 2.0 * time_us / (linear + root) } else { MOST };
        about.clamp(1.0, MOST) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Batch, BatchCost, Chunk, LoraBatch};
    use proptest::prelude::*;

    const PLAIN: LinearCost = LinearCost {
        prefill_base_us: 10_000.0,
        prefill_per_token_us: 200.0,
        decode_base_us: 20_000.0,
        decode_per_request_us: 100.0,
        decode_per_kv_token_us: 1.0,
        overhead_us: 0.0,
        adapters: AdapterCost { load_per_rank_us: 100.0, ..AdapterCost::FREE },
    };

    #[test]
    fn lora_operators_do_not_change_its_times() {
        let cost = crate::calibration::CALIBRATIONS[0].cost;
        assert!(!cost.reads_lora());
        let prompt = [Chunk { kv_tokens: 0, tokens: 100 }];
        let lora = LoraBatch { adapters: 3, adapter_ranks: 48, tokens: 104, token_ranks: 1_664 };
        for chunks in [&prompt[..], &[]] {
            let batch = Batch { chunks, decodes: 4, rank_sum: 80, any_adapter: true, ..Batch::default() };
            let counted = Batch { lora, ..batch };
            assert_eq!(cost.stage_time(&batch, true), cost.stage_time(&counted, true));
            assert_eq!(cost.stage_parts(&batch), cost.stage_parts(&counted));
        }
    }

    #[test]
    fn coefficients_add_up() {
        let chunk = |tokens| Chunk { kv_tokens: 0, tokens };
        let prompts = [chunk(60), chunk(50), chunk(55)];
        let plain = Batch { any_adapter: true, ..Batch::default() };
        let prefill = PLAIN.stage_time(&Batch { chunks: &prompts, ..plain }, true);
        assert_eq!(prefill.first_us, 43_000.0);
        let decode = Batch { decodes: 3, decode_kv_tokens: 160.0, rank_sum: 48, ..plain };
        let time = PLAIN.stage_time(&decode, true);
        let run = LinearDecode::new(time.first_us, time.growth_us);
        assert_eq!(run.iteration_us(0), 20_460.0);
        assert_eq!(run.iteration_us(2), 20_466.0);
        assert_eq!(run.elapsed_us(3), 20_460.0 + 20_463.0 + 20_466.0);
    }

    proptest! {
        #[test]
        fn iterations_until_is_the_least(
            base in 0.5..50_000f64, growth in prop_oneof![Just(0.0), 0.0..50f64], time in 0.0..1e10f64,
        ) {
            let run = LinearDecode { first_us: base, growth_us: growth };
            let k = run.iterations_until(time);
            if k < u32::MAX / 2 {
                prop_assert!(run.elapsed_us(k) >= time);
                prop_assert!(k == 1 || run.elapsed_us(k - 1) < time);
            }
        }
    }

    #[test]
    fn a_free_decode_never_reaches_a_later_time() {
        let run = LinearDecode { first_us: 0.0, growth_us: 0.0 };
        assert!(run.iterations_until(1.0) >= u32::MAX / 2 - 1);
    }
}
