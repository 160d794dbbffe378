//! A scenario: values for some parameters; the others have their defaults.

mod adapters;
mod curve;
mod disaggregation;
pub mod former_defaults;
mod gateway;
mod hardware;
pub mod kv_groups;
mod lengths;
mod measured_kernels;
mod own_gpu;
mod own_model;
mod pools;
mod problems;
mod queueing;
mod ranks;
mod recognise;
mod routing;
mod sampling;
mod scaling;
pub mod scheduler;
mod service;
mod sglang;
mod speculation;
mod timed;
mod trtllm;
pub mod vllm;
mod workload;

pub use adapters::AdapterRanks;
pub use pools::{ScenarioPool, is_of_pool};
pub(crate) use recognise::is_scenario;
pub use recognise::objections;
pub use sampling::sampling_problems;
use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::{Map, Value as Json};
use servescope_cost::Calibration;
use servescope_engine::RankChoice;
pub use timed::{CostSource, SourcePart};

use crate::diagnostic::{Diagnostic, shown};
use crate::ordered::Ordered;
pub use crate::parameters::choices::CostKind;
use crate::parameters::choices::{self, Choice, ChoiceId};
use crate::parameters::{Id, TABLE, Value};
use crate::profiles::LoadedProfile;
use crate::repeated_keys::repeated;
use former_defaults::{OLDEST_VERSION, VERSION, VERSION_KEY, VERSION_OF_OLD_FILES};

/// The proxy's chain of checks where none is given.
pub(crate) const USUAL_CHECKS: &[&str] = &["rpm", "tpm", "concurrency", "queue"];

/// Most requests of one run.
pub const MAX_REQUESTS: f64 = 5_000_000.0;

/// Values by parameter. What is not set has a default, and some defaults depend on what is set: the coefficients and the
/// pool on the calibration, the token budget on the pool or the GPU, what vLLM v1 bounds on the GPU.
#[derive(Debug, Clone)]
pub struct Scenario {
    values: [Option<Value>; TABLE.len()],
    /// Values that were not written: defaults of the version of a link or file that left them out.
    kept: BTreeSet<u16>,
    /// What stands for the shipped profiles.
    profile: Option<std::sync::Arc<LoadedProfile>>,
}

/// Who wrote a value does not matter.
impl PartialEq for Scenario {
    fn eq(&self, other: &Self) -> bool {
        self.values == other.values && self.profile == other.profile
    }
}

impl Default for Scenario {
    fn default() -> Self {
        Self { values: [const { None }; TABLE.len()], kept: BTreeSet::new(), profile: None }
    }
}

/// Values by dotted path ("workload.rate_rps"), in the order of the table; a path that is absent has its default.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct ScenarioPatch(pub Ordered<Value>);

impl Scenario {
    /// Sets a parameter from text. A value equal to the default stays set, so that a calibration chosen later leaves it.
    ///
    /// # Errors
    /// [`Diagnostic`] for an unknown path or a value out of bounds; nothing is changed then.
    pub fn set_text(&mut self, path: &str, text: &str) -> Result<(), Diagnostic> {
        let id = Id::from_path(path).ok_or_else(|| unknown(path))?;
        let value = id.row().parse(text).map_err(|error| under_name(error, id, path))?;
        self.write(id, Some(value));
        Ok(())
    }

    /// Sets a parameter.
    ///
    /// # Errors
    /// [`Diagnostic`] for a value out of bounds.
    pub fn set(&mut self, id: Id, value: Value) -> Result<(), Diagnostic> {
        id.row().check(&value)?;
        self.write(id, Some(value));
        Ok(())
    }

    fn write(&mut self, id: Id, value: Option<Value>) {
        self.values[id as usize] = value;
        self.kept.remove(&(id as u16));
    }

