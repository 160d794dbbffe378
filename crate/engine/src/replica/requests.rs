//! The state of every request, one entry a request in every column.

use crate::replica::index::ReplicaIndex;
use std::collections::BTreeMap;

use servescope_workload::{RequestId, Trace};

use crate::record::request_timings::RequestTimings;
use crate::shared_columns::{ColumnVisitor, entries};

/// Where a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum RequestStatus {
    /// Not arrived, or in a waiting queue.
    #[default]
    Waiting,
    /// Holds memory; its prompt is not yet processed.
    Prefilling,
    /// Holds memory and decodes.
    Decoding,
    /// Gone, whichever way.
    Finished,
}

entries!(RequestStatus, ReplicaIndex);

/// The columns.
#[derive(Debug, Clone, Default)]
pub(crate) struct Requests {
    pub(crate) status: Vec<RequestStatus>,
    /// Tokens to process before decoding: the prompt, after a preemption also what was generated.
    pub(crate) prompt: Vec<u32>,
    /// Tokens processed. While a request decodes in the decode batch of its replica, less the replica's step (wrapping).
    pub(crate) done: Vec<u32>,
    pub(crate) preemptions: Vec<u16>,
    /// Where vLLM's engine keeps it while it runs or its tokens are under way; empty without that engine.
    pub(crate) running: Vec<Option<u32>>,
    /// Tokens that the host keeps of it while it waits, 0 = none; empty without swapping.
    pub(crate) swapped: Vec<u32>,
    pub(crate) replica: Vec<ReplicaIndex>,
    /// When its first iteration was formed; NaN before.
    pub(crate) scheduled_us: Vec<f64>,
    /// When its first token was there; NaN before.
    pub(crate) first_token_us: Vec<f64>,
    /// End of its last iteration outside the decode batch, or its preemption.
    pub(crate) seen_us: Vec<f64>,
    /// When the last token before a preemption was there, of those whose next one is not: few at a time.
    pub(crate) token_us: BTreeMap<RequestId, f64>,
    /// How long it stood still between iterations; in the decode batch, less the replica's counter.
    pub(crate) stalled_us: Vec<f64>,
    /// The longest time between two of its tokens so far; in the decode batch, before it joined.
    pub(crate) longest_gap_us: Vec<f64>,
    /// Durations of the iterations that processed its prompt, without the loading of adapters.
    pub(crate) prefill_us: Vec<f64>,
    /// How long adapters were loaded before those; empty where none was.
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
        let n = trace.len();
        let nan = || vec![f64::NAN; n];
        Self {
            status: vec![RequestStatus::Waiting; n],
            prompt: trace.input_tokens.clone(),
            done: vec![0; n],
            preemptions: vec![0; n],
            running: Vec::new(),
            swapped: Vec::new(),
            replica: vec![ReplicaIndex::default(); n],
            scheduled_us: nan(),
            first_token_us: nan(),
            seen_us: nan(),
            token_us: BTreeMap::new(),
            stalled_us: vec![0.0; n],
            longest_gap_us: vec![0.0; n],
            prefill_us: vec![0.0; n],
            load_us: Vec::new(),
            joined: Vec::new(),
            cut_at: u32::MAX,
            cut: BTreeMap::new(),
            execution_us: Vec::new(),
        }
    }

    /// Shows its columns.
    pub(crate) fn columns(&mut self, visitor: &mut impl ColumnVisitor) {
        visitor.column(&mut self.status);
        visitor.column(&mut self.preemptions);
        visitor.column(&mut self.running);
        visitor.column(&mut self.replica);
        for column in [&mut self.prompt, &mut self.done, &mut self.swapped, &mut self.joined] {
            visitor.column(column);
        }
        for column in [
            &mut self.scheduled_us,
            &mut self.first_token_us,
            &mut self.seen_us,
            &mut self.stalled_us,
            &mut self.longest_gap_us,
            &mut self.prefill_us,
            &mut self.load_us,
            &mut self.execution_us,
        ] {
            visitor.column(column);
        }
    }

    /// What a report has of them.
    pub(crate) fn into_served(self) -> RequestTimings {
        RequestTimings {
            scheduled_us: self.scheduled_us,
            first_token_us: self.first_token_us,
            longest_gap_us: self.longest_gap_us,
            prefill_us: self.prefill_us,
            load_us: self.load_us,
            stalled_us: self.stalled_us,
            replica: self.replica,
            preemptions: self.preemptions,
            execution_us: self.execution_us,
        }
    }
}
