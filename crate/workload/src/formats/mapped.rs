//! Reads a table of no known format by a [`Mapping`].
//!
//! Time starts at the earliest row where the column has dates, or numbers so large that they count from 1970.

use super::aiperf::estimated_tokens;
use super::json::{Json, Line, Lines};
use super::log::{Entry, Log};
use super::mapping::{Mapping, ROLES};
use super::table::{Column, Table, exact_shifted, shorten};
use super::time::{TICKS_PER_US, parse_time, span_error};
use super::{FormatError, MAX_ARRIVAL_S, MAX_INDEX, MAX_TOKENS};
use crate::trace::{BASE_MODEL, LabelMaker, Labels, Trace};

/// Where the cells of a row come from.
trait RowSource {
    /// The text of a cell; "" where the row has none.
    fn cell(&self, role: usize) -> &str;
    /// An error about a cell.
    fn bad(&self, role: usize, expected: &'static str) -> FormatError;
    /// Line of the file.
    fn row(&self) -> u64;
    /// The name of the column.
    fn column(&self, role: usize) -> &str;
}

struct TableRow<'a, 'b> {
    table: &'a Table<'b>,
    places: &'a [Option<Column>],
    names: &'a [&'a str],
}

impl RowSource for TableRow<'_, '_> {
    fn cell(&self, role: usize) -> &str {
        self.places[role].map_or("", |column| self.table.text(column))
    }

    fn bad(&self, role: usize, expected: &'static str) -> FormatError {
        self.places[role].map_or(FormatError::EmptyFile, |column| self.table.bad(column, expected))
    }

    fn row(&self) -> u64 {
        self.table.line()
    }

    fn column(&self, role: usize) -> &str {
        self.names[role]
    }
}

struct LineRow<'a, 'b> {
    line: &'a Line<'b>,
    names: &'a [&'a str],
}

impl RowSource for LineRow<'_, '_> {
    fn cell(&self, role: usize) -> &str {
        match self.line.at_path(self.names[role]) {
            Some(Json::Text(text)) => text,
            Some(Json::Number(number)) => number,
            _ => "",
        }
    }

    fn bad(&self, role: usize, expected: &'static str) -> FormatError {
        let path = self.names[role];
        super::json::bad(self.line.row, path, expected, self.line.at_path(path).unwrap_or(&Json::Null))
    }

    fn row(&self) -> u64 {
        self.line.row
    }

    fn column(&self, role: usize) -> &str {
        self.names[role]
    }
}

/// Place of a role in [`ROLES`].
fn role(name: &str) -> usize {
    ROLES.iter().position(|role| role.name == name).unwrap_or(0)
}

/// What was read so far.
struct Mapped<'m> {
    mapping: &'m Mapping,
    log: Log,
    users: LabelMaker,
    adapters: LabelMaker,
    max_tokens: Vec<u32>,
    /// Arrivals of all rows, before time starts at the earliest: microseconds, or ticks of dates.
    times: Vec<f64>,
}

impl<'m> Mapped<'m> {
    fn new(mapping: &'m Mapping) -> Self {
        Self {
            mapping,
            log: Log::default(),
            users: LabelMaker::default(),
            adapters: LabelMaker::default(),
            max_tokens: Vec::new(),
            times: Vec::new(),
        }
    }

