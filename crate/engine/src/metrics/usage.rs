//! What the iterations of a fleet were, in one pass: they are read and the cost model is asked about each of them once, for
//! the sums of a summary, the gaps between tokens, and the columns of charts.

use servescope_cost::{OperatorClass, StageParts, Work};

use super::columns::{GpuColumns, TimeColumns};
use super::operators::{DecodeUsageCache, RunTotals};
use super::summary::IterationTotals;
use super::token_gaps::InterTokenLatencies;
use crate::record::timeline::IterationRun;
use crate::replica_index::ReplicaIndex;
use crate::report::Report;

/// Sums over the iterations of a fleet.
#[derive(Debug, Clone, PartialEq)]
pub struct FleetUtilization {
    /// Microseconds of all replicas by class of operator; of several stages their mean.
    pub totals_us: StageParts,
    /// Each replica.
    pub replicas: Vec<ReplicaUsage>,
    /// What the summary of every run shows of its iterations.
    pub spans: IterationTotals,
}

/// Sums over the iterations of one replica.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ReplicaUsage {
    /// How many.
    pub iterations: u64,
    /// Time in them; of several stages their mean.
    pub busy_us: f64,
    /// Requests in each.
    pub sizes: f64,
    /// Tokens in each: of prompts, and one for each request that decodes.
    pub tokens: f64,
    /// Most KV blocks in use at the end of one.
    pub blocks: u32,
    /// What they asked of the GPUs, where that is known.
    pub work: Option<Work>,
}

/// What iterations were over time, summed over all replicas, each column holding its mean rate a microsecond.
#[derive(Debug, Clone, PartialEq)]
pub struct UsageColumns {
    /// Time of all stages by class of operator.
    pub parts: [TimeColumns; OperatorClass::ALL.len()],
    /// Iterations.
    pub iterations: TimeColumns,
    /// Requests in each.
    pub requests: TimeColumns,
    /// Tokens in each.
    pub tokens: TimeColumns,
    /// Operations.
    pub flops: TimeColumns,
    /// Bytes of GPU memory.
    pub bytes: TimeColumns,
    /// Of the first replicas: time on prompts alone, on decoding alone, on both, and waiting for other ranks.
    pub lanes: Vec<[TimeColumns; 4]>,
    /// The GPUs and their memory.
    pub gpu: GpuColumns,
    /// Stages of each replica.
    stages: Vec<f64>,
}

/// The window of [`UsageColumns`], microseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UsageWindow {
    /// Start.
    pub start_us: f64,
    /// End.
    pub end_us: f64,
    /// Columns of rates.
    pub columns: usize,
    /// Columns of the GPUs.
    pub gpu_columns: usize,
    /// Replicas with a lane, the first ones.
    pub lanes: usize,
    /// Columns of a lane.
    pub lane_columns: usize,
}

/// The sums over the iterations of a fleet, and the gaps between tokens, which come of the same pass.
pub fn usage(report: &Report) -> (FleetUtilization, InterTokenLatencies) {
    let (mut usage, mut gaps) = (FleetUtilization::new(report), InterTokenLatencies::default());
    each(report, |_| true, &mut |run, totals| {
        usage.add(run, totals);
        gaps.add_iterations(run);
    });
    (usage, gaps.whole(&report.timeline))
}

/// What the summary of every run shows of its iterations, and the gaps between tokens, in a pass that asks the cost model
/// nothing.
pub fn spans(report: &Report) -> (IterationTotals, InterTokenLatencies) {
    let (mut sums, mut gaps) = (IterationTotals::default(), InterTokenLatencies::default());
    for run in &report.timeline.iterations {
        sums.add(run);
        gaps.add_iterations(run);
    }
    (sums, gaps.whole(&report.timeline))
}

/// The columns over a window.
pub fn usage_columns(report: &Report, window: &UsageWindow) -> UsageColumns {
    let mut columns = UsageColumns::new(report, window);
    each(report, |run| window.meets(run), &mut |run, totals| columns.add(run, totals));
    columns.add_dummies(report);
    columns
}

/// All of it.
pub fn usage_with_columns(
    report: &Report,
    window: &UsageWindow,
) -> (FleetUtilization, InterTokenLatencies, UsageColumns) {
    let (mut usage, mut gaps) = (FleetUtilization::new(report), InterTokenLatencies::default());
    let mut columns = UsageColumns::new(report, window);
    each(report, |_| true, &mut |run, totals| {
        usage.add(run, totals);
        gaps.add_iterations(run);
        if window.meets(run) {
            columns.add(run, totals);
        }
    });
    columns.add_dummies(report);
    (usage, gaps.whole(&report.timeline), columns)
}

