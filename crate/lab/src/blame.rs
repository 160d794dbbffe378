//! What makes requests wait: a check, a limit or a quota of the gateway, a limit of the scheduler, or too few replicas. Each is
//! suspected where requests wait at the last arrival, and named only where the same requests, simulated without it, fare better.
//!
//! Replicas are suspected only where more arrives than they serve when they are saturated. Where a backlog grows before replicas
//! that could serve more, the limit of the scheduler for which requests waited longest is suspected.
//!
//! Suspects are judged as two settings are compared ([`crate::compare`]): with it and without it, the same seeds, and what the
//! pairs of runs differ by must be clear by the interval of a comparison, and at least [`LEAST`]. A loaded trace has no further
//! seeds: its one pair of runs decides.
//!
//! This module says what to simulate and what the results mean. The caller simulates, on any number of threads.

use serde::Serialize;
use servescope_engine::explain::cause::Cause as DelayCause;
use servescope_engine::explain::request_time::WhyTables;
use servescope_engine::gateway::config::Check;
use servescope_engine::gateway::load::LoadPolicy;
use servescope_engine::gateway::log::GatewayHoldReason;
use servescope_engine::queue::Client;
use servescope_settings::parameters::choices::LOAD_POLICY;
use servescope_settings::parameters::{Id, Value};
use servescope_settings::scenario::{AdapterRanks, Scenario};

use crate::compare::interval::Paired;
use crate::metric::{Measured, Metric};
use crate::replications::{seeds, with_seed};
use crate::run::Run;
use crate::run::backlog::Backlog;

/// Runs with each suspect and without it.
pub const SEEDS: usize = 20;

/// The relative difference that is worth a word.
const LEAST: f64 = 0.01;

/// What taking a suspect away must better: the first of them that it does is named.
const METRICS: [&str; 2] = ["throughput_rps", "ttft_s.mean"];

/// Limits of the scheduler that are tried: those for which requests waited longest.
const MOST_LIMITS: usize = 2;

/// What may make requests wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Suspect {
    /// A check of the gateway, with its limits and quotas.
    Check(Check),
    /// The gateway's rule that gives each client its fair share under overload.
    FairShare,
    /// A limit of the scheduler. It is taken away by as much again.
    Limit(SchedulerLimit),
    /// The number of replicas. It is taken away by as many again.
    Replicas,
    /// The time from the decision to start a replica to its first request.
    ColdStart,
    /// Replicas that fail.
    Failures,
}

/// A limit of a replica's scheduler for which requests wait though the replicas could serve more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchedulerLimit {
    /// The LoRA slots.
    AdapterSlots,
    /// The most requests that run together.
    BatchCap,
    /// The tokens of an iteration.
    TokenBudget,
}

impl SchedulerLimit {
    const ALL: [Self; 3] = [Self::AdapterSlots, Self::BatchCap, Self::TokenBudget];

    /// What the time that requests wait for it is counted as.
    fn delay(self) -> DelayCause {
        match self {
            Self::AdapterSlots => DelayCause::AdapterSlots,
            Self::BatchCap => DelayCause::BatchCap,
            Self::TokenBudget => DelayCause::TokenBudget,
        }
    }

    fn parameter(self, scenario: &Scenario) -> Id {
        match self {
            Self::AdapterSlots => Id::MaxLoras,
            Self::BatchCap => Id::MaxRunning,
            Self::TokenBudget if scenario.is_active(Id::ChunkTokens) => Id::ChunkTokens,
            Self::TokenBudget => Id::BatchMaxTokens,
        }
    }

    /// The limits for which the requests of a run waited, the longest wait first; none where its decisions were not kept.
    fn of(run: &Run) -> Vec<Self> {
        let Some(tables) = WhyTables::of(&run.report) else { return Vec::new() };
        let sums = tables.delays(Client::User).causes;
        let waited = |limit: &Self| sums[limit.delay() as usize];
        let mut limits: Vec<Self> = Self::ALL.into_iter().filter(|limit| waited(limit) > 0).collect();
        limits.sort_by_key(|limit| std::cmp::Reverse(waited(limit)));
        limits.truncate(MOST_LIMITS);
        limits
    }
}

