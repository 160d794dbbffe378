//! What a scheduler sees when it decides, for a debugger.

use servescope_workload::Trace;

use super::SchedulerState;
use crate::replica::adapters::pool::AdapterPool;
use crate::replica::queue::waiting_queue::WaitingQueue;

impl SchedulerState {
    /// The waiting queue of a scheduler that has its own, with what came in since its last step.
    pub(crate) fn waiting_as_seen(&self, trace: &Trace) -> Option<WaitingQueue> {
        self.slora.as_ref().map(|slora| slora.waiting_as_seen(trace))
    }

    /// The adapters of the batch, of a scheduler that counts them itself.
    pub(crate) fn adapters_of_batch(&self) -> Option<&AdapterPool> {
        self.slora.as_ref().map(|slora| slora.adapters_of_batch())
    }
}