/// Behind prompts, decoding and both together in a lane: the replica waits for other data-parallel ranks.
const WAITS: usize = 3;

/// What all iterations of a run are together.
struct Totals {
    us: StageParts,
    work: Option<Work>,
    tokens: f64,
}

/// Hands out the runs that are wanted, in order of their start, each with its totals.
fn each(
    report: &Report,
    is_wanted: impl Fn(&IterationRun) -> bool,
    take: &mut dyn FnMut(&IterationRun, &Totals),
) {
    let mut cache = DecodeUsageCache::new(report);
    for run in report.timeline.iterations.iter().filter(|run| is_wanted(run)) {
        let RunTotals { us, work } = cache.totals(run);
        let tokens = f64::from(run.prompt_tokens) + run.decoded_tokens();
        take(run, &Totals { us, work, tokens });
    }
}

impl FleetUtilization {
    fn new(report: &Report) -> Self {
        let replicas = vec![ReplicaUsage::default(); report.replicas.len()];
        Self { totals_us: StageParts::default(), replicas, spans: IterationTotals::default() }
    }

    fn add(&mut self, run: &IterationRun, totals: &Totals) {
        self.spans.add(run);
        let sum = &mut self.replicas[usize::from(run.replica)];
        sum.iterations += u64::from(run.iterations);
        sum.busy_us += run.busy_us;
        sum.sizes += f64::from(run.iterations) * f64::from(run.requests());
        sum.tokens += totals.tokens;
        sum.blocks = sum.blocks.max(run.blocks);
        if let Some(work) = totals.work {
            let all = sum.work.get_or_insert_default();
            all.flops += work.flops;
            all.bytes += work.bytes;
        }
        self.totals_us.iter_mut().zip(totals.us).for_each(|(total, us)| *total += us);
    }

    /// Whether the cost model knows what any iteration asks of a GPU.
    pub fn knows_work(&self) -> bool {
        self.replicas.iter().any(|replica| replica.work.is_some())
    }
}

impl UsageWindow {
    fn meets(&self, run: &IterationRun) -> bool {
        run.end_us > self.start_us && run.start_us < self.end_us
    }
}

impl UsageColumns {
    fn new(report: &Report, window: &UsageWindow) -> Self {
        let blank = |count| TimeColumns::new(window.start_us, window.end_us, count);
        let rate = blank(window.columns);
        let lane = blank(window.lane_columns);
        Self {
            parts: std::array::from_fn(|_| rate.clone()),
            iterations: rate.clone(),
            requests: rate.clone(),
            tokens: rate.clone(),
            flops: rate.clone(),
            bytes: rate,
            lanes: vec![std::array::from_fn(|_| lane.clone()); window.lanes],
            gpu: GpuColumns::new(report, window.start_us, window.end_us, window.gpu_columns),
            stages: ReplicaIndex::first(report.replicas.len())
                .map(|replica| f64::from(report.pool(replica).cost.stages().max(1)))
                .collect(),
        }
    }

    /// Ranks without a batch wait for the others.
    fn add_dummies(&mut self, report: &Report) {
        for row in &report.timeline.dummy_batches {
            if let Some(kinds) = self.lanes.get_mut(usize::from(row.replica)) {
                kinds[WAITS].add(row.start_us, row.end_us, 1.0);
            }
        }
    }

    fn add(&mut self, run: &IterationRun, totals: &Totals) {
        let (start, end) = (run.start_us, run.end_us);
        self.gpu.add(run);
        if let Some(kinds) = self.lanes.get_mut(usize::from(run.replica)) {
            let kind = if run.decodes == 0 { 0 } else { 1 + usize::from(run.prompts > 0) };
            kinds[kind].add(start, end - run.waited_us, 1.0);
            if run.waited_us > 0.0 {
                kinds[WAITS].add(end - run.waited_us, end, 1.0);
            }
        }
        let Some(reach) = self.iterations.reach(start, end) else { return };
        let each_us = 1.0 / (end - start);
        let stages = self.stages[run.replica];
        let add = |columns: &mut TimeColumns, sum: f64| columns.add_over(&reach, sum * each_us);
        for (columns, us) in self.parts.iter_mut().zip(totals.us).filter(|(_, us)| *us > 0.0) {
            add(columns, us * stages);
        }
        let many = f64::from(run.iterations);
        add(&mut self.iterations, many);
        add(&mut self.requests, many * f64::from(run.requests()));
        add(&mut self.tokens, totals.tokens);
        if let Some(Work { flops, bytes }) = totals.work {
            add(&mut self.flops, flops);
            add(&mut self.bytes, bytes);
        }
    }
}
