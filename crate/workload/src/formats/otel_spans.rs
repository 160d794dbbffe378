//! Spans of OpenTelemetry with the token counts of its semantic conventions for generative AI (`gen_ai.usage.input_tokens`,
//! `gen_ai.usage.output_tokens`), and under the names that OpenLLMetry and OpenInference have for them: a trace with its `spans`, a
//! span a line or a list of them, or OTLP in JSON (`resourceSpans`).
//!
//! A span with token counts is a request, and a trace of spans a session. Spans without them, and those of agents and tools, which
//! repeat what the calls inside them used, are no requests.

use super::json::{Json, Line, Lines, bad};
use super::log::{Entry, Log};
use super::time::{TICKS_PER_US, parse_time, span_error};
use super::{Contents, FormatError, MAX_ARRIVAL_S, MAX_TOKENS};

/// Keys of which an entry has one: of OTLP, of a trace, of a span.
pub(super) const KEYS: [&str; 3] = ["resourceSpans", "spans", "attributes"];
/// Names of a span's times, as texts or as nanoseconds since 1970.
const STARTS: [&str; 4] = ["start_time", "startTime", "startTimeUnixNano", "start_time_unix_nano"];
const ENDS: [&str; 4] = ["end_time", "endTime", "endTimeUnixNano", "end_time_unix_nano"];
const INPUTS: [&str; 4] = [
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.prompt_tokens",
    "llm.usage.prompt_tokens",
    "llm.token_count.prompt",
];
const OUTPUTS: [&str; 4] = [
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.completion_tokens",
    "llm.usage.completion_tokens",
    "llm.token_count.completion",
];
const MODELS: [&str; 3] = ["gen_ai.request.model", "gen_ai.response.model", "llm.model_name"];
const SESSIONS: [&str; 2] = ["gen_ai.conversation.id", "session.id"];
/// Operations that are no call of a model.
const NO_CALLS: [&str; 4] = ["invoke_agent", "create_agent", "execute_tool", "embeddings"];

/// Whether an entry with these keys is one of such a file.
pub(super) fn fits(has: &dyn Fn(&str) -> bool) -> bool {
    has(KEYS[0]) || has(KEYS[1]) || (has(KEYS[2]) && STARTS.into_iter().any(has))
}

#[derive(Default)]
struct Spans {
    log: Log,
    ticks: Vec<i64>,
    others: usize,
}

pub(super) fn read<'a>(first: Line<'a>, lines: &mut Lines<'a>) -> Result<Contents, FormatError> {
    let mut spans = Spans::default();
    lines.each(first, |line| {
        // What a bad entry holds is read before any of it is kept.
        let mut found = Vec::new();
        let others = collect(line, &mut found)?;
        for (row, span) in found {
            spans.log.push(row, span.entry())?;
            spans.ticks.push(span.start);
        }
        spans.others += others;
        Ok(())
    })?;
    let mut requests = spans.log.finish();
    let start = spans.ticks.iter().copied().min().unwrap_or(0);
    for (arrival_us, tick) in requests.arrival_us.iter_mut().zip(&spans.ticks) {
        *arrival_us = (tick - start) as f64 / TICKS_PER_US;
    }
    if requests.arrival_us.iter().any(|&at| at > MAX_ARRIVAL_S * 1e6) {
        return Err(span_error("start_time"));
    }
    Ok(Contents::Requests { requests, start_ticks: Some(start), empty_entries: spans.others })
}

/// A call of a model.
struct Call {
    start: i64,
    end: Option<i64>,
    input_tokens: u32,
    output_tokens: u32,
    session: Option<String>,
    model: Option<String>,
}

impl Call {
    fn entry(&self) -> Entry<'_> {
        let took = self.end.map(|end| (end - self.start) as f64 / TICKS_PER_US / 1e6);
        Entry {
            input_tokens: self.input_tokens,
            output_tokens: Some(self.output_tokens),
            session: self.session.as_deref(),
            model: self.model.as_deref(),
            recorded_latency_s: took.filter(|took| *took >= 0.0),
            ..Entry::default()
        }
    }
}

