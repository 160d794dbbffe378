//! A CSV file as named columns, with errors that name the place.

use servescope_csv::Records;

use super::text::require_text;
use super::watch::Watch;
use super::{FormatError, MAX_ARRIVAL_S, MAX_ROWS, MAX_TOKENS, RECIPE_MARK};

/// A CSV file, read row by row.
pub(crate) struct Table<'a> {
    records: Records<'a>,
    header: Vec<String>,
    rows: usize,
    watch: Watch<'a>,
}

/// Place of a column in a row.
#[derive(Clone, Copy)]
pub(crate) struct Column(usize);

impl<'a> Table<'a> {
    /// Reads the header of a file, whose first bad row will end the reading.
    pub(crate) fn open(bytes: &'a [u8]) -> Result<Self, FormatError> {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        Self::of(require_text(bytes)?, Watch::default())
    }

    /// Reads the header of a text.
    pub(super) fn of(text: &'a str, watch: Watch<'a>) -> Result<Self, FormatError> {
        let has_recipe = text.starts_with(RECIPE_MARK);
        let mut records = if has_recipe { Records::below_first_line(text) } else { Records::new(text) };
        if text.trim().is_empty() || !records.next_record() {
            return Err(FormatError::EmptyFile);
        }
        let header: Vec<String> = (0..records.len()).map(|place| records.cell(place).to_owned()).collect();
        let twice = header
            .iter()
            .enumerate()
            .find(|(place, name)| !name.is_empty() && header[..*place].contains(name));
        if let Some((_, name)) = twice {
            // The row does not say which of the two was meant.
            return Err(FormatError::BadCell {
                row: records.line(),
                column: name.clone(),
                expected: "each column once",
                value: name.clone(),
            });
        }
        Ok(Self { records, header, rows: 0, watch })
    }

    /// What happened on the way.
    pub(super) fn take_watch(&mut self) -> Watch<'a> {
        std::mem::take(&mut self.watch)
    }

    /// Has every row read by `row`, which must leave nothing of a row that it rejects.
    pub(crate) fn each_row(
        &mut self,
        mut row: impl FnMut(&Self) -> Result<(), FormatError>,
    ) -> Result<(), FormatError> {
        while self.next_row()? {
            if let Err(error) = row(self) {
                self.watch.spoiled(error)?;
            }
        }
        Ok(())
    }

    /// Whether the header names this column.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.header.iter().any(|h| h == name)
    }

    /// The column called `name`, which the caller knows to be there.
    pub(crate) fn column(&self, name: &str) -> Option<Column> {
        self.columns().find(|(header, _)| *header == name).map(|(_, column)| column)
    }

    /// Every column with its name, in the order of the file.
    pub(crate) fn columns(&self) -> impl Iterator<Item = (&str, Column)> {
        self.header.iter().enumerate().map(|(i, name)| (name.as_str(), Column(i)))
    }

    /// The header, shortened for a message.
    pub(crate) fn header_text(&self) -> String {
        shorten(&self.header.join(", "), 120)
    }

    /// Steps to the next row; false at the end. One copy for all readers, as below: inlined they weigh kilobytes.
    #[inline(never)]
    pub(crate) fn next_row(&mut self) -> Result<bool, FormatError> {
        loop {
            let (at, total) = self.records.progress();
            self.watch.reached(at, total)?;
            if !self.records.next_record() {
                return Ok(false);
            }
            match self.check_row() {
                Ok(()) => break,
                Err(error) => self.watch.spoiled(error)?,
            }
        }
        self.rows += 1;
        if self.rows > MAX_ROWS {
            return Err(FormatError::TooManyRows { row: self.line(), max: MAX_ROWS });
        }
        Ok(true)
    }

    fn check_row(&self) -> Result<(), FormatError> {
        let (start, source) = self.records.source();
        self.watch.row_text(self.line(), start, source)?;
        let (found, expected) = (self.records.len(), self.header.len());
        if found == expected {
            Ok(())
        } else {
            Err(FormatError::CellCount { row: self.line(), found, expected })
        }
    }

    /// Line of the file on which the current row starts.
    pub(crate) fn line(&self) -> u64 {
        self.records.line()
    }

    /// The text of a cell.
    pub(crate) fn text(&self, column: Column) -> &str {
        self.records.cell(column.0)
    }

    /// An error about a cell.
    pub(crate) fn bad(&self, column: Column, expected: &'static str) -> FormatError {
        FormatError::BadCell {
            row: self.line(),
            column: self.header[column.0].clone(),
            expected,
            value: shorten(self.text(column), 40),
        }
    }

    fn out_of_range(&self, column: Column, min: f64, max: f64) -> FormatError {
        FormatError::OutOfRange {
            row: self.line(),
            column: self.header[column.0].clone(),
            value: shorten(self.text(column), 40),
            min,
            max,
        }
    }

    /// A whole number in `min..=max`. "120.0" counts as whole.
    #[inline(never)]
    pub(crate) fn whole(&self, column: Column, min: u32, max: u32) -> Result<u32, FormatError> {
        let text = self.text(column);
        if let Ok(value) = text.parse::<u32>() {
            return if (min..=max).contains(&value) {
                Ok(value)
            } else {
                Err(self.out_of_range(column, min.into(), max.into()))
            };
        }
        let value: f64 = text.parse().map_err(|_| self.bad(column, "a whole number"))?;
        if !value.is_finite() || value != value.trunc() {
            return Err(self.bad(column, "a whole number"));
        }
        if value < f64::from(min) || value > f64::from(max) {
            return Err(self.out_of_range(column, min.into(), max.into()));
        }
        Ok(value as u32)
    }

    /// A length in tokens.
    pub(super) fn tokens(&self, column: Column) -> Result<u32, FormatError> {
        self.whole(column, 1, MAX_TOKENS)
    }

    /// A length in tokens; 0 is a request that failed.
    pub(super) fn tokens_or_none(&self, column: Column) -> Result<u32, FormatError> {
        self.whole(column, 0, MAX_TOKENS)
    }

    /// A finite number that is not negative.
    #[inline(never)]
    pub(crate) fn number(&self, column: Column) -> Result<f64, FormatError> {
        let value = self.text(column).parse::<f64>().ok();
        let value = value.filter(|v| v.is_finite()).ok_or_else(|| self.bad(column, "a number"))?;
        if value < 0.0 { Err(self.out_of_range(column, 0.0, f64::MAX)) } else { Ok(value) }
    }

    /// A number in `0..=max`.
    pub(super) fn number_to(&self, column: Column, max: u32) -> Result<f64, FormatError> {
        let value = self.number(column)?;
        if value > f64::from(max) { Err(self.out_of_range(column, 0.0, max.into())) } else { Ok(value) }
    }

    /// The columns called `names`, in that order.
    pub(crate) fn named<const N: usize>(&self, names: [&str; N]) -> Option<[Column; N]> {
        let mut places = [Column(0); N];
        for (place, name) in places.iter_mut().zip(names) {
            *place = self.column(name)?;
        }
        Some(places)
    }

    /// A time in seconds, as microseconds.
    #[inline(never)]
    pub(super) fn seconds_as_us(&self, column: Column) -> Result<f64, FormatError> {
        let us =
            exact_microseconds(self.text(column)).ok_or_else(|| self.bad(column, "a time in seconds"))?;
        if (0.0..=MAX_ARRIVAL_S * 1e6).contains(&us) {
            Ok(us)
        } else {
            Err(self.out_of_range(column, 0.0, MAX_ARRIVAL_S))
        }
    }
}

