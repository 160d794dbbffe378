//! Vidur's flags as a fleet's settings.

use std::sync::Arc;

use serde_json::Value;
use servescope_cost::profile::ExactTables;
use servescope_engine::FleetConfig;
use servescope_engine::fleet::{RouterKind, SchedulerKind};
use servescope_workload::Trace;

pub(crate) struct Setup {
    pub(crate) config: FleetConfig,
    pub(crate) cost: ExactTables,
    pub(crate) trace: Arc<Trace>,
}

fn number(value: &Value, key: &str, default: u32) -> u32 {
    value.get(key).and_then(Value::as_u64).map_or(default, |n| n as u32)
}

pub(crate) fn stages(config: &Value) -> u32 {
    number(&config["flags"], "replica_config_num_pipeline_stages", 1)
}

/// The settings of the run: Vidur's defaults, its flags, and the derived numbers.
pub(crate) fn config(config: &Value) -> FleetConfig {
    let (flags, derived) = (&config["flags"], &config["derived"]);
    let scheduler = flags["replica_scheduler_config_type"].as_str().unwrap_or("sarathi");
    let of = |name: &str, default| number(flags, &format!("{scheduler}_scheduler_config_{name}"), default);
    let derived = |name: &str| derived[name].as_u64().unwrap_or_else(|| panic!("derived.{name}")) as u32;
    FleetConfig {
        replicas: number(flags, "cluster_config_num_replicas", 1),
        router: match flags["global_scheduler_config_type"].as_str() {
            Some("lor") => RouterKind::ShortestLine,
            Some("round_robin") | None => RouterKind::RoundRobin,
            other => panic!("global_scheduler_config_type {other:?} draws numbers of Python's generator"),
        },
        scheduler: match scheduler {
            "faster_transformer" => SchedulerKind::Static,
            "orca" => SchedulerKind::Orca,
            "vllm" => SchedulerKind::Vllm,
            "sarathi" => SchedulerKind::Sarathi,
            "lightllm" => SchedulerKind::LightLlm,
            other => panic!("replica_scheduler_config_type {other}"),
        },
        blocks: derived("num_blocks_per_replica"),
        block_size: derived("block_size"),
        watermark_blocks: derived("watermark_blocks"),
        max_requests: of("batch_size_cap", 128),
        max_slots: derived("max_batch_size_memory_planner_capped"),
        max_request_tokens: number(flags, "trace_request_generator_config_max_tokens", 4096),
        max_batch_tokens: of("max_tokens_in_batch", 4096),
        chunk_tokens: of("chunk_size", 512),
        decode_steps_between_prefills: of("max_waiting_iters", 10),
        original: true,
        ..FleetConfig::default()
    }
}
