//! The state of every request.

use std::collections::BTreeMap;
use std::ops::{Index, IndexMut};

use servescope_workload::{RequestId, Trace};

use crate::record::request_state::RequestState;
use crate::record::request_timings::RequestTimings;
use crate::shared_columns::ColumnVisitor;

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
    /// How many joined a batch of its replica before it (S-LoRA); empty for other schedulers.
    pub(crate) joined: Vec<u32>,
    /// Tokens of prompt and output at which every output is cut.
    pub(crate) cut_at: u32,
    /// Tokens of prompt and output of requests whose answers are cut short.
    pub(crate) cut: BTreeMap<RequestId, u32>,
    /// Of several stages: how long they worked on its iterations; empty for one stage, where that is their duration.
    pub(crate) execution_us: Vec<f64>,
}

impl Requests {
    pub(crate) fn new(trace: &Trace) -> Self {
        Self {
            all: trace.input_tokens.iter().map(|&prompt| RequestState::new(prompt)).collect(),
            cut_at: u32::MAX,
            ..Self::default()
        }
    }

    /// Shows its columns.
    pub(crate) fn columns(&mut self, visitor: &mut impl ColumnVisitor) {
        visitor.column(&mut self.all);
        visitor.column(&mut self.running);
        for column in [&mut self.swapped, &mut self.joined] {
            visitor.column(column);
        }
        for column in [&mut self.load_us, &mut self.execution_us] {
            visitor.column(column);
        }
    }

    /// What a report has of them.
    pub(crate) fn into_served(self) -> RequestTimings {
        RequestTimings { requests: self.all, load_us: self.load_us, execution_us: self.execution_us }
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
