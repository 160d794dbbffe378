//! Qwen-Bailian's traces (github.com/alibaba-edu/qwen-bailian-usagetraces-anon): `chat_id`, `parent_chat_id` (-1 for the
//! first turn of a conversation), `timestamp` in seconds, `input_length`, `output_length`, `type`, `turn`, and `hash_ids`
//! of prefix blocks of 16 tokens.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::FormatError;
use super::json::{Line, Lines, push_ids, push_string};
use super::log::{Entry, Log};
use super::table::seconds_text;
use crate::trace::{Trace, TraceMetadata};

pub(super) const KEYS: [&str; 5] =
    ["chat_id", "parent_chat_id", "timestamp", "input_length", "output_length"];

/// Tokens in a prefix block.
const BLOCK_TOKENS: u32 = 16;

pub(super) fn read<'a>(first: Line<'a>, lines: &mut Lines<'a>) -> Result<Trace, FormatError> {
    let mut log = Log::new(BLOCK_TOKENS);
    // The first chat of the conversation that each chat belongs to.
    let mut root_of: BTreeMap<String, String> = BTreeMap::new();
    lines.each(first, |line| {
        let chat = line.name("chat_id")?.ok_or_else(|| line.bad("chat_id", "a name"))?;
        let root = match line.name("parent_chat_id")? {
            None | Some("-1") => chat,
            // A parent outside of the file still names the conversation.
            Some(parent) => root_of.get(parent).map_or(parent, String::as_str),
        };
        let root = root.to_owned();
        let entry = Entry {
            arrival_us: line.time_us("timestamp", 6)?,
            input_tokens: line.tokens("input_length")?,
            output_tokens: Some(line.tokens("output_length")?),
            session: Some(&root),
            turn: line.get("turn").map(|_| line.whole("turn", 0, super::MAX_INDEX)).transpose()?,
            kind: line.name("type")?,
            hash_ids: line.ids("hash_ids")?,
            ..Entry::default()
        };
        log.push(line.row, entry)?;
        root_of.insert(chat.to_owned(), root);
        Ok(())
    })?;
    Ok(log.finish())
}

pub(super) fn write(trace: &Trace) -> String {
    let nothing = TraceMetadata::default();
    let metadata = trace.metadata.as_deref().unwrap_or(&nothing);
    let mut text = String::with_capacity(trace.len() * 96);
    let mut last_of: BTreeMap<u32, (usize, u32)> = BTreeMap::new();
    for id in 0..trace.len() {
        let r = trace.request(id);
        let session = metadata.session.index.get(id).filter(|_| metadata.session.name(id).is_some());
        let (parent, counted) = session
            .and_then(|&s| last_of.get(&s))
            .map_or(("-1".to_owned(), 1), |&(chat, turn)| (chat.to_string(), turn + 1));
        let turn = metadata.turn.get(id).copied().unwrap_or(counted);
        if let Some(&session) = session {
            last_of.insert(session, (id, counted));
        }
        let _ = write!(
            text,
            "{{\"chat_id\": {id}, \"parent_chat_id\": {parent}, \"timestamp\": {}, \"input_length\": {}, \
             \"output_length\": {}, \"type\": ",
            seconds_text(r.arrival_us),
            r.input_tokens,
            r.output_tokens
        );
        push_string(&mut text, metadata.kind.name(id).unwrap_or("text"));
        let _ = write!(text, ", \"turn\": {turn}");
        // Ids of blocks of another size would be taken for blocks of 16.
        let ids = if metadata.prefix.block_tokens == BLOCK_TOKENS { metadata.prefix.of(id) } else { &[] };
        push_ids(&mut text, "hash_ids", ids);
        text.push_str("}\n");
    }
    text
}
