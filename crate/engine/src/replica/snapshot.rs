//! What a replica looks like when it looks at its waiting queue, for a debugger: the queue in its order, which requests hold
//! KV blocks, adapters, counters, and the list of the memory test. Nothing is taken unless it is asked for.

use crate::client::ClientId;
use crate::replica_index::ReplicaIndex;
use servescope_workload::{RequestId, Trace};

use super::Replica;
use super::adapters::pool::AdapterPool;
pub use super::batch_scheduler::RadixState;
use super::batch_scheduler::{BlockAllocation, ScheduleContext};
use super::holding::Holder;
use super::queue::waiting_queue::listing::QueueKeyKind;
pub use super::queue::waiting_queue::listing::{MOST_LISTED, WaitingEntry};
use super::running_list::HeldBlocks;
use crate::record::decisions::passes::{AdapterLoad, QueuePass};
use crate::record::drafts::RequestDrafts;
use crate::record::request_state::RequestStatus;
pub use crate::replica::adapters::seen::ResidentAdapter;
use crate::replica::peak_memory::KvFootprint;
use crate::request::Outcome;

/// A request that holds KV memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KvHolder {
    /// Which request.
    pub id: RequestId,
    /// Blocks that it holds.
    pub blocks: u32,
    /// Tokens that are processed.
    pub tokens: u32,
    /// Whether it decodes; otherwise its prompt is processed.
    pub decodes: bool,
    /// Its drafts, which its next iteration verifies if they fit.
    pub drafts: u32,
    /// What became of its drafts so far.
    pub drafts_so_far: RequestDrafts,
}

/// KV memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KvSnapshot {
    /// Blocks of the pool.
    pub total: u32,
    /// Blocks that requests use.
    pub used: u32,
    /// Blocks in which adapters are.
    pub adapters: u32,
    /// Blocks that are free.
    pub free: u32,
    /// Blocks that the host keeps of preempted requests.
    pub host: u32,
    /// Blocks that several requests share, each counted once less than it has users.
    pub shared: u32,
    /// Blocks that are held by copies to host memory alone.
    pub copied: u32,
    /// Tokens in a block.
    pub block_tokens: u32,
}

/// Adapters in GPU memory.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AdapterSnapshot {
    /// LoRA slots, where there are slots.
    pub slots: Option<u32>,
    /// Adapters that requests of the batch use.
    pub used: u32,
    /// Adapters in GPU memory.
    pub resident: u32,
    /// These one by one; none where all of them stay in GPU memory.
    pub list: Vec<ResidentAdapter>,
}

/// A row of the memory test's sorted list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeakRow {
    /// Which request; none where that is not known.
    pub id: Option<RequestId>,
    /// Tokens that it holds.
    pub used: u32,
    /// Tokens that it may produce further.
    pub left: u32,
}

/// A replica.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplicaSnapshot {
    /// When, microseconds.
    pub time_us: f64,
    /// Which replica.
    pub replica: ReplicaIndex,
    /// By what the queue is ordered.
    pub key: QueueKeyKind,
    /// Whether the replica looked at its queue; otherwise only the queue is shown.
    pub is_look: bool,
    /// The first [`MOST_LISTED`] waiting requests, in the order in which they would be admitted if each fitted now.
    pub waiting: Vec<WaitingEntry>,
    /// How many wait.
    pub waiting_count: u32,
    /// Requests that hold memory, in the order in which they were admitted first.
    pub holders: Vec<KvHolder>,
    /// KV memory.
    pub kv: KvSnapshot,
    /// Adapters.
    pub adapters: AdapterSnapshot,
    /// Whether the look loaded adapters.
    pub has_loaded: bool,
    /// The adapters that it loaded.
    pub loaded: Vec<u32>,
    /// Each client seen so far with its counter, where the queue keeps counters.
    pub counters: Vec<(ClientId, f64)>,
    /// Requests that run by the memory test, by tokens left descending; of S-LoRA and `LightLLM`.
    pub peak: Option<Vec<PeakRow>>,
    /// Decode iterations since the last prefill, where the scheduler goes by them.
    pub decode_steps: Option<u32>,
    /// The radix tree of prefixes, of a scheduler that keeps one.
    pub radix: Option<RadixState>,
}

