//! inference-perf's requests (github.com/kubernetes-sigs/inference-perf, `per_request_lifecycle_metrics.json`): one array, of each request
//! `start_time` and `end_time` on the client's clock (s), the bodies as texts, `error`, and in `info` the counts of tokens and the times
//! at which tokens came (`output_token_times`, of the same clock). Versions of 2025 have the counts directly in `info`.

use serde_json::Value as Json;
use servescope_settings::file_kind::Tool;

use super::json::{JsonField, documents};
use super::{ReadError, note_failed, room};
use crate::overlay::measured::{MeasuredRequest, MeasuredRun, Sending};

/// Latest time of the client's clock, seconds.
const MAX_CLOCK_S: f64 = 1e12;

/// Reads the requests.
pub(super) fn read(text: &str) -> Result<MeasuredRun, ReadError> {
    let entries = documents(text)?;
    let (mut requests, mut notes) = (Vec::new(), Vec::new());
    for (place, entry) in entries.iter().enumerate() {
        let place = format!("request {}", place + 1);
        room(&requests, &place)?;
        requests
            .extend(request(&JsonField::root(entry), requests.len()).map_err(|error| error.within(&place))?);
    }
    note_failed(&mut notes, entries.len() - requests.len(), entries.len());
    let reported = entries.iter().find_map(model).map(|model| ("model".to_owned(), model));
    Ok(MeasuredRun {
        tool: Tool::InferencePerfRequests,
        requests,
        sending: Sending::Times,
        reported: Vec::from_iter(reported),
        notes,
        ..MeasuredRun::default()
    })
}

/// A request; none of one that failed or has no output.
fn request(entry: &JsonField, place: usize) -> Result<Option<MeasuredRequest>, ReadError> {
    let time = |key: &str| entry.need(key)?.number(0.0, MAX_CLOCK_S);
    let (start_s, end_s) = (time("start_time")?, time("end_time")?);
    let Some(info) = entry.get("info").filter(|_| entry.get("error").is_none()) else { return Ok(None) };
    let sent = info.get("request_metrics").and_then(|metrics| metrics.get("text")).unwrap_or(info.clone());
    let answer = info.get("response_metrics").unwrap_or(info);
    // What the server counted is what it made; the client counts the text again.
    let counted = answer.get("server_usage").and_then(|usage| usage.get("completion_tokens"));
    let output_tokens = counted.or(answer.get("output_tokens")).map_or(Ok(0), |tokens| tokens.tokens())?;
    if output_tokens == 0 {
        return Ok(None);
    }
    let mut times_s = [start_s].to_vec();
    for key in ["output_token_times", "chunk_times"] {
        let Some(times) = answer.get(key).filter(|_| times_s.len() == 1) else { continue };
        for (place, json) in times.items()?.iter().enumerate() {
            times_s.push(times.item(json, place).number(0.0, MAX_CLOCK_S)?);
            in_order(times_s[place], times_s[place + 1], &times.item(json, place).place())?;
        }
    }
    in_order(times_s[times_s.len() - 1], end_s, "end_time")?;
    let gaps_s: Vec<f64> = times_s.windows(2).map(|pair| pair[1] - pair[0]).collect();
    Ok(Some(MeasuredRequest {
        name: place.to_string(),
        sent_s: start_s,
        input_tokens: sent.need("input_tokens")?.tokens()?,
        output_tokens,
        ttft_s: gaps_s.first().copied(),
        e2e_s: Some(end_s - start_s),
        gaps_s: gaps_s.get(1..).unwrap_or_default().to_vec(),
    }))
}

fn in_order(before: f64, after: f64, place: &str) -> Result<(), ReadError> {
    if after >= before {
        return Ok(());
    }
    Err(ReadError::new(place, format!("{after} is before {before}, the event before it")))
}

/// The model that the body of a request names.
fn model(entry: &Json) -> Option<String> {
    let body: Json = serde_json::from_str(entry.get("request")?.as_str()?).ok()?;
    body.get("model")?.as_str().map(str::to_owned)
}
