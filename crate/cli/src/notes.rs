//! Settings without effect, reported on standard error.

use servescope_lab::LoadedTrace;
use servescope_lab::notes::{Context, Note, Purpose, lines};

use crate::output::note;

/// What a scenario does not say itself, where its requests may come from a trace.
pub(crate) fn context(purpose: Purpose, loaded: Option<&LoadedTrace>) -> Context {
    loaded.map_or(Context { purpose, ..Context::default() }, |loaded| loaded.context(purpose))
}

/// Prints the notes, a line for each reason.
pub(crate) fn print_notes(notes: &[Note]) {
    lines(notes).iter().for_each(|line| note(line));
}
