//! How the router meets the fleet: what it is told, when it reads the replicas, and its choice.

use servescope_workload::RequestId;

use super::Fleet;
use crate::config::ranks::DataParallel;
use crate::record::RoutedEvent;
use crate::replica_index::ReplicaIndex;
use crate::report::RoutingTotals;
use crate::router::RoutingView;

impl Fleet {
    /// Has written down what the router and the replicas that choose among their ranks need. Where it matters what is cached or
    /// reported at a moment, every iteration is charged by itself: within a fast-forward blocks are forgotten later than they
    /// would be, and nothing is reported.
    pub(super) fn prepare_router(&mut self) {
        let any =
            |is: fn(&DataParallel) -> bool| self.pools.iter().any(|pool| is(&pool.config.data_parallel));
        let balances = any(DataParallel::balances);
        if self.router.knowledge.is_some() || balances {
            self.record.for_router = Some(Vec::new());
        }
        let is_exact = self.router.knowledge.as_ref().is_some_and(|knowledge| knowledge.is_exact());
        let decides_by_memory = self.config.disaggregation.is_some_and(|own| own.reads_decode_memory());
        if is_exact
            || decides_by_memory
            || any(DataParallel::hears_reports)
            || any(|ranks| ranks.lockstep.is_some())
        {
            self.max_fast_forward = 1;
        }
    }

    /// Another replica is there: the router reads it, and is told of its cache.
    pub(super) fn introduce(&mut self, place: ReplicaIndex) {
        self.router.scrapes.look_again();
        if self.router.knowledge.as_ref().is_some_and(|knowledge| knowledge.takes_events()) {
            let replica = &mut self.replicas[place];
            replica.kv.keep_changes();
            if let Some(tier) = &mut replica.kv_connector {
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

    /// The replica for a request among candidates; `None`: those that are ready. Of one that chooses among its ranks itself, the rank.
    pub(super) fn route(
        &mut self,
        id: RequestId,
        candidates: Option<&[ReplicaIndex]>,
        now_us: f64,
    ) -> ReplicaIndex {
        let address = self.pick_address(id, candidates, now_us);
        self.choose_rank(id, address, now_us)
    }

    /// The router's choice: a rank, or the first one of a replica that chooses among them itself.
    pub(super) fn pick_address(
        &mut self,
        id: RequestId,
        candidates: Option<&[ReplicaIndex]>,
        now_us: f64,
    ) -> ReplicaIndex {
        self.tell_router(now_us);
        let config_of = |pool: u16| &self.pools[usize::from(pool)].config;
        let view =
            RoutingView { config_of: &config_of, replicas: &self.replicas, trace: &self.trace, now_us };
        let candidates = candidates.unwrap_or(&self.ready);
        self.router.pick(&view, (candidates, id), &mut self.record.decisions)
    }

    /// The rank that gets a request of an address.
    pub(super) fn choose_rank(&mut self, id: RequestId, address: ReplicaIndex, now_us: f64) -> ReplicaIndex {
        let asked = self.trace.metadata.as_ref().and_then(|metadata| metadata.rank_of(id.index()));
        let group = &mut self.groups[usize::from(self.replicas[address].life.replica)];
        let log = (&mut self.record.decisions, now_us);
        group.choose((id, asked), &self.replicas, log).unwrap_or(address)
    }

    /// The router hears what has happened to the requests that it has sent.
    pub(super) fn tell_router(&mut self, now_us: f64) {
        let happened = self.record.for_router.as_mut().map(std::mem::take).unwrap_or_default();
        for &(ended, _) in happened.iter().filter(|event| event.1 == RoutedEvent::Ends) {
            self.groups.iter_mut().for_each(|group| group.ended(ended));
        }
        if let Some(knowledge) = &mut self.router.knowledge {
            knowledge.hear(happened.into_iter(), &mut self.replicas, &self.trace, now_us);
        }
    }

    /// What the router believed to be cached, and what was; `None`: it keeps no index.
    pub(super) fn routing_totals(&self) -> Option<RoutingTotals> {
        let knowledge = self.router.knowledge.as_ref().filter(|knowledge| knowledge.has_index())?;
        let is_cached =
            |id: usize| self.replicas[self.requests[id].leg.replica].kv.prefix_lookups().is_some();
        Some(knowledge.totals(&self.requests.found, is_cached))
    }
}
