//! Requests of real traces in groups of equal time (AIBrix, `generate_from_azure_csv`, `generate_from_mooncake_jsonl`).

use std::collections::BTreeMap;

use super::concat::WorkloadLine;
use super::{AibrixError, positive};
use crate::formats::azure::parse_time;
use crate::formats::table::{Column, Table};
use crate::formats::{self, Contents, Format, FormatError, MAX_TOKENS};
use crate::trace::Trace;

/// Tokens that one hash id of a Mooncake trace stands for.
pub const MOONCAKE_BLOCK_TOKENS: u64 = 512;

/// Ticks of [`AzureRow::time_ticks`] in a millisecond.
const TICKS_PER_MS: f64 = 10_000.0;

/// A row of an Azure trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AzureRow {
    /// Its time, in units of 100 ns since 1970.
    pub time_ticks: i64,
    /// Prompt length, tokens.
    pub context_tokens: u32,
    /// Completion length, tokens.
    pub generated_tokens: u32,
}

/// Reads the columns `TIMESTAMP`, `ContextTokens` and `GeneratedTokens`, keeping the order of the file.
///
/// # Errors
/// [`AibrixError::MissingColumn`], [`AibrixError::File`] with the row and column of a bad cell.
pub fn azure_rows(bytes: &[u8]) -> Result<Vec<AzureRow>, AibrixError> {
    const FILE: &str = "trace";
    let at = |error: FormatError| AibrixError::File { file: FILE, error };
    let mut table = Table::open(bytes).map_err(at)?;
    let column = |name: &'static str| {
        table.column(name).ok_or(AibrixError::MissingColumn { file: FILE, column: name })
    };
    let (time, context, generated) =
        (column("TIMESTAMP")?, column("ContextTokens")?, column("GeneratedTokens")?);
    let mut rows = Vec::new();
    while table.next_row().map_err(at)? {
        rows.push(AzureRow {
            time_ticks: parse_time(table.text(time)).ok_or_else(|| at(table.bad(time, "a date and time")))?,
            context_tokens: tokens(&table, context).map_err(at)?,
            generated_tokens: tokens(&table, generated).map_err(at)?,
        });
    }
    if rows.is_empty() { Err(at(FormatError::NoRows)) } else { Ok(rows) }
}

/// A length; unlike a request of ours, a row of a log may have none.
fn tokens(table: &Table<'_>, column: Column) -> Result<u32, FormatError> {
    let value: Option<f64> = table.text(column).parse().ok();
    let fits = |x: &f64| (0.0..=f64::from(MAX_TOKENS)).contains(x) && x.trunc() == *x;
    value.filter(fits).map(|x| x as u32).ok_or_else(|| table.bad(column, "a whole number of tokens"))
}

/// Groups rows into windows of `interval_ms` from the earliest row; a group's time is that of its window's start.
///
/// Windows start up to and including the duration, or the last row where that is earlier; empty ones are left out.
///
/// # Errors
/// [`AibrixError::BadValue`] for an interval that is not above zero.
pub fn azure_groups(
    rows: &[AzureRow],
    duration_ms: f64,
    interval_ms: f64,
) -> Result<Vec<WorkloadLine<AzureRow>>, AibrixError> {
    let interval_ms = positive("interval_ms", interval_ms)?;
    let start = rows.iter().map(|row| row.time_ticks).min().unwrap_or(0);
    let mut windows: BTreeMap<u64, Vec<AzureRow>> = BTreeMap::new();
    for &row in rows {
        let since_ms = (i128::from(row.time_ticks) - i128::from(start)) as f64 / TICKS_PER_MS;
        let window = (since_ms / interval_ms).floor();
        if window * interval_ms <= duration_ms {
            windows.entry(window as u64).or_default().push(row);
        }
    }
    Ok(windows
        .into_iter()
        .map(|(window, requests)| WorkloadLine {
            timestamp_ms: window as f64 * interval_ms,
            requests,
            other: (),
        })
        .collect())
}

