//! Prefix caching as in vLLM's engine, block by block (vllm/v1/core/block_pool.py): a block that is full is cached by what it
//! holds and what stands before it, answers like prompts, from when it is scheduled on. A block that is computed again while
//! it is cached is cached a second time. Free blocks without contents are taken first, then the longest unused one.
//!
//! The trace says which blocks are equal; a block that it does not describe is equal only to itself. Such a block is found
//! only by its own request after a preemption. Until then the blocks that a request fills behind those that the trace
//! describes are counted, not kept one by one.

use std::collections::BTreeMap;

use servescope_workload::{RequestId, Trace};

use crate::record::request_timings::PrefixLookups;

/// No block.
const NONE: u32 = u32::MAX;

/// What a block holds, together with all before it.
#[derive(Debug, Clone, Copy)]
enum BlockContents {
    /// The adapter, the id of a block of the trace and which of its KV blocks.
    Prefix(u32, u64, u32),
    /// A request's own: which request, which of its blocks.
    Own(RequestId, u32),
}

/// Blocks that a request holds: first those that are cached, then the others.
#[derive(Debug, Clone, Default)]
pub(crate) struct Held {
    cached: Vec<u32>,
    /// Cached blocks behind those that no request looks for yet.
    own: u32,
    plain: u32,
}

impl Held {
    /// How many.
    pub(crate) fn count(&self) -> u32 {
        self.cached.len() as u32 + self.own + self.plain
    }

    /// Takes `count` more.
    pub(crate) fn take(&mut self, count: u32) {
        self.plain += count;
    }

    /// Those that other requests may hold, too.
    pub(crate) fn cached(&self) -> &[u32] {
        &self.cached
    }
}

/// A block that is cached, or several that no request finds.
#[derive(Debug, Clone, Copy)]
struct Block {
    contents: BlockContents,
    /// How many.
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
    blocks: Vec<Block>,
    unused: Vec<u32>,
    first: Index,
    oldest: u32,
    newest: u32,
    idle: u32,
    /// What admitted requests asked it for.
    pub(super) asked: PrefixLookups,
}

impl BlockCache {
    pub(crate) fn new(block_size: u32) -> Self {
        Self {
            block_size,
            blocks: Vec::new(),
            unused: Vec::new(),
            first: Index::default(),
            oldest: NONE,
            newest: NONE,
            idle: 0,
            asked: PrefixLookups::default(),
        }
    }

    /// Cached blocks that no request holds.
    pub(crate) fn idle(&self) -> u32 {
        self.idle
    }

    /// Tokens in a block.
    pub(crate) fn block_size(&self) -> u32 {
        self.block_size
    }

    /// What block `index` of a request holds.
    fn contents(&self, trace: &Trace, id: RequestId, index: u32) -> BlockContents {
        prefix_contents(trace, id, index, self.block_size).unwrap_or(BlockContents::Own(id, index))
    }

    /// After how many tokens of a request its next full block can be found by others; `None`: it holds no further one.
    pub(crate) fn next_named(&self, trace: &Trace, id: RequestId, held: &Held) -> Option<u32> {
        let index = held.cached.len() as u32;
        let is_named = held.own == 0 && prefix_contents(trace, id, index, self.block_size).is_some();
        is_named.then(|| (index + 1) * self.block_size)
    }

    /// How many of a request's first `most` blocks are cached, and how many of these no request holds.
    pub(crate) fn known(&self, trace: &Trace, id: RequestId, most: u32) -> (u32, u32) {
        let mut found = (0, 0);
        for index in 0..most {
            let Some(block) = self.first.get(self.contents(trace, id, index)) else { break };
            found.0 += 1;
            found.1 += u32::from(self.blocks[block as usize].users == 0);
        }
        found
    }

    /// A request that holds nothing uses its first `count` blocks, which are cached.
    pub(crate) fn share(&mut self, trace: &Trace, id: RequestId, count: u32, held: &mut Held) {
        for index in 0..count {
            let Some(block) = self.first.get(self.contents(trace, id, index)) else { break };
            if self.blocks[block as usize].users == 0 {
                self.unlink(block);
            }
            self.blocks[block as usize].users += 1;
            held.cached.push(block);
        }
    }

