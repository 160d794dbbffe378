//! KV connectors, through which a request loads KV blocks instead of computing them: from a tier of host memory below the KV cache
//! (KV offloading), or from the replica that computed its prompt. As vLLM's scheduler does it
//! (vllm/v1/core/sched/scheduler.py, `get_num_new_matched_tokens`, `WAITING_FOR_REMOTE_KVS`).
//!
//! A connector decides what is stored, found and forgotten ([`Connector`], one a file). This file has what they share: the copies
//! under way to the GPU and from it. A request that loads holds its blocks ([`super::holding`]), takes no token of the budget and is not
//! preempted; those behind it go on. The workers look for copies that have ended when they take a batch, and
//! tell the scheduler with that batch's tokens; a replica without a batch learns of them at once.

mod arc;
mod host_chunks;
mod host_pool;
mod link;
mod loads;
mod lru;
mod nixl;
mod offloading;
mod policy;
mod simple_cpu;

use std::ops::Range;
use std::sync::Arc;

use servescope_workload::{RequestId, Trace};

use super::batch_scheduler::ScheduleContext;
use super::holding::{HoldState, Holding};
use super::iteration::{CopyId, Scheduled, ScheduledBatch};
use super::kv_cache::{BlockContents, ContentsInOrder, Held, KvCache, contents_of};
use super::running_list::RunningList;
use crate::block_numbers::BlockNumbers;
use crate::config::PoolConfig;
use crate::config::disaggregation::KvRole;
use crate::config::host_cache::{HostCache, OffloadConnector};
use crate::replica_index::ReplicaIndex;
use link::Link;

/// A copy that a connector decides.
#[derive(Debug)]
struct NewCopy {
    id: CopyId,
    /// For whom, of loads.
    requests: Vec<RequestId>,
    blocks: u32,
}

/// When a store begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StoreStart {
    /// When the iteration is computed with which it was decided.
    AfterIteration,
    /// When the next iteration is formed.
    WithNextIteration,
}

/// What an iteration decides about copies.
#[derive(Debug, Default)]
struct Decided {
    loads: Vec<NewCopy>,
    stores: Vec<NewCopy>,
    /// Copies that must have ended before the iteration begins; `None`: all that have begun.
    awaited: Option<Vec<CopyId>>,
}

/// A request as a connector sees it.
#[derive(Debug, Clone, Copy)]
struct Seen<'a> {
    trace: &'a Trace,
    numbers: &'a BlockNumbers,
    id: RequestId,
    /// Tokens of its prompt and its answer that are known.
    known: u32,
    block_size: u32,
    /// Whether another replica computed its prompt, whose KV blocks were not asked for.
    is_to_be_pulled: bool,
}

impl<'a> Seen<'a> {
    /// What these of its blocks hold.
    fn contents(&self, blocks: Range<u32>) -> ContentsInOrder<'a> {
        contents_of(self.numbers, self.id, blocks)
    }

    /// Tokens of its prompt alone.
    fn prompt(&self) -> u32 {
        self.trace.input_tokens[self.id]
    }
}

/// The blocks of requests, as a connector sees them.
#[derive(Debug, Clone)]
struct RequestBlocks {
    /// Which of them are equal.
    numbers: Arc<BlockNumbers>,
    block_size: u32,
}

impl RequestBlocks {
    fn seen<'a>(&'a self, trace: &'a Trace, (id, known): (RequestId, u32)) -> Seen<'a> {
        Seen { trace, numbers: &self.numbers, id, known, block_size: self.block_size, is_to_be_pulled: false }
    }
}

/// A request that is part of an iteration, before its tokens count as computed.
#[derive(Debug, Clone, Copy)]
struct InIteration<'a> {
    request: Seen<'a>,
    /// Tokens that are computed or under way, those that the iteration adds, and tokens of its answer that are under way.
    computed: u32,
    tokens: u32,
    awaited: u32,
    is_admitted: bool,
    was_preempted: bool,
    held: &'a Held,
}

/// An iteration that was formed, as a connector sees it.
struct Step<'a> {
    /// In the order in which they were chosen.
    scheduled: Vec<InIteration<'a>>,
    preempted: &'a [RequestId],
    /// Whether no request runs.
    is_idle: bool,
    /// Blocks of the requests that begin to load with it.
    loading: Vec<&'a Held>,
    next_copy: &'a mut CopyId,
}

impl Step<'_> {
    fn copy(&mut self, requests: Vec<RequestId>, blocks: usize) -> NewCopy {
        *self.next_copy += 1;
        NewCopy { id: *self.next_copy, requests, blocks: blocks as u32 }
    }
}

/// The scheduler's side of a KV connector (vllm/distributed/kv_transfer/kv_connector/v1/base.py).
trait Connector: std::fmt::Debug {
    /// The same from the present on.
    fn boxed(&self) -> Box<dyn Connector>;

    /// When its stores begin.
    fn store_start(&self) -> StoreStart;

    /// Whether the host has these contents, and they can be read.
    fn has(&self, contents: BlockContents) -> bool;

    /// From now on changes of what the host has are kept until they are asked for.
    fn keep_changes(&mut self);

