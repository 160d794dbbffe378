//! A profile's times for a deployment, with what the roofline knows beyond them.

use super::compact::CompactTables;
use crate::batch::{
    Batch, BatchCost, DecodeConstants, DecodeUsage, OperatorClass, Peak, StageParts, StageTime, Work,
};
use crate::roofline::Roofline;

/// Measured times; operations, bytes and peaks of the deployment, and the LoRA operators, which no profile has.
#[derive(Debug, Clone, PartialEq)]
pub struct DeployedProfile {
    /// Times.
    pub tables: CompactTables,
    /// Everything else.
    pub roofline: Roofline,
}

impl DeployedProfile {
    fn adapters_us(&self, batch: &Batch<'_>, is_last: bool) -> f64 {
        self.roofline.lora_us(batch, is_last)
    }
}

impl BatchCost for DeployedProfile {
    fn stages(&self) -> u32 {
        self.tables.stages()
    }

    fn stage_time(&self, batch: &Batch<'_>, is_last: bool) -> StageTime {
        let time = self.tables.stage_time(batch, is_last);
        StageTime { first_us: time.first_us + self.adapters_us(batch, is_last), ..time }
    }

    fn decode_constants(&self, batch: &Batch<'_>) -> DecodeConstants {
        let adapters_us = [false, true].map(|is_last| self.adapters_us(batch, is_last));
        DecodeConstants { adapters_us, ..self.tables.decode_constants(batch) }
    }

    fn decode_stages_us(&self, batch: &Batch<'_>, constants: &DecodeConstants) -> [f64; 2] {
        let [inner_us, last_us] = self.tables.decode_stages_us(batch, constants);
        let [inner_adapters_us, last_adapters_us] = constants.adapters_us;
        [inner_us + inner_adapters_us, last_us + last_adapters_us]
    }

    fn stage_parts(&self, batch: &Batch<'_>, is_last: bool) -> StageParts {
        let mut parts = self.tables.stage_parts(batch, is_last);
        parts[OperatorClass::Adapters as usize] = self.adapters_us(batch, is_last);
        parts
    }

    fn decode_usage(&self, decodes: u32) -> Option<DecodeUsage> {
        let work = self.roofline.decode_work(decodes)?;
        Some(DecodeUsage { work: Some(work), ..self.tables.decode_usage(decodes)? })
    }

    fn work(&self, batch: &Batch<'_>) -> Option<Work> {
        self.roofline.work(batch)
    }

    fn peak(&self) -> Option<Peak> {
        self.roofline.peak()
    }
}
