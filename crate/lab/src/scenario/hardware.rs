//! The scenario's hardware and model: which cost is asked, of which deployment.

#[cfg(feature = "engines")]
use servescope_cost::deployment::{Deployment, KvFormat, WeightFormat};
#[cfg(feature = "engines")]
use servescope_cost::gpus::{GPUS, Gpu};
#[cfg(feature = "engines")]
use servescope_cost::models::{MODELS, Model};

use super::Scenario;
use crate::parameters::Id;

/// How iteration times are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CostKind {
    /// The linear law.
    Linear,
    /// What GPU and model must do.
    Roofline,
}

impl Scenario {
    /// How iteration times are computed; S-LoRA's loop has the linear law.
    pub fn cost_kind(&self) -> CostKind {
        if self.is_active(Id::CostKind) && self.choice(Id::CostKind) == "roofline" {
            CostKind::Roofline
        } else {
            CostKind::Linear
        }
    }

    /// Whether the KV memory is what the GPUs have left.
    pub fn plans_memory(&self) -> bool {
        self.is_active(Id::KvPool) && self.choice(Id::KvPool) == "planned"
    }

    /// A replica's hardware and model.
    #[cfg(feature = "engines")]
    pub fn deployment(&self) -> Deployment {
        Deployment {
            gpu: Gpu::named(self.choice(Id::FleetGpu)).unwrap_or(&GPUS[0]),
            model: Model::named(self.choice(Id::FleetModel)).unwrap_or(&MODELS[0]),
            tensor_parallel: self.whole(Id::TensorParallel),
            pipeline_parallel: self.whole(Id::PipelineParallel),
            weights: WeightFormat::named(self.choice(Id::Weights)),
            kv: KvFormat::named(self.choice(Id::KvFormat)),
        }
    }
}
