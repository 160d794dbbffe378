//! What happens while a file is read: progress is reported, reading can be stopped, and bad rows are rejected or set aside.

use std::borrow::Cow;
use std::ops::ControlFlow;

use super::FormatError;
use super::text::{control_character, require_text};

/// Bytes between two reports of progress.
const REPORT_BYTES: usize = 1 << 18;

/// Called with how many bytes of how many were read; may stop the reading.
pub type Progress<'a> = &'a mut dyn FnMut(u64, u64) -> ControlFlow<()>;

/// A row that was set aside, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct BadRow {
    /// Line of the file, the header included.
    pub row: u64,
    /// The column, or "" where the row as a whole is bad.
    pub column: String,
    /// What is wrong: one of the codes of [`FormatError::code`].
    pub reason: &'static str,
    /// The error that a strict reading would have ended with.
    pub error: FormatError,
}

/// The rows that were set aside: the first ones with their place, all of them counted.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BadRows {
    /// How many.
    pub total: usize,
    /// How many of each reason, in the order in which reasons came up.
    pub by_reason: Vec<(&'static str, usize)>,
    /// The first ones.
    pub listed: Vec<BadRow>,
}

impl BadRows {
    fn push(&mut self, error: FormatError, most: usize) {
        let reason = error.code();
        self.total += 1;
        match self.by_reason.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, count)) => *count += 1,
            None => self.by_reason.push((reason, 1)),
        }
        if self.listed.len() < most {
            let (row, column) = error.place().unwrap_or((0, ""));
            self.listed.push(BadRow { row, column: column.to_owned(), reason, error });
        }
    }
}

/// Watches over the reading of one file.
#[derive(Default)]
pub(crate) struct ReadWatch<'a> {
    progress: Option<Progress<'a>>,
    report_at: usize,
    /// How many bad rows to list; `None`: the first one ends the reading.
    tolerated: Option<usize>,
    /// Whether some bytes were no text and stand as replacement characters.
    lossy: bool,
    pub(super) bad: BadRows,
}

impl<'a> ReadWatch<'a> {
    /// Sets bad rows aside if asked to, and lists this many.
    pub(super) fn new(tolerated: Option<usize>, progress: Progress<'a>) -> Self {
        Self { progress: Some(progress), tolerated, ..Self::default() }
    }

    /// The bytes as text. In a tolerant reading what is no text spoils its row only.
    pub(super) fn text<'b>(&mut self, bytes: &'b [u8]) -> Result<Cow<'b, str>, FormatError> {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        if self.tolerated.is_none() {
            return require_text(bytes).map(Cow::Borrowed);
        }
        let text = String::from_utf8_lossy(bytes);
        self.lossy = matches!(text, Cow::Owned(_));
        Ok(text)
    }

    /// Reports that the reading has come to byte `at`.
    pub(super) fn reached(&mut self, at: usize, total: usize) -> Result<(), FormatError> {
        if at < self.report_at {
            return Ok(());
        }
        self.report_at = at + REPORT_BYTES;
        match self.progress.as_mut().map(|message| message(at as u64, total as u64)) {
            Some(ControlFlow::Break(())) => Err(FormatError::Cancelled),
            _ => Ok(()),
        }
    }

    /// Rejects a row with characters that are no text, if the file as a whole was let pass.
    pub(super) fn row_text(&self, row: u64, start: usize, text: &str) -> Result<(), FormatError> {
        if self.tolerated.is_none() {
            return Ok(());
        }
        let replaced = if self.lossy { text.find(char::REPLACEMENT_CHARACTER) } else { None };
        match replaced.or_else(|| control_character(text)) {
            Some(at) => Err(FormatError::NotText { row, byte: (start + at) as u64 }),
            None => Ok(()),
        }
    }

    /// Sets the row of an error aside, or hands the error back.
    pub(super) fn spoiled(&mut self, error: FormatError) -> Result<(), FormatError> {
        match self.tolerated {
            Some(most) if error.place().is_some_and(|(row, _)| row > 0) => {
                self.bad.push(error, most);
                Ok(())
            }
            _ => Err(error),
        }
    }
}
