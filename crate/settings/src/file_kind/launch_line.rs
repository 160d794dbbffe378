//! Lines that launch a server: `vllm serve MODEL --flag …`, `python -m sglang.launch_server --flag …`, plain, in a script or behind
//! `docker run`; and the parameters that their flags set. Flags as vLLM 0.33 has them (`vllm/engine/arg_utils.py`) and, for what
//! both have and for its scheduler, as SGLang (`srt/server_args.py` of 0.5.23).

use servescope_cost::models::Model;

use super::{eplb_config, speculative_config};
use crate::diagnostic::Diagnostic;
use crate::parameters::choices::CostKind;
use crate::parameters::{Id, Value};
use crate::scenario::Scenario;

/// A server whose launch line is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Server {
    /// vLLM.
    Vllm,
    /// SGLang.
    Sglang,
    /// TensorRT-LLM.
    TrtLlm,
}

/// Words by which each is known.
const WORDS: [(&str, Server); 7] = [
    ("vllm serve", Server::Vllm),
    ("vllm.entrypoints.openai.api_server", Server::Vllm),
    ("vllm/vllm-openai", Server::Vllm),
    ("sglang.launch_server", Server::Sglang),
    ("sglang serve", Server::Sglang),
    ("lmsysorg/sglang", Server::Sglang),
    ("trtllm-serve", Server::TrtLlm),
];

/// Lines of a script that are looked at.
const MOST_LINES: usize = 100;