    /// Reads a scenario file: nested JSON, dotted paths, or a mixture. It gives the scenario with what is good, and every
    /// [`Diagnostic`] found; of a text that is no scenario that is the only one. What the file leaves out has the default of its
    /// version.
    pub fn from_json(json: &Json) -> (Self, Vec<Diagnostic>) {
        let version = json.get(VERSION_KEY).cloned();
        let mut of_parameters = json.clone();
        if let (Json::Object(fields), Some(_)) = (&mut of_parameters, &version) {
            fields.remove(VERSION_KEY);
        }
        let (mut scenario, mut errors) = Self::from_values(&of_parameters);
        if errors.iter().any(recognise::is_of_another_kind) {
            return (scenario, errors);
        }
        let known = match &version {
            None => Some(VERSION_OF_OLD_FILES),
            Some(named) => named.as_u64().and_then(|named| u8::try_from(named).ok()),
        };
        match known.filter(|known| (OLDEST_VERSION..=VERSION).contains(known)) {
            Some(known) => scenario.keep_defaults_of(known),
            None => errors.push(bad_version(&version.unwrap_or_default())),
        }
        (scenario, errors)
    }

    /// Reads values of the present version in the same forms, as the page holds them.
    pub fn from_values(json: &Json) -> (Self, Vec<Diagnostic>) {
        let mut scenario = Self::default();
        let mut errors = Vec::from_iter(recognise::objection(json));
        if let (Json::Object(fields), true) = (json, errors.is_empty()) {
            scenario.read_object("", fields, &mut errors);
        }
        (scenario, errors)
    }

    fn read_object(&mut self, prefix: &str, fields: &Map<String, Json>, errors: &mut Vec<Diagnostic>) {
        for (name, json) in fields {
            let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
            match (Id::from_path(&path), json) {
                // Once nested and once dotted.
                (Some(id), _) if self.values[id as usize].is_some() => errors.push(repeated(&path)),
                (Some(id), _) => match id.row().parse_json(json) {
                    Ok(value) => self.values[id as usize] = Some(value),
                    Err(error) => errors.push(under_name(error, id, &path)),
                },
                (None, Json::Object(inner)) if is_group(&path) => self.read_object(&path, inner, errors),
                (None, _) => errors.push(unknown(&path)),
            }
        }
    }

    /// The scenario file: its version and the values that were set, as nested JSON.
    pub fn to_json(&self) -> Json {
        let mut root = Map::new();
        root.insert(VERSION_KEY.to_owned(), VERSION.into());
        for (id, value) in self.changed() {
            let mut parts: Vec<&str> = id.row().id.split('.').collect();
            let leaf = parts.pop().expect("a path has a last part");
            let mut place = &mut root;
            for part in parts {
                let entry = place.entry(part).or_insert_with(|| Json::Object(Map::new()));
                place = entry.as_object_mut().expect("a group of parameters is never a parameter itself");
            }
            place.insert(leaf.to_owned(), value.to_json());
        }
        Json::Object(root)
    }

    /// The parameters that were set to something else than their default, in the order of the table; defaults of a former version
    /// only where they act.
    pub fn changed(&self) -> impl Iterator<Item = (Id, &Value)> {
        let set = Id::ALL.iter().filter_map(|&id| Some((id, self.values[id as usize].as_ref()?)));
        let is_idle = |id: Id| self.kept.contains(&(id as u16)) && !self.is_active(id);
        set.filter(move |(id, value)| **value != self.default_of(*id) && !is_idle(*id))
    }

    /// The same by path.
    pub fn patch(&self) -> ScenarioPatch {
        let entry = |(id, value): (Id, &Value)| (id.row().id.to_owned(), value.clone());
        ScenarioPatch(self.changed().map(entry).collect())
    }

    /// Takes a parameter back to its default.
    pub fn reset(&mut self, id: Id) {
        self.write(id, None);
    }

    /// The value of a parameter.
    pub fn get(&self, id: Id) -> Value {
        self.values[id as usize].clone().unwrap_or_else(|| self.default_of(id))
    }

