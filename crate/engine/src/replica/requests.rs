//! The state of every request.

use std::collections::BTreeMap;
use std::ops::{Index, IndexMut};

use servescope_workload::{RequestId, Trace};

use crate::record::drafts::RequestDrafts;
use crate::record::input_chunk::InputChunk;
use crate::record::request_legs::RequestLegs;
use crate::record::request_state::{LegRole, RequestState};
use crate::record::request_timings::{FoundPrompt, RequestTimings};
use crate::record::work_time::WorkTime;

/// The requests: what every run keeps of each, and columns with an entry each of what some runs keep.
#[derive(Debug, Clone, Default)]
pub(crate) struct Requests {
    all: Vec<RequestState>,
    /// Where vLLM's engine keeps it while it runs or its tokens are under way; empty without that engine.
    pub(crate) running: Vec<Option<u32>>,
    /// Tokens that the host keeps of it while it waits, 0 = none; empty without swapping.
    pub(crate) swapped: Vec<u32>,
    /// When the last token before a preemption was there, of those whose next one is not: few at a time.
    pub(crate) token_us: BTreeMap<RequestId, f64>,
    /// How long adapters were loaded before the iterations that processed its prompt; empty where none was.
    pub(crate) load_us: Vec<f64>,
    /// What it found cached of its prompt when it was first admitted; empty where no replica caches prefixes.
    pub(crate) found: Vec<Option<FoundPrompt>>,
    /// How many joined a batch of its replica before it (S-LoRA); empty for other schedulers.
    pub(crate) joined: Vec<u32>,
    /// What became of its drafts; empty without speculative decoding.
    pub(crate) drafts: Vec<RequestDrafts>,
    /// Of several stages: how long they worked on its iterations; empty for one stage, where that is their duration.
    pub(crate) execution: Vec<WorkTime>,
    /// Its two legs; empty where no request is disaggregated.
    pub(crate) legs: Vec<Option<RequestLegs>>,
    /// Its place in its session's input; empty where no input comes in chunks.
    pub(crate) chunks: Vec<InputChunk>,
}

impl Requests {
    /// Those of a trace.
    pub(crate) fn new(trace: &Trace) -> Self {
        let tokens = trace.input_tokens.iter().zip(&trace.output_tokens);
        let state = |(&input, &output): (&u32, &u32)| RequestState::new(input, input.saturating_add(output));
        Self { all: tokens.map(state).collect(), ..Self::default() }
    }

    /// What a report has of them.
    pub(crate) fn into_served(mut self) -> RequestTimings {
        for (legs, request) in self.legs.iter_mut().zip(&self.all) {
            let Some(own) = legs else { continue };
            // Of one that has not come to its decode replica the leg is that at the prefill replica.
            let began =
                if own.arrived_us.is_nan() { &mut own.scheduled_us } else { &mut own.decode_scheduled_us };
            *began = request.leg.scheduled_us;
        }
        RequestTimings {
            requests: self.all,
            load_us: self.load_us,
            found: self.found,
            drafts: self.drafts,
            execution: self.execution,
            legs: self.legs,
            chunks: self.chunks,
        }
    }

    /// A request begins from the start, at another replica than the one that failed.
    pub(crate) fn begins_again(&mut self, trace: &Trace, id: RequestId) {
        let (input, output) = (trace.input_tokens[id], trace.output_tokens[id]);
        self.all[id.index()] = RequestState::new(input, input.saturating_add(output));
        self.token_us.remove(&id);
        let Self { running, swapped, load_us, joined, drafts, execution, legs, .. } = self;
        reset(legs, id);
        reset(running, id);
        reset(swapped, id);
        reset(load_us, id);
        reset(joined, id);
        reset(drafts, id);
        reset(execution, id);
    }

    /// The two legs of a request; `None`: one replica serves it.
    pub(crate) fn legs(&self, id: RequestId) -> Option<&RequestLegs> {
        self.legs.get(id.index())?.as_ref()
    }

    /// The same, to write down.
    pub(crate) fn legs_mut(&mut self, id: RequestId) -> Option<&mut RequestLegs> {
        self.legs.get_mut(id.index())?.as_mut()
    }

    /// The place of a request in its session's input; `None`: no input comes in chunks.
    pub(crate) fn chunk(&self, id: RequestId) -> Option<&InputChunk> {
        self.chunks.get(id.index())
    }

    /// The chunk behind a request, as long as it can still come.
    pub(crate) fn next_chunk(&self, id: RequestId) -> Option<RequestId> {
        let is_expected =
            |next: &RequestId| self.chunk(*next).is_some_and(|own| own.previous == Some(id) && !own.is_over);
        self.chunk(id)?.next.filter(is_expected)
    }

    /// Whether another replica keeps the KV blocks of its prompt, and the one where it waits has not asked for them.
    pub(crate) fn is_to_be_pulled(&self, id: RequestId) -> bool {
        self[id].leg.role == LegRole::Decode && self.legs(id).is_some_and(|own| !own.is_pulled)
    }

    /// A request is admitted, or begins to load, and finds so much of its prompt. One that was preempted finds what it stored itself,
    /// which is not counted.
    pub(crate) fn finds(&mut self, id: RequestId, cached_tokens: u32, host_tokens: u32) {
        if let Some(found) = self.found.get_mut(id.index()) {
            found.get_or_insert(FoundPrompt { cached_tokens, host_tokens });
        }
    }
}

/// The entry of a request in a column that may not be kept.
fn reset<T: Default>(column: &mut [T], id: RequestId) {
    if let Some(entry) = column.get_mut(id.index()) {
        *entry = T::default();
    }
}

impl<I> Index<I> for Requests
where
    Vec<RequestState>: Index<I, Output = RequestState>,
{
    type Output = RequestState;

    #[inline]
    fn index(&self, id: I) -> &RequestState {
        &self.all[id]
    }
}

impl<I> IndexMut<I> for Requests
where
    Vec<RequestState>: IndexMut<I, Output = RequestState>,
{
    #[inline]
    fn index_mut(&mut self, id: I) -> &mut RequestState {
        &mut self.all[id]
    }
}
