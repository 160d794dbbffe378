//! What a server reports of itself: its model, its version, its KV blocks, and how full it was. Paths and names are vLLM's
//! (`/v1/models`, `/version`, `/metrics`); a server that has none of them reports nothing.

use std::time::Duration;

use serde_json::Value as Json;
use ureq::Agent;

use crate::exposition::Exposition;
use crate::target::Target;

/// Most bytes of one of these answers.
const MAX_BYTES: u64 = 1 << 23;
/// Longest time of one of these answers.
const LONGEST: Duration = Duration::from_secs(5);

/// What a server reports before a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// The first model that it serves.
    pub model: Option<String>,
    /// Settings by vLLM's names: `num_gpu_blocks`, `block_size`, `max_model_len`, …
    pub stated: Vec<(String, String)>,
    /// Whether it exposes vLLM's metrics.
    pub has_metrics: bool,
}

/// What a server reports over a run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Usage {
    /// Times at which it was asked.
    pub samples: usize,
    /// Largest share of KV blocks in use that was seen.
    pub peak_kv: Option<f64>,
    /// Most running requests that were seen.
    pub peak_running: Option<f64>,
    /// Most waiting requests that were seen.
    pub peak_waiting: Option<f64>,
    /// Preemptions since it started.
    pub preemptions: Option<f64>,
    /// Prompt tokens looked for in the prefix cache since it started.
    pub prefix_queries: Option<f64>,
    /// Prompt tokens found there.
    pub prefix_hits: Option<f64>,
}

pub(crate) fn agent(target: &Target) -> Agent {
    Agent::config_builder()
        .tls_config(target.tls())
        .proxy(None)
        .max_redirects(0)
        .http_status_as_error(false)
        .user_agent("servescope-replay")
        .timeout_global(Some(LONGEST))
        .build()
        .into()
}

/// The text at a path; `None` where the server has none. An error where no server answers.
pub(crate) fn text(
    agent: &Agent,
    target: &Target,
    path: &str,
    api_key: Option<&str>,
) -> Result<Option<String>, String> {
    let mut builder = agent.get(target.at(path));
    if let Some(key) = api_key {
        builder = builder.header("authorization", format!("Bearer {key}"));
    }
    let mut response = builder.call().map_err(|error| format!("{}: {error}", target.at(path)))?;
    if response.status().as_u16() != 200 {
        return Ok(None);
    }
    Ok(response.body_mut().with_config().limit(MAX_BYTES).lossy_utf8(true).read_to_string().ok())
}

/// Asks a server what it is.
///
/// # Errors
/// That no server answers.
pub fn facts(target: &Target, api_key: Option<&str>) -> Result<Facts, String> {
    let agent = agent(target);
    let mut facts = Facts::default();
    if let Some(text) = text(&agent, target, "/v1/models", api_key)? {
        facts.models(&text);
    }
    if let Ok(Some(text)) = text(&agent, target, "/version", api_key) {
        facts.version(&text);
    }
    if let Ok(Some(text)) = text(&agent, target, "/metrics", api_key) {
        facts.metrics(&Exposition::read(&text));
    }
    Ok(facts)
}

impl Facts {
    /// Takes the answer of `/v1/models`.
    pub fn models(&mut self, text: &str) {
        let Ok(json) = serde_json::from_str::<Json>(text) else { return };
        let Some(first) = json.pointer("/data/0") else { return };
        self.model = first.get("id").and_then(Json::as_str).map(str::to_owned);
        // Of a model that is served under another name, vLLM reports where it is from.
        let root = first.get("root").and_then(Json::as_str).map(str::to_owned);
        self.stated.extend(root.or(self.model.clone()).map(|name| ("model".to_owned(), name)));
        let longest = first.get("max_model_len").and_then(Json::as_u64);
        self.stated.extend(longest.map(|tokens| ("max_model_len".to_owned(), tokens.to_string())));
    }

    /// Takes the answer of `/version`.
    pub fn version(&mut self, text: &str) {
        let version = serde_json::from_str::<Json>(text).ok();
        let version = version.as_ref().and_then(|json| json.get("version")).and_then(Json::as_str);
        self.stated.extend(version.map(|version| ("vllm_version".to_owned(), version.to_owned())));
    }

