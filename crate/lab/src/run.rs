//! One run: a scenario, or a scenario over a loaded trace, simulated and summarised.

pub mod backlog;
pub mod growth;
pub mod limits;
pub mod memory;
pub mod monitor;
mod saturation;
mod serve_command;
mod unneeded;

use std::cell::OnceCell;
use std::sync::Arc;

use memory::RunMemory;
use serde::Serialize;
use servescope_engine::metrics::Summary;
use servescope_engine::metrics::monitor::Monitor;
use servescope_engine::metrics::seats::Seats;
use servescope_engine::metrics::summary::{IterationTotals, SummaryContext, summarise_spans};
use servescope_engine::metrics::token_gaps::InterTokenLatencies;
use servescope_engine::metrics::usage::{
    UsageColumns, UsageWindow, spans, usage_columns, usage_with_columns,
};
use servescope_engine::metrics::{
    FleetSummary, FleetUtilization, GatewaySummary, fleet_summary, gateway_summary, usage,
};
use servescope_engine::{
    Fleet, FleetConfig, MOST_FAILURES, Pool, PoolConfig, Rejection, ReplicaLife, Report,
};
use servescope_settings::diagnostic::{Diagnostic, Param};
use servescope_settings::expected_error::ExpectedError;
use servescope_settings::notes::{Note, NoteContext, Purpose, notes, unused};
use servescope_settings::parameters::Id;
use servescope_settings::scenario::{AdapterRanks, CostKind, Scenario};
use servescope_traces::arrivals::{SimulatedTraffic, arrivals_of};
use servescope_traces::loaded_trace::LoadedTrace;
use servescope_workload::statistics::{HitCurve, PrefixHits};
use servescope_workload::trace::Request;
use servescope_workload::{BASE_MODEL, Trace, WorkloadSpec};

use backlog::{Backlog, backlog};

pub use saturation::{Load, Saturation};
pub use serve_command::serve_command;
pub use unneeded::Unneeded;

/// Rows of the tables by user and by adapter that a page can show.
pub const TABLE_ROWS: usize = 100;

/// The fleet that serves a scenario's trace.
///
/// # Errors
/// [`Diagnostic`] of a pool that cannot be.
pub fn fleet_of(scenario: &Scenario, trace: Arc<Trace>) -> Result<Fleet, Diagnostic> {
    let ranks = AdapterRanks::of(&trace);
    let pools = scenario.pools_for(ranks)?;
    let (queueing, rules) = (scenario.queueing(&trace), scenario.fleet());
    let tokens = |pool: &Pool| {
        let PoolConfig { blocks, block_size, replicas, .. } = pool.config;
        f64::from(blocks) * f64::from(block_size) * f64::from(replicas)
    };
    if let Some(gateway) = scenario.gateway(pools.iter().map(tokens).sum()) {
        // Time-outs and the bound on queued requests are the proxy's.
        let rules = FleetConfig { max_in_system: u32::MAX, queue_timeout_us: f64::INFINITY, ..rules };
        return Ok(Fleet::new(trace, rules, pools).with_gateway(gateway).with_queue_policy(queueing));
    }
    Ok(Fleet::new(trace, rules, pools).with_queue_policy(queueing))
}

/// A run under way, for callers that want to show progress or change their mind.
#[derive(Debug)]
pub struct SimulationHandle {
    fleet: Box<Fleet>,
    scenario: Scenario,
    workload: Arc<WorkloadSpec>,
    generated: bool,
    context: NoteContext,
    extra_request: Option<Request>,
}