/// How a flag's value becomes a parameter's.
#[derive(Clone, Copy)]
enum Meaning {
    Number,
    /// On by the flag, off by `--no-`.
    Switch,
    /// The share of the memory that is used: the margin is the rest.
    UsedShare,
    /// `fp8` in any of its kinds; other values say nothing here.
    Fp8,
    /// The flag alone says this value.
    Says(&'static str),
    /// A name, with `-` where ours has `_`.
    Name,
    /// A name or a truth value that may be in capitals.
    LowerCase,
    /// A truth value, of which the parameter is the opposite.
    Not,
    /// A number, of which those below 0 are none.
    NumberOrNone,
    /// On where the number is above 1.
    AboveOne,
    /// A number that stands in the place of a plan.
    Pool,
}

/// Flags, with the parameter of each.
const FLAGS: [(&[&str], Id, Meaning); 45] = [
    (&["tensor-parallel-size", "tp-size", "tp"], Id::TensorParallel, Meaning::Number),
    (&["pipeline-parallel-size", "pp-size", "pp"], Id::PipelineParallel, Meaning::Number),
    (&["data-parallel-size", "dp-size", "dp"], Id::DataParallel, Meaning::Number),
    (&["dp-sync-interval"], Id::SyncInterval, Meaning::Number),
    (&["data-parallel-external-lb"], Id::RankChoice, Meaning::Says("external")),
    (&["load-balance-method"], Id::RankChoice, Meaning::Name),
    (&["api-server-count"], Id::ApiServers, Meaning::Number),
    (&["enable-expert-parallel"], Id::ExpertParallel, Meaning::Switch),
    (&["ep-size", "expert-parallel-size", "ep"], Id::ExpertParallel, Meaning::AboveOne),
    (&["enable-eplb"], Id::Eplb, Meaning::Switch),
    (&["all2all-backend"], Id::AllToAll, Meaning::Name),
    (&["max-num-seqs", "max-running-requests", "max-batch-size"], Id::MaxRunning, Meaning::Number),
    (&["max-num-batched-tokens", "max-num-tokens"], Id::BatchMaxTokens, Meaning::Number),
    (&["max-model-len", "context-length", "max-seq-len"], Id::MaxRequestTokens, Meaning::Number),
    (&["block-size", "page-size"], Id::BlockSize, Meaning::Number),
    (
        &[
            "gpu-memory-utilization",
            "mem-fraction-static",
            "kv-cache-free-gpu-memory-fraction",
            "free-gpu-memory-fraction",
        ],
        Id::MemoryMargin,
        Meaning::UsedShare,
    ),
    (&["enable-prefix-caching"], Id::PrefixCache, Meaning::Switch),
    (&["enable-chunked-prefill"], Id::ChunkedPrefill, Meaning::Switch),
    (&["async-scheduling"], Id::AsyncScheduling, Meaning::Switch),
    (&["long-prefill-token-threshold"], Id::LongPrefillTokens, Meaning::Number),
    (&["quantization"], Id::Weights, Meaning::Fp8),
    (&["kv-cache-dtype"], Id::KvFormat, Meaning::Fp8),
    (&["max-loras", "max-loras-per-batch"], Id::MaxLoras, Meaning::Number),
    (&["max-lora-rank"], Id::MaxLoraRank, Meaning::Number),
    (&["max-cpu-loras", "max-loaded-loras"], Id::MaxCpuLoras, Meaning::Number),
    (&["max-num-queued-reqs"], Id::MaxInSystem, Meaning::Number),
    (&["max-queued-requests"], Id::MaxQueuedRequests, Meaning::Number),
    (&["max-total-tokens"], Id::MaxTotalTokens, Meaning::Pool),
    (&["chunked-prefill-size"], Id::PrefillChunk, Meaning::NumberOrNone),
    (&["max-prefill-tokens"], Id::MaxPrefillTokens, Meaning::Number),
    (&["prefill-max-requests"], Id::PrefillMaxRequests, Meaning::Number),
    (&["schedule-policy"], Id::SchedulePolicy, Meaning::Name),
    (&["schedule-conservativeness"], Id::Conservativeness, Meaning::Number),
    (&["enable-mixed-chunk"], Id::MixedChunk, Meaning::Says("true")),
    (&["disable-overlap-schedule"], Id::AsyncScheduling, Meaning::Says("false")),
    (&["disable-radix-cache"], Id::PrefixCache, Meaning::Says("false")),
    (&["radix-eviction-policy"], Id::RadixEviction, Meaning::Name),
    (&["enable-priority-scheduling"], Id::SchedulerOrder, Meaning::Says("priority")),
    (&["disable-priority-preemption"], Id::SlotPreemption, Meaning::Says("false")),
    (&["priority-scheduling-preemption-threshold"], Id::SlotPreemptionThreshold, Meaning::Number),
    (&["retraction-policy"], Id::RetractionPolicy, Meaning::Name),
    (&["prefill-decode-interval"], Id::DecodeInterval, Meaning::Number),
    (&["scheduler-recv-interval"], Id::RecvInterval, Meaning::Number),
    (&["prefill-decode-interval-min-bs"], Id::DecodeIntervalLeast, Meaning::Number),
    (&["min-free-slots-delay"], Id::MinFreeSlots, Meaning::Number),
];

/// Keys of TensorRT-LLM's file of options (`--extra_llm_api_options`), where a script writes it, with the parameter of each.
const OPTIONS: [(&str, Id, Meaning); 11] = [
    ("enable_chunked_prefill", Id::ChunkedPrefill, Meaning::LowerCase),
    ("capacity_scheduler_policy", Id::CapacityPolicy, Meaning::LowerCase),
    ("context_chunking_policy", Id::ChunkingPolicy, Meaning::LowerCase),
    ("disable_overlap_scheduler", Id::AsyncScheduling, Meaning::Not),
    ("enable_block_reuse", Id::PrefixCache, Meaning::LowerCase),
    ("free_gpu_memory_fraction", Id::MemoryMargin, Meaning::UsedShare),
    ("tokens_per_block", Id::BlockSize, Meaning::Number),
    ("max_num_tokens", Id::BatchMaxTokens, Meaning::Number),
    ("max_seq_len", Id::MaxRequestTokens, Meaning::Number),
    ("max_lora_rank", Id::MaxLoraRank, Meaning::Number),
    ("max_loras", Id::MaxLoras, Meaning::Number),
];

/// What the file of options sets that a script of TensorRT-LLM writes, as `PATH=VALUE`.
fn options(words: &[&str]) -> Vec<String> {
    let pairs = words.windows(2).filter_map(|pair| Some((pair[0].strip_suffix(':')?, pair[1])));
    let known = pairs.filter_map(|(key, value)| {
        let (_, id, meaning) = OPTIONS.iter().find(|(name, ..)| *name == key)?;
        Some(format!("{}={}", id.row().id, meaning.value(value.trim_matches(['"', '\'']), false)?))
    });
    known.collect()
}

impl Meaning {
    fn value(self, text: &str, is_negated: bool) -> Option<String> {
        match self {
            Self::Switch => Some((!is_negated).to_string()),
            Self::Number | Self::Pool => plain_number(text),
            Self::NumberOrNone => plain_number(text.trim_start_matches('-'))
                .map(|number| if text.starts_with('-') { "0".to_owned() } else { number }),
            Self::AboveOne => Some((text.parse::<f64>().ok()? > 1.0).to_string()),
            Self::Says(value) => Some(value.to_owned()),
            Self::LowerCase => Some(text.to_ascii_lowercase()),
            Self::Not => text.to_ascii_lowercase().parse().ok().map(|is_on: bool| (!is_on).to_string()),
            Self::Name => Some(text.replace('-', "_")),
            Self::UsedShare => {
                let used: f64 = text.parse().ok()?;
                Some(format!("{}", (1e6 * (1.0 - used)).round() / 1e6))
            }
            Self::Fp8 => text.to_ascii_lowercase().contains("fp8").then(|| "fp8".to_owned()),
        }
    }
}

/// A number as vLLM takes one: `8192`, `8k` = 8,000, `8K` = 8,192, and so on with `m`, `M`.
fn plain_number(text: &str) -> Option<String> {
    let (digits, factor) = match text.char_indices().last()? {
        (end, 'k') => (&text[..end], 1e3),
        (end, 'K') => (&text[..end], 1024.0),
        (end, 'm') => (&text[..end], 1e6),
        (end, 'M') => (&text[..end], 1_048_576.0),
        _ => (text, 1.0),
    };
    let number: f64 = digits.parse().ok()?;
    number.is_finite().then(|| format!("{}", number * factor))
}

/// The words of a script up to the server and behind it, lines joined and comments left out.
fn words(text: &str) -> Vec<&str> {
    let lines = text.lines().take(MOST_LINES).filter(|line| !line.trim_start().starts_with('#'));
    lines.flat_map(str::split_whitespace).filter(|word| *word != "\\").collect()
}

/// What a launch line sets in a scenario.
#[derive(Debug, Clone)]
pub struct Launched {
    /// The scenario with it.
    pub scenario: Scenario,
    /// Paths of what the line sets.
    pub set: Vec<&'static str>,
    /// Paths of what the line does not say: the GPU and the model stay as they were, adapters are none.
    pub assumed: Vec<&'static str>,
    /// Flags that have no parameter, or whose value has none.
    pub unknown: Vec<String>,
    /// What is wrong with values of the line.
    pub errors: Vec<Diagnostic>,
}

/// Flags by which a server serves adapters.
const LORA_FLAGS: [&str; 3] = ["enable-lora", "lora-modules", "lora-paths"];

impl Server {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Vllm => "vLLM",
            Self::Sglang => "SGLang",
            Self::TrtLlm => "TensorRT-LLM",
        }
    }

    /// The server that a text launches, and the words that say so.
    pub(super) fn of_text(text: &str) -> Option<(Self, &'static str)> {
        let joined = words(text).join(" ");
        let found = |(word, server): (&'static str, Self)| {
            let at = joined.find(word)?;
            let is_word = joined[..at].chars().next_back().is_none_or(|before| !before.is_alphanumeric());
            is_word.then_some((server, word))
        };
        WORDS.into_iter().find_map(found)
    }

    /// The settings of a line, as `PATH=VALUE`, and the flags that have no parameter here.
    pub fn settings(self, text: &str) -> (Vec<String>, Vec<String>) {
        let words = words(text);
        let mut settings = Vec::new();
        let mut unknown = Vec::new();
        match self {
            Self::Vllm => settings.push("scheduler.kind=vllm_v1".to_owned()),
            Self::Sglang => settings.push("scheduler.kind=sglang".to_owned()),
            Self::TrtLlm => {
                settings.push("scheduler.kind=trtllm".to_owned());
                settings.extend(options(&words));
            }
        }
        if self.has_no_adapters(&words) {
            settings.push(format!("{}=0", Id::Adapters.row().id));
        }
        let drafts = speculative_config::settings(text).filter(|_| self == Self::Vllm);
        let balance = eplb_config::settings(text).filter(|_| self == Self::Vllm);
        settings.extend(model(&words).map(|model| format!("{}={model}", Id::FleetModel.row().id)));
        for (at, word) in words.iter().enumerate() {
            let Some(flag) = word.strip_prefix('-').map(|flag| flag.trim_start_matches('-')) else {
                continue;
            };
            let (flag, inline) =
                flag.split_once('=').map_or((flag, None), |(flag, value)| (flag, Some(value)));
            let name = flag.replace('_', "-");
            let (name, is_negated) = name.strip_prefix("no-").map_or((&*name, false), |name| (name, true));
            let Some((_, id, meaning)) = FLAGS.iter().find(|(names, ..)| names.contains(&name)) else {
                let is_known = NAMED.contains(&name)
                    || LORA_FLAGS.contains(&name)
                    || drafts.is_some() && name == speculative_config::FLAG
                    || balance.is_some() && name == eplb_config::FLAG;
                let value = inline.or_else(|| words.get(at + 1).copied()).unwrap_or("");
                let field = name.strip_prefix(eplb_config::FLAG).and_then(|field| field.strip_prefix('.'));
                match field.and_then(|field| eplb_config::setting(field, value)) {
                    Some(setting) => settings.push(setting),
                    None if word.starts_with("--") && !is_known => unknown.push(format!("--{flag}")),
                    None => {}
                }
                continue;
            };
            let value = inline.or_else(|| words.get(at + 1).copied()).unwrap_or("");
            match meaning.value(value.trim_matches(['"', '\'']), is_negated) {
                Some(value) => {
                    settings.push(format!("{}={value}", id.row().id));
                    if matches!(meaning, Meaning::Pool) {
                        settings.push(format!("{}=given", Id::KvPool.row().id));
                    }
                }
                None => unknown.push(format!("--{flag} {value}")),
            }
        }
        settings.extend(drafts.into_iter().flatten());
        if let Some((fields, others)) = balance {
            settings.extend(fields);
            unknown.extend(others);
        }
        if self == Self::Sglang {
            shared_by_ranks(&mut settings, words.iter().any(|word| word.starts_with(DP_ATTENTION)));
        }
        (settings, unknown)
    }

    /// Whether the line switches adapters on nowhere. TensorRT-LLM's are in a file beside it.
    fn has_no_adapters(self, words: &[&str]) -> bool {
        let is_on = |word: &&str| {
            let flag = word.trim_start_matches('-').split('=').next().unwrap_or("").replace('_', "-");
            word.starts_with("--") && LORA_FLAGS.contains(&&*flag)
        };
        self != Self::TrtLlm && !words.iter().any(is_on)
    }

    /// A scenario with what a line sets. The linear iteration times are of no server that is launched so: measured kernels of the
    /// scenario's GPU stand in their place, or the roofline where there are none.
    pub fn launched(self, text: &str, before: &Scenario) -> Launched {
        let (settings, unknown) = self.settings(text);
        let mut scenario = before.clone();
        let (mut set, mut errors) = (Vec::new(), Vec::new());
        for setting in settings {
            let Some((path, value)) = setting.split_once('=') else { continue };
            match scenario.set_text(path, value) {
                Ok(()) => set.extend(Id::from_path(path).map(|id| id.row().id)),
                Err(error) => errors.push(error),
            }
        }
        if scenario.get(Id::CostKind) == Value::Choice(CostKind::Linear.name()) {
            let kind = if scenario.has_measured_kernels() { CostKind::Kernels } else { CostKind::Roofline };
            if scenario.set(Id::CostKind, Value::Choice(kind.name())).is_ok() {
                set.push(Id::CostKind.row().id);
            }
        }
        let mut assumed = vec![Id::FleetGpu.row().id];
        if !set.contains(&Id::FleetModel.row().id) {
            assumed.push(Id::FleetModel.row().id);
        }
        // It is set because the line is silent about it.
        if self.has_no_adapters(&words(text)) {
            set.retain(|path| *path != Id::Adapters.row().id);
            assumed.push(Id::Adapters.row().id);
        }
        Launched { scenario, set, assumed, unknown, errors }
    }

    /// What a line does not say, in English.
    pub fn silent_about(self, text: &str) -> String {
        let words = words(text);
        let mut missing =
            vec!["the GPU (its name in the place of GPU; cost.kind=kernels where its kernels were measured)"];
        if model(&words).is_none() {
            missing.push("a model of the catalogue (its name in the place of MODEL)");
        }
        if self.has_no_adapters(&words) {
            missing.push("LoRA adapters (none)");
        }
        missing.join(", ")
    }

    /// The terminal's command for such a server.
    pub(super) fn command(self, text: &str) -> String {
        let mut settings = self.settings(text).0;
        let model_path = Id::FleetModel.row().id;
        settings.push(format!("{}={}", Id::CostKind.row().id, CostKind::Roofline.name()));
        settings.push(format!("{}=GPU", Id::FleetGpu.row().id));
        if model(&words(text)).is_none() {
            settings.push(format!("{model_path}=MODEL"));
        }
        let sets: Vec<String> = settings.iter().map(|setting| format!(" --set {setting}")).collect();
        format!("servescope simulate{}", sets.concat())
    }
}

