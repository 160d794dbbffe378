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
    let stamp = |id: usize| (trace.arrival_us[id] / 1e3) as u64;
    for id in 0..trace.len() {
        if id == 0 || stamp(id) != stamp(id - 1) {
            text.push_str(if id == 0 { "" } else { "]}\n" });
            let _ = write!(text, "{{\"timestamp\": {}, \"requests\": [", stamp(id));
        } else {
            text.push_str(", ");
        }
        let _ = write!(
            text,
            "{{\"prompt\": \"\", \"prompt_length\": {}, \"output_length\": {}",
            trace.input_tokens[id], trace.output_tokens[id]
        );
        let extra = trace.extra.as_deref();
        for (key, labels) in [("session_id", extra.map(|e| &e.session)), ("model", extra.map(|e| &e.model))] {
            if let Some(name) = labels.and_then(|l| l.name(id)) {
                let _ = write!(text, ", \"{key}\": ");
                push_string(&mut text, name);
            }
        }
        text.push('}');
    }
    text.push_str(if trace.is_empty() { "" } else { "]}\n" });
    text
}
