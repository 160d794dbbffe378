//! The scenario's hardware and model: which cost is asked, of which deployment.

#[cfg(feature = "engines")]
use servescope_cost::{
    BatchCost, Corrections, HostTime, Roofline,
    deployment::{Deployment, KvFormat, WeightFormat},
    gpus::{GPUS, Gpu},
    models::{MODELS, Model},
};

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

    /// What the iterations of a fleet's replica take.
    #[cfg(feature = "engines")]
    pub fn fleet_cost(&self) -> Box<dyn BatchCost> {
        match self.cost_kind() {
            CostKind::Linear => Box::new(self.cost()),
            CostKind::Roofline => Box::new(self.roofline()),
        }
    }

    /// The roofline of its deployment.
    #[cfg(feature = "engines")]
    pub fn roofline(&self) -> Roofline {
        let deployment = self.deployment();
        let corrections = if self.choice(Id::Corrections) == "none" {
            &Corrections::NONE
        } else {
            Corrections::of(deployment.gpu.id)
        };
        let us = |id: Id| self.number(id) * 1e3;
        let host = HostTime {
            base_us: us(Id::HostBase),
            per_request_us: us(Id::HostPerRequest),
            launch_per_layer_us: us(Id::HostLaunch),
        };
        Roofline::new(deployment, corrections, host)
    }
}