    /// The first `tokens` of a request are processed, or scheduled to be: their full blocks are cached.
    pub(crate) fn learn(&mut self, trace: &Trace, id: RequestId, tokens: u32, held: &mut Held) {
        let most = tokens / self.block_size;
        let mut index = held.cached.len() as u32 + held.own;
        while index < most && held.own == 0 {
            let Some(contents) = prefix_contents(trace, id, index, self.block_size) else { break };
            held.cached.push(self.insert(contents));
            held.plain -= 1;
            index += 1;
        }
        // The blocks that the trace describes are the first ones of a request.
        held.own += most.saturating_sub(index);
        held.plain -= most.saturating_sub(index);
    }

    /// A request gives its blocks back, the last one first; it may look for them later. Returns how many no request holds now.
    pub(crate) fn release(&mut self, id: RequestId, held: &mut Held, is_resumed_later: bool) -> u32 {
        let mut freed = std::mem::take(&mut held.plain);
        let own = std::mem::take(&mut held.own);
        if is_resumed_later {
            let first = held.cached.len() as u32;
            held.cached.extend((first..first + own).map(|index| self.insert(BlockContents::Own(id, index))));
            held.cached.iter().for_each(|&block| self.publish(block));
        } else if own > 0 {
            let block = self.insert(BlockContents::Own(id, 0));
            self.blocks[block as usize].count = own;
            self.link(block);
            freed += own;
        }
        for block in std::mem::take(&mut held.cached).into_iter().rev() {
            let entry = &mut self.blocks[block as usize];
            entry.users -= 1;
            if entry.users == 0 {
                self.link(block);
                freed += 1;
            }
        }
        freed
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

    fn insert(&mut self, contents: BlockContents) -> u32 {
        let entry =
            Block { contents, count: 1, users: 1, is_found: false, older: NONE, newer: NONE, twin: NONE };
        let block = self.unused.pop().unwrap_or_else(|| {
            self.blocks.push(entry);
            self.blocks.len() as u32 - 1
        });
        self.blocks[block as usize] = entry;
        if matches!(contents, BlockContents::Prefix(..)) {
            self.publish(block);
        }
        block
    }

    /// From now on requests find the block.
    fn publish(&mut self, block: u32) {
        let entry = &mut self.blocks[block as usize];
        if std::mem::replace(&mut entry.is_found, true) {
            return;
        }
        let mut at = self.first.get_or_insert(entry.contents, block);
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
        let Block { contents, twin, is_found, .. } = self.blocks[block as usize];
        self.unused.push(block);
        let Some(mut at) = self.first.get(contents).filter(|_| is_found) else { return };
        if at == block {
            return self.first.replace(contents, twin);
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
        match self.blocks.get_mut(older as usize) {
            Some(before) => before.newer = newer,
            None => self.oldest = newer,
        }
        match self.blocks.get_mut(newer as usize) {
            Some(behind) => behind.older = older,
            None => self.newest = older,
        }
        self.idle -= count;
    }
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

    #[test]
    fn blocks_are_shared_kept_twice_and_forgotten_longest_unused_first() {
        let trace = trace();
        let mut cache = BlockCache::new(16);
        let mut first = Held { plain: 3, ..Held::default() };
        assert_eq!(cache.known(&trace, RequestId::new(0), 2), (0, 0));
        cache.learn(&trace, RequestId::new(0), 40, &mut first);
        assert_eq!((first.cached.len(), first.own, first.plain), (2, 0, 1));
        // The answer's block is its own, the prompt's first one the other's, too.
        cache.learn(&trace, RequestId::new(0), 48, &mut first);
        assert_eq!(
            (cache.known(&trace, RequestId::new(0), 3), cache.known(&trace, RequestId::new(1), 3)),
            ((2, 0), (1, 0))
        );
        let mut second = Held { plain: 1, ..Held::default() };
        cache.learn(&trace, RequestId::new(1), 16, &mut second);
        assert_ne!(first.cached[0], second.cached[0]);
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
        let mut third = Held::default();
        cache.share(&trace, RequestId::new(0), 1, &mut third);
        assert_eq!(third.cached, second.cached);
        assert_eq!(
            (
                cache.release(RequestId::new(1), &mut second, false),
                cache.release(RequestId::new(0), &mut third, false)
            ),
            (0, 1)
        );
    }
}
