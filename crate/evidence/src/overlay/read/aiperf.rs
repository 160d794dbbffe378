//! AIPerf's `profile_export.jsonl` (github.com/ai-dynamo/aiperf): one request a line, `metadata` with the times of the client's
//! clock in nanoseconds and `metrics` with a value and a unit each; beside it `profile_export_aiperf.json` with the settings
//! of the run, which has the name of the export before `_aiperf.json`. `servescope replay` writes the same form, with what the
//! server stored under `servescope.server`.

use serde_json::Value as Json;
use servescope_settings::file_kind::Tool;
use servescope_settings::profiles::NamedText;

use super::ReadError;
use super::json::{JsonField, document};
use super::lines::{RequestLine, RequestLines, lines};
use crate::overlay::measured::{MeasuredRequest, MeasuredRun, Sending};

/// Reads the lines, and the settings.
pub(super) fn read(text: &str, settings: Option<NamedText>) -> Result<MeasuredRun, ReadError> {
    let RequestLines { requests, lines, notes } = lines(text, |line, _| {
        if is_warm_up(line) { Ok(RequestLine::LeftOut) } else { request(line).map(RequestLine::of) }
    })?;
    let (reported, sending) = match settings {
        None => (Vec::new(), Sending::Times),
        Some(file) => {
            let json = document(file.text).map_err(|error| error.within(file.name))?;
            (reported(&json), sending(&json, lines).map_err(|error| error.within(file.name))?)
        }
    };
    Ok(MeasuredRun { tool: Tool::AiPerf, requests, sending, reported, notes, ..MeasuredRun::default() })
}

fn is_warm_up(line: &JsonField) -> bool {
    let phase = line.get("metadata").and_then(|metadata| metadata.get("benchmark_phase"));
    phase.is_some_and(|phase| phase.json == "warmup")
}

/// A metric with its unit as seconds.
pub(super) fn unit_s(metric: &JsonField) -> Result<f64, ReadError> {
    let unit = metric.need("unit")?;
    match unit.text()? {
        "ns" | "nanoseconds" => Ok(1e-9),
        "us" => Ok(1e-6),
        "ms" | "milliseconds" => Ok(1e-3),
        "s" | "sec" | "seconds" => Ok(1.0),
        _ => Err(unit.bad("one of ns, us, ms, s")),
    }
}

/// A request; none of one that failed or was cancelled.
fn request(line: &JsonField) -> Result<Option<MeasuredRequest>, ReadError> {
    let metadata = line.need("metadata")?;
    let metrics = line.need("metrics")?;
    let is_cancelled = metadata.get("was_cancelled").is_some_and(|flag| flag.json == true);
    let Some(output) =
        metrics.get("output_sequence_length").filter(|_| !is_cancelled && line.get("error").is_none())
    else {
        return Ok(None);
    };
    let output_tokens = output.need("value")?.tokens()?;
    if output_tokens == 0 {
        return Ok(None);
    }
    let time = |key: &str| {
        let Some(metric) = metrics.get(key) else { return Ok(None) };
        metric.need("value")?.seconds(unit_s(&metric)?).map(Some)
    };
    let gaps_s = match metrics.get("inter_chunk_latency") {
        Some(metric) => metric.need("value")?.times(unit_s(&metric)?)?,
        None => Vec::new(),
    };
    let name = metadata.get("x_request_id").and_then(|id| id.setting()).unwrap_or_default();
    Ok(Some(MeasuredRequest {
        name,
        sent_s: metadata.need("request_start_ns")?.number(0.0, 1e20)? * 1e-9,
        input_tokens: metrics.need("input_sequence_length")?.need("value")?.tokens()?,
        output_tokens,
        ttft_s: time("time_to_first_token")?,
        e2e_s: time("request_latency")?,
        gaps_s,
    }))
}

/// The phase that is measured.
fn phase(json: &Json) -> Option<&Json> {
    let phases = json.pointer("/input_config/phases")?.as_array()?;
    phases.iter().find(|phase| phase.get("kind").is_none_or(|kind| kind == "profiling"))
}

/// A phase of the type `concurrency`, and one of older versions without a rate, keeps this many requests in flight.
fn sending(json: &Json, requests: usize) -> Result<Sending, ReadError> {
    let old = || {
        json.pointer("/input_config/loadgen")
            .filter(|loadgen| loadgen.get("request_rate").is_none_or(Json::is_null))
    };
    let new = || phase(json).filter(|phase| phase.get("type").is_some_and(|kind| kind == "concurrency"));
    let Some(load) = new().or_else(old) else { return Ok(Sending::Times) };
    let Some(most) = JsonField::root(load).get("concurrency") else { return Ok(Sending::Times) };
    let most = most.number(1.0, 1e9)? as u32;
    Ok(if (most as usize) < requests { Sending::InFlight(most) } else { Sending::Times })
}

pub(super) fn reported(json: &Json) -> Vec<(String, String)> {
    let server = json.pointer("/servescope/server").map(JsonField::root);
    let of_server = server.iter().flat_map(|server| server.json.as_object().into_iter().flatten());
    let mut reported: Vec<(String, String)> =
        of_server.filter_map(|(key, value)| Some((key.clone(), JsonField::root(value).setting()?))).collect();
    if !reported.iter().any(|(key, _)| key == "model") {
        let places = [
            "models/items/0/name",
            "endpoint/model_names/0",
            "model_names/0",
            "model/0",
            "model",
            "formatted_model_name",
        ];
        let model = places.iter().find_map(|place| {
            json.pointer(&format!("/input_config/{place}")).filter(|model| model.is_string())
        });
        reported.extend(model.and_then(Json::as_str).map(|name| ("model".to_owned(), name.to_owned())));
    }
    reported
}
