//! inference-perf's requests (github.com/kubernetes-sigs/inference-perf, `per_request_lifecycle_metrics.json`): one array with, of each
//! request, `start_time` and `end_time` on a clock of the client (s), the bodies that were sent and received, and in `info` what was
//! counted. Versions of 2025 have the counts directly in `info`.

use super::json::{Json, Line, Lines, bad, whole};
use super::log::{Entry, Log};
use super::time::span_error;
use super::{FormatError, MAX_ARRIVAL_S, MAX_TOKENS};
use crate::trace::Trace;

pub(super) const KEYS: [&str; 4] = ["start_time", "end_time", "request", "info"];

/// Where the lengths stand, what the server counted before what the client did.
const INPUTS: [&str; 2] = ["info.request_metrics.text.input_tokens", "info.input_tokens"];
const OUTPUTS: [&str; 4] = [
    "info.response_metrics.server_usage.completion_tokens",
    "info.response_metrics.output_tokens",
    "info.server_usage.completion_tokens",
    "info.output_tokens",
];

pub(super) fn read<'a>(first: Line<'a>, lines: &mut Lines<'a>) -> Result<Trace, FormatError> {
    let (mut log, mut starts) = (Log::default(), Vec::new());
    lines.each(first, |line| {
        let (start_s, end_s) = (line.number("start_time")?, line.number("end_time")?);
        if end_s < start_s {
            return Err(line.bad("end_time", "a time from start_time on"));
        }
        let is_answered = line.get("error").is_none();
        let output_tokens = if is_answered { tokens(&line, &OUTPUTS)? } else { 0 };
        let entry = Entry {
            input_tokens: tokens(&line, &INPUTS)?,
            output_tokens: Some(output_tokens),
            model: line.at_path("info.lora_adapter").and_then(Json::as_text),
            recorded_latency_s: is_answered.then_some(end_s - start_s),
            ..Entry::default()
        };
        log.push(line.row, entry)?;
        starts.push(start_s);
        Ok(())
    })?;
    let mut requests = log.finish();
    let origin_s = starts.iter().copied().fold(f64::INFINITY, f64::min);
    requests.arrival_us = starts.into_iter().map(|start_s| (start_s - origin_s) * 1e6).collect();
    if requests.arrival_us.iter().any(|&at| at > MAX_ARRIVAL_S * 1e6) {
        return Err(span_error("start_time"));
    }
    Ok(requests)
}

/// The number of tokens at the first of `paths` that is there; 0 where none is, as of a request that failed.
fn tokens(line: &Line<'_>, paths: &[&str]) -> Result<u32, FormatError> {
    let there = paths.iter().find_map(|path| Some((path, line.at_path(path)?)));
    match there.filter(|(_, value)| **value != Json::Null) {
        None => Ok(0),
        Some((path, value @ Json::Number(_))) => {
            whole(line.row, path, value, 0, MAX_TOKENS.into()).map(|tokens| tokens as u32)
        }
        Some((path, value)) => Err(bad(line.row, path, "a whole number", value)),
    }
}

#[cfg(test)]
mod tests {
    use crate::formats::{Format, FormatError, read};

    const REQUESTS: &str = r#"[
  {"start_time": 8000.75, "end_time": 8002.0, "request": "{\"model\": \"m\"}", "response": "", "error": null,
   "info": {"request_metrics": {"text": {"input_tokens": 20}}, "input_tokens": 20, "lora_adapter": "sql",
            "response_metrics": {"output_tokens": 5, "server_usage": {"completion_tokens": 6}, "output_token_times": [8001.0, 8002.0]}}},
  {"start_time": 8000.25, "end_time": 8001.5, "request": "{}", "response": null, "error": null,
   "info": {"input_tokens": 10, "output_tokens": 5, "output_token_times": []}},
  {"start_time": 8000.5, "end_time": 8000.5, "request": "{}", "response": null, "info": {"input_tokens": 0},
   "error": {"error_type": "TimeoutError", "error_msg": "late"}}
]"#;

    #[test]
    fn both_places_of_the_counts_are_read_and_times_begin_with_the_first_request() {
        let read = read(REQUESTS.as_bytes()).expect("requests");
        assert_eq!((read.format, read.failed, read.reordered), (Format::InferencePerf, 1, true));
        let trace = read.trace;
        assert_eq!(trace.arrival_us, [0.0, 500_000.0]);
        assert_eq!((&trace.input_tokens[..], &trace.output_tokens[..]), (&[10, 20][..], &[5, 6][..]));
        let metadata = trace.metadata.expect("times");
        assert_eq!(metadata.recorded_latency_s, [1.25, 1.25]);
        assert_eq!(metadata.model.name(1), Some("sql"));
    }

    #[test]
    fn bad_requests_are_errors_with_their_place() {
        let refused = |from: &str, to: &str| read(REQUESTS.replace(from, to).as_bytes()).unwrap_err();
        assert!(
            matches!(refused("8002.0,", "1.0,"), FormatError::BadCell { row: 2, column, .. } if column == "end_time")
        );
        assert!(
            matches!(refused("\"output_tokens\": 5, \"output_token_times\"", "\"output_tokens\": -5, \"output_token_times\""), FormatError::OutOfRange { row: 5, column, .. } if column == "info.output_tokens")
        );
    }
}
