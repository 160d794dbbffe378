//! Reading the plain numeric CSV files that profiles come in: a header, then rows of numbers.

use std::fmt;

use servescope_csv::Records;

/// What is wrong with a profile file.
#[derive(Debug, Clone, PartialEq)]
pub enum ProfileError {
    /// There is no header or no row.
    Empty {
        /// The file.
        file: &'static str,
    },
    /// A column is not there.
    NoColumn {
        /// The file.
        file: &'static str,
        /// The column.
        column: &'static str,
    },
    /// A cell is no number within its bounds.
    BadCell {
        /// The file.
        file: &'static str,
        /// Row, counted from 1 for the header.
        row: usize,
        /// The column.
        column: &'static str,
        /// What stands there.
        value: String,
        /// What was expected.
        expected: &'static str,
    },
    /// The rows do not make a full grid in ascending order.
    NotAGrid {
        /// The file.
        file: &'static str,
        /// Row, counted from 1 for the header.
        row: usize,
        /// What was expected.
        expected: &'static str,
    },
    /// A setting is out of its bounds.
    BadSetting {
        /// The setting.
        name: &'static str,
        /// What was expected.
        expected: &'static str,
    },
}

impl fmt::Display for ProfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty { file } => write!(f, "{file}: there is no row"),
            Self::NoColumn { file, column } => write!(f, "{file}: there is no column {column}"),
            Self::BadCell { file, row, column, value, expected } => {
                write!(f, "{file}: row {row}, column {column}: {expected} expected, got {value:?}")
            }
            Self::NotAGrid { file, row, expected } => write!(f, "{file}: row {row}: {expected} expected"),
            Self::BadSetting { name, expected } => write!(f, "{name}: {expected} expected"),
        }
    }
}

impl std::error::Error for ProfileError {}

/// A CSV file by the names of its columns.
#[derive(Debug)]
pub(super) struct Csv<'a> {
    file: &'static str,
    header: Vec<String>,
    records: Records<'a>,
}

/// A column by its place and name.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProfileColumn {
    place: usize,
    name: &'static str,
}

impl<'a> Csv<'a> {
    pub(super) fn new(file: &'static str, text: &'a str) -> Result<Self, ProfileError> {
        let mut records = Records::new(text.trim_start_matches('\u{feff}'));
        if !records.next_record() || records.is_blank() {
            return Err(ProfileError::Empty { file });
        }
        let header = (0..records.len()).map(|place| records.cell(place).to_owned()).collect();
        Ok(Self { file, header, records })
    }

    pub(super) fn find(&self, name: &'static str) -> Option<ProfileColumn> {
        self.header.iter().position(|h| h == name).map(|place| ProfileColumn { place, name })
    }

    pub(super) fn column(&self, name: &'static str) -> Result<ProfileColumn, ProfileError> {
        self.find(name).ok_or(ProfileError::NoColumn { file: self.file, column: name })
    }

    /// What stands in a cell.
    pub(super) fn text(&self, column: ProfileColumn) -> &str {
        self.records.cell(column.place)
    }

    /// Moves to the next row that is not blank.
    pub(super) fn next_row(&mut self) -> bool {
        while self.records.next_record() {
            if !self.records.is_blank() {
                return true;
            }
        }
        false
    }

    pub(super) fn bad(&self, column: ProfileColumn, expected: &'static str) -> ProfileError {
        let value = self.text(column).chars().take(40).collect();
        ProfileError::BadCell {
            file: self.file,
            row: self.records.line() as usize,
            column: column.name,
            value,
            expected,
        }
    }

    /// A time of at least 0.
    pub(super) fn time_ms(&self, column: ProfileColumn) -> Result<f64, ProfileError> {
        let cell = self.text(column);
        match cell.parse::<f64>() {
            Ok(x) if (0.0..1e9).contains(&x) => Ok(x),
            _ => Err(self.bad(column, "a time of 0 to 1e9 ms")),
        }
    }

    /// A whole number below 2^31.
    pub(super) fn count(&self, column: ProfileColumn) -> Result<u32, ProfileError> {
        let cell = self.text(column);
        match cell.parse::<f64>() {
            Ok(x) if (0.0..2_147_483_648.0).contains(&x) && x.fract() == 0.0 => Ok(x as u32),
            _ => Err(self.bad(column, "a whole number below 2^31")),
        }
    }

    /// A whole number within bounds.
    pub(super) fn count_in(
        &self,
        column: ProfileColumn,
        min: u32,
        max: u32,
        expected: &'static str,
    ) -> Result<u32, ProfileError> {
        let found = self.count(column).map_err(|_| self.bad(column, expected))?;
        if (min..=max).contains(&found) { Ok(found) } else { Err(self.bad(column, expected)) }
    }

    pub(super) fn not_a_grid(&self, expected: &'static str) -> ProfileError {
        ProfileError::NotAGrid { file: self.file, row: self.records.line() as usize, expected }
    }

    pub(super) fn empty(&self) -> ProfileError {
        ProfileError::Empty { file: self.file }
    }
}