/// The calls of an entry of any form; returns how many of its spans are none.
fn collect(mut line: Line<'_>, found: &mut Vec<(u64, Call)>) -> Result<usize, FormatError> {
    for inner in ["resourceSpans", "scopeSpans", "spans"] {
        if line.get(inner).is_some() {
            return line.inside(inner)?.into_iter().map(|part| collect(part, found)).sum();
        }
    }
    let Some(call) = call(&line)? else { return Ok(1) };
    found.push((line.row, call));
    Ok(0)
}

/// The call of a span; none of a span without token counts.
fn call(line: &Line<'_>) -> Result<Option<Call>, FormatError> {
    let attribute = |names: &[&str]| names.iter().find_map(|name| attribute(line.get("attributes")?, name));
    let text = |names: &[&str]| match attribute(names) {
        Some(Json::Text(text)) => Some(text.to_string()),
        Some(Json::Number(number)) => Some((*number).to_owned()),
        _ => None,
    };
    let is_call = text(&["gen_ai.operation.name"]).is_none_or(|name| !NO_CALLS.contains(&name.as_str()));
    let (Some(input), Some(output)) = (attribute(&INPUTS), attribute(&OUTPUTS)) else { return Ok(None) };
    if !is_call {
        return Ok(None);
    }
    let key = |keys: [&'static str; 4]| keys.into_iter().find(|key| line.get(key).is_some());
    let start = key(STARTS).ok_or_else(|| line.bad(STARTS[0], "the time at which the span began"))?;
    let trace = ["trace_id", "traceId"].into_iter().find_map(|key| line.get(key)?.as_text());
    Ok(Some(Call {
        start: ticks(line, start)?,
        end: key(ENDS).map(|end| ticks(line, end)).transpose()?,
        input_tokens: tokens(line.row, INPUTS[0], input)?,
        output_tokens: tokens(line.row, OUTPUTS[0], output)?,
        session: text(&SESSIONS).or_else(|| trace.map(str::to_owned)),
        model: text(&MODELS),
    }))
}

/// The value of an attribute: of an object, keys with dots or objects in each other, or of OTLP's list of keys and values.
fn attribute<'a, 'b>(attributes: &'b Json<'a>, name: &str) -> Option<&'b Json<'a>> {
    if let Json::List(entries) = attributes {
        let entry = entries.iter().find(|entry| entry.get("key").and_then(Json::as_text) == Some(name))?;
        let value = entry.get("value")?;
        let kinds = ["intValue", "stringValue", "doubleValue", "int_value", "string_value"];
        return kinds.into_iter().find_map(|kind| value.get(kind)).or(Some(value));
    }
    attributes.at_path(name).filter(|value| **value != Json::Null)
}

/// A number of tokens, which OTLP writes as text.
fn tokens(row: u64, name: &str, value: &Json<'_>) -> Result<u32, FormatError> {
    let text = match value {
        Json::Number(text) => text,
        Json::Text(text) => text.as_ref(),
        _ => return Err(bad(row, name, "a whole number", value)),
    };
    let number: f64 = text.parse().map_err(|_| bad(row, name, "a whole number", value))?;
    if number != number.trunc() {
        return Err(bad(row, name, "a whole number", value));
    }
    if (0.0..=f64::from(MAX_TOKENS)).contains(&number) {
        return Ok(number as u32);
    }
    let value = super::table::shorten(text, 40);
    Err(FormatError::OutOfRange { row, column: name.to_owned(), value, min: 0.0, max: MAX_TOKENS.into() })
}

/// A time as ticks of 100 ns since 1970: a date, or nanoseconds as a number or a text.
fn ticks(line: &Line<'_>, key: &str) -> Result<i64, FormatError> {
    let text = match line.get(key) {
        Some(Json::Text(text)) => text.as_ref(),
        Some(Json::Number(number)) => number,
        _ => return Err(line.bad(key, "a date and time, or nanoseconds since 1970")),
    };
    let of_nanoseconds = || text.parse::<i64>().ok().filter(|&at| at >= 0).map(|at| at / 100);
    parse_time(text)
        .or_else(of_nanoseconds)
        .ok_or_else(|| line.bad(key, "a date and time, or nanoseconds since 1970"))
}

#[cfg(test)]
mod tests {
    use crate::formats::{Format, FormatError, ReadTrace, read};

    fn spans(text: &str) -> ReadTrace {
        let read = read(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(read.format, Format::OtelSpans);
        read
    }

    const SPAN: &str = r#"{"trace_id": "t", "name": "chat", "start_time": "2026-02-25T10:00:03Z", "end_time": "2026-02-25T10:00:05.5Z",
        "attributes": {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 180, "gen_ai.usage.output_tokens": 60}}"#;

    #[test]
    fn a_trace_a_list_and_lines_of_spans_are_the_same() {
        let earlier = SPAN.replace("10:00:03Z", "12:00:01+02:00").replace("180", "120");
        let agent = SPAN.replace("\"chat\", \"gen_ai.request", "\"invoke_agent\", \"gen_ai.request");
        let other = r#"{"name": "GET /", "start_time": "2026-02-25T09:00:00Z", "attributes": {"http.method": "GET"}}"#;
        let forms = [
            format!(
                "{{\"trace_id\": \"t\", \"span_count\": 4,\n\"spans\": [\n{SPAN},\n{earlier}, {agent}, {other}]\n}}"
            ),
            format!("[{SPAN}, {earlier},\n{agent}, {other}]"),
            format!("{SPAN}\n{earlier}\n{agent}\n{other}\n"),
            [SPAN, &earlier, &agent, other].map(|span| span.replace('\n', " ")).join("\n"),
        ];
        for text in forms {
            let read = spans(&text);
            assert_eq!(read.trace.arrival_us, [0.0, 2e6], "{text}");
            assert_eq!(
                (&read.trace.input_tokens[..], &read.trace.output_tokens[..]),
                (&[120, 180][..], &[60, 60][..])
            );
            assert_eq!(read.empty_entries, 2);
            let metadata = read.trace.metadata.expect("sessions");
            assert_eq!((metadata.session.name(0), metadata.model.name(1)), (Some("t"), Some("m")));
            assert_eq!(metadata.recorded_latency_s, [4.5, 2.5]);
        }
    }

    #[test]
    fn otlp_in_json_is_read() {
        let text = r#"{"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": [
            {"traceId": "a", "startTimeUnixNano": "1740477600000000100", "endTimeUnixNano": "1740477601000000100",
             "attributes": [{"key": "gen_ai.usage.input_tokens", "value": {"intValue": "120"}}, {"key": "gen_ai.usage.output_tokens", "value": {"intValue": 7}}]},
            {"traceId": "a", "startTimeUnixNano": "1740477600500000100", "attributes": [
             {"key": "llm.token_count.prompt", "value": {"intValue": "9"}}, {"key": "llm.token_count.completion", "value": {"intValue": "8"}}]}]}]}]}"#;
        let read = spans(text);
        assert_eq!(read.trace.arrival_us, [0.0, 5e5]);
        assert_eq!(
            (&read.trace.input_tokens[..], &read.trace.output_tokens[..]),
            (&[120, 9][..], &[7, 8][..])
        );
    }

    #[test]
    fn bad_spans_are_errors_with_their_place() {
        let bad = SPAN.replace("180", "-3");
        assert!(matches!(read(bad.as_bytes()), Err(FormatError::OutOfRange { row: 1, .. })));
        let late = SPAN.replace("2026-02-25T10:00:03Z", "yesterday");
        assert!(
            matches!(read(late.as_bytes()), Err(FormatError::BadCell { column, .. }) if column == "start_time")
        );
        let none = r#"{"name": "GET /", "start_time": "2026-02-25T09:00:00Z", "attributes": {}}"#;
        assert_eq!(read(none.as_bytes()), Err(FormatError::NoRows));
    }
}
