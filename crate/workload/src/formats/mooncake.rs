//! Mooncake's traces (Qin et al., FAST 2025, github.com/kvcache-ai/Mooncake): `timestamp` in milliseconds from the start,
//! `input_length`, `output_length`, `hash_ids` of prefix blocks of 512 tokens.

use std::fmt::Write as _;

use super::FormatError;
use super::json::{Line, Lines, push_ids};
use super::log::{Entry, Log};
use super::table::shifted_text;
use crate::trace::Trace;

pub(super) const KEYS: [&str; 3] = ["timestamp", "input_length", "output_length"];

/// Tokens in a prefix block.
pub(super) const BLOCK_TOKENS: u32 = 512;

/// Reads lines whose `timestamp` counts units of `10^exponent` microseconds.
pub(super) fn read<'a>(
    first: Line<'a>,
    lines: &mut Lines<'a>,
    exponent: i32,
    block_tokens: u32,
) -> Result<Trace, FormatError> {
    let mut log = Log::new(block_tokens);
    lines.each(first, |line| {
        let entry = Entry {
            arrival_us: line.time_us("timestamp", exponent)?,
            input_tokens: line.tokens("input_length")?,
            output_tokens: Some(line.tokens("output_length")?),
            model: line.name("model")?,
            hash_ids: line.ids("hash_ids")?,
            ..Entry::default()
        };
        log.push(line.row, entry)
    })?;
    Ok(log.finish())
}

pub(super) fn write(trace: &Trace) -> String {
    let mut text = String::with_capacity(trace.len() * 64);
    // Ids of blocks of another size would be taken for blocks of 512.
    let prefix = trace.metadata.as_ref().map(|e| &e.prefix).filter(|p| p.block_tokens == BLOCK_TOKENS);
    for id in 0..trace.len() {
        let r = trace.request(id);
        let _ = write!(
            text,
            "{{\"timestamp\": {}, \"input_length\": {}, \"output_length\": {}",
            shifted_text(r.arrival_us, 3),
            r.input_tokens,
            r.output_tokens
        );
        push_ids(&mut text, "hash_ids", prefix.map_or(&[], |p| p.of(id)));
        text.push_str("}\n");
    }
    text
}
