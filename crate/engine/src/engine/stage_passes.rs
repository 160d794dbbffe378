//! The stages of a pipeline, and when batches pass them where that is foreseen: each stage serves them in the same order, so
//! that the times of a batch follow from its own and those of the batch before it.

use std::collections::VecDeque;

use servescope_cost::BatchCost;

use crate::replica::iteration::ScheduledBatch;

/// One stage.
#[derive(Debug, Clone, Default)]
pub(super) struct Stage {
    pub(super) queue: VecDeque<u32>,
    pub(super) serves: Option<u32>,
    /// While passes are foreseen, when it is done with all that it was given.
    pub(super) end_us: f64,
}

/// How long the stages take for a batch, microseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct StageTimes {
    /// Each before the last one, and the last one.
    pub(super) inner_us: f64,
    pub(super) last_us: f64,
    /// What the first one does besides: copying of blocks, and the loading of adapters, which is no work.
    pub(super) copying_us: f64,
    pub(super) load_us: f64,
}

impl StageTimes {
    /// Those of a batch, whose cost model is asked where they are not known.
    #[inline]
    pub(super) fn of(batch: &mut ScheduledBatch, cost: &dyn BatchCost, copying_us: f64) -> Self {
        let [inner_us, last_us] = batch.time_stages(cost);
        Self { inner_us, last_us, copying_us, load_us: batch.load_us }
    }

    /// The batch passes all stages, from a time on: when it leaves the last one, and how long they work. The stages know when it
    /// leaves them.
    #[inline]
    pub(super) fn pass_all(&self, stages: &mut [Stage], mut ready_us: f64) -> (f64, f64) {
        let mut busy_us = 0.0;
        let Some((last, others)) = stages.split_last_mut() else { return (ready_us, busy_us) };
        let mut pass_us = |stage: &mut Stage, works_us: f64, load_us: f64| {
            let begin_us = if stage.end_us > ready_us { stage.end_us } else { ready_us };
            ready_us = begin_us + (works_us + load_us);
            stage.end_us = ready_us;
            busy_us += works_us;
        };
        if let Some((first, others)) = others.split_first_mut() {
            pass_us(first, self.inner_us + self.copying_us, self.load_us);
            others.iter_mut().for_each(|stage| pass_us(stage, self.inner_us, 0.0));
        }
        pass_us(last, self.last_us, 0.0);
        (ready_us, busy_us)
    }
}
