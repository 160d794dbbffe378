//! Files of OpenAI's Batch API: one request a line with `custom_id`, `method`, `url` and the request's `body`; no times. The output
//! length is the body's `max_tokens` or `max_completion_tokens`, which bounds it; prompts count a token for every four characters,
//! as texts do in payload files.

use super::FormatError;
use super::aiperf::text_tokens_of;
use super::json::{Line, Lines};
use super::vidur_lengths::Lengths;

pub(super) const KEYS: [&str; 2] = ["custom_id", "body"];

/// Keys of a body that hold the prompt, and those that bound the answer.
const PROMPTS: [&str; 3] = ["messages", "prompt", "input"];
const BOUNDS: [&str; 3] = ["max_completion_tokens", "max_tokens", "max_output_tokens"];

pub(super) fn read<'a>(first: Line<'a>, lines: &mut Lines<'a>) -> Result<Lengths, FormatError> {
    let mut lengths = Lengths::default();
    lines.each(first, |mut line| {
        let body = line.object_of("body")?;
        let prompt = PROMPTS.into_iter().find(|key| body.get(key).is_some());
        let key = prompt.ok_or_else(|| body.bad("messages", "messages, a prompt or an input in the body"))?;
        let input_tokens = text_tokens_of(&body, key)?;
        let bound = BOUNDS.into_iter().find(|key| body.get(key).is_some());
        let output_tokens = bound.map_or(Ok(0), |key| body.tokens(key))?;
        lengths.push(line.row, input_tokens, output_tokens)
    })?;
    Ok(lengths)
}

#[cfg(test)]
mod tests {
    use crate::formats::{Contents, Format, open};

    #[test]
    fn bodies_of_chats_completions_and_responses_are_counted() {
        let text = concat!(
            r#"{"custom_id": "1", "method": "POST", "url": "/v1/chat/completions", "body": {"model": "m", "messages": [{"role": "user", "content": "Name a river."}], "max_tokens": 50}}"#,
            "\n",
            r#"{"custom_id": "2", "method": "POST", "url": "/v1/completions", "body": {"prompt": "eight ch", "max_completion_tokens": 7}}"#,
            "\n",
            r#"{"custom_id": "3", "method": "POST", "url": "/v1/responses", "body": {"input": "four"}}"#,
            "\n",
        );
        let file = open(text.as_bytes()).expect("a batch");
        assert_eq!(file.format, Format::OpenAiBatch);
        let Contents::Lengths(lengths) = file.contents else { panic!("lengths") };
        assert_eq!((lengths.input_tokens, lengths.output_tokens), (vec![4, 2, 1], vec![50, 7, 0]));
        let bad = r#"{"custom_id": "1", "body": {"model": "m"}}"#;
        assert!(open(bad.as_bytes()).unwrap_err().to_string().contains("column messages"));
    }
}
