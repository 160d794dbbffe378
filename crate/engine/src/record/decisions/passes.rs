//! What a debugger asks of the log of decisions beside the decisions: the adapters that were loaded, and what replicas and
//! gateway looked like when they decided, kept only while it asks for that.

use super::{DecisionLog, KeptDecisions};
use crate::gateway::proxy::snapshot::GatewaySnapshot;
use crate::replica::snapshot::ReplicaSnapshot;

/// Adapters that a replica loaded while it formed one iteration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdapterLoad {
    /// When, microseconds.
    pub time_us: f64,
    /// Which replica.
    pub replica: u16,
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

/// What is kept while a debugger looks.
#[derive(Debug, Clone, Default)]
pub(crate) struct Passes {
    pub(crate) of_replicas: Vec<Pass<ReplicaSnapshot>>,
    pub(crate) of_gateway: Vec<Pass<GatewaySnapshot>>,
    /// Of several stages: requests that decode in the batches under way, with the tokens of each that are not written down.
    under_way: Vec<(u32, u32)>,
}

impl DecisionLog {
    /// Whether snapshots are wanted.
    #[inline]
    pub(crate) fn takes_snapshots(&self) -> bool {
        self.0.as_ref().is_some_and(|kept| kept.passes.is_some())
    }

    /// From now on snapshots are taken, or none are.
    pub(crate) fn take_snapshots(&mut self, takes: bool) {
        if let Some(kept) = &mut self.0 {
            kept.passes = takes.then(Passes::default);
        }
    }

    /// The decisions and snapshots since the last call.
    pub(crate) fn drain(&mut self) -> (Vec<super::Decision>, Passes) {
        let Some(kept) = &mut self.0 else { return Default::default() };
        (std::mem::take(&mut kept.decisions), kept.passes.take().unwrap_or_default())
    }

    /// How many decisions were kept.
    pub(crate) fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |kept| kept.decisions.len())
    }

    /// Of several stages: which requests decode in the batches under way, with the tokens of each that are not written down.
    pub(crate) fn set_under_way(&mut self, requests: Vec<(u32, u32)>) {
        if let Some(passes) = self.passes() {
            passes.under_way = requests;
        }
    }

    /// Tokens of a request that are not written down; `None`: it decodes in no batch under way of several stages.
    pub(crate) fn unwritten(&self, id: u32) -> Option<u32> {
        let passes = self.0.as_ref()?.passes.as_ref()?;
        passes.under_way.iter().find(|own| own.0 == id).map(|own| own.1)
    }

    /// A replica begins a pass.
    pub(crate) fn begins_pass(&mut self, before: ReplicaSnapshot) {
        let first = self.len();
        if let Some(passes) = self.passes() {
            passes.of_replicas.push(Pass { before, first, end: first });
        }
    }

    /// The gateway is about to take a decision.
    pub(crate) fn gateway_looks(&mut self, before: GatewaySnapshot) {
        let first = self.len();
        if let Some(passes) = self.passes() {
            passes.of_gateway.push(Pass { before, first, end: first });
        }
    }

    /// A pass is over, in which this many adapters were loaded; `loaded` says which, where snapshots are taken.
    pub(crate) fn ends_pass(&mut self, load: AdapterLoad, resident: impl FnOnce() -> Vec<u32>) {
        let end = self.len();
        let Some(kept) = &mut self.0 else { return };
        if load.count > 0 {
            kept.loads.push(load);
        }
        if let Some(pass) = kept.passes.as_mut().and_then(|passes| passes.of_replicas.last_mut()) {
            pass.end = end;
            let before = &mut pass.before;
            let is_new = |adapter: &u32| before.adapters.list.iter().all(|known| known.adapter != *adapter);
            before.has_loaded = load.count > 0;
            before.loaded =
                if load.count > 0 { resident().into_iter().filter(is_new).collect() } else { Vec::new() };
        }
    }

    /// The adapters loaded so far.
    pub(crate) fn loads(&self) -> &[AdapterLoad] {
        self.0.as_ref().map_or(&[], |kept| &kept.loads)
    }

    /// The log without what was kept; it goes on telling each decision once.
    pub(crate) fn emptied(&self) -> Self {
        Self(
            self.0
                .as_ref()
                .map(|kept| Box::new(KeptDecisions { holds: kept.holds.clone(), ..Default::default() })),
        )
    }

    fn passes(&mut self) -> Option<&mut Passes> {
        self.0.as_mut()?.passes.as_mut()
    }
}
