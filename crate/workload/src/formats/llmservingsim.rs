//! LLMServingSim's workload (github.com/casys-kaist/LLMServingSim, `dataset/*.jsonl`): `input_toks`, `output_toks`,
//! `arrival_time_ns`, and in newer files the ids of the tokens, which are not read. Its sessions of agents (`sub_requests`) are no
//! lines of this form.

use super::FormatError;
use super::json::{Line, Lines};
use super::log::{Entry, Log};
use crate::trace::Trace;

pub(super) const KEYS: [&str; 3] = ["input_toks", "output_toks", "arrival_time_ns"];

pub(super) fn read<'a>(first: Line<'a>, lines: &mut Lines<'a>) -> Result<Trace, FormatError> {
    let mut log = Log::default();
    lines.each(first, |line| {
        let entry = Entry {
            arrival_us: line.time_us("arrival_time_ns", -3)?,
            input_tokens: line.tokens("input_toks")?,
            output_tokens: Some(line.tokens("output_toks")?),
            session: line.name("session_id")?,
            model: line.name("model")?,
            ..Entry::default()
        };
        log.push(line.row, entry)
    })?;
    Ok(log.finish())
}

#[cfg(test)]
mod tests {
    use crate::formats::{Format, FormatError, read};

    #[test]
    fn times_are_exact_and_bounds_are_in_nanoseconds() {
        let text = concat!(
            r#"{"input_toks": 27, "output_toks": 16, "arrival_time_ns": 101537000}"#,
            "\n",
            r#"{"input_toks": 1390, "output_toks": 527, "arrival_time_ns": 144370001, "input_tok_ids": [1, 2]}"#,
            "\n",
        );
        let found = read(text.as_bytes()).expect("it is a workload");
        assert_eq!(found.format, Format::LlmServingSim);
        assert_eq!(found.trace.arrival_us, [101_537.0, 144_370.001]);
        assert_eq!(
            (&found.trace.input_tokens[..], &found.trace.output_tokens[..]),
            (&[27, 1390][..], &[16, 527][..])
        );
        let late = r#"{"input_toks": 1, "output_toks": 1, "arrival_time_ns": 1e18}"#;
        let error = read(late.as_bytes()).unwrap_err();
        assert!(
            matches!(error, FormatError::OutOfRange { max, .. } if (max / 8.64e16 - 1.0).abs() < 1e-12),
            "{error}"
        );
    }
}
