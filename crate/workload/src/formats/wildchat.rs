//! Rows of WildChat (Zhao et al., ICLR 2024, data set allenai/WildChat-1M) as JSON Lines: `conversation`, a list of
//! messages with `role`, `content` and a `timestamp`, and `hashed_ip`, `model`, `conversation_hash` of the row.
//!
//! A conversation is a session, a hashed address a user, an answer of the assistant a request. Its prompt is all that
//! was said before. Lengths are estimated from characters, as in payload files.

use super::aiperf::estimated_tokens;
use super::json::{Json, Line, Lines};
use super::log::{Entry, Log};
use super::time::{TICKS_PER_US, parse_time, span_error};
use super::{FormatError, MAX_ARRIVAL_S, MAX_TOKENS};
use crate::trace::{LabelMaker, Trace};

pub(super) const KEYS: [&str; 2] = ["conversation", "timestamp"];

pub(super) fn read<'a>(first: Line<'a>, lines: &mut Lines<'a>) -> Result<Trace, FormatError> {
    let mut log = Log::default();
    let mut users = LabelMaker::default();
    let mut ticks: Vec<i64> = Vec::new();
    lines.each(first, |mut line| {
        let of_row = ticks_of(&line)?.ok_or_else(|| line.bad("timestamp", "a date and time"))?;
        let session =
            line.name("conversation_hash")?.map_or_else(|| format!("row {}", line.row), str::to_owned);
        let model = line.name("model")?.map(str::to_owned);
        let mut address = line.name("hashed_ip")?.map(str::to_owned);
        let (mut said, mut asked) = (0u32, None);
        let mut turns: Vec<(u32, u32, i64)> = Vec::new();
        for message in line.inside("conversation")? {
            if address.is_none() {
                address = message.name("hashed_ip")?.map(str::to_owned);
            }
            let content = message.get("content").and_then(Json::as_text).unwrap_or("");
            let tokens = estimated_tokens(content);
            let stamp = ticks_of(&message)?;
            if message.get("role").and_then(Json::as_text) == Some("assistant") {
                let answer = if content.is_empty() { 0 } else { tokens };
                turns.push((said, answer, asked.take().or(stamp).unwrap_or(of_row)));
            } else {
                asked = stamp;
            }
            said = said.saturating_add(tokens).min(MAX_TOKENS);
        }
        let user = users.place(address.as_deref().unwrap_or(""));
        for ((input_tokens, output_tokens, tick), turn) in turns.into_iter().zip(1..) {
            let entry = Entry {
                user,
                input_tokens,
                output_tokens: Some(output_tokens),
                session: Some(&session),
                turn: Some(turn),
                model: model.as_deref(),
                ..Entry::default()
            };
            log.push(line.row, entry)?;
            ticks.push(tick);
        }
        Ok(())
    })?;
    let mut trace = log.finish();
    let start = ticks.iter().copied().min().unwrap_or(0);
    for (arrival_us, tick) in trace.arrival_us.iter_mut().zip(&ticks) {
        *arrival_us = (tick - start) as f64 / TICKS_PER_US;
    }
    if trace.arrival_us.iter().any(|&t| t > MAX_ARRIVAL_S * 1e6) {
        return Err(span_error("timestamp"));
    }
    Ok(trace)
}

/// The time stamp of a row or a message; `None` where it has none.
fn ticks_of(line: &Line<'_>) -> Result<Option<i64>, FormatError> {
    let Some(text) = line.name("timestamp")? else { return Ok(None) };
    parse_time(text)
        .map(Some)
        .ok_or_else(|| line.bad("timestamp", "a date and time (2023-04-09T00:02:53+00:00)"))
}
