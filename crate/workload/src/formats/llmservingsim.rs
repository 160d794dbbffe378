//! LLMServingSim's workload (github.com/casys-kaist/LLMServingSim, `workloads/*.jsonl`): `input_toks`, `output_toks` and
//! `arrival_time_ns` of a request, or a session of an agent, whose `sub_requests` follow each other: each is sent when the one before it
//! has ended and its tool has run for `tool_duration_ns`. A file may have both. The ids of tokens in newer files are not read.

use super::json::{Line, Lines};
use super::log::{Entry, Log};
use super::{Contents, FormatError};
use crate::trace::{ClosedLoop, NO_REQUEST};

pub(super) const KEYS: [&str; 4] = ["arrival_time_ns", "sub_requests", "input_toks", "output_toks"];

/// Whether a line with these keys is one of such a file.
pub(super) fn fits(has: &dyn Fn(&str) -> bool) -> bool {
    let [arrival, calls, input, output] = KEYS;
    has(arrival) && (has(calls) || (has(input) && has(output)))
}

pub(super) fn read<'a>(first: Line<'a>, lines: &mut Lines<'a>) -> Result<Contents, FormatError> {
    let (mut log, mut waits, mut empty_entries) = (Log::default(), ClosedLoop::default(), 0);
    lines.each(first, |mut line| {
        let arrival_us = line.time_us("arrival_time_ns", -3)?;
        if !line.has("sub_requests") {
            let entry =
                Entry { session: line.name("session_id")?, model: line.name("model")?, ..call(&line)? };
            log.push(line.row, Entry { arrival_us, ..entry })?;
            waits.push(NO_REQUEST, 0.0);
            return Ok(());
        }
        let calls = line.inside("sub_requests")?;
        // What a bad call holds is read before any of them is kept.
        let read = |call_line: &Line<'_>| Ok((call(call_line)?, tool_us(call_line)?));
        let calls: Vec<(Entry<'_>, f64)> = calls.iter().map(read).collect::<Result<_, FormatError>>()?;
        empty_entries += usize::from(calls.is_empty());
        // LLMServingSim's own name for a session without one: the number of its first request.
        let name = line.name("session_id")?.map_or_else(|| format!("session_{}", log.len()), str::to_owned);
        let (mut before, mut think_us, mut start_us) = (NO_REQUEST, 0.0, arrival_us);
        for ((entry, tool_us), turn) in calls.into_iter().zip(1u32..) {
            let is_left_out = entry.input_tokens == 0 || entry.output_tokens == Some(0);
            let id = log.len() as u32;
            let entry = Entry { arrival_us: start_us, session: Some(&name), turn: Some(turn), ..entry };
            log.push(line.row, entry)?;
            waits.push(before, think_us);
            // The call behind one that is left out waits for the one before that, or for the tools alone.
            if !is_left_out {
                (before, think_us) = (id, tool_us);
            } else if before == NO_REQUEST {
                start_us += tool_us;
            } else {
                think_us += tool_us;
            }
        }
        Ok(())
    })?;
    let mut requests = log.finish();
    requests.closed_loop = waits.holds_any().then(|| Box::new(waits));
    Ok(Contents::Requests { requests, start_ticks: None, empty_entries })
}

fn call(line: &Line<'_>) -> Result<Entry<'static>, FormatError> {
    Ok(Entry {
        input_tokens: line.tokens("input_toks")?,
        output_tokens: Some(line.tokens("output_toks")?),
        ..Entry::default()
    })
}

fn tool_us(line: &Line<'_>) -> Result<f64, FormatError> {
    line.get("tool_duration_ns").map_or(Ok(0.0), |_| line.time_us("tool_duration_ns", -3))
}

#[cfg(test)]
mod tests {
    use crate::formats::{Format, FormatError, read};
    use crate::trace::NO_REQUEST;

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
        assert_eq!(found.trace.closed_loop, None);
        let late = r#"{"input_toks": 1, "output_toks": 1, "arrival_time_ns": 1e18}"#;
        let error = read(late.as_bytes()).unwrap_err();
        assert!(
            matches!(error, FormatError::OutOfRange { max, .. } if (max / 8.64e16 - 1.0).abs() < 1e-12),
            "{error}"
        );
    }

    const SESSIONS: &str = concat!(
        r#"{"session_id": "s", "arrival_time_ns": 4000000, "sub_requests": [{"input_toks": 1472, "output_toks": 133, "tool_duration_ns": 127000000}, {"input_toks": 1582, "output_toks": 125, "tool_duration_ns": 5000}, {"input_toks": 1734, "output_toks": 77}]}"#,
        "\n",
        r#"{"input_toks": 100, "output_toks": 50, "arrival_time_ns": 1000}"#,
        "\n",
        r#"{"arrival_time_ns": 5000000, "sub_requests": []}"#,
        "\n",
        r#"{"arrival_time_ns": 5000000, "sub_requests": [{"input_toks": 8, "output_toks": 0, "tool_duration_ns": 1000}, {"input_toks": 8, "output_toks": 4, "tool_duration_ns": 2000}, {"input_toks": 0, "output_toks": 4, "tool_duration_ns": 3000}, {"input_toks": 9, "output_toks": 4}]}"#,
        "\n",
    );

    #[test]
    fn calls_of_a_session_wait_for_each_other_and_for_their_tools() {
        let found = read(SESSIONS.as_bytes()).expect("sessions");
        assert_eq!((found.format, found.failed, found.empty_entries), (Format::LlmServingSim, 2, 1));
        let trace = found.trace;
        assert_eq!(trace.input_tokens, [100, 1472, 1582, 1734, 8, 9]);
        assert_eq!(trace.arrival_us, [1.0, 4_000.0, 4_000.0, 4_000.0, 5_001.0, 5_001.0]);
        let waits = trace.closed_loop.expect("calls wait");
        assert_eq!(waits.depends_on, [NO_REQUEST, NO_REQUEST, 1, 2, NO_REQUEST, 4]);
        assert_eq!(waits.think_us, [0.0, 0.0, 127_000.0, 5.0, 0.0, 5.0]);
        let metadata = trace.metadata.expect("sessions");
        assert_eq!([0, 1, 4].map(|id| metadata.session.name(id)), [None, Some("s"), Some("session_4")]);
        assert_eq!(metadata.turn, [0, 1, 2, 3, 2, 4]);
    }

    #[test]
    fn a_bad_call_is_told_with_its_line_and_leaves_nothing() {
        let bad = SESSIONS.replace("1582", "-3");
        assert!(
            matches!(read(bad.as_bytes()), Err(FormatError::OutOfRange { row: 1, column, .. }) if column == "input_toks")
        );
        let no_list = r#"{"arrival_time_ns": 1, "sub_requests": 3}"#;
        assert!(
            matches!(read(no_list.as_bytes()), Err(FormatError::BadCell { row: 1, column, .. }) if column == "sub_requests")
        );
    }
}
