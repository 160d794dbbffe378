//! Prefix caching as in vLLM's engine, block by block (vllm/v1/core/block_pool.py): a block that is full is cached by what it
//! holds and what stands before it, answers like prompts, from when it is scheduled on. A block that is computed again while
//! it is cached is cached a second time. Free blocks without contents are taken first, then the longest unused one.
//!
//! The trace says which blocks are equal; a block that it does not describe is equal only to itself. Such a block is found
//! only by its own request after a preemption. Until then the blocks that a request fills behind those that the trace
//! describes are counted, not kept one by one.

use std::ops::Range;
use std::sync::Arc;

use servescope_workload::RequestId;

use super::held::{GroupBlocks, Held};
use super::watch::{BlockChange, CacheTier, CacheWatch};
use crate::block_numbers::number_map::{NumberMap, Reader};
use crate::block_numbers::{BlockNumbers, Numbers};
use crate::config::kv_groups::{BlockGroup, KvGroup, common_multiple};
use crate::record::request_timings::PrefixLookups;

/// No block.
const NONE: u32 = u32::MAX;

/// What a block holds, together with all before it: its number in the trace, or a request and which of its blocks it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct BlockContents(u64);

impl BlockContents {
    const OWN: u64 = 1 << 63;

    pub(crate) fn numbered(number: u32) -> Self {
        Self(number.into())
    }

    fn own(id: RequestId, index: u32) -> Self {
        Self(Self::OWN | u64::from(id.get()) << 32 | u64::from(index))
    }

    /// The contents as a number, that of the trace where there is one.
    pub(crate) fn key(self) -> u64 {
        self.0
    }

    /// The number in the trace.
    pub(crate) fn number(self) -> Option<u32> {
        (self.0 & Self::OWN == 0).then_some(self.0 as u32)
    }

    /// Of a request's own block, which of its blocks it is.
    fn own_index(self, id: RequestId) -> Option<u32> {
        let index = self.0 as u32;
        (self == Self::own(id, index)).then_some(index)
    }
}

/// The contents of blocks of a request, one after another.
#[derive(Debug, Clone)]
pub(crate) struct ContentsInOrder<'a> {
    numbers: Numbers<'a>,
    id: RequestId,
    index: u32,
    end: u32,
}

impl Iterator for ContentsInOrder<'_> {
    type Item = BlockContents;

    #[inline]
    fn next(&mut self) -> Option<BlockContents> {
        if self.index >= self.end {
            return None;
        }
        self.index += 1;
        let own = || BlockContents::own(self.id, self.index - 1);
        Some(self.numbers.next().map_or_else(own, BlockContents::numbered))
    }
}

/// The contents of these blocks of a request, of which those without a number are its own.
pub(crate) fn contents_of(numbers: &BlockNumbers, id: RequestId, blocks: Range<u32>) -> ContentsInOrder<'_> {
    ContentsInOrder { numbers: numbers.iter(id, blocks.clone()), id, index: blocks.start, end: blocks.end }
}

/// A block that is cached, or several that no request finds.
#[derive(Debug, Clone, Copy)]
struct Block {
    contents: BlockContents,
    /// The group whose tokens it holds.
    group: u32,
    /// How many: with the last of them it begins to be forgotten.
    count: u32,
    /// Requests that hold it.
    users: u32,
    /// Whether a request finds it. A request's own block is looked for only after that request was preempted.
    is_found: bool,
    /// Neighbours among those that no request holds.
    older: u32,
    newer: u32,
    /// The next one with the same contents.
    twin: u32,
}

/// The blocks of one group.
#[derive(Debug, Clone)]
struct CachedGroup {
    group: BlockGroup,
    /// Which blocks of requests are equal.
    numbers: Arc<BlockNumbers>,
    /// The block that is found for some contents: of several the one that was cached first.
    first: NumberMap<u32>,
}

impl CachedGroup {
    /// The blocks that are found as these ones of a request, up to the first that is not.
    fn found(&self, id: RequestId, blocks: Range<u32>) -> impl Iterator<Item = u32> {
        let mut first: Reader<'_, u32> = self.first.reader();
        contents_of(&self.numbers, id, blocks).map_while(move |contents| first.get(contents.key()))
    }

