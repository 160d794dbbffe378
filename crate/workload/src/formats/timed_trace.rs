//! vLLM's `timed_trace` (`vllm bench serve --dataset-name timed_trace --self-timed`): Mooncake's keys, with `timestamp` in
//! seconds and blocks of 16 tokens unless the command says otherwise.
//!
//! vLLM makes a prompt out of its blocks, so a file needs them; and it does not say their size. What is written here
//! says so in `chunk_hash_size`, which vLLM passes over: give it as `--timed-trace-chunk-hash-size`.

use std::fmt::Write as _;

use super::FormatError;
use super::json::{Line, Lines, push_ids};
use super::mooncake;
use super::own::MAX_BLOCK_TOKENS;
use super::table::seconds_text;
use crate::trace::Trace;

/// vLLM's default size of a block, tokens.
const BLOCK_TOKENS: u32 = 16;

/// The key that gives the size of a block.
pub(super) const SIZE_KEY: &str = "chunk_hash_size";

/// Lines inspected to distinguish this format from Mooncake's.
const LINES_LOOKED_AT: usize = 100;

/// Whether a file with Mooncake's keys has blocks of 16 tokens: then it is of this format.
pub(super) fn has_small_blocks(mut lines: Lines<'_>) -> bool {
    for _ in 0..LINES_LOOKED_AT {
        // The reader itself reports a line that is bad.
        let line = match lines.next_line() {
            Ok(Some(line)) => line,
            Ok(None) => break,
            Err(_) => continue,
        };
        if line.has(SIZE_KEY) {
            return true;
        }
        let (Ok(Some(ids)), Ok(tokens)) = (line.ids("hash_ids"), line.tokens("input_length")) else {
            continue;
        };
        // The last block may be left out unless it is full.
        let whole = |size: u32| (tokens / size..=tokens.div_ceil(size)).contains(&(ids.len() as u32));
        if !ids.is_empty() && whole(mooncake::BLOCK_TOKENS) != whole(BLOCK_TOKENS) {
            return whole(BLOCK_TOKENS);
        }
    }
    false
}

pub(super) fn read<'a>(first: Line<'a>, lines: &mut Lines<'a>) -> Result<Trace, FormatError> {
    let size = if first.has(SIZE_KEY) { first.whole(SIZE_KEY, 1, MAX_BLOCK_TOKENS)? } else { BLOCK_TOKENS };
    mooncake::read(first, lines, 6, size)
}

pub(super) fn write(trace: &Trace) -> String {
    let mut text = String::with_capacity(trace.len() * 64);
    let prefix = trace.metadata.as_ref().map(|e| &e.prefix).filter(|p| !p.is_empty());
    let size = prefix.map_or(BLOCK_TOKENS, |p| p.block_tokens);
    let mut fresh = 0..u64::MAX;
    for id in 0..trace.len() {
        let r = trace.request(id);
        let _ = write!(
            text,
            "{{\"timestamp\": {}, \"input_length\": {}, \"output_length\": {}, \"{SIZE_KEY}\": {size}",
            seconds_text(r.arrival_us),
            r.input_tokens,
            r.output_tokens
        );
        if let Some(prefix) = prefix {
            push_ids(&mut text, "hash_ids", prefix.of(id));
        } else {
            // Blocks that no other prompt shares.
            let blocks = r.input_tokens.div_ceil(size) as usize;
            push_ids(&mut text, "hash_ids", &fresh.by_ref().take(blocks).collect::<Vec<_>>());
        }
        text.push_str("}\n");
    }
    text
}