impl Suspect {
    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Check(check) => check.name(),
            Self::FairShare => GatewayHoldReason::FairShare.name(),
            Self::Limit(limit) => limit.delay().name(),
            Self::Replicas => "replicas",
            Self::ColdStart => "cold_start",
            Self::Failures => "failures",
        }
    }

    /// The scenario without it; none where that is no scenario, or does not fit in memory.
    fn lifted(self, scenario: &Scenario, ranks: AdapterRanks) -> Option<Scenario> {
        let mut lifted = scenario.clone();
        let (id, value) = match self {
            Self::Check(check) => (Id::GatewayChecks, Value::Text(scenario.checks_without(check))),
            Self::FairShare => (LOAD_POLICY.id(), LOAD_POLICY.value(LoadPolicy::AdmitAll)),
            Self::Limit(limit) => twice(scenario, limit.parameter(scenario)),
            Self::Replicas => {
                return scenario.with_twice_the_replicas().filter(|lifted| lifted.problems().is_empty());
            }
            Self::ColdStart => return scenario.without_cold_start(),
            Self::Failures => return scenario.without_failures(),
        };
        lifted.set(id, value).ok()?;
        (lifted.problems().is_empty() && lifted.pool_for(ranks).is_ok()).then_some(lifted)
    }
}

fn twice(scenario: &Scenario, id: Id) -> (Id, Value) {
    (id, Value::Number(2.0 * scenario.number(id)))
}

/// What may make the requests of a run wait. Replicas that take time to start are suspected wherever there are some: requests
/// wait for them long before the last arrival.
fn suspects(run: &Run) -> Vec<Suspect> {
    let starts = run.report.replicas.iter().any(|life| life.ready_us > life.start_us);
    let mut suspects: Vec<Suspect> = starts.then_some(Suspect::ColdStart).into_iter().collect();
    if !run.report.failures.is_empty() {
        suspects.push(Suspect::Failures);
    }
    suspects.extend(suspects_at_end(run));
    suspects
}

/// What may make those requests wait that wait at the last arrival.
fn suspects_at_end(run: &Run) -> Vec<Suspect> {
    let Some((waiting, backlog)) = run.waiting() else { return Vec::new() };
    match backlog {
        Backlog::AtGateway { reason } => {
            let own = match reason {
                GatewayHoldReason::By(check) => Some(Suspect::Check(check)),
                GatewayHoldReason::FairShare => Some(Suspect::FairShare),
                GatewayHoldReason::Nothing | GatewayHoldReason::Behind => None,
            };
            own.into_iter().chain(is_too_much(run, waiting).then_some(Suspect::Replicas)).collect()
        }
        Backlog::Overloaded { .. } if is_too_much(run, 0) => vec![Suspect::Replicas],
        Backlog::Overloaded { .. } => SchedulerLimit::of(run).into_iter().map(Suspect::Limit).collect(),
        Backlog::Burst { .. } | Backlog::TooShort { .. } => Vec::new(),
    }
}

/// Whether more arrives than the replicas serve when they are saturated. `outside`: requests that did not reach them by the last
/// arrival.
fn is_too_much(run: &Run, outside: usize) -> bool {
    let last_s = run.report.trace.arrival_us.last().map_or(0.0, |us| us / 1e6);
    let outside_rps = if last_s > 0.0 { outside as f64 / last_s } else { 0.0 };
    run.load().is_some_and(|load| {
        load.saturated_rps.is_some_and(|saturated| load.reached_rps + outside_rps >= saturated)
    })
}

/// Something that makes requests wait: without it they fare better.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "WaitCause"))]
pub struct Cause {
    /// The name of a gateway's check, "fair_share", "adapter_slots", "batch_cap", "token_budget", "replicas",
    /// "cold_start", or "failures".
    pub suspect: &'static str,
    /// What is better without it: "throughput_rps" or "ttft_s.mean".
    pub metric: &'static str,
    /// Its mean as the settings are.
    pub with: f64,
    /// Its mean without the cause: of replicas and of limits of the scheduler there is twice as much.
    pub without: f64,
    /// Pairs of runs; 1 of a loaded trace.
    pub seeds: usize,
}

