//! LLMServingSim's recording of a vLLM server (`python -m bench`, bench/core/recorder.py): `requests.jsonl`, one request a
//! line with the times of vLLM's own clock, and beside it `meta.json` with the engine's arguments and, in newer versions, its KV
//! blocks.

use serde_json::Value as Json;
use servescope_settings::file_kind::Tool;
use servescope_settings::profiles::NamedText;

use super::ReadError;
use super::json::{JsonField, document};
use super::lines::{RequestLine, RequestLines, lines};
use crate::overlay::measured::{MeasuredRequest, MeasuredRun, Sending};

/// Reads the lines, and `meta.json`.
pub(super) fn read(text: &str, meta: Option<NamedText>) -> Result<MeasuredRun, ReadError> {
    let RequestLines { requests, notes, .. } =
        lines(text, |line, place| request(line, place).map(RequestLine::of))?;
    let reported = match meta {
        None => Vec::new(),
        Some(meta) => reported(&document(meta.text).map_err(|error| error.within(meta.name))?),
    };
    Ok(MeasuredRun {
        tool: Tool::ServingSimBench,
        requests,
        sending: Sending::Times,
        reported,
        notes,
        ..MeasuredRun::default()
    })
}

/// A request; none of one that has no last token.
fn request(line: &JsonField, place: usize) -> Result<Option<MeasuredRequest>, ReadError> {
    let time = |key: &str| line.get(key).map(|t| t.number(0.0, 1e12)).transpose();
    let queued = line.need("queued_ts")?.number(0.0, 1e12)?;
    let (Some(first), Some(last)) = (time("first_token_ts")?, time("last_token_ts")?) else {
        return Ok(None);
    };
    let output_tokens = line.need("output_toks")?.tokens()?;
    if output_tokens == 0 {
        return Ok(None);
    }
    for (key, value, low) in [("first_token_ts", first, queued), ("last_token_ts", last, first)] {
        if value < low {
            return Err(ReadError::new(key, format!("{value} is before {low}, the event before it")));
        }
    }
    Ok(Some(MeasuredRequest {
        name: line.get("request_id").map_or(Ok(place.to_string()), |id| id.text().map(str::to_owned))?,
        sent_s: queued,
        input_tokens: line.need("input_toks")?.tokens()?,
        output_tokens,
        ttft_s: Some(first - queued),
        e2e_s: Some(last - queued),
        gaps_s: Vec::new(),
    }))
}

/// Settings of the server in `meta.json`.
fn reported(json: &Json) -> Vec<(String, String)> {
    let root = JsonField::root(json);
    let mut reported = Vec::new();
    let mut take = |field: Option<JsonField>, keys: &[&str]| {
        let Some(field) = field else { return };
        reported.extend(keys.iter().filter_map(|key| Some(((*key).to_owned(), field.get(key)?.setting()?))));
    };
    take(Some(root.clone()), &["model", "vllm_version"]);
    let engine =
        ["tensor_parallel_size", "max_num_seqs", "max_num_batched_tokens", "max_model_len", "kv_cache_dtype"];
    take(root.get("engine_kwargs"), &engine);
    let cache = ["num_gpu_blocks", "block_size", "gpu_memory_utilization", "enable_prefix_caching"];
    take(root.get("kv_cache"), &cache);
    take(root.get("hardware"), &["device_name"]);
    reported
}
