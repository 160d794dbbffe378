//! The tools whose result files are read, and the keys by which a file of each is known.

use serde::{Deserialize, Serialize};

use super::outline::Outline;

/// What wrote a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Tool {
    /// `vllm bench serve --save-result`, with or without `--save-detailed`.
    VllmBench,
    /// SGLang's `bench_serving`, a run a line.
    SglangBench,
    /// AIPerf's `profile_export.jsonl`.
    AiPerf,
    /// AIPerf's `profile_export_aiperf.json`.
    AiPerfSummary,
    /// GenAI-Perf's `profile_export_genai_perf.json`.
    GenAiPerf,
    /// GuideLLM's JSON report.
    GuideLlm,
    /// InferenceX's row of a run (`agg_*.json`).
    InferenceX,
    /// inference-perf's summary of a stage or of all.
    InferencePerf,
    /// inference-perf's single requests.
    InferencePerfRequests,
    /// A benchmark report of llm-d.
    LlmD,
    /// LLMServingSim's table of simulated requests.
    ServingSim,
    /// LLMServingSim's recording of a vLLM server (`requests.jsonl`).
    ServingSimBench,
}

/// Keys that a file of a tool has all of, the first entries of a list before later ones.
const SIGNATURES: [(Tool, &[&str]); 24] = [
    (Tool::GuideLlm, &["benchmarks", "benchmarks.requests"]),
    (Tool::GuideLlm, &["benchmarks", "benchmarks.metrics"]),
    (Tool::GuideLlm, &["benchmarks", "metadata"]),
    (Tool::InferenceX, &["infmax_model_prefix"]),
    (Tool::SglangBench, &["request_throughput", "total_output_tokens_retokenized"]),
    (Tool::SglangBench, &["output_throughput", "mean_e2e_latency_ms"]),
    (Tool::VllmBench, &["model_id", "num_prompts"]),
    (Tool::VllmBench, &["request_throughput", "mean_ttft_ms"]),
    (Tool::VllmBench, &["input_lens", "output_lens", "ttfts"]),
    (Tool::InferencePerf, &["load_summary", "successes"]),
    (Tool::InferencePerfRequests, &["start_time", "end_time", "request", "info"]),
    (Tool::LlmD, &["version", "results.request_performance"]),
    (Tool::LlmD, &["version", "metrics.latency", "metrics.requests"]),
    // The keys of a report in the order of the alphabet: what it says of the servers may be longer than what is looked at.
    (Tool::LlmD, &["results.request_performance"]),
    (Tool::LlmD, &["results.observability"]),
    (Tool::LlmD, &["results.component_health"]),
    (Tool::LlmD, &["metrics.latency.request_latency", "metrics.requests.input_length"]),
    (Tool::ServingSimBench, &["queued_ts"]),
    (Tool::AiPerfSummary, &["request_latency.avg", "request_throughput.avg", "aiperf_version"]),
    (Tool::AiPerfSummary, &["request_latency.avg", "request_throughput.avg", "schema_version"]),
    (Tool::GenAiPerf, &["request_latency.avg", "request_throughput.avg"]),
    (Tool::AiPerfSummary, &["metadata.aggregation_type", "metrics.request_latency_avg"]),
    (Tool::AiPerfSummary, &["combined.request_latency.mean"]),
    (Tool::AiPerf, &["metadata", "metrics"]),
];

/// The columns by which LLMServingSim's table is known.
const SERVINGSIM_COLUMNS: [&str; 4] = ["request id", "arrival", "TTFT", "ITL"];

impl Tool {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::VllmBench => "vLLM bench",
            Self::SglangBench => "SGLang bench_serving",
            Self::AiPerf | Self::AiPerfSummary => "AIPerf",
            Self::GenAiPerf => "GenAI-Perf",
            Self::GuideLlm => "GuideLLM",
            Self::InferenceX => "InferenceX",
            Self::InferencePerf | Self::InferencePerfRequests => "inference-perf",
            Self::LlmD => "llm-d-benchmark",
            Self::ServingSim => "LLMServingSim",
            Self::ServingSimBench => "LLMServingSim's recording of vLLM",
        }
    }

    /// Whether a run is a document of its file, in place of a request.
    pub(crate) fn has_documents(self) -> bool {
        !matches!(self, Self::AiPerf | Self::InferencePerfRequests | Self::ServingSim | Self::ServingSimBench)
    }

    /// The tool of a document with these keys, and those of them that decided it.
    pub(super) fn of_keys(outline: &Outline) -> Option<(Self, Vec<&'static str>)> {
        let known = SIGNATURES.into_iter().find(|(_, keys)| keys.iter().all(|key| outline.has(key)));
        // A long prompt may be all that is looked at behind the times of the first request.
        let cut_off = ["start_time", "end_time", "request"];
        let cut_off_too =
            || outline.keys().eq(cut_off).then_some((Self::InferencePerfRequests, &cut_off[..]));
        let (tool, keys) = known.or_else(cut_off_too)?;
        Some((tool, keys.to_vec()))
    }

    /// The tool of a table with these columns, and those of them that decided it.
    pub(super) fn of_columns(has: impl Fn(&str) -> bool) -> Option<(Self, Vec<&'static str>)> {
        SERVINGSIM_COLUMNS.into_iter().all(has).then(|| (Self::ServingSim, SERVINGSIM_COLUMNS.to_vec()))
    }

    /// Names of the file that it writes beside the result `name` with the settings of server or client, the likeliest first.
    pub fn companions(self, name: &str) -> Vec<String> {
        match self {
            Self::AiPerf => [name, "profile_export.jsonl"].map(aiperf_settings).to_vec(),
            Self::ServingSimBench => vec!["meta.json".to_owned()],
            _ => Vec::new(),
        }
    }
}

/// Name of the file of settings beside an export of AIPerf.
fn aiperf_settings(name: &str) -> String {
    format!("{}_aiperf.json", name.strip_suffix(".jsonl").unwrap_or(name))
}
