//! Rows of a request log, collected as a [`Trace`] in the order of the file.

use super::{FormatError, MAX_ARRIVAL_S, MAX_ROWS};
use crate::trace::{BASE_MODEL, IdLists, LabelMaker, PrefixBlocks, Request, Trace, TraceMetadata};

/// One row of a log. What a format has no column for keeps its default.
#[derive(Debug, Clone, Default)]
pub(super) struct Entry<'a> {
    pub(super) arrival_us: f64,
    pub(super) user: u32,
    pub(super) input_tokens: u32,
    /// 0 where there was no answer; `None` where the file does not say how long it was.
    pub(super) output_tokens: Option<u32>,
    pub(super) session: Option<&'a str>,
    pub(super) turn: Option<u32>,
    pub(super) model: Option<&'a str>,
    pub(super) kind: Option<&'a str>,
    pub(super) recorded_latency_s: Option<f64>,
    pub(super) hash_ids: Option<Vec<u64>>,
    pub(super) output_hash_ids: Option<Vec<u64>>,
}

/// Rejects a time that is too late: a sum of times, each of which is within its bound.
pub(super) fn check_time(row: u64, arrival_us: f64) -> Result<(), FormatError> {
    if arrival_us <= MAX_ARRIVAL_S * 1e6 {
        return Ok(());
    }
    Err(FormatError::OutOfRange {
        row,
        column: "time".to_owned(),
        value: (arrival_us / 1e6).to_string(),
        min: 0.0,
        max: MAX_ARRIVAL_S,
    })
}

/// The log so far.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a column of its own")]
pub(super) struct Log {
    trace: Trace,
    session: LabelMaker,
    model: LabelMaker,
    kind: LabelMaker,
    turn: Vec<u32>,
    recorded_latency_s: Vec<f64>,
    assumed_output: Vec<bool>,
    prefix: PrefixBlocks,
    has_turns: bool,
    has_times: bool,
    has_blocks: bool,
    has_outputs: bool,
}

impl Log {
    /// A log whose prefix blocks have `block_tokens` tokens.
    pub(super) fn new(block_tokens: u32) -> Self {
        Self { prefix: PrefixBlocks::new(block_tokens), ..Self::default() }
    }

    /// Appends a row.
    pub(super) fn push(&mut self, row: u64, entry: Entry<'_>) -> Result<(), FormatError> {
        if self.trace.len() >= MAX_ROWS {
            return Err(FormatError::TooManyRows { row, max: MAX_ROWS });
        }
        check_time(row, entry.arrival_us)?;
        let output_tokens = entry.output_tokens.unwrap_or(0);
        self.assumed_output.push(entry.output_tokens.is_none());
        self.trace.push(Request {
            arrival_us: entry.arrival_us,
            user: entry.user,
            adapter: BASE_MODEL,
            input_tokens: entry.input_tokens,
            output_tokens,
            max_tokens: output_tokens,
        });
        self.session.push(entry.session);
        self.model.push(entry.model);
        self.kind.push(entry.kind);
        self.has_turns |= entry.turn.is_some();
        self.turn.push(entry.turn.unwrap_or(0));
        self.has_times |= entry.recorded_latency_s.is_some();
        self.recorded_latency_s.push(entry.recorded_latency_s.unwrap_or(f64::NAN));
        self.has_blocks |= entry.hash_ids.is_some();
        self.prefix.push(entry.hash_ids.unwrap_or_default());
        self.has_outputs |= entry.output_hash_ids.is_some();
        self.prefix.outputs.push(entry.output_hash_ids.unwrap_or_default());
        Ok(())
    }

    /// Number of rows.
    pub(super) fn len(&self) -> usize {
        self.trace.len()
    }

    /// The rows, in the order of the file.
    pub(super) fn finish(mut self) -> Trace {
        let mut trace = self.trace;
        if !self.has_outputs {
            self.prefix.outputs = IdLists::default();
        }
        trace.set_metadata(TraceMetadata {
            session: self.session.finish(),
            turn: if self.has_turns { self.turn } else { Vec::new() },
            model: self.model.finish(),
            kind: self.kind.finish(),
            prefix: if self.has_blocks { self.prefix } else { PrefixBlocks::default() },
            recorded_latency_s: if self.has_times { self.recorded_latency_s } else { Vec::new() },
            assumed_output: self.assumed_output,
            ignores_eos: Vec::new(),
            rank: Vec::new(),
            ..TraceMetadata::default()
        });
        trace
    }
}
