//! What iterations of a fleet spent their time on, by class of operator, and what they asked of a GPU.
//!
//! Nothing of this is kept while a fleet runs: the cost model is asked again, about the first and the last of equal
//! iterations, or about their mean. From one to the next every part grows by the same amount, as their times do. Where
//! nothing but decode attention hangs on what is read, it is asked once for all iterations of as many requests, and once for
//! what the same adapters add.

use servescope_cost::{BatchCost, DecodeUsage, LoraBatch, OperatorClass, Peak, StageParts, Work};

use crate::record::timeline::{IterationRun, Timeline};
use crate::report::{PoolReport, Report};

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
}

/// What all of these equal iterations are together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunTotals {
    /// Microseconds, the mean of the stages. They add up to the time that the stages worked: what rounding leaves is the
    /// largest part's.
    pub us: StageParts,
    /// What they ask of a GPU, all stages together.
    pub work: Option<Work>,
}

impl RunTotals {
    /// Asks `cost` about a run of `timeline`.
    pub fn of(timeline: &Timeline, cost: &dyn BatchCost, run: &IterationRun) -> Self {
        let chunks = timeline.iterations.chunks(run);
        let mean = run.batch(chunks, 0.5 * f64::from(run.iterations.saturating_sub(1)));
        let many = f64::from(run.iterations);
        let (mut us, work) = cost.usage(&mean);
        us.iter_mut().for_each(|part| *part *= many);
        us[OperatorClass::Communication as usize] += copying_us(cost, run);
        let largest = (1..us.len()).fold(0, |best, i| if us[i] > us[best] { i } else { best });
        us[largest] += run.busy_us - us.iter().sum::<f64>();
        let work = work.map(|work| Work { flops: many * work.flops, bytes: many * work.bytes });
        Self { us, work }
    }

    /// Of iterations that only decode, with what adapters add to each: attention takes what is left of their time.
    fn rest_of(run: &IterationRun, usage: &DecodeUsage, (lora_us, lora): &(f64, Work)) -> Self {
        let many = f64::from(run.iterations);
        let mut us = usage.parts.map(|part| part * many);
        us[OperatorClass::Adapters as usize] += many * lora_us;
        us[OperatorClass::DecodeAttention as usize] = (run.busy_us - us.iter().sum::<f64>()).max(0.0);
        let kv_tokens =
            run.kv_tokens + 0.5 * f64::from(run.iterations.saturating_sub(1)) * f64::from(run.decode_tokens);
        let work = usage.work.map(|[none, each]| Work {
            flops: many * (none.flops + kv_tokens * each.flops + lora.flops),
            bytes: many * (none.bytes + kv_tokens * each.bytes + lora.bytes),
        });
        Self { us, work }
    }
}

/// What the cost model returns for iterations that only decode, by the number of requests: it is called once for each
/// number and set of adapters, not for each run.
#[derive(Debug)]
pub(super) struct DecodeUsageCache<'a> {
    report: &'a Report,
    /// Of each pool.
    decodes: Vec<Vec<Option<CachedUsage>>>,
}

/// What the model returned for a number of requests.
#[derive(Debug, Clone, Copy)]
struct CachedUsage {
    /// The same for every run of this many requests; `None` where the model is called for each run.
    usage: Option<DecodeUsage>,
    /// The adapters that these used last, if any.
    lora: Option<LoraBatch>,
    /// What those add: microseconds, and work.
    lora_usage: (f64, Work),
}

/// For more requests than this the model is called each time.
const MOST_KEPT: usize = 4096;

impl<'a> DecodeUsageCache<'a> {
    pub(super) fn new(report: &'a Report) -> Self {
        Self { report, decodes: vec![Vec::new(); report.pools.len()] }
    }