impl Cause {
    /// In English.
    pub fn sentence(&self) -> String {
        let what = match self.suspect {
            "rpm" => "the quota of requests a minute makes requests wait: without it",
            "tpm" => "the quota of tokens a minute makes requests wait: without it",
            "concurrency" => "the limit of concurrent requests makes requests wait: without it",
            "kv" => "the gateway's KV check makes requests wait: without it",
            "fair_share" => "the fair share of each client makes requests wait: without it",
            "adapter_slots" => "requests wait for a LoRA slot: with twice as many LoRA slots",
            "batch_cap" => "requests wait for a place in the batch: with twice the limit of running requests",
            "token_budget" => "requests wait for the token budget: with twice the token budget",
            "cold_start" => "requests wait while replicas start: with replicas that are ready at once",
            "failures" => "replicas fail: without failures",
            _ => "more arrives than the replicas serve: with twice as many replicas",
        };
        let [with, without] = [self.with, self.without].map(digits);
        let better = match self.metric {
            "throughput_rps" => format!("{without} req/s in place of {with}"),
            _ => format!("a mean TTFT of {without} s in place of {with} s"),
        };
        let runs = if self.seeds == 1 { "one run".to_owned() } else { format!("{} seeds", self.seeds) };
        format!("{what} {better} ({runs})")
    }
}

/// Three significant digits.
fn digits(x: f64) -> String {
    let places = if x > 0.0 { 2.0 - libm::floor(libm::log10(x)) } else { 0.0 };
    format!("{x:.*}", places.clamp(0.0, 6.0) as usize)
}

/// The suspects of a run, and the runs that judge them.
#[derive(Debug, Clone)]
pub struct Blame {
    suspects: Vec<Suspect>,
    /// The scenario as it is, and without each suspect.
    sides: Vec<Scenario>,
    seeds: Vec<u64>,
}

impl Blame {
    /// Whatever may make the requests of a run wait. `is_loaded`: it is a run of a loaded trace. Limits of the scheduler are among
    /// it only where the decisions of the run were kept.
    pub fn of(run: &Run, is_loaded: bool) -> Self {
        let scenario = &run.scenario;
        let ranks = AdapterRanks::of(&run.report.trace);
        let (mut suspects, mut sides) = (suspects(run), vec![scenario.clone()]);
        suspects.retain(|suspect| {
            let lifted = suspect.lifted(scenario, ranks);
            let can_be = lifted.is_some();
            sides.extend(lifted);
            can_be
        });
        let own = || vec![scenario.number(Id::Seed) as u64];
        let seeds = if is_loaded { own() } else { seeds(scenario, SEEDS).unwrap_or_else(|_| own()) };
        Self { suspects, sides, seeds }
    }

    /// How many runs judge them; none without a suspect.
    pub fn count(&self) -> usize {
        if self.suspects.is_empty() { 0 } else { self.sides.len() * self.seeds.len() }
    }

    /// The scenario of one of these runs.
    pub fn scenario(&self, place: usize) -> Scenario {
        let (seed, side) = (place / self.sides.len(), place % self.sides.len());
        with_seed(&self.sides[side], self.seeds[seed])
    }

    /// What is measured of each of these runs.
    pub fn metrics() -> [Metric; 2] {
        METRICS.map(|path| Metric::parse(path).expect("the summary has it"))
    }