    /// The default of a parameter beside the other settings.
    pub fn default_of(&self, id: Id) -> Value {
        let calibration = self.calibration();
        let linear = &calibration.cost;
        let adapters = &linear.adapters;
        // Tables print milliseconds; the coefficients are microseconds.
        let ms = |us: f64| Value::Number(us / 1e3);
        match id {
            Id::MaxTotalTokens => Value::Number(f64::from(calibration.pool_tokens)),
            Id::MaxRequestTokens => self.usual_longest_request(),
            Id::BatchMaxTokens => Value::Number(f64::from(self.usual_token_budget())),
            Id::MaxRunning => self.usual_max_running(),
            Id::CapturedTokens => self.usual_captured_tokens(),
            Id::Watermark if !self.is_vllm_v1() => Value::Number(0.01),
            Id::AdapterMemory => self.usual_memory(),
            Id::MemoryMargin => self.usual_margin(),
            Id::BlockSize => self.usual_block_size(),
            Id::PrefillChunk => self.usual_prefill_chunk(),
            Id::ChunkedPrefill => Value::Flag(!self.is_trtllm()),
            Id::CostKind => self.usual_cost(),
            Id::KernelEngine => self.usual_kernel_engine(),
            Id::RankPasses => self.usual_rank_passes(),
            Id::ScalingTarget => self.usual_scaling_target(),
            Id::ScalingInterval => self.usual_scaling_interval(),
            Id::DownCooldown => self.usual_down_cooldown(),
            Id::RankChoice if self.is_sglang() => choices::RANK_CHOICE.value(RankChoice::RoundRobin),
            Id::RouterIndex
            | Id::RouterCounts
            | Id::IndexTtl
            | Id::IndexBlocks
            | Id::IndexBlockTokens
            | Id::IndexEviction
            | Id::HostWeight
            | Id::RouterScrape => self.usual_of_view(id),
            Id::Unquantized => Value::Number(self.model().unquantized),
            Id::PrefillBase => ms(linear.prefill_base_us),
            Id::PrefillPerToken => ms(linear.prefill_per_token_us),
            Id::DecodeBase => ms(linear.decode_base_us),
            Id::DecodePerRequest => ms(linear.decode_per_request_us),
            Id::DecodePerKv => ms(linear.decode_per_kv_token_us),
            Id::Overhead => ms(linear.overhead_us),
            Id::LoadBase => ms(adapters.load_base_us),
            Id::LoadPerRank => ms(adapters.load_per_rank_us),
            Id::DecodePerRank => ms(adapters.decode_per_rank_us),
            Id::DecodeActive => ms(adapters.decode_active_us),
            Id::PrefillFactor => Value::Number(adapters.prefill_factor),
            _ => id.row().default_value(),
        }
    }

    /// The parameters that were given a value, be it their default, in the order of the table. Defaults of a former version,
    /// which a link or a file of it leaves out, were not given.
    pub fn given(&self) -> impl Iterator<Item = Id> {
        self.held().filter(|&id| !self.kept.contains(&(id as u16)))
    }

    /// The parameters that have a value of their own, given or kept from a former version.
    pub fn held(&self) -> impl Iterator<Item = Id> {
        Id::ALL.iter().copied().filter(|&id| self.is_set(id))
    }

    /// Whether a parameter was given a value.
    pub(crate) fn is_set(&self, id: Id) -> bool {
        self.values[id as usize].is_some()
    }

