//! Files, standard output, and errors with their exit codes.

use std::fmt;
use std::fs::File;
use std::io::{BufWriter, ErrorKind, Write as _};
use std::path::Path;
use std::process::ExitCode;

use servescope_lab::sweep::journal::JournalError;
use servescope_settings::diagnostic::{Diagnostic, Severity};
use servescope_workload::formats::unpacked;

/// Why a verb did not succeed.
pub(crate) enum CliError {
    /// Bad usage or bad input: exit code 2.
    Input(Vec<String>),
    /// The run itself failed: exit code 1.
    Run(String),
}

/// More would scroll the first away.
const MOST_TOLD: usize = 3;

impl CliError {
    /// One thing that is wrong with the input.
    pub(crate) fn input(message: impl Into<String>) -> Self {
        Self::Input(vec![message.into()])
    }

    /// A journal that could be opened and cannot be written to.
    pub(crate) fn unwritten(error: JournalError) -> Self {
        Self::Run(error.to_string())
    }

    /// Says on standard error what is wrong.
    pub(crate) fn report(self) -> ExitCode {
        match self {
            Self::Input(messages) => {
                messages.iter().take(MOST_TOLD).for_each(|message| eprintln!("servescope: {message}"));
                if let Some(more @ 1..) = messages.len().checked_sub(MOST_TOLD) {
                    eprintln!("servescope: … and {more} more");
                }
                ExitCode::from(2)
            }
            Self::Run(message) => {
                eprintln!("servescope: {message}");
                ExitCode::from(1)
            }
        }
    }
}

impl From<Vec<Diagnostic>> for CliError {
    fn from(errors: Vec<Diagnostic>) -> Self {
        Self::Input(errors.into_iter().map(|f| f.message).collect())
    }
}

impl From<Diagnostic> for CliError {
    fn from(error: Diagnostic) -> Self {
        Self::Input(vec![error.message])
    }
}

/// Of a journal that cannot be opened.
impl From<JournalError> for CliError {
    fn from(error: JournalError) -> Self {
        Self::input(error.to_string())
    }
}

/// Prints to standard output. A reader that went away (`| head`) ends the output quietly.
pub(crate) fn print(text: &str) -> Result<(), CliError> {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(CliError::Run(format!("standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Says something on standard error that is no error.
pub(crate) fn note(message: &str) {
    eprintln!("servescope: {}: {message}", Severity::Note.name());
}

/// Says on standard error what a reader should know, each with its severity.
pub(crate) fn report_all<'d>(diagnostics: impl IntoIterator<Item = &'d Diagnostic>) {
    for Diagnostic { severity, message, .. } in diagnostics {
        eprintln!("servescope: {}: {message}", severity.name());
    }
}

/// Reads a file.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, CliError> {
    std::fs::read(path).map_err(|error| CliError::input(format!("{}: {error}", path.display())))
}

/// Reads a text, packed with gzip or not.
pub(crate) fn unpacked_text(path: &Path) -> Result<String, CliError> {
    let bytes = read(path)?;
    let unpacked = unpacked(&bytes).map_err(|error| Diagnostic::of_file(&name(path), &error))?;
    String::from_utf8(unpacked.into_owned())
        .map_err(|_| CliError::input(format!("{}: not UTF-8", path.display())))
}

/// Reads a text.
pub(crate) fn text(path: &Path) -> Result<String, CliError> {
    String::from_utf8(read(path)?).map_err(|_| CliError::input(format!("{}: not UTF-8", path.display())))
}

/// Writes a file.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), CliError> {
    std::fs::write(path, text).map_err(|error| CliError::input(format!("{}: {error}", path.display())))
}

/// Writes a file as it is made.
pub(crate) fn stream(
    path: &Path,
    make: impl FnOnce(&mut dyn fmt::Write) -> fmt::Result,
) -> Result<(), CliError> {
    let failed = |error: std::io::Error| CliError::input(format!("{}: {error}", path.display()));
    let mut sink = Sink { file: BufWriter::new(File::create(path).map_err(failed)?), error: None };
    let made = make(&mut sink);
    match (sink.error, made) {
        (Some(error), _) => Err(failed(error)),
        (None, Err(_)) => Err(CliError::Run(format!("{}: could not be written", path.display()))),
        (None, Ok(())) => sink.file.flush().map_err(failed),
    }
}

/// Text on its way to a file; `fmt` has no room for the reason of an error.
struct Sink {
    file: BufWriter<File>,
    error: Option<std::io::Error>,
}

impl fmt::Write for Sink {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.file.write_all(text.as_bytes()).map_err(|error| {
            self.error = Some(error);
            fmt::Error
        })
    }
}

/// Writes to a file, or to standard output where none is named.
pub(crate) fn write_or_print(path: Option<&Path>, text: &str) -> Result<(), CliError> {
    path.map_or_else(|| print(text), |path| write(path, text))
}

/// The name of a file, without its folders.
pub(crate) fn name(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |n| n.to_string_lossy().into_owned())
}