    /// The suspects without which requests fare better, by the runs in their order; of the scheduler's limits the one for which
    /// requests waited longest.
    pub fn causes(&self, measured: &[Measured]) -> Vec<Cause> {
        if measured.len() < self.count() {
            return Vec::new();
        }
        let of = |(place, suspect): (usize, &Suspect)| {
            let better = |(metric, name): (usize, &'static str)| {
                let value =
                    |seed: usize, side: usize| measured[seed * self.sides.len() + side].values[metric];
                let pair = |seed| Some((value(seed, 0)?, value(seed, place + 1)?));
                let pairs: Vec<(f64, f64)> = (0..self.seeds.len()).filter_map(pair).collect();
                let paired = Paired::of(&pairs)?;
                let gains = if metric == 0 { paired.difference > 0.0 } else { paired.difference < 0.0 };
                let is_clear = self.seeds.len() == 1 || paired.is_significant();
                let is_much = paired.relative.is_some_and(|relative| relative.abs() >= LEAST);
                (gains && is_clear && is_much).then_some(Cause {
                    suspect: suspect.name(),
                    metric: name,
                    with: paired.a,
                    without: paired.b,
                    seeds: paired.pairs,
                })
            };
            METRICS.into_iter().enumerate().find_map(better)
        };
        let mut found: Vec<Cause> = self.suspects.iter().enumerate().filter_map(of).collect();
        let limits =
            |cause: &Cause| SchedulerLimit::ALL.iter().any(|limit| limit.delay().name() == cause.suspect);
        let mut has_limit = false;
        found.retain(|cause| !limits(cause) || !std::mem::replace(&mut has_limit, true));
        found
    }
}

#[cfg(test)]
mod tests {
    use servescope_traces::loaded_trace::LoadedTrace;

    use super::*;
    use crate::run::SimulationHandle;

    fn causes(settings: &[(&str, &str)], loaded: Option<&LoadedTrace>) -> (usize, Vec<Cause>) {
        let scenario = Scenario::of_version(4).with(settings).unwrap_or_else(|error| panic!("{error}"));
        let run = SimulationHandle::begin(&scenario, loaded).unwrap_or_else(|errors| panic!("{errors:?}"));
        let run = run.with_decisions().run();
        let blame = Blame::of(&run, loaded.is_some());
        let measured: Vec<Measured> = (0..blame.count())
            .map(|place| Measured::simulate(&blame.scenario(place), loaded, &Blame::metrics()).unwrap())
            .collect();
        (blame.suspects.len(), blame.causes(&measured))
    }

    /// The README's link: a limit of 32 requests before a server whose memory is the bound.
    const LIMIT: [(&str, &str); 10] = [
        ("workload.rate_rps", "4"),
        ("workload.duration_s", "200"),
        ("workload.adapters.count", "0"),
        ("workload.input_tokens.kind", "fixed"),
        ("workload.output_tokens.kind", "fixed"),
        ("workload.users.count", "4"),
        ("workload.users.popularity", "list"),
        ("workload.users.shares", "9,1,1,1"),
        ("gateway.kind", "proxy"),
        ("gateway.concurrency", "32"),
    ];

    #[test]
    fn a_limit_that_does_not_bind_is_not_named() {
        let (suspects, causes) = causes(&LIMIT, None);
        assert_eq!(suspects, 2);
        assert!(matches!(&causes[..], [Cause { suspect: "replicas", .. }]), "{causes:?}");
        let sentence = causes[0].sentence();
        assert!(
            sentence.contains("with twice as many replicas 3.19 req/s in place of 2.17 (20 seeds)"),
            "{sentence}"
        );
    }

    #[test]
    fn a_limit_that_binds_is_named_with_what_it_costs() {
        let tight = [&LIMIT[..9], &[("gateway.concurrency", "8")]].concat();
        let (_, causes) = causes(&tight, None);
        assert!(
            causes.iter().any(|cause| cause.suspect == "concurrency" && cause.without > 1.2 * cause.with)
        );
    }

    const QUOTA: [(&str, &str); 6] = [
        ("workload.rate_rps", "1"),
        ("workload.duration_s", "300"),
        ("workload.users.count", "1"),
        ("gateway.kind", "proxy"),
        ("gateway.tpm.total", "10000"),
        ("gateway.over_quota", "wait"),
    ];

    #[test]
    fn a_quota_is_named_and_replicas_that_have_room_are_not() {
        let (suspects, found) = causes(&QUOTA, None);
        assert_eq!(suspects, 1, "only the quota: the replicas serve more than arrives");
        assert!(matches!(&found[..], [Cause { suspect: "tpm", metric: "throughput_rps", .. }]), "{found:?}");
        assert!(causes(&[("workload.rate_rps", "0.5")], None).1.is_empty());
    }

