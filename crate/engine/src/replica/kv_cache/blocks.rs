//! Prefix caching as in vLLM's engine, block by block (vllm/v1/core/block_pool.py): a block that is full is cached by what it
//! holds and what stands before it, answers like prompts, from when it is scheduled on. A block that is computed again while
//! it is cached is cached a second time. Free blocks without contents are taken first, then the longest unused one.
//!
//! The trace says which blocks are equal; a block that it does not describe is equal only to itself. Such a block is found
//! only by its own request after a preemption. Until then the blocks that a request fills behind those that the trace
//! describes are counted, not kept one by one.

use std::collections::BTreeMap;
use std::ops::Range;

use servescope_workload::{RequestId, Trace};

use super::held::{GroupBlocks, Held};
use super::watch::{BlockName, CacheWatch};
use crate::config::kv_groups::{BlockGroup, KvGroup, common_multiple};
use crate::record::request_timings::PrefixLookups;

/// No block.
const NONE: u32 = u32::MAX;

/// What a block holds, together with all before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum BlockContents {
    /// The adapter, the id of a block of the trace and which of its KV blocks.
    Prefix(u32, u64, u32),
    /// A request's own: which request, which of its blocks.
    Own(RequestId, u32),
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

/// The block that is found for some contents: of several the one that was cached first.
#[derive(Debug, Clone, Default)]
struct Index {
    prefix: BTreeMap<(u32, u64, u32), u32>,
    /// Of requests that were preempted: blocks by their place in the request, [`NONE`] where there is none, and how many there
    /// are.
    own: BTreeMap<RequestId, (Vec<u32>, u32)>,
}

impl Index {
    fn get(&self, contents: BlockContents) -> Option<u32> {
        match contents {
            BlockContents::Prefix(adapter, block, part) => self.prefix.get(&(adapter, block, part)).copied(),
            BlockContents::Own(id, index) => {
                let found = self.own.get(&id)?.0.get(index as usize);
                found.copied().filter(|&block| block != NONE)
            }
        }
    }

    /// The block that is found; `block` from now on, where there was none.
    fn get_or_insert(&mut self, contents: BlockContents, block: u32) -> u32 {
        match contents {
            BlockContents::Prefix(adapter, of_block, part) => {
                *self.prefix.entry((adapter, of_block, part)).or_insert(block)
            }
            BlockContents::Own(id, index) => {
                let (blocks, count) = self.own.entry(id).or_default();
                let place = index as usize;
                if blocks.len() <= place {
                    blocks.resize(place + 1, NONE);
                }
                if blocks[place] == NONE {
                    blocks[place] = block;
                    *count += 1;
                }
                blocks[place]
            }
        }
    }

    /// Another block is found from now on, or none ([`NONE`]).
    fn replace(&mut self, contents: BlockContents, block: u32) {
        match contents {
            BlockContents::Prefix(adapter, of_block, part) if block == NONE => {
                self.prefix.remove(&(adapter, of_block, part));
            }
            BlockContents::Prefix(adapter, of_block, part) => {
                self.prefix.insert((adapter, of_block, part), block);
            }
            BlockContents::Own(id, index) => {
                let Some((blocks, count)) = self.own.get_mut(&id) else { return };
                blocks[index as usize] = block;
                *count -= u32::from(block == NONE);
                if *count == 0 {
                    self.own.remove(&id);
                }
            }
        }
    }
}