    /// What all of these equal iterations are together.
    pub(super) fn totals(&mut self, run: &IterationRun) -> RunTotals {
        let report = self.report;
        let only_decodes = run.prompts == 0 && run.copying_us == 0.0 && run.rank_rows.all == 0;
        let known = if only_decodes { self.decode_usage(run) } else { None };
        match known {
            Some((usage, lora_usage)) => RunTotals::rest_of(run, usage, lora_usage),
            None => RunTotals::of(&report.timeline, &*report.pool(run.replica).cost, run),
        }
    }

    /// What iterations of as many requests have in common, and what the adapters of this run add.
    fn decode_usage(&mut self, run: &IterationRun) -> Option<(&DecodeUsage, &(f64, Work))> {
        let (cost, place) = (&self.report.pool(run.replica).cost, run.decodes as usize);
        if place >= MOST_KEPT {
            return None;
        }
        let decodes = &mut self.decodes[usize::from(self.report.replicas[run.replica].pool)];
        if decodes.len() <= place {
            decodes.resize(place + 1, None);
        }
        let cached = decodes[place].get_or_insert_with(|| {
            let usage = cost.decode_usage(run.decodes);
            CachedUsage { usage, lora: None, lora_usage: Default::default() }
        });
        let usage = cached.usage.as_ref()?;
        let lora = run.any_adapter.then_some(run.lora);
        if cached.lora != lora {
            cached.lora = lora;
            cached.lora_usage = lora.map_or_else(Default::default, |lora| cost.lora_usage(&lora));
        }
        Some((usage, &cached.lora_usage))
    }
}

impl RunParts {
    /// Asks `cost` about a run of `timeline`.
    pub fn of(timeline: &Timeline, cost: &dyn BatchCost, run: &IterationRun) -> Self {
        let chunks = timeline.iterations.chunks(run);
        let ends = [0, run.iterations.saturating_sub(1)].map(|index| {
            let (mut us, work) = cost.usage(&run.batch(chunks, f64::from(index)));
            us[OperatorClass::Communication as usize] += copying_us(cost, run);
            (us, work)
        });
        let [(first_us, first_work), (last_us, last_work)] = ends;
        Self { first_us, last_us, first_work, last_work, iterations: run.iterations }
    }

    /// Microseconds of iteration `index`, the mean of the stages.
    pub fn parts_us(&self, index: u32) -> StageParts {
        let along = f64::from(index) / f64::from(self.iterations.saturating_sub(1).max(1));
        std::array::from_fn(|i| self.first_us[i] + along * (self.last_us[i] - self.first_us[i]))
    }

    /// What iteration `index` asks of a GPU, all stages together.
    pub fn work(&self, index: u32) -> Option<Work> {
        let along = f64::from(index) / f64::from(self.iterations.saturating_sub(1).max(1));
        let (first, last) = (self.first_work?, self.last_work?);
        let between = |a: f64, b: f64| a + along * (b - a);
        Some(Work { flops: between(first.flops, last.flops), bytes: between(first.bytes, last.bytes) })
    }
}

/// Blocks go over the host's link before the first stage begins; such an iteration stands alone.
fn copying_us(cost: &dyn BatchCost, run: &IterationRun) -> f64 {
    run.copying_us / f64::from(cost.stages().max(1))
}

/// Every run of a fleet with its parts, in order of start.
pub fn run_parts(report: &Report) -> impl Iterator<Item = (&IterationRun, RunParts)> {
    let parts = |run: &IterationRun| RunParts::of(&report.timeline, &*report.pool(run.replica).cost, run);
    report.timeline.iterations.iter().map(move |run| (run, parts(run)))
}

/// What the stages of a replica of a pool could do at most together, where it is known; and how many stages there are.
pub fn peak(pool: &PoolReport) -> Option<(Peak, u32)> {
    Some((pool.cost.peak()?, pool.cost.stages().max(1)))
}

/// The classes of which `totals_us` holds any time, with it.
pub fn used(totals_us: &StageParts) -> impl Iterator<Item = (OperatorClass, f64)> {
    OperatorClass::ALL.into_iter().zip(*totals_us).filter(|&(_, us)| us > 0.0)
}
