//! The state of every request.

use std::collections::BTreeMap;
use std::ops::{Index, IndexMut};

use servescope_workload::{RequestId, Trace};

use crate::record::drafts::RequestDrafts;
use crate::record::request_state::RequestState;
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
}

impl Requests {
    /// Those of a trace.
    pub(crate) fn new(trace: &Trace) -> Self {
        let tokens = trace.input_tokens.iter().zip(&trace.output_tokens);
        let state = |(&input, &output): (&u32, &u32)| RequestState::new(input, input.saturating_add(output));
        Self { all: tokens.map(state).collect(), ..Self::default() }
    }

    /// What a report has of them.
    pub(crate) fn into_served(self) -> RequestTimings {
        RequestTimings {
            requests: self.all,
            load_us: self.load_us,
            found: self.found,
            drafts: self.drafts,
            execution: self.execution,
        }
    }

    /// A request is admitted, or begins to load, and finds so much of its prompt. One that was preempted finds what it stored itself,
    /// which is not counted.
    pub(crate) fn finds(&mut self, id: RequestId, cached_tokens: u32, host_tokens: u32) {
        if let Some(found) = self.found.get_mut(id.index()) {
            found.get_or_insert(FoundPrompt { cached_tokens, host_tokens });
        }
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
