//! vLLM's `OffloadingConnector`, the default of `--kv-offloading-size`
//! (vllm/distributed/kv_transfer/kv_connector/v1/offloading/scheduler.py): full blocks, by default of prompts alone, are offered to
//! the host in the iteration that computes them, all that an iteration has of a request or none. The copies begin with the next
//! iteration; they do not hold the blocks on the GPU, and who takes such a block waits for its copy. A request whose block is being
//! stored, or loaded by another one, is skipped.

use std::collections::{BTreeMap, BTreeSet};

use servescope_workload::RequestId;

use super::host_chunks::{HostChunks, Lookup};
use super::policy::{BlockSet, Placed};
use super::{Connector, CopyId, Decided, InIteration, Seen, Step, StoreStart};
use crate::config::host_cache::HostCache;
use crate::replica::kv_cache::{BlockCache, BlockContents, Held, KvCache};

/// What is known of a request between its first look-up and its end.
#[derive(Debug, Clone, Default)]
struct State {
    /// Blocks that were offered.
    offered: u32,
    copies: BTreeSet<CopyId>,
    has_left: bool,
}

/// A copy under way.
#[derive(Debug, Clone)]
struct Job {
    request: RequestId,
    blocks: Vec<Placed>,
    /// Of a store: where the blocks are on the GPU.
    gpu: Vec<u32>,
    is_store: bool,
}

/// A request that has ended since the last iteration was formed.
#[derive(Debug, Clone)]
struct Gone {
    id: RequestId,
    /// The blocks of its prompt that it offers, and where they were.
    blocks: Vec<(Placed, u32)>,
}

#[derive(Debug, Clone)]
pub(super) struct Offloading {
    host: HostChunks,
    prompts_only: bool,
    requests: BTreeMap<RequestId, State>,
    jobs: BTreeMap<CopyId, Job>,
    /// Blocks that are being loaded.
    loading: BlockSet,
    new_loads: Vec<(RequestId, Vec<Placed>)>,
    gone: Vec<Gone>,
    /// Whether the host had no room for blocks of a request that runs: they are offered again.
    lacks_room: bool,
    /// Blocks of requests that have ended whose copies are under way: who takes one waits for it.
    fenced: BTreeMap<u32, BTreeSet<CopyId>>,
}

impl Offloading {
    pub(super) fn new(cache: &HostCache) -> Self {
        Self {
            host: HostChunks::new(cache),
            prompts_only: cache.prompts_only,
            requests: BTreeMap::new(),
            jobs: BTreeMap::new(),
            loading: BlockSet::default(),
            new_loads: Vec::new(),
            gone: Vec::new(),
            lacks_room: false,
            fenced: BTreeMap::new(),
        }
    }

    /// How many blocks of a request can be stored that has so many tokens computed.
    fn storable(&self, request: Seen<'_>, computed: u32) -> u32 {
        let most = if self.prompts_only { request.prompt() } else { u32::MAX };
        computed.min(request.known).min(most) / request.block_size
    }

    /// The blocks of a request from one on that are offered, each with its place on the GPU.
    fn offers(request: Seen<'_>, held: &Held, from: u32, to: u32) -> Vec<(Placed, u32)> {
        let gpu = held.cached_in_order().iter().skip(from as usize);
        let blocks = (from..to).zip(request.contents(from..to));
        blocks.zip(gpu).map(|(block, &gpu)| (block, gpu)).collect()
    }

    /// Offers blocks of a request to the host. Returns the copy of those that it takes, and whether it had room.
    fn offer(
        &mut self,
        step: &mut Step<'_>,
        id: RequestId,
        offers: &[(Placed, u32)],
    ) -> (Option<super::NewCopy>, bool) {
        if offers.is_empty() {
            return (None, true);
        }
        let blocks: Vec<Placed> = offers.iter().map(|offer| offer.0).collect();
        let Some(stored) = self.host.begin_store(id, &blocks) else { return (None, false) };
        if stored.is_empty() {
            return (None, true);
        }
        let copy = step.copy(vec![id], stored.len());
        // What is stored is offered, in the same order.
        let mut left = stored.iter().peekable();
        let is_stored = |offer: &&(Placed, u32)| left.next_if_eq(&&offer.0).is_some();
        let gpu = offers.iter().filter(is_stored).map(|offer| offer.1).collect();
        self.jobs.insert(copy.id, Job { request: id, blocks: stored, gpu, is_store: true });
        self.requests.entry(id).or_default().copies.insert(copy.id);
        (Some(copy), true)
    }

    fn fence(&mut self, copy: CopyId) {
        for &block in &self.jobs[&copy].gpu {
            self.fenced.entry(block).or_default().insert(copy);
        }
    }

    /// The blocks that requests took since the last iteration was formed, as far as a copy may have to end before that.
    fn taken(&self, forgotten: Vec<u32>, step: &Step<'_>) -> BTreeSet<u32> {
        let of_gone = self.gone.iter().flat_map(|gone| gone.blocks.iter().map(|block| block.1));
        let copied: BTreeSet<u32> = self.fenced.keys().copied().chain(of_gone).collect();
        if copied.is_empty() {
            return copied;
        }
        let admitted = step.scheduled.iter().filter(|own| own.is_admitted).map(|own| own.held);
        let held = admitted.chain(step.loading.iter().copied()).flat_map(Held::cached);
        forgotten.into_iter().chain(held).filter(|block| copied.contains(block)).collect()
    }

