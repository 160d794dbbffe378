//! Runs described by Vidur's flags (`servescope simulate --vidur`): its schedulers, routers, memory planner and request
//! generators, with its defaults for what is not given.
//!
//! Flags are read from the object `flags` of a `config.json`, or from its top level, by their command-line names without
//! dashes in front (`replica_config_device`); or from the nested `config.json` that Vidur leaves in a run's folder.

mod flags;
mod requests;
mod shipped;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value as Json;
use servescope_cost::BatchCost;
use servescope_cost::memory_plan::vidur::{DEVICES, Device, MODELS, plan};
use servescope_cost::profile::{ExactTables, LayerSettings, ProfileError};
use servescope_engine::{Fleet, FleetConfig, Pool, PoolConfig, RouterKind, SchedulerKind};
use servescope_workload::Trace;
use servescope_workload::formats::Replay;

use crate::diagnostic::Diagnostic;
use flags::{MOST, VidurFlags, flattened};
use requests::SyntheticFlags;
use shipped::LayerFlags;

/// What the flags say, but for iteration times and trace.
#[derive(Debug, Clone, PartialEq)]
pub struct VidurRun {
    /// The fleet's router.
    pub fleet: FleetConfig,
    /// Its replicas.
    pub pool: PoolConfig,
    /// Device and model, by their flags' values.
    pub device: String,
    /// Likewise.
    pub model: String,
    /// The node whose messages count, where the flags name one.
    pub network: Option<String>,
    /// GPUs that share each layer.
    pub tensor_parallel: u32,
    /// Pipeline stages.
    pub stages: u32,
    /// How the trace is replayed.
    pub replay: Replay,
    /// When the run ends, microseconds; what is under way then is not done.
    pub until_us: f64,
    /// The trace file, as named by its flag.
    pub trace_file: Option<String>,
    /// The synthetic generator, where requests are not those of a trace; a trace that is given by other means takes its
    /// place only where the flags name no kind of generator.
    synthetic: Option<SyntheticFlags>,
    /// Whether the flags name the kind of generator.
    is_kind_named: bool,
    layer: LayerFlags,
    /// Flags of Vidur's that this run does not depend on: those of kinds that are not chosen.
    pub without_effect: Vec<String>,
    /// The name of the folder with operator tables, where the file has one.
    pub operator_tables: Option<String>,
}

const SCHEDULERS: [(&str, SchedulerKind); 5] = [
    ("sarathi", SchedulerKind::Sarathi),
    ("vllm", SchedulerKind::Vllm),
    ("orca", SchedulerKind::Orca),
    ("faster_transformer", SchedulerKind::Static),
    ("lightllm", SchedulerKind::LightLlm),
];

const ROUTERS: [(&str, RouterKind); 3] = [
    ("round_robin", RouterKind::RoundRobin),
    ("lor", RouterKind::FewestWaiting),
    ("random", RouterKind::Random),
];

