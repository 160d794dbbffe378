//! A replica's hardware and model as a page shows them: what lies in a GPU's memory, and how far its times can be trusted.

use serde::Serialize;
use servescope_cost::gpus::Gpu;
use servescope_cost::{Corrections, nodes};
use servescope_evidence::measured::operators::HELD_OUT;
use servescope_lab::capacity::{Quote, quote};
use servescope_settings::parameters::{Id, choices};
use servescope_settings::scenario::{CostSource, Scenario};

/// One part of the memory.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "MemoryPart"))]
pub struct MemoryPart {
    /// `weights`, `activations`, `graphs`, `other`, `adapters`, `kv` or `margin`.
    #[cfg_attr(
        feature = "types",
        ts(type = "'weights' | 'activations' | 'graphs' | 'other' | 'adapters' | 'kv' | 'margin'")
    )]
    pub name: &'static str,
    /// Gigabytes (1e9).
    pub gb: f64,
}

/// Where the times come from.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct CostOrigin {
    /// The GPU on which the operators were measured; "" for the data sheet's peaks.
    pub measured_on: &'static str,
    /// Whether that is the GPU itself.
    pub own: bool,
    /// Median errors of a layer of models that the corrections were not fitted on: that of the best and of the worst model.
    pub best: f64,
    /// See `best`.
    pub worst: f64,
}

/// What a page shows.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct DeploymentView {
    /// The pool's name; empty where it has none.
    pub name: String,
    /// How many replicas it has at the beginning.
    pub replicas: u32,
    /// GPU.
    pub gpu: &'static str,
    /// Model.
    pub model: String,
    /// Its layers.
    pub layers: u32,
    /// Its data-parallel ranks, each with a KV cache of its own.
    pub ranks: u32,
    /// GPUs of a replica with all of its ranks.
    pub gpus: u32,
    /// Nodes that they are on.
    pub nodes: u32,
    /// Bandwidth of each GPU to those of other nodes, GB/s.
    pub node_link_gb_s: f64,
    /// Memory of one, gigabytes.
    pub memory_gb: f64,
    /// What lies in it, from the bottom.
    pub parts: Vec<MemoryPart>,
    /// Gigabytes that are missing on each GPU; 0 where it fits.
    pub missing_gb: f64,
    /// KV tokens of a replica; 0 where it does not fit.
    pub kv_tokens: u32,
    /// US dollars for a replica and an hour at that price; `None` without a known price.
    pub usd_per_hour: Option<f64>,
    /// The price of a GPU, of the kind of `capacity.price_kind` where there is one.
    pub price: Option<Quote>,
    /// Where the times come from, for a roofline.
    pub cost: CostOrigin,
    /// Where they come from, for timed operators.
    pub timed: Option<CostSource>,
    /// The other pools of the fleet.
    pub others: Vec<DeploymentView>,
}

/// The deployment of a scenario with a cost that knows one, and those of its other pools.
pub fn deployment(scenario: &Scenario) -> DeploymentView {
    let pools = scenario.fleet_pools().unwrap_or_default();
    let others = pools
        .iter()
        .skip(1)
        .map(|pool| DeploymentView { name: pool.name.clone(), ..of_pool(&pool.scenario) });
    DeploymentView { others: others.collect(), ..of_pool(scenario) }
}

fn of_pool(scenario: &Scenario) -> DeploymentView {
    let deployment = scenario.deployment();
    let ranks = scenario.adapter_ranks();
    let plan = scenario.memory_plan(ranks);
    let gb = |bytes: f64| bytes / 1e9;
    let parts = [
        ("weights", plan.weight_bytes),
        ("activations", plan.activation_bytes),
        ("graphs", plan.graph_bytes),
        ("other", plan.other_bytes),
        ("adapters", plan.adapter_bytes),
        ("drafter", plan.drafter_bytes),
        ("kv", plan.kv_bytes),
        ("margin", plan.margin_bytes),
    ];
    let price = quote(&deployment.gpu, scenario.chosen(choices::PRICE_KIND));
    let pool = scenario.pool_tokens(ranks);
    DeploymentView {
        name: String::new(),
        replicas: scenario.number(Id::Replicas) as u32,
        gpu: deployment.gpu.name,
        model: scenario.model_name().into_owned(),
        layers: deployment.model.layers,
        ranks: scenario.data_parallel_size(),
        gpus: scenario.gpus_per_replica(),
        nodes: nodes::nodes(&deployment.gpu, scenario.gpus_per_replica()),
        node_link_gb_s: deployment.gpu.node_link_gb_s.value,
        memory_gb: gb(plan.memory_bytes),
        parts: parts.map(|(name, bytes)| MemoryPart { name, gb: gb(bytes) }).to_vec(),
        missing_gb: gb(plan.missing_bytes),
        kv_tokens: pool.unwrap_or(0),
        usd_per_hour: price.map(|price| price.usd_per_gpu_hour * f64::from(scenario.gpus_per_replica())),
        price,
        cost: origin(scenario, &deployment.gpu),
        timed: scenario.cost_source(),
        others: Vec::new(),
    }
}

fn origin(scenario: &Scenario, gpu: &Gpu) -> CostOrigin {
    let measured_on = match scenario.chosen(choices::Corrections::ID) {
        choices::Corrections::Fitted => Corrections::of(gpu.id).measured_on,
        choices::Corrections::None => {
            return CostOrigin { measured_on: "", own: false, best: 0.0, worst: 0.0 };
        }
    };
    let name = Gpu::named(measured_on).map_or("", |gpu| gpu.name);
    let known = HELD_OUT.iter().find(|(id, _, _)| *id == measured_on);
    let (best, worst) = known.map_or((0.0, 0.0), |(_, best, worst)| (*best, *worst));
    CostOrigin { measured_on: name, own: measured_on == gpu.id, best, worst }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_fill_the_memory_where_it_fits_and_overflow_it_where_not() {
        let mut scenario = Scenario::of_version(4);
        for (path, value) in [
            ("scheduler.kind", "vllm_v1"),
            ("cost.kind", "roofline"),
            ("fleet.gpu", "a100_80_sxm"),
            ("workload.adapters.count", "0"),
        ] {
            scenario.set_text(path, value).unwrap();
        }
        let view = deployment(&scenario);
        let all: f64 = view.parts.iter().map(|part| part.gb).sum();
        assert!((all - view.memory_gb).abs() < 1e-6 && view.missing_gb == 0.0);
        assert!((110_000..130_000).contains(&view.kv_tokens), "{}", view.kv_tokens);
        scenario.set_text("fleet.model", "llama-2-70b").unwrap();
        let view = deployment(&scenario);
        let all: f64 = view.parts.iter().map(|part| part.gb).sum();
        // The longest request would have to fit, too.
        let over = all - view.memory_gb;
        assert!(view.kv_tokens == 0 && over > 60.0 && over < view.missing_gb, "{over} {}", view.missing_gb);
        let errors = servescope_lab::run::Run::simulate(&scenario, None).unwrap_err();
        assert_eq!(errors[0].code, "does_not_fit");
        assert!(errors[0].message.contains("GB are missing"), "{}", errors[0].message);
        scenario.set_text("fleet.kv_pool", "given").unwrap();
        assert!(servescope_lab::run::Run::simulate(&scenario, None).is_ok());
    }
}