    #[test]
    fn of_a_loaded_trace_one_pair_of_runs_judges() {
        let scenario = Scenario::of_version(4).with(&QUOTA[..3]).unwrap();
        let trace = servescope_traces::arrivals::trace_of(&scenario, None).unwrap();
        let loaded = LoadedTrace::from_trace("own", trace.as_ref().clone());
        let (_, found) = causes(&QUOTA[3..], Some(&loaded));
        assert!(matches!(&found[..], [Cause { suspect: "tpm", seeds: 1, .. }]), "{found:?}");
        assert!(found[0].sentence().ends_with("(one run)"));
    }

    #[test]
    fn more_than_the_replicas_serve_is_an_overload() {
        let settings = [("workload.rate_rps", "8"), ("workload.duration_s", "200")];
        let (_, found) = causes(&settings, None);
        assert!(
            matches!(&found[..], [Cause { suspect: "replicas", metric: "throughput_rps", .. }]),
            "{found:?}"
        );
    }

    /// One replica is too few for 3 req/s, and the others take a minute to start. Those that start when all requests are served are
    /// simulated without their minute, too, and not named.
    #[test]
    fn a_cold_start_is_named_where_requests_wait_for_it() {
        let of = |schedule: &'static str| {
            let settings = [
                ("workload.rate_rps", "3"),
                ("workload.duration_s", "120"),
                ("workload.adapters.count", "0"),
                ("fleet.cold_start.delay_s", "60"),
                ("fleet.autoscaling.schedule", schedule),
            ];
            causes(&settings, None).1
        };
        let named = |found: &[Cause]| found.iter().any(|cause| cause.suspect == "cold_start");
        let found = of("20:3");
        assert!(named(&found), "{found:?}");
        assert!(!named(&of("5000:3")));
    }

    /// A replica of two fails, and the other one has twice the load for a minute; one that would fail when all is served does not.
    #[test]
    fn failures_are_named_where_requests_wait_for_the_next_replica() {
        let of = |at_s: &'static str| {
            let settings = [
                ("workload.rate_rps", "3"),
                ("workload.duration_s", "120"),
                ("workload.adapters.count", "0"),
                ("fleet.replicas", "2"),
                ("fleet.router", "least_outstanding"),
                ("fleet.failures.at_s", at_s),
                ("fleet.cold_start.delay_s", "60"),
            ];
            causes(&settings, None).1
        };
        let named = |found: &[Cause]| found.iter().any(|cause| cause.suspect == "failures");
        let found = of("30");
        assert!(named(&found), "{found:?}");
        assert!(!named(&of("5000")));
    }

    #[test]
    fn replicas_with_room_are_not_the_cause_where_requests_wait_for_a_limit() {
        let slots = [
            ("scheduler.kind", "vllm_v1"),
            ("cost.kind", "roofline"),
            ("fleet.gpu", "h100_sxm"),
            ("fleet.model", "llama-3.1-8b"),
            ("workload.rate_rps", "7"),
            ("workload.duration_s", "120"),
        ];
        let batch =
            [&slots[..4], &[("workload.adapters.count", "0"), ("scheduler.max_num_seqs", "8")]].concat();
        let batch = [&batch[..], &[("workload.rate_rps", "12"), ("workload.duration_s", "100")]].concat();
        for (settings, expected) in [(&slots[..], "adapter_slots"), (&batch[..], "batch_cap")] {
            let (_, found) = causes(settings, None);
            let [cause] = &found[..] else { panic!("{expected}: {found:?}") };
            let scenario = Scenario::of_version(4).with(settings).unwrap();
            let load = Run::simulate(&scenario, None).unwrap().load().unwrap();
            if load.share < 1.0 {
                assert_eq!(cause.suspect, expected);
            } else {
                assert_eq!((expected, cause.suspect), ("batch_cap", "replicas"), "{load:?}");
            }
        }
        let (_, found) = causes(&slots, None);
        assert!(found[0].sentence().contains("with twice as many LoRA slots"), "{}", found[0].sentence());
    }
}
