//! Output lengths that a file does not have. AIBrix's generator writes `null` where its prompt file has no completions;
//! such a request was not a failed one, and needs a length before it can be simulated.

use super::{Contents, MAX_TOKENS, TraceFile};
use crate::trace::Trace;

/// Output length where no request of a file has a known one, tokens: the mean of AIBrix's named patterns.
const DEFAULT_TOKENS: u32 = crate::aibrix::curve::NAMED_MEAN_TOKENS as u32;

/// Where an assumed output length comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AssumedFrom {
    /// The caller gave it.
    Given,
    /// The median of the output lengths that the file has.
    Median,
    /// The file has none.
    Default,
}

/// The output length that was set where a file has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Assumed {
    /// Requests without an output length.
    pub requests: usize,
    /// The length that each of them was given, tokens.
    pub output_tokens: u32,
    /// Where the length comes from.
    pub from: AssumedFrom,
}

impl TraceFile {
    /// Sets the output length of requests whose own the file does not have: `any_tokens`, or the median of the known ones,
    /// or 1024 tokens where none is known. What was set before is set again.
    pub fn assume_output(&mut self, any_tokens: Option<u32>) {
        let Contents::Requests { requests, .. } = &mut self.contents else { return };
        let Some(unknown) = requests.metadata.as_ref().map(|metadata| metadata.assumed_output.clone()) else {
            return;
        };
        let count = unknown.iter().filter(|is_unknown| **is_unknown).count();
        if count == 0 {
            return;
        }
        let (output_tokens, from) = match any_tokens {
            Some(tokens) => (tokens, AssumedFrom::Given),
            None => match median(requests, &unknown) {
                Some(tokens) => (tokens, AssumedFrom::Median),
                None => (DEFAULT_TOKENS, AssumedFrom::Default),
            },
        };
        let output_tokens = output_tokens.clamp(1, MAX_TOKENS);
        for (id, _) in unknown.iter().enumerate().filter(|(_, is_unknown)| **is_unknown) {
            requests.output_tokens[id] = output_tokens;
            requests.max_tokens[id] = output_tokens;
        }
        self.assumed = Some(Assumed { requests: count, output_tokens, from });
    }
}

/// The median output length of requests that have one and did not fail, rounded down.
fn median(requests: &Trace, unknown: &[bool]) -> Option<u32> {
    let known = requests.output_tokens.iter().zip(unknown);
    let mut known: Vec<u32> =
        known.filter(|&(&tokens, is_unknown)| tokens > 0 && !is_unknown).map(|(&tokens, _)| tokens).collect();
    known.sort_unstable();
    let upper = *known.get(known.len() / 2)?;
    let lower = known[(known.len() - 1) / 2];
    Some(u32::midpoint(lower, upper))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::formats::{Format, ReadOptions, Reading, read_with, write};
    use crate::transform::{TransformStep, apply};

    fn reading(text: &str, any_output_tokens: Option<u32>) -> Reading {
        let options = ReadOptions { any_output_tokens, ..ReadOptions::default() };
        let go_on = &mut |_, _| std::ops::ControlFlow::Continue(());
        read_with(text.as_bytes(), &options, go_on).unwrap_or_else(|error| panic!("{error}"))
    }

    fn line(at_ms: u32, output: &str) -> String {
        format!(
            "{{\"timestamp\": {at_ms}, \"requests\": [{{\"prompt\": \"\", \"prompt_length\": 9, \"output_length\": {output}}}]}}\n"
        )
    }

    fn message(reading: &Reading) -> Vec<(&'static str, String)> {
        reading.warnings().iter().map(|warning| (warning.code, warning.to_text())).collect()
    }

    #[test]
    fn unknown_lengths_are_assumed_told_and_written_as_null() {
        let text = line(0, "10") + &line(5, "null") + &line(9, "31") + &line(12, "0") + &line(14, "NaN");
        let read = reading(&text, None);
        assert_eq!(read.read.trace.output_tokens, [10, 20, 31, 20]);
        assert_eq!(read.read.trace.max_tokens, [10, 20, 31, 20]);
        let expected = [
            ("failed_rows", "1 requests without a prompt or an answer were left out".to_owned()),
            (
                "output_assumed_median",
                "2 requests have no output length in the file; each was given 20 tokens, the median of the others".to_owned(),
            ),
        ];
        assert_eq!(message(&read), expected);
        let written = write(&read.read.trace, Format::Aibrix).expect("it is written");
        assert_eq!(written, line(0, "10") + &line(5, "null") + &line(9, "31") + &line(14, "null"));
    }

    #[test]
    fn a_given_length_goes_first_and_a_file_without_any_has_the_default() {
        let text = line(0, "null") + &line(5, "null");
        let none = reading(&text, None);
        assert_eq!(none.read.trace.output_tokens, [1024; 2]);
        assert_eq!(message(&none)[0].0, "output_assumed_default");
        let given = reading(&(text + &line(7, "3")), Some(77));
        assert_eq!(given.read.trace.output_tokens, [77, 77, 3]);
        assert_eq!(message(&given)[0].0, "output_assumed_given");
    }

    #[test]
    fn a_request_of_the_generators_readme_is_kept() {
        let text = r#"{"timestamp": 19, "requests": [{"prompt": "I need to know", "prompt_length": 101, "output_length": null, "session_id": 0}]}"#;
        let read = reading(text, None);
        assert_eq!((read.read.trace.len(), read.read.trace.input_tokens[0]), (1, 101));
    }

    #[test]
    fn steps_and_joins_keep_what_is_unknown() {
        let steps = [TransformStep::parse("shift:by_s=1").unwrap()];
        let (trace, _) = apply(&steps, reading(&(line(0, "null") + &line(2, "4")), None).read.trace).unwrap();
        assert_eq!(write(&trace, Format::Aibrix).unwrap(), line(1000, "null") + &line(1002, "4"));
        let part = |name: &str, output: &str| (name.to_owned(), reading(&line(0, output), None).read.trace);
        let (joined, _) = crate::transform::join(
            &TransformStep::new("merge").unwrap(),
            vec![part("a", "4"), part("b", "null")],
        )
        .unwrap();
        assert_eq!(joined.metadata.expect("it has the column").assumed_output, [false, true]);
    }

    proptest! {
        /// However lengths are spread: none is lost, and what was read is written again.
        #[test]
        fn no_request_is_lost(outputs in prop::collection::vec(prop::option::of(1u32..5000), 1..40), any in prop::option::of(0u32..u32::MAX)) {
            let text: String = outputs
                .iter()
                .enumerate()
                .map(|(i, output)| line(i as u32, &output.map_or("null".to_owned(), |tokens| tokens.to_string())))
                .collect();
            let read = reading(&text, any);
            prop_assert_eq!(read.read.trace.len(), outputs.len());
            prop_assert!(read.read.trace.output_tokens.iter().all(|tokens| (1..=MAX_TOKENS).contains(tokens)));
            prop_assert_eq!(write(&read.read.trace, Format::Aibrix).unwrap(), text);
        }
    }
}
