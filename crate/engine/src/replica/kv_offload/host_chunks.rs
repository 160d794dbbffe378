//! The blocks that `OffloadingConnector` keeps on the host (vllm/v1/kv_offload/cpu/manager.py): each is known from when its copy is
//! decided, and can be read when it is there. What is being copied stays.

use std::collections::{BTreeMap, BTreeSet};

use servescope_workload::RequestId;

use super::arc::Arc;
use super::lru::Lru;
use super::policy::{Placed, Policy};
use crate::config::host_cache::{HostCache, HostEviction};
use crate::replica::kv_cache::BlockContents;

/// Contents whose offers are counted (`max_tracker_size`).
const MOST_TRACKED: usize = 64_000;

/// A block on the host.
#[derive(Debug, Clone, Copy)]
struct Chunk {
    is_ready: bool,
    /// Copies that read it.
    readers: u32,
}

/// What a request did with the host's blocks.
#[derive(Debug, Clone, Default)]
struct Access {
    /// In the order of their first use.
    seen: Vec<Placed>,
    seen_contents: BTreeSet<BlockContents>,
    missed: BTreeSet<BlockContents>,
    inserted: BTreeSet<BlockContents>,
    reused: BTreeSet<BlockContents>,
}

/// Whether the host has a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lookup {
    Hit,
    /// Its copy is under way.
    Pending,
    Miss,
}

#[derive(Debug)]
pub(super) struct HostChunks {
    most: usize,
    chunks: BTreeMap<BlockContents, Chunk>,
    evictable: usize,
    policy: Box<dyn Policy>,
    threshold: u32,
    /// How often contents were offered, and in which order they were last.
    offers: BTreeMap<BlockContents, (u32, u64)>,
    by_offer: BTreeMap<u64, BlockContents>,
    clock: u64,
    access: BTreeMap<RequestId, Access>,
}

impl Clone for HostChunks {
    fn clone(&self) -> Self {
        Self {
            chunks: self.chunks.clone(),
            policy: self.policy.boxed(),
            offers: self.offers.clone(),
            by_offer: self.by_offer.clone(),
            access: self.access.clone(),
            ..*self
        }
    }
}

impl HostChunks {
    pub(super) fn new(cache: &HostCache) -> Self {
        let most = cache.blocks as usize;
        Self {
            most,
            chunks: BTreeMap::new(),
            evictable: 0,
            policy: match cache.eviction {
                HostEviction::Lru => Box::new(Lru::default()),
                HostEviction::Arc => Box::new(Arc::new(most)),
            },
            threshold: cache.store_threshold,
            offers: BTreeMap::new(),
            by_offer: BTreeMap::new(),
            clock: 0,
            access: BTreeMap::new(),
        }
    }

    pub(super) fn lookup(&self, contents: BlockContents) -> Lookup {
        match self.chunks.get(&contents) {
            None => Lookup::Miss,
            Some(Chunk { is_ready: true, .. }) => Lookup::Hit,
            Some(_) => Lookup::Pending,
        }
    }

    /// A copy to the GPU reads blocks that are there.
    pub(super) fn begin_load(&mut self, request: RequestId, blocks: &[Placed]) {
        for (_, contents) in blocks {
            let Some(chunk) = self.chunks.get_mut(contents) else { continue };
            chunk.readers += 1;
            if chunk.readers == 1 {
                self.policy.set_evictable(*contents, false);
                self.evictable -= 1;
            }
        }
        self.record(request, blocks, blocks);
    }

    pub(super) fn end_load(&mut self, blocks: &[Placed]) {
        for (_, contents) in blocks {
            let Some(chunk) = self.chunks.get_mut(contents) else { continue };
            chunk.readers -= 1;
            if chunk.readers == 0 {
                self.evictable += 1;
                self.policy.set_evictable(*contents, true);
            }
        }
    }

