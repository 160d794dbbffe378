//! Conversations without times: ShareGPT's (`conversations`, messages with `from` and `value`; data set
//! anon8231489123/ShareGPT_Vicuna_unfiltered) and those in the form of LMSYS-Chat-1M (`conversation`, messages with `role` and
//! `content`). They give a generator its lengths.
//!
//! An answer of the assistant is a request, and its prompt is all that was said before, as a chat sends it. Lengths are estimated
//! from characters, as in payload files.

use super::aiperf::estimated_tokens;
use super::json::{Json, Line, Lines};
use super::vidur_lengths::Lengths;
use super::{FormatError, MAX_TOKENS};

/// Keys of which a row has one.
pub(super) const KEYS: [&str; 2] = ["conversations", "conversation"];

/// Who answers, by the names that such files have for it.
const ASSISTANTS: [&str; 6] = ["gpt", "assistant", "chatgpt", "bard", "bing", "model"];

pub(super) fn read<'a>(first: Line<'a>, lines: &mut Lines<'a>) -> Result<Lengths, FormatError> {
    let mut lengths = Lengths::default();
    lines.each(first, |mut line| {
        let key = if line.has(KEYS[0]) { KEYS[0] } else { KEYS[1] };
        let (mut said, mut pairs) = (0u32, Vec::new());
        for message in line.inside(key)? {
            let text =
                |keys: [&str; 2]| keys.into_iter().find_map(|key| message.get(key).and_then(Json::as_text));
            let content = text(["value", "content"]).unwrap_or("");
            let tokens = if content.is_empty() { 0 } else { estimated_tokens(content) };
            if text(["from", "role"]).is_some_and(|from| ASSISTANTS.contains(&from)) && said > 0 {
                pairs.push((said, tokens));
            }
            said = said.saturating_add(tokens).min(MAX_TOKENS);
        }
        for (input_tokens, output_tokens) in pairs {
            lengths.push(line.row, input_tokens, output_tokens)?;
        }
        Ok(())
    })?;
    Ok(lengths)
}

#[cfg(test)]
mod tests {
    use crate::formats::{Contents, Format, FormatError, open, read};

    #[test]
    fn every_answer_is_a_pair_of_lengths_with_all_that_was_said_before() {
        let text = r#"[
          {"id": "a", "conversations": [{"from": "human", "value": "Tell me"}, {"from": "gpt", "value": "They run on rails."}]},
          {"id": "b", "conversations": [
            {"from": "system", "value": "Be short"}, {"from": "human", "value": "And boats?"},
            {"from": "gpt", "value": "Float."}, {"from": "human", "value": "Why?"}, {"from": "gpt", "value": ""}]},
          {"id": "c", "conversations": []},
          {"id": "d", "conversations": [{"from": "gpt", "value": "nobody asked"}]}
        ]"#;
        let file = open(text.as_bytes()).expect("conversations");
        assert_eq!(file.format, Format::Conversations);
        let Contents::Lengths(lengths) = file.contents else { panic!("lengths") };
        assert_eq!(lengths.input_tokens, [2, 5, 8]);
        assert_eq!(lengths.output_tokens, [5, 2, 0]);
        assert_eq!(read(text.as_bytes()), Err(FormatError::NoTimes { format: "sharegpt" }));
    }

    #[test]
    fn rows_of_lmsys_have_roles() {
        let row = r#"{"conversation_id": "x", "model": "m", "conversation": [{"role": "user", "content": "four"}, {"role": "assistant", "content": "eight ch"}]}"#;
        let Contents::Lengths(lengths) = open(row.as_bytes()).unwrap().contents else { panic!("lengths") };
        assert_eq!((lengths.input_tokens[0], lengths.output_tokens[0]), (1, 2));
    }
}
