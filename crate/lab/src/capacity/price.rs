//! What the GPUs of a deployment cost.

use serde::Serialize;

use crate::parameters::Id;
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
    /// The price of a scenario's GPUs: what was set.
    pub fn of(scenario: &Scenario) -> Self {
        let replicas =
            if scenario.is_active(Id::Replicas) { scenario.number(Id::Replicas) as u32 } else { 1 };
        let set = scenario.number(Id::UsdPerGpuHour);
        Self { gpus: replicas, usd_per_gpu_hour: (set > 0.0).then_some(set) }
    }

    /// USD for all of them and an hour.
    pub fn usd_per_hour(&self) -> Option<f64> {
        self.usd_per_gpu_hour.map(|usd| usd * f64::from(self.gpus))
    }
}