    /// The block that is found as block `index` of a request.
    fn get(&self, id: RequestId, index: u32) -> Option<u32> {
        self.found(id, index..index + 1).next()
    }
}

/// The cached blocks of one replica.
#[derive(Debug, Clone)]
pub(crate) struct BlockCache {
    block_size: u32,
    /// A prefix that is found has a multiple of so many blocks: whole ones of every group.
    hit_blocks: u32,
    groups: Vec<CachedGroup>,
    blocks: Vec<Block>,
    unused: Vec<u32>,
    oldest: u32,
    newest: u32,
    idle: u32,
    /// Whether a lower tier asks for every block: all are kept one by one, and those that are forgotten are listed.
    has_lower_tier: bool,
    forgotten: Vec<u32>,
    /// What admitted requests asked it for.
    pub(super) asked: PrefixLookups,
    /// What a router is told, where one asks.
    pub(super) watch: Option<Box<CacheWatch>>,
}

impl BlockCache {
    /// Of groups, each with the numbers of its blocks in the trace.
    pub(crate) fn new(
        block_size: u32,
        groups: impl IntoIterator<Item = (BlockGroup, Arc<BlockNumbers>)>,
    ) -> Self {
        let of_group = |(group, numbers)| CachedGroup { group, numbers, first: NumberMap::default() };
        let groups: Vec<CachedGroup> = groups.into_iter().map(of_group).collect();
        let ratios = groups.iter().map(|of| of.group.block_tokens / block_size);
        Self {
            block_size,
            hit_blocks: common_multiple(ratios).min(u32::MAX.into()) as u32,
            blocks: Vec::new(),
            unused: Vec::new(),
            groups,
            oldest: NONE,
            newest: NONE,
            idle: 0,
            has_lower_tier: false,
            forgotten: Vec::new(),
            asked: PrefixLookups::default(),
            watch: None,
        }
    }

    /// Changes are kept from now on until they are asked for.
    pub(crate) fn keep_changes(&mut self) {
        self.watch = Some(Box::default());
    }

    /// What changed since the last call.
    pub(crate) fn take_changes(&mut self) -> Vec<BlockChange> {
        self.watch.as_mut().map(|watch| std::mem::take(&mut watch.changes)).unwrap_or_default()
    }

    /// A router that asks is told that the host has a block from now on, or no more.
    pub(super) fn tell_of_host(&mut self, number: u32, is_stored: bool) {
        if let Some(watch) = &mut self.watch {
            watch.note(number, CacheTier::Host, is_stored);
        }
    }

