//! The file that a sweep writes: a line a finished run, written whole and at once, so that a sweep that is ended goes on where
//! it stopped.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use servescope_lab::sweep::{Line, Shape, resume};

use crate::output::{Failed, note, write};

/// Where finished runs go.
pub(crate) struct Journal<'s> {
    shape: &'s Shape,
    /// The file and its path; none where nothing is written.
    file: Option<(PathBuf, Mutex<File>)>,
    /// The runs that the file had already.
    pub(crate) done: BTreeMap<usize, Line>,
}

impl<'s> Journal<'s> {
    /// Opens the file and reads what it has. A line that was cut off goes.
    pub(crate) fn open(path: Option<&Path>, shape: &'s Shape) -> Result<Self, Failed> {
        let Some(path) = path else { return Ok(Self { shape, file: None, done: BTreeMap::new() }) };
        let failed = |error: std::io::Error| Failed::input(format!("{}: {error}", path.display()));
        let options = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let mut file = options.map_err(failed)?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => {
                return Err(Failed::input(format!("{}: another sweep writes to this file", path.display())));
            }
            // Some file systems have no locks.
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed)?;
        let resumed = resume(&bytes, shape).map_err(|error| {
            Failed::input(format!("{}: {error}; name another file, or remove this one", path.display()))
        })?;
        if resumed.keep < bytes.len() {
            note(&format!("{}: the last line was cut off; its run is simulated again", path.display()));
            file.set_len(resumed.keep as u64).map_err(failed)?;
        }
        file.seek(SeekFrom::Start(resumed.keep as u64)).map_err(failed)?;
        if resumed.is_open {
            file.write_all(b"\n").map_err(failed)?;
        }
        if !resumed.lines.is_empty() {
            let (done, runs) = (resumed.lines.len(), shape.runs);
            note(&format!("{}: {done} of {runs} runs are there already", path.display()));
        }
        let file = Some((path.to_owned(), Mutex::new(file)));
        Ok(Self { shape, file, done: resumed.lines })
    }

    /// Writes a finished run.
    pub(crate) fn add(&self, line: &Line) -> Result<(), Failed> {
        let Some((path, file)) = &self.file else { return Ok(()) };
        let text = line.text(self.shape) + "\n";
        let mut file = file.lock().map_err(|_| Failed::Run("a thread of the sweep ended".to_owned()))?;
        let written = file.write_all(text.as_bytes()).and_then(|()| file.flush());
        written.map_err(|error| Failed::Run(format!("{}: {error}", path.display())))
    }

    /// Puts the lines of the finished file in their order; the old file stays until the new one is whole.
    pub(crate) fn finish(&self, lines: &[Line]) -> Result<(), Failed> {
        let Some((path, _)) = &self.file else { return Ok(()) };
        let text = text(self.shape, lines);
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
        write(&part, &text)?;
        std::fs::rename(&part, path).map_err(|error| Failed::Run(format!("{}: {error}", path.display())))
    }
}

/// Lines as a file.
pub(crate) fn text(shape: &Shape, lines: &[Line]) -> String {
    lines.iter().map(|line| line.text(shape) + "\n").collect()
}
