//! Traffic like that of real traces: workloads that were fitted to them (`servescope fit`), as the files of `static/traffic` have them
//! with their sources, licences and distances. They are twins, and not the traces.

use serde_json::Value as Json;

use crate::scenario::Scenario;

/// The twin of one trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RealTraffic {
    /// Its name.
    pub id: &'static str,
    text: &'static str,
}

macro_rules! traffic_file {
    ($id:literal) => {
        RealTraffic {
            id: $id,
            text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../static/traffic/", $id, ".json")),
        }
    };
}

/// All of them.
pub const REAL_TRAFFIC: [RealTraffic; 4] = [
    traffic_file!("azure_code"),
    traffic_file!("burstgpt"),
    traffic_file!("mooncake_conversation"),
    traffic_file!("servegen_m_small"),
];

impl RealTraffic {
    /// The twin called `id`.
    pub fn named(id: &str) -> Option<&'static Self> {
        REAL_TRAFFIC.iter().find(|traffic| traffic.id == id)
    }

    fn json(&self) -> Json {
        serde_json::from_str(self.text).unwrap_or_default()
    }

    /// What it was fitted to.
    pub fn source(&self) -> String {
        self.json()["source"].as_str().unwrap_or_default().to_owned()
    }

    /// Gives a scenario this workload in place of its own; all else stays.
    pub fn apply(&self, scenario: &mut Scenario) {
        let (twin, _) = Scenario::from_json(&self.json()["scenario"]);
        let own: Vec<_> = scenario.held().filter(|id| id.row().id.starts_with("workload.")).collect();
        own.into_iter().for_each(|id| scenario.reset(id));
        for (id, value) in twin.changed() {
            scenario.set(id, value.clone()).expect("a value of a scenario is within bounds");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_twin_is_a_workload_with_its_source() {
        for traffic in REAL_TRAFFIC {
            let json = traffic.json();
            assert_eq!(json["id"], traffic.id);
            let (twin, problems) = Scenario::from_json(&json["scenario"]);
            assert!(problems.is_empty(), "{}: {problems:?}", traffic.id);
            assert!(twin.changed().all(|(id, _)| id.row().id.starts_with("workload.")), "{}", traffic.id);
            assert!(json["licence"].is_string() && !traffic.source().is_empty());
            let mut scenario = Scenario::of_version(4);
            scenario.set_text("scheduler.kind", "vllm_v1").unwrap();
            scenario.set_text("workload.arrivals.cv", "4").unwrap();
            traffic.apply(&mut scenario);
            assert_eq!(scenario.choice(crate::parameters::Id::SchedulerKind), "vllm_v1");
            let trace = servescope_workload::generate(&scenario.workload());
            let of_source = json["requests"].as_f64().unwrap();
            assert!((trace.len() as f64 / of_source - 1.0).abs() < 0.03, "{}: {}", traffic.id, trace.len());
        }
        assert!(RealTraffic::named("burstgpt").is_some() && RealTraffic::named("x").is_none());
    }
}
