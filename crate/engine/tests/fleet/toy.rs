//! Costs that are easy to follow, and one that remembers what it was asked.

use std::sync::{Arc, Mutex};

use servescope_cost::{
    Batch, BatchCost, BatchStages, Chunk, DecodeLine, LoraBatch, OperatorClass, Peak, StageConstants,
    StageParts, StageTime, TokenLine, Work,
};

/// A cost with steps in the KV tokens, growth between them, and a price for everything.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Toy {
    pub(crate) stages: u32,
    pub(crate) growth_us: f64,
    pub(crate) hold: u64,
}

pub(crate) const TOY: Toy = Toy { stages: 1, growth_us: 0.0, hold: 64 };

impl Toy {
    /// A batch without prompts between two steps.
    fn line(&self, batch: &Batch<'_>) -> DecodeLine {
        let mean = batch.decode_kv_tokens as u64 / u64::from(batch.decodes.max(1));
        let step = mean / self.hold;
        let attention = TokenLine {
            from_tokens: (step * self.hold) as f64,
            first_us: 0.9 * step as f64,
            width_tokens: 1.0,
            rise_us: self.growth_us,
            until_tokens: ((step + 1) * self.hold) as f64,
        };
        let constants = StageConstants {
            layer_us: 50.3 + 3.1 * f64::from(batch.decodes),
            send_us: 2.5,
            host_us: 0.0,
            adapters_us: [1.3 * f64::from(batch.lora.adapters); 2],
        };
        DecodeLine { attention, penalty: 1.0, kv_bias: 0.0, layers: [1.0; 2], constants }
    }
}

impl BatchCost for Toy {
    fn stages(&self) -> u32 {
        self.stages
    }

    fn stage_time(&self, batch: &Batch<'_>, is_last: bool) -> StageTime {
        let mean = batch.decode_kv_tokens as u64 / u64::from(batch.decodes.max(1));
        let valid_iterations = (self.hold - mean % self.hold) as u32;
        if batch.chunks.is_empty() && batch.decodes > 0 {
            let us = self.line(batch).us(batch.decodes, batch.decode_kv_tokens as u64).unwrap();
            let first_us = us[usize::from(is_last)];
            return StageTime { first_us, growth_us: self.growth_us, valid_iterations };
        }
        let first_us = 50.3
            + 1.7 * f64::from(batch.prompt_tokens())
            + 3.1 * f64::from(batch.decodes)
            + 0.9 * (mean / self.hold) as f64
            + 1.3 * f64::from(batch.lora.adapters)
            + if is_last { 0.0 } else { 2.5 };
        StageTime::once(first_us)
    }

    fn batch_stages(&self, batch: &Batch<'_>, _constants: &StageConstants) -> BatchStages {
        let [inner, last] = [false, true].map(|is_last| self.stage_time(batch, is_last));
        let us = [inner.first_us, last.first_us];
        // With growth no iteration is as long as the one before it, and all up to the next step lie on a line.
        if self.growth_us > 0.0 {
            let line = batch.chunks.is_empty().then(|| self.line(batch));
            return BatchStages { us, valid_iterations: 1, line };
        }
        BatchStages { us, valid_iterations: last.valid_iterations, line: None }
    }

    fn stage_parts(&self, batch: &Batch<'_>) -> [StageParts; 2] {
        let mut parts = StageParts::default();
        let mean = batch.decode_kv_tokens as u64 / u64::from(batch.decodes.max(1));
        parts[OperatorClass::Host as usize] = 50.3;
        parts[OperatorClass::PrefillAttention as usize] = 1.7 * f64::from(batch.prompt_tokens());
        parts[OperatorClass::Linear as usize] = 3.1 * f64::from(batch.decodes);
        parts[OperatorClass::DecodeAttention as usize] = 0.9 * (mean / self.hold) as f64;
        parts[OperatorClass::Adapters as usize] = 1.3 * f64::from(batch.lora.adapters);
        let mut inner = parts;
        inner[OperatorClass::Communication as usize] = 2.5;
        [inner, parts]
    }

    fn work(&self, batch: &Batch<'_>) -> Option<Work> {
        let tokens = f64::from(batch.prompt_tokens() + batch.decodes);
        Some(Work { flops: 5.0 * tokens, bytes: batch.decode_kv_tokens })
    }

    fn peak(&self) -> Option<Peak> {
        Some(Peak { flops: 1e6, bytes: 2e9 })
    }
}

/// What a cost model was asked about.
pub(crate) type Asked = (Vec<Chunk>, u32, u64, u64, bool, LoraBatch);

/// Remembers of the last stage what it is asked.
#[derive(Debug, Clone)]
pub(crate) struct Listening(pub(crate) Toy, pub(crate) Arc<Mutex<Vec<Asked>>>);

pub(crate) fn asked(batch: &Batch<'_>) -> Asked {
    let Batch { chunks, decodes, decode_kv_tokens, rank_sum, any_adapter, lora, .. } = *batch;
    (chunks.to_vec(), decodes, decode_kv_tokens as u64, rank_sum, any_adapter, lora)
}

impl BatchCost for Listening {
    fn stages(&self) -> u32 {
        self.0.stages
    }

    fn stage_time(&self, batch: &Batch<'_>, is_last: bool) -> StageTime {
        if is_last {
            self.1.lock().unwrap().push(asked(batch));
        }
        self.0.stage_time(batch, is_last)
    }
}

/// A cost that takes a whole factor longer.
#[derive(Debug)]
pub(crate) struct Slow(pub(crate) Toy, pub(crate) f64);

impl BatchCost for Slow {
    fn stages(&self) -> u32 {
        self.0.stages
    }

    fn stage_time(&self, batch: &Batch<'_>, is_last: bool) -> StageTime {
        let time = self.0.stage_time(batch, is_last);
        StageTime { first_us: time.first_us * self.1, growth_us: time.growth_us * self.1, ..time }
    }
}
