//! The blocks that a request holds, by groups of layers (`req_to_blocks` of vllm/v1/core/single_type_kv_cache_manager.py).

/// Those of one group: behind the ones that were given back first those that are cached, then the others.
#[derive(Debug, Clone, Default)]
pub(super) struct GroupBlocks {
    /// The first blocks of the request, which no later token looks at, were given back (vLLM's null blocks).
    pub(super) skipped: u32,
    pub(super) cached: Vec<u32>,
    /// Cached blocks behind those that no request looks for yet.
    pub(super) own: u32,
    pub(super) plain: u32,
    /// Of those that were given back, own blocks, which the request may look for after a preemption.
    pub(super) given_back: Vec<u32>,
}

impl GroupBlocks {
    /// How many it holds.
    pub(super) fn count(&self) -> u32 {
        self.cached.len() as u32 + self.own + self.plain
    }

    /// The same with those that were given back.
    pub(super) fn table_len(&self) -> u32 {
        self.skipped + self.count()
    }

    /// How many of the first blocks of the request are cached, or were when they were given back.
    pub(super) fn cached_len(&self) -> u32 {
        self.skipped + self.cached.len() as u32 + self.own
    }

    /// Gives back those before block `until`, none of which is cached. Returns how many.
    pub(super) fn skip_plain(&mut self, until: u32) -> u32 {
        let count = until - std::mem::replace(&mut self.skipped, until);
        self.plain -= count;
        count
    }
}

/// Those of all groups. Nearly every model has one group only.
#[derive(Debug, Clone, Default)]
pub(crate) struct Held {
    first: GroupBlocks,
    others: Vec<GroupBlocks>,
}

impl Held {
    /// No block of so many groups.
    pub(super) fn of_groups(groups: usize) -> Self {
        Self { first: GroupBlocks::default(), others: vec![GroupBlocks::default(); groups.saturating_sub(1)] }
    }

    /// It holds so many blocks that no other request has, behind `others` that it shares.
    pub(crate) fn keep_plain(&mut self, others: u32, own: u32) {
        (self.first.skipped, self.first.plain) = (others, own);
    }

    /// How many.
    pub(crate) fn count(&self) -> u32 {
        self.groups().map(GroupBlocks::count).sum()
    }

    /// Those of them without contents that others could find.
    pub(super) fn empty(&self) -> u32 {
        self.groups().map(|group| group.plain).sum()
    }

    /// Those that other requests may hold, too.
    pub(crate) fn cached(&self) -> impl Iterator<Item = u32> {
        self.groups().flat_map(|group| group.cached.iter().copied())
    }

    /// The cached blocks of the first group, in the order of the request's tokens.
    pub(crate) fn cached_in_order(&self) -> &[u32] {
        &self.first.cached
    }

    #[cfg(test)]
    pub(super) fn first(&self) -> &GroupBlocks {
        &self.first
    }

    pub(super) fn groups(&self) -> impl Iterator<Item = &GroupBlocks> {
        std::iter::once(&self.first).chain(&self.others)
    }

    pub(super) fn groups_mut(&mut self) -> impl Iterator<Item = &mut GroupBlocks> {
        std::iter::once(&mut self.first).chain(&mut self.others)
    }
}
