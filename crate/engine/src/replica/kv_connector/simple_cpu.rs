//! vLLM's `SimpleCPUOffloadConnector` (vllm/v1/simple_kv_offload/manager.py): every full block that is computed is stored, answers
//! too. A block is stored with the first later iteration of its request, the rest when the request ends; a copy holds the block on
//! the GPU until it has ended. Lazily, only blocks near their eviction from the GPU are stored, whoever had them.

use std::collections::{BTreeMap, BTreeSet};

use servescope_workload::RequestId;

use super::host_pool::HostPool;
use super::{Connector, CopyId, Decided, InIteration, Seen, Step, StoreStart};
use crate::config::host_cache::HostCache;
use crate::replica::kv_cache::{BlockCache, BlockContents, Held, KvCache};

/// Blocks nearest to eviction that are looked at, in multiples of those that an iteration can take (`WATERMARK_RATIO`).
const LAZY_ITERATIONS: u32 = 2;

/// How far the blocks of a request are stored, and how many copies of it are under way.
#[derive(Debug, Clone, Default)]
struct Stored {
    blocks: u32,
    copies: u32,
    has_left: bool,
}

#[derive(Debug, Clone)]
pub(super) struct SimpleCpu {
    host: HostPool,
    /// Blocks on the host that were found for a request that was not admitted since; they stay.
    found: BTreeMap<RequestId, Vec<u32>>,
    requests: BTreeMap<RequestId, Stored>,
    /// Blocks of the GPU that are being stored.
    stored_now: BTreeSet<u32>,
    stores: BTreeMap<CopyId, (Vec<u32>, Vec<RequestId>)>,
    /// Blocks on the host that are read.
    loads: BTreeMap<CopyId, Vec<u32>>,
    /// Loads of requests that begin with the iteration that is being formed.
    new_loads: Vec<(RequestId, Vec<u32>)>,
    /// Blocks of requests that have ended, which are stored with the next iteration.
    of_ended: Vec<u32>,
    /// Lazily: how many blocks nearest to eviction are looked at; 0: as they are computed.
    looks_at: u32,
    cursor: Cursor,
}

/// How far the blocks that are free on the GPU have been looked at, in the order of their eviction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cursor {
    Start,
    /// A block without contents, so many of which stand before it.
    Empty(u32),
    Cached(u32),
}

impl SimpleCpu {
    pub(super) fn new(cache: &HostCache, block_size: u32, budget: u32) -> Self {
        Self {
            host: HostPool::new(cache.blocks, block_size),
            found: BTreeMap::new(),
            requests: BTreeMap::new(),
            stored_now: BTreeSet::new(),
            stores: BTreeMap::new(),
            loads: BTreeMap::new(),
            new_loads: Vec::new(),
            of_ended: Vec::new(),
            looks_at: if cache.lazy { LAZY_ITERATIONS * budget.div_ceil(block_size) } else { 0 },
            cursor: Cursor::Start,
        }
    }

    fn is_lazy(&self) -> bool {
        self.looks_at > 0
    }

    /// What was found for a request need not stay for it any more.
    fn let_go(&mut self, id: RequestId) {
        for block in self.found.remove(&id).into_iter().flatten() {
            self.host.give_back(block);
        }
    }

    /// Of the computed blocks of a request behind those that were looked at, the ones that are to be stored; how far they are looked
    /// at now.
    fn choose(&self, gpu: &BlockCache, held: &Held, from: u32, confirmed_blocks: u32) -> (Vec<u32>, u32) {
        let free = self.host.free() as usize;
        let (mut chosen, mut looked) = (Vec::new(), from);
        let blocks = held.cached_in_order();
        // A block without contents is passed over for good.
        for index in from..confirmed_blocks {
            let block = blocks.get(index as usize).copied();
            if let Some(block) = block.filter(|&block| self.is_wanted(gpu, block)) {
                if chosen.len() >= free {
                    break;
                }
                chosen.push(block);
            }
            looked = index + 1;
        }
        (chosen, looked)
    }

