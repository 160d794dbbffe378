//! AIBrix's workload file (github.com/vllm-project/aibrix, benchmark generator): one object a time stamp, `{"timestamp":
//! ms, "requests": [{"prompt", "prompt_length", "output_length", "session_id"?}]}`. Older files say `Prompt Length` and
//! `Output Length`; a length of the output may be missing, null or NaN where it is unknown, and a line may have no request.
//! A length that the reader assumed for an unknown one is written as null again.
//!
//! Lines of agent workloads have `events` beside: tool calls, retries, joins and waits. Each is bound to the last request
//! of its session before it, and goes where that request goes. What the `agent` of a request says is kept as it is.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::json::{Json, Line, Lines, is_json_number, push_ids, push_string};
use super::log::{Entry, Log};
use super::mooncake::BLOCK_TOKENS;
use super::{Contents, FormatError};
use crate::aibrix::agent::SCHEMA_VERSION;
use crate::trace::{Events, Trace, TraceEvent, TraceMetadata};

pub(super) const KEYS: [&str; 2] = ["timestamp", "requests"];

#[derive(Default)]
struct LineReader {
    log: Log,
    empty_entries: usize,
    details: Vec<String>,
    /// Events with their own time as the delay, since the first ones may come before any request.
    events: Vec<TraceEvent>,
    /// Arrival of every request so far.
    arrival_us: Vec<f64>,
    /// Last request of each session.
    last_of: BTreeMap<String, u32>,
    /// Whether some session's name is a number, and whether some text looks like one.
    numbers: bool,
    texts_like_numbers: bool,
}

pub(super) fn read<'a>(first: Line<'a>, lines: &mut Lines<'a>) -> Result<Contents, FormatError> {
    let mut reader = LineReader { log: Log::new(BLOCK_TOKENS), ..LineReader::default() };
    lines.each(first, |line| reader.line(line))?;
    let mut requests = reader.log.finish();
    let mut metadata = requests.metadata.take().map_or_else(TraceMetadata::default, |metadata| *metadata);
    metadata.details = reader.details;
    metadata.numbered_sessions = reader.numbers && !reader.texts_like_numbers;
    let mut events = reader.events;
    for event in &mut events {
        event.delay_us -= reader.arrival_us.get(event.request as usize).copied().unwrap_or(0.0);
    }
    metadata.events = Events::new(events);
    if !requests.is_empty() {
        requests.set_metadata(metadata);
    }
    Ok(Contents::Requests { requests, start_ticks: None, empty_entries: reader.empty_entries })
}

impl LineReader {
    fn line(&mut self, mut line: Line<'_>) -> Result<(), FormatError> {
        let arrival_us = line.time_us("timestamp", 3)?;
        let events = if line.get("events").is_some() { line.inside("events")? } else { Vec::new() };
        for event in &events {
            event.name("session_id")?;
        }
        let requests = line.inside("requests")?;
        let entries: Vec<Entry<'_>> =
            requests.iter().map(|request| entry(request, arrival_us)).collect::<Result<_, _>>()?;
        self.empty_entries += usize::from(entries.is_empty() && events.is_empty());
        for (entry, request) in entries.into_iter().zip(&requests) {
            match request.get("session_id") {
                Some(Json::Number(_)) => self.numbers = true,
                Some(Json::Text(text)) if is_json_number(text) => self.texts_like_numbers = true,
                _ => (),
            }
            if let Some(session) = entry.session {
                self.last_of.insert(session.to_owned(), self.log.len() as u32);
            }
            self.log.push(line.row, entry)?;
            self.arrival_us.push(arrival_us);
            self.details.push(request.get("agent").map_or_else(String::new, Json::to_text));
        }
        for event in events {
            let of_session = event.name("session_id")?.and_then(|session| self.last_of.get(session));
            let request = of_session.copied().unwrap_or((self.log.len() as u32).saturating_sub(1));
            self.events.push(TraceEvent {
                request,
                delay_us: arrival_us,
                place: self.events.len() as u32,
                json: event.object.to_text(),
            });
        }
        Ok(())
    }
}

