//! Iteration times of a run without operator tables of its own: the shipped profile of its device and model.

use servescope_cost::profile::{CompactTables, NodeNetwork, Profile};

use super::VidurRun;
use super::flags::VidurFlags;
use crate::diagnostic::Diagnostic;
use crate::profiles::{shipped_profile, shipped_profiles};

/// Our names of Vidur's devices. Its A100 and H100 profiles are of the SXM boards of DGX servers.
const DEVICES: [(&str, &str); 3] = [("a40", "a40"), ("a100", "a100_80_sxm"), ("h100", "h100_sxm")];

/// Our names of the models that Vidur has profiles of.
const MODELS: [(&str, &str); 8] = [
    ("meta-llama/Llama-2-7b-hf", "llama-2-7b"),
    ("meta-llama/Llama-2-70b-hf", "llama-2-70b"),
    ("codellama/CodeLlama-34b-Instruct-hf", "codellama-34b"),
    ("meta-llama/Meta-Llama-3-8B", "llama-3-8b"),
    ("meta-llama/Meta-Llama-3-70B", "llama-3-70b"),
    ("internlm/internlm-20b", "internlm-20b"),
    ("microsoft/phi-2", "phi-2"),
    ("Qwen/Qwen-72B", "qwen-72b"),
];

/// The flags of the predictor of times that are no matter of its training; `None` = Vidur's default.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct LayerFlags {
    kv_granularity: Option<u32>,
    /// Added for batches of several decodes, of several prompts: shares.
    penalties: [Option<f64>; 2],
    launch_ms: Option<f64>,
    skew_ms: Option<f64>,
    pub(super) has_host_overhead: bool,
}

impl LayerFlags {
    pub(super) fn read(flags: &VidurFlags<'_>) -> Result<Self, Diagnostic> {
        let kinds = [("random_forrest", "random_forrest"), ("linear_regression", "linear_regression")];
        let kind = flags.option("execution_time_predictor_config_type", "random_forrest", &kinds)?;
        let of = |name: &str| format!("{kind}_execution_time_predictor_config_{name}");
        let given = |name: &str, max: f64| {
            let number = flags.number(&of(name), f64::NAN, 0.0, max)?;
            Ok::<_, Diagnostic>((!number.is_nan()).then_some(number))
        };
        let kv = flags.whole(&of("kv_cache_prediction_granularity"), 0, [0, 65_536])?;
        Ok(Self {
            kv_granularity: (kv > 0).then_some(kv),
            penalties: [
                given("attention_decode_batching_overhead_fraction", 1e3)?,
                given("attention_prefill_batching_overhead_fraction", 1e3)?,
            ],
            launch_ms: given("nccl_cpu_launch_overhead_ms", 1e3)?,
            skew_ms: given("nccl_cpu_skew_overhead_per_device_ms", 1e3)?,
            has_host_overhead: !flags.is_set(&of("skip_cpu_overhead_modeling"), true)?,
        })
    }
}

impl VidurRun {
    /// The node of the flags, if it is not the profile's own.
    fn node_network<'a>(&self, profile: &'a Profile) -> Result<Option<&'a NodeNetwork>, Diagnostic> {
        let of_device = |name: &str| name.strip_prefix(&self.device)?.strip_prefix('_').map(str::to_owned);
        let Some(name) = self.network.as_deref().and_then(of_device) else { return Ok(None) };
        match profile.network(&name) {
            Some(network) if !network.has_degree(self.tensor_parallel) => {
                let path = "replica_config_network_device";
                let degree = self.tensor_parallel;
                let message = format!("{path}: no messages between {degree} GPUs of {name} were timed");
                let known = profile.gpu.clone() + "_dgx";
                let error = Diagnostic::error("no_network", path, format!("{message}; there is {known}"));
                Err(error.number("degree", degree.into()).text("known", &known))
            }
            found => Ok(found),
        }
    }

    /// The tables of the shipped profile, and its name.
    ///
    /// # Errors
    /// That there is none of the device, the model and the degree, with those that there are.
    pub fn shipped_tables(&self) -> Result<(CompactTables, String), Diagnostic> {
        let ours = |names: &[(&str, &'static str)], theirs: &str| {
            names.iter().find(|(name, _)| *name == theirs).map(|(_, ours)| *ours)
        };
        let found = ours(&DEVICES, &self.device).zip(ours(&MODELS, &self.model));
        let profile = found.and_then(|(device, model)| shipped_profile(device, model));
        let degree = self.tensor_parallel;
        let refused = |known: String| {
            let path = "replica_config_model_name";
            let message = format!(
                "{path}: no operators were timed for {} on {} with tensor_parallel_size {degree}; there is {known}. \
                 --tables names a folder of operator tables.",
                self.model, self.device
            );
            Diagnostic::error("no_profile", path, message)
                .text("model", &self.model)
                .text("gpu", &self.device)
                .text("degree", &degree.to_string())
                .text("known", &known)
        };
        let Some(profile) = profile else {
            let theirs = |(gpu, model): (&str, &str)| {
                let name = |names: &[(&'static str, &str)], ours: &str| {
                    names.iter().find(|(_, name)| *name == ours).map(|(theirs, _)| *theirs)
                };
                Some(format!("{} on {}", name(&MODELS, model)?, name(&DEVICES, gpu)?))
            };
            return Err(refused(shipped_profiles().filter_map(theirs).collect::<Vec<_>>().join(", ")));
        };
        if profile.degree(degree).is_none() {
            let degrees: Vec<String> = profile.degrees.iter().map(|d| d.degree.to_string()).collect();
            return Err(refused(format!("tensor_parallel_size {}", degrees.join(", "))));
        }
        let mut settings = profile.settings(degree, self.stages);
        let flags = &self.layer;
        // Vidur adds the penalties only where several query heads share a KV head.
        let [decode, prefill] = flags.penalties;
        if settings.decode_penalty > 0.0 {
            settings.decode_penalty = decode.unwrap_or(settings.decode_penalty);
            settings.prefill_penalty = prefill.unwrap_or(settings.prefill_penalty);
        }
        settings.kv_granularity = flags.kv_granularity.unwrap_or(settings.kv_granularity);
        settings.launch_ms = flags.launch_ms.unwrap_or(settings.launch_ms);
        settings.skew_ms = flags.skew_ms.unwrap_or(settings.skew_ms);
        let refused_by = |error: servescope_cost::profile::ProfileError| {
            let path = "replica_config_num_pipeline_stages";
            Diagnostic::error("unknown_option", path, format!("{path}: {error}"))
        };
        let network = self.node_network(profile)?;
        let mut tables = profile.tables_on(settings, network).map_err(refused_by)?;
        if flags.has_host_overhead {
            let host = profile.host(degree).ok_or_else(|| {
                let path = "skip_cpu_overhead_modeling";
                let message = format!(
                    "{path}: no host overhead was measured for {} on {} with tensor_parallel_size {degree}",
                    self.model, self.device
                );
                Diagnostic::error("no_host_profile", path, message)
                    .text("model", &self.model)
                    .text("gpu", &self.device)
            })?;
            tables = tables.with_host(host);
        }
        Ok((tables, format!("{} on {}, tensor_parallel_size {degree}", self.model, self.device)))
    }
}