impl SimulationHandle {
    /// Makes the trace and stands ready to simulate it.
    ///
    /// # Errors
    /// Every [`Diagnostic`] of the scenario, or that it makes no request.
    pub fn begin(scenario: &Scenario, loaded: Option<&LoadedTrace>) -> Result<Self, Vec<Diagnostic>> {
        let SimulatedTraffic { trace, workload, extra_request } = arrivals_of(scenario, loaded)?;
        Ok(Self {
            fleet: Box::new(fleet_of(scenario, trace).map_err(|error| vec![error])?),
            scenario: scenario.clone(),
            workload: Arc::new(workload),
            generated: loaded.is_none(),
            context: loaded.map_or_else(NoteContext::default, |loaded| loaded.context(Purpose::Run)),
            extra_request,
        })
    }

    /// The fleet that stands ready.
    pub fn into_fleet(self) -> Fleet {
        *self.fleet
    }

    /// Keeps every decision of gateway and schedulers, in [`Report::decisions`].
    pub fn with_decisions(self) -> Self {
        Self { fleet: Box::new(self.fleet.with_decisions()), ..self }
    }

    /// Handles what happens at, at most, `times` different times and says which share of the requests has arrived; 1 is the
    /// end.
    pub fn advance(&mut self, times: usize) -> f64 {
        if self.fleet.advance(times) { 1.0 } else { self.fleet.progress().min(0.999) }
    }

    /// Simulates to the end.
    pub fn run(mut self) -> Run {
        while self.advance(usize::MAX) < 1.0 {}
        self.finish()
    }

    /// The finished run.
    pub fn finish(self) -> Run {
        Run {
            report: self.fleet.finish(),
            scenario: self.scenario,
            workload: self.workload,
            generated: self.generated,
            context: Some(self.context),
            extra_request: self.extra_request,
            unneeded: Vec::new(),
            gaps: OnceCell::new(),
            seats: OnceCell::new(),
            hit_curve: OnceCell::new(),
            monitors: Default::default(),
            usage: OnceCell::new(),
            spans: OnceCell::new(),
            load: OnceCell::new(),
        }
    }
}

/// A finished run.
#[derive(Debug, Clone)]
pub struct Run {
    /// What became of every request.
    pub report: Report,
    /// What was asked for.
    pub scenario: Scenario,
    /// The workload that the scenario describes, built once a run.
    pub workload: Arc<WorkloadSpec>,
    /// Whether the trace came from the generator.
    pub generated: bool,
    /// What the run was made for, and what its trace carries; none of a run that the settings did not make.
    pub context: Option<NoteContext>,
    /// The request of `workload.extra_request`, if the settings ask for one.
    extra_request: Option<Request>,
    /// Settings without which it is the same, once they were looked for.
    unneeded: Vec<Note>,
    /// Every gap between tokens: summary and charts both ask for it.
    gaps: OnceCell<InterTokenLatencies>,
    /// The seats of requests in their batches, once a picture asks for them.
    seats: OnceCell<Seats>,
    /// What a cache of each size finds, once it is asked for.
    hit_curve: OnceCell<Option<HitCurve>>,
    /// What users and adapters used, once it is asked for.
    monitors: [OnceCell<Monitor>; 2],
    /// Sums over a fleet's iterations: likewise.
    usage: OnceCell<FleetUtilization>,
    /// Sums over the iterations that every summary contains.
    spans: OnceCell<IterationTotals>,
    /// The load of the replicas, once it is asked for; none where the settings did not make the run.
    load: OnceCell<Option<Load>>,
}

/// What a cache without limit would find of the prompts, in the order of arrival.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct PrefixSummary {
    /// Tokens in a block.
    pub block_tokens: u32,
    /// Tokens found over all prompt tokens.
    pub hit_share: f64,
}

