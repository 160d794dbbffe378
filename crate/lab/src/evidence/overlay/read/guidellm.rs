//! GuideLLM's JSON report (github.com/vllm-project/guidellm, `--output kind=json`): benchmarks, each with its strategy and its
//! requests. The first benchmark is read.

use serde_json::Value as Json;

use super::json::JsonField;
use super::{ReadError, Tool, room, tell_failed};
use crate::evidence::overlay::measured::{Means, MeasuredRequest, MeasuredRun, Sending};

/// Reads a document.
pub(super) fn read(json: &Json) -> Result<MeasuredRun, ReadError> {
    let root = JsonField::root(json);
    let all = root.need("benchmarks")?;
    let items = all.items()?;
    let first = items.first().ok_or_else(|| ReadError::new("benchmarks", "the list is empty"))?;
    let benchmark = all.item(first, 0);
    let mut notes = Vec::new();
    if items.len() > 1 {
        notes.push(format!("the file has {} benchmarks; the first is read", items.len()));
    }
    let of_status = benchmark.need("requests")?;
    let successful = of_status.need("successful")?;
    let mut requests = Vec::new();
    for (place, item) in successful.items()?.iter().enumerate() {
        room(&requests, "benchmarks[0].requests.successful")?;
        requests.extend(request(&successful.item(item, place))?);
    }
    let others =
        ["errored", "incomplete"].map(|key| of_status.get(key).map_or(Ok(0), |list| Ok(list.items()?.len())));
    let [errored, incomplete] = others;
    let asked = successful.items()?.len() + errored? + incomplete?;
    tell_failed(&mut notes, asked - requests.len(), asked);
    let sending = sending(&benchmark, asked)?;
    let model = json.pointer("/config/spec/backend/model").or_else(|| json.pointer("/args/model"));
    let reported = model.and_then(Json::as_str).map(|name| ("model".to_owned(), name.to_owned()));
    Ok(MeasuredRun {
        tool: Tool::GuideLlm,
        requests,
        sending,
        means: Means::default(),
        reported: reported.into_iter().collect(),
        notes,
    })
}

/// A request; none of one without an answer.
fn request(entry: &JsonField) -> Result<Option<MeasuredRequest>, ReadError> {
    let output_tokens = entry.need("output_tokens")?.tokens()?;
    if output_tokens == 0 {
        return Ok(None);
    }
    let time = |key: &str, unit_s: f64| entry.get(key).map(|t| t.seconds(unit_s)).transpose();
    let sent = entry.get("request_start_time").map_or_else(|| entry.need("start_time"), Ok)?;
    Ok(Some(MeasuredRequest {
        name: entry.get("request_id").and_then(|id| id.setting()).unwrap_or_default(),
        sent_s: sent.number(0.0, 1e12)?,
        input_tokens: entry.need("prompt_tokens")?.tokens()?,
        output_tokens,
        ttft_s: time("time_to_first_token_ms", 1e-3)?,
        e2e_s: time("request_latency", 1.0)?,
        gaps_s: Vec::new(),
    }))
}

/// The strategies `synchronous`, `concurrent` and `throughput` keep requests in flight, the others send at times.
fn sending(benchmark: &JsonField, requests: usize) -> Result<Sending, ReadError> {
    let strategy = benchmark.get("config").and_then(|config| config.get("strategy"));
    let Some(strategy) = strategy else { return Ok(Sending::Times) };
    let most = match strategy.get("type_").map(|kind| kind.text()).transpose()? {
        Some("synchronous") => Some(1),
        Some("concurrent") => Some(strategy.need("streams")?.number(1.0, 1e9)? as u32),
        Some("throughput") => strategy
            .get("max_concurrency")
            .map(|most| most.number(1.0, 1e9))
            .transpose()?
            .map(|most| most as u32),
        _ => None,
    };
    Ok(most.filter(|&most| (most as usize) < requests).map_or(Sending::Times, Sending::InFlight))
}