impl VidurRun {
    /// Reads a `config.json`.
    ///
    /// # Errors
    /// [`Diagnostic`] with the flag, its bounds and the value.
    pub fn read(json: &Json) -> Result<Self, Diagnostic> {
        let object = json.get("flags").unwrap_or(json).as_object().ok_or_else(|| {
            Diagnostic::error("bad_json", "flags", "flags: an object of Vidur's flags expected".to_owned())
        })?;
        let flattened = object.contains_key("cluster_config").then(|| flattened(json));
        let flags = VidurFlags::new(flattened.as_ref().unwrap_or(object));
        let scheduler = flags.option("replica_scheduler_config_type", "sarathi", &SCHEDULERS)?;
        let prefix = SCHEDULERS.iter().find(|s| s.1 == scheduler).map_or("", |s| s.0);
        let of = |name: &str| format!("{prefix}_scheduler_config_{name}");
        let model = flags.option("replica_config_model_name", MODELS[0].0, &MODELS)?;
        let stages = flags.whole("replica_config_num_pipeline_stages", 1, [1, 1_000])?;
        let device = Device {
            memory_gib: flags.option("replica_config_device", "a100", &DEVICES)?,
            margin: flags.number("replica_config_memory_margin_fraction", 0.1, 0.0, 1.0)?,
            tensor_parallel: flags.whole("replica_config_tensor_parallel_size", 1, [1, 1_000])?,
            stages,
        };
        let trace_file = flags.text("trace_request_generator_config_trace_file")?.map(str::to_owned);
        let kind = flags.text("request_generator_config_type")?;
        let is_synthetic = match kind {
            Some(_) => {
                let kinds = [("synthetic", true), ("trace_replay", false)];
                flags.option("request_generator_config_type", "synthetic", &kinds)?
            }
            // Vidur's default is synthetic; flags of the other kind show that a trace is meant.
            None => !flags.has_any("trace_request_generator_config_"),
        };
        let synthetic = if is_synthetic { Some(SyntheticFlags::read(&flags)?) } else { None };
        let max_tokens = match &synthetic {
            Some(synthetic) => synthetic.max_tokens,
            None => flags.whole("trace_request_generator_config_max_tokens", 4096, [2, MOST])?,
        };
        let scale = |what: &str| {
            let name = format!("trace_request_generator_config_{what}_scale_factor");
            flags.number(&name, 1.0, 0.0, f64::from(MOST))
        };
        let time_limit_s = flags.number("time_limit", 0.0, 0.0, 1e12)?;
        let block_size = flags.whole(&of("block_size"), 16, [1, 65_536])?;
        if scheduler == SchedulerKind::LightLlm && (block_size != 1 || stages != 1) {
            // Vidur asserts both.
            let name = if block_size == 1 {
                "replica_config_num_pipeline_stages".to_owned()
            } else {
                of("block_size")
            };
            return Err(Diagnostic::out_of_range(&name, f64::from(block_size.max(stages)), 1.0, 1.0));
        }
        let planned = plan(&model, &device, max_tokens);
        // In Vidur a number of 0 is one that is not given.
        let given = flags.whole(&of("num_blocks"), 0, [0, u32::MAX])?;
        let blocks = if given > 0 { given } else { planned.blocks(max_tokens, block_size, stages) };
        if planned.slots == 0 {
            let message = format!(
                "replica_config_device: weights of {:.3e} bytes and one request's KV cache of {:.3e} do not fit {:.3e}",
                planned.parameter_bytes, planned.request_bytes, planned.available_bytes
            );
            let error = Diagnostic::error("out_of_range", "replica_config_device", message);
            let (need, max) = (planned.parameter_bytes + planned.request_bytes, planned.available_bytes);
            return Err(error.number("value", need).number("min", 0.0).number("max", max));
        }
        let watermark = flags.number(&of("watermark_blocks_fraction"), 0.01, 0.0, 1.0)?;
        let (is_kind_named, layer) = (kind.is_some(), LayerFlags::read(&flags)?);
        let run = Self {
            fleet: FleetConfig {
                router: flags.option("global_scheduler_config_type", "round_robin", &ROUTERS)?,
                seed: flags.whole("seed", 42, [0, u32::MAX])?.into(),
                draws_as_python: true,
                ..FleetConfig::default()
            },
            pool: PoolConfig {
                replicas: flags.whole("cluster_config_num_replicas", 1, [1, 65_535])?,
                scheduler,
                blocks,
                block_size,
                watermark_blocks: (watermark * f64::from(blocks)) as u32,
                max_requests: flags.whole(&of("batch_size_cap"), 128, [1, MOST])?,
                max_slots: planned.slots,
                max_request_tokens: max_tokens,
                max_batch_tokens: flags.whole(&of("max_tokens_in_batch"), 4096, [1, MOST])?,
                chunk_tokens: flags.whole(&of("chunk_size"), 512, [1, MOST])?,
                decode_steps_between_prefills: flags.whole(&of("max_waiting_iters"), 10, [0, MOST])?,
                reference_quirks: true,
                ..PoolConfig::default()
            },
            device: flags.text("replica_config_device")?.unwrap_or("a100").to_owned(),
            model: flags.text("replica_config_model_name")?.unwrap_or(MODELS[0].0).to_owned(),
            network: flags.text("replica_config_network_device")?.map(str::to_owned),
            tensor_parallel: device.tensor_parallel,
            stages,
            replay: Replay {
                time_scale: scale("time")?,
                length_scales: [scale("prefill")?, scale("decode")?],
                max_tokens,
            },
            until_us: if time_limit_s > 0.0 { time_limit_s * 1e6 } else { f64::INFINITY },
            trace_file,
            synthetic,
            is_kind_named,
            layer,
            without_effect: Vec::new(),
            operator_tables: json.get("operator_tables").and_then(Json::as_str).map(str::to_owned),
        };
        Ok(Self { without_effect: flags.without_effect()?, ..run })
    }