/// The summary with what should be known beside it.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "Summary"))]
pub struct RunSummary {
    /// The numbers.
    #[serde(flatten)]
    pub run: Summary,
    /// Where prompts are given in blocks: what a cache without limit would find.
    pub prefix: Option<PrefixSummary>,
    /// Of a fleet: what else is to be said of it.
    pub fleet: Option<FleetSummary>,
    /// Replicas that there were, of all pools; data-parallel ranks count each.
    pub replicas: usize,
    /// GPU seconds for which the replicas are paid, from when each was asked for until it stops or the run ends.
    pub gpu_s: f64,
    /// What the proxy did, if there was one.
    pub gateway: Option<GatewaySummary>,
    /// What lies in a GPU's memory, where the KV memory is what the plan leaves.
    pub memory: Option<RunMemory>,
    /// How far these times are to be expected from a real server's.
    pub expected_error: Option<ExpectedError>,
    /// The id of the request that `workload.extra_request` asks for; null where it asks for none.
    pub extra_request: Option<u32>,
    /// What a reader of the numbers should know.
    pub warnings: Vec<Diagnostic>,
}

impl Run {
    /// Simulates a scenario to the end.
    ///
    /// # Errors
    /// Every [`Diagnostic`] of the scenario.
    pub fn simulate(scenario: &Scenario, loaded: Option<&LoadedTrace>) -> Result<Self, Vec<Diagnostic>> {
        Ok(SimulationHandle::begin(scenario, loaded)?.run())
    }

    /// The run of a report, judged by the bounds of `scenario`.
    pub fn of(report: Report, scenario: &Scenario) -> Self {
        Self {
            report,
            scenario: scenario.clone(),
            workload: Arc::new(scenario.workload()),
            generated: false,
            context: None,
            extra_request: None,
            unneeded: Vec::new(),
            gaps: OnceCell::new(),
            seats: OnceCell::new(),
            hit_curve: OnceCell::new(),
            monitors: Default::default(),
            usage: OnceCell::new(),
            spans: OnceCell::new(),
            load: OnceCell::new(),
        }
    }

    /// The summary with the busiest [`TABLE_ROWS`] users and adapters.
    pub fn summary(&self) -> RunSummary {
        self.summary_of(TABLE_ROWS)
    }

    /// The summary with at most `table_rows` users and adapters.
    pub fn summary_of(&self, table_rows: usize) -> RunSummary {
        let mut summary = self.summary_without_load(table_rows);
        summary.run.gpu.load = self.load().map(|load| load.share);
        summary
    }

    /// The same without the load, for which the requests are simulated once more.
    pub fn summary_without_load(&self, table_rows: usize) -> RunSummary {
        let (usage, fleet) = (self.usage(), self.fleet());
        let mut summary = self.build_summary(table_rows, &usage.spans);
        summary.run.gpu.mfu = fleet.mean(|row| row.mfu).or(summary.run.gpu.mfu);
        summary.run.gpu.bandwidth = fleet.mean(|row| row.bandwidth);
        summary.fleet = Some(fleet);
        summary
    }

    /// The load of the replicas; none where the settings did not make the run.
    pub fn load(&self) -> Option<Load> {
        let measured = || Some(Saturation::new(self).ok()?.finish());
        *self.load.get_or_init(|| self.context.as_ref().and_then(|_| measured()))
    }

    /// The summary of a fleet without its own part, without the utilization of its GPUs and without the load. For
    /// those the cost model is asked about every iteration again, or all is simulated again, while a slider moves.
    pub fn summary_without_utilization(&self) -> RunSummary {
        let mut summary = self.build_summary(TABLE_ROWS, self.spans());
        summary.run.gpu.mfu = None;
        summary
    }

    /// What the summary says of the replicas beside the rest.
    pub fn fleet(&self) -> FleetSummary {
        fleet_summary(&self.report, self.usage())
    }

