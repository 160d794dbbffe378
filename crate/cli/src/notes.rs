//! Settings without effect, reported on standard error.

use servescope_settings::notes::{Note, NoteContext, Purpose, lines};
use servescope_traces::loaded_trace::LoadedTrace;

use crate::output::note;

/// What a scenario does not say itself, where its requests may come from a trace.
pub(crate) fn context(purpose: Purpose, loaded: Option<&LoadedTrace>) -> NoteContext {
    loaded.map_or(NoteContext { purpose, ..NoteContext::default() }, |loaded| loaded.context(purpose))
}

/// Prints the notes, a line for each reason.
pub(crate) fn print_notes(notes: &[Note]) {
    lines(notes).iter().for_each(|line| note(line));
}