    /// In what operator tables, given their `meta.json`, are of another deployment than the run's.
    pub fn differences(&self, meta: &Json) -> Vec<String> {
        let named = |key: &str, own: &str| {
            let theirs = meta[key].as_str().filter(|&theirs| theirs != own)?;
            Some(format!("timed for {key} {theirs}, the run's is {own}"))
        };
        let degree = meta["tensor_parallel_size"].as_f64();
        let own = self.tensor_parallel;
        let other = degree.filter(|&degree| degree != f64::from(own));
        let degree =
            other.map(|degree| format!("timed for tensor_parallel_size {degree}, the run's is {own}"));
        [named("device", &self.device), named("model", &self.model), degree].into_iter().flatten().collect()
    }

    /// A run of `trace`, which is as Vidur replays or makes it, that has not begun.
    pub fn begin(&self, trace: Arc<Trace>, cost: impl BatchCost + 'static) -> Fleet {
        Fleet::new(trace, self.fleet, vec![Pool::new(self.pool, Box::new(cost))]).until(self.until_us)
    }
}

impl VidurRun {
    /// Whether the run counts the host's work on each iteration.
    pub fn has_host_overhead(&self) -> bool {
        self.layer.has_host_overhead
    }

    /// Where the run's operator tables may be, the likeliest first: in its own folder, or beside it.
    pub fn table_folders(&self, folder: &Path) -> Vec<PathBuf> {
        let own = folder.join("operator-tables");
        let Some(name) = &self.operator_tables else { return vec![own] };
        let beside = ["..", "../.."].map(|up| folder.join(up).join("operator-tables").join(name));
        [own.join(name), own].into_iter().chain(beside).collect()
    }
}