    /// Copies of blocks that requests took since the last iteration was formed.
    fn copies_of_taken(&self, taken: &BTreeSet<u32>) -> BTreeSet<CopyId> {
        let fenced = self.fenced.iter().filter(|(block, _)| taken.contains(block));
        fenced.flat_map(|(_, copies)| copies.iter().copied()).collect()
    }

    fn forget_if_over(&mut self, id: RequestId) {
        if self.requests.get(&id).is_some_and(|state| state.has_left && state.copies.is_empty()) {
            self.requests.remove(&id);
        }
    }
}

impl Connector for Offloading {
    fn boxed(&self) -> Box<dyn Connector> {
        Box::new(self.clone())
    }

    fn store_start(&self) -> StoreStart {
        StoreStart::WithNextIteration
    }

    fn has(&self, contents: BlockContents) -> bool {
        self.host.has(contents)
    }

    fn keep_changes(&mut self) {
        self.host.keep_changes();
    }

    fn take_changes(&mut self) -> Vec<(u32, bool)> {
        self.host.take_changes()
    }

    fn matched(&mut self, request: Seen<'_>, local: u32) -> Option<u32> {
        let state = self.requests.entry(request.id).or_default();
        state.offered = 0;
        if !state.copies.is_empty() {
            return None;
        }
        let (mut count, mut is_pending) = (0, false);
        let blocks = request.contents(local..request.known / request.block_size);
        for (contents, found) in self.host.lookups(blocks) {
            match found {
                Lookup::Miss => break,
                found => is_pending |= found == Lookup::Pending || self.loading.contains(contents.key()),
            }
            count += 1;
        }
        (!is_pending).then_some(count * request.block_size)
    }

    fn allocated(&mut self, request: Seen<'_>, local: u32, loaded: u32) {
        if loaded == 0 {
            return;
        }
        let to = local + loaded;
        let blocks: Vec<Placed> = (local..to).zip(request.contents(local..to)).collect();
        self.requests.entry(request.id).or_default().offered = local + loaded;
        self.host.begin_load(request.id, &blocks);
        blocks.iter().for_each(|block| {
            self.loading.insert(block.1.key(), ());
        });
        self.new_loads.push((request.id, blocks));
    }

    fn formed(&mut self, kv: &mut KvCache, step: &mut Step<'_>) -> Decided {
        let forgotten = kv.cached_blocks().map(BlockCache::take_forgotten).unwrap_or_default();
        let taken = self.taken(forgotten, step);
        let mut awaited = self.copies_of_taken(&taken);
        for id in step.preempted {
            awaited.extend(self.requests.get(id).into_iter().flat_map(|state| &state.copies));
        }
        let mut decided = Decided::default();
        for (id, blocks) in std::mem::take(&mut self.new_loads) {
            let copy = step.copy(vec![id], blocks.len());
            self.requests.entry(id).or_default().copies.insert(copy.id);
            self.jobs.insert(copy.id, Job { request: id, blocks, gpu: Vec::new(), is_store: false });
            decided.loads.push(copy);
        }
        self.lacks_room = false;
        for own in step.scheduled.clone() {
            let InIteration { request, computed, tokens, held, .. } = own;
            let to = self.storable(request, computed + tokens);
            let from = self.requests.entry(request.id).or_default().offered;
            let offers = Self::offers(request, held, from, to);
            let (copy, has_room) = self.offer(step, request.id, &offers);
            if has_room {
                let state = self.requests.entry(request.id).or_default();
                state.offered = state.offered.max(from + offers.len() as u32);
            }
            self.lacks_room |= !has_room;
            decided.stores.extend(copy);
        }
        let gone = std::mem::take(&mut self.gone);
        for Gone { id, blocks } in &gone {
            let copy = self.offer(step, *id, blocks).0;
            if let Some(copy) = copy {
                self.fence(copy.id);
                if self.jobs[&copy.id].gpu.iter().any(|block| taken.contains(block)) {
                    awaited.insert(copy.id);
                }
                decided.stores.push(copy);
            }
        }
        for Gone { id, .. } in gone {
            self.host.request_ends(id);
            self.requests.entry(id).or_default().has_left = true;
            self.forget_if_over(id);
        }
        decided.awaited = Some(awaited.into_iter().collect());
        decided
    }

    fn ended(&mut self, _: &mut KvCache, copy: CopyId) {
        let Some(Job { request, blocks, gpu, is_store }) = self.jobs.remove(&copy) else { return };
        if is_store {
            self.host.end_store(&blocks);
        } else {
            self.host.end_load(&blocks);
            blocks.iter().for_each(|block| {
                self.loading.remove(block.1.key());
            });
        }
        for block in gpu {
            if let Some(copies) = self.fenced.get_mut(&block) {
                copies.remove(&copy);
                if copies.is_empty() {
                    self.fenced.remove(&block);
                }
            }
        }
        if let Some(state) = self.requests.get_mut(&request) {
            state.copies.remove(&copy);
        }
        self.forget_if_over(request);
    }

    fn is_quiet(&self) -> bool {
        self.prompts_only && self.gone.is_empty() && !self.lacks_room
    }

    fn leaves(&mut self, kv: &mut KvCache, request: Seen<'_>, held: &Held, computed: u32, _: u32) {
        if let Some(gpu) = kv.cached_blocks().filter(|_| self.fenced.is_empty()) {
            // What was forgotten before is no block of this request.
            gpu.take_forgotten();
        }
        let Some(state) = self.requests.get(&request.id) else { return };
        let (from, copies) = (state.offered, state.copies.clone());
        for copy in copies {
            self.fence(copy);
        }
        let to = self.storable(request, computed);
        let blocks = Self::offers(request, held, from, to);
        self.gone.push(Gone { id: request.id, blocks });
    }
}