    fn is_wanted(&self, gpu: &BlockCache, block: u32) -> bool {
        !self.stored_now.contains(&block) && self.host.find(gpu.contents(block)).is_none()
    }

    /// The copies of these blocks are decided: they take their places on the host, and stay on the GPU.
    fn reserve(&mut self, kv: &mut KvCache, blocks: &[u32]) {
        self.host.take(blocks.len() as u32);
        for &block in blocks {
            kv.hold_block(block);
        }
        if !self.is_lazy() {
            self.stored_now.extend(blocks);
        }
    }

    /// Stores of the requests of an iteration: new ones first, then those that run, then those that come back.
    fn store_of(&mut self, kv: &mut KvCache, step: &Step<'_>) -> (Vec<u32>, Vec<RequestId>) {
        for id in step.preempted {
            if let Some(stored) = self.requests.get_mut(id) {
                stored.blocks = 0;
            }
        }
        let rank = |own: &InIteration<'_>| match (own.is_admitted, own.was_preempted) {
            (true, false) => 0,
            (false, _) => 1,
            (true, true) => 2,
        };
        let mut order: Vec<&InIteration<'_>> = step.scheduled.iter().collect();
        order.sort_by_key(|own| rank(own));
        let (mut blocks, mut requests) = (Vec::new(), Vec::new());
        for own in order {
            let Seen { id, block_size, .. } = own.request;
            let Some(Stored { blocks: from, has_left: false, .. }) = self.requests.get(&id) else { continue };
            let Some(gpu) = kv.cached_blocks() else { continue };
            let confirmed = own.computed.saturating_sub(own.awaited) / block_size;
            let (chosen, looked) = self.choose(gpu, own.held, *from, confirmed);
            self.reserve(kv, &chosen);
            if let Some(stored) = self.requests.get_mut(&id) {
                stored.blocks = looked;
            }
            if !chosen.is_empty() {
                requests.push(id);
                blocks.extend(chosen);
            }
        }
        (blocks, requests)
    }

    /// Stores of blocks near their eviction from the GPU (`_prepare_lazy_store_specs`).
    fn store_lazily(&mut self, kv: &mut KvCache, is_idle: bool) -> Vec<u32> {
        let empty = kv.empty();
        let Some(gpu) = kv.cached_blocks() else { return Vec::new() };
        if matches!(self.cursor, Cursor::Cached(block) if gpu.is_held(block)) {
            self.cursor = Cursor::Start;
        }
        // While none runs vLLM goes on as long as copies are under way; where the host is full it would never end.
        let free = if is_idle { self.host.empty() } else { self.host.free() };
        let (mut chosen, mut covered) = (Vec::new(), 0);
        while covered < self.looks_at && (chosen.len() as u32) < free {
            let before = match self.cursor {
                Cursor::Start => 0,
                Cursor::Empty(before) => before + 1,
                Cursor::Cached(_) => empty,
            };
            self.cursor = if before < empty {
                Cursor::Empty(before)
            } else {
                let last = if let Cursor::Cached(block) = self.cursor { Some(block) } else { None };
                let Some(block) = gpu.idle_after(last) else { break };
                if self.host.find(gpu.contents(block)).is_none() {
                    chosen.push(block);
                }
                Cursor::Cached(block)
            };
            covered += 1;
        }
        self.reserve(kv, &chosen);
        chosen
    }

    /// The cursor follows what has become of the free blocks of the GPU since the last look.
    fn follow(&mut self, kv: &mut KvCache) {
        let marked = kv.take_marked();
        let Some(gpu) = kv.cached_blocks() else { return };
        let forgotten = gpu.take_forgotten();
        self.cursor = match self.cursor {
            Cursor::Empty(_) => marked.map_or(Cursor::Start, Cursor::Empty),
            Cursor::Cached(block) if forgotten.contains(&block) => Cursor::Start,
            cursor => cursor,
        };
    }
}

