//! AIBrix's workload file (github.com/vllm-project/aibrix, benchmark generator): one object a time stamp, `{"timestamp":
//! ms, "requests": [{"prompt", "prompt_length", "output_length", "session_id"?}]}`. Older files say `Prompt Length` and
//! `Output Length`; a length of the output may be missing, null or NaN, and a line may have no request.

use std::fmt::Write as _;

use super::json::{Line, Lines, push_string};
use super::log::{Entry, Log};
use super::{Contents, FormatError};
use crate::trace::Trace;

pub(super) const KEYS: [&str; 2] = ["timestamp", "requests"];

pub(super) fn read<'a>(first: Line<'a>, lines: &mut Lines<'a>) -> Result<Contents, FormatError> {
    let mut log = Log::default();
    let mut empty_entries = 0;
    lines.each(first, |mut line| {
        let arrival_us = line.time_us("timestamp", 3)?;
        let requests = line.inside("requests")?;
        let entries = requests.iter().map(|request| {
            let key = |new: &'static str, old: &'static str| if request.has(old) { old } else { new };
            let output = key("output_length", "Output Length");
            Ok(Entry {
                arrival_us,
                input_tokens: request.tokens(key("prompt_length", "Prompt Length"))?,
                output_tokens: request.get(output).map_or(Ok(0), |_| request.tokens(output))?,
                session: request.name("session_id")?,
                model: request.name("model")?,
                ..Entry::default()
            })
        });
        let entries: Vec<Entry<'_>> = entries.collect::<Result<_, FormatError>>()?;
        empty_entries += usize::from(entries.is_empty());
        entries.into_iter().try_for_each(|entry| log.push(line.row, entry))
    })?;
    Ok(Contents::Requests { requests: log.finish(), start_ticks: None, empty_entries })
}

/// Times are cut to whole milliseconds, as AIBrix cuts them; prompts are left empty, since a trace has none.
pub(super) fn write(trace: &Trace) -> String {
    let mut text = String::with_capacity(trace.len() * 96);
    let mut before = None;
    for id in 0..trace.len() {
        before = Some(begin(&mut text, before, trace, id));
        let session = trace.extra.as_ref().and_then(|extra| extra.session.name(id));
        push_request(
            &mut text,
            trace,
            id,
            Sent { prompt: "", prompt_tokens: trace.input_tokens[id], session },
        );
    }
    text.push_str(if trace.is_empty() { "" } else { END });
    text
}

/// The end of a line.
pub(crate) const END: &str = "]}\n";

/// What a request's entry says beside the trace's columns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sent<'a> {
    pub(crate) prompt: &'a str,
    pub(crate) prompt_tokens: u32,
    pub(crate) session: Option<&'a str>,
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
pub(crate) fn push_request(text: &mut String, trace: &Trace, id: usize, sent: Sent<'_>) {
    text.push_str("{\"prompt\": ");
    push_string(text, sent.prompt);
    let (input, output) = (sent.prompt_tokens, trace.output_tokens[id]);
    let _ = write!(text, ", \"prompt_length\": {input}, \"output_length\": {output}");
    let model = trace.extra.as_ref().and_then(|extra| extra.model.name(id));
    for (key, name) in [("session_id", sent.session), ("model", model)] {
        if let Some(name) = name {
            let _ = write!(text, ", \"{key}\": ");
            push_string(text, name);
        }
    }
    text.push('}');
}
