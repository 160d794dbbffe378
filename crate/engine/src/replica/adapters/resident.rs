//! All adapters are in GPU memory when the server starts, beside the KV pool, and stay: none is loaded or evicted.

use servescope_workload::Trace;

/// The adapters.
#[derive(Debug, Clone)]
pub(super) struct Resident {
    /// How many.
    pub(super) count: u32,
}

impl Resident {
    pub(super) fn new(trace: &Trace) -> Self {
        Self { count: trace.adapter_count() as u32 }
    }
}
