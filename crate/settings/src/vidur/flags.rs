//! Vidur's flags by name: read one by one, so that what is left over is known.

use std::cell::RefCell;
use std::collections::BTreeSet;

use serde_json::{Map, Value as Json};

use crate::diagnostic::{Diagnostic, shown};

/// Largest number of tokens, requests or iterations.
pub(super) const MOST: u32 = 100_000_000;

/// Flags by the prefix of their class, as of Vidur's commit 7d47513.
const CLASSES: [(&str, &[&str]); 20] = [
    ("", &["seed", "log_level", "time_limit"]),
    ("cluster_config_", &["num_replicas"]),
    (
        "replica_config_",
        &[
            "model_name",
            "memory_margin_fraction",
            "num_pipeline_stages",
            "tensor_parallel_size",
            "device",
            "network_device",
        ],
    ),
    (
        "trace_request_generator_config_",
        &[
            "seed",
            "trace_file",
            "prefill_scale_factor",
            "decode_scale_factor",
            "time_scale_factor",
            "max_tokens",
        ],
    ),
    ("synthetic_request_generator_config_", &["seed", "num_requests", "duration", "max_tokens"]),
    ("fixed_request_length_generator_config_", &["seed", "max_tokens", "prefill_tokens", "decode_tokens"]),
    (
        "uniform_request_length_generator_config_",
        &["seed", "max_tokens", "min_tokens", "prefill_to_decode_ratio"],
    ),
    (
        "zipf_request_length_generator_config_",
        &["seed", "max_tokens", "min_tokens", "prefill_to_decode_ratio", "theta", "scramble"],
    ),
    (
        "trace_request_length_generator_config_",
        &["seed", "max_tokens", "trace_file", "prefill_scale_factor", "decode_scale_factor"],
    ),
    ("poisson_request_interval_generator_config_", &["seed", "qps"]),
    ("gamma_request_interval_generator_config_", &["seed", "qps", "cv"]),
    ("static_request_interval_generator_config_", &["seed"]),
    (
        "trace_request_interval_generator_config_",
        &["seed", "trace_file", "start_time", "end_time", "time_scale_factor"],
    ),
    ("vllm_scheduler_config_", &["max_tokens_in_batch"]),
    ("lightllm_scheduler_config_", &["max_tokens_in_batch", "max_waiting_iters"]),
    ("orca_scheduler_config_", &[]),
    ("faster_transformer_scheduler_config_", &[]),
    ("sarathi_scheduler_config_", &["chunk_size"]),
    (
        "random_forrest_execution_time_predictor_config_",
        &["num_estimators", "max_depth", "min_samples_split"],
    ),
    (
        "linear_regression_execution_time_predictor_config_",
        &["polynomial_degree", "polynomial_include_bias", "polynomial_interaction_only", "fit_intercept"],
    ),
];

/// Flags that every scheduler has.
const OF_SCHEDULERS: [&str; 4] = ["batch_size_cap", "block_size", "watermark_blocks_fraction", "num_blocks"];

/// Flags that every predictor of times has.
const OF_PREDICTORS: [&str; 16] = [
    "compute_input_file",
    "attention_input_file",
    "all_reduce_input_file",
    "send_recv_input_file",
    "cpu_overhead_input_file",
    "k_fold_cv_splits",
    "no_cache",
    "kv_cache_prediction_granularity",
    "prediction_max_prefill_chunk_size",
    "prediction_max_batch_size",
    "prediction_max_tokens_per_request",
    "attention_decode_batching_overhead_fraction",
    "attention_prefill_batching_overhead_fraction",
    "nccl_cpu_launch_overhead_ms",
    "nccl_cpu_skew_overhead_per_device_ms",
    "num_training_job_threads",
];

/// Flags that choose among kinds.
const KINDS: [&str; 6] = [
    "replica_scheduler_config_type",
    "global_scheduler_config_type",
    "request_generator_config_type",
    "length_generator_config_type",
    "interval_generator_config_type",
    "execution_time_predictor_config_type",
];

/// Whether Vidur has a flag of this name. What it measures and writes is many flags under one prefix.
fn is_flag(name: &str) -> bool {
    let of_class = CLASSES.iter().any(|(prefix, own)| {
        name.strip_prefix(prefix).is_some_and(|rest| {
            own.contains(&rest)
                || prefix.ends_with("_scheduler_config_") && OF_SCHEDULERS.contains(&rest)
                || prefix.ends_with("_predictor_config_")
                    && (OF_PREDICTORS.contains(&rest) || rest == "skip_cpu_overhead_modeling")
        })
    });
    of_class || KINDS.contains(&name) || name == "operator_tables" || name.starts_with("metrics_config_")
}

/// Whether a flag is of what Vidur trains, caches or writes, and changes no request's times here.
fn is_of_outputs(name: &str) -> bool {
    name.starts_with("metrics_config_")
        || name.contains("_execution_time_predictor_config_")
        || ["log_level", "execution_time_predictor_config_type", "operator_tables"].contains(&name)
}

/// Flags, and which of them were read.
pub(super) struct VidurFlags<'a> {
    all: &'a Map<String, Json>,
    read: RefCell<BTreeSet<String>>,
}

impl<'a> VidurFlags<'a> {
    pub(super) fn new(all: &'a Map<String, Json>) -> Self {
        Self { all, read: RefCell::default() }
    }

