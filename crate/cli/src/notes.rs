//! Settings without effect, told on standard error.

use servescope_lab::notes::{Context, Note, Purpose, notes};
use servescope_lab::{LoadedTrace, Scenario};

/// What a scenario does not say itself, where its requests may come from a trace.
pub(crate) fn context(purpose: Purpose, loaded: Option<&LoadedTrace>) -> Context {
    loaded.map_or(Context { purpose, ..Context::default() }, |loaded| loaded.context(purpose))
}

/// Tells the notes, a line for each reason.
pub(crate) fn tell(notes: &[Note]) {
    let mut reasons: Vec<(String, Vec<&str>)> = Vec::new();
    for note in notes {
        let (id, reason) = (note.id.row().id, note.reason.text());
        match reasons.iter_mut().find(|(other, _)| *other == reason) {
            Some((_, ids)) => ids.push(id),
            None => reasons.push((reason, vec![id])),
        }
    }
    for (reason, ids) in reasons {
        eprintln!("servescope: note: without effect: {} ({reason})", ids.join(", "));
    }
}

/// Tells the notes that hold for each of several scenarios.
pub(crate) fn tell_common<'s>(scenarios: impl Iterator<Item = &'s Scenario>, context: &Context) {
    let common = scenarios.map(|scenario| notes(scenario, context)).reduce(|mut kept, other| {
        kept.retain(|note| other.contains(note));
        kept
    });
    tell(&common.unwrap_or_default());
}
