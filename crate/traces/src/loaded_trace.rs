//! A trace that a person loads in place of generated requests.

use std::sync::Arc;

use servescope_settings::diagnostic::Diagnostic;
use servescope_settings::file_kind::trace_error;
use servescope_settings::notes::{NoteContext, Purpose, Traffic};
use servescope_workload::Trace;
use servescope_workload::formats::{self, BadRows, Format, FormatError, ReadTrace, Reading, Warning};

/// A trace that was read from a file.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadedTrace {
    /// Name of the file.
    pub name: String,
    /// Its format; `None` for a trace that was handed over without a file.
    pub format: Option<Format>,
    /// The requests.
    pub trace: Arc<Trace>,
    /// What was noticed in reading it.
    pub warnings: Vec<Diagnostic>,
    /// Whether the workload's settings made it, before steps changed it.
    pub is_generated: bool,
}

impl LoadedTrace {
    /// Reads a file of any known format.
    ///
    /// # Errors
    /// [`Diagnostic`] with the row and the column.
    pub fn read(name: &str, bytes: &[u8]) -> Result<Self, Diagnostic> {
        let read = formats::read(bytes).map_err(|error| trace_error(name, bytes, &error))?;
        let warnings = formats::warnings(&read);
        Ok(Self::assembled(name, read, &warnings))
    }

    /// A trace that was read elsewhere, or that was made from one.
    pub fn from_trace(name: &str, trace: Trace) -> Self {
        Self {
            name: name.to_owned(),
            format: None,
            trace: Arc::new(trace),
            warnings: Vec::new(),
            is_generated: false,
        }
    }

    /// What reading a file gave.
    ///
    /// # Errors
    /// [`Diagnostic`] with the row and the column.
    pub fn of(name: &str, read: Result<ReadTrace, FormatError>) -> Result<Self, Diagnostic> {
        let read = read.map_err(|error| Diagnostic::of_file(name, &error))?;
        let warnings = formats::warnings(&read);
        Ok(Self::assembled(name, read, &warnings))
    }

    /// What reading a file of these bytes with options gave.
    ///
    /// # Errors
    /// [`Diagnostic`] with the row and the column.
    pub fn of_reading(
        name: &str,
        bytes: &[u8],
        reading: Result<Reading, FormatError>,
    ) -> Result<(Self, BadRows), Diagnostic> {
        let reading = reading.map_err(|error| trace_error(name, bytes, &error))?;
        let warnings = reading.warnings();
        Ok((Self::assembled(name, reading.read, &warnings), reading.bad))
    }

    fn assembled(name: &str, read: ReadTrace, warnings: &[Warning]) -> Self {
        let warnings = warnings.iter().map(|warning| Diagnostic::of_warning(name, warning)).collect();
        Self {
            name: name.to_owned(),
            format: Some(read.format),
            trace: Arc::new(read.trace),
            warnings,
            is_generated: false,
        }
    }

    /// What a scenario over this trace does not say itself.
    pub fn context(&self, purpose: Purpose) -> NoteContext {
        NoteContext { purpose, traffic: Some(Traffic::of(&self.trace)), is_generated: self.is_generated }
    }
}
