//! What the GPUs of a deployment cost.

use serde::Serialize;

use crate::parameters::Id;
use crate::scenario::CostKind;
use crate::scenario::Scenario;

/// GPUs and their price.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Price {
    /// GPUs of all replicas.
    pub gpus: u32,
    /// USD for one of them and an hour, where it is known.
    pub usd_per_gpu_hour: Option<f64>,
}

impl Price {
    /// The price of a scenario's GPUs: what was set, or what stands for the GPU of its deployment. The linear law names no
    /// deployment; it has one GPU a replica.
    pub fn of(scenario: &Scenario) -> Self {
        let replicas =
            if scenario.is_active(Id::Replicas) { scenario.number(Id::Replicas) as u32 } else { 1 };
        let set = Some(scenario.number(Id::UsdPerGpuHour)).filter(|&usd| usd > 0.0);
        let (each, listed) = deployed(scenario);
        Self { gpus: replicas * each, usd_per_gpu_hour: set.or(listed) }
    }

    /// USD for all of them and an hour.
    pub fn usd_per_hour(&self) -> Option<f64> {
        self.usd_per_gpu_hour.map(|usd| usd * f64::from(self.gpus))
    }
}

/// GPUs of a replica, and the listed price of one.
fn deployed(scenario: &Scenario) -> (u32, Option<f64>) {
    if scenario.cost_kind() == CostKind::Linear {
        return (1, None);
    }
    let deployment = scenario.deployment();
    (deployment.gpus(), deployment.gpu.price().map(|price| price.usd_per_hour))
}