/// The cached blocks of one replica.
#[derive(Debug, Clone)]
pub(crate) struct BlockCache {
    block_size: u32,
    /// A prefix that is found has a multiple of so many blocks: whole ones of every group.
    hit_blocks: u32,
    groups: Vec<BlockGroup>,
    blocks: Vec<Block>,
    unused: Vec<u32>,
    /// By group.
    first: Vec<Index>,
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
    pub(crate) fn new(block_size: u32, groups: Vec<BlockGroup>) -> Self {
        let ratios = groups.iter().map(|group| group.block_tokens / block_size);
        Self {
            block_size,
            hit_blocks: common_multiple(ratios).min(u32::MAX.into()) as u32,
            blocks: Vec::new(),
            unused: Vec::new(),
            first: vec![Index::default(); groups.len()],
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

    /// The name of a request's block, of the first group; `None`: the trace does not describe it.
    pub(super) fn name_of(&self, trace: &Trace, id: RequestId, index: u32) -> Option<BlockName> {
        match prefix_contents(trace, id, index, self.groups[0].block_tokens)? {
            BlockContents::Prefix(adapter, block, part) => Some((adapter, block, part)),
            BlockContents::Own(..) => None,
        }
    }

    /// A router that asks is told that some contents are found from now on, or no more.
    fn tell(&mut self, group: u32, contents: BlockContents, is_stored: bool) {
        if let (Some(watch), 0, BlockContents::Prefix(adapter, block, part)) =
            (&mut self.watch, group, contents)
        {
            watch.note((adapter, block, part), is_stored);
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
        self.first[0].get(contents)
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

    /// The block of a group that is found as block `index` of a request.
    fn get(&self, group: usize, trace: &Trace, id: RequestId, index: u32) -> Option<u32> {
        self.first[group].get(contents_of(trace, id, index, self.groups[group].block_tokens))
    }

    /// After how many tokens of a request its next full block can be found by others; `None`: it holds no further one.
    pub(crate) fn next_named(&self, trace: &Trace, id: RequestId, held: &Held) -> Option<u32> {
        let of_group = |(group, held): (&BlockGroup, &GroupBlocks)| {
            let (index, tokens) = (held.cached_len(), group.block_tokens);
            let is_named = group.kind != KvGroup::State
                && held.own == 0
                && prefix_contents(trace, id, index, tokens).is_some();
            is_named.then(|| (index + 1) * tokens)
        };
        self.groups.iter().zip(held.groups()).filter_map(of_group).min()
    }

    /// How many of a request's first `most` blocks of the block size are cached, and how many of those it would use no request holds.
    pub(crate) fn known(&self, trace: &Trace, id: RequestId, most: u32) -> (u32, u32) {
        if let ([BlockGroup { kind: KvGroup::Full, .. }], 1) = (&self.groups[..], self.hit_blocks) {
            return self.run(0, trace, id, 0..most);
        }
        let count = self.longest_hit(trace, id, most);
        let idle = |group: usize| {
            let from = self.groups[group].skipped_blocks(count * self.block_size);
            self.run(group, trace, id, from..count / self.ratio(group)).1
        };
        (count, (0..self.groups.len()).map(idle).sum())
    }

    /// How many times the tokens of the block size a block of a group holds.
    fn ratio(&self, group: usize) -> u32 {
        self.groups[group].block_tokens / self.block_size
    }

    /// So many blocks of a group, as blocks of the block size: no more than whole ones of every group.
    fn aligned(&self, group: usize, blocks: u32) -> u32 {
        let blocks = blocks * self.ratio(group);
        blocks - blocks % self.hit_blocks
    }

    /// How many blocks in a row are cached, and how many of these no request holds.
    fn run(&self, group: usize, trace: &Trace, id: RequestId, blocks: Range<u32>) -> (u32, u32) {
        let mut found = (0, 0);
        for index in blocks {
            let Some(block) = self.get(group, trace, id, index) else { break };
            found.0 += 1;
            found.1 += u32::from(self.blocks[block as usize].users == 0);
        }
        found
    }

    /// The longest prefix, of `most` blocks at the most, of which every group has what it needs. Each group shortens it until none
    /// does, those of full attention first (vllm/v1/core/kv_cache_coordinator.py, `find_longest_cache_hit`).
    fn longest_hit(&self, trace: &Trace, id: RequestId, most: u32) -> u32 {
        let is_full = |group: &usize| self.groups[*group].kind == KvGroup::Full;
        let mut count = most;
        for group in (0..self.groups.len()).filter(is_full) {
            let found = self.run(group, trace, id, 0..count / self.ratio(group)).0;
            count = self.aligned(group, found);
        }
        loop {
            let before = count;
            for group in (0..self.groups.len()).filter(|group| !is_full(group)) {
                count = self.hit_of(group, trace, id, count);
            }
            if count == before {
                return count;
            }
        }
    }

    /// The longest prefix of which a group that does not need all blocks has what it needs.
    fn hit_of(&self, group: usize, trace: &Trace, id: RequestId, most: u32) -> u32 {
        let BlockGroup { kind, block_tokens } = self.groups[group];
        let ratio = self.ratio(group);
        let KvGroup::SlidingWindow(window) = kind else {
            let from = self.groups[group].skipped_blocks(most * self.block_size);
            return self.aligned(group, from + self.run(group, trace, id, from..most / ratio).0);
        };
        // From the end on, which lies where every group has a whole block; where fewer than the window's are found, those of the
        // start.
        let needed = window.saturating_sub(1).div_ceil(block_tokens);
        let mut in_a_row = 0;
        for index in (0..most / ratio).rev() {
            if self.get(group, trace, id, index).is_none() {
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
    pub(crate) fn share(&mut self, trace: &Trace, id: RequestId, count: u32, held: &mut Held) {
        for (group, held) in held.groups_mut().enumerate() {
            held.skipped = self.groups[group].skipped_blocks(count * self.block_size);
            for index in held.skipped..count / self.ratio(group) {
                let Some(block) = self.get(group, trace, id, index) else { break };
                if self.blocks[block as usize].users == 0 {
                    self.unlink(block);
                }
                self.blocks[block as usize].users += 1;
                held.cached.push(block);
            }
        }
    }

    /// The first `tokens` of a request are processed, or scheduled to be: their full blocks are cached.
    pub(crate) fn learn(&mut self, trace: &Trace, id: RequestId, tokens: u32, held: &mut Held) {
        for (group, held) in held.groups_mut().enumerate() {
            let BlockGroup { kind, block_tokens } = self.groups[group];
            if kind != KvGroup::State {
                self.learn_of(group, trace, id, tokens / block_tokens, held);
            }
        }
    }

    fn learn_of(&mut self, group: usize, trace: &Trace, id: RequestId, most: u32, held: &mut GroupBlocks) {
        let (mut index, block_tokens) = (held.cached_len(), self.groups[group].block_tokens);
        while index < most && held.own == 0 {
            let named = prefix_contents(trace, id, index, block_tokens);
            let each = self.has_lower_tier.then_some(BlockContents::Own(id, index));
            let Some(contents) = named.or(each) else { break };
            let block = self.insert(group, contents);
            self.publish(block);
            held.cached.push(block);
            held.plain -= 1;
            index += 1;
        }
        // The blocks that the trace describes are the first ones of a request.
        held.own += most.saturating_sub(index);
        held.plain -= most.saturating_sub(index);
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
            let block = self.insert(group, BlockContents::Own(id, 0));
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
            let block = self.insert(group, BlockContents::Own(id, held.skipped + cached));
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
            let block = self.insert(group, BlockContents::Own(id, index));
            self.publish(block);
            held.cached.push(block);
        }
        held.own -= count;
    }

    /// Own blocks that a request gave back are kept one by one, and found by the request, from now on, as far as they are not
    /// forgotten. They stand in one place of the order, the last one first.
    fn publish_given_back(&mut self, block: u32, id: RequestId) {
        let Block { contents, group, count, is_found, older, newer, users, .. } = self.blocks[block as usize];
        let BlockContents::Own(owner, first) = contents else { return };
        // A place that was forgotten may hold something else.
        if owner != id || is_found || users > 0 || count == 0 {
            return;
        }
        self.blocks[block as usize].count = 1;
        let mut singles = vec![block];
        for index in first + 1..first + count {
            let single = self.insert(group as usize, BlockContents::Own(id, index));
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
        let mut at = self.first[group as usize].get_or_insert(contents, block);
        if at == block {
            self.tell(group, contents, true);
        }
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
        let first = &mut self.first[group as usize];
        let Some(mut at) = first.get(contents) else { return };
        if at == block {
            first.replace(contents, twin);
            if twin == NONE {
                self.tell(group, contents, false);
            }
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

/// The contents of KV block `index` of a request, which is its own where the trace does not describe it.
pub(crate) fn contents_of(trace: &Trace, id: RequestId, index: u32, block_size: u32) -> BlockContents {
    prefix_contents(trace, id, index, block_size).unwrap_or(BlockContents::Own(id, index))
}

/// The contents of KV block `index` of a request by the trace. `None`: the trace describes nothing, or not the whole block.
fn prefix_contents(trace: &Trace, id: RequestId, index: u32, block_size: u32) -> Option<BlockContents> {
    let i = id.index();
    let prefix = &trace.metadata.as_deref()?.prefix;
    let input_tokens = trace.input_tokens[i];
    let answer = if prefix.outputs.of(i).is_empty() { 0 } else { trace.output_tokens[i] };
    let end = (index + 1) * block_size;
    if end > input_tokens + answer || prefix.block_tokens == 0 {
        return None;
    }
    let start = index * block_size;
    let (place, part) = if prefix.block_tokens.is_multiple_of(block_size) {
        (start / prefix.block_tokens, start % prefix.block_tokens / block_size)
    } else if block_size.is_multiple_of(prefix.block_tokens) {
        (end / prefix.block_tokens - 1, 0)
    } else {
        return None;
    };
    let of_block = prefix.block(i, input_tokens, place as usize)?;
    Some(BlockContents::Prefix(trace.adapter[i], of_block, part))
}

#[cfg(test)]
mod tests {
    use servescope_workload::BASE_MODEL;
    use servescope_workload::trace::{PrefixBlocks, Request, TraceMetadata};

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

    fn of(kind: KvGroup, block_tokens: u32) -> BlockGroup {
        BlockGroup { kind, block_tokens }
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
        let trace = trace();
        let mut cache = BlockCache::new(16, vec![of(KvGroup::Full, 16)]);
        let mut first = plain(1, 3);
        assert_eq!(cache.known(&trace, RequestId::new(0), 2), (0, 0));
        cache.learn(&trace, RequestId::new(0), 40, &mut first);
        assert_eq!((cached(&first).len(), first.first().own, first.first().plain), (2, 0, 1));
        // The answer's block is its own, the prompt's first one the other's, too.
        cache.learn(&trace, RequestId::new(0), 48, &mut first);
        assert_eq!(
            (cache.known(&trace, RequestId::new(0), 3), cache.known(&trace, RequestId::new(1), 3)),
            ((2, 0), (1, 0))
        );
        let mut second = plain(1, 1);
        cache.learn(&trace, RequestId::new(1), 16, &mut second);
        assert_ne!(cached(&first)[0], cached(&second)[0]);
        assert_eq!(cache.release(RequestId::new(0), &mut first, true), 3);
        assert_eq!(
            (
                cache.idle(),
                cache.known(&trace, RequestId::new(1), 1),
                cache.known(&trace, RequestId::new(0), 3)
            ),
            (3, (1, 1), (3, 3))
        );
        // The end is forgotten before the start, and the twin is found then.
        cache.trim(1);
        assert_eq!(cache.known(&trace, RequestId::new(0), 3), (1, 1));
        cache.trim(0);
        assert_eq!((cache.idle(), cache.known(&trace, RequestId::new(0), 3)), (0, (1, 0)));
        let mut third = plain(1, 0);
        cache.share(&trace, RequestId::new(0), 1, &mut third);
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
        let trace = trace();
        // Blocks of 8 tokens, a window of 10: two blocks before the end of a hit.
        let mut cache = BlockCache::new(8, vec![of(KvGroup::Full, 8), of(KvGroup::SlidingWindow(10), 8)]);
        let id = RequestId::new(0);
        let mut held = plain(2, 4);
        cache.learn(&trace, id, 32, &mut held);
        assert_eq!(cache.known(&trace, id, 4), (4, 0));
        // Two blocks of the window group come free and are cached until their turn; without them a hit of two blocks is none.
        let window = held.groups_mut().nth(1).expect("a second group");
        assert_eq!((cache.skip(1, id, 2, window), cache.idle()), (2, 2));
        assert_eq!((cache.known(&trace, id, 4), cache.known(&trace, id, 2)), ((4, 0), (2, 2)));
        // The later of the two was given back first.
        cache.trim(1);
        assert_eq!((cache.known(&trace, id, 2), cache.known(&trace, RequestId::new(1), 4)), ((1, 1), (1, 1)));
        cache.trim(0);
        assert_eq!((cache.known(&trace, id, 4), cache.known(&trace, id, 3)), ((4, 0), (0, 0)));
        let mut other = Held::of_groups(2);
        cache.share(&trace, id, 4, &mut other);
        assert_eq!(
            other.groups().map(|group| (group.skipped, group.count())).collect::<Vec<_>>(),
            [(0, 4), (2, 2)]
        );
        assert_eq!((cache.release(id, &mut held, false), cache.release(id, &mut other, false)), (0, 6));
    }

    #[test]
    fn own_blocks_that_left_the_window_are_found_after_a_preemption() {
        let mut cache = BlockCache::new(4, vec![of(KvGroup::SlidingWindow(5), 4)]);
        let (trace, id) = (Trace::default(), RequestId::new(0));
        let mut held = plain(1, 5);
        cache.learn(&trace, id, 20, &mut held);
        let of_group = held.groups_mut().next().expect("a group");
        assert_eq!(cache.skip(0, id, 3, of_group), 3);
        assert_eq!(cache.release(id, &mut held, true), 2);
        assert_eq!(
            (cache.known(&trace, id, 5), cache.known(&trace, id, 3), cache.idle()),
            ((5, 1), (3, 1), 5)
        );
        let mut again = plain(1, 0);
        cache.share(&trace, id, 5, &mut again);
        assert_eq!((again.count(), again.first().skipped, cache.idle()), (1, 4, 4));
    }
}
