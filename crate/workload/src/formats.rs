//! Trace files: one format a module, recognised by the columns of the first line.
//!
//! Every reader refuses a bad file as a whole and names the row, the column, the bound and the value, so that nothing is
//! dropped in silence.

pub(crate) mod azure;
mod own;
pub(crate) mod table;
mod vidur;

use crate::trace::Trace;

pub use table::exact_microseconds;

/// A format that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Servescope's own CSV: every column of a [`Trace`].
    Servescope,
    /// Vidur's processed traces: `arrived_at` (s), `num_prefill_tokens`, `num_decode_tokens`.
    Vidur,
    /// Azure LLM inference traces: `TIMESTAMP` (date and time), `ContextTokens`, `GeneratedTokens`.
    Azure,
}

impl Format {
    /// Every format, in the order in which they are tried.
    pub const ALL: [Self; 3] = [Self::Servescope, Self::Vidur, Self::Azure];

    /// The name used on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Servescope => "servescope",
            Self::Vidur => "vidur",
            Self::Azure => "azure",
        }
    }

    /// The format called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|f| f.name() == name)
    }

    /// Whether [`write`] knows it.
    pub fn is_writable(self) -> bool {
        !matches!(self, Self::Azure)
    }

    /// Columns that a file must have to be of this format.
    fn columns(self) -> &'static [&'static str] {
        match self {
            Self::Servescope => &["arrival_s", "input_tokens", "output_tokens"],
            Self::Vidur => &["arrived_at", "num_prefill_tokens", "num_decode_tokens"],
            Self::Azure => &["TIMESTAMP", "ContextTokens", "GeneratedTokens"],
        }
    }
}

/// Most requests that a file may hold.
pub const MAX_ROWS: usize = 5_000_000;
/// Most tokens in one length.
pub const MAX_TOKENS: u32 = 10_000_000;
/// Latest arrival, seconds: one thousand days.
pub const MAX_ARRIVAL_S: f64 = 86_400_000.0;
/// Largest index of a user or adapter.
pub const MAX_INDEX: u32 = 9_999_999;
/// Largest rank of an adapter.
pub const MAX_RANK: u32 = 65_536;

/// Why a trace file was refused. `row` counts the file's lines from 1, the header included.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FormatError {
    /// The file has no bytes, or blank lines only.
    #[error("the file is empty")]
    EmptyFile,
    /// There is a header and no row below it.
    #[error("the file has a header and no rows")]
    NoRows,
    /// The bytes are not text.
    #[error("row {row}: the file is not a text file (byte {byte} is not UTF-8 or is a control character)")]
    NotText {
        /// Line of the file.
        row: u64,
        /// Offset of the first such byte.
        byte: u64,
    },
    /// No known format has these columns.
    #[error("no known format has the columns {found}; known are {known}")]
    UnknownFormat {
        /// The first line, shortened.
        found: String,
        /// Formats and their columns.
        known: String,
    },
    /// A row has more or fewer cells than the header.
    #[error("row {row}: {found} cells where the header has {expected}; the file may be cut off")]
    CellCount {
        /// Line of the file.
        row: u64,
        /// Cells in the row.
        found: usize,
        /// Cells in the header.
        expected: usize,
    },
    /// A cell is not what its column holds.
    #[error("row {row}, column {column}: {expected} expected, got {value:?}")]
    BadCell {
        /// Line of the file.
        row: u64,
        /// Name of the column.
        column: String,
        /// What was expected.
        expected: &'static str,
        /// The cell, shortened.
        value: String,
    },
    /// A number is outside its bounds.
    #[error("row {row}, column {column}: {value} is not between {min} and {max}")]
    OutOfRange {
        /// Line of the file.
        row: u64,
        /// Name of the column.
        column: String,
        /// The cell, shortened.
        value: String,
        /// Smallest value.
        min: f64,
        /// Largest value.
        max: f64,
    },
    /// Two rows give one adapter two ranks.
    #[error("row {row}: adapter {adapter} has rank {rank} here and {former} above")]
    RankConflict {
        /// Line of the file.
        row: u64,
        /// Index of the adapter.
        adapter: u32,
        /// Rank in this row.
        rank: u32,
        /// Rank in a former row.
        former: u32,
    },
    /// There are more rows than [`MAX_ROWS`].
    #[error("row {row}: more than {max} requests")]
    TooManyRows {
        /// Line of the file.
        row: u64,
        /// Most requests.
        max: usize,
    },
}

/// What was read.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadTrace {
    /// Its format.
    pub format: Format,
    /// The requests, in order of arrival.
    pub trace: Trace,
    /// Whether rows had to be put in order of arrival.
    pub reordered: bool,
}

/// Reads a trace of any known format.
///
/// # Errors
/// [`FormatError`], with the place in the file.
pub fn read(bytes: &[u8]) -> Result<ReadTrace, FormatError> {
    let mut table = table::Table::open(bytes)?;
    let Some(format) = Format::ALL.into_iter().find(|f| f.columns().iter().all(|c| table.has(c))) else {
        let known: Vec<String> =
            Format::ALL.iter().map(|f| format!("{} ({})", f.name(), f.columns().join(", "))).collect();
        return Err(FormatError::UnknownFormat { found: table.header_text(), known: known.join("; ") });
    };
    let mut trace = match format {
        Format::Servescope => own::read(&mut table),
        Format::Vidur => vidur::read(&mut table),
        Format::Azure => azure::read(&mut table),
    }?;
    if trace.is_empty() {
        return Err(FormatError::NoRows);
    }
    let reordered = trace.sort();
    trace.sort_cancellations();
    Ok(ReadTrace { format, trace, reordered })
}

/// Writes a trace as text; `None` for a format that is only read.
pub fn write(trace: &Trace, format: Format) -> Option<String> {
    match format {
        Format::Servescope => Some(own::write(trace)),
        Format::Vidur => Some(vidur::write(trace)),
        Format::Azure => None,
    }
}

#[cfg(test)]
mod tests;