    /// The blocks of a request that have a number, of the first group, up to some.
    pub(super) fn numbers_of(&self, id: RequestId, most: u32) -> Numbers<'_> {
        self.groups[0].numbers.iter(id, 0..most)
    }

    /// A router that asks is told that some contents are found from now on, or no more.
    fn tell(&mut self, group: u32, contents: BlockContents, is_stored: bool) {
        if let (Some(watch), 0, Some(number)) = (&mut self.watch, group, contents.number()) {
            watch.note(number, CacheTier::Gpu, is_stored);
        }
    }

    /// The same above a tier that asks for every block.
    pub(crate) fn above_lower_tier(self) -> Self {
        Self { has_lower_tier: true, ..self }
    }

    /// The contents of a block.
    pub(crate) fn contents(&self, block: u32) -> BlockContents {
        self.blocks[block as usize].contents
    }

    /// The block that is found for some contents.
    pub(crate) fn find(&self, contents: BlockContents) -> Option<u32> {
        self.groups[0].first.get(contents.key())
    }

    /// A block that is full with these contents is kept, and held by one that gives it back later.
    pub(crate) fn keep(&mut self, contents: BlockContents) -> u32 {
        let block = self.insert(0, contents);
        self.publish(block);
        block
    }

    /// The block stays until it is given back. Says whether it counted as free.
    pub(crate) fn hold(&mut self, block: u32) -> bool {
        let was_idle = self.blocks[block as usize].users == 0;
        if was_idle {
            self.unlink(block);
        }
        self.blocks[block as usize].users += 1;
        was_idle
    }

    /// Whether a request or a copy holds the block.
    pub(crate) fn is_held(&self, block: u32) -> bool {
        self.blocks[block as usize].users > 0
    }

    /// The block that stands behind another one among those that no request holds, or the first of them.
    pub(crate) fn idle_after(&self, block: Option<u32>) -> Option<u32> {
        let next = block.map_or(self.oldest, |block| self.blocks[block as usize].newer);
        (next != NONE).then_some(next)
    }

    /// The blocks that were forgotten since the last call, where a lower tier asks for them.
    pub(crate) fn take_forgotten(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.forgotten)
    }

    /// Cached blocks that no request holds.
    pub(crate) fn idle(&self) -> u32 {
        self.idle
    }

    /// Tokens in a block of the block size.
    pub(crate) fn block_size(&self) -> u32 {
        self.block_size
    }

    /// After how many tokens of a request its next full block can be found by others; `None`: it holds no further one.
    pub(crate) fn next_named(&self, id: RequestId, held: &Held) -> Option<u32> {
        let of_group = |(CachedGroup { group, numbers, .. }, held): (&CachedGroup, &GroupBlocks)| {
            let (index, tokens) = (held.cached_len(), group.block_tokens);
            let is_numbered = group.kind != KvGroup::State && held.own == 0 && index < numbers.count_of(id);
            is_numbered.then(|| (index + 1) * tokens)
        };
        self.groups.iter().zip(held.groups()).filter_map(of_group).min()
    }

    /// How many of a request's first `most` blocks of the block size are cached, and how many of those it would use no request holds.
    pub(crate) fn known(&self, id: RequestId, most: u32) -> (u32, u32) {
        if let ([only], 1) = (&self.groups[..], self.hit_blocks)
            && only.group.kind == KvGroup::Full
        {
            return self.run(0, id, 0..most);
        }
        let count = self.longest_hit(id, most);
        let idle = |group: usize| {
            let from = self.groups[group].group.skipped_blocks(count * self.block_size);
            self.run(group, id, from..count / self.ratio(group)).1
        };
        (count, (0..self.groups.len()).map(idle).sum())
    }

    /// How many times the tokens of the block size a block of a group holds.
    fn ratio(&self, group: usize) -> u32 {
        self.groups[group].group.block_tokens / self.block_size
    }

    /// So many blocks of a group, as blocks of the block size: no more than whole ones of every group.
    fn aligned(&self, group: usize, blocks: u32) -> u32 {
        let blocks = blocks * self.ratio(group);
        blocks - blocks % self.hit_blocks
    }

    /// How many blocks in a row are cached, and how many of these no request holds.
    fn run(&self, group: usize, id: RequestId, blocks: Range<u32>) -> (u32, u32) {
        let mut found = (0, 0);
        for block in self.groups[group].found(id, blocks) {
            found.0 += 1;
            found.1 += u32::from(self.blocks[block as usize].users == 0);
        }
        found
    }

    /// The longest prefix, of `most` blocks at the most, of which every group has what it needs. Each group shortens it until none
    /// does, those of full attention first (vllm/v1/core/kv_cache_coordinator.py, `find_longest_cache_hit`).
    fn longest_hit(&self, id: RequestId, most: u32) -> u32 {
        let is_full = |group: &usize| self.groups[*group].group.kind == KvGroup::Full;
        let mut count = most;
        for group in (0..self.groups.len()).filter(is_full) {
            let found = self.run(group, id, 0..count / self.ratio(group)).0;
            count = self.aligned(group, found);
        }
        loop {
            let before = count;
            for group in (0..self.groups.len()).filter(|group| !is_full(group)) {
                count = self.hit_of(group, id, count);
            }
            if count == before {
                return count;
            }
        }
    }

    /// The longest prefix of which a group that does not need all blocks has what it needs.
    fn hit_of(&self, group: usize, id: RequestId, most: u32) -> u32 {
        let BlockGroup { kind, block_tokens } = self.groups[group].group;
        let ratio = self.ratio(group);
        let KvGroup::SlidingWindow(window) = kind else {
            let from = self.groups[group].group.skipped_blocks(most * self.block_size);
            return self.aligned(group, from + self.run(group, id, from..most / ratio).0);
        };
        // From the end on, which lies where every group has a whole block; where fewer than the window's are found, those of the
        // start.
        let needed = window.saturating_sub(1).div_ceil(block_tokens);
        let mut in_a_row = 0;
        for index in (0..most / ratio).rev() {
            if self.groups[group].get(id, index).is_none() {
                in_a_row = 0;
                continue;
            }
            if in_a_row == 0 && !((index + 1) * ratio).is_multiple_of(self.hit_blocks) {
                continue;
            }
            in_a_row += 1;
            if in_a_row >= needed {
                return (index + in_a_row) * ratio;
            }
        }
        self.aligned(group, in_a_row)
    }

    /// A request that holds nothing uses its first `count` blocks, which are cached: of each group those that it needs.
    pub(crate) fn share(&mut self, id: RequestId, count: u32, held: &mut Held) {
        for (group, held) in held.groups_mut().enumerate() {
            held.skipped = self.groups[group].group.skipped_blocks(count * self.block_size);
            let from = held.cached.len();
            held.cached.extend(self.groups[group].found(id, held.skipped..count / self.ratio(group)));
            for &block in &held.cached[from..] {
                self.hold(block);
            }
        }
    }

    /// The first `tokens` of a request are processed, or scheduled to be: their full blocks are cached.
    pub(crate) fn learn(&mut self, id: RequestId, tokens: u32, held: &mut Held) {
        for (group, held) in held.groups_mut().enumerate() {
            let BlockGroup { kind, block_tokens } = self.groups[group].group;
            if kind != KvGroup::State {
                self.learn_of(group, id, tokens / block_tokens, held);
            }
        }
    }

    fn learn_of(&mut self, group: usize, id: RequestId, most: u32, held: &mut GroupBlocks) {
        let first = held.cached_len();
        let CachedGroup { numbers, .. } = &self.groups[group];
        // Those with a number are the first ones of a request.
        let until = if self.has_lower_tier { most } else { most.min(numbers.count_of(id)) };
        if held.own == 0 && first < until {
            let numbers = Arc::clone(numbers);
            for contents in contents_of(&numbers, id, first..until) {
                let block = self.insert(group, contents);
                self.publish(block);
                held.cached.push(block);
            }
            held.plain -= until - first;
        }
        let rest = most.saturating_sub(held.cached_len());
        held.own += rest;
        held.plain -= rest;
    }

    /// A request gives its blocks back, group by group and the last one first; it may look for them later. Returns how many no
    /// request holds now.
    pub(crate) fn release(&mut self, id: RequestId, held: &mut Held, is_resumed_later: bool) -> u32 {
        let mut held = std::mem::take(held);
        let of_group = |(group, held)| self.release_of(group, id, held, is_resumed_later);
        held.groups_mut().enumerate().map(of_group).sum()
    }

    fn release_of(
        &mut self,
        group: usize,
        id: RequestId,
        held: &mut GroupBlocks,
        is_resumed_later: bool,
    ) -> u32 {
        let mut freed = held.plain;
        let own = held.own;
        if is_resumed_later {
            for block in std::mem::take(&mut held.given_back) {
                self.publish_given_back(block, id);
            }
            self.publish_own(group, id, held, own);
            held.cached.iter().for_each(|&block| self.publish(block));
        } else if own > 0 {
            let block = self.insert(group, BlockContents::own(id, 0));
            self.blocks[block as usize].count = own;
            self.link(block);
            freed += own;
        }
        while let Some(block) = held.cached.pop() {
            freed += self.give_back(block);
        }
        freed
    }

    /// A request gives back those of its blocks before block `until` that it still holds, the last one first: no later token looks at
    /// them. Returns how many no request holds now.
    pub(super) fn skip(&mut self, group: usize, id: RequestId, until: u32, held: &mut GroupBlocks) -> u32 {
        let skips = until - held.skipped;
        let cached = skips.min(held.cached.len() as u32);
        let own = (skips - cached).min(held.own);
        // What is processed is cached; otherwise blocks without contents come free.
        let plain = skips - cached - own;
        held.plain -= plain;
        let mut freed = own + plain;
        if own > 0 {
            let block = self.insert(group, BlockContents::own(id, held.skipped + cached));
            self.blocks[block as usize].count = own;
            self.blocks[block as usize].users = 0;
            self.link(block);
            held.given_back.push(block);
            held.own -= own;
        }
        held.skipped = until;
        let skipped: Vec<u32> = held.cached.drain(..cached as usize).collect();
        for block in skipped.into_iter().rev() {
            freed += self.give_back(block);
        }
        freed
    }

    /// How many of these blocks come free if a request gives each back as often as it stands here.
    pub(crate) fn freed_by(&self, mut blocks: Vec<u32>) -> u32 {
        blocks.sort_unstable();
        let is_freed = |same: &&[u32]| self.blocks[same[0] as usize].users as usize == same.len();
        blocks.chunk_by(|one, other| one == other).filter(is_freed).count() as u32
    }

    /// The first `count` of a request's own blocks are kept one by one, and found by the request, from now on.
    fn publish_own(&mut self, group: usize, id: RequestId, held: &mut GroupBlocks, count: u32) {
        let first = held.skipped + held.cached.len() as u32;
        for index in first..first + count {
            let block = self.insert(group, BlockContents::own(id, index));
            self.publish(block);
            held.cached.push(block);
        }
        held.own -= count;
    }

    /// Own blocks that a request gave back are kept one by one, and found by the request, from now on, as far as they are not
    /// forgotten. They stand in one place of the order, the last one first.
    fn publish_given_back(&mut self, block: u32, id: RequestId) {
        let Block { contents, group, count, is_found, older, newer, users, .. } = self.blocks[block as usize];
        // A place that was forgotten may hold something else.
        let Some(first) = contents.own_index(id).filter(|_| !is_found && users == 0 && count > 0) else {
            return;
        };
        self.blocks[block as usize].count = 1;
        let mut singles = vec![block];
        for index in first + 1..first + count {
            let single = self.insert(group as usize, BlockContents::own(id, index));
            self.blocks[single as usize].users = 0;
            singles.push(single);
        }
        let mut before = older;
        for &single in singles.iter().rev() {
            self.join(before, single);
            before = single;
        }
        self.join(before, newer);
        singles.into_iter().for_each(|single| self.publish(single));
    }

    /// The one stands before the other in the order of those that no request holds; [`NONE`] is an end of it.
    fn join(&mut self, older: u32, newer: u32) {
        match self.blocks.get_mut(older as usize) {
            Some(block) => block.newer = newer,
            None => self.oldest = newer,
        }
        match self.blocks.get_mut(newer as usize) {
            Some(block) => block.older = older,
            None => self.newest = older,
        }
    }

    /// One that held the block holds it no more. Returns how many come free.
    pub(crate) fn give_back(&mut self, block: u32) -> u32 {
        let entry = &mut self.blocks[block as usize];
        entry.users -= 1;
        let is_free = entry.users == 0;
        if is_free {
            self.link(block);
        }
        u32::from(is_free)
    }

    /// Forgets the longest unused blocks until at most `most` of them are left.
    pub(crate) fn trim(&mut self, most: u32) {
        while self.idle > most {
            let block = self.oldest;
            let entry = &mut self.blocks[block as usize];
            let surplus = self.idle - most;
            if entry.count > surplus {
                entry.count -= surplus;
                self.idle = most;
                return;
            }
            self.unlink(block);
            self.remove(block);
        }
    }

    fn insert(&mut self, group: usize, contents: BlockContents) -> u32 {
        let group = group as u32;
        let entry = Block {
            contents,
            group,
            count: 1,
            users: 1,
            is_found: false,
            older: NONE,
            newer: NONE,
            twin: NONE,
        };
        let block = self.unused.pop().unwrap_or_else(|| {
            self.blocks.push(entry);
            self.blocks.len() as u32 - 1
        });
        self.blocks[block as usize] = entry;
        block
    }

    /// From now on requests find the block.
    fn publish(&mut self, block: u32) {
        let entry = &mut self.blocks[block as usize];
        if std::mem::replace(&mut entry.is_found, true) {
            return;
        }
        let (group, contents) = (entry.group, entry.contents);
        let first = &mut self.groups[group as usize].first;
        let Some(mut at) = first.get(contents.key()) else {
            first.insert(contents.key(), block);
            self.tell(group, contents, true);
            return;
        };
        // The one that was cached first is found; the others stand behind it in their order.
        while at != block {
            let next = &mut self.blocks[at as usize].twin;
            if *next == NONE {
                *next = block;
            }
            at = *next;
        }
    }

    fn remove(&mut self, block: u32) {
        let Block { contents, group, twin, is_found, .. } = self.blocks[block as usize];
        self.unused.push(block);
        self.blocks[block as usize].count = 0;
        if self.has_lower_tier {
            self.forgotten.push(block);
        }
        if !is_found {
            return;
        }
        let first = &mut self.groups[group as usize].first;
        let Some(mut at) = first.get(contents.key()) else { return };
        if at == block && twin == NONE {
            first.remove(contents.key());
            self.tell(group, contents, false);
            return;
        }
        if at == block {
            first.insert(contents.key(), twin);
            return;
        }
        while self.blocks[at as usize].twin != block {
            at = self.blocks[at as usize].twin;
        }
        self.blocks[at as usize].twin = twin;
    }

    /// No request holds the block from now on.
    fn link(&mut self, block: u32) {
        let last = self.newest;
        let entry = &mut self.blocks[block as usize];
        (entry.older, entry.newer) = (last, NONE);
        match self.blocks.get_mut(last as usize) {
            Some(before) => before.newer = block,
            None => self.oldest = block,
        }
        self.newest = block;
        self.idle += self.blocks[block as usize].count;
    }

    fn unlink(&mut self, block: u32) {
        let Block { older, newer, count, .. } = self.blocks[block as usize];
        self.join(older, newer);
        self.idle -= count;
    }
}

