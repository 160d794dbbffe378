//! A run in AIPerf's form: `profile_export.jsonl`, a request a line, and the settings that AIPerf writes beside it
//! (`profile_export_aiperf.json`). Readers of AIPerf's files read these.

use std::fmt::Write as _;

use serde_json::{Map, Value as Json, json};

use crate::plan::ReplayPlan;
use crate::send::{ReplayOutcome, Sent};
use crate::server::{Facts, Usage};

/// What stands beside the requests.
#[derive(Debug, Clone, Copy)]
pub struct Companion<'r> {
    /// Name of the model that was asked for.
    pub model: &'r str,
    /// Requests that were kept in flight; none where they were sent at their times.
    pub concurrency: Option<u32>,
    /// What the server reported.
    pub facts: &'r Facts,
}

/// A metric with its unit.
fn metric(value: impl Into<Json>, unit: &str) -> Json {
    let value: Json = value.into();
    json!({"value": value, "unit": unit})
}

/// The requests, a line each, in the order of sending.
pub fn lines(outcome: &ReplayOutcome, plan: &ReplayPlan) -> String {
    let mut text = String::new();
    for (number, sent) in outcome.sent.iter().enumerate() {
        let _ = writeln!(text, "{}", line(outcome, plan, number, sent));
    }
    text
}

fn line(outcome: &ReplayOutcome, plan: &ReplayPlan, number: usize, sent: &Sent) -> Json {
    let request = &plan.requests[sent.place];
    let at = |us: f64| outcome.epoch_ns + (us * 1e3).round() as u64;
    let mut metadata = json!({
        "session_num": number,
        "x_request_id": request.id.to_string(),
        "credit_issued_ns": at(sent.due_us),
        "request_start_ns": at(sent.sent_us),
        "request_end_ns": at(sent.end_us),
        "benchmark_phase": "profiling",
        "was_cancelled": false,
    });
    if let Some(session) = &request.session {
        metadata["conversation_id"] = json!(session);
    }
    if let Some(us) = sent.headers_us {
        metadata["request_ack_ns"] = json!(at(us));
    }
    let mut line = json!({"metadata": metadata, "metrics": metrics(request.input_tokens, sent)});
    if let Some(failure) = &sent.failure {
        line["error"] =
            json!({"code": failure.status, "type": failure.kind.name(), "message": failure.message});
    }
    line
}

fn metrics(input_tokens: u32, sent: &Sent) -> Json {
    let mut metrics = Map::new();
    let mut put = |name: &str, value: Json| metrics.insert(name.to_owned(), value);
    let input_tokens = sent.answer.prompt_tokens.unwrap_or(input_tokens);
    put("input_sequence_length", metric(input_tokens, "tokens"));
    let (Some(&first), Some(&last), None) = (sent.chunks_us.first(), sent.chunks_us.last(), &sent.failure)
    else {
        return Json::Object(metrics);
    };
    let output_tokens = sent.output_tokens();
    put("output_sequence_length", metric(output_tokens, "tokens"));
    put("time_to_first_token", metric((first - sent.sent_us) / 1e3, "ms"));
    put("request_latency", metric((last - sent.sent_us) / 1e3, "ms"));
    let gaps: Vec<f64> = sent.chunks_us.windows(2).map(|pair| (pair[1] - pair[0]) / 1e3).collect();
    if !gaps.is_empty() {
        put("inter_chunk_latency", metric(gaps, "ms"));
    }
    if output_tokens > 1 {
        put("inter_token_latency", metric((last - first) / 1e3 / f64::from(output_tokens - 1), "ms"));
    }
    for (name, count) in [
        ("usage_prompt_tokens", sent.answer.prompt_tokens),
        ("usage_completion_tokens", sent.answer.completion_tokens),
    ] {
        if let Some(count) = count {
            put(name, metric(count, "tokens"));
        }
    }
    Json::Object(metrics)
}

/// The settings, as AIPerf has them beside its lines; what AIPerf does not have stands under `servescope`.
pub fn companion(outcome: &ReplayOutcome, of: &Companion) -> Json {
    let phase = match of.concurrency {
        Some(most) => {
            json!({"name": "profiling", "kind": "profiling", "type": "concurrency", "concurrency": most})
        }
        None => json!({"name": "profiling", "kind": "profiling", "type": "fixed_schedule"}),
    };
    let reported: Map<String, Json> =
        of.facts.stated.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    let late = outcome.lateness();
    json!({
        "schema_version": "1.4",
        "input_config": {"models": {"items": [{"name": of.model}]}, "phases": [phase]},
        "servescope": {
            "server": reported,
            "usage": outcome.usage.as_ref().map(usage),
            "lateness_s": {"p50": late.p50_s, "p99": late.p99_s, "max": late.max_s},
            "took_s": outcome.took_s,
            "not_sent": outcome.not_sent,
            "dropped": outcome.dropped,
        },
    })
}

fn usage(usage: &Usage) -> Json {
    json!({
        "samples": usage.samples,
        "peak_kv_usage": usage.peak_kv,
        "peak_running": usage.peak_running,
        "peak_waiting": usage.peak_waiting,
        "preemptions": usage.preemptions,
        "prefix_cache_queries": usage.prefix_queries,
        "prefix_cache_hits": usage.prefix_hits,
    })
}
