//! Server settings in a result file, taken over where the user has not set them.

use serde::Serialize;
use servescope_cost::gpus::{GPUS, Gpu};
use servescope_settings::parameters::choices::CostKind;
use servescope_settings::parameters::{Id, Value};
use servescope_settings::scenario::Scenario;

use super::measured::MeasuredRun;
use crate::silicon;

/// A setting that was taken over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct TakenSetting {
    /// The parameter's path.
    pub path: &'static str,
    /// Its value.
    pub value: String,
    /// What the file says, or why this is the default here.
    pub from: String,
}

/// What was taken over from a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Taken {
    /// The settings.
    pub settings: Vec<TakenSetting>,
    /// What could not be taken over, in English.
    pub notes: Vec<String>,
    /// Paths of what neither the file nor the user says and without which no cause can be named: the GPU, the model.
    pub missing: Vec<&'static str>,
}

impl Taken {
    /// That something is missing, and how it is set; none where nothing is.
    pub fn missing_text(&self) -> Option<String> {
        if self.missing.is_empty() {
            return None;
        }
        let name = |path: &&str| if *path == Id::FleetGpu.row().id { "the GPU" } else { "the model" };
        let names: Vec<&str> = self.missing.iter().map(name).collect();
        let sets: Vec<String> = self.missing.iter().map(|path| format!("--set {path}=NAME")).collect();
        Some(format!(
            "the file does not name {}; no cause is named until you do: {}",
            names.join(" and "),
            sets.join(" ")
        ))
    }
}

/// Sets what the file contains about the server, and what such a server has by default, except what the scenario was given.
/// Says what was set, and what could not be.
pub fn take_over(run: &MeasuredRun, scenario: &mut Scenario) -> Taken {
    let given: Vec<Id> = scenario.given().collect();
    let mut taking = Taking { scenario, given, taken: Vec::new(), notes: Vec::new(), missing: Vec::new() };
    taking.default(Id::SchedulerKind, "vllm_v1", "result files are of servers that schedule so");
    for (key, value) in &run.reported {
        taking.reported(run, key, value);
    }
    taking.lengths(run);
    taking.cost();
    Taken { settings: taking.taken, notes: taking.notes, missing: taking.missing }
}

struct Taking<'a> {
    scenario: &'a mut Scenario,
    given: Vec<Id>,
    taken: Vec<TakenSetting>,
    notes: Vec<String>,
    missing: Vec<&'static str>,
}