/// What a debugger keeps of a replica while it looks. Snapshots are taken through a pointer: what keeps decisions and never looks
/// at them again does not name the function, so that a module for the page which does not step through decisions has no code of it.
#[derive(Debug, Clone)]
pub(crate) struct ReplicaCamera {
    take: fn(&Replica, &ScheduleContext<'_>) -> ReplicaSnapshot,
    resident: fn(&Replica) -> Vec<u32>,
    passes: Vec<QueuePass<ReplicaSnapshot>>,
    /// Of several stages: requests that decode in the batches under way, with the tokens of each that are not written down.
    unwritten: Vec<(RequestId, u32)>,
}

/// A pass over the waiting queue begins: takes a snapshot where one is wanted. Returns the adapters loaded so far.
#[inline]
pub(super) fn begins(replica: &mut Replica, context: &ScheduleContext<'_>) -> u64 {
    if context.record.decisions.is_on() { begins_looked_at(replica, context) } else { 0 }
}

fn begins_looked_at(replica: &mut Replica, context: &ScheduleContext<'_>) -> u64 {
    if let Some(take) = replica.camera.as_ref().map(|camera| camera.take) {
        let pass = QueuePass::begins(take(replica, context), &context.record.decisions);
        if let Some(camera) = &mut replica.camera {
            camera.passes.push(pass);
        }
    }
    replica.loads_and_evictions().0
}

/// The pass is over.
#[inline]
pub(super) fn ends(replica: &mut Replica, context: &mut ScheduleContext<'_>, loads_before: u64) {
    if context.record.decisions.is_on() {
        ends_looked_at(replica, context, loads_before);
    }
}

fn ends_looked_at(replica: &mut Replica, context: &mut ScheduleContext<'_>, loads_before: u64) {
    let count = (replica.loads_and_evictions().0 - loads_before) as u32;
    if count > 0 {
        let load = AdapterLoad { time_us: context.now_us, replica: replica.index, count };
        context.record.decisions.add_load(load);
    }
    let resident = replica.camera.as_ref().filter(|_| count > 0).map(|camera| (camera.resident)(replica));
    let Some(pass) = replica.camera.as_mut().and_then(|camera| camera.passes.last_mut()) else { return };
    pass.end = context.record.decisions.len();
    let before = &mut pass.before;
    let is_new = |adapter: &u32| before.adapters.list.iter().all(|known| known.adapter != *adapter);
    before.has_loaded = count > 0;
    before.loaded = resident.into_iter().flatten().filter(is_new).collect();
}

impl Replica {
    /// From now on a snapshot is taken at the beginning of each pass, or none is.
    pub(crate) fn take_snapshots(&mut self, takes: bool) {
        self.camera = takes.then(|| {
            Box::new(ReplicaCamera {
                take: Self::snapshot,
                resident: Self::resident_adapters,
                passes: Vec::new(),
                unwritten: Vec::new(),
            })
        });
    }

    /// The passes of which snapshots were taken; from now on none are.
    pub(crate) fn drain_passes(&mut self) -> Vec<QueuePass<ReplicaSnapshot>> {
        self.camera.take().map(|camera| camera.passes).unwrap_or_default()
    }

    /// Whether snapshots are taken.
    #[inline]
    pub(crate) fn takes_snapshots(&self) -> bool {
        self.camera.is_some()
    }

    /// Of several stages, where snapshots are taken: which requests decode in the batches under way, with the tokens of each that
    /// are not written down.
    pub(crate) fn note_unwritten(&mut self, requests: Vec<(RequestId, u32)>) {
        if let Some(camera) = &mut self.camera {
            camera.unwritten = requests;
        }
    }

    /// Tokens of a request that are not written down; `None`: it decodes in no batch under way of several stages.
    fn unwritten(&self, id: RequestId) -> Option<u32> {
        self.camera.as_ref()?.unwritten.iter().find(|own| own.0 == id).map(|own| own.1)
    }

    /// The adapters in GPU memory.
    pub(crate) fn resident_adapters(&self) -> Vec<u32> {
        self.resident().iter().map(|resident| resident.adapter).collect()
    }

    fn resident(&self) -> Vec<ResidentAdapter> {
        self.scheduler()
            .counts()
            .adapters_in_memory
            .map_or_else(|| self.adapters.resident(), AdapterPool::resident)
    }

    /// What the replica looks like, at the time of the context.
    pub(crate) fn snapshot(&self, context: &ScheduleContext<'_>) -> ReplicaSnapshot {
        let (holders, shared) = self.holders_now(context);
        let by_requests = holders.iter().map(|holder| holder.blocks).sum::<u32>() - shared;
        let has_tier = self.kv_connector.is_some();
        ReplicaSnapshot {
            is_look: true,
            holders,
            kv: KvSnapshot {
                total: context.config.blocks,
                used: self.kv.used(),
                adapters: self.kv.adapter_blocks(),
                free: self.kv.available(),
                host: self.kv.host_used(),
                shared,
                copied: if has_tier { self.kv.used().saturating_sub(by_requests) } else { 0 },
                block_tokens: context.config.block_size,
            },
            adapters: self.adapters_now(),
            peak: self.peak_rows(context),
            decode_steps: self.scheduler().counts().decode_steps,
            radix: self.scheduler().counts().radix,
            ..self.queue_snapshot(context)
        }
    }

