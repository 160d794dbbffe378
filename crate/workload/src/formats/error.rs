//! Why a trace file was refused.

/// Why a trace file was refused. `row` counts the file's lines from 1, the header included.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FormatError {
    /// The file has no bytes, or blank lines only.
    #[error("the file is empty")]
    EmptyFile,
    /// There is a header and no row below it.
    #[error("the file has a header and no rows")]
    NoRows,
    /// The file says how requests look, and not when they arrive.
    #[error("the file has no arrival times (format {format}): it can be inspected and not simulated")]
    NoTimes {
        /// Name of the format.
        format: &'static str,
    },
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
    /// There are more rows than [`MAX_ROWS`](super::MAX_ROWS).
    #[error("row {row}: more than {max} requests")]
    TooManyRows {
        /// Line of the file.
        row: u64,
        /// Most requests.
        max: usize,
    },
}