    /// The parameters whose defaults depend on the scheduler.
    const DEFAULTS_BY_SCHEDULER: &'static [Id] = &[
        Id::AdapterMemory,
        Id::MaxRequestTokens,
        Id::BatchMaxTokens,
        Id::MaxRunning,
        Id::Watermark,
        Id::MemoryMargin,
        Id::BlockSize,
        Id::CapturedTokens,
        Id::PrefillChunk,
        Id::ChunkedPrefill,
        Id::KernelEngine,
    ];

    /// The parameters whose defaults, in [`Scenario::default_of`], depend on this one beside the other settings.
    pub(crate) fn defaults_from(&self, id: Id) -> &'static [Id] {
        let is_vllm_v1 = self.is_vllm_v1();
        match id {
            Id::Calibration => &[
                Id::MaxTotalTokens,
                Id::PrefillBase,
                Id::PrefillPerToken,
                Id::DecodeBase,
                Id::DecodePerRequest,
                Id::DecodePerKv,
                Id::Overhead,
                Id::LoadBase,
                Id::LoadPerRank,
                Id::DecodePerRank,
                Id::DecodeActive,
                Id::PrefillFactor,
            ],
            Id::ScalingKind => &[Id::ScalingTarget, Id::ScalingInterval, Id::DownCooldown],
            Id::ScalingMetric => &[Id::ScalingTarget],
            _ if self.is_sglang() => self.sglang_defaults_from(id),
            _ if self.is_trtllm() => self.trtllm_defaults_from(id),
            Id::MaxTotalTokens | Id::MaxRequestTokens if !is_vllm_v1 => &[Id::BatchMaxTokens],
            Id::MaxTotalTokens if is_vllm_v1 && self.cost_kind() == CostKind::Linear => {
                &[Id::MaxRequestTokens, Id::BatchMaxTokens, Id::MaxRunning]
            }
            Id::FleetModel | Id::ModelContext if is_vllm_v1 && self.cost_kind() != CostKind::Linear => &[
                Id::MaxRequestTokens,
                Id::BatchMaxTokens,
                Id::MaxRunning,
                Id::BlockSize,
                Id::Unquantized,
                Id::CapturedTokens,
                Id::CostKind,
            ],
            Id::FleetModel => &[Id::Unquantized, Id::CostKind],
            Id::Weights => &[Id::CostKind],
            Id::VllmVersion if is_vllm_v1 => &[Id::MemoryMargin],
            Id::FleetGpu | Id::BatchMaxTokens if is_vllm_v1 && self.cost_kind() != CostKind::Linear => {
                &[Id::BatchMaxTokens, Id::MaxRunning, Id::CapturedTokens, Id::BlockSize, Id::CostKind]
            }
            Id::BatchMaxTokens if is_vllm_v1 => &[Id::MaxRunning],
            Id::MaxRequestTokens | Id::ChunkedPrefill if is_vllm_v1 => {
                &[Id::BatchMaxTokens, Id::MaxRunning, Id::CapturedTokens]
            }
            Id::MaxRunning if is_vllm_v1 => &[Id::BatchMaxTokens, Id::CapturedTokens],
            Id::FleetGpu => &[Id::CapturedTokens, Id::CostKind],
            Id::BatchMaxTokens | Id::MaxRunning => &[Id::CapturedTokens],
            Id::SchedulerKind => Self::DEFAULTS_BY_SCHEDULER,
            _ => &[],
        }
    }

    /// A number.
    pub fn number(&self, id: Id) -> f64 {
        match self.get(id) {
            Value::Number(x) => x,
            _ => f64::NAN,
        }
    }

    /// A number that is whole.
    pub fn whole(&self, id: Id) -> u32 {
        self.number(id) as u32
    }

    /// The name that a choice has.
    pub fn choice(&self, id: Id) -> &'static str {
        match self.get(id) {
            Value::Choice(name) => name,
            _ => "",
        }
    }

    /// The value of a choice.
    pub fn chosen<C: Choice>(&self, of: ChoiceId<C>) -> C {
        of.values()[self.place(of.id(), of.names())]
    }

    /// The place of a choice's name, for enums of any type.
    fn place(&self, id: Id, names: &[&str]) -> usize {
        let name = self.choice(id);
        names.iter().position(|known| *known == name).expect("a scenario takes only names of the table")
    }

    fn flag(&self, id: Id) -> bool {
        self.get(id) == Value::Flag(true)
    }

    fn text(&self, id: Id) -> String {
        match self.get(id) {
            Value::Text(text) => text,
            _ => String::new(),
        }
    }

    fn list(&self, id: Id) -> Vec<f64> {
        match self.get(id) {
            Value::List(items) => items,
            _ => Vec::new(),
        }
    }

    /// The named set of coefficients.
    pub fn calibration(&self) -> &'static Calibration {
        let name = match &self.values[Id::Calibration as usize] {
            Some(Value::Choice(name)) => name,
            _ => "",
        };
        Calibration::named(name).unwrap_or(&servescope_cost::CALIBRATIONS[0])
    }
}

