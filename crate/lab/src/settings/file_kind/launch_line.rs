//! Lines that launch a server: `vllm serve MODEL --flag …`, `python -m sglang.launch_server --flag …`, plain, in a script or behind
//! `docker run`; and the parameters that their flags set. Flags as vLLM 0.33 has them (`vllm/engine/arg_utils.py`) and, for what
//! both have, as SGLang (`srt/server_args.py`).

use servescope_cost::models::Model;

use crate::parameters::Id;

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
}

/// Flags, with the parameter of each.
const FLAGS: [(&[&str], Id, Meaning); 18] = [
    (&["tensor-parallel-size", "tp-size", "tp"], Id::TensorParallel, Meaning::Number),
    (&["pipeline-parallel-size", "pp-size", "pp"], Id::PipelineParallel, Meaning::Number),
    (&["data-parallel-size", "dp-size", "dp"], Id::Replicas, Meaning::Number),
    (&["max-num-seqs", "max-running-requests"], Id::MaxRunning, Meaning::Number),
    (&["max-num-batched-tokens"], Id::BatchMaxTokens, Meaning::Number),
    (&["max-model-len", "context-length"], Id::MaxRequestTokens, Meaning::Number),
    (&["block-size", "page-size"], Id::BlockSize, Meaning::Number),
    (&["gpu-memory-utilization", "mem-fraction-static"], Id::MemoryMargin, Meaning::UsedShare),
    (&["enable-prefix-caching"], Id::PrefixCache, Meaning::Switch),
    (&["enable-chunked-prefill"], Id::ChunkedPrefill, Meaning::Switch),
    (&["async-scheduling"], Id::AsyncScheduling, Meaning::Switch),
    (&["long-prefill-token-threshold"], Id::LongPrefillTokens, Meaning::Number),
    (&["quantization"], Id::Weights, Meaning::Fp8),
    (&["kv-cache-dtype"], Id::KvFormat, Meaning::Fp8),
    (&["max-loras", "max-loras-per-batch"], Id::MaxLoras, Meaning::Number),
    (&["max-lora-rank"], Id::MaxLoraRank, Meaning::Number),
    (&["max-cpu-loras", "max-loaded-loras"], Id::MaxCpuLoras, Meaning::Number),
    (&["max-num-queued-reqs", "max-queued-requests"], Id::MaxInSystem, Meaning::Number),
];

impl Meaning {
    fn value(self, text: &str, is_negated: bool) -> Option<String> {
        match self {
            Self::Switch => Some((!is_negated).to_string()),
            Self::Number => plain_number(text),
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
        if self == Self::Vllm {
            settings.push("scheduler.kind=vllm_v1".to_owned());
        }
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
                if word.starts_with("--") && !NAMED.contains(&name) {
                    unknown.push(format!("--{flag}"));
                }
                continue;
            };
            let value = inline.or_else(|| words.get(at + 1).copied()).unwrap_or("");
            match meaning.value(value.trim_matches(['"', '\'']), is_negated) {
                Some(value) => settings.push(format!("{}={value}", id.row().id)),
                None => unknown.push(format!("--{flag} {value}")),
            }
        }
        (settings, unknown)
    }

    /// The terminal's command for such a server.
    pub(super) fn command(self, text: &str) -> String {
        let sets: Vec<String> =
            self.settings(text).0.iter().map(|setting| format!(" --set {setting}")).collect();
        format!("servescope simulate{}", sets.concat())
    }
}

/// Flags that name the model, which is found by itself, or say how the server is reached.
const NAMED: [&str; 7] = ["model", "model-path", "served-model-name", "host", "port", "api-key", "tokenizer"];

/// The catalogue's model that a line names, by the name on Hugging Face.
fn model(words: &[&str]) -> Option<&'static str> {
    let behind = |flags: &[&str]| {
        words.iter().enumerate().find_map(|(at, word)| match word.split_once('=') {
            Some((flag, value)) if flags.contains(&flag) => Some(value),
            None if flags.contains(word) => words.get(at + 1).copied(),
            _ => None,
        })
    };
    let named = behind(&["--model", "--model-path"]).or_else(|| behind(&["serve", "trtllm-serve"]))?;
    let name = named.trim_matches(['"', '\'']).rsplit('/').next()?.to_ascii_lowercase();
    let ends = ["-instruct", "-chat", "-hf", "-it", "-fp8", "-base"];
    let mut name = name.strip_prefix("meta-").unwrap_or(&name);
    while let Some(shorter) = ends.iter().find_map(|end| name.strip_suffix(end)) {
        name = shorter;
    }
    Model::named(name).map(|model| model.id)
}
