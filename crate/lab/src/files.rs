//! The files of `--out`: requests, batches, events, and a Chrome trace.

mod batches;
mod chrome_trace;
#[cfg(feature = "engines")]
mod events;
mod requests;

pub use batches::{batches_csv, write_batches_csv};
pub use chrome_trace::{chrome_trace, write_chrome_trace};
#[cfg(feature = "engines")]
pub use events::{events_csv, write_events_csv};
pub use requests::requests_csv;

#[cfg(feature = "engines")]
use servescope_engine::timeline::IterationRun;

/// What an iteration of a fleet's replica does.
#[cfg(feature = "engines")]
pub(crate) fn kind(run: &IterationRun) -> &'static str {
    match (run.prompts, run.decodes) {
        (_, 0) => "prefill",
        (0, _) => "decode",
        _ => "mixed",
    }
}