impl Connector for SimpleCpu {
    fn boxed(&self) -> Box<dyn Connector> {
        Box::new(self.clone())
    }

    fn store_start(&self) -> StoreStart {
        StoreStart::AfterIteration
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
        self.let_go(request.id);
        let most = (request.known - 1) / request.block_size;
        let found: Vec<u32> =
            request.contents(local..most).map_while(|contents| self.host.find(contents)).collect();
        for &block in &found {
            self.host.hold(block);
        }
        let count = found.len() as u32;
        if count > 0 {
            self.found.insert(request.id, found);
        }
        Some(count * request.block_size)
    }

    fn allocated(&mut self, request: Seen<'_>, _: u32, loaded: u32) {
        if !self.is_lazy() {
            self.requests.entry(request.id).or_default();
        }
        if loaded > 0 {
            // What was found stays until the load has ended; as it is taken anew, it counts as used now.
            let found = self.found.remove(&request.id).unwrap_or_default();
            self.new_loads.push((request.id, found));
        } else {
            self.let_go(request.id);
        }
    }

    fn formed(&mut self, kv: &mut KvCache, step: &mut Step<'_>) -> Decided {
        self.follow(kv);
        let (mut blocks, requests) = if self.is_lazy() {
            (self.store_lazily(kv, step.is_idle), Vec::new())
        } else {
            self.store_of(kv, step)
        };
        if let Cursor::Empty(before) = self.cursor {
            kv.mark_empty(before);
        }
        blocks.append(&mut self.of_ended);
        let mut decided = Decided { awaited: Some(Vec::new()), ..Decided::default() };
        if !blocks.is_empty() {
            let copy = step.copy(Vec::new(), blocks.len());
            for id in &requests {
                if let Some(stored) = self.requests.get_mut(id) {
                    stored.copies += 1;
                }
            }
            self.stores.insert(copy.id, (blocks, requests));
            decided.stores.push(copy);
        }
        let loads = std::mem::take(&mut self.new_loads);
        if !loads.is_empty() {
            let ids = loads.iter().map(|load| load.0).collect();
            let host: Vec<u32> = loads.into_iter().flat_map(|load| load.1).collect();
            let copy = step.copy(ids, host.len());
            self.loads.insert(copy.id, host);
            decided.loads.push(copy);
        }
        if !step.preempted.is_empty() {
            decided.awaited = None;
        }
        decided
    }

    fn ended(&mut self, kv: &mut KvCache, copy: CopyId) {
        for block in self.loads.remove(&copy).into_iter().flatten() {
            self.host.give_back(block);
        }
        let Some((blocks, requests)) = self.stores.remove(&copy) else { return };
        for &block in &blocks {
            self.stored_now.remove(&block);
            if let Some(gpu) = kv.cached_blocks() {
                self.host.fill(gpu.contents(block));
            }
        }
        for block in blocks {
            kv.give_block_back(block);
        }
        for id in requests {
            let Some(stored) = self.requests.get_mut(&id) else { continue };
            stored.copies -= 1;
            if stored.has_left && stored.copies == 0 {
                self.requests.remove(&id);
            }
        }
    }

    fn is_quiet(&self) -> bool {
        // Every block that fills is stored; lazily, every block that is taken moves the others on.
        false
    }

    fn leaves(&mut self, kv: &mut KvCache, request: Seen<'_>, held: &Held, computed: u32, awaited: u32) {
        let id = request.id;
        let confirmed = computed.saturating_sub(awaited) / request.block_size;
        if let (Some(stored), Some(gpu)) = (self.requests.get(&id), kv.cached_blocks()) {
            let (chosen, _) = self.choose(gpu, held, stored.blocks, confirmed);
            self.reserve(kv, &chosen);
            self.of_ended.extend(chosen);
        }
        self.let_go(id);
        let Some(stored) = self.requests.get_mut(&id) else { return };
        stored.has_left = true;
        if stored.copies == 0 {
            self.requests.remove(&id);
        }
    }
}
