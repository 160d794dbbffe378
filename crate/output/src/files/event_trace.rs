//! `event_trace.json`: every event of a run in order of time, as Vidur's event trace has them: what happens to requests,
//! and where the batch of an iteration enters and leaves each pipeline stage. One JSON object a line in one array.
//!
//! Requests' events are the rows of `events.csv`. A run of equal iterations is one batch with its number of `iterations`.

use std::fmt;

use servescope_engine::Report;
use servescope_engine::metrics::lanes::{StageWork, stage_works};

use super::events_csv;

/// A batch in one stage.
struct BatchWork {
    batch: usize,
    replica: u16,
    stage: u32,
    kind: &'static str,
    start_us: f64,
    end_us: f64,
    requests: u32,
    prompt_tokens: u32,
    decode_tokens: u64,
    iterations: u32,
    kv_tokens: f64,
}

/// The file as text.
pub fn event_trace(report: &Report) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write_event_trace(report, &mut text);
    text
}

/// Writes the file, event by event. At equal times batches end, then requests' events happen, then batches start.
///
/// # Errors
/// Those of `to`.
pub fn write_event_trace(report: &Report, to: &mut dyn fmt::Write) -> fmt::Result {
    let works = works(report);
    let mut ends: Vec<usize> = (0..works.len()).collect();
    ends.sort_by(|&a, &b| works[a].end_us.total_cmp(&works[b].end_us).then(a.cmp(&b)));
    let mut starts: Vec<usize> = (0..works.len()).collect();
    starts.sort_by(|&a, &b| works[a].start_us.total_cmp(&works[b].start_us).then(a.cmp(&b)));
    let text = events_csv(report);
    let mut rows = text.lines();
    let columns: Vec<&str> = rows.next().unwrap_or_default().split(',').collect();
    let mut rows = rows.map(|row| row.split(',').collect::<Vec<&str>>()).peekable();
    let (mut ends, mut starts) = (ends.into_iter().peekable(), starts.into_iter().peekable());
    let mut separator = "[\n";
    loop {
        let end_s = ends.peek().map_or(f64::INFINITY, |&i| works[i].end_us / 1e6);
        let start_s = starts.peek().map_or(f64::INFINITY, |&i| works[i].start_us / 1e6);
        let row_s = rows.peek().map_or(f64::INFINITY, |row| row[0].parse().unwrap_or(0.0));
        if end_s.min(start_s).min(row_s) == f64::INFINITY {
            break;
        }
        to.write_str(separator)?;
        separator = ",\n";
        if end_s <= row_s && end_s <= start_s {
            ends.next().map_or(Ok(()), |i| works[i].write(to, "batch_stage_end", end_s))?;
        } else if row_s <= start_s {
            rows.next().map_or(Ok(()), |row| write_row(to, &columns, &row))?;
        } else {
            starts.next().map_or(Ok(()), |i| works[i].write(to, "batch_stage_start", start_s))?;
        }
    }
    to.write_str(if separator == "[\n" { "[]\n" } else { "\n]\n" })
}

impl BatchWork {
    fn write(&self, to: &mut dyn fmt::Write, event: &str, time_s: f64) -> fmt::Result {
        let Self { batch, replica, stage, kind, requests, prompt_tokens, decode_tokens, .. } = self;
        write!(
            to,
            "{{\"time_s\":{time_s},\"event\":\"{event}\",\"replica\":{replica},\"stage\":{stage},\"batch\":{batch},\
             \"kind\":\"{kind}\",\"requests\":{requests},\"prompt_tokens\":{prompt_tokens},\
             \"decode_tokens\":{decode_tokens},\"iterations\":{},\"kv_tokens\":{}}}",
            self.iterations, self.kv_tokens
        )
    }
}

/// A row of `events.csv` by its columns; empty cells are left out.
fn write_row(to: &mut dyn fmt::Write, columns: &[&str], cells: &[&str]) -> fmt::Result {
    let mut separator = "{";
    for (column, cell) in columns.iter().zip(cells).filter(|(_, cell)| !cell.is_empty()) {
        let is_number = cell.parse::<f64>().is_ok_and(f64::is_finite);
        let quote = if is_number { "" } else { "\"" };
        write!(to, "{separator}\"{column}\":{quote}{cell}{quote}")?;
        separator = ",";
    }
    to.write_char('}')
}

/// The batches of all stages.
fn works(report: &Report) -> Vec<BatchWork> {
    let mut batch = 0;
    let of_stage = |work: StageWork<'_>| {
        batch += usize::from(work.stage == 0);
        let run = work.run;
        BatchWork {
            batch: batch - 1,
            replica: run.replica.get(),
            stage: work.stage,
            kind: super::kind(run),
            start_us: work.start_us,
            end_us: work.end_us,
            requests: run.requests(),
            prompt_tokens: run.prompt_tokens,
            decode_tokens: u64::from(run.decode_tokens) * u64::from(run.iterations),
            iterations: run.iterations,
            kv_tokens: run.kv_tokens,
        }
    };
    stage_works(report).map(of_stage).collect()
}