#[cfg(test)]
mod tests {
    use servescope_workload::trace::{PrefixBlocks, Request, TraceMetadata};
    use servescope_workload::{BASE_MODEL, Trace};

    use super::*;

    fn trace() -> Trace {
        let mut trace = Trace::default();
        let mut prefix = PrefixBlocks::new(8);
        for ids in [[1, 2, 3, 4], [1, 2, 9, 10]] {
            prefix.push(ids);
            let (arrival_us, user, adapter, input_tokens) = (0.0, 0, BASE_MODEL, 32);
            trace.push(Request {
                arrival_us,
                user,
                adapter,
                input_tokens,
                output_tokens: 20,
                max_tokens: 20,
            });
        }
        trace.metadata = Some(Box::new(TraceMetadata { prefix, ..TraceMetadata::default() }));
        trace
    }

    fn of(kind: KvGroup, block_tokens: u32, trace: &Trace) -> (BlockGroup, Arc<BlockNumbers>) {
        (BlockGroup { kind, block_tokens }, Arc::new(BlockNumbers::of_kv_blocks(trace, block_tokens)))
    }

    fn plain(groups: usize, count: u32) -> Held {
        let mut held = Held::of_groups(groups);
        held.groups_mut().for_each(|group| group.plain = count);
        held
    }

