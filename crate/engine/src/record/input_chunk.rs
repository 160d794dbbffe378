//! Requests that are chunks of their session's input.

use servescope_workload::RequestId;
use servescope_workload::trace::{NO_LABEL, Trace};

/// The place of a request in the input of its session.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct InputChunk {
    /// The request whose answer it goes on from.
    pub(crate) previous: Option<RequestId>,
    /// The request that goes on from its own.
    pub(crate) next: Option<RequestId>,
    /// It never comes to its replica.
    pub(crate) is_over: bool,
    /// Until when the session stays open where no chunk follows, microseconds.
    pub(crate) open_until_us: f64,
}

/// The chunks of a trace; empty where no input comes in chunks. A request goes on from the one before it in its session where its
/// prompt is longer than what was computed of that and its answer, and has the same adapter.
pub(crate) fn chunks_of(trace: &Trace) -> Vec<InputChunk> {
    let Some(metadata) = trace.metadata.as_deref().filter(|known| !known.streamed.is_empty()) else {
        return Vec::new();
    };
    let open_until_us = |id: usize| metadata.streamed.open_until_us(id);
    let mut chunks: Vec<InputChunk> = (0..trace.len())
        .map(|id| InputChunk { open_until_us: open_until_us(id), ..InputChunk::default() })
        .collect();
    let mut last = vec![None; metadata.session.names.len()];
    for (id, &session) in RequestId::first(trace.len()).zip(&metadata.session.index) {
        if session == NO_LABEL {
            continue;
        }
        let before: Option<RequestId> = last[session as usize].replace(id);
        let goes_on = |before: &RequestId| {
            let said = trace.input_tokens[*before].saturating_add(trace.output_tokens[*before]);
            metadata.streamed.goes_on(id.index())
                && trace.input_tokens[id] >= said
                && trace.adapter[id] == trace.adapter[*before]
        };
        if let Some(before) = before.filter(goes_on) {
            chunks[before.index()].next = Some(id);
            chunks[id.index()].previous = Some(before);
        }
    }
    chunks
}
