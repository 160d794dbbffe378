//! What a router learns of one replica's prefix cache: events of stored and removed blocks.

/// Where a replica keeps a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CacheTier {
    Gpu,
    Host,
}

/// Requests find a block from a time on, or no more.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct BlockChange {
    pub(crate) time_us: f64,
    /// Its number in the trace.
    pub(crate) block: u32,
    pub(crate) tier: CacheTier,
    pub(crate) is_stored: bool,
}

/// What was not told yet.
#[derive(Debug, Clone, Default)]
pub(crate) struct CacheWatch {
    pub(super) now_us: f64,
    pub(super) changes: Vec<BlockChange>,
}

impl CacheWatch {
    pub(super) fn note(&mut self, block: u32, tier: CacheTier, is_stored: bool) {
        self.changes.push(BlockChange { time_us: self.now_us, block, tier, is_stored });
    }
}