    /// Takes the answer of `/metrics`.
    pub fn metrics(&mut self, exposition: &Exposition) {
        self.has_metrics = exposition.samples.iter().any(|sample| sample.name.starts_with("vllm:"));
        let configs = || exposition.samples.iter().filter(|sample| sample.name == "vllm:cache_config_info");
        let Some(config) = configs().next() else { return };
        for (label, name) in [
            ("num_gpu_blocks", "num_gpu_blocks"),
            ("block_size", "block_size"),
            ("enable_prefix_caching", "enable_prefix_caching"),
            ("gpu_memory_utilization", "gpu_memory_utilization"),
            ("cache_dtype", "kv_cache_dtype"),
        ] {
            let value = config.label(label).filter(|value| !matches!(*value, "" | "None" | "auto"));
            self.stated.extend(value.map(|value| (name.to_owned(), value.to_owned())));
        }
        // One sample an engine of data parallelism.
        let engines = configs().count();
        if engines > 1 {
            self.stated.push(("replicas".to_owned(), engines.to_string()));
        }
    }
}

/// The load in an exposition.
pub fn usage(exposition: &Exposition) -> Usage {
    let sum = |names: [&str; 2]| names.into_iter().find_map(|name| exposition.sum(name));
    let largest = |names: [&str; 2]| names.into_iter().find_map(|name| exposition.largest(name));
    Usage {
        samples: 1,
        peak_kv: largest(["vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"]),
        peak_running: exposition.sum("vllm:num_requests_running"),
        peak_waiting: exposition.sum("vllm:num_requests_waiting"),
        preemptions: sum(["vllm:num_preemptions_total", "vllm:num_preemptions"]),
        prefix_queries: sum(["vllm:prefix_cache_queries_total", "vllm:gpu_prefix_cache_queries_total"]),
        prefix_hits: sum(["vllm:prefix_cache_hits_total", "vllm:gpu_prefix_cache_hits_total"]),
    }
}

impl Usage {
    /// Adds a later one: peaks are the larger, counters those of the later.
    pub fn then(self, later: Self) -> Self {
        let larger = |a: Option<f64>, b: Option<f64>| match (a, b) {
            (Some(a), Some(b)) => Some(a.max(b)),
            (a, b) => a.or(b),
        };
        Self {
            samples: self.samples + later.samples,
            peak_kv: larger(self.peak_kv, later.peak_kv),
            peak_running: larger(self.peak_running, later.peak_running),
            peak_waiting: larger(self.peak_waiting, later.peak_waiting),
            ..later
        }
    }

    /// With counters that began at an earlier one.
    pub fn since(self, first: &Self) -> Self {
        let less = |later: Option<f64>, first: Option<f64>| Some((later? - first?).max(0.0));
        Self {
            preemptions: less(self.preemptions, first.preemptions),
            prefix_queries: less(self.prefix_queries, first.prefix_queries),
            prefix_hits: less(self.prefix_hits, first.prefix_hits),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_vllm_exposes_becomes_settings_and_usage() {
        let mut facts = Facts::default();
        facts.models(r#"{"data":[{"id":"mine","root":"meta-llama/Llama-3.1-8B","max_model_len":8192}]}"#);
        facts.version(r#"{"version":"0.11.0"}"#);
        let text = "vllm:cache_config_info{block_size=\"16\",cache_dtype=\"auto\",enable_prefix_caching=\"True\",engine=\"0\",\
                    gpu_memory_utilization=\"0.9\",num_gpu_blocks=\"2588\",sliding_window=\"None\"} 1.0\n\
                    vllm:kv_cache_usage_perc{engine=\"0\",model_name=\"mine\"} 0.25\n\
                    vllm:num_preemptions_total{engine=\"0\"} 3.0\n";
        let exposition = Exposition::read(text);
        facts.metrics(&exposition);
        let stated: Vec<String> = facts.stated.iter().map(|(key, value)| format!("{key}={value}")).collect();
        assert_eq!(
            stated.join(" "),
            "model=meta-llama/Llama-3.1-8B max_model_len=8192 vllm_version=0.11.0 num_gpu_blocks=2588 block_size=16 \
             enable_prefix_caching=True gpu_memory_utilization=0.9"
        );
        assert!(facts.has_metrics && facts.model.as_deref() == Some("mine"));
        let first = usage(&exposition);
        let later = Usage { peak_kv: Some(0.1), preemptions: Some(5.0), ..first };
        let over = first.then(later).since(&first);
        assert_eq!(
            (over.samples, over.peak_kv, over.preemptions, over.prefix_hits),
            (2, Some(0.25), Some(2.0), None)
        );
    }

    #[test]
    fn what_is_no_answer_of_vllm_tells_nothing() {
        let mut facts = Facts::default();
        facts.models("<html>");
        facts.version("[]");
        facts.metrics(&Exposition::read("python_info 1\n"));
        assert_eq!(facts, Facts::default());
    }
}
