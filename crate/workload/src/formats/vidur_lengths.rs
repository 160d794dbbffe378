//! Vidur's length traces (github.com/microsoft/vidur, `data/processed_traces`): `num_prefill_tokens`,
//! `num_decode_tokens` and no times. They can be inspected, and give a generator its lengths.

use super::table::Table;
use super::{FormatError, MAX_ROWS};

pub(super) const COLUMNS: [&str; 2] = ["num_prefill_tokens", "num_decode_tokens"];

/// Lengths without times, in the order of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lengths {
    /// Prompt lengths, tokens.
    pub input_tokens: Vec<u32>,
    /// Output lengths, tokens.
    pub output_tokens: Vec<u32>,
}

impl Lengths {
    /// Appends a pair.
    pub(super) fn push(
        &mut self,
        row: u64,
        input_tokens: u32,
        output_tokens: u32,
    ) -> Result<(), FormatError> {
        if self.input_tokens.len() >= MAX_ROWS {
            return Err(FormatError::TooManyRows { row, max: MAX_ROWS });
        }
        self.input_tokens.push(input_tokens);
        self.output_tokens.push(output_tokens);
        Ok(())
    }
}

pub(super) fn read(table: &mut Table<'_>) -> Result<Lengths, FormatError> {
    let [input, output] = table.named(COLUMNS).ok_or(FormatError::EmptyFile)?;
    let mut lengths = Lengths::default();
    table.each_row(|table| {
        let (input_tokens, output_tokens) = (table.tokens_or_none(input)?, table.tokens_or_none(output)?);
        lengths.input_tokens.push(input_tokens);
        lengths.output_tokens.push(output_tokens);
        Ok(())
    })?;
    Ok(lengths)
}
