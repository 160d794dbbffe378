//! BurstGPT (Wang et al., KDD 2025, github.com/HPMLL/BurstGPT), files 1 to 3: `Timestamp` (s), `Model`, `Request tokens`,
//! `Response tokens`, `Total tokens`, `Log Type`; the third adds `Session ID` and `Elapsed time` (s). A row with 0
//! response tokens is a request that failed.

use std::fmt::Write as _;

use super::FormatError;
use super::log::{Entry, Log};
use super::table::{Table, push_cell, seconds_text};
use crate::trace::{Trace, TraceMetadata};

pub(super) const COLUMNS: [&str; 4] = ["Timestamp", "Model", "Request tokens", "Response tokens"];

pub(super) fn read(table: &mut Table<'_>) -> Result<Trace, FormatError> {
    let [time, model, input, output] = table.named(COLUMNS).ok_or(FormatError::EmptyFile)?;
    let kind = table.column("Log Type");
    let (session, took) = (table.column("Session ID"), table.column("Elapsed time"));
    let mut log = Log::default();
    table.each_row(|table| {
        let name = |column| Some(table.text(column)).filter(|text| !text.is_empty());
        let entry = Entry {
            arrival_us: table.seconds_as_us(time)?,
            input_tokens: table.tokens_or_none(input)?,
            output_tokens: Some(table.tokens_or_none(output)?),
            session: session.and_then(name),
            model: name(model),
            kind: kind.and_then(name),
            recorded_latency_s: took.filter(|&c| name(c).is_some()).map(|c| table.number(c)).transpose()?,
            ..Entry::default()
        };
        log.push(table.line(), entry)
    })?;
    Ok(log.finish())
}

pub(super) fn write(trace: &Trace) -> String {
    let nothing = TraceMetadata::default();
    let metadata = trace.metadata.as_deref().unwrap_or(&nothing);
    let third = !metadata.session.is_empty() || !metadata.recorded_latency_s.is_empty();
    let mut text = String::from("Timestamp,");
    text.push_str(if third { "Session ID,Elapsed time," } else { "" });
    text.push_str("Model,Request tokens,Response tokens,Total tokens,Log Type\n");
    for id in 0..trace.len() {
        let r = trace.request(id);
        text.push_str(&seconds_text(r.arrival_us));
        if third {
            text.push(',');
            push_cell(&mut text, metadata.session.name(id));
            let took = metadata.recorded_latency_s.get(id).filter(|t| !t.is_nan()).map(f64::to_string);
            text.push(',');
            text.push_str(&took.unwrap_or_default());
        }
        text.push(',');
        push_cell(&mut text, metadata.model.name(id));
        let total = u64::from(r.input_tokens) + u64::from(r.output_tokens);
        let _ = write!(text, ",{},{},{total},", r.input_tokens, r.output_tokens);
        push_cell(&mut text, metadata.kind.name(id));
        text.push('\n');
    }
    text
}
