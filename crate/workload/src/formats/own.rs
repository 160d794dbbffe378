//! Servescope's own CSV: `id,arrival_s,user,adapter,rank,input_tokens,output_tokens,max_tokens`, and `cancel_s` where a
//! client went away. Only arrival and the two lengths must be there; adapter -1 is the base model.

use std::fmt::Write as _;

use super::table::{Table, seconds_text};
use super::{FormatError, MAX_INDEX, MAX_RANK, MAX_TOKENS};
use crate::trace::{BASE_MODEL, Request, Trace};

pub(super) fn read(table: &mut Table<'_>) -> Result<Trace, FormatError> {
    let place = |name| table.column(name);
    let (Some(arrival), Some(input), Some(output)) =
        (place("arrival_s"), place("input_tokens"), place("output_tokens"))
    else {
        return Err(FormatError::EmptyFile);
    };
    let (user, adapter, rank) = (place("user"), place("adapter"), place("rank"));
    let (max_tokens, cancel) = (place("max_tokens"), place("cancel_s"));
    let mut trace = Trace::default();
    let mut ranks: Vec<Option<u32>> = Vec::new();
    while table.next_row()? {
        let output_tokens = table.tokens(output)?;
        let adapter = match adapter {
            Some(column) if !matches!(table.text(column), "" | "-1") => table.whole(column, 0, MAX_INDEX)?,
            _ => BASE_MODEL,
        };
        if let (Some(column), true) = (rank, adapter != BASE_MODEL) {
            let value = table.whole(column, 0, MAX_RANK)?;
            if ranks.len() <= adapter as usize {
                ranks.resize(adapter as usize + 1, None);
            }
            let former = ranks[adapter as usize].replace(value);
            if let Some(former) = former.filter(|&f| f != value) {
                return Err(FormatError::RankConflict { row: table.line(), adapter, rank: value, former });
            }
        }
        if let Some(column) = cancel.filter(|&c| !table.text(c).is_empty()) {
            trace.cancellations.push((table.seconds_as_us(column)?, trace.len() as u32));
        }
        trace.push(Request {
            arrival_us: table.seconds_as_us(arrival)?,
            user: user.map_or(Ok(0), |c| table.whole(c, 0, MAX_INDEX))?,
            adapter,
            input_tokens: table.tokens(input)?,
            output_tokens,
            max_tokens: max_tokens
                .map_or(Ok(output_tokens), |c| table.whole(c, output_tokens, MAX_TOKENS))?,
        });
    }
    trace.adapter_rank = ranks.into_iter().map(|r| r.unwrap_or(0)).collect();
    Ok(trace)
}

pub(super) fn write(trace: &Trace) -> String {
    let mut cancel_us = vec![None; if trace.cancellations.is_empty() { 0 } else { trace.len() }];
    for &(at, id) in &trace.cancellations {
        cancel_us[id as usize] = Some(at);
    }
    let mut text = String::with_capacity(trace.len() * 48);
    text.push_str("id,arrival_s,user,adapter,rank,input_tokens,output_tokens,max_tokens");
    text.push_str(if cancel_us.is_empty() { "\n" } else { ",cancel_s\n" });
    for id in 0..trace.len() {
        let r = trace.request(id);
        let adapter = if r.adapter == BASE_MODEL { -1 } else { i64::from(r.adapter) };
        let _ = write!(
            text,
            "{id},{},{},{adapter},{},{},{},{}",
            seconds_text(r.arrival_us),
            r.user,
            trace.rank(id),
            r.input_tokens,
            r.output_tokens,
            r.max_tokens
        );
        if let Some(cell) = cancel_us.get(id) {
            text.push(',');
            text.push_str(&cell.map_or(String::new(), seconds_text));
        }
        text.push('\n');
    }
    text
}
