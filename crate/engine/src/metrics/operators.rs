//! What iterations of a fleet spent their time on, by class of operator, and what they asked of a GPU.
//!
//! Nothing of this is kept while a fleet runs: the cost model is asked again about the first and the last of equal
//! iterations. Between those two every part grows by the same amount an iteration, as their times do.

use servescope_cost::{BatchCost, OperatorClass, Peak, StageParts, Work};

use crate::report::Report;
use crate::timeline::{IterationRun, Timeline};

/// Equal iterations of a fleet's replica, taken apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunParts {
    /// Microseconds of one stage, in the first iteration; the mean of the stages.
    pub first_us: StageParts,
    /// In the last one.
    pub last_us: StageParts,
    /// What the first iteration asks of a GPU, all stages together.
    pub first_work: Option<Work>,
    /// What the last one asks.
    pub last_work: Option<Work>,
    /// How many iterations.
    pub iterations: u32,
    /// Time that the stages worked on all of them, over the number of stages.
    busy_us: f64,
}

impl RunParts {
    /// Asks `cost` about a run of `timeline`.
    pub fn of(timeline: &Timeline, cost: &dyn BatchCost, run: &IterationRun) -> Self {
        let last = run.iterations.saturating_sub(1);
        let chunks = timeline.iterations.chunks(run);
        let (first, later) = (run.batch(&chunks, 0), run.batch(&chunks, last));
        let [mut first_us, mut last_us] = mean_parts(cost, |is_last| match last {
            0 => [cost.stage_parts(&first, is_last); 2],
            _ => cost.stage_parts_of_two(&first, &later, is_last),
        });
        if run.copying_us > 0.0 {
            // Blocks go over the host's link before the first stage begins; such an iteration stands alone.
            first_us[OperatorClass::Communication as usize] +=
                run.copying_us / f64::from(cost.stages().max(1));
            last_us = first_us;
        }
        let first_work = cost.work(&first);
        let last_work = if last > 0 { cost.work(&later) } else { first_work };
        let (iterations, busy_us) = (run.iterations, run.busy_us);
        Self { first_us, last_us, first_work, last_work, iterations, busy_us }
    }

    /// Microseconds of iteration `index`, the mean of the stages.
    pub fn parts_us(&self, index: u32) -> StageParts {
        let along = f64::from(index) / f64::from(self.iterations.saturating_sub(1).max(1));
        std::array::from_fn(|i| self.first_us[i] + along * (self.last_us[i] - self.first_us[i]))
    }

    /// Microseconds of all the iterations, the mean of the stages. They add up to the time that the stages worked: what
    /// rounding leaves is the largest part's.
    pub fn total_us(&self) -> StageParts {
        let many = 0.5 * f64::from(self.iterations);
        let mut parts: StageParts = std::array::from_fn(|i| many * (self.first_us[i] + self.last_us[i]));
        let largest = (1..parts.len()).fold(0, |best, i| if parts[i] > parts[best] { i } else { best });
        parts[largest] += self.busy_us - parts.iter().sum::<f64>();
        parts
    }

    /// What iteration `index` asks of a GPU, all stages together.
    pub fn work(&self, index: u32) -> Option<Work> {
        let along = f64::from(index) / f64::from(self.iterations.saturating_sub(1).max(1));
        let (first, last) = (self.first_work?, self.last_work?);
        let between = |a: f64, b: f64| a + along * (b - a);
        Some(Work { flops: between(first.flops, last.flops), bytes: between(first.bytes, last.bytes) })
    }

    /// What all the iterations ask of a GPU, all stages together.
    pub fn total_work(&self) -> Option<Work> {
        let (first, last) = (self.first_work?, self.last_work?);
        let many = 0.5 * f64::from(self.iterations);
        Some(Work { flops: many * (first.flops + last.flops), bytes: many * (first.bytes + last.bytes) })
    }
}

/// Microseconds of two iterations, the mean of the stages, where `stage` tells those of the last stage and of any other.
fn mean_parts(cost: &dyn BatchCost, stage: impl Fn(bool) -> [StageParts; 2]) -> [StageParts; 2] {
    let (mut means, stages) = (stage(true), cost.stages().max(1));
    if stages > 1 {
        let others = f64::from(stages - 1);
        for (parts, inner) in means.iter_mut().zip(stage(false)) {
            *parts = std::array::from_fn(|i| (parts[i] + others * inner[i]) / f64::from(stages));
        }
    }
    means
}

/// Every run of a fleet with its parts, in order of start; none of S-LoRA's loop.
pub fn run_parts(report: &Report) -> impl Iterator<Item = (IterationRun, RunParts)> {
    let cost = report.cost.as_ref().map(|model| &*model.0);
    let runs = &report.timeline.iterations;
    cost.into_iter()
        .flat_map(move |cost| runs.iter().map(move |run| (run, RunParts::of(&report.timeline, cost, &run))))
}

/// What the stages of a replica could do at most together, where it is known; and how many stages there are.
pub fn peak(report: &Report) -> Option<(Peak, u32)> {
    let cost = &report.cost.as_ref()?.0;
    Some((cost.peak()?, cost.stages().max(1)))
}

/// The classes of which `totals_us` holds any time, with it.
pub fn used(totals_us: &StageParts) -> impl Iterator<Item = (OperatorClass, f64)> {
    OperatorClass::ALL.into_iter().zip(*totals_us).filter(|&(_, us)| us > 0.0)
}