/// By this flag the GPUs of SGLang's `--tp-size` are split into ranks that share the experts.
const DP_ATTENTION: &str = "--enable-dp-attention";

/// The tensor parallelism of a rank, and whether ranks run together. The experts of ranks that do are SGLang's to split, too.
fn shared_by_ranks(settings: &mut Vec<String>, is_shared: bool) {
    let number = |settings: &[String], id: Id| {
        let of = |setting: &String| setting.strip_prefix(id.row().id)?.strip_prefix('=')?.parse::<u32>().ok();
        settings.iter().find_map(of)
    };
    let Some(ranks) = number(settings, Id::DataParallel).filter(|&ranks| ranks > 1) else { return };
    let passes = if is_shared { "together" } else { "apart" };
    settings.push(format!("{}={passes}", Id::RankPasses.row().id));
    if let (true, Some(gpus)) = (is_shared, number(settings, Id::TensorParallel)) {
        let path = Id::TensorParallel.row().id;
        settings.retain(|setting| !setting.starts_with(&format!("{path}=")));
        settings.push(format!("{path}={}", (gpus / ranks).max(1)));
    }
}

/// Flags that name the model, which is found by itself, say how the server is reached, or which 16 bits a value has.
const NAMED: [&str; 11] = [
    "model",
    "model-path",
    "served-model-name",
    "host",
    "port",
    "api-key",
    "tokenizer",
    "dtype",
    "enable-dp-attention",
    "backend",
    "extra-llm-api-options",
];

