//! Batches while they are decided and under way (`ScheduleBatch` of managers/schedule_batch.py).

use servescope_workload::RequestId;

/// The requests that run.
#[derive(Debug, Clone, Default)]
pub(super) struct Batch {
    pub(super) requests: Vec<RequestId>,
    /// No further request is admitted until one leaves (`batch_is_full`).
    pub(super) is_full: bool,
    /// The prompt tokens with which it began as a batch of prompts.
    pub(super) tokens: u64,
}

/// A batch of prompts that was decided.
#[derive(Debug, Clone)]
pub(super) struct PromptBatch {
    pub(super) batch: Batch,
    /// The chunked request behind it.
    pub(super) chunked_request: Option<RequestId>,
}

/// What was decided last.
#[derive(Debug, Clone)]
pub(super) enum LastBatch {
    None,
    /// The running requests decode.
    Running,
    Prompts(PromptBatch),
}

/// A batch that is decided and not done.
#[derive(Debug, Clone)]
pub(super) struct UnderWay {
    /// Its prompts, and behind them its decodes.
    pub(super) requests: Vec<RequestId>,
    pub(super) prompts: usize,
}