    /// Blocks with a number that the host has since the last call (`true`), or has no more.
    fn take_changes(&mut self) -> Vec<(u32, bool)>;

    /// How many tokens behind its first `local` blocks can be loaded of a waiting request; `None`: that is not known before a copy has
    /// ended.
    fn matched(&mut self, request: Seen<'_>, local: u32) -> Option<u32>;

    /// The request has its blocks, of which so many behind the first `local` ones are loaded.
    fn allocated(&mut self, request: Seen<'_>, local: u32, loaded: u32);

    /// An iteration is formed.
    fn formed(&mut self, kv: &mut KvCache, step: &mut Step<'_>) -> Decided;

    /// A copy has ended, which the scheduler learns now.
    fn ended(&mut self, kv: &mut KvCache, copy: CopyId);

    /// Whether nothing changes for it while requests that run decode, and no copy is under way.
    fn is_quiet(&self) -> bool;

    /// A request goes, complete or not, before it gives its blocks back. So many of its tokens are computed, and of its answer under
    /// way.
    fn leaves(&mut self, kv: &mut KvCache, request: Seen<'_>, held: &Held, computed: u32, awaited: u32);
}

/// The tier of one replica.
#[derive(Debug)]
pub(crate) struct KvConnector {
    connector: Box<dyn Connector>,
    loads: Link,
    stores: Link,
    /// Decided stores that begin with the next iteration.
    waiting_stores: Vec<CopyId>,
    last_copy: CopyId,
    /// Whether the scheduler learned of the end of a copy since it was asked.
    has_learned: bool,
    /// Pulls that began since the fleet was told.
    new_pulls: Vec<Pull>,
    blocks: RequestBlocks,
}

/// A copy from another replica begins.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pull {
    pub(crate) copy: CopyId,
    pub(crate) request: RequestId,
    pub(crate) blocks: u32,
}

impl Clone for KvConnector {
    fn clone(&self) -> Self {
        Self {
            connector: self.connector.boxed(),
            loads: self.loads.clone(),
            stores: self.stores.clone(),
            waiting_stores: self.waiting_stores.clone(),
            new_pulls: self.new_pulls.clone(),
            blocks: self.blocks.clone(),
            ..*self
        }
    }
}

impl KvConnector {
    /// A connector that has loaded nothing; `None`: the pool has none. Prefixes are cached where blocks have numbers.
    pub(crate) fn new(
        replica: ReplicaIndex,
        config: &PoolConfig,
        numbers: Option<&Arc<BlockNumbers>>,
    ) -> Option<Box<Self>> {
        let tier = numbers.and_then(|_| config.host_tier());
        let [loads, stores] = match tier {
            Some(HostCache { base_us, load_block_us, store_block_us, .. }) => [
                Link::new(replica, true, [base_us, load_block_us]),
                Link::new(replica, false, [base_us, store_block_us]),
            ],
            None => [Link::of_fleet(replica), Link::new(replica, false, [0.0; 2])],
        };
        let connector: Box<dyn Connector> = match tier {
            None if config.has_role(KvRole::Consumer) => Box::new(nixl::Nixl::default()),
            None => return None,
            Some(cache) => match cache.connector {
                OffloadConnector::Offloading => Box::new(offloading::Offloading::new(&cache)),
                OffloadConnector::SimpleCpu => {
                    Box::new(simple_cpu::SimpleCpu::new(&cache, config.block_size, config.max_batch_tokens))
                }
            },
        };
        Some(Box::new(Self {
            connector,
            loads,
            stores,
            waiting_stores: Vec::new(),
            last_copy: 0,
            has_learned: false,
            new_pulls: Vec::new(),
            blocks: RequestBlocks {
                numbers: numbers.cloned().unwrap_or_default(),
                block_size: config.block_size,
            },
        }))
    }

    /// A router is told of changes of what the host has.
    pub(crate) fn keep_changes(&mut self) {
        self.connector.keep_changes();
    }

    /// Whether the host has a block with this number.
    pub(crate) fn has(&self, number: u32) -> bool {
        self.connector.has(BlockContents::numbered(number))
    }

    /// How many tokens behind its first `local` blocks can be loaded of a waiting request; `None`: the request is to be asked for
    /// again. Of a prompt that another replica computed, all can.
    pub(crate) fn matched(
        &mut self,
        context: &ScheduleContext<'_>,
        id: RequestId,
        known: u32,
        local: u32,
    ) -> Option<u32> {
        let seen = self.blocks.seen(context.trace, (id, known));
        self.connector.matched(Seen { is_to_be_pulled: context.requests.is_to_be_pulled(id), ..seen }, local)
    }

    /// A waiting request that was looked for is admitted, and loads nothing.
    pub(crate) fn admitted(&mut self, trace: &Trace, id: RequestId, known: u32, local: u32) {
        self.connector.allocated(self.blocks.seen(trace, (id, known)), local, 0);
    }

    /// A request begins to load so many tokens behind its first `local` blocks; it holds blocks for them.
    pub(crate) fn load(&mut self, trace: &Trace, (id, known): (RequestId, u32), (local, tokens): (u32, u32)) {
        let blocks = tokens.div_ceil(self.blocks.block_size);
        self.connector.allocated(self.blocks.seen(trace, (id, known)), local, blocks);
    }

    /// A request goes, before it gives back what blocks it has.
    pub(crate) fn leaves(
        &mut self,
        kv: &mut KvCache,
        trace: &Trace,
        (id, known): (RequestId, u32),
        held: &Held,
        (computed, awaited): (u32, u32),
    ) {
        let request = self.blocks.seen(trace, (id, known));
        self.connector.leaves(kv, request, held, computed, awaited);
        kv.tell_of_host(self.connector.take_changes());
    }

    /// A waiting request without blocks goes away.
    pub(crate) fn forget(&mut self, kv: &mut KvCache, trace: &Trace, (id, known): (RequestId, u32)) {
        self.leaves(kv, trace, (id, known), &Held::default(), (0, 0));
    }

    /// Whether there are copies of whose end the scheduler does not know.
    pub(crate) fn has_copies(&self) -> bool {
        self.loads.under_way().chain(self.stores.under_way()).next().is_some()
    }

    /// The pulls that began since the last call.
    pub(crate) fn take_pulls(&mut self) -> Vec<Pull> {
        std::mem::take(&mut self.new_pulls)
    }

    /// A pull ends, which would have taken so long alone; the scheduler does not know of it yet.
    pub(crate) fn pull_ends(&mut self, copy: CopyId, now_us: f64, alone_us: f64) {
        self.loads.ends(copy, now_us, alone_us);
    }

    /// Whether the scheduler learned of the end of a copy since the last call: then it looks again.
    pub(crate) fn take_learned(&mut self) -> bool {
        std::mem::take(&mut self.has_learned)
    }

    /// Whether nothing changes for it while requests that run decode.
    pub(crate) fn is_quiet(&self) -> bool {
        !self.has_copies() && self.connector.is_quiet()
    }

    /// When the next copy ends.
    pub(crate) fn next_end_us(&self) -> Option<f64> {
        [self.loads.next_end_us(), self.stores.next_end_us()].into_iter().flatten().min_by(f64::total_cmp)
    }

    /// An iteration is formed, whose requests are chosen and not yet counted as computed: what is copied is decided. Copies that
    /// have ended are reported by the iteration; by an empty one at once.
    pub(crate) fn formed(
        &mut self,
        (list, kv, holding): (&RunningList, &mut KvCache, &mut Holding),
        context: &ScheduleContext<'_>,
        chosen: &[Scheduled],
        preempted: &[RequestId],
        batch: &mut ScheduledBatch,
    ) {
        let now_us = context.now_us;
        for copy in std::mem::take(&mut self.waiting_stores) {
            self.stores.begin(copy, now_us);
        }
        let Self { connector, last_copy, blocks, .. } = self;
        let of_chosen = |scheduled: &Scheduled| {
            let entry = list.chosen(context, scheduled.id)?;
            let request = blocks.seen(context.trace, (scheduled.id, entry.known));
            Some(InIteration {
                request,
                computed: scheduled.computed,
                tokens: scheduled.tokens,
                awaited: entry.awaited,
                is_admitted: scheduled.is_admitted,
                was_preempted: context.requests[scheduled.id].preemptions > 0,
                held: &entry.held,
            })
        };
        let mut step = Step {
            scheduled: chosen.iter().filter_map(of_chosen).collect(),
            preempted,
            is_idle: chosen.is_empty() && batch.is_empty() && list.order.is_empty(),
            loading: holding
                .all
                .iter()
                .filter(|holder| holder.state == HoldState::Begins)
                .map(|holder| &holder.held)
                .collect(),
            next_copy: last_copy,
        };
        let decided = connector.formed(kv, &mut step);
        kv.tell_of_host(connector.take_changes());
        let new = holding.all.iter_mut().filter(|holder| holder.state == HoldState::Begins);
        new.for_each(|holder| holder.state = HoldState::UnderWay);
        let under_way = || self.loads.under_way().chain(self.stores.under_way()).collect();
        let awaited: Vec<CopyId> = decided.awaited.unwrap_or_else(under_way);
        for copy in decided.stores {
            let id = copy.id;
            self.stores.decide(copy, now_us);
            match self.connector.store_start() {
                StoreStart::AfterIteration => batch.copies.begin_after.push(id),
                // One that is waited for begins at once.
                StoreStart::WithNextIteration if awaited.contains(&id) => self.stores.begin(id, now_us),
                StoreStart::WithNextIteration => self.waiting_stores.push(id),
            }
        }
        for copy in decided.loads {
            let id = copy.id;
            if let (true, [request]) = (self.loads.is_of_fleet(), &copy.requests[..]) {
                self.new_pulls.push(Pull { copy: id, request: *request, blocks: copy.blocks });
            }
            self.loads.decide(copy, now_us);
            self.loads.begin(id, now_us);
        }
        batch.copies.reported = self.loads.report(now_us);
        batch.copies.reported.extend(self.stores.report(now_us));
        batch.copies.awaited = awaited;
    }
}
