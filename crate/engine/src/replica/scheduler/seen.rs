//! What a scheduler sees when it decides, for a debugger.

use servescope_workload::{RequestId, Trace};

use super::State;
use crate::config::SchedulerKind;
use crate::replica::Replica;
use crate::replica::adapters::pool::AdapterPool;
use crate::replica::peak_memory::PeakKvEstimator;
use crate::replica::queue::waiting_queue::WaitingQueue;

impl State {
    /// The waiting queue of a scheduler that has its own, with what came in since its last step.
    pub(crate) fn waiting_as_seen(&self, trace: &Trace) -> Option<WaitingQueue> {
        self.slora.as_ref().map(|slora| slora.waiting_as_seen(trace))
    }

    /// The batch as the memory test of the scheduler knows it.
    pub(crate) fn estimate(&self, scheduler: SchedulerKind) -> Option<&PeakKvEstimator> {
        match scheduler {
            SchedulerKind::LightLlm => Some(self.light.estimate()),
            _ => self.slora.as_ref().map(|slora| slora.estimate()),
        }
    }

    /// The adapters of the batch, of a scheduler that counts them itself.
    pub(crate) fn adapters_of_batch(&self) -> Option<&AdapterPool> {
        self.slora.as_ref().map(|slora| slora.adapters_of_batch())
    }

    /// Decode iterations since the last prefill, where that is a rule of the scheduler.
    pub(crate) fn decode_steps(&self, scheduler: SchedulerKind) -> Option<u32> {
        match scheduler {
            SchedulerKind::LightLlm => Some(self.light.decode_steps()),
            _ => self.slora.as_ref().map(|slora| slora.decode_steps()),
        }
    }

    /// Requests that run in vLLM's engine with their tokens and blocks, and how many of the blocks are counted twice because
    /// requests share them.
    pub(crate) fn held_blocks(
        &self,
        replica: &Replica,
        block_size: u32,
    ) -> (Vec<(RequestId, u32, u32)>, u32) {
        self.vllm.held_blocks(replica.decode_batch.step, block_size)
    }
}
