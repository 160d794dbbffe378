//! Azure LLM inference traces (Patel et al., Splitwise, ISCA 2024): `TIMESTAMP` as date and time of day with up to seven
//! digits of a second, `ContextTokens`, `GeneratedTokens`. Time starts at the earliest row.

use std::fmt::Write as _;

use super::table::{Column, Table};
pub(crate) use super::time::parse_time;
use super::time::{TICKS_PER_US, span_error, time_text};
use super::{FormatError, MAX_ARRIVAL_S};
use crate::trace::{BASE_MODEL, Request, Trace};

pub(super) const COLUMNS: [&str; 3] = ["TIMESTAMP", "ContextTokens", "GeneratedTokens"];

/// The requests, and the time of the earliest one in ticks of 100 ns since 1970.
pub(super) fn read(table: &mut Table<'_>) -> Result<(Trace, i64), FormatError> {
    let [time, input, output] = table.named(COLUMNS).ok_or(FormatError::EmptyFile)?;
    let mut trace = Trace::default();
    let mut ticks: Vec<i64> = Vec::new();
    table.each_row(|table| {
        let tick = time_cell(table, time)?;
        let output_tokens = table.tokens(output)?;
        trace.push(Request {
            arrival_us: 0.0,
            user: 0,
            adapter: BASE_MODEL,
            input_tokens: table.tokens(input)?,
            output_tokens,
            max_tokens: output_tokens,
        });
        ticks.push(tick);
        Ok(())
    })?;
    let start = ticks.iter().copied().min().unwrap_or(0);
    for (arrival_us, tick) in trace.arrival_us.iter_mut().zip(&ticks) {
        *arrival_us = (tick - start) as f64 / TICKS_PER_US;
    }
    if trace.arrival_us.iter().any(|&t| t > MAX_ARRIVAL_S * 1e6) {
        return Err(span_error("TIMESTAMP"));
    }
    Ok((trace, start))
}

fn time_cell(table: &Table<'_>, column: Column) -> Result<i64, FormatError> {
    parse_time(table.text(column))
        .ok_or_else(|| table.bad(column, "a date and time (2023-11-16 18:17:03.9799600)"))
}

/// The first request arrives at the start of 1970; times are rounded to 100 ns.
pub(super) fn write(trace: &Trace) -> String {
    let start = trace.arrival_us.first().copied().unwrap_or(0.0);
    let mut text = String::with_capacity(trace.len() * 40);
    text.push_str("TIMESTAMP,ContextTokens,GeneratedTokens\n");
    for id in 0..trace.len() {
        let r = trace.request(id);
        let ticks = libm::round((r.arrival_us - start) * TICKS_PER_US) as i64;
        let _ = writeln!(text, "{},{},{}", time_text(ticks), r.input_tokens, r.output_tokens);
    }
    text
}
