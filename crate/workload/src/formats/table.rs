//! A CSV file as named columns, with errors that name the place.

use super::{FormatError, MAX_ARRIVAL_S, MAX_ROWS, MAX_TOKENS};

/// A CSV file, read row by row.
pub(crate) struct Table<'a> {
    reader: csv::Reader<&'a [u8]>,
    header: Vec<String>,
    record: csv::StringRecord,
    rows: usize,
}

/// Place of a column in a row.
#[derive(Clone, Copy)]
pub(crate) struct Column(usize);

impl<'a> Table<'a> {
    /// Reads the header.
    pub(crate) fn open(bytes: &'a [u8]) -> Result<Self, FormatError> {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Err(FormatError::EmptyFile);
        }
        require_text(bytes)?;
        let mut reader = csv::ReaderBuilder::new().flexible(true).trim(csv::Trim::All).from_reader(bytes);
        let header =
            reader.headers().map_err(|_| FormatError::EmptyFile)?.iter().map(str::to_owned).collect();
        Ok(Self { reader, header, record: csv::StringRecord::new(), rows: 0 })
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
    pub(super) fn header_text(&self) -> String {
        shorten(&self.header.join(", "), 120)
    }

    /// Steps to the next row; false at the end. One copy for all readers, as below: inlined they weigh kilobytes.
    #[inline(never)]
    pub(crate) fn next_row(&mut self) -> Result<bool, FormatError> {
        let more = self.reader.read_record(&mut self.record).map_err(|error| {
            let row = error.position().map_or(0, csv::Position::line);
            FormatError::NotText { row, byte: error.position().map_or(0, csv::Position::byte) }
        })?;
        if !more {
            return Ok(false);
        }
        if self.record.len() != self.header.len() {
            let (found, expected) = (self.record.len(), self.header.len());
            return Err(FormatError::CellCount { row: self.line(), found, expected });
        }
        self.rows += 1;
        if self.rows > MAX_ROWS {
            return Err(FormatError::TooManyRows { row: self.line(), max: MAX_ROWS });
        }
        Ok(true)
    }

    /// Line of the file on which the current row starts.
    pub(crate) fn line(&self) -> u64 {
        self.record.position().map_or(0, csv::Position::line)
    }

    /// The text of a cell.
    pub(crate) fn text(&self, column: Column) -> &str {
        self.record.get(column.0).unwrap_or("")
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
    let (digits, own) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let shifted = own.parse::<i32>().ok()?.saturating_add(exponent);
    // The parser rounds the shifted decimal correctly; a product would round twice.
    let value: f64 = format!("{digits}e{shifted}").parse().ok()?;
    // Adding zero turns -0 into 0, which is written without a sign.
    value.is_finite().then_some(value + 0.0)
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

/// Appends a cell: a name with quotes where it needs them, or nothing. What a reader would trim or refuse is not written.
pub(super) fn push_cell(text: &mut String, name: Option<&str>) {
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

/// The bytes as text, if they are UTF-8 without control characters.
pub(super) fn require_text(bytes: &[u8]) -> Result<&str, FormatError> {
    let control = |text: &str| text.bytes().position(|b| b < 0x20 && !matches!(b, b'\t' | b'\n' | b'\r'));
    let at = match std::str::from_utf8(bytes) {
        Ok(text) => match control(text) {
            None => return Ok(text),
            Some(at) => at,
        },
        Err(error) => error.valid_up_to(),
    };
    let row = bytes[..at].split(|&b| b == b'\n').count() as u64;
    Err(FormatError::NotText { row, byte: at as u64 })
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
