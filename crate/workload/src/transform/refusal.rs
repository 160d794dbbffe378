//! A rejection as data: a code, the field, and what a page fills its own words with.

use super::StepError;

/// Every code that [`StepError::code`] gives.
pub const REJECTIONS: &[&str] = &[
    "unknown_step",
    "unknown_field",
    "said_twice",
    "no_assignment",
    "bad_value",
    "out_of_range",
    "needs_several",
    "takes_one",
    "nothing_left",
    "no_sessions",
    "no_rate",
    "above_rate",
    "no_stamps",
    "before_start",
    "too_late",
    "too_many_requests",
    "too_many_names",
    "rank_conflict",
    "too_many_blocks",
];

impl StepError {
    /// One of [`REJECTIONS`].
    pub fn code(&self) -> &'static str {
        match self {
            Self::UnknownStep { .. } => "unknown_step",
            Self::UnknownField { .. } => "unknown_field",
            Self::Twice { .. } => "said_twice",
            Self::NoAssignment { .. } => "no_assignment",
            Self::BadValue { .. } => "bad_value",
            Self::OutOfRange { .. } => "out_of_range",
            Self::NeedsSeveral { .. } => "needs_several",
            Self::TakesOne { .. } => "takes_one",
            Self::NothingLeft { .. } => "nothing_left",
            Self::NoSessions { .. } => "no_sessions",
            Self::NoRate { .. } => "no_rate",
            Self::AboveRate { .. } => "above_rate",
            Self::NoStamps { .. } => "no_stamps",
            Self::BeforeStart { .. } => "before_start",
            Self::TooLate { .. } => "too_late",
            Self::TooManyRequests { .. } => "too_many_requests",
            Self::TooManyNames { .. } => "too_many_names",
            Self::RankConflict { .. } => "rank_conflict",
            Self::TooManyBlocks { .. } => "too_many_blocks",
        }
    }

    /// The field that is to be changed, where one is.
    pub fn field(&self) -> Option<&'static str> {
        match self {
            Self::Twice { field, .. } | Self::BadValue { field, .. } | Self::OutOfRange { field, .. } => {
                Some(field)
            }
            Self::AboveRate { .. } => Some("rate_rps"),
            Self::NoStamps { .. } => Some("interval_s"),
            _ => None,
        }
    }

    /// The numbers of the rejection, by name.
    pub fn params(&self) -> Vec<(&'static str, f64)> {
        match *self {
            Self::OutOfRange { value, min, max, .. } => vec![("value", value), ("min", min), ("max", max)],
            Self::AboveRate { target, rate, .. } => vec![("target", target), ("rate", rate)],
            Self::BeforeStart { first_s, .. } => vec![("first_s", first_s)],
            Self::TooLate { last_s, max, .. } => vec![("last_s", last_s), ("max", max)],
            Self::TooManyRequests { count, max, .. } => vec![("count", count as f64), ("max", max as f64)],
            Self::TooManyBlocks { count, max, .. } => vec![("count", count), ("max", max)],
            Self::TooManyNames { count, max, .. } => {
                vec![("count", f64::from(count)), ("max", f64::from(max))]
            }
            Self::RankConflict { adapter, rank, former, .. } => {
                vec![("adapter", adapter as f64), ("rank", f64::from(rank)), ("former", f64::from(former))]
            }
            _ => Vec::new(),
        }
    }
}
