//! Vidur's processed traces: `arrived_at` in seconds, `num_prefill_tokens`, `num_decode_tokens`. Users, adapters and
//! bounds on output have no column there.

use std::fmt::Write as _;

use super::FormatError;
use super::table::{Table, seconds_text};
use crate::trace::{BASE_MODEL, Request, Trace};

pub(super) const COLUMNS: [&str; 3] = ["arrived_at", "num_prefill_tokens", "num_decode_tokens"];

pub(super) fn read(table: &mut Table<'_>) -> Result<Trace, FormatError> {
    let [arrival, input, output] = table.named(COLUMNS).ok_or(FormatError::EmptyFile)?;
    let mut trace = Trace::default();
    table.each_row(|table| {
        let output_tokens = table.tokens(output)?;
        trace.push(Request {
            arrival_us: table.seconds_as_us(arrival)?,
            user: 0,
            adapter: BASE_MODEL,
            input_tokens: table.tokens(input)?,
            output_tokens,
            max_tokens: output_tokens,
        });
        Ok(())
    })?;
    Ok(trace)
}

pub(super) fn write(trace: &Trace) -> String {
    let mut text = String::with_capacity(trace.len() * 24);
    text.push_str("arrived_at,num_prefill_tokens,num_decode_tokens\n");
    for id in 0..trace.len() {
        let r = trace.request(id);
        let _ = writeln!(text, "{},{},{}", seconds_text(r.arrival_us), r.input_tokens, r.output_tokens);
    }
    text
}
