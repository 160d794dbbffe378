//! Payload files of NVIDIA's AIPerf and its predecessor GenAI-Perf: `timestamp` or `delay` (ms), `session_id`,
//! `input_length` or a text (`text`, `text_input`, `texts`, `messages`), `output_length`, `hash_ids` of prefix blocks of 512
//! tokens; one request a line, or a session a line with its `turns`.
//!
//! A delay counts from the request before it in the session, which is how a file without a server can read it. A text
//! without a length counts a token for every four characters.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::json::{Json, Line, Lines, push_ids, push_string};
use super::log::{Entry, Log, check_time};
use super::mooncake::BLOCK_TOKENS;
use super::table::shifted_text;
use super::{FormatError, MAX_TOKENS};
use crate::prompts::tokens::cjk_characters;
use crate::trace::{Trace, TraceMetadata};

/// Keys of which a line has at least one.
pub(super) const KEYS: [&str; 7] =
    ["session_id", "text_input", "text", "texts", "messages", "delay", "turns"];

/// Keys that hold a prompt, of which a request has one.
const TEXTS: [&str; 4] = ["text_input", "text", "texts", "messages"];

/// Characters of English text in a token, about; no tokenizer is at hand here.
const CHARACTERS_PER_TOKEN: usize = 4;

/// Tokens of a text, estimated.
pub(super) fn estimated_tokens(text: &str) -> u32 {
    tokens_of(quarters(text))
}

/// Characters of a text, those of Chinese, Japanese and Korean, which are a token each, as four.
fn quarters(text: &str) -> usize {
    text.chars().count() + (CHARACTERS_PER_TOKEN - 1) * cjk_characters(text)
}

fn tokens_of(quarters: usize) -> u32 {
    quarters.div_ceil(CHARACTERS_PER_TOKEN).clamp(1, MAX_TOKENS as usize) as u32
}

pub(super) fn read<'a>(first: Line<'a>, lines: &mut Lines<'a>) -> Result<Trace, FormatError> {
    let mut log = Log::new(BLOCK_TOKENS);
    // Last arrival of each session.
    let mut last_us: BTreeMap<String, f64> = BTreeMap::new();
    lines.each(first, |mut line| {
        let session = line.name("session_id")?.map(str::to_owned);
        let before_us = session.as_ref().and_then(|s| last_us.get(s)).copied().unwrap_or(0.0);
        if !line.has("turns") {
            let entry = request(&line, session.as_deref(), before_us)?;
            let arrival_us = entry.arrival_us;
            log.push(line.row, entry)?;
            last_us.extend(session.map(|session| (session, arrival_us)));
            return Ok(());
        }
        let session = session.unwrap_or_else(|| format!("row {}", line.row));
        let turns = line.inside("turns")?;
        let mut entries = Vec::with_capacity(turns.len());
        let mut at_us = before_us;
        for turn in &turns {
            let entry = request(turn, Some(&session), at_us)?;
            at_us = entry.arrival_us;
            entries.push(entry);
        }
        entries.into_iter().try_for_each(|entry| log.push(line.row, entry))?;
        last_us.insert(session, at_us);
        Ok(())
    })?;
    Ok(log.finish())
}

/// Tokens of the text of a request, estimated: of `text` or `text_input`, of all `texts`, or of all `messages`. `None` where
/// there is none of them.
fn text_tokens(line: &Line<'_>) -> Result<Option<u32>, FormatError> {
    let mut keys = TEXTS.into_iter().filter(|key| line.get(key).is_some());
    let Some(key) = keys.next() else { return Ok(None) };
    if let Some(second) = keys.next() {
        return Err(line.bad(second, "one text"));
    }
    text_tokens_of(line, key).map(Some)
}

/// Tokens of the text, or the texts, of a key, estimated.
pub(super) fn text_tokens_of(line: &Line<'_>, key: &str) -> Result<u32, FormatError> {
    let count = line.get(key).and_then(characters).ok_or_else(|| line.bad(key, "a text"))?;
    Ok(tokens_of(count))
}