    /// A flag that is given and not null.
    fn get(&self, name: &str) -> Option<&'a Json> {
        self.read.borrow_mut().insert(name.to_owned());
        self.all.get(name).filter(|json| !json.is_null())
    }

    /// The given flags of Vidur's that were not read.
    ///
    /// # Errors
    /// The first flag that Vidur does not have.
    pub(super) fn without_effect(&self) -> Result<Vec<String>, Diagnostic> {
        let read = self.read.borrow();
        let mut rest = Vec::new();
        for name in self.all.keys().filter(|name| !read.contains(*name)) {
            if !is_flag(name) {
                let message = format!("{name}: Vidur has no flag of this name, or none that is known here");
                return Err(Diagnostic::error("unknown_parameter", name, message));
            }
            if !is_of_outputs(name) {
                rest.push(name.clone());
            }
        }
        Ok(rest)
    }

    /// Whether a flag with this prefix is given.
    pub(super) fn has_any(&self, prefix: &str) -> bool {
        self.all.iter().any(|(name, json)| name.starts_with(prefix) && !json.is_null())
    }

    /// Whether a flag is given as null.
    pub(super) fn is_null(&self, name: &str) -> bool {
        self.all.get(name).is_some_and(Json::is_null)
    }

    /// A truth value.
    pub(super) fn is_set(&self, name: &str, default: bool) -> Result<bool, Diagnostic> {
        let Some(json) = self.get(name) else { return Ok(default) };
        let message = || format!("{name}: true or false expected, got {}", shown(&json.to_string()));
        json.as_bool().ok_or_else(|| Diagnostic::error("not_a_flag", name, message()))
    }

    pub(super) fn number(&self, name: &str, default: f64, min: f64, max: f64) -> Result<f64, Diagnostic> {
        let Some(json) = self.get(name) else { return Ok(default) };
        match json.as_f64() {
            Some(x) if (min..=max).contains(&x) => Ok(x),
            Some(x) => Err(Diagnostic::out_of_range(name, x, min, max)),
            None => {
                let message = format!("{name}: a number expected, got {}", shown(&json.to_string()));
                Err(Diagnostic::error("not_a_number", name, message).text("value", &json.to_string()))
            }
        }
    }

    pub(super) fn whole(&self, name: &str, default: u32, [min, max]: [u32; 2]) -> Result<u32, Diagnostic> {
        let x = self.number(name, f64::from(default), f64::from(min), f64::from(max))?;
        if x.fract() == 0.0 {
            return Ok(x as u32);
        }
        let message = format!("{name}: a whole number expected, got {x}");
        Err(Diagnostic::error("not_whole", name, message).number("value", x))
    }

    pub(super) fn text(&self, name: &str) -> Result<Option<&'a str>, Diagnostic> {
        let Some(json) = self.get(name) else { return Ok(None) };
        let message = || format!("{name}: a text expected, got {}", shown(&json.to_string()));
        json.as_str().map(Some).ok_or_else(|| Diagnostic::error("bad_json", name, message()))
    }

    pub(super) fn option<T: Copy>(
        &self,
        name: &str,
        default: &str,
        options: &[(&str, T)],
    ) -> Result<T, Diagnostic> {
        let json = self.get(name);
        let text = json.map(|json| json.as_str().map_or_else(|| json.to_string(), str::to_owned));
        let value = text.as_deref().unwrap_or(default);
        if let Some(&(_, found)) = options.iter().find(|o| o.0 == value) {
            return Ok(found);
        }
        let known: Vec<&str> = options.iter().map(|o| o.0).collect();
        let message = format!("{name}: {value:?} is none of {}", known.join(", "));
        Err(Diagnostic::error("unknown_option", name, message)
            .text("value", value)
            .text("options", &known.join(", ")))
    }
}

/// The flags that a run's own `config.json` stands for: its objects are those of the flags' names, and each choice among
/// kinds has the object's `name`.
pub(super) fn flattened(json: &Json) -> Map<String, Json> {
    let cluster = &json["cluster_config"];
    let mut flags = Map::new();
    let mut take = |prefix: &str, from: &Json| {
        // The class's name, and numbers that Vidur derives from others, are no flags.
        let derived = ["name", "world_size"];
        let plain = from
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(key, value)| !value.is_object() && !derived.contains(&key.as_str()));
        flags.extend(plain.map(|(key, value)| (format!("{prefix}{key}"), value.clone())));
    };
    let kind = |object: &Json| {
        let name = object["name"].as_str().unwrap_or_default();
        name.rsplit('.').next().unwrap_or_default().to_lowercase()
    };
    let scheduler = kind(&cluster["replica_scheduler_config"]);
    take("cluster_config_", cluster);
    take("replica_config_", &cluster["replica_config"]);
    take(&format!("{scheduler}_scheduler_config_"), &cluster["replica_scheduler_config"]);
    let requests = &json["request_generator_config"];
    let [lengths, intervals] =
        ["length_generator_config", "interval_generator_config"].map(|name| &requests[name]);
    let generator = kind(requests);
    let prefix = if generator == "synthetic" { "synthetic" } else { "trace" };
    take(&format!("{prefix}_request_generator_config_"), requests);
    take(&format!("{}_request_length_generator_config_", kind(lengths)), lengths);
    take(&format!("{}_request_interval_generator_config_", kind(intervals)), intervals);
    let predictor = &json["execution_time_predictor_config"];
    take(&format!("{}_execution_time_predictor_config_", kind(predictor)), predictor);
    take("", json);
    let router = kind(&cluster["global_scheduler_config"]);
    for (flag, kind) in [
        ("replica_scheduler_config_type", scheduler),
        ("global_scheduler_config_type", router),
        ("request_generator_config_type", generator),
        ("length_generator_config_type", kind(lengths)),
        ("interval_generator_config_type", kind(intervals)),
        ("execution_time_predictor_config_type", kind(predictor)),
    ] {
        if !kind.is_empty() {
            flags.insert(flag.to_owned(), kind.into());
        }
    }
    flags
}