/// The catalogue's model that a line names, by the name on Hugging Face.
fn model(words: &[&str]) -> Option<&'static str> {
    let behind = |flags: &[&str]| {
        words.iter().enumerate().find_map(|(at, word)| match word.split_once('=') {
            Some((flag, value)) if flags.contains(&flag) => Some(value),
            None if flags.contains(word) => words.get(at + 1).copied(),
            _ => None,
        })
    };
    model_named(behind(&["--model", "--model-path"]).or_else(|| behind(&["serve", "trtllm-serve"]))?)
}

/// The JSON behind a flag of a line; `None`: the line does not have it, or it cannot be read.
pub(super) fn json_of(line: &str, flag: &str) -> Option<serde_json::Value> {
    let behind = &line[line.find(&format!("--{flag}"))?..];
    let json = &behind[behind.find('{')?..];
    serde_json::Deserializer::from_str(json).into_iter().next()?.ok()
}

/// The catalogue's model by its name on Hugging Face.
pub(super) fn model_named(named: &str) -> Option<&'static str> {
    let name = named.trim_matches(['"', '\'']).rsplit('/').next()?.to_ascii_lowercase();
    let ends = ["-instruct", "-chat", "-hf", "-it", "-fp8", "-base"];
    let mut name = name.strip_prefix("meta-").unwrap_or(&name);
    while let Some(shorter) = ends.iter().find_map(|end| name.strip_suffix(end)) {
        name = shorter;
    }
    Model::named(name).map(|model| model.id)
}