    /// Those parts of the summary that numbers at these key paths are read from, without its warnings: a sweep asks every run
    /// for a few numbers.
    pub(crate) fn numbers_of<'m>(&self, paths: impl Iterator<Item = &'m str> + Clone) -> serde_json::Value {
        let has = |prefixes: &[&str]| {
            paths.clone().any(|path| prefixes.iter().any(|prefix| path.starts_with(prefix)))
        };
        let table_rows = if has(&["per_user.", "per_adapter."]) { usize::MAX } else { 0 };
        let load = has(&["gpu.load"]).then(|| self.load()).flatten().map(|load| load.share);
        if has(&["fleet.", "gpu.mfu", "gpu.bandwidth"]) {
            let mut summary = self.summary_without_load(table_rows);
            summary.run.gpu.load = load;
            return serde_json::json!(summary);
        }
        let slo = self.scenario.slo();
        // The pass over the iterations costs as much as half of the simulation.
        let mut run = if has(&["tbt_s.", "batch.", "kv.", "gpu.", "adapters."]) {
            self.numbers(table_rows, self.spans(), self.token_gaps())
        } else {
            self.numbers(table_rows, &IterationTotals::default(), &InterTokenLatencies::default())
        };
        run.gpu.load = load;
        serde_json::json!(RunSummary {
            run,
            prefix: has(&["prefix."]).then(|| self.prefix()).flatten(),
            fleet: None,
            replicas: self.report.replicas.len(),
            gpu_s: self.gpu_s(),
            gateway: has(&["gateway."]).then(|| gateway_summary(&self.report, slo)).flatten(),
            memory: None,
            expected_error: has(&["expected_error."]).then(|| self.scenario.expected_error()).flatten(),
            extra_request: None,
            warnings: Vec::new(),
        })
    }

    /// GPU seconds of all replicas. The linear cost model names no GPUs; a replica has one.
    fn gpu_s(&self) -> f64 {
        let pools = self.scenario.fleet_pools().unwrap_or_default();
        let gpus = |scenario: &Scenario| match scenario.cost_kind() {
            CostKind::Linear => 1.0,
            CostKind::Profile | CostKind::Roofline | CostKind::Kernels => {
                f64::from(scenario.deployment().gpus())
            }
        };
        let end_us = self.report.end_us();
        let lives = self.report.replicas.iter();
        let of = |life: &ReplicaLife| {
            pools.get(usize::from(life.pool)).map_or(0.0, |pool| gpus(&pool.scenario))
                * life.billed_us(end_us)
        };
        lives.map(of).sum::<f64>() / 1e6
    }

    /// What a cache without limit would find of the prompts.
    fn prefix(&self) -> Option<PrefixSummary> {
        PrefixHits::of(&self.report.trace)
            .map(|hits| PrefixSummary { block_tokens: hits.block_tokens, hit_share: hits.share() })
    }

    /// The numbers of every run; of a fleet from the sums over its iterations.
    fn numbers(&self, table_rows: usize, spans: &IterationTotals, gaps: &InterTokenLatencies) -> Summary {
        let calibration = self.scenario.calibration();
        let context = SummaryContext {
            slo: self.scenario.slo(),
            rate_rps: self.has_rate().then(|| self.scenario.number(Id::Rate)),
            flops: calibration
                .peak_flops
                .filter(|_| self.scenario.cost_kind() == CostKind::Linear)
                .map(|peak| (calibration.parameters, peak)),
            table_rows,
        };
        let mut run = summarise_spans(&self.report, gaps, spans, &context);
        if self.generated && table_rows > 0 {
            self.add_expected_shares(&mut run);
        }
        run
    }

    /// The numbers with what should be known beside them.
    fn build_summary(&self, table_rows: usize, spans: &IterationTotals) -> RunSummary {
        let run = self.numbers(table_rows, spans, self.token_gaps());
        let mut warnings = warnings(&run, self.report.gateway.is_some());
        if run.requests.rejected_total > 0 {
            let of_length = limits::warning(&self.scenario, &self.report);
            let all = Param::Number(run.requests.rejected_total as f64);
            let counts_all = |reported: &Diagnostic| reported.params.get("rejected") == Some(&all);
            // It has the same count, with the reason and what to set.
            if of_length.as_ref().is_some_and(counts_all) {
                warnings.retain(|reported| reported.code != "some_refused");
            }
            warnings.extend(of_length);
        }
        warnings.extend(limits::cut_warning(&self.scenario, &self.report.trace, run.cut_outputs));
        warnings.extend(self.backlog());
        warnings.extend(self.ran_out());
        if self.generated {
            warnings.extend(self.scenario.warnings());
        }
        warnings.extend(self.scenario.prompt_budget());
        warnings.extend(self.notes().iter().map(Note::diagnostic));
        warnings.extend(self.scenario.pool_notes());
        RunSummary {
            run,
            prefix: self.prefix(),
            fleet: None,
            replicas: self.report.replicas.len(),
            gpu_s: self.gpu_s(),
            gateway: gateway_summary(&self.report, self.scenario.slo()),
            memory: RunMemory::of(&self.scenario, AdapterRanks::of(&self.report.trace)),
            expected_error: self.scenario.expected_error(),
            extra_request: self.extra_request(),
            warnings,
        }
    }

    /// The id of the request of `workload.extra_request`. A closed loop numbers requests as they are sent, so it is looked for.
    fn extra_request(&self) -> Option<u32> {
        let (asked, trace) = (self.extra_request?, &self.report.trace);
        (0..trace.len()).rev().find(|&id| trace.request(id) == asked).map(|id| id as u32)
    }

    /// Changed settings that have no effect in this run.
    pub fn notes(&self) -> Vec<Note> {
        let Some(context) = &self.context else { return Vec::new() };
        let mut notes = notes(&self.scenario, context);
        notes.extend(unused(&self.scenario, context, &self.report));
        notes.extend(&self.unneeded);
        notes
    }

    /// Whether a rate was asked for: requests were generated, and not by a closed loop.
    fn has_rate(&self) -> bool {
        self.generated && self.scenario.is_active(Id::Rate)
    }

    /// Says so when a closed loop was at the end of its requests well before the end of its time.
    fn ran_out(&self) -> Option<Diagnostic> {
        const PART: f64 = 0.9;
        let id = Id::ClosedRequests;
        let sent = (self.report.results.len() - usize::from(self.extra_request.is_some())) as f64;
        let last_s = self.report.trace.arrival_us.last()? / 1e6;
        let out = self.generated
            && self.scenario.is_active(id)
            && sent == self.scenario.number(id)
            && last_s < PART * self.scenario.number(Id::Duration);
        out.then(|| {
            let path = id.row().id;
            let message =
                format!("{path}: all {sent} requests of the closed loop were sent after {last_s:.1} s");
            Diagnostic::warning("loop_ran_out", path, message)
                .number("requests", sent)
                .number("time", last_s.round())
        })
    }

    /// How many requests wait at the last arrival, and what that shows; none where few wait, or where traffic depends on how it
    /// is served.
    pub(crate) fn waiting(&self) -> Option<(usize, Backlog)> {
        if self.generated && !self.has_rate() { None } else { backlog(&self.report) }
    }

    /// The warning about them.
    fn backlog(&self) -> Option<Diagnostic> {
        self.waiting()
            .map(|(waiting, backlog)| backlog::warning(&self.report, self.generated, waiting, backlog))
    }

    fn add_expected_shares(&self, summary: &mut Summary) {
        let spec = &self.workload;
        let adapters = if spec.adapters.count > 0 { spec.expected_adapter_shares() } else { None };
        for (rows, shares) in
            [(&mut summary.per_adapter, adapters), (&mut summary.per_user, spec.expected_user_shares())]
        {
            let share = |id: i64| shares.as_ref()?.get(usize::try_from(id).ok()?).copied();
            rows.iter_mut().for_each(|row| row.expected_share = share(row.id));
        }
        if spec.adapters.count == 0 {
            summary.per_adapter.iter_mut().for_each(|row| row.expected_share = Some(1.0));
        }
    }

    /// Every gap between tokens.
    pub fn token_gaps(&self) -> &InterTokenLatencies {
        self.spans();
        self.gaps.get().expect("the pass over the iterations counts them")
    }

    /// The share of prompt blocks that a cache of each size finds; `None`: the trace has no blocks.
    pub fn hit_curve(&self) -> Option<&HitCurve> {
        self.hit_curve.get_or_init(|| HitCurve::of(&self.report.trace, true)).as_ref()
    }

    /// Which seat of its batch each request had, and when.
    pub fn seats(&self) -> &Seats {
        self.seats.get_or_init(|| Seats::of(&self.report))
    }

    /// Sums over the iterations.
    pub fn usage(&self) -> &FleetUtilization {
        self.usage.get_or_init(|| {
            let (usage, gaps) = usage(&self.report);
            self.with_gaps_kept(usage, gaps)
        })
    }

    /// What the summary of every run contains about its iterations.
    fn spans(&self) -> &IterationTotals {
        if let Some(usage) = self.usage.get() {
            return &usage.spans;
        }
        self.spans.get_or_init(|| {
            let (spans, gaps) = spans(&self.report);
            let _ = self.gaps.set(gaps);
            spans
        })
    }

    /// The iterations of a fleet over a window. A caller that asks for these before any summary gets the sums of the summary
    /// for little more.
    pub fn usage_columns(&self, window: &UsageWindow) -> UsageColumns {
        if self.usage.get().is_some() || self.spans.get().is_some() {
            return usage_columns(&self.report, window);
        }
        let (usage, gaps, columns) = usage_with_columns(&self.report, window);
        let _ = self.usage.set(self.with_gaps_kept(usage, gaps));
        columns
    }

    /// Keeps the gaps that were counted with the sums, unless an earlier pass has counted them.
    fn with_gaps_kept(&self, usage: FleetUtilization, gaps: InterTokenLatencies) -> FleetUtilization {
        let _ = self.gaps.set(gaps);
        usage
    }

    /// Whether any request uses an adapter.
    pub fn uses_adapters(&self) -> bool {
        self.report.trace.adapter.iter().any(|&a| a != BASE_MODEL)
    }
}

