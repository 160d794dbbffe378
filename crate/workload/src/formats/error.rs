//! Why a trace file was rejected.

/// Why a trace file was rejected. `row` counts the file's lines from 1, the header included.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FormatError {
    /// The file has no bytes, or blank lines only.
    #[error("the file is empty")]
    EmptyFile,
    /// There is a header and no row below it.
    #[error("the file has a header and no rows")]
    NoRows,
    /// The file says how requests look, and not when they arrive.
    #[error(
        "the file has no arrival times (format {format}): it can be inspected, and give a generated workload its lengths (--lengths-from FILE)"
    )]
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
    /// A time is outside its bounds in the unit that was said, and would be inside in a smaller one.
    #[error(
        "row {row}, column {column}: {value} is not between {min} and {max} ({unit}); it looks like a smaller unit: arrival={column}:{likely}"
    )]
    WrongUnit {
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
        /// The unit that was said.
        unit: &'static str,
        /// The unit that the value seems to have.
        likely: &'static str,
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
    /// The file lacks a column that the mapping names.
    #[error("there is no column {column:?}; the file has {known}")]
    NoColumn {
        /// The column that was asked for.
        column: String,
        /// The file's columns, shortened.
        known: String,
    },
    /// A gzip stream ends too early or is damaged.
    #[error("the gzip stream is cut off or damaged, {bytes} unpacked bytes in")]
    Packed {
        /// Bytes that came out of it.
        bytes: u64,
    },
    /// A gzip stream unpacks to too many bytes.
    #[error("the gzip stream unpacks to more than {} MiB ({max_bytes} bytes); unpack or split it first", max_bytes >> 20)]
    UnpacksTooLarge {
        /// Most bytes.
        max_bytes: u64,
    },
    /// The reader was stopped.
    #[error("reading was stopped")]
    Cancelled,
    /// There are more rows than [`MAX_ROWS`](super::MAX_ROWS).
    #[error("row {row}: more than {max} requests")]
    TooManyRows {
        /// Line of the file.
        row: u64,
        /// Most requests.
        max: usize,
    },
}

impl FormatError {
    /// A name for what is wrong, the same for every row and value.
    pub fn code(&self) -> &'static str {
        match self {
            Self::EmptyFile => "empty_file",
            Self::NoRows => "no_rows",
            Self::NoTimes { .. } => "no_times",
            Self::NotText { .. } => "not_text",
            Self::UnknownFormat { .. } => "unknown_format",
            Self::CellCount { .. } => "cell_count",
            Self::BadCell { .. } => "bad_cell",
            Self::OutOfRange { .. } => "cell_out_of_range",
            Self::WrongUnit { .. } => "wrong_unit",
            Self::RankConflict { .. } => "rank_conflict",
            Self::NoColumn { .. } => "no_column",
            Self::Packed { .. } => "bad_gzip",
            Self::UnpacksTooLarge { .. } => "unpacks_too_large",
            Self::Cancelled => "cancelled",
            Self::TooManyRows { .. } => "too_many_rows",
        }
    }

    /// The same error in a file without the line that was put above it.
    pub(super) fn one_row_up(mut self) -> Self {
        if let Self::NotText { row, .. }
        | Self::CellCount { row, .. }
        | Self::BadCell { row, .. }
        | Self::OutOfRange { row, .. }
        | Self::WrongUnit { row, .. }
        | Self::RankConflict { row, .. }
        | Self::TooManyRows { row, .. } = &mut self
        {
            *row = row.saturating_sub(1);
        }
        self
    }

    /// The row that is bad, and its column or ""; `None` for what is wrong with the file as a whole.
    pub fn place(&self) -> Option<(u64, &str)> {
        match self {
            Self::NotText { row, .. } | Self::CellCount { row, .. } | Self::RankConflict { row, .. } => {
                Some((*row, ""))
            }
            Self::BadCell { row, column, .. }
            | Self::OutOfRange { row, column, .. }
            | Self::WrongUnit { row, column, .. } => Some((*row, column)),
            _ => None,
        }
    }
}