    fn unit(&self, role: &str) -> &'static str {
        self.mapping.get(role).map_or("", |(_, unit)| unit)
    }

    fn add(&mut self, row: &dyn RowSource) -> Result<(), FormatError> {
        let time = self.time(row)?;
        let input_tokens = self.length(row, "input")?;
        let output_tokens = self.length(row, "output")?;
        let bound = match row.cell(role("max_tokens")) {
            "" => output_tokens,
            // A log may say less than was answered; the bound is never below the truth.
            _ => self.length(row, "max_tokens")?.max(output_tokens),
        };
        let name = |of: &str| Some(row.cell(role(of))).filter(|name| !name.is_empty());
        let entry = Entry {
            input_tokens,
            output_tokens: Some(output_tokens),
            session: name("session"),
            model: name("model"),
            ..Entry::default()
        };
        self.log.push(row.row(), entry)?;
        self.users.push(name("user"));
        self.adapters.push(name("adapter").filter(|name| *name != "-1"));
        self.max_tokens.push(bound);
        self.times.push(time);
        Ok(())
    }

    /// A time in microseconds, or in ticks since 1970.
    fn time(&self, row: &dyn RowSource) -> Result<f64, FormatError> {
        let place = role("arrival");
        let cell = row.cell(place);
        let unit = self.unit("arrival");
        let exponent = match unit {
            "date" => {
                let ticks = parse_time(cell).map(|ticks| ticks as f64);
                return ticks.ok_or_else(|| row.bad(place, "a date and time (2023-11-16 18:17:03.9799600)"));
            }
            "ms" => 3,
            "us" => 0,
            "ns" => -3,
            _ => 6,
        };
        let time = exact_shifted(cell, exponent).ok_or_else(|| row.bad(place, "a time"))?;
        // 2^53: above it not every microsecond has a number.
        let most_us = 9_007_199_254_740_992.0;
        if (0.0..=most_us).contains(&time) {
            return Ok(time);
        }
        let most = most_us / libm::pow(10.0, f64::from(exponent));
        let smaller = [("ms", 3), ("us", 0), ("ns", -3)].into_iter().find(|&(_, smaller)| {
            smaller < exponent && exact_shifted(cell, smaller).is_some_and(|us| (0.0..=most_us).contains(&us))
        });
        Err(match smaller {
            Some((likely, _)) => FormatError::WrongUnit {
                row: row.row(),
                column: row.column(place).to_owned(),
                value: shorten(cell, 40),
                min: 0.0,
                max: most,
                unit,
                likely,
            },
            None => out_of_range(row, place, most),
        })
    }

    fn length(&self, row: &dyn RowSource, name: &str) -> Result<u32, FormatError> {
        let place = role(name);
        let cell = row.cell(place);
        if self.unit(name) == "text" {
            return Ok(if cell.is_empty() { 0 } else { estimated_tokens(cell) });
        }
        let number: f64 = cell.parse().map_err(|_| row.bad(place, "a whole number"))?;
        if number != number.trunc() {
            return Err(row.bad(place, "a whole number"));
        }
        if (0.0..=f64::from(MAX_TOKENS)).contains(&number) {
            Ok(number as u32)
        } else {
            Err(out_of_range(row, place, MAX_TOKENS.into()))
        }
    }

    fn finish(self) -> Result<Trace, FormatError> {
        let mut trace = self.log.finish();
        let is_date = self.mapping.get("arrival").is_some_and(|(_, unit)| unit == "date");
        let per_us = if is_date { TICKS_PER_US } else { 1.0 };
        let latest = self.times.iter().copied().fold(0.0, f64::max);
        let from_1970 = is_date || latest > MAX_ARRIVAL_S * 1e6;
        let start = if from_1970 { self.times.iter().copied().fold(f64::INFINITY, f64::min) } else { 0.0 };
        trace.arrival_us = self.times.into_iter().map(|time| (time - start) / per_us).collect();
        if trace.arrival_us.iter().any(|&t| t > MAX_ARRIVAL_S * 1e6) {
            return Err(span_error(self.mapping.get("arrival").map_or("", |(column, _)| column)));
        }
        trace.max_tokens = self.max_tokens;
        trace.user = numbered(self.users.finish(), 0);
        trace.adapter = numbered(self.adapters.finish(), BASE_MODEL);
        Ok(trace)
    }
}

fn out_of_range(row: &dyn RowSource, role: usize, max: f64) -> FormatError {
    FormatError::OutOfRange {
        row: row.row(),
        column: row.column(role).to_owned(),
        value: shorten(row.cell(role), 40),
        min: 0.0,
        max,
    }
}

/// Names as indices: numbers as they are where all are numbers, else the names in the order of their first mention.
fn numbered(labels: Labels, missing: u32) -> Vec<u32> {
    let numbers: Option<Vec<u32>> =
        labels.names.iter().map(|name| name.parse().ok().filter(|&n| n <= MAX_INDEX)).collect();
    let of = |place: &u32| match &numbers {
        Some(numbers) => numbers.get(*place as usize).copied(),
        None => labels.names.get(*place as usize).map(|_| *place),
    };
    labels.index.iter().map(|place| of(place).unwrap_or(missing)).collect()
}

/// The column of every role, "" where it has none.
fn names(mapping: &Mapping) -> Vec<&str> {
    ROLES.iter().map(|role| mapping.get(role.name).map_or("", |(column, _)| column)).collect()
}

pub(super) fn read_table(table: &mut Table<'_>, mapping: &Mapping) -> Result<Trace, FormatError> {
    let names = names(mapping);
    let place = |name: &&str| match *name {
        "" => Ok(None),
        name => table
            .column(name)
            .map(Some)
            .ok_or_else(|| FormatError::NoColumn { column: name.to_owned(), known: table.header_text() }),
    };
    let places: Vec<Option<Column>> = names.iter().map(place).collect::<Result<_, _>>()?;
    let mut mapped = Mapped::new(mapping);
    table.each_row(|table| mapped.add(&TableRow { table, places: &places, names: &names }))?;
    mapped.finish()
}

pub(super) fn read_lines<'a>(
    first: Line<'a>,
    lines: &mut Lines<'a>,
    mapping: &Mapping,
) -> Result<Trace, FormatError> {
    let names = names(mapping);
    for (role, name) in ROLES.iter().zip(&names) {
        if role.required && first.at_path(name).is_none() {
            let known = shorten(&first.keys().join(", "), 120);
            return Err(FormatError::NoColumn { column: (*name).to_owned(), known });
        }
    }
    let mut mapped = Mapped::new(mapping);
    lines.each(first, |line| mapped.add(&LineRow { line: &line, names: &names }))?;
    mapped.finish()
}