fn bad_version(named: &Json) -> Diagnostic {
    let message =
        format!("{VERSION_KEY}: a version from {OLDEST_VERSION} to {VERSION} expected, got {named}");
    Diagnostic::error("bad_version", VERSION_KEY, message)
        .number("first", OLDEST_VERSION.into())
        .number("last", VERSION.into())
        .text("got", &shown(&named.to_string()))
}

/// Whether parameters have paths below `path`.
fn is_group(path: &str) -> bool {
    TABLE.iter().any(|row| row.id.strip_prefix(path).is_some_and(|rest| rest.starts_with('.')))
}

/// An error of a parameter, with the name under which it was given in its message.
fn under_name(mut error: Diagnostic, id: Id, name: &str) -> Diagnostic {
    if let Some(rest) = error.message.strip_prefix(id.row().id).filter(|_| name != id.row().id) {
        error.message = format!("{name}{rest}");
    }
    error
}

/// An unknown path, with the nearest known one.
fn unknown(path: &str) -> Diagnostic {
    if let Some((flag, id)) = vllm_flag(path) {
        let (path, id) = (&shown(path), id.row().id);
        let message = format!("{path}: there is no such parameter; vLLM's {flag} is {id}");
        return Diagnostic::error("unknown_parameter", path, message).text("value", path).text("nearest", id);
    }
    let path = &shown(path);
    let nearest = TABLE.iter().map(|row| row.id).min_by_key(|known| edit_distance(path, known)).unwrap_or("");
    let message = format!("{path}: there is no such parameter; the nearest is {nearest}");
    Diagnostic::error("unknown_parameter", path, message).text("value", path).text("nearest", nearest)
}

/// Flags of `vllm serve` beside those that are a parameter's name behind its group.
const VLLM_FLAGS: [(&str, Id); 22] = [
    ("model", Id::FleetModel),
    ("dtype", Id::Weights),
    ("quantization", Id::Weights),
    ("tensor_parallel_size", Id::TensorParallel),
    ("pipeline_parallel_size", Id::PipelineParallel),
    ("data_parallel_size", Id::DataParallel),
    ("max_cudagraph_capture_size", Id::CapturedTokens),
    ("kv_cache_dtype", Id::KvFormat),
    ("kv_cache_memory_bytes", Id::KvCacheGib),
    ("gpu_memory_utilization", Id::MemoryMargin),
    ("num_gpu_blocks_override", Id::MaxTotalTokens),
    ("swap_space", Id::SwapSpace),
    ("enable_prefix_caching", Id::PrefixCache),
    ("kv_offloading_size", Id::HostCacheGib),
    ("max_num_seqs", Id::MaxRunning),
    ("max_num_batched_tokens", Id::BatchMaxTokens),
    ("max_model_len", Id::MaxRequestTokens),
    ("max_num_queued_reqs", Id::MaxInSystem),
    ("scheduler_reserve_full_isl", Id::ReserveFullIsl),
    ("scheduling_policy", Id::SchedulerOrder),
    ("enable_lora", Id::Adapters),
    ("lora_modules", Id::Adapters),
];

/// The flag of `vllm serve` that a path names, with or without a group or dashes, and the parameter that stands for it.
fn vllm_flag(path: &str) -> Option<(String, Id)> {
    let last = path.rsplit('.').next()?.trim_start_matches('-').replace('-', "_");
    let named = VLLM_FLAGS.iter().find(|(flag, _)| *flag == last).map(|&(_, id)| id);
    let behind_group = || {
        let groups = ["scheduler", "fleet", "adapters"];
        groups.iter().find_map(|group| Id::from_path(&format!("{group}.{last}")))
    };
    Some((format!("--{}", last.replace('_', "-")), named.or_else(behind_group)?))
}