/// A row of a Mooncake trace.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MooncakeRow {
    /// Milliseconds from the start.
    pub timestamp_ms: f64,
    /// Real prompt length, tokens.
    pub input_tokens: u32,
    /// Completion length, tokens.
    pub output_tokens: u32,
    /// Hash ids of the prompt.
    pub blocks: u32,
}

/// Reads the requests of a Mooncake trace, keeping the order of the file.
///
/// # Errors
/// [`AibrixError::File`] with the row and key of a bad value, or where the file is no such trace.
pub fn mooncake_requests(bytes: &[u8]) -> Result<Trace, AibrixError> {
    const FILE: &str = "trace";
    let at = |error: FormatError| AibrixError::File { file: FILE, error };
    let file = formats::open(bytes).map_err(at)?;
    match (file.format, file.contents) {
        (Format::Mooncake | Format::TimedTrace, Contents::Requests { requests, .. }) => Ok(requests),
        _ => Err(AibrixError::MissingColumn { file: FILE, column: "hash_ids" }),
    }
}

/// The rows of a trace as Mooncake's.
pub fn mooncake_rows(trace: &Trace) -> Vec<MooncakeRow> {
    let row = |id: usize| MooncakeRow {
        timestamp_ms: trace.arrival_us[id] / 1e3,
        input_tokens: trace.input_tokens[id],
        output_tokens: trace.output_tokens[id],
        blocks: trace.metadata.as_ref().map_or(0, |metadata| metadata.prefix.of(id).len() as u32),
    };
    (0..trace.len()).map(row).collect()
}

/// Groups rows in the order of the file, a new group wherever the time changes, up to the first row after `duration_ms`.
///
/// A file out of order gives repeated groups and may end early, as in AIBrix; sort the rows first to avoid that.
pub fn mooncake_groups(rows: &[MooncakeRow], duration_ms: f64) -> Vec<WorkloadLine<MooncakeRow>> {
    let mut groups: Vec<WorkloadLine<MooncakeRow>> = Vec::new();
    // The comparison is false for NaN as well.
    for &row in rows.iter().take_while(|row| row.timestamp_ms <= duration_ms) {
        match groups.last_mut() {
            Some(group) if group.timestamp_ms == row.timestamp_ms => group.requests.push(row),
            _ => groups.push(WorkloadLine { timestamp_ms: row.timestamp_ms, requests: vec![row], other: () }),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_of_the_duration_belong_to_it() {
        let row = |ms: i64| AzureRow { time_ticks: ms * 10_000, context_tokens: 1, generated_tokens: 1 };
        let rows = [row(2000), row(0), row(999), row(2001), row(1000)];
        let times = |duration_ms| -> Vec<(f64, usize)> {
            let groups = azure_groups(&rows, duration_ms, 1000.0).expect("the interval is good");
            groups.iter().map(|g| (g.timestamp_ms, g.requests.len())).collect()
        };
        assert_eq!(times(2000.0), [(0.0, 2), (1000.0, 1), (2000.0, 2)]);
        assert_eq!(times(1999.0), [(0.0, 2), (1000.0, 1)]);
        assert!(azure_groups(&rows, 1.0, 0.0).is_err());
        assert_eq!(azure_groups(&[], 1.0, 1.0), Ok(vec![]));
    }

    #[test]
    fn bad_traces_are_refused_with_their_place() {
        let header = "TIMESTAMP,ContextTokens,GeneratedTokens\n";
        assert!(azure_rows(header.as_bytes()).is_err());
        let error =
            azure_rows(format!("{header}2023-11-16 18:17:05,,1\n").as_bytes()).expect_err("an empty cell");
        assert_eq!(
            error.to_string(),
            "trace file: row 2, column ContextTokens: a whole number of tokens expected, got \"\""
        );
        assert_eq!(
            azure_rows(b"TIMESTAMP,ContextTokens\n"),
            Err(AibrixError::MissingColumn { file: "trace", column: "GeneratedTokens" })
        );
    }
}
