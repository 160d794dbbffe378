//! Vidur's processed traces: `arrived_at` in seconds, `num_prefill_tokens`, `num_decode_tokens`. Users, adapters and
//! bounds on output have no column there.

use std::fmt::Write as _;

use super::table::{Table, seconds_text};
use super::{FormatError, MAX_TOKENS};
use crate::trace::{BASE_MODEL, Request, Trace};

pub(super) const COLUMNS: [&str; 3] = ["arrived_at", "num_prefill_tokens", "num_decode_tokens"];

pub(super) fn read(table: &mut Table<'_>) -> Result<Trace, FormatError> {
    let [arrival, input, output] = table.named(COLUMNS).ok_or(FormatError::EmptyFile)?;
    let mut trace = Trace::default();
    table.each_row(|table| {
        let output_tokens = table.tokens(output)?;
        trace.push(Request {
            arrival_us: table.seconds_as_us(arrival)?,
            user: 0,
            adapter: BASE_MODEL,
            input_tokens: table.tokens(input)?,
            output_tokens,
            max_tokens: output_tokens,
        });
        Ok(())
    })?;
    Ok(trace)
}

/// How Vidur replays a trace.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Replay {
    /// Factor of arrival times.
    pub time_scale: f64,
    /// Factors of prompt and output, before they are made whole.
    pub length_scales: [f64; 2],
    /// Longest request, prompt and output: longer prompts are cut.
    pub max_tokens: u32,
}

impl Replay {
    /// Prompt and output as they are replayed: scaled, cut to whole tokens, at least one each; what is beyond the longest
    /// request is cut from the prompt, of which Vidur may leave nothing and one token stays here.
    pub fn lengths(&self, [prompt, answer]: [f64; 2]) -> [u32; 2] {
        let [of_prompt, of_answer] = self.length_scales;
        let whole = |tokens: f64| tokens.clamp(1.0, MAX_TOKENS.into()) as u32;
        let answer = whole(answer * of_answer);
        [whole(prompt * of_prompt).min(self.max_tokens.saturating_sub(answer)).max(1), answer]
    }

    /// A trace of any origin as it is replayed.
    pub fn apply(&self, trace: &mut Trace) {
        trace.cancellations.iter_mut().for_each(|(at_us, _)| *at_us *= self.time_scale);
        for i in 0..trace.len() {
            trace.arrival_us[i] *= self.time_scale;
            let [prompt, answer] =
                self.lengths([trace.input_tokens[i].into(), trace.output_tokens[i].into()]);
            (trace.input_tokens[i], trace.output_tokens[i]) = (prompt, answer);
            trace.max_tokens[i] = answer;
        }
    }
}

/// Reads a trace as Vidur replays it. Lengths may be parts of a token, and nothing.
pub(super) fn replayed(table: &mut Table<'_>, replay: &Replay) -> Result<Trace, FormatError> {
    let [arrival, input, output] = table.named(COLUMNS).ok_or(FormatError::EmptyFile)?;
    let mut trace = Trace::default();
    table.each_row(|table| {
        let lengths = [table.number_to(input, MAX_TOKENS)?, table.number_to(output, MAX_TOKENS)?];
        let [input_tokens, output_tokens] = replay.lengths(lengths);
        trace.push(Request {
            arrival_us: table.seconds_as_us(arrival)? * replay.time_scale,
            user: 0,
            adapter: BASE_MODEL,
            input_tokens,
            output_tokens,
            max_tokens: output_tokens,
        });
        Ok(())
    })?;
    Ok(trace)
}

pub(super) fn write(trace: &Trace) -> String {
    let mut text = String::with_capacity(trace.len() * 24);
    text.push_str("arrived_at,num_prefill_tokens,num_decode_tokens\n");
    for id in 0..trace.len() {
        let r = trace.request(id);
        let _ = writeln!(text, "{},{},{}", seconds_text(r.arrival_us), r.input_tokens, r.output_tokens);
    }
    text
}
