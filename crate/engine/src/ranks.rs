//! The data-parallel ranks of a replica: which of them gets a request, and passes that they run together.
//!
//! A rank is an engine ([`crate::replica::Replica`]); the ranks of a replica stand beside each other in the fleet's list. The
//! sources are vLLM 0.33: vllm/v1/engine/core_client.py, coordinator.py and core.py (`DPEngineCoreProc`).

mod coordinator;
mod front_ends;
pub(crate) mod passes;

use servescope_workload::RequestId;

use crate::config::ranks::DataParallel;
use crate::ranks::coordinator::RankCounts;
use crate::ranks::front_ends::FrontEnds;
use crate::ranks::passes::Passes;
use crate::record::decisions::DecisionLog;
use crate::replica::Replica;
use crate::replica_index::ReplicaIndex;

/// The ranks that a router sees as one address, the first of which has this place.
pub(crate) fn ranks_behind(replicas: &[Replica], address: ReplicaIndex) -> &[Replica] {
    let count = replicas[address.index()].life.ranks_behind;
    &replicas[address.index()..][..usize::from(count)]
}

/// The ranks of one replica.
#[derive(Debug, Clone)]
pub(crate) struct RankGroup {
    /// The first of them; the others follow it.
    pub(crate) first: ReplicaIndex,
    /// How many.
    count: u16,
    /// What chooses among them, where the replica does so itself.
    front_ends: Option<FrontEnds>,
    /// Passes that they run together.
    pub(crate) passes: Option<Passes>,
    /// Of each, requests in its input queue.
    unseen: Vec<u32>,
    /// Of each, the running and the waiting requests that it reported last.
    reported: Vec<[u32; 2]>,
}

impl RankGroup {
    /// Idle ranks, the first of them at a place.
    pub(crate) fn new(first: ReplicaIndex, config: &DataParallel) -> Self {
        let ranks = config.ranks as usize;
        Self {
            first,
            count: config.ranks as u16,
            front_ends: config.balances().then(|| FrontEnds::new(config)),
            passes: config.lockstep.map(|lockstep| Passes::new(lockstep, ranks)),
            unseen: vec![0; ranks],
            reported: vec![[0; 2]; ranks],
        }
    }

    /// The places of all of them.
    pub(crate) fn ranks(&self) -> impl Iterator<Item = ReplicaIndex> + use<> {
        (self.first.get()..self.first.get() + self.count).map(ReplicaIndex::new)
    }

    /// The rank for a request, where the replica chooses itself; `None`: the router has chosen. `asked`: the rank that the request
    /// itself asks for.
    pub(crate) fn choose(
        &mut self,
        request: (RequestId, Option<u16>),
        replicas: &[Replica],
        log: (&mut DecisionLog, f64),
    ) -> Option<ReplicaIndex> {
        let own = &replicas[self.first.index()..][..usize::from(self.count)];
        let rank = self.front_ends.as_mut()?.choose(request, own, log);
        Some(ReplicaIndex::new(self.first.get() + rank))
    }

    /// A request of the replica has ended.
    pub(crate) fn ended(&mut self, id: RequestId) {
        if let Some(front_ends) = &mut self.front_ends {
            front_ends.ended(id);
        }
    }

    /// A request has come to a rank, which sees it when it takes what is in its input queue.
    pub(crate) fn arrives(&mut self, place: ReplicaIndex) {
        let rank = self.rank_of(place);
        self.unseen[rank] += 1;
    }

    /// A rank takes what is in its input queue.
    pub(crate) fn reads_input(&mut self, place: ReplicaIndex) {
        let rank = self.rank_of(place);
        self.unseen[rank] = 0;
    }

    /// Requests that a rank has seen and not finished: those that run and those that wait.
    pub(crate) fn seen(&self, replica: &Replica) -> [u32; 2] {
        let unseen = self.unseen[self.rank_of(replica.index)];
        [replica.num_running, (replica.num_waiting + replica.holding.sessions()).saturating_sub(unseen)]
    }

    /// A rank reports its counts to the coordinator if they have changed.
    pub(crate) fn reports(&mut self, replica: &Replica, now_us: f64) {
        let (rank, seen) = (self.rank_of(replica.index), self.seen(replica));
        let Some(front_ends) = &mut self.front_ends else { return };
        if std::mem::replace(&mut self.reported[rank], seen) == seen {
            return;
        }
        let counts = RankCounts { running: seen[0], waiting: seen[1], kv_use: replica.kv.usage() };
        let step = self.passes.as_ref().map(Passes::step);
        front_ends.reported(rank, counts, step, now_us);
    }

    fn rank_of(&self, place: ReplicaIndex) -> usize {
        place.index() - self.first.index()
    }
}
