//! What S-LoRA's router sees when it decides, for a debugger.

use servescope_workload::Trace;

use super::SloraState;
use super::state::RouterMessage;
use crate::replica::adapters::pool::AdapterPool;
use crate::replica::peak_memory::PeakKvEstimator;
use crate::replica::queue::waiting_queue::WaitingQueue;

impl SloraState {
    /// The waiting queue with what came in since the last step.
    pub(in crate::replica::scheduler) fn waiting_as_seen(&self, trace: &Trace) -> WaitingQueue {
        let mut queue = self.queue.clone();
        for message in &self.inbox {
            if let RouterMessage::Arrived(id, at_us) = *message {
                queue.arrive(id, at_us, trace);
            }
        }
        queue.into_waiting()
    }

    /// The batch as the memory test knows it.
    pub(in crate::replica::scheduler) fn estimate(&self) -> &PeakKvEstimator {
        &self.memory
    }

    /// The adapters of the batch.
    pub(in crate::replica::scheduler) fn adapters_of_batch(&self) -> &AdapterPool {
        &self.adapters
    }

    /// Decode iterations since the last prefill.
    pub(in crate::replica::scheduler) fn decode_steps(&self) -> u32 {
        self.decode_steps_since_prefill
    }
}
