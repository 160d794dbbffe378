//! LLMServingSim's table of simulated requests (`python -m serving --output FILE.csv`, serving/core/scheduler.py): times in
//! nanoseconds, the gaps between tokens as a list in one cell.

use servescope_csv::Records;
use servescope_settings::file_kind::Tool;

use super::{ReadError, room};
use crate::overlay::measured::{MAX_S, MAX_TOKENS, MeasuredRequest, MeasuredRun, Sending};

/// The columns that are read.
const COLUMNS: [&str; 9] =
    ["instance id", "request id", "model", "input", "output", "arrival", "latency", "TTFT", "ITL"];

/// A cell of a row, found by the name of its column.
struct NamedRow<'a> {
    line: u64,
    cells: [&'a str; COLUMNS.len()],
}

impl<'a> NamedRow<'a> {
    fn text(&self, column: &str) -> &'a str {
        COLUMNS.iter().position(|name| *name == column).map_or("", |place| self.cells[place])
    }

    fn number_of(&self, column: &str, text: &str, high: f64) -> Result<f64, ReadError> {
        let number = text.trim().parse().ok().filter(|x| (0.0..=high).contains(x));
        number.ok_or_else(|| {
            let value: String = text.chars().take(60).collect();
            ReadError::new(
                format!("line {}, column {column}", self.line),
                format!("\"{value}\" is not a number from 0 to {high}"),
            )
        })
    }

    fn seconds(&self, column: &str) -> Result<f64, ReadError> {
        Ok(self.number_of(column, self.text(column), MAX_S * 1e9)? * 1e-9)
    }

    fn tokens(&self, column: &str) -> Result<u32, ReadError> {
        Ok(self.number_of(column, self.text(column), MAX_TOKENS)? as u32)
    }

    fn gaps(&self) -> Result<Vec<f64>, ReadError> {
        let list = self.text("ITL").trim().trim_start_matches('[').trim_end_matches(']').trim();
        if list.is_empty() {
            return Ok(Vec::new());
        }
        list.split(',').map(|gap| Ok(self.number_of("ITL", gap, MAX_S * 1e9)? * 1e-9)).collect()
    }

    fn request(&self) -> Result<MeasuredRequest, ReadError> {
        Ok(MeasuredRequest {
            name: self.text("request id").to_owned(),
            sent_s: self.seconds("arrival")?,
            input_tokens: self.tokens("input")?,
            output_tokens: self.tokens("output")?.max(1),
            ttft_s: Some(self.seconds("TTFT")?),
            e2e_s: Some(self.seconds("latency")?),
            gaps_s: self.gaps()?,
        })
    }
}

/// Reads the table.
pub(super) fn read(text: &str) -> Result<MeasuredRun, ReadError> {
    let mut records = Records::new(text);
    records.next_record();
    let header: Vec<String> = (0..records.len()).map(|place| records.cell(place).trim().to_owned()).collect();
    let mut places = [0; COLUMNS.len()];
    for (place, name) in places.iter_mut().zip(COLUMNS) {
        let found = header.iter().position(|cell| cell == name);
        *place = found.ok_or_else(|| ReadError::new("line 1", format!("there is no column {name}")))?;
    }
    let (mut requests, mut models, mut instances) = (Vec::new(), Vec::<String>::new(), Vec::<String>::new());
    while records.next_record() {
        if records.is_blank() {
            continue;
        }
        let line = records.line();
        if records.is_open() {
            return Err(ReadError::new(format!("line {line}"), "a quotation mark is never closed"));
        }
        if records.len() != header.len() {
            let message = format!("{} cells, the header has {}", records.len(), header.len());
            return Err(ReadError::new(format!("line {line}"), message));
        }
        room(&requests, &format!("line {line}"))?;
        let row = NamedRow { line, cells: places.map(|place| records.cell(place)) };
        requests.push(row.request()?);
        for (known, column) in [(&mut models, "model"), (&mut instances, "instance id")] {
            if !known.iter().any(|name| name == row.text(column)) {
                known.push(row.text(column).to_owned());
            }
        }
    }
    let mut reported = Vec::new();
    if let [model] = &models[..] {
        reported.push(("model".to_owned(), model.clone()));
    }
    let mut notes = Vec::new();
    if instances.len() > 1 {
        reported.push(("replicas".to_owned(), instances.len().to_string()));
        notes.push(format!("{} instances; which served a request is not taken over", instances.len()));
    }
    Ok(MeasuredRun {
        tool: Tool::ServingSim,
        requests,
        sending: Sending::Times,
        reported,
        notes,
        ..MeasuredRun::default()
    })
}
