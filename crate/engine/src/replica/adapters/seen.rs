//! The adapters in GPU memory one by one, for a debugger.

use super::{AdapterStore, Adapters};

/// An adapter in GPU memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResidentAdapter {
    /// Which adapter.
    pub adapter: u32,
    /// Requests of the batch that use it.
    pub users: u32,
}

impl Adapters {
    /// The adapters in GPU memory, by their numbers; none where all of them stay there.
    pub(crate) fn resident(&self) -> Vec<ResidentAdapter> {
        match &self.memory {
            AdapterStore::Unified(unified) => unified.pool().resident(),
            AdapterStore::Slots(slots) => slots.resident(),
            AdapterStore::Resident(_) => Vec::new(),
        }
    }

    /// LoRA slots, where adapters are kept in slots.
    pub(crate) fn slot_count(&self) -> Option<u32> {
        match &self.memory {
            AdapterStore::Slots(slots) => Some(slots.max_loras()),
            AdapterStore::Unified(_) | AdapterStore::Resident(_) => None,
        }
    }
}
