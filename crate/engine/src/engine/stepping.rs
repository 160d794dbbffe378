//! What a debugger needs of a fleet: going to just before a time, and looks at the decisions of a time.

use crate::replica_index::ReplicaIndex;
use servescope_workload::RequestId;

use super::Fleet;
use crate::gateway::proxy::Proxy;
use crate::gateway::proxy::snapshot::GatewaySnapshot;
use crate::record::decisions::Decision;
use crate::record::decisions::passes::{AdapterLoad, QueuePass};
use crate::record::request_phases::PhaseLog;
use crate::replica::Replica;
use crate::replica::iteration::ScheduledBatch;
use crate::replica::snapshot::ReplicaSnapshot;

/// What was decided at a time, and what it was decided on; gateway and replicas each in their own order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Looked {
    pub(crate) of_engine: (Vec<Decision>, Vec<QueuePass<ReplicaSnapshot>>),
    pub(crate) of_gateway: (Vec<Decision>, Vec<QueuePass<GatewaySnapshot>>),
}

/// How many requests wait and run on a replica, and its blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplicaTotals {
    /// Requests that wait.
    pub waiting: u32,
    /// Requests that hold memory.
    pub running: u32,
    /// Blocks that requests use.
    pub used_blocks: u32,
    /// Blocks that are free.
    pub free_blocks: u32,
}

impl Fleet {
    /// The next time at which something happens; infinite at the end.
    pub(crate) fn next_us(&mut self) -> f64 {
        let given_us = self.next_given_us();
        let now_us = given_us.min(self.events.next_us());
        if now_us > self.until_us { f64::INFINITY } else { now_us }
    }

    /// Lets everything happen that happens before a time.
    pub(crate) fn advance_to_before(&mut self, time_us: f64) {
        let until_us = self.until_us;
        self.until_us = until_us.min(time_us.next_down());
        self.advance(usize::MAX);
        self.until_us = until_us;
    }

    /// Without the phases of requests: they go into a report alone, and no decision depends on them.
    pub(crate) fn without_phases(mut self) -> Self {
        self.record.phases = PhaseLog::default();
        self
    }

    /// From now on snapshots are taken of what is decided on, or none are.
    pub(crate) fn take_snapshots(&mut self, takes: bool) {
        self.replicas.iter_mut().for_each(|replica| replica.take_snapshots(takes));
        self.frontend.proxy().into_iter().for_each(|proxy| proxy.take_snapshots(takes));
    }

    /// What was decided since the last call; from now on no snapshots are taken.
    pub(crate) fn drain_decisions(&mut self) -> Looked {
        let passes = self.replicas.iter_mut().flat_map(Replica::drain_passes).collect();
        Looked {
            of_engine: (self.record.decisions.drain(), passes),
            of_gateway: self.frontend.proxy().map(Proxy::drain_decisions).unwrap_or_default(),
        }
    }

    /// The adapters that replicas loaded so far.
    pub(crate) fn adapter_loads(&self) -> &[AdapterLoad] {
        self.record.decisions.loads()
    }

    /// How many decisions autoscalers took at a time, of those so far.
    pub(crate) fn scalings_at(&self, time_us: f64) -> usize {
        self.record.scaling.iter().rev().take_while(|decision| decision.time_us == time_us).count()
    }

    /// How many replicas failed at a time.
    pub(crate) fn failures_at(&self, time_us: f64) -> usize {
        self.record.failures.iter().rev().take_while(|failure| failure.time_us == time_us).count()
    }

    /// The requests that clients sent, in that order, where some are held.
    pub(crate) fn sent(&self) -> Option<&[RequestId]> {
        self.frontend.sent()
    }

    /// How many requests wait and run on each replica, and its blocks.
    pub(crate) fn totals(&self) -> Vec<ReplicaTotals> {
        let of = |replica: &Replica| ReplicaTotals {
            waiting: replica.num_waiting,
            running: replica.num_running,
            used_blocks: replica.kv.used(),
            free_blocks: replica.kv.available(),
        };
        self.replicas.iter().map(of).collect()
    }

    /// The waiting queue of a replica at a time.
    pub(crate) fn queue_snapshot(&mut self, place: ReplicaIndex, now_us: f64) -> ReplicaSnapshot {
        self.ends_are_over = false;
        let (replica, context, _) = self.parts(place, now_us);
        // Counters as they stand at that time, on a copy: charging in other portions rounds otherwise.
        let mut replica = replica.clone();
        replica.charge_ended(&context);
        replica.queue_snapshot(&context)
    }

    /// A replica of several stages is about to form a batch: notes what decodes in those under way, where snapshots are taken.
    #[inline]
    pub(super) fn note_under_way(&mut self, place: ReplicaIndex) {
        if self.pool_of(place).stages > 1 && self.replicas[place].takes_snapshots() {
            let of = |batch: &ScheduledBatch| -> Vec<(RequestId, u32)> {
                batch.members.iter().map(|&id| (id, batch.unwritten.iterations)).collect()
            };
            let requests = self.pipelines[place].under_way().flat_map(of).collect();
            self.replicas[place].note_unwritten(requests);
        }
    }
}