/// Reads a folder of operator tables, given `meta.json` and the texts of `token_ops.csv`, `attn_decode.csv` and
/// `attn_prefill_runs.csv`.
///
/// # Errors
/// [`ProfileError`] with file, row and column.
pub fn operator_tables(
    meta: &Json,
    stages: u32,
    [token_ops, attn_decode, attn_prefill]: [&str; 3],
) -> Result<ExactTables, ProfileError> {
    let number = |name: &'static str| {
        let bad = ProfileError::BadSetting { name, expected: "a number of at least 0 in meta.json" };
        meta[name].as_f64().filter(|x| (0.0..1e9).contains(x)).ok_or(bad)
    };
    let settings = LayerSettings {
        layers: number("num_layers")? as u32,
        stages,
        tensor_parallel: number("tensor_parallel_size")? as u32,
        launch_ms: number("nccl_cpu_launch_overhead_ms")?,
        skew_ms: number("nccl_cpu_skew_overhead_per_device_ms")?,
        prefill_penalty: number("attention_prefill_batching_overhead_fraction")?,
        decode_penalty: number("attention_decode_batching_overhead_fraction")?,
        kv_granularity: number("kv_cache_prediction_granularity")? as u32,
        cpu_ms: number("cpu_overhead_ms")?,
    };
    ExactTables::read(settings, token_ops, attn_decode, attn_prefill)
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::*;
    use proptest::prelude::*;
    use serde_json::json;
    use servescope_workload::formats::{ReadOptions, read_with};

    fn message(json: &Json) -> String {
        VidurRun::read(json).unwrap_err().message
    }

    #[test]
    fn the_node_of_the_flags_has_its_own_messages() {
        let send_us = |network: &str, degree: u32| {
            let flags = json!({
                "replica_config_network_device": network, "replica_config_tensor_parallel_size": degree,
                "replica_config_num_pipeline_stages": 2,
            });
            let run = VidurRun::read(&flags)?;
            assert_eq!(run.without_effect, [""; 0]);
            let (tables, _) = run.shipped_tables()?;
            let decode = servescope_cost::Batch { decodes: 64, ..Default::default() };
            Ok::<_, Diagnostic>(servescope_cost::BatchCost::stage_parts(&tables, &decode)[0][4])
        };
        assert_ne!(send_us("a100_pairwise_nvlink", 2), send_us("a100_dgx", 2));
        assert_eq!(send_us("h100_dgx", 2), send_us("a100_dgx", 2));
        assert_eq!(send_us("a100_pairwise_nvlink", 8).unwrap_err().code, "no_network");
    }

    #[test]
    fn defaults_are_vidurs() {
        let run = VidurRun::read(&json!({})).unwrap();
        assert_eq!((run.pool.scheduler, run.pool.blocks), (SchedulerKind::Sarathi, 7_424));
        assert_eq!((run.pool.watermark_blocks, run.pool.max_slots, run.stages), (74, 29, 1));
    }

    #[test]
    fn a_runs_own_config_means_its_flags() {
        let flat = json!({
            "replica_config_model_name": "codellama/CodeLlama-34b-Instruct-hf",
            "replica_config_tensor_parallel_size": 2,
            "cluster_config_num_replicas": 3,
            "global_scheduler_config_type": "lor",
            "replica_scheduler_config_type": "vllm",
            "vllm_scheduler_config_max_tokens_in_batch": 2048,
            "request_generator_config_type": "trace_replay",
            "trace_request_generator_config_trace_file": "a.csv",
            "seed": 7,
        });
        let nested = json!({
            "seed": 7,
            "cluster_config": {
                "num_replicas": 3,
                "replica_config": {
                    "model_name": "codellama/CodeLlama-34b-Instruct-hf",
                    "tensor_parallel_size": 2,
                    "model_config": {"num_layers": 48},
                },
                "global_scheduler_config": {"name": "lor"},
                "replica_scheduler_config":
                    {"name": "ReplicaSchedulerType.VLLM", "max_tokens_in_batch": 2048, "num_blocks": null},
            },
            "request_generator_config": {"name": "trace_replay", "trace_file": "a.csv", "max_tokens": 4096},
        });
        assert_eq!(VidurRun::read(&nested), VidurRun::read(&flat));
        assert_ne!(VidurRun::read(&nested), VidurRun::read(&json!({})));
        let bad = json!({"cluster_config": {"replica_scheduler_config": {"name": "best"}}});
        assert!(message(&bad).contains("sarathi, vllm, orca"));
    }

    #[test]
    fn a_trace_is_scaled_made_whole_and_cut() {
        let run = VidurRun::read(&json!({
            "trace_request_generator_config_time_scale_factor": 0.5,
            "trace_request_generator_config_prefill_scale_factor": 2,
            "trace_request_generator_config_decode_scale_factor": 0.3,
            "trace_request_generator_config_max_tokens": 1000,
            "time_limit": 3,
        }));
        let run = run.unwrap();
        assert_eq!(run.until_us, 3e6);
        let options = ReadOptions { replay: Some(run.replay), ..ReadOptions::default() };
        let read = |text: &str| {
            let reading = read_with(text.as_bytes(), &options, &mut |_, _| ControlFlow::Continue(()));
            reading.map(|reading| reading.read.trace)
        };
        let rows = "arrived_at,num_prefill_tokens,num_decode_tokens\n3,20.9,10\n1,0,0\n4,495,99.9\n";
        let trace = read(rows).unwrap();
        assert_eq!(trace.arrival_us, [0.5e6, 1.5e6, 2e6]);
        assert_eq!(trace.input_tokens, [1, 41, 971]);
        assert_eq!(trace.output_tokens, [1, 3, 29]);
        let other = "timestamp,prompt,answer\n0,1,1\n";
        assert!(read(other).is_err());
        let azure = "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:00:00.0000000,10,10\n2023-11-16 18:00:04.0000000,600,10\n";
        let trace = read(azure).unwrap();
        assert_eq!((trace.arrival_us[1], trace.input_tokens[1], trace.output_tokens[1]), (2e6, 997, 3));
    }

    #[test]
    fn tables_of_another_deployment_are_told() {
        let run = VidurRun::read(&json!({"replica_config_tensor_parallel_size": 2})).unwrap();
        let meta = |device: &str, degree: u32| json!({"device": device, "model": MODELS[0].0, "tensor_parallel_size": degree});
        assert!(run.differences(&meta("a100", 2)).is_empty() && run.differences(&json!({})).is_empty());
        let reported = run.differences(&meta("h100", 1));
        assert_eq!(
            reported,
            ["timed for device h100, the run's is a100", "timed for tensor_parallel_size 1, the run's is 2"]
        );
    }

    #[test]
    fn no_blocks_are_blocks_not_given() {
        let zero = json!({"sarathi_scheduler_config_num_blocks": 0});
        assert_eq!(VidurRun::read(&zero), VidurRun::read(&json!({})));
    }

    #[test]
    fn errors_name_the_flag_the_bound_and_the_value() {
        assert_eq!(
            message(&json!({"flags": {"cluster_config_num_replicas": 0}})),
            "cluster_config_num_replicas: 0 is not between 1 and 65535"
        );
        assert!(
            message(&json!({"global_scheduler_config_type": "best"})).contains("round_robin, lor, random")
        );
        assert!(
            message(&json!({"replica_scheduler_config_type": "lightllm"}))
                .contains("16 is not between 1 and 1")
        );
        assert!(message(&json!({"replica_config_model_name": "Qwen/Qwen-72B"})).contains("do not fit"));
        assert!(message(&json!([1])).contains("an object"));
        assert!(message(&json!({"replica_scheduler_config_type": 7})).contains("\"7\" is none of sarathi"));
    }

    proptest! {
        #[test]
        fn no_flag_makes_the_reader_panic(
            name in prop::sample::select(&[
                "cluster_config_num_replicas", "replica_config_num_pipeline_stages", "sarathi_scheduler_config_block_size",
                "replica_config_tensor_parallel_size", "replica_config_memory_margin_fraction",
                "trace_request_generator_config_max_tokens", "sarathi_scheduler_config_num_blocks", "seed",
                "synthetic_request_generator_config_num_requests", "synthetic_request_generator_config_duration",
                "length_generator_config_type", "poisson_request_interval_generator_config_qps",
                "fixed_request_length_generator_config_decode_tokens", "interval_generator_config_type",
            ][..]),
            value in prop_oneof![any::<f64>().prop_map(|x| json!(x)), (-3i64..1_000_000_000).prop_map(|x| json!(x)),
                "\\PC{0,9}".prop_map(|x| json!(x))],
        ) {
            let _ = VidurRun::read(&json!({"flags": {name: value}}));
        }

        #[test]
        fn whatever_is_replayed_has_lengths_within_bounds(
            rows in prop::collection::vec(("-?[0-9]{1,4}(\\.[0-9]{1,3})?|nan|1e9|x|", "[0-9]{1,3}(\\.[0-9])?|-1|inf", "[0-9.]{1,5}"), 0..9),
            scales in prop::array::uniform3(prop_oneof![Just(1.0), Just(0.0), 0.0..1e8f64]),
            max_tokens in 2u32..5_000,
        ) {
            let [time_scale, of_prompt, of_answer] = scales;
            let replay = Some(Replay { time_scale, length_scales: [of_prompt, of_answer], max_tokens });
            let options = ReadOptions { replay, tolerate: Some(9), ..ReadOptions::default() };
            let mut text = "arrived_at,num_prefill_tokens,num_decode_tokens\n".to_owned();
            text.extend(rows.iter().map(|(at, prompt, answer)| format!("{at},{prompt},{answer}\n")));
            let reading = read_with(text.as_bytes(), &options, &mut |_, _| ControlFlow::Continue(()));
            if let Ok(trace) = reading.map(|reading| reading.read.trace) {
                prop_assert!(trace.arrival_us.iter().all(|at| *at >= 0.0 && at.is_finite()));
                for (&input, &output) in trace.input_tokens.iter().zip(&trace.output_tokens) {
                    prop_assert!(output >= 1 && input >= 1);
                    prop_assert!(input == 1 || input + output <= max_tokens);
                }
            }
        }
    }
}
