//! Servescope's own JSON Lines: the columns of the own CSV as keys, `hash_ids` and `output_hash_ids` as lists. What a request has not is left
//! out.

use std::fmt::Write as _;

use super::json::{Line, Lines, push_ids, push_string};
use super::log::{Entry, Log};
use super::own::{
    MAX_BLOCK_TOKENS, NO_EARLIER, RankTable, WaitColumn, cancel_times, most_output_blocks, too_many_ids,
    waits,
};
use super::table::seconds_text;
use super::{FormatError, MAX_INDEX, MAX_RANK, MAX_TOKENS};
use crate::trace::{BASE_MODEL, NO_REQUEST, Trace, TraceMetadata};

pub(super) const KEYS: [&str; 3] = ["arrival_s", "input_tokens", "output_tokens"];

pub(super) fn read<'a>(first: Line<'a>, lines: &mut Lines<'a>) -> Result<Trace, FormatError> {
    let size =
        first.get("block_tokens").map_or(Ok(1), |_| first.whole("block_tokens", 1, MAX_BLOCK_TOKENS))?;
    let mut log = Log::new(size);
    let mut adapters: Vec<u32> = Vec::new();
    let mut max_tokens: Vec<u32> = Vec::new();
    let mut cancellations = Vec::new();
    let mut ranks = RankTable::default();
    let mut held = WaitColumn::default();
    lines.each(first, |line| {
        let rows = held.next_row();
        let whole = |key: &str, default: u32, min: u32, max: u32| {
            line.get(key).map_or(Ok(default), |_| line.whole(key, min, max))
        };
        if line.get("block_tokens").is_some() {
            line.whole("block_tokens", size, size)?;
        }
        let output_tokens = line.whole("output_tokens", 1, MAX_TOKENS)?;
        let adapter = whole("adapter", BASE_MODEL, 0, MAX_INDEX)?;
        let rank = match line.get("rank") {
            Some(_) if adapter != BASE_MODEL => Some(line.whole("rank", 0, MAX_RANK)?),
            _ => None,
        };
        if let Some(rank) = rank {
            ranks.check(line.row, adapter, rank)?;
        }
        let time = |key: &str| line.get(key).map(|_| line.time_us(key, 6)).transpose();
        let wait = match line.get("after") {
            Some(_) if rows == 0 => return Err(line.bad("after", "an earlier row")),
            Some(_) => Some((line.whole("after", 0, rows - 1)?, time("think_s")?.unwrap_or(0.0))),
            None => None,
        };
        let until_us = time("until_s")?;
        let arrival_us = line.time_us("arrival_s", 6)?;
        let cancel_us = time("cancel_s")?;
        if cancel_us.is_some_and(|at| at < arrival_us) {
            return Err(line.bad("cancel_s", NO_EARLIER));
        }
        let bound = whole("max_tokens", output_tokens, output_tokens, MAX_TOKENS)?;
        let entry = Entry {
            arrival_us,
            user: whole("user", 0, 0, MAX_INDEX)?,
            input_tokens: line.whole("input_tokens", 1, MAX_TOKENS)?,
            output_tokens: Some(output_tokens),
            session: line.name("session")?,
            turn: line.get("turn").map(|_| line.whole("turn", 0, MAX_INDEX)).transpose()?,
            model: line.name("model")?,
            kind: line.name("kind")?,
            recorded_latency_s: line.get("took_s").map(|_| line.number("took_s")).transpose()?,
            hash_ids: line.ids("hash_ids")?,
            output_hash_ids: line.ids("output_hash_ids")?,
        };
        if let Some(ids) = &entry.output_hash_ids {
            let most = most_output_blocks(entry.input_tokens, output_tokens, size);
            if ids.len() as u64 > most {
                return Err(too_many_ids(line.row, ids.len(), most));
            }
        }
        log.push(line.row, entry)?;
        if let Some(rank) = rank {
            ranks.set(adapter, rank);
        }
        cancellations.extend(cancel_us.map(|at| (at, adapters.len() as u32)));
        held.push(wait, until_us);
        adapters.push(adapter);
        max_tokens.push(bound);
        Ok(())
    })?;
    let mut trace = log.finish();
    trace.adapter = adapters;
    trace.max_tokens = max_tokens;
    trace.cancellations = cancellations;
    trace.adapter_rank = ranks.finish();
    trace.closed_loop = held.finish();
    Ok(trace)
}

pub(super) fn write(trace: &Trace) -> String {
    let nothing = TraceMetadata::default();
    let metadata = trace.metadata.as_deref().unwrap_or(&nothing);
    let cancel_us = cancel_times(trace);
    let held = waits(trace);
    let mut text = String::with_capacity(trace.len() * 96);
    for id in 0..trace.len() {
        let r = trace.request(id);
        let _ = write!(text, "{{\"arrival_s\": {}, \"user\": {}", seconds_text(r.arrival_us), r.user);
        if r.adapter != BASE_MODEL {
            let _ = write!(text, ", \"adapter\": {}, \"rank\": {}", r.adapter, trace.rank(id));
        }
        let _ = write!(
            text,
            ", \"input_tokens\": {}, \"output_tokens\": {}, \"max_tokens\": {}",
            r.input_tokens, r.output_tokens, r.max_tokens
        );
        if let Some(Some(at)) = cancel_us.get(id) {
            let _ = write!(text, ", \"cancel_s\": {}", seconds_text(*at));
        }
        if let Some(closed_loop) = held.filter(|closed_loop| closed_loop.depends_on[id] != NO_REQUEST) {
            let _ = write!(
                text,
                ", \"after\": {}, \"think_s\": {}",
                closed_loop.depends_on[id],
                seconds_text(closed_loop.think_us[id])
            );
            if closed_loop.until_us.is_finite() {
                let _ = write!(text, ", \"until_s\": {}", seconds_text(closed_loop.until_us));
            }
        }
        for (key, labels) in
            [("session", &metadata.session), ("model", &metadata.model), ("kind", &metadata.kind)]
        {
            if let Some(name) = labels.name(id) {
                let _ = write!(text, ", \"{key}\": ");
                push_string(&mut text, name);
            }
        }
        if let Some(turn) = metadata.turn.get(id) {
            let _ = write!(text, ", \"turn\": {turn}");
        }
        if let Some(took) = metadata.recorded_latency_s.get(id).filter(|t| !t.is_nan()) {
            let _ = write!(text, ", \"took_s\": {took}");
        }
        if !metadata.prefix.is_empty() {
            let _ = write!(text, ", \"block_tokens\": {}", metadata.prefix.block_tokens);
            push_ids(&mut text, "hash_ids", metadata.prefix.of(id));
            if !metadata.prefix.outputs.is_empty() {
                push_ids(&mut text, "output_hash_ids", metadata.prefix.outputs.of(id));
            }
        }
        text.push_str("}\n");
    }
    text
}