    fn cached(held: &Held) -> Vec<u32> {
        held.cached().collect()
    }

    #[test]
    fn blocks_are_shared_kept_twice_and_forgotten_longest_unused_first() {
        let mut cache = BlockCache::new(16, [of(KvGroup::Full, 16, &trace())]);
        let mut first = plain(1, 3);
        assert_eq!(cache.known(RequestId::new(0), 2), (0, 0));
        cache.learn(RequestId::new(0), 40, &mut first);
        assert_eq!((cached(&first).len(), first.first().own, first.first().plain), (2, 0, 1));
        // The answer's block is its own, the prompt's first one the other's, too.
        cache.learn(RequestId::new(0), 48, &mut first);
        assert_eq!((cache.known(RequestId::new(0), 3), cache.known(RequestId::new(1), 3)), ((2, 0), (1, 0)));
        let mut second = plain(1, 1);
        cache.learn(RequestId::new(1), 16, &mut second);
        assert_ne!(cached(&first)[0], cached(&second)[0]);
        assert_eq!(cache.release(RequestId::new(0), &mut first, true), 3);
        assert_eq!(
            (cache.idle(), cache.known(RequestId::new(1), 1), cache.known(RequestId::new(0), 3)),
            (3, (1, 1), (3, 3))
        );
        // The end is forgotten before the start, and the twin is found then.
        cache.trim(1);
        assert_eq!(cache.known(RequestId::new(0), 3), (1, 1));
        cache.trim(0);
        assert_eq!((cache.idle(), cache.known(RequestId::new(0), 3)), (0, (1, 0)));
        let mut third = plain(1, 0);
        cache.share(RequestId::new(0), 1, &mut third);
        assert_eq!(cached(&third), cached(&second));
        assert_eq!(
            (
                cache.release(RequestId::new(1), &mut second, false),
                cache.release(RequestId::new(0), &mut third, false)
            ),
            (0, 1)
        );
    }

