//! vLLM's custom data set (`vllm bench serve --dataset-name custom`): `{"prompt", "output_tokens"?}`, and no times. Prompts
//! count a token for every four characters, as texts do in payload files; so does a `completion`, where one is there and
//! no `output_tokens`.

use super::FormatError;
use super::aiperf::estimated_tokens;
use super::json::{Json, Line, Lines};
use super::vidur_lengths::Lengths;

pub(super) const KEYS: [&str; 1] = ["prompt"];

pub(super) fn read<'a>(first: Line<'a>, lines: &mut Lines<'a>) -> Result<Lengths, FormatError> {
    let mut lengths = Lengths::default();
    lines.each(first, |line| {
        let text = |key: &str| line.get(key).and_then(Json::as_text).ok_or_else(|| line.bad(key, "a text"));
        let prompt = text("prompt")?;
        let output_tokens = if line.get("output_tokens").is_some() {
            line.tokens("output_tokens")?
        } else if line.get("completion").is_some() {
            estimated_tokens(text("completion")?)
        } else {
            0
        };
        lengths.input_tokens.push(estimated_tokens(prompt));
        lengths.output_tokens.push(output_tokens);
        Ok(())
    })?;
    Ok(lengths)
}
