//! What the events of a streamed answer say: tokens, usage, the end, an error.
//!
//! The forms are those of OpenAI's `chat.completion.chunk` and `text_completion`, with vLLM's `reasoning_content` and
//! `reasoning`. A chunk without text (the role that opens a chat, the reason that ends an answer) is no token. S-LoRA's
//! `/generate_stream` (`slora/server/api_server.py`) sends one event a token, also where its text is empty, says `finished` with the
//! last one, and has neither usage nor `[DONE]`.

use serde_json::Value as Json;

/// Longest message of a server that is kept, characters.
const MAX_MESSAGE: usize = 200;

/// What one event says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Text of one or several tokens.
    Text,
    /// Nothing that counts: a role, a reason to end, usage.
    Other,
    /// `[DONE]`.
    Done,
}

/// A streamed answer so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// Prompt tokens by the server's count.
    pub prompt_tokens: Option<u32>,
    /// Output tokens by the server's count.
    pub completion_tokens: Option<u32>,
    /// Chunks with text.
    pub chunks: usize,
    /// Whether a reason to end came.
    pub is_finished: bool,
    /// Whether `[DONE]` came.
    pub is_done: bool,
}

impl Answer {
    /// Takes the data of an event.
    ///
    /// # Errors
    /// What is wrong with it, or the server's own message.
    pub fn take(&mut self, data: &[u8]) -> Result<Piece, String> {
        if data.trim_ascii() == b"[DONE]" {
            self.is_done = true;
            return Ok(Piece::Done);
        }
        let json: Json = serde_json::from_slice(data)
            .map_err(|error| format!("an event is no JSON: {error}: {}", start(data)))?;
        if !json.is_object() {
            return Err(format!("an event is no object: {}", start(data)));
        }
        if let Some(error) = json.get("error").filter(|error| !error.is_null()) {
            let message = error.get("message").and_then(Json::as_str);
            let text = message.map_or_else(|| error.to_string(), str::to_owned);
            return Err(format!("the server says: {}", shortened(&text)));
        }
        if let Some(usage) = json.get("usage") {
            let count = |key: &str| usage.get(key).and_then(Json::as_u64).and_then(|n| u32::try_from(n).ok());
            self.prompt_tokens = count("prompt_tokens").or(self.prompt_tokens);
            self.completion_tokens = count("completion_tokens").or(self.completion_tokens);
        }
        if json.get("token").is_some_and(Json::is_object) {
            return self.take_token(json.get("finished"));
        }
        let Some(choice) = json.pointer("/choices/0") else { return Ok(Piece::Other) };
        self.is_finished |= choice.get("finish_reason").is_some_and(|reason| !reason.is_null());
        let has_text = |json: Option<&Json>| json.and_then(Json::as_str).is_some_and(|text| !text.is_empty());
        let delta = choice.get("delta");
        let of_delta = |key: &str| delta.and_then(|delta| delta.get(key));
        let is_text = has_text(choice.get("text"))
            || ["content", "reasoning_content", "reasoning"].into_iter().any(|key| has_text(of_delta(key)));
        if !is_text {
            return Ok(Piece::Other);
        }
        self.chunks += 1;
        Ok(Piece::Text)
    }
}

impl Answer {
    /// Takes an event of S-LoRA's: a token, and whether the answer has ended; -1 where the server gave the request up.
    fn take_token(&mut self, finished: Option<&Json>) -> Result<Piece, String> {
        if finished.and_then(Json::as_i64) == Some(-1) {
            return Err("the server says: the request was aborted".to_owned());
        }
        self.chunks += 1;
        self.completion_tokens = u32::try_from(self.chunks).ok();
        self.is_finished |= finished.is_some_and(|end| end == &Json::Bool(true) || end.as_i64() == Some(1));
        Ok(Piece::Text)
    }
}

/// The beginning of a text.
pub(crate) fn shortened(text: &str) -> String {
    let clean = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let short: String = clean.take(MAX_MESSAGE).collect();
    if text.chars().nth(MAX_MESSAGE).is_some() { short + "…" } else { short }
}

/// The beginning of some bytes as text.
pub(crate) fn start(data: &[u8]) -> String {
    shortened(&String::from_utf8_lossy(&data[..data.len().min(4 * MAX_MESSAGE)]))
}

#[cfg(test)]
mod tests {
    use super::Piece::{Done, Other, Text};
    use super::*;

    #[test]
    fn tokens_usage_and_ends_of_both_paths_are_read() {
        let mut chat = Answer::default();
        let mut pieces = Vec::new();
        for data in [
            r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"usage":null}"#,
            r#"{"choices":[{"index":0,"delta":{"reasoning_content":"hm"},"finish_reason":null}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}"#,
            r#"{"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}"#,
            r#"{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2,"total_tokens":9}}"#,
            "[DONE]",
        ] {
            pieces.push(chat.take(data.as_bytes()).unwrap());
        }
        assert_eq!(pieces, [Other, Text, Text, Other, Other, Done]);
        let whole = Answer {
            prompt_tokens: Some(7),
            completion_tokens: Some(2),
            chunks: 2,
            is_finished: true,
            is_done: true,
        };
        assert_eq!(chat, whole);
        let mut text = Answer::default();
        assert_eq!(text.take(br#"{"choices":[{"text":" b","finish_reason":"stop"}]}"#), Ok(Text));
        assert!(text.is_finished && text.completion_tokens.is_none());
    }

    #[test]
    fn tokens_of_slora_are_read() {
        let event = |text: &str, finished: &str| {
            format!(
                r#"{{"token":{{"id":5,"text":"{text}","logprob":-0.1,"special":false}},"generated_text":null,"finished":{finished},"details":null}}"#
            )
        };
        let mut answer = Answer::default();
        for (text, finished) in [("a", "false"), ("", "false"), (" b", "true")] {
            assert_eq!(answer.take(event(text, finished).as_bytes()), Ok(Text));
        }
        assert_eq!((answer.chunks, answer.completion_tokens, answer.is_finished), (3, Some(3), true));
        let aborted = Answer::default().take(event("", "-1").as_bytes());
        assert_eq!(aborted, Err("the server says: the request was aborted".to_owned()));
    }

    #[test]
    fn what_is_no_answer_is_told() {
        let refusal = |data: &str| Answer::default().take(data.as_bytes()).unwrap_err();
        assert_eq!(
            refusal(r#"{"error":{"message":"out of memory","code":500}}"#),
            "the server says: out of memory"
        );
        assert_eq!(refusal(r#"{"error":"overloaded"}"#), "the server says: \"overloaded\"");
        assert!(refusal("<html>").starts_with("an event is no JSON: "));
        assert!(refusal("[1]").starts_with("an event is no object: "));
        assert!(refusal(&format!("\"{}\"", "x".repeat(9_999))).len() < 300);
        assert_eq!(
            Answer::default().take(br#"{"usage":{"prompt_tokens":-1,"completion_tokens":1e99}}"#),
            Ok(Piece::Other)
        );
    }
}