    /// The waiting queue alone: while iterations are under way, the rest is known at their ends.
    pub(crate) fn queue_snapshot(&self, context: &ScheduleContext<'_>) -> ReplicaSnapshot {
        let mut queue = self
            .scheduler()
            .counts()
            .queue
            .map_or_else(|| self.waiting.clone(), |own| own.as_seen(context.trace));
        // One that is refused may still wait for that to be told.
        let stays = |id: RequestId| {
            matches!(context.record.results[id].outcome, Outcome::Unfinished | Outcome::Rejected(_))
        };
        let is_gone = |id: RequestId| context.is_gone(id) || !stays(id);
        let (key, counters) = (queue.key_kind(), queue.counters());
        let listed = queue.listed(context.trace, MOST_LISTED, is_gone, |id| context.arrival_us(id));
        // Those that hold blocks come first.
        let with_blocks = self.holding.waiting().filter(|one| !one.awaits_input()).map(|one| (one.id, None));
        let waiting = with_blocks.chain(listed).take(MOST_LISTED).map(|(id, key)| WaitingEntry {
            id,
            key,
            arrival_us: context.arrival_us(id),
            prompt_tokens: context.requests[id].prompt,
            was_preempted: context.requests[id].preemptions > 0,
        });
        let waiting = waiting.collect();
        ReplicaSnapshot {
            time_us: context.now_us,
            replica: self.index,
            key,
            waiting,
            waiting_count: self.num_waiting,
            is_look: false,
            holders: Vec::new(),
            kv: KvSnapshot::default(),
            adapters: AdapterSnapshot::default(),
            has_loaded: false,
            loaded: Vec::new(),
            counters,
            peak: None,
            decode_steps: None,
            radix: None,
        }
    }

    fn adapters_now(&self) -> AdapterSnapshot {
        let list = self.resident();
        let slots = self.adapters.slot_count();
        let of_batch = self.scheduler().counts().batch_adapters;
        let used = of_batch.map_or_else(
            || list.iter().filter(|resident| resident.users > 0).count() as u32,
            AdapterPool::used,
        );
        AdapterSnapshot { slots, used, resident: self.adapters_in_memory().0, list }
    }

    /// Requests that hold memory, and blocks that are counted more than once because requests share them.
    fn holders_now(&self, context: &ScheduleContext<'_>) -> (Vec<KvHolder>, u32) {
        let (mut holders, shared) = if context.facts.lists_running {
            let HeldBlocks { requests, shared } = self.running_list.held_blocks(self);
            let requests = requests.into_iter().chain(self.holding.waiting().map(Holder::tokens_and_blocks));
            let of = |(id, tokens, blocks): (RequestId, u32, u32)| {
                let decodes = tokens >= context.requests[id].prompt;
                let place = context.requests.running.get(id.index()).copied().flatten();
                let drafts = place.map_or(0, |place| self.running_list.drafts_at(place));
                let drafts_so_far = context.requests.drafts.get(id.index()).copied().unwrap_or_default();
                KvHolder { id, blocks, tokens, decodes, drafts, drafts_so_far }
            };
            (requests.map(of).collect(), shared)
        } else {
            (self.holders_by_status(context), 0)
        };
        let since = |holder: &KvHolder| context.requests[holder.id].leg.scheduled_us;
        holders.sort_by(|a: &KvHolder, b| since(a).total_cmp(&since(b)).then(a.id.cmp(&b.id)));
        (holders, shared)
    }

    fn holders_by_status(&self, context: &ScheduleContext<'_>) -> Vec<KvHolder> {
        let holds = |id: &RequestId| {
            let i = id.index();
            context.requests[i].leg.replica == self.index
                && matches!(context.requests[i].status, RequestStatus::Prefilling | RequestStatus::Decoding)
        };
        let of = |id: RequestId| {
            let decodes = context.requests[id].status == RequestStatus::Decoding;
            // The blocks of an iteration are taken when it is formed.
            let unwritten = self.unwritten(id).filter(|_| decodes);
            let tokens = self.tokens(context, id) + unwritten.unwrap_or(0);
            let blocks = if context.facts.allocation == BlockAllocation::ForBatch {
                context.config.slot_blocks()
            } else if unwritten.is_some() && context.facts.allocates_on_demand() {
                context.config.blocks_for(tokens)
            } else {
                self.blocks_of(context, id)
            };
            KvHolder { id, blocks, tokens, decodes, drafts: 0, drafts_so_far: RequestDrafts::default() }
        };
        RequestId::first(context.trace.len()).filter(holds).map(of).collect()
    }

    /// The entries of the memory test with the requests that they stand for.
    fn peak_rows(&self, context: &ScheduleContext<'_>) -> Option<Vec<PeakRow>> {
        let entries = self.scheduler().counts().estimate?.entries();
        let step = self.decode_batch.step as i64;
        let mut running: Vec<(KvFootprint, RequestId)> = self
            .holders_by_status(context)
            .iter()
            .map(|holder| (footprint(context.trace, holder, step), holder.id))
            .collect();
        let row = |entry: &KvFootprint| {
            // Requests with equal footprints stand for one another.
            let place = running.iter().position(|(own, _)| own == entry);
            let id = place.map(|place| running.remove(place).1);
            PeakRow { id, used: (entry.held + step) as u32, left: (entry.finish - step) as u32 }
        };
        Some(entries.iter().map(row).collect())
    }
}

/// A running request in the coordinates of the memory test: its last token is never written to the cache.
fn footprint(trace: &Trace, holder: &KvHolder, step: i64) -> KvFootprint {
    let (input, max) = (trace.input_tokens[holder.id], trace.max_tokens[holder.id]);
    let used = i64::from(holder.tokens);
    KvFootprint { finish: step + i64::from(input) + i64::from(max) - 1 - used, held: used - step }
}