/// [`quarters`] of a text, or of a list of them; in lists also of objects with the text under `content`, or texts under
/// `contents`.
fn characters(value: &Json<'_>) -> Option<usize> {
    match value {
        Json::Text(text) => Some(quarters(text)),
        Json::List(entries) => entries.iter().map(characters).sum(),
        Json::Object(_) => characters(value.get("content").or_else(|| value.get("contents"))?),
        // A message without words, such as a call of a tool.
        Json::Null => Some(0),
        _ => None,
    }
}

/// A request whose session had its last one at `before_us`.
fn request<'a>(
    line: &'a Line<'_>,
    session: Option<&'a str>,
    before_us: f64,
) -> Result<Entry<'a>, FormatError> {
    let arrival_us = if line.get("timestamp").is_some() {
        line.time_us("timestamp", 3)?
    } else if line.get("delay").is_some() {
        before_us + line.time_us("delay", 3)?
    } else {
        before_us
    };
    check_time(line.row, arrival_us)?;
    let input_tokens = match text_tokens(line)? {
        Some(tokens) if line.get("input_length").is_none() => tokens,
        _ => line.tokens("input_length")?,
    };
    let output = if line.has("max_tokens") { "max_tokens" } else { "output_length" };
    Ok(Entry {
        arrival_us,
        input_tokens,
        output_tokens: line.get(output).map(|_| line.tokens(output)).transpose()?,
        session,
        model: line.name("model")?,
        hash_ids: line.ids("hash_ids")?,
        ..Entry::default()
    })
}

/// A request without a session is a session of its own, named by its number.
pub(super) fn write(trace: &Trace) -> String {
    let nothing = TraceMetadata::default();
    let metadata = trace.metadata.as_deref().unwrap_or(&nothing);
    let mut text = String::with_capacity(trace.len() * 80);
    for id in 0..trace.len() {
        let r = trace.request(id);
        text.push_str("{\"session_id\": ");
        push_string(&mut text, metadata.session.name(id).unwrap_or(&id.to_string()));
        let _ = write!(
            text,
            ", \"timestamp\": {}, \"input_length\": {}, \"output_length\": {}",
            shifted_text(r.arrival_us, 3),
            r.input_tokens,
            r.output_tokens
        );
        // Ids of blocks of another size would be taken for blocks of 512.
        if metadata.prefix.block_tokens == BLOCK_TOKENS {
            push_ids(&mut text, "hash_ids", metadata.prefix.of(id));
        }
        text.push_str("}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use crate::formats::{Format, FormatError, read};

    #[test]
    fn every_form_of_a_prompt_is_counted() {
        let text = concat!(
            r#"{"timestamp": 0, "text": "eight ch", "output_length": 1}"#,
            "\n",
            r#"{"timestamp": 1, "texts": ["four", "more"], "output_length": 1}"#,
            "\n",
            r#"{"timestamp": 2, "texts": [{"name": "text", "contents": ["four", "more and more"]}], "output_length": 1}"#,
            "\n",
            r#"{"timestamp": 3, "messages": [{"role": "user", "content": "four"}, {"role": "assistant", "content": null}, {"role": "user", "content": [{"type": "text", "content": "text"}]}], "output_length": 1}"#,
            "\n",
            r#"{"timestamp": 4, "input_length": 9, "max_tokens": 5}"#,
            "\n",
        );
        let read_one = read(text.as_bytes()).unwrap();
        assert_eq!((read_one.format, read_one.failed), (Format::AiPerf, 0));
        assert_eq!(read_one.trace.input_tokens, [2, 2, 5, 2, 9]);
        assert_eq!(read_one.trace.output_tokens, [1, 1, 1, 1, 5]);
        let lengths_only = r#"{"input_length": 9, "output_length": 4}"#;
        assert_eq!(read(lengths_only.as_bytes()).unwrap().format, Format::AiPerf);
        let both = r#"{"text": "a", "text_input": "b", "output_length": 4}"#;
        assert!(
            matches!(read(both.as_bytes()), Err(FormatError::BadCell { column, .. }) if column == "text")
        );
    }
}