/// What a reader of the numbers should know.
fn warnings(summary: &Summary, has_proxy: bool) -> Vec<Diagnostic> {
    let mut warnings = Vec::new();
    let counts = &summary.requests;
    if counts.rejected_total > 0 {
        let reasons: Vec<&str> = Rejection::ALL
            .iter()
            .map(|r| r.name())
            .filter(|name| counts.rejected.get(name).is_some_and(|&n| n > 0))
            .collect();
        let all = counts.rejected_total == counts.offered;
        let code = if all { "all_refused" } else { "some_refused" };
        let message = format!(
            "{} of {} requests were rejected: {}",
            counts.rejected_total,
            counts.offered,
            reasons.join(", ")
        );
        warnings.push(
            Diagnostic::warning(code, "", message)
                .number("refused", counts.rejected_total as f64)
                .number("offered", counts.offered as f64)
                .text("reasons", &reasons.join(", ")),
        );
    }
    if counts.unfinished > 0 && has_proxy {
        let message = format!("{} requests wait at the gateway for room that never comes", counts.unfinished);
        warnings.push(
            Diagnostic::warning("stuck_at_gateway", Id::GatewayKind.row().id, message)
                .number("requests", counts.unfinished as f64),
        );
    } else if counts.unfinished > 0 {
        let message = format!(
            "{} requests wait for ever behind one that can never be admitted (head-of-line blocking)",
            counts.unfinished
        );
        warnings.push(
            Diagnostic::warning("stuck", Id::OriginalBlocking.row().id, message)
                .number("requests", counts.unfinished as f64),
        );
    }
    if summary.scaling.is_some_and(|scaling| scaling.failed >= MOST_FAILURES as u64) {
        let message =
            format!("{MOST_FAILURES} replicas failed, as many as a run has at most: later ones do not");
        warnings.push(
            Diagnostic::warning("most_failures", Id::FailureInterval.row().id, message)
                .number("most", MOST_FAILURES as f64),
        );
    }
    warnings
}