    /// A request offers blocks. Returns those that are to be stored, which have their places then; `None`: there is no room for them.
    pub(super) fn begin_store(&mut self, request: RequestId, blocks: &[Placed]) -> Option<Vec<Placed>> {
        self.count_offers(blocks);
        let (known, mut new): (Vec<Placed>, Vec<Placed>) =
            blocks.iter().partition(|(_, contents)| self.chunks.contains_key(contents));
        let ready: Vec<Placed> =
            known.into_iter().filter(|(_, contents)| self.chunks[contents].is_ready).collect();
        new.retain(|(_, contents)| self.is_offered_enough(*contents));
        let access = self.access.entry(request).or_default();
        let missed: Vec<Placed> =
            new.iter().copied().filter(|(_, contents)| access.missed.insert(*contents)).collect();
        self.policy.miss(&missed);
        let recorded: BTreeSet<Placed> = new.iter().chain(&ready).copied().collect();
        let recorded: Vec<Placed> = blocks.iter().copied().filter(|block| recorded.contains(block)).collect();
        self.record(request, &recorded, &ready);
        if new.is_empty() {
            return Some(new);
        }
        let lacks = (self.chunks.len() + new.len()).saturating_sub(self.most);
        if lacks > 0 {
            if lacks > self.evictable {
                return None;
            }
            let protected = blocks.iter().map(|block| block.1).collect();
            for contents in self.policy.evict(lacks, &protected)? {
                self.chunks.remove(&contents);
                self.evictable -= 1;
            }
        }
        for &block in &new {
            self.chunks.insert(block.1, Chunk { is_ready: false, readers: 0 });
            self.policy.insert(request, block);
        }
        let access = self.access.entry(request).or_default();
        access.inserted.extend(new.iter().map(|block| block.1));
        Some(new)
    }

    pub(super) fn end_store(&mut self, blocks: &[Placed]) {
        for (_, contents) in blocks {
            let Some(chunk) = self.chunks.get_mut(contents).filter(|chunk| !chunk.is_ready) else { continue };
            chunk.is_ready = true;
            self.evictable += 1;
            self.policy.set_evictable(*contents, true);
        }
    }

    /// A request has ended.
    pub(super) fn request_ends(&mut self, request: RequestId) {
        let Some(mut access) = self.access.remove(&request) else { return };
        access.seen.sort_unstable();
        let of_block = |&block: &Placed| (block, access.reused.contains(&block.1));
        let blocks: Vec<(Placed, bool)> = access.seen.iter().map(of_block).collect();
        self.policy.ends(request, &blocks);
    }

    fn record(&mut self, request: RequestId, blocks: &[Placed], reused: &[Placed]) {
        let access = self.access.entry(request).or_default();
        let is_new = |block: &Placed| access.seen_contents.insert(block.1);
        let new: Vec<Placed> = blocks.iter().copied().filter(is_new).collect();
        access.seen.extend(&new);
        let inserted = &access.inserted;
        let before = reused.iter().map(|block| block.1).filter(|contents| !inserted.contains(contents));
        access.reused.extend(before);
        if !new.is_empty() {
            self.policy.access(request, &new);
        }
    }

    fn is_offered_enough(&self, contents: BlockContents) -> bool {
        self.threshold < 2 || self.offers.get(&contents).is_some_and(|offer| offer.0 >= self.threshold)
    }

    /// Offers are counted of the contents that were offered last, no more of them than are tracked.
    fn count_offers(&mut self, blocks: &[Placed]) {
        if self.threshold < 2 {
            return;
        }
        let is_known = |block: &&Placed| self.offers.contains_key(&block.1);
        let known: Vec<BlockContents> = blocks.iter().filter(is_known).map(|block| block.1).collect();
        for &contents in &known {
            self.clock += 1;
            let offer = self.offers.entry(contents).or_default();
            self.by_offer.remove(&offer.1);
            *offer = (offer.0 + 1, self.clock);
            self.by_offer.insert(self.clock, contents);
        }
        let mut unprotected = self.offers.len() - known.iter().collect::<BTreeSet<_>>().len();
        for &(_, contents) in blocks {
            if self.offers.contains_key(&contents) {
                continue;
            }
            if self.offers.len() >= MOST_TRACKED {
                if unprotected == 0 {
                    continue;
                }
                if let Some((_, oldest)) = self.by_offer.pop_first() {
                    self.offers.remove(&oldest);
                }
                unprotected -= 1;
            }
            self.clock += 1;
            self.offers.insert(contents, (1, self.clock));
            self.by_offer.insert(self.clock, contents);
        }
    }
}