/// Seconds written as decimal text, in microseconds, rounded once: "0.052" is 52000 exactly. `None` if it is no finite
/// number.
pub fn exact_microseconds(seconds: &str) -> Option<f64> {
    exact_shifted(seconds, 6)
}

/// A number written as decimal text times `10^exponent`, rounded once. `None` if it is no finite number.
pub(super) fn exact_shifted(text: &str, exponent: i32) -> Option<f64> {
    if let Some(value) = short_shifted(text.as_bytes(), exponent) {
        return Some(value);
    }
    let (digits, own) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let shifted = own.parse::<i32>().ok()?.saturating_add(exponent);
    // The parser rounds the shifted decimal correctly; a product would round twice.
    let value: f64 = format!("{digits}e{shifted}").parse().ok()?;
    // Adding zero turns -0 into 0, which is written without a sign.
    value.is_finite().then_some(value + 0.0)
}

/// The same for plain decimals that are a whole number below 2^53 over or times a power of ten that has a double: the one
/// division or product rounds as the parser would (Clinger 1990). `None` for all others.
fn short_shifted(digits: &[u8], exponent: i32) -> Option<f64> {
    const POWERS: [f64; 23] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17,
        1e18, 1e19, 1e20, 1e21, 1e22,
    ];
    if digits.len() > 18 {
        return None;
    }
    let (mut whole, mut places, mut is_fraction, mut count) = (0u64, exponent, false, 0);
    for &byte in digits {
        match byte {
            b'0'..=b'9' => {
                whole = whole * 10 + u64::from(byte - b'0');
                places -= i32::from(is_fraction);
                count += 1;
            }
            b'.' if !is_fraction => is_fraction = true,
            _ => return None,
        }
    }
    let power = *POWERS.get(places.unsigned_abs() as usize)?;
    if count == 0 || whole >= 1 << 53 {
        return None;
    }
    Some(if places < 0 { whole as f64 / power } else { whole as f64 * power })
}

/// Microseconds as seconds in decimal text that [`exact_microseconds`] reads back to the same bits.
pub(crate) fn seconds_text(us: f64) -> String {
    shifted_text(us, 6)
}

/// `value` over `10^places` in decimal text that [`exact_shifted`] reads back to the same bits.
pub(super) fn shifted_text(value: f64, places: usize) -> String {
    let digits = format!("{value}");
    let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
    let padded = format!("{whole:0>width$}", width = places + 1);
    let (seconds, micros) = padded.split_at(padded.len() - places);
    let tail = format!("{micros}{fraction}");
    let tail = tail.trim_end_matches('0');
    if tail.is_empty() { seconds.to_owned() } else { format!("{seconds}.{tail}") }
}

/// Appends a cell: a name with quotes where it needs them, or nothing. What a reader would trim or reject is not written.
pub fn push_cell(text: &mut String, name: Option<&str>) {
    let name = name.unwrap_or_default().replace(|c: char| c < ' ', " ");
    let name = name.trim();
    if name.contains([',', '"']) {
        text.push('"');
        text.push_str(&name.replace('"', "\"\""));
        text.push('"');
    } else {
        text.push_str(name);
    }
}

/// The first `most` characters.
pub(super) fn shorten(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        text.to_owned()
    } else {
        let mut short: String = text.chars().take(most).collect();
        short.push('…');
        short
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn short_decimals_are_read_as_the_parser_reads_them(
            text in "[0-9]{0,12}(\\.[0-9]{0,9})?",
            exponent in -7i32..8,
        ) {
            let parsed: Option<f64> = format!("{text}e{exponent}").parse().ok();
            prop_assert_eq!(exact_shifted(&text, exponent), parsed);
        }
    }
}