fn entry<'a>(request: &'a Line<'_>, arrival_us: f64) -> Result<Entry<'a>, FormatError> {
    let key = |new: &'static str, old: &'static str| if request.has(old) { old } else { new };
    let output = key("output_length", "Output Length");
    Ok(Entry {
        arrival_us,
        input_tokens: request.tokens(key("prompt_length", "Prompt Length"))?,
        output_tokens: request.get(output).map(|_| request.tokens(output)).transpose()?,
        session: request.name("session_id")?,
        model: request.name("model")?,
        hash_ids: request.ids("hash_ids")?,
        ..Entry::default()
    })
}

/// Times are cut to whole milliseconds, as AIBrix cuts them; prompts are left empty, since a trace has none.
pub(super) fn write(trace: &Trace) -> String {
    let nothing = TraceMetadata::default();
    let metadata = trace.metadata.as_deref().unwrap_or(&nothing);
    let is_agent = !metadata.details.is_empty() || !metadata.events.is_empty();
    let stamp = |us: f64| (us.max(0.0) / 1e3) as u64;
    let at = |event: &TraceEvent| stamp(trace.arrival_us[event.request as usize] + event.delay_us);
    let mut events: Vec<(u64, &TraceEvent)> =
        metadata.events.all().iter().map(|event| (at(event), event)).collect();
    events.sort_by_key(|(ms, event)| (*ms, event.place));
    let mut events = events.into_iter().peekable();
    let mut text = String::with_capacity(trace.len() * 96);
    let mut id = 0;
    loop {
        let request_ms = trace.arrival_us.get(id).map(|&us| stamp(us));
        let event_ms = events.peek().map(|(ms, _)| *ms);
        let Some(ms) = request_ms.into_iter().chain(event_ms).min() else { return text };
        text.push('{');
        if is_agent {
            let _ = write!(text, "\"schema_version\": \"{SCHEMA_VERSION}\", ");
        }
        let _ = write!(text, "\"timestamp\": {ms}, \"requests\": [");
        let first = id;
        while trace.arrival_us.get(id).is_some_and(|&us| stamp(us) == ms) {
            text.push_str(if id == first { "" } else { ", " });
            let session = metadata.session.name(id);
            let numbered = metadata.numbered_sessions;
            let sent = SentFields { prompt: "", prompt_tokens: trace.input_tokens[id], session, numbered };
            push_request(&mut text, trace, id, sent);
            id += 1;
        }
        text.push(']');
        if is_agent {
            text.push_str(", \"events\": [");
            let mut mark = "";
            while let Some((_, event)) = events.next_if(|(at, _)| *at == ms) {
                text.push_str(mark);
                text.push_str(&event.json);
                mark = ", ";
            }
            text.push(']');
        }
        text.push_str("}\n");
    }
}

/// The end of a line.
pub(crate) const END: &str = "]}\n";

/// What a request's entry says beside the trace's columns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SentFields<'a> {
    pub(crate) prompt: &'a str,
    pub(crate) prompt_tokens: u32,
    pub(crate) session: Option<&'a str>,
    /// Whether a session's name that is a number is written as one.
    pub(crate) numbered: bool,
}

/// Begins the entry of request `id`: a line of its own, or one more in the line of time stamp `before`. Returns the
/// line's time stamp, milliseconds.
pub(crate) fn begin(text: &mut String, before: Option<u64>, trace: &Trace, id: usize) -> u64 {
    let stamp = (trace.arrival_us[id] / 1e3) as u64;
    if before == Some(stamp) {
        text.push_str(", ");
    } else {
        text.push_str(before.map_or("", |_| END));
        let _ = write!(text, "{{\"timestamp\": {stamp}, \"requests\": [");
    }
    stamp
}

