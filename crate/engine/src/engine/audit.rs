//! What tests look at while a fleet runs: the books of the KV memory, kept a second time block by block from the state of
//! every request, and the batches under way.

use crate::replica_index::ReplicaIndex;
use servescope_workload::{BASE_MODEL, RequestId};

use super::Fleet;
use crate::record::request_state::RequestStatus;
use crate::replica::Replica;
use crate::replica::batch_scheduler::{BlockAllocation, RadixState};
use crate::replica::iteration::{Scheduled, ScheduledBatch};

/// A batch that has been formed and is not done.
#[derive(Debug, Clone, PartialEq)]
pub struct BatchUnderWay {
    /// How many batches its replica had formed with it.
    pub number: u64,
    /// When it was formed, microseconds.
    pub formed_us: f64,
    /// What it holds, in the order in which it was chosen.
    pub requests: Vec<BatchMember>,
}

/// A request's part of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchMember {
    /// Which request.
    pub id: RequestId,
    /// Tokens that are processed.
    pub tokens: u32,
    /// Tokens that were processed, or scheduled to be, before.
    pub computed: u32,
    /// Whether they are of its prompt, or of an answer that is recomputed.
    pub is_prompt: bool,
    /// Whether it joins with this batch.
    pub is_admitted: bool,
    /// Drafts among its tokens.
    pub drafts: u32,
    /// Whether these are none, but rows that make it as wide as requests with drafts.
    pub is_padded: bool,
}

impl Fleet {
    /// The batches under way of a replica that lists its running requests, the oldest one first.
    pub fn batches_under_way(&mut self, replica: ReplicaIndex) -> Vec<BatchUnderWay> {
        let pipelines = std::mem::take(&mut self.pipelines);
        let (own, context, _) = self.parts(replica, 0.0);
        let tell = |batch: &ScheduledBatch| BatchUnderWay {
            number: batch.number,
            formed_us: batch.formed_us,
            requests: own.running_list.members(&context, batch).iter().map(BatchMember::of).collect(),
        };
        let batches = pipelines.get(replica.index()).map(super::pipeline::Pipeline::under_way);
        let mut all: Vec<BatchUnderWay> = batches.into_iter().flatten().map(tell).collect();
        self.pipelines = pipelines;
        all.sort_by_key(|batch| batch.number);
        all
    }

    /// Requests of a replica that run, and that wait, sessions that await input among them.
    pub fn running_and_waiting(&self, replica: ReplicaIndex) -> (u32, u32) {
        let replica = &self.replicas[replica];
        (replica.num_running, replica.num_waiting + replica.holding.sessions())
    }

    /// The radix tree of a replica whose scheduler keeps one.
    pub fn radix_state(&self, replica: ReplicaIndex) -> Option<RadixState> {
        self.replicas[replica].scheduler().counts().radix
    }

    /// Whether every replica's adapters, their slots and their blocks of the KV pool are those of the requests that hold memory,
    /// counted request by request, which is slow.
    pub fn audits_adapters(&mut self) -> bool {
        ReplicaIndex::first(self.replicas.len()).all(|place| {
            let (replica, context, _) = self.parts(place, 0.0);
            let holds = |&id: &RequestId| {
                let of_request = context.requests[id].status;
                context.requests[id].leg.replica == replica.index
                    && matches!(of_request, RequestStatus::Prefilling | RequestStatus::Decoding)
                    && !(context.facts.lists_running
                        && replica.running_list.has_released_adapter(&context, id))
            };
            let ids = RequestId::first(context.trace.len()).filter(holds);
            let adapters: Vec<u32> =
                ids.map(|id| context.adapter(id).0).filter(|&adapter| adapter != BASE_MODEL).collect();
            replica.adapters.audit(&adapters, &replica.kv)
        })
    }

    /// KV blocks that adapters take, of each replica.
    pub fn adapter_blocks_in_use(&self) -> Vec<u32> {
        self.replicas.iter().map(|replica| replica.kv.adapter_blocks()).collect()
    }

    /// KV blocks in use of each replica, counted request by request, which is slow. `None` for static batches, whose
    /// memory belongs to the batch.
    pub fn audited_blocks(&mut self) -> Option<Vec<u32>> {
        if self.pools.iter().any(|pool| pool.facts.allocation == BlockAllocation::ForBatch) {
            return None;
        }
        Some(ReplicaIndex::first(self.replicas.len()).map(|place| self.audit(place)).collect())
    }

    fn audit(&mut self, place: ReplicaIndex) -> u32 {
        let pool = self.pool_of(place);
        if pool.facts.lists_running {
            let replica = &self.replicas[place];
            let held = replica.running_list.held_blocks(replica);
            let in_tree = self.radix_state(place).map_or(0, |tree| tree.locked / pool.config.block_size);
            return held.requests.iter().map(|&(_, _, blocks)| blocks).sum::<u32>() - held.shared + in_tree;
        }
        let batches: Vec<(RequestId, Option<u32>)> = self.in_flight(place);
        let (replica, context, _) = self.parts(place, 0.0);
        let config = context.config;
        let mut blocks = 0;
        for id in RequestId::first(context.trace.len()) {
            let i = id.index();
            let place = context.requests[i].status;
            if context.requests[i].leg.replica != replica.index
                || !matches!(place, RequestStatus::Prefilling | RequestStatus::Decoding)
            {
                continue;
            }
            // The blocks of an iteration are taken when it is formed.
            let coming = batches.iter().find(|(other, _)| *other == id).map(|(_, chunk)| *chunk);
            let held = match (place, coming) {
                _ if !context.facts.allocates_on_demand() => context.blocks_at_end(id),
                (RequestStatus::Decoding, _) if replica.is_single() && decodes(replica) => {
                    config.blocks_for(replica.tokens(&context, id))
                }
                (RequestStatus::Decoding, Some(_)) => config.blocks_for(replica.tokens(&context, id)),
                _ => replica.blocks_of(&context, id),
            };
            blocks += held;
        }
        blocks
    }

    /// Requests in the iterations under way, prompts with the tokens that are read of them.
    fn in_flight(&self, place: ReplicaIndex) -> Vec<(RequestId, Option<u32>)> {
        let replica = &self.replicas[place];
        let single = replica.batch.as_deref().filter(|_| replica.in_flight > 0 && replica.is_single());
        let piped =
            self.pipelines.get(place.index()).map(super::pipeline::Pipeline::under_way).into_iter().flatten();
        let mut all = Vec::new();
        for batch in single.into_iter().chain(piped) {
            all.extend(batch.prompts.iter().zip(&batch.chunks).map(|(&id, chunk)| (id, Some(chunk.tokens))));
            all.extend(batch.members.iter().map(|&id| (id, None)));
        }
        all
    }
}

impl BatchMember {
    fn of(scheduled: &Scheduled) -> Self {
        let Scheduled { id, tokens, computed, is_prompt, is_admitted, drafts, is_padded, .. } = *scheduled;
        Self { id, tokens, computed, is_prompt, is_admitted, drafts, is_padded }
    }
}

fn decodes(replica: &Replica) -> bool {
    replica.in_flight > 0 && replica.decodes() > 0
}
