//! Measured times of a deployment, with what the roofline knows beyond them.

use crate::batch::{
    Batch, BatchCost, DecodeUsage, OperatorClass, OperatorTime, Peak, StageParts, StageTime, Work,
};
use crate::batch_stages::{BatchStages, StageConstants};
use crate::roofline::Roofline;

/// Times from a profile or from measured kernels; operations, bytes and peaks of the deployment, and the LoRA operators, which
/// neither has.
#[derive(Debug, Clone, PartialEq)]
pub struct Deployed<T> {
    /// Times without LoRA operators.
    pub times: T,
    /// Everything else.
    pub roofline: Roofline,
}

impl<T> Deployed<T> {
    fn adapters_us(&self, batch: &Batch<'_>, is_last: bool) -> f64 {
        if batch.any_adapter { self.roofline.lora_us(batch, is_last) } else { 0.0 }
    }
}

impl<T: BatchCost> BatchCost for Deployed<T> {
    fn stages(&self) -> u32 {
        self.times.stages()
    }

    fn stage_time(&self, batch: &Batch<'_>, is_last: bool) -> StageTime {
        let time = self.times.stage_time(batch, is_last);
        StageTime { first_us: time.first_us + self.adapters_us(batch, is_last), ..time }
    }

    fn stage_constants(&self, batch: &Batch<'_>) -> StageConstants {
        let adapters_us = [false, true].map(|is_last| self.adapters_us(batch, is_last));
        StageConstants { adapters_us, ..self.times.stage_constants(batch) }
    }

    fn batch_stages(&self, batch: &Batch<'_>, constants: &StageConstants) -> BatchStages {
        self.times.batch_stages(batch, constants)
    }

    fn stage_parts(&self, batch: &Batch<'_>, is_last: bool) -> StageParts {
        let mut parts = self.times.stage_parts(batch, is_last);
        parts[OperatorClass::Adapters as usize] = self.adapters_us(batch, is_last);
        parts
    }

    fn operators(&self, batch: &Batch<'_>, is_last: bool) -> Vec<OperatorTime> {
        let mut operators = self.times.operators(batch, is_last);
        if batch.any_adapter && !operators.is_empty() {
            operators.extend(self.roofline.lora_operators(batch, is_last));
        }
        operators
    }

    fn decode_usage(&self, decodes: u32) -> Option<DecodeUsage> {
        let work = self.roofline.decode_work(decodes)?;
        Some(DecodeUsage { work: Some(work), ..self.times.decode_usage(decodes)? })
    }

    fn work(&self, batch: &Batch<'_>) -> Option<Work> {
        self.roofline.work(batch)
    }

    fn peak(&self) -> Option<Peak> {
        self.roofline.peak()
    }
}