    #[test]
    fn a_hit_needs_the_blocks_of_the_window_before_its_end() {
        // Blocks of 8 tokens, a window of 10: two blocks before the end of a hit.
        let mut cache =
            BlockCache::new(8, [of(KvGroup::Full, 8, &trace()), of(KvGroup::SlidingWindow(10), 8, &trace())]);
        let id = RequestId::new(0);
        let mut held = plain(2, 4);
        cache.learn(id, 32, &mut held);
        assert_eq!(cache.known(id, 4), (4, 0));
        // Two blocks of the window group come free and are cached until their turn; without them a hit of two blocks is none.
        let window = held.groups_mut().nth(1).expect("a second group");
        assert_eq!((cache.skip(1, id, 2, window), cache.idle()), (2, 2));
        assert_eq!((cache.known(id, 4), cache.known(id, 2)), ((4, 0), (2, 2)));
        // The later of the two was given back first.
        cache.trim(1);
        assert_eq!((cache.known(id, 2), cache.known(RequestId::new(1), 4)), ((1, 1), (1, 1)));
        cache.trim(0);
        assert_eq!((cache.known(id, 4), cache.known(id, 3)), ((4, 0), (0, 0)));
        let mut other = Held::of_groups(2);
        cache.share(id, 4, &mut other);
        assert_eq!(
            other.groups().map(|group| (group.skipped, group.count())).collect::<Vec<_>>(),
            [(0, 4), (2, 2)]
        );
        assert_eq!((cache.release(id, &mut held, false), cache.release(id, &mut other, false)), (0, 6));
    }

    #[test]
    fn own_blocks_that_left_the_window_are_found_after_a_preemption() {
        let mut cache = BlockCache::new(4, [of(KvGroup::SlidingWindow(5), 4, &Trace::default())]);
        let id = RequestId::new(0);
        let mut held = plain(1, 5);
        cache.learn(id, 20, &mut held);
        let of_group = held.groups_mut().next().expect("a group");
        assert_eq!(cache.skip(0, id, 3, of_group), 3);
        assert_eq!(cache.release(id, &mut held, true), 2);
        assert_eq!((cache.known(id, 5), cache.known(id, 3), cache.idle()), ((5, 1), (3, 1), 5));
        let mut again = plain(1, 0);
        cache.share(id, 5, &mut again);
        assert_eq!((again.count(), again.first().skipped, cache.idle()), (1, 4, 4));
    }
}
