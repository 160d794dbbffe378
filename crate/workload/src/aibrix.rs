//! The AIBrix workload generator's semantics (vllm-project/aibrix, `benchmarks/generator`, Apache-2.0).
//!
//! Each file is one idea of that generator: its curves ([`curve`], [`config`]), its arrivals ([`arrivals`]), its
//! statistics files ([`stat`], [`percentiles`], [`smoothing`]), its readers of traces ([`grouping`]), its choice of
//! prompts ([`matching`], [`sessions`]), its agent sessions ([`agent`]), its workload file ([`lines`]) and its tools for
//! whole files ([`mod@concat`]). [`run`] puts them together as its command line does.
//! Functions take every random number as an argument, so that they give AIBrix's answers for AIBrix's
//! draws; [`generate`] feeds them from named streams. What AIBrix gets wrong is rejected with a reason or done
//! right; the place says which.

pub mod agent;
pub mod arrivals;
pub mod concat;
pub mod config;
pub mod curve;
pub mod field;
pub mod generate;
pub mod grouping;
pub mod inputs;
pub mod lines;
pub mod matching;
pub mod percentiles;
pub mod poisson;
pub mod run;
pub mod sessions;
pub mod smoothing;
pub mod stat;

use crate::formats::FormatError;

/// Most entries of a list or workload.
pub const MAX_ENTRIES: usize = crate::formats::MAX_ROWS;

/// Why an input of the generator was rejected.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum AibrixError {
    /// No pattern has this name.
    #[error("no pattern is called {name:?}; known are {known}")]
    UnknownPattern {
        /// The name given.
        name: String,
        /// The names there are.
        known: String,
    },
    /// A key that must be there is not.
    #[error("the key {key:?} is missing")]
    MissingKey {
        /// Name of the key.
        key: &'static str,
    },
    /// A value is not of the kind, or not within the bounds, of its key.
    #[error("{key}: {expected} expected, got {value}")]
    BadValue {
        /// Name of the key or argument.
        key: &'static str,
        /// What was expected, bounds included.
        expected: &'static str,
        /// The value, as text.
        value: String,
    },
    /// A rate is below zero: the curve's amplitude exceeds its mean.
    #[error("second {second}: the rate {rate_rps} is below zero; lower the amplitude or raise the mean")]
    NegativeRate {
        /// Place in the list of rates.
        second: usize,
        /// The rate, requests a second.
        rate_rps: f64,
    },
    /// Lists that go together differ in length.
    #[error("{rates} rates go with {lengths} {name}; one for each is needed")]
    ListLength {
        /// Entries in the list of rates.
        rates: usize,
        /// Which other list.
        name: &'static str,
        /// Its entries.
        lengths: usize,
    },
    /// More entries than [`MAX_ENTRIES`].
    #[error("more than {MAX_ENTRIES} {what}")]
    TooMany {
        /// Of what.
        what: &'static str,
    },
    /// Percentiles fall where they must not.
    #[error("percentiles must not decrease: {lower} is followed by {upper}")]
    DecreasingPercentiles {
        /// The length at the lower level, tokens.
        lower: f64,
        /// The length at the higher level, tokens.
        upper: f64,
    },
    /// A file has no such column.
    #[error("the {file} file has no column {column:?}")]
    MissingColumn {
        /// Which file.
        file: &'static str,
        /// Name of the column.
        column: &'static str,
    },
    /// A file without times has another number of rows than the one it goes with.
    #[error(
        "the {file} file has no column \"Time\" and {rows} rows where the traffic file has {traffic}: rows go together in their order"
    )]
    RowCount {
        /// Which file.
        file: &'static str,
        /// Its rows.
        rows: usize,
        /// Rows of the traffic file.
        traffic: usize,
    },
    /// A file of bytes names none.
    #[error("the length file has no column whose name begins with recv_bytes or sent_bytes; it has {known}")]
    NoByteColumns {
        /// The file's columns, shortened.
        known: String,
    },
    /// A file could not be read.
    #[error("{file} file: {error}")]
    File {
        /// Which file.
        file: &'static str,
        /// What is wrong, and where.
        error: FormatError,
    },
    /// A time is given twice in one file.
    #[error("{file} file, row {row}: the time {time:?} is there twice")]
    RepeatedTime {
        /// Which file.
        file: &'static str,
        /// Line of the file.
        row: u64,
        /// The time, as text.
        time: String,
    },
    /// Too few rows to know how long one lasts.
    #[error("{rows} rows have their times in all files; two, at least a second apart, are needed")]
    TooFewRows {
        /// Rows that were matched.
        rows: usize,
    },
    /// An input that this trace type needs is not given, or one it cannot use is.
    #[error("the trace type {trace_type} {problem}")]
    Inputs {
        /// Name of the trace type.
        trace_type: &'static str,
        /// What is missing or too many.
        problem: &'static str,
    },
}

/// A finite number above zero, or an error that names `key`.
fn positive(key: &'static str, value: f64) -> Result<f64, AibrixError> {
    if value.is_finite() && value > 0.0 {
        Ok(value)
    } else {
        Err(AibrixError::BadValue { key, expected: "a number above zero", value: value.to_string() })
    }
}
