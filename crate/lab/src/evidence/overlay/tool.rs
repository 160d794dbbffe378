//! The tools whose result files are read.

use serde::{Deserialize, Serialize};

/// What wrote a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Tool {
    /// `vllm bench serve --save-result --save-detailed`.
    VllmBench,
    /// AIPerf's `profile_export.jsonl`.
    AiPerf,
    /// GuideLLM's JSON report.
    GuideLlm,
    /// InferenceX's row of a run (`agg_*.json`).
    InferenceX,
    /// LLMServingSim's table of simulated requests.
    ServingSim,
    /// LLMServingSim's recording of a vLLM server (`requests.jsonl`).
    ServingSimBench,
}

impl Tool {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::VllmBench => "vLLM bench",
            Self::AiPerf => "AIPerf",
            Self::GuideLlm => "GuideLLM",
            Self::InferenceX => "InferenceX",
            Self::ServingSim => "LLMServingSim",
            Self::ServingSimBench => "LLMServingSim's recording of vLLM",
        }
    }

    /// Names of the file that it writes beside the result `name` with the settings of server or client, the likeliest first.
    pub fn companions(self, name: &str) -> Vec<String> {
        match self {
            Self::AiPerf => [name, "profile_export.jsonl"].map(aiperf_settings).to_vec(),
            Self::ServingSimBench => vec!["meta.json".to_owned()],
            Self::VllmBench | Self::GuideLlm | Self::InferenceX | Self::ServingSim => Vec::new(),
        }
    }
}

/// Name of the file of settings beside an export of AIPerf.
fn aiperf_settings(name: &str) -> String {
    format!("{}_aiperf.json", name.strip_suffix(".jsonl").unwrap_or(name))
}
