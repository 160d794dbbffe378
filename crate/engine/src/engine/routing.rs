//! How the router meets the fleet: what it is told, when it reads the replicas, and its choice.

use servescope_workload::RequestId;

use super::Fleet;
use crate::replica_index::ReplicaIndex;
use crate::report::RoutingTotals;
use crate::router::RoutingView;

impl Fleet {
    /// Has written down what the router needs. Where it looks at what is cached at a moment, every iteration is charged by itself:
    /// within a fast-forward blocks are forgotten later than they would be.
    pub(super) fn prepare_router(&mut self) {
        let Some(knowledge) = &self.router.knowledge else { return };
        self.record.for_router = Some(Vec::new());
        if knowledge.is_exact() {
            self.max_fast_forward = 1;
        }
    }

    /// Another replica is there: the router reads it, and is told of its cache.
    pub(super) fn introduce(&mut self, place: ReplicaIndex) {
        self.router.scrapes.look_again();
        if self.router.knowledge.as_ref().is_some_and(|knowledge| knowledge.takes_events()) {
            let replica = &mut self.replicas[place];
            replica.kv.keep_changes();
            if let Some(tier) = &mut replica.kv_offload {
                tier.keep_changes();
            }
        }
    }

    /// Reads the replicas that were due before what happens at `now_us`.
    #[inline]
    pub(super) fn scrape(&mut self, now_us: f64) {
        if self.router.scrapes.are_due(now_us) {
            let config_of = |pool: u16| &self.pools[usize::from(pool)].config;
            let (replicas, trace) = (&self.replicas[..], &*self.trace);
            let view = RoutingView { config_of: &config_of, replicas, trace, now_us };
            self.router.scrapes.read(now_us, replicas.len(), |place, at_us| view.reported(place, at_us));
        }
    }

    /// The replica for a request among candidates; `None`: those that are ready.
    pub(super) fn route(
        &mut self,
        id: RequestId,
        candidates: Option<&[ReplicaIndex]>,
        now_us: f64,
    ) -> ReplicaIndex {
        if let Some(knowledge) = &mut self.router.knowledge {
            let happened = self.record.for_router.iter_mut().flat_map(|events| events.drain(..));
            knowledge.hear(happened, &mut self.replicas, &self.trace, now_us);
        }
        let config_of = |pool: u16| &self.pools[usize::from(pool)].config;
        let view =
            RoutingView { config_of: &config_of, replicas: &self.replicas, trace: &self.trace, now_us };
        let candidates = candidates.unwrap_or(&self.ready);
        self.router.pick(&view, (candidates, id), &mut self.record.decisions)
    }

    /// What the router believed to be cached, and what was; `None`: it keeps no index.
    pub(super) fn routing_totals(&self) -> Option<RoutingTotals> {
        let knowledge = self.router.knowledge.as_ref().filter(|knowledge| knowledge.has_index())?;
        let is_cached =
            |id: usize| self.replicas[self.requests[id].leg.replica].kv.prefix_lookups().is_some();
        Some(knowledge.totals(&self.requests.found, is_cached))
    }
}
