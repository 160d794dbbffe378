//! Measured times of a deployment, with what the roofline knows beyond them.

use crate::batch::{
    Batch, BatchCost, DecodeUsage, LoraBatch, OperatorClass, OperatorTime, Peak, StageParts, StageTime, Work,
    mean_of_stages,
};
use crate::batch_stages::{BatchStages, StageConstants};
use crate::roofline::{LORA_WAIT, Roofline};

/// Times from a profile or from measured kernels; operations, bytes and peaks of the deployment, and the LoRA operators, which
/// neither has.
#[derive(Debug, Clone, PartialEq)]
pub struct Deployed<T> {
    /// Times without LoRA operators.
    pub times: T,
    /// Everything else.
    pub roofline: Roofline,
}

impl<T: BatchCost> Deployed<T> {
    /// LoRA operators of a stage before the last and of the last one, and waiting for their launches, microseconds.
    fn adapters_us(&self, batch: &Batch<'_>) -> [f64; 2] {
        if !batch.any_adapter {
            return [0.0; 2];
        }
        let kernels_us = self.roofline.lora_us(batch);
        let waits_us = self.wait_us(batch, kernels_us);
        [0, 1].map(|stage| kernels_us[stage] + waits_us[stage])
    }

    fn wait_us(&self, batch: &Batch<'_>, adapters_us: [f64; 2]) -> [f64; 2] {
        // Decoding is in CUDA graphs, and its times need not be asked for.
        if batch.chunks.is_empty() {
            return [0.0; 2];
        }
        let parts = self.times.stage_parts(batch);
        let busy_us = [0, 1].map(|stage| parts[stage].iter().sum::<f64>() + adapters_us[stage]);
        self.roofline.lora_wait_us(batch, busy_us)
    }
}

fn with_adapters(mut parts: [StageParts; 2], adapters_us: [f64; 2]) -> [StageParts; 2] {
    for (parts, us) in parts.iter_mut().zip(adapters_us) {
        parts[OperatorClass::Adapters as usize] = us;
    }
    parts
}

impl<T: BatchCost> BatchCost for Deployed<T> {
    fn stages(&self) -> u32 {
        self.times.stages()
    }

    fn stage_time(&self, batch: &Batch<'_>, is_last: bool) -> StageTime {
        let time = self.times.stage_time(batch, is_last);
        let adapters_us = self.adapters_us(batch)[usize::from(is_last)];
        StageTime { first_us: time.first_us + adapters_us, ..time }
    }

    fn stage_constants(&self, batch: &Batch<'_>) -> StageConstants {
        StageConstants { adapters_us: self.adapters_us(batch), ..self.times.stage_constants(batch) }
    }

    fn batch_stages(&self, batch: &Batch<'_>, constants: &StageConstants) -> BatchStages {
        self.times.batch_stages(batch, constants)
    }

    fn stage_parts(&self, batch: &Batch<'_>) -> [StageParts; 2] {
        with_adapters(self.times.stage_parts(batch), self.adapters_us(batch))
    }

    fn usage(&self, batch: &Batch<'_>) -> (StageParts, Option<Work>) {
        let parts = with_adapters(self.times.stage_parts(batch), self.adapters_us(batch));
        (mean_of_stages(parts, self.stages()), self.work(batch))
    }

    fn operators(&self, batch: &Batch<'_>, is_last: bool) -> Vec<OperatorTime> {
        let mut operators = self.times.operators(batch, is_last);
        if batch.any_adapter && !operators.is_empty() {
            operators.extend(self.roofline.lora_operators(batch, is_last));
            let us = self.wait_us(batch, self.roofline.lora_us(batch))[usize::from(is_last)];
            let tokens = f64::from(batch.prompt_tokens()) + f64::from(batch.decodes);
            let waited = (us > 0.0).then_some(OperatorTime {
                name: LORA_WAIT,
                class: OperatorClass::Adapters,
                calls: 1.0,
                us,
                tokens,
                kv_tokens: 0.0,
            });
            operators.extend(waited);
        }
        operators
    }

    fn decode_usage(&self, decodes: u32) -> Option<DecodeUsage> {
        let work = self.roofline.decode_work(decodes)?;
        Some(DecodeUsage { work: Some(work), ..self.times.decode_usage(decodes)? })
    }

    fn lora_usage(&self, lora: &LoraBatch) -> (f64, Work) {
        self.roofline.lora_usage(lora)
    }

    fn work(&self, batch: &Batch<'_>) -> Option<Work> {
        self.roofline.work(batch)
    }

    fn peak(&self) -> Option<Peak> {
        self.times.peak().or_else(|| self.roofline.peak())
    }
}