impl Taking<'_> {
    /// Whether the user or the file has set it.
    fn is_set(&self, id: Id) -> bool {
        self.given.contains(&id) || self.taken.iter().any(|taken| taken.path == id.row().id)
    }

    fn set(&mut self, id: Id, value: &str, from: &str) {
        let path = id.row().id;
        if self.given.contains(&id) {
            return;
        }
        match self.scenario.set_text(path, value) {
            Ok(()) => self.taken.push(TakenSetting { path, value: value.to_owned(), from: from.to_owned() }),
            Err(error) => self.notes.push(format!("{from} is not taken over: {}", error.message)),
        }
    }

    fn default(&mut self, id: Id, value: &str, why: &str) {
        if !self.is_set(id) {
            self.set(id, value, why);
        }
    }

    /// One setting of the file.
    fn reported(&mut self, run: &MeasuredRun, key: &str, value: &str) {
        let from = format!("{key} {value}");
        let set = |own: &mut Self, id| own.set(id, value, &from);
        match key {
            "model" => match silicon::model(value) {
                Some(model) => {
                    self.set(Id::FleetModel, model.id, &from);
                    if value.to_ascii_lowercase().contains("fp8") {
                        self.set(Id::Weights, "fp8", &from);
                    }
                }
                None => self.notes.push(format!("the model {value} is not in the catalogue")),
            },
            "gpu" | "hw" | "device_name" => match gpu(value) {
                Some(gpu) => self.set(Id::FleetGpu, gpu.id, &from),
                None => self.notes.push(format!("the GPU {value} is not in the catalogue")),
            },
            "tp" | "tensor_parallel_size" => set(self, Id::TensorParallel),
            "replicas" => set(self, Id::Replicas),
            "max_num_seqs" => set(self, Id::MaxRunning),
            "max_num_batched_tokens" => set(self, Id::BatchMaxTokens),
            "max_model_len" => set(self, Id::MaxRequestTokens),
            "enable_prefix_caching" => self.set(Id::PrefixCache, &value.to_ascii_lowercase(), &from),
            "gpu_memory_utilization" => {
                if let Ok(share) = value.parse::<f64>() {
                    self.set(Id::MemoryMargin, &format!("{}", (1e6 * (1.0 - share)).round() / 1e6), &from);
                }
            }
            "num_gpu_blocks" => self.blocks(run, value, &from),
            "kv_cache_dtype" if value.starts_with("fp8") => self.set(Id::KvFormat, "fp8", &from),
            "precision" => match value {
                "fp8" => self.set(Id::Weights, "fp8", &from),
                "fp4" | "int4" => self.set(Id::Weights, "int4", &from),
                "bf16" | "fp16" => self.set(Id::Weights, "bf16", &from),
                _ => self.notes.push(format!("the weight format {value} is not known")),
            },
            "vllm_version" => {
                let is_new = is_asynchronous(value);
                self.set(Id::AsyncScheduling, if is_new { "true" } else { "false" }, &from);
            }
            _ => {}
        }
    }

    /// The server's own KV blocks. vLLM never gives its block 0 to a request.
    fn blocks(&mut self, run: &MeasuredRun, value: &str, from: &str) {
        let number = |key: &str| run.reported.iter().find(|(name, _)| name == key)?.1.parse::<f64>().ok();
        let Ok(blocks) = value.parse::<f64>() else { return };
        let size = number("block_size").unwrap_or(16.0);
        let tokens = (blocks - 1.0) * size;
        self.set(Id::KvPool, "given", from);
        self.set(Id::BlockSize, &format!("{size}"), from);
        self.set(
            Id::MaxTotalTokens,
            &format!("{tokens}"),
            &format!("{from} of {size} tokens, one of them unused"),
        );
    }

    /// The longest measured request sets the length limit, so that none is rejected for its length.
    fn lengths(&mut self, run: &MeasuredRun) {
        let longest = run
            .requests
            .iter()
            .map(|r| f64::from(r.input_tokens) + f64::from(r.output_tokens))
            .fold(0.0, f64::max);
        if !self.given.contains(&Id::MaxRequestTokens)
            && self.scenario.number(Id::MaxRequestTokens) < longest + 1.0
        {
            self.taken.retain(|taken| taken.path != Id::MaxRequestTokens.row().id);
            self.set(Id::MaxRequestTokens, &format!("{}", longest + 1.0), "the longest measured request");
        }
    }

    /// Measured kernels where the deployment has them, else the roofline.
    fn cost(&mut self) {
        // A time model with constants of its own knows neither.
        let has_hardware = !self.is_set(Id::CostKind) || self.scenario.is_active(Id::FleetGpu);
        for id in [Id::FleetGpu, Id::FleetModel] {
            if has_hardware && !self.is_set(id) {
                self.missing.push(id.row().id);
            }
        }
        if self.is_set(Id::CostKind) {
            return;
        }
        let mut with_kernels = self.scenario.clone();
        let is_chosen = with_kernels.set(Id::CostKind, Value::Choice(CostKind::Kernels.name())).is_ok();
        // A table that is missing is fetched when the run begins; the settings are taken over again then.
        let has_kernels = match with_kernels.measured_kernels() {
            Ok(_) => true,
            Err(error) => error.code == "needs_table",
        };
        if is_chosen && has_kernels {
            self.set(Id::CostKind, CostKind::Kernels.name(), "the kernels of this deployment were measured");
        } else {
            self.set(Id::CostKind, CostKind::Roofline.name(), "no kernels of this deployment were measured");
        }
    }
}

/// vLLM schedules the next iteration while one runs from 0.14 on.
fn is_asynchronous(version: &str) -> bool {
    let mut parts = version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0)) >= (0, 14)
}

/// The GPU that a name stands for: a catalogue's, that of a system of InferenceX or AIConfigurator, or what CUDA calls the
/// device.
fn gpu(name: &str) -> Option<&'static Gpu> {
    if let Some(gpu) = silicon::gpu(name) {
        return Some(gpu);
    }
    let plain = |text: &str| -> String {
        text.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
    };
    let wanted = plain(name);
    if let Some(gpu) = GPUS.iter().find(|gpu| plain(gpu.name) == wanted || plain(gpu.id) == wanted) {
        return Some(gpu);
    }
    let has = |part: &str| wanted.contains(part);
    let id = match () {
        () if has("gb300") => "gb300_nvl72",
        () if has("gb200") => "gb200_nvl72",
        () if has("b300") => "b300_sxm",
        () if has("b200") => "b200_sxm",
        () if has("h200") => "h200_sxm",
        () if has("h100") && has("pcie") => "h100_pcie",
        () if has("h100") => "h100_sxm",
        () if has("a100") && has("80gb") && has("pcie") => "a100_80_pcie",
        () if has("a100") && has("80gb") => "a100_80_sxm",
        () if has("l40s") => "l40s",
        () if has("rtxpro6000") => "rtx_pro_6000",
        () if has("rtx4090") => "rtx4090",
        () => return None,
    };
    Gpu::named(id)
}
