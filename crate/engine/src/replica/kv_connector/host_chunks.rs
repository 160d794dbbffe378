//! The blocks that `OffloadingConnector` keeps on the host (vllm/v1/kv_offload/cpu/manager.py): each is known from when its copy is
//! decided, and can be read when it is there. What is being copied stays.

use std::collections::BTreeMap;

use servescope_workload::RequestId;

use super::arc::Arc;
use super::lru::Lru;
use super::policy::{BlockSet, Placed, Policy};
use crate::block_numbers::number_map::NumberMap;
use crate::config::host_cache::{HostCache, HostEviction};
use crate::replica::kv_cache::BlockContents;

/// Contents whose offers are counted (`max_tracker_size`).
const MOST_TRACKED: usize = 64_000;

/// A block on the host.
#[derive(Debug, Clone, Copy, Default)]
struct Chunk {
    is_ready: bool,
    /// Copies that read it.
    readers: u32,
}

/// What a request did with one of its blocks.
#[expect(clippy::struct_excessive_bools, reason = "each is set by itself")]
#[derive(Debug, Clone, Copy, Default)]
struct Use {
    contents: BlockContents,
    is_seen: bool,
    is_missed: bool,
    is_inserted: bool,
    /// Whether it was there before the request.
    is_reused: bool,
}

/// The uses of a request, by the place of the block in it.
#[derive(Debug, Clone, Default)]
struct Uses(Vec<Use>);

impl Uses {
    fn of(&mut self, (index, contents): Placed) -> &mut Use {
        let at = index as usize;
        if self.0.len() <= at {
            self.0.resize(at + 1, Use::default());
        }
        self.0[at].contents = contents;
        &mut self.0[at]
    }
}

/// Whether the host has a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lookup {
    Hit,
    /// Its copy is under way.
    Pending,
    Miss,
}

fn note(changes: &mut Option<Vec<(u32, bool)>>, contents: BlockContents, is_there: bool) {
    if let (Some(changes), Some(number)) = (changes, contents.number()) {
        changes.push((number, is_there));
    }
}

/// The keys and the contents of blocks.
fn by_key(blocks: &[Placed]) -> impl Iterator<Item = (u64, BlockContents)> {
    blocks.iter().map(|&(_, contents)| (contents.key(), contents))
}

#[derive(Debug)]
pub(super) struct HostChunks {
    most: usize,
    chunks: NumberMap<Chunk>,
    evictable: usize,
    policy: Box<dyn Policy>,
    threshold: u32,
    /// How often contents were offered, and in which order they were last.
    offers: NumberMap<(u32, u64)>,
    by_offer: BTreeMap<u64, BlockContents>,
    clock: u64,
    uses: BTreeMap<RequestId, Uses>,
    /// Blocks with a number that were stored since the last call (`true`), or removed; `None`: no router takes events.
    changes: Option<Vec<(u32, bool)>>,
}

impl Clone for HostChunks {
    fn clone(&self) -> Self {
        Self {
            chunks: self.chunks.clone(),
            policy: self.policy.boxed(),
            offers: self.offers.clone(),
            by_offer: self.by_offer.clone(),
            uses: self.uses.clone(),
            changes: self.changes.clone(),
            ..*self
        }
    }
}

impl HostChunks {
    pub(super) fn new(cache: &HostCache) -> Self {
        let most = cache.blocks as usize;
        Self {
            most,
            chunks: NumberMap::default(),
            evictable: 0,
            policy: match cache.eviction {
                HostEviction::Lru => Box::new(Lru::default()),
                HostEviction::Arc => Box::new(Arc::new(most)),
            },
            threshold: cache.store_threshold,
            offers: NumberMap::default(),
            by_offer: BTreeMap::new(),
            clock: 0,
            uses: BTreeMap::new(),
            changes: None,
        }
    }

    pub(super) fn has(&self, contents: BlockContents) -> bool {
        self.chunks.get(contents.key()).is_some_and(|chunk| chunk.is_ready)
    }

    pub(super) fn keep_changes(&mut self) {
        self.changes = Some(Vec::new());
    }

