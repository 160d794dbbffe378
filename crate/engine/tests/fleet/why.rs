//! The split of each request's time: exact for any run, and the named cause is the right one.

use std::sync::Arc;

use crate::given::{any_rules, fleet};
use proptest::prelude::*;
use servescope_engine::explain::cause::{ByCause, Cause};
use servescope_engine::explain::request_time::WhyTables;
use servescope_engine::queue::{Client, QueueConfig};
use servescope_engine::{AdapterMemory, Fleet, FleetConfig, PoolConfig, Preemption, Report, SchedulerKind};
use servescope_workload::Trace;

use super::any::{any_config, any_cost, any_vllm, on_its_stages, sent_by_users};
use super::is_plain;
use super::toy::Toy;

#[expect(clippy::large_types_passed_by_value, reason = "they are passed on")]
fn reported(
    trace: &Arc<Trace>,
    settings: (FleetConfig, PoolConfig),
    cost: Toy,
    queueing: &QueueConfig,
) -> Fleet {
    fleet(Arc::clone(trace), settings, cost).with_queue_policy(queueing.clone()).with_decisions()
}

/// Nanoseconds of each request by cause; what holds of every run is checked.
pub(crate) fn causes(report: &Report) -> Vec<ByCause> {
    let tables = WhyTables::of(report).expect("decisions are kept");
    let times = (0..report.trace.len()).map(|id| {
        let time = tables.request(id);
        let sums = time.by_cause();
        assert_eq!(sums.iter().sum::<u64>(), time.end_ns - time.arrival_ns, "request {id}: {time:?}");
        for part in &time.parts {
            assert!(time.arrival_ns <= part.start_ns && part.end_ns <= time.end_ns, "request {id}: {part:?}");
            assert!(part.ns > 0 && part.ns <= part.end_ns - part.start_ns, "request {id}: {part:?}");
        }
        if let Some(e2e_us) = report.e2e_us(id) {
            let ns = sums.iter().sum::<u64>() as f64;
            assert!((ns - e2e_us * 1e3).abs() <= 1.0 + e2e_us * 1e-9, "request {id}: {ns} ns of {e2e_us} us");
        }
        sums
    });
    let times: Vec<ByCause> = times.collect();
    check_matrix(&tables, &times, Client::User);
    check_matrix(&tables, &times, Client::Adapter);
    check_waiting(&tables, &times);
    times
}

/// What all requests waited is the sum of their waits, and no more of it is put down to requests.
fn check_waiting(tables: &WhyTables<'_>, times: &[ByCause]) {
    let waiting = tables.waiting();
    let is_wait =
        |cause: &Cause| cause.is_delay() && !matches!(cause, Cause::BatchSize | Cause::SharedPrefill);
    let causes: Vec<Cause> = Cause::ALL.into_iter().filter(is_wait).collect();
    let ns: u64 = times.iter().flat_map(|sums| causes.iter().map(|&cause| sums[cause as usize])).sum();
    assert!((waiting.ns - ns as f64).abs() <= 1e-9 * ns as f64, "{} of {ns}", waiting.ns);
    let behind: f64 = waiting.behind.iter().sum();
    assert!(behind <= waiting.ns * (1.0 + 1e-6) + 1.0, "{behind} of {}", waiting.ns);
    assert!(waiting.behind.iter().all(|part| *part >= -1e-6 * waiting.ns));
}

/// The matrix of delays adds up to the delays of the split, row by row.
fn check_matrix(tables: &WhyTables<'_>, times: &[ByCause], client: Client) {
    let delays = tables.delays(client);
    let mut all = ByCause::default();
    for sums in times {
        all.iter_mut().zip(sums).for_each(|(all, ns)| *all += ns);
    }
    assert_eq!(delays.causes, all);
    let requests: u32 = delays.groups.iter().map(|group| group.requests).sum();
    assert_eq!(requests as usize, times.len());
    for group in &delays.groups {
        let delay = Cause::ALL.into_iter().filter(|cause| cause.is_delay());
        let delayed: u64 = delay.map(|cause| group.causes[cause as usize]).sum();
        assert_eq!(group.delayed_by.iter().sum::<u64>(), delayed, "{group:?}");
    }
}

/// Causes that a setting rules out are not named.
fn check_causes(
    sums: &[ByCause],
    report: &Report,
    (rules, config): (&FleetConfig, &PoolConfig),
    stages: u32,
) {
    let kind = config.scheduler;
    let mut impossible = vec![Cause::RateLimit, Cause::GatewayQueue];
    if kind == SchedulerKind::Static {
        impossible.extend([Cause::Preemption, Cause::TokenBudget]);
    } else {
        impossible.push(Cause::StaticBatch);
    }
    if !matches!(kind, SchedulerKind::Slora | SchedulerKind::LightLlm | SchedulerKind::VllmV1) {
        impossible.push(Cause::InterleavingRule);
    }
    // SGLang bounds the adapters of a batch wherever they are.
    if config.adapters.memory != AdapterMemory::Slots && kind != SchedulerKind::Sglang {
        impossible.push(Cause::AdapterSlots);
    }
    if !matches!(config.preemption, Preemption::Swap { .. }) {
        impossible.push(Cause::Swap);
    }
    if !config.reference_quirks && stages == 1 && is_plain(&report.trace, rules) {
        impossible.push(Cause::IdlePoll);
    }
    for (id, sums) in sums.iter().enumerate() {
        for &cause in &impossible {
            assert_eq!(sums[cause as usize], 0, "request {id} waits for {cause:?}");
        }
        if report.preemptions(id) == 0 {
            assert_eq!(sums[Cause::Preemption as usize], 0, "request {id} was not preempted");
        }
        if let (Some(split), 1) = (report.split(id), stages) {
            let own = sums[Cause::OwnPrefill as usize] as f64 / 1e3;
            assert!(own <= split.prefill_us + split.load_us + 0.01, "request {id}: {own} of {split:?}");
            let waited: u64 = [
                Cause::KvMemory,
                Cause::TokenBudget,
                Cause::BatchCap,
                Cause::AdapterSlots,
                Cause::StaticBatch,
            ]
            .iter()
            .map(|&cause| sums[cause as usize])
            .sum();
            let bound = split.queue_us + split.stalled_us;
            assert!(waited as f64 / 1e3 <= bound + 0.01, "request {id}: {waited} ns of {split:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..servescope_testkit::cases(100, 1_000) })]

    #[test]
    fn causes_add_up_to_each_requests_time(
        (trace, queueing) in sent_by_users(), config in prop_oneof![any_config(), any_vllm()],
        rules in any_rules(9_000), cost in any_cost(),
    ) {
        let cost = on_its_stages(config.scheduler, cost);
        let trace = Arc::new(trace);
        let fleet = || reported(&trace, (rules, config), cost, &queueing);
        let leaps = fleet().run();
        let sums = causes(&leaps);
        check_causes(&sums, &leaps, (&rules, &config), cost.stages);
        let steps = causes(&fleet().without_fast_forward().run());
        for (id, (one, other)) in sums.iter().zip(&steps).enumerate() {
            for (i, cause) in Cause::ALL.into_iter().enumerate() {
                // Sums over runs and over their iterations round differently.
                prop_assert!(one[i].abs_diff(other[i]) <= 1_000, "request {id}, {cause:?}: {} {}", one[i], other[i]);
            }
        }
    }
}