/// Appends the entry of request `id`.
pub(crate) fn push_request(text: &mut String, trace: &Trace, id: usize, sent: SentFields<'_>) {
    text.push_str("{\"prompt\": ");
    push_string(text, sent.prompt);
    let _ = write!(text, ", \"prompt_length\": {}, \"output_length\": ", sent.prompt_tokens);
    if trace.metadata.as_ref().is_some_and(|metadata| metadata.is_output_assumed(id)) {
        text.push_str("null");
    } else {
        let _ = write!(text, "{}", trace.output_tokens[id]);
    }
    let model = trace.metadata.as_ref().and_then(|metadata| metadata.model.name(id));
    for (key, name, numbered) in [("session_id", sent.session, sent.numbered), ("model", model, false)] {
        match name {
            Some(name) if numbered && is_json_number(name) => {
                let _ = write!(text, ", \"{key}\": {name}");
            }
            Some(name) => {
                let _ = write!(text, ", \"{key}\": ");
                push_string(text, name);
            }
            None => (),
        }
    }
    // A key of our own: the prefix blocks of a Mooncake trace, which AIBrix turns into text and forgets.
    let prefix = trace.metadata.as_ref().map(|metadata| &metadata.prefix);
    if let Some(prefix) =
        prefix.filter(|prefix| prefix.block_tokens == BLOCK_TOKENS && !prefix.of(id).is_empty())
    {
        push_ids(text, "hash_ids", prefix.of(id));
    }
    let detail = trace.metadata.as_ref().and_then(|metadata| metadata.details.get(id));
    if let Some(detail) = detail.filter(|detail| !detail.is_empty()) {
        text.push_str(", \"agent\": ");
        text.push_str(detail);
    }
    text.push('}');
}

#[cfg(test)]
mod tests {
    use crate::formats::{Format, read, write};
    use crate::transform::{TransformStep, apply};

    const AGENT: &str = concat!(
        r#"{"schema_version": "aibrix.agent-session.v1", "timestamp": 0, "requests": [{"prompt": "", "prompt_length": 9, "output_length": 6, "session_id": "a", "agent": {"node_id": "n", "parent_ids": [], "turn": 0}}], "events": []}"#,
        "\n",
        r#"{"schema_version": "aibrix.agent-session.v1", "timestamp": 6, "requests": [], "events": [{"session_id": "a", "node_type": "tool", "duration_ms": 20}, {"session_id": "a", "node_type": "tool", "duration_ms": 18}]}"#,
        "\n",
        r#"{"schema_version": "aibrix.agent-session.v1", "timestamp": 26, "requests": [{"prompt": "", "prompt_length": 9, "output_length": 6, "session_id": "b"}], "events": [{"session_id": "a", "node_type": "join"}]}"#,
        "\n",
    );

    #[test]
    fn events_are_kept() {
        let trace = read(AGENT.as_bytes()).unwrap().trace;
        assert_eq!(trace.len(), 2);
        assert_eq!(write(&trace, Format::Aibrix).unwrap(), AGENT);
    }

    #[test]
    fn sessions_that_are_numbers_stay_numbers_and_blocks_stay() {
        let line = |session: &str, ids: &str| {
            format!(
                "{{\"timestamp\": 0, \"requests\": [{{\"prompt\": \"\", \"prompt_length\": 9, \"output_length\": 6, \"session_id\": {session}{ids}}}]}}\n"
            )
        };
        for text in
            [line("7", ""), line("\"7\"", ""), line("\"s\"", ", \"hash_ids\": [4, 5]"), line("-1.5", "")]
        {
            assert_eq!(write(&read(text.as_bytes()).unwrap().trace, Format::Aibrix).unwrap(), text);
        }
        let mooncake =
            write(&read(line("7", ", \"hash_ids\": [4, 5]").as_bytes()).unwrap().trace, Format::Mooncake);
        assert!(mooncake.unwrap().contains("\"hash_ids\": [4, 5]"));
    }

    #[test]
    fn events_go_where_their_requests_go() {
        let after = |steps: &[&str]| {
            let steps: Vec<TransformStep> =
                steps.iter().map(|text| TransformStep::parse(text).unwrap()).collect();
            let (trace, _) = apply(&steps, read(AGENT.as_bytes()).unwrap().trace).unwrap();
            write(&trace, Format::Aibrix).unwrap()
        };
        let later = after(&["stretch:factor=2", "shift:by_s=0.1"]);
        let stamps: Vec<&str> =
            later.split("\"timestamp\": ").skip(1).map(|l| l.split(',').next().unwrap()).collect();
        assert_eq!(stamps, ["100", "112", "152"]);
        assert_eq!(after(&["window:end_s=0.01"]).matches("node_type").count(), 3);
        assert_eq!(after(&["window:start_s=0.01"]).matches("node_type").count(), 0);
        let file = || ("f".to_owned(), read(AGENT.as_bytes()).unwrap().trace);
        let (merged, _) =
            crate::transform::join(&TransformStep::new("merge").unwrap(), vec![file(), file()]).unwrap();
        assert_eq!(write(&merged, Format::Aibrix).unwrap().matches("node_type").count(), 6);
    }
}
