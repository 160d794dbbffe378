//! The file that a sweep writes: a line a finished run, written whole and at once, so that a sweep that is ended goes on where
//! it stopped.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::{LinesError, SweepLine, SweepShape, resume};

/// Why a sweep cannot write its file.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// It cannot be opened, read or written.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// Another sweep writes to it.
    #[error("{}: another sweep writes to this file", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// It has lines that are not of this sweep.
    #[error("{}: {error}; name another file, or remove this one", path.display())]
    Lines {
        /// The file.
        path: PathBuf,
        /// What is wrong with them.
        error: LinesError,
    },
}

/// Where finished runs go.
#[derive(Debug)]
pub struct Journal {
    shape: SweepShape,
    /// The file and its path; none where nothing is written.
    file: Option<(PathBuf, Mutex<File>)>,
    /// The runs that the file had already.
    pub done: BTreeMap<usize, SweepLine>,
    /// What a person should know about the file that was found.
    pub notes: Vec<String>,
}

impl Journal {
    /// Opens the file and reads what it has. A line that was cut off goes.
    ///
    /// # Errors
    /// [`JournalError`] where it cannot be read or written, where another sweep writes to it, or where it is another sweep's.
    pub fn open(path: Option<&Path>, shape: &SweepShape) -> Result<Self, JournalError> {
        let shape = shape.clone();
        let Some(path) = path else {
            return Ok(Self { shape, file: None, done: BTreeMap::new(), notes: Vec::new() });
        };
        let failed = |error| JournalError::File { path: path.to_owned(), error };
        let options = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let mut file = options.map_err(failed)?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => return Err(JournalError::Locked { path: path.to_owned() }),
            // Some file systems have no locks.
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed)?;
        let resumed =
            resume(&bytes, &shape).map_err(|error| JournalError::Lines { path: path.to_owned(), error })?;
        let mut notes = Vec::new();
        if resumed.keep < bytes.len() {
            let cut = "the last line was cut off; its run is simulated again";
            notes.push(format!("{}: {cut}", path.display()));
            file.set_len(resumed.keep as u64).map_err(failed)?;
        }
        file.seek(SeekFrom::Start(resumed.keep as u64)).map_err(failed)?;
        if resumed.is_open {
            file.write_all(b"\n").map_err(failed)?;
        }
        if !resumed.lines.is_empty() {
            let (done, runs) = (resumed.lines.len(), shape.runs);
            notes.push(format!("{}: {done} of {runs} runs are there already", path.display()));
        }
        let file = Some((path.to_owned(), Mutex::new(file)));
        Ok(Self { shape, file, done: resumed.lines, notes })
    }

    /// Writes a finished run.
    ///
    /// # Errors
    /// [`JournalError::File`].
    pub fn add(&self, line: &SweepLine) -> Result<(), JournalError> {
        let Some((path, file)) = &self.file else { return Ok(()) };
        let text = line.text(&self.shape) + "\n";
        // A line is written by one call, so a thread that ended in it leaves at most one that is cut off.
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        let written = file.write_all(text.as_bytes()).and_then(|()| file.flush());
        written.map_err(|error| JournalError::File { path: path.clone(), error })
    }

    /// Puts the lines of the finished file in their order; the old file stays until the new one is whole.
    ///
    /// # Errors
    /// [`JournalError::File`].
    pub fn finish(&self, lines: &[SweepLine]) -> Result<(), JournalError> {
        let Some((path, _)) = &self.file else { return Ok(()) };
        let text = text(&self.shape, lines);
        if std::fs::read(path).is_ok_and(|bytes| bytes == text.as_bytes()) {
            return Ok(());
        }
        // Nothing to rename where lines go to a pipe or a device.
        if !path.is_file() {
            return Ok(());
        }
        let mut name = path.clone().into_os_string();
        name.push(".part");
        let part = PathBuf::from(name);
        let failed = |path: &Path, error| JournalError::File { path: path.to_owned(), error };
        std::fs::write(&part, &text).map_err(|error| failed(&part, error))?;
        std::fs::rename(&part, path).map_err(|error| failed(path, error))
    }
}

/// Lines as a file.
pub fn text(shape: &SweepShape, lines: &[SweepLine]) -> String {
    lines.iter().map(|line| line.text(shape) + "\n").collect()
}