/// Levenshtein distance.
pub fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut costs: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        costs[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = costs[j + 1];
            costs[j + 1] = replaced.min(diagonal + 1).min(costs[j] + 1);
        }
    }
    costs[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn defaults_follow_the_calibration_and_the_pool() {
        let mut scenario = Scenario::of_version(4);
        assert_eq!(scenario.number(Id::BatchMaxTokens), 3072.0);
        scenario.set_text("cost.calibration", "a100-80-opt-13b").unwrap();
        assert_eq!(scenario.number(Id::MaxTotalTokens), 65_000.0);
        assert_eq!(scenario.number(Id::BatchMaxTokens), 10_833.0);
        assert_eq!(scenario.changed().count() - Scenario::of_version(4).changed().count(), 1);
        scenario.set_text("scheduler.max_total_tokens", "6000").unwrap();
        assert_eq!(scenario.number(Id::BatchMaxTokens), 3072.0);
    }

    #[test]
    fn table_defaults_are_those_of_the_default_scenario() {
        let scenario = Scenario::default();
        for &id in Id::ALL {
            assert_eq!(scenario.default_of(id), id.row().default_value(), "{}", id.row().id);
        }
    }

    #[test]
    fn errors_name_the_path_the_bound_and_the_value() {
        let mut scenario = Scenario::of_version(4);
        let message = |s: &mut Scenario, path, text| s.set_text(path, text).unwrap_err().message;
        assert_eq!(
            message(&mut scenario, "workload.rate_rps", "-1"),
            "workload.rate_rps: -1 is not between 0.001 and 100000"
        );
        assert!(message(&mut scenario, "workload.rate", "1").contains("the nearest is workload.rate_rps"));
        assert!(message(&mut scenario, "seed", "1.5").contains("whole number"));
        assert!(message(&mut scenario, "workload.rate_rps", "NaN").contains("a number expected"));
        assert!(message(&mut scenario, "workload.arrivals.kind", "gama").contains("gamma, poisson, even"));
        assert_eq!(scenario, Scenario::of_version(4));
        scenario.set_text("workload.input_tokens.low", "900").unwrap();
        assert_eq!(scenario.problems()[0].path, "workload.input_tokens.high");
    }

    #[test]
    fn json_is_nested_or_dotted() {
        let nested: Json =
            serde_json::json!({"workload": {"rate_rps": 3, "adapters": {"ranks": [64, 32]}}, "seed": "7"});
        let dotted: Json =
            serde_json::json!({"workload.rate_rps": 3, "workload.adapters.ranks": "64, 32", "seed": 7});
        let (a, errors) = Scenario::from_json(&nested);
        assert!(errors.is_empty(), "{errors:?}");
        assert_eq!(a, Scenario::from_json(&dotted).0);
        assert_eq!(Scenario::from_json(&a.to_json()).0.to_json(), a.to_json());
        let (_, errors) = Scenario::from_json(&serde_json::json!({"workload": {"rate": 3}, "seed": []}));
        assert_eq!(errors.len(), 2);
    }

    #[test]
    fn json_names_every_key_that_means_nothing_or_is_given_twice() {
        let failed = |json: Json| -> Vec<(&'static str, String)> {
            Scenario::from_json(&json).1.into_iter().map(|f| (f.code, f.path)).collect()
        };
        let unknown = |path: &str| vec![("unknown_parameter", path.to_owned())];
        assert_eq!(failed(serde_json::json!({"scheduler2": {}})), unknown("scheduler2"));
        assert_eq!(
            failed(serde_json::json!({"workload": {"users2": {"count": 3}}})),
            unknown("workload.users2")
        );
        assert_eq!(failed(serde_json::json!({"seed": {}})).len(), 1);
        assert_eq!(failed(serde_json::json!({"workload": {}, "scheduler": {}})), []);
        let twice = serde_json::json!({"workload.rate_rps": 3, "workload": {"rate_rps": 4}});
        assert_eq!(failed(twice), [("repeated_key", "workload.rate_rps".to_owned())]);
    }

    proptest! {
        #[test]
        fn no_text_makes_a_parameter_panic(i in 0..TABLE.len(), text in "\\PC{0,40}") {
            let mut scenario = Scenario::of_version(4);
            if scenario.set_text(TABLE[i].id, &text).is_ok() {
                let (again, errors) = Scenario::from_json(&scenario.to_json());
                prop_assert!(errors.is_empty());
                prop_assert_eq!(again.to_json(), scenario.to_json());
            }
        }
    }
}
