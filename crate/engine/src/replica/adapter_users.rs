//! How many requests use each adapter, in a batch or in the slots of a replica.

/// How many requests use each adapter.
#[derive(Debug, Clone, Default)]
pub(crate) struct Users {
    counts: Vec<u32>,
    /// Adapters that are used.
    pub(crate) distinct: u32,
    /// Sum of their ranks.
    pub(crate) ranks: u64,
}

impl Users {
    /// Whether a request uses the adapter.
    pub(crate) fn has(&self, adapter: u32) -> bool {
        self.of(adapter) > 0
    }

    pub(super) fn of(&self, adapter: u32) -> u32 {
        self.counts.get(adapter as usize).copied().unwrap_or(0)
    }

    /// One more; says whether it is the first.
    pub(crate) fn add(&mut self, adapter: u32, rank: u32) -> bool {
        let count = entry(&mut self.counts, adapter);
        *count += 1;
        let is_first = *count == 1;
        if is_first {
            self.distinct += 1;
            self.ranks += u64::from(rank);
        }
        is_first
    }

    /// One less; says whether it was the last.
    pub(crate) fn remove(&mut self, adapter: u32, rank: u32) -> bool {
        let count = entry(&mut self.counts, adapter);
        *count -= 1;
        let was_last = *count == 0;
        if was_last {
            self.distinct -= 1;
            self.ranks -= u64::from(rank);
        }
        was_last
    }
}

/// The entry of an adapter in a column that grows with the adapters seen.
pub(super) fn entry<T: Clone + Default>(column: &mut Vec<T>, adapter: u32) -> &mut T {
    let place = adapter as usize;
    if column.len() <= place {
        column.resize(place + 1, T::default());
    }
    &mut column[place]
}
