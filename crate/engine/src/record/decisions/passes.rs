//! What a debugger asks of the log of decisions beside the decisions: the adapters that were loaded, and what replicas and
//! gateway looked like when they decided, kept only while it asks for that.

use crate::replica::index::ReplicaIndex;
use servescope_workload::{RequestId, Trace};

use super::{DecisionLog, KeptDecisions};
use crate::gateway::proxy::Proxy;
use crate::gateway::proxy::snapshot::GatewaySnapshot;
use crate::replica::Replica;
use crate::replica::context::ScheduleContext;
use crate::replica::snapshot::ReplicaSnapshot;

/// Adapters that a replica loaded while it formed one iteration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdapterLoad {
    /// When, microseconds.
    pub time_us: f64,
    /// Which replica.
    pub replica: ReplicaIndex,
    /// How many adapters.
    pub count: u32,
}

/// One pass over a waiting queue: what it began with, and which of the decisions of the log it took.
#[derive(Debug, Clone)]
pub(crate) struct Pass<T> {
    pub(crate) before: T,
    pub(crate) first: usize,
    pub(crate) end: usize,
}

/// The snapshots of some passes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Passes {
    pub(crate) of_replicas: Vec<Pass<ReplicaSnapshot>>,
    pub(crate) of_gateway: Vec<Pass<GatewaySnapshot>>,
}

/// How snapshots are taken. What keeps decisions and never looks at them again does not name these functions, so that a module
/// for the page which does not step through decisions has no code of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Camera {
    pub(crate) replica: fn(&Replica, &ScheduleContext<'_>) -> ReplicaSnapshot,
    pub(crate) resident: fn(&Replica) -> Vec<u32>,
    pub(crate) gateway: fn(&Proxy, &Trace, f64) -> GatewaySnapshot,
}

/// What is kept while a debugger looks.
#[derive(Debug, Clone)]
pub(super) struct Taking {
    camera: Camera,
    passes: Passes,
    /// Of several stages: requests that decode in the batches under way, with the tokens of each that are not written down.
    under_way: Vec<(RequestId, u32)>,
}

impl DecisionLog {
    /// How snapshots are taken, where they are wanted.
    #[inline]
    pub(crate) fn camera(&self) -> Option<Camera> {
        self.0.as_ref().and_then(|kept| kept.taking.as_ref()).map(|taking| taking.camera)
    }

    /// From now on snapshots are taken, or none are.
    pub(crate) fn take_snapshots(&mut self, camera: Option<Camera>) {
        if let Some(kept) = &mut self.0 {
            let passes = Passes::default();
            kept.taking = camera.map(|camera| Taking { camera, passes, under_way: Vec::new() });
        }
    }

    /// The decisions and snapshots since the last call.
    pub(crate) fn drain(&mut self) -> (Vec<super::Decision>, Passes) {
        let Some(kept) = &mut self.0 else { return Default::default() };
        (
            std::mem::take(&mut kept.decisions),
            kept.taking.take().map(|taking| taking.passes).unwrap_or_default(),
        )
    }

    /// How many decisions were kept.
    pub(crate) fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |kept| kept.decisions.len())
    }

    /// Of several stages: which requests decode in the batches under way, with the tokens of each that are not written down.
    pub(crate) fn set_under_way(&mut self, requests: Vec<(RequestId, u32)>) {
        if let Some(taking) = self.taking() {
            taking.under_way = requests;
        }
    }

    /// Tokens of a request that are not written down; `None`: it decodes in no batch under way of several stages.
    pub(crate) fn unwritten(&self, id: RequestId) -> Option<u32> {
        let taking = self.0.as_ref()?.taking.as_ref()?;
        taking.under_way.iter().find(|own| own.0 == id).map(|own| own.1)
    }

    /// A replica begins a pass.
    pub(crate) fn begins_pass(&mut self, before: ReplicaSnapshot) {
        let first = self.len();
        if let Some(taking) = self.taking() {
            taking.passes.of_replicas.push(Pass { before, first, end: first });
        }
    }

    /// The gateway is about to take a decision.
    pub(crate) fn gateway_looks(&mut self, before: GatewaySnapshot) {
        let first = self.len();
        if let Some(taking) = self.taking() {
            taking.passes.of_gateway.push(Pass { before, first, end: first });
        }
    }

    /// A pass is over, in which this many adapters were loaded; `resident` gives those in
    /// GPU memory now, and is asked where snapshots are taken.
    pub(crate) fn ends_pass(&mut self, load: AdapterLoad, resident: Option<Vec<u32>>) {
        let end = self.len();
        let Some(kept) = &mut self.0 else { return };
        if load.count > 0 {
            kept.loads.push(load);
        }
        if let Some(pass) = kept.taking.as_mut().and_then(|taking| taking.passes.of_replicas.last_mut()) {
            pass.end = end;
            let before = &mut pass.before;
            let is_new = |adapter: &u32| before.adapters.list.iter().all(|known| known.adapter != *adapter);
            before.has_loaded = load.count > 0;
            before.loaded = resident.into_iter().flatten().filter(is_new).collect();
        }
    }

    /// The adapters loaded so far.
    pub(crate) fn loads(&self) -> &[AdapterLoad] {
        self.0.as_ref().map_or(&[], |kept| &kept.loads)
    }

    /// The log without what was kept; it still reports each decision once.
    pub(crate) fn emptied(&self) -> Self {
        Self(
            self.0
                .as_ref()
                .map(|kept| Box::new(KeptDecisions { holds: kept.holds.clone(), ..Default::default() })),
        )
    }

    fn taking(&mut self) -> Option<&mut Taking> {
        self.0.as_mut()?.taking.as_mut()
    }
}
