//! Requests that hold KV blocks and wait (`kv_holding_waiting` of vLLM's scheduler): their blocks are loaded, they are to be admitted with
//! what was, or they are sessions between two chunks of their input. They are looked at before the waiting queue, in the order in which
//! they came here.

use servescope_workload::RequestId;

use super::kv_cache::{Held, KvCache};
use crate::config::disaggregation::LoadFailure;

/// Why a request that holds blocks waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HoldState {
    /// The iteration that is being formed lets its load begin.
    Begins,
    /// It is loaded.
    UnderWay,
    /// Its load has ended.
    Loaded,
    /// It can be admitted; others can find its blocks.
    Ready,
    /// Its answer has ended, and its session keeps the blocks until further input comes.
    AwaitsInput,
}

/// A request that holds blocks and waits.
#[derive(Debug, Clone)]
pub(crate) struct Holder {
    pub(crate) id: RequestId,
    pub(crate) held: Held,
    pub(crate) known: u32,
    /// Tokens whose blocks it has.
    pub(crate) computed: u32,
    pub(crate) state: HoldState,
    /// Its client has gone, and its blocks stay until its load has ended.
    pub(crate) is_gone: bool,
    /// At which of the blocks that it loads the load fails, and what becomes of it then.
    pub(crate) fails_at: Option<(u32, LoadFailure)>,
    /// How many of its first blocks were cached.
    pub(crate) local: u32,
}

impl Holder {
    /// A request that begins to load.
    pub(crate) fn loading(id: RequestId, held: Held, known: u32, computed: u32, local: u32) -> Self {
        Self { id, held, known, computed, state: HoldState::Begins, is_gone: false, fails_at: None, local }
    }

    /// Whether its load failed and nothing of it is there.
    pub(crate) fn has_nothing(&self) -> bool {
        self.fails_at.is_some() && self.computed == 0
    }

    /// Whether its session keeps the blocks until further input comes.
    pub(crate) fn awaits_input(&self) -> bool {
        self.state == HoldState::AwaitsInput
    }

    /// The request, its tokens that have blocks, and its blocks.
    pub(crate) fn tokens_and_blocks(&self) -> (RequestId, u32, u32) {
        (self.id, self.computed, self.held.count())
    }
}

/// The requests of a replica that hold blocks and wait.
#[derive(Debug, Clone, Default)]
pub(crate) struct Holding {
    /// In the order in which they are looked at, with those whose clients have gone.
    pub(crate) all: Vec<Holder>,
}

impl Holding {
    /// Sessions that await input. Each has a place among the requests that run.
    pub(crate) fn sessions(&self) -> u32 {
        self.all.iter().filter(|holder| holder.awaits_input()).count() as u32
    }

    /// Whether nobody waits with blocks, nor is there one whose client has gone.
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Those that wait, sessions that await input among them.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &Holder> {
        self.all.iter().filter(|holder| !holder.is_gone)
    }

    /// The request behind so many others.
    pub(crate) fn nth(&self, place: usize) -> Option<RequestId> {
        self.waiting().nth(place).map(|holder| holder.id)
    }

    /// A request that waits.
    pub(crate) fn get(&self, id: RequestId) -> Option<&Holder> {
        self.waiting().find(|holder| holder.id == id)
    }

    /// A request, whether it waits or its client has gone.
    pub(crate) fn get_mut(&mut self, id: RequestId) -> Option<&mut Holder> {
        self.all.iter_mut().find(|holder| holder.id == id)
    }

    /// A request waits with its blocks from now on.
    pub(crate) fn push(&mut self, holder: Holder) {
        self.all.push(holder);
    }

    /// A request waits no more.
    pub(crate) fn take(&mut self, id: RequestId) -> Option<Holder> {
        let place = self.all.iter().position(|holder| holder.id == id)?;
        Some(self.all.remove(place))
    }

    /// The client of a request goes away. Its blocks are free when its load has ended.
    pub(crate) fn cancel(&mut self, kv: &mut KvCache, id: RequestId) {
        let Some(holder) = self.get_mut(id) else { return };
        if matches!(holder.state, HoldState::Begins | HoldState::UnderWay) {
            holder.is_gone = true;
        } else if let Some(mut holder) = self.take(id) {
            kv.free_blocks(id, &mut holder.held, false);
        }
    }

    /// The pull of a request fails at one of its blocks, or does not.
    pub(crate) fn fails_at(&mut self, id: RequestId, block: Option<(u32, LoadFailure)>) {
        if let Some(holder) = self.get_mut(id) {
            holder.fails_at = block;
        }
    }
}