    pub(super) fn take_changes(&mut self) -> Vec<(u32, bool)> {
        self.changes.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// What the host has of blocks, one after another.
    pub(super) fn lookups(
        &self,
        blocks: impl Iterator<Item = BlockContents>,
    ) -> impl Iterator<Item = (BlockContents, Lookup)> {
        let mut chunks = self.chunks.reader();
        blocks.map(move |contents| {
            let found = match chunks.get(contents.key()) {
                None => Lookup::Miss,
                Some(Chunk { is_ready: true, .. }) => Lookup::Hit,
                Some(_) => Lookup::Pending,
            };
            (contents, found)
        })
    }

    /// A copy to the GPU reads blocks that are there.
    pub(super) fn begin_load(&mut self, request: RequestId, blocks: &[Placed]) {
        let Self { chunks, policy, evictable, .. } = self;
        chunks.change_known(by_key(blocks), |contents, chunk| {
            chunk.readers += 1;
            if chunk.readers == 1 {
                policy.set_evictable(contents, false);
                *evictable -= 1;
            }
        });
        self.record(request, blocks, blocks);
    }

    pub(super) fn end_load(&mut self, blocks: &[Placed]) {
        let Self { chunks, policy, evictable, .. } = self;
        chunks.change_known(by_key(blocks), |contents, chunk| {
            chunk.readers -= 1;
            if chunk.readers == 0 {
                *evictable += 1;
                policy.set_evictable(contents, true);
            }
        });
    }

    /// A request offers blocks. Returns those that are to be stored, which have their places then; `None`: there is no room for them.
    pub(super) fn begin_store(&mut self, request: RequestId, blocks: &[Placed]) -> Option<Vec<Placed>> {
        self.count_offers(blocks);
        let (mut new, mut ready, mut recorded) = (Vec::new(), Vec::new(), Vec::new());
        let mut chunks = self.chunks.reader();
        for &block in blocks {
            match chunks.get(block.1.key()) {
                Some(chunk) if !chunk.is_ready => continue,
                Some(_) => ready.push(block),
                None if self.is_offered_enough(block.1) => new.push(block),
                None => continue,
            }
            recorded.push(block);
        }
        let uses = self.uses.entry(request).or_default();
        let is_first = |&block: &Placed| !std::mem::replace(&mut uses.of(block).is_missed, true);
        let missed: Vec<Placed> = new.iter().copied().filter(is_first).collect();
        self.policy.miss(&missed);
        self.record(request, &recorded, &ready);
        if new.is_empty() {
            return Some(new);
        }
        let lacks = (self.chunks.len() + new.len()).saturating_sub(self.most);
        if lacks > 0 {
            if lacks > self.evictable {
                return None;
            }
            let mut protected = BlockSet::default();
            protected.change_all(by_key(blocks).map(|block| block.0), |(), _| {});
            for contents in self.policy.evict(lacks, &protected)? {
                self.chunks.remove(contents.key());
                note(&mut self.changes, contents, false);
                self.evictable -= 1;
            }
        }
        self.chunks.change_all(by_key(&new).map(|block| block.0), |chunk, _| *chunk = Chunk::default());
        new.iter().for_each(|&block| self.policy.insert(request, block));
        let uses = self.uses.entry(request).or_default();
        new.iter().for_each(|&block| uses.of(block).is_inserted = true);
        Some(new)
    }

    pub(super) fn end_store(&mut self, blocks: &[Placed]) {
        let Self { chunks, policy, evictable, changes, .. } = self;
        chunks.change_known(by_key(blocks), |contents, chunk| {
            if !std::mem::replace(&mut chunk.is_ready, true) {
                *evictable += 1;
                policy.set_evictable(contents, true);
                note(changes, contents, true);
            }
        });
    }

    /// A request has ended.
    pub(super) fn request_ends(&mut self, request: RequestId) {
        let Some(Uses(uses)) = self.uses.remove(&request) else { return };
        let seen = (0..).zip(&uses).filter(|(_, of_block)| of_block.is_seen);
        let blocks: Vec<(Placed, bool)> =
            seen.map(|(index, of_block)| ((index, of_block.contents), of_block.is_reused)).collect();
        self.policy.ends(request, &blocks);
    }

    fn record(&mut self, request: RequestId, blocks: &[Placed], reused: &[Placed]) {
        let uses = self.uses.entry(request).or_default();
        let is_first = |&block: &Placed| !std::mem::replace(&mut uses.of(block).is_seen, true);
        let new: Vec<Placed> = blocks.iter().copied().filter(is_first).collect();
        for &block in reused {
            let of_block = uses.of(block);
            of_block.is_reused |= !of_block.is_inserted;
        }
        if !new.is_empty() {
            self.policy.access(request, &new);
        }
    }

    fn is_offered_enough(&self, contents: BlockContents) -> bool {
        self.threshold < 2 || self.offers.get(contents.key()).is_some_and(|offer| offer.0 >= self.threshold)
    }

    /// Offers are counted of the contents that were offered last, no more of them than are tracked.
    fn count_offers(&mut self, blocks: &[Placed]) {
        if self.threshold < 2 {
            return;
        }
        // Those that are known already are counted first, and leave room to no other.
        let mut known = 0;
        for &(_, contents) in blocks {
            let Some(offer) = self.offers.get_mut(contents.key()) else { continue };
            self.clock += 1;
            self.by_offer.remove(&offer.1);
            *offer = (offer.0 + 1, self.clock);
            self.by_offer.insert(self.clock, contents);
            known += 1;
        }
        let mut unprotected = self.offers.len() - known;
        for &(_, contents) in blocks {
            if self.offers.contains(contents.key()) {
                continue;
            }
            if self.offers.len() >= MOST_TRACKED {
                if unprotected == 0 {
                    continue;
                }
                if let Some((_, oldest)) = self.by_offer.pop_first() {
                    self.offers.remove(oldest.key());
                }
                unprotected -= 1;
            }
            self.clock += 1;
            self.offers.insert(contents.key(), (1, self.clock));
            self.by_offer.insert(self.clock, contents);
        }
    }
}
