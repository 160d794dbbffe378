//! What the proxy keeps, whatever its checks, its clients and the engine behind it.

use servescope_engine::queue::ClientId;
use std::sync::Arc;

use crate::fleet::steps::{recorded, states};
use crate::fleet::why::causes;
use crate::given::{self, any_config, any_cost, any_trace, requests};
use proptest::prelude::*;
use servescope_cost::{AdapterCost, LinearCost};
use servescope_engine::decisions::Verdict;
use servescope_engine::explain::cause::Cause;
use servescope_engine::gateway::config::{
    Charge, Check, KvRule, Lending, Quotas, RetryKind, RetryRule, Timeout,
};
use servescope_engine::gateway::load::{LoadPolicy, OverloadConfig};
use servescope_engine::gateway::prediction::{LengthSource, PredictorConfig};
use servescope_engine::gateway::window::Window;
use servescope_engine::gateway::{GatewayConfig, GatewayLog};
use servescope_engine::metrics::Slo;
use servescope_engine::metrics::monitor::{Monitor, MonitorOptions};
use servescope_engine::queue::DrrConfig;
use servescope_engine::queue::OutputAccounting;
use servescope_engine::queue::{Client, QueueConfig, QueuePolicy};
use servescope_engine::queue::{Lift, Prediction, TokenCost, VtcConfig};
use servescope_engine::steps::{DebugStep, StepState};
use servescope_engine::{AdapterConfig, PoolConfig, Preemption, RouterKind, SchedulerKind};
use servescope_engine::{Fleet, FleetConfig, Outcome, Report};
use servescope_workload::{RequestId, Trace};

const NO_LOAD: OverloadConfig = OverloadConfig {
    kv_share: f64::INFINITY,
    wait_us: f64::INFINITY,
    step_us: f64::INFINITY,
    near: 0.8,
    hysteresis: 0.1,
    average_us: 1e6,
    dwell_us: 0.0,
    policy: LoadPolicy::AdmitAll,
};

/// A proxy that lets everything through at once.
fn transparent() -> GatewayConfig {
    GatewayConfig {
        checks: Vec::new(),
        client: Client::User,
        quotas: Quotas::NONE,
        concurrency: u32::MAX,
        client_concurrency: u32::MAX,
        slot_leak: 0.0,
        queue_requests: u32::MAX,
        queue_tokens: f64::INFINITY,
        kv: KvRule { headroom_tokens: 0.0, lag_us: 0.0, leaks: false },
        ttft_bound_us: f64::INFINITY,
        estimate_over_us: 30e6,
        timeout: Timeout::Fixed(f64::INFINITY),
        sweep_us: 50e3,
        retries: RetryRule {
            kind: RetryKind::Never,
            most: 5,
            round_trip_us: 50e3,
            base_us: 5e5,
            cap_us: 6e7,
            jitter: 1.0,
        },
        lengths: PredictorConfig {
            source: LengthSource::Oracle,
            bias: 1.0,
            noise: 0.0,
            quantile: 0.9,
            half_life: 100.0,
            cold_start: 5,
        },
        load: NO_LOAD,
        queue_policy: QueuePolicy::Fcfs,
        pool_tokens: 1_000.0,
        seed: 1,
    }
}

/// A number, or in half the cases no bound.
fn or_none(range: std::ops::Range<f64>) -> impl Strategy<Value = f64> {
    prop_oneof![Just(f64::INFINITY), range]
}

prop_compose! {
    fn any_quotas()(
        rpm in or_none(1.0..40.0),
        tpm in prop::array::uniform3(or_none(20.0..9_000.0)),
        window in prop_oneof![
            Just(Window::Sliding), Just(Window::Fixed), Just(Window::Sub(1e6)), Just(Window::Sub(1e7)),
            (1e6..1e8f64).prop_map(Window::Bucket), (1e6..1e8f64).prop_map(Window::Gcra),
        ],
        after in any::<bool>(),
        refuses in any::<bool>(),
        lending in prop::option::weighted(0.3, (0.0..1.5f64, 0.0..1.0f64)),
    ) -> Quotas {
        let charge = if after { Charge::After } else { Charge::Ahead };
        let lending = lending.map(|(threshold, floor)| Lending { threshold, floor });
        Quotas { rpm, tpm, window, charge, refuses, lending }
    }
}

prop_compose! {
    fn any_retries()(
        kind in prop_oneof![
            Just(RetryKind::Never), Just(RetryKind::AtOnce), Just(RetryKind::Backoff), Just(RetryKind::Honour),
        ],
        most in 1u32..6,
        round_trip_us in 1e3..1e5f64,
        base_us in 1e4..1e6f64,
        jitter in 0.0..1.0f64,
    ) -> RetryRule {
        RetryRule { kind, most, round_trip_us, base_us, cap_us: 4.0 * base_us, jitter }
    }
}

prop_compose! {
    fn any_lengths()(
        source in prop_oneof![
            Just(LengthSource::Oracle), Just(LengthSource::Noisy), Just(LengthSource::MaxTokens),
            Just(LengthSource::History), Just(LengthSource::Average),
        ],
        bias in 0.3..3.0f64,
        noise in 0.0..1.0f64,
        cold_start in 0u32..6,
    ) -> PredictorConfig {
        PredictorConfig { source, bias, noise, quantile: 0.9, half_life: 5.0, cold_start }
    }
}

prop_compose! {
    fn any_load()(
        kv_share in or_none(0.05..1.0),
        wait_us in or_none(1e5..1e7),
        step_us in or_none(1e3..1e5),
        near in 0.3..1.0f64,
        hysteresis in 0.0..0.5f64,
        average_us in prop_oneof![Just(0.0), 1e5..3e6f64],
        dwell_us in prop_oneof![Just(0.0), 1e5..3e6f64],
        policy in prop_oneof![
            Just(LoadPolicy::AdmitAll), Just(LoadPolicy::FairShare), Just(LoadPolicy::Shed),
        ],
    ) -> OverloadConfig {
        OverloadConfig { kv_share, wait_us, step_us, near, hysteresis, average_us, dwell_us, policy }
    }
}

fn any_order() -> impl Strategy<Value = QueuePolicy> {
    let lift = prop_oneof![Just(Lift::Waiting), Just(Lift::Paper), Just(Lift::Never), Just(Lift::Max)];
    let prediction = prop_oneof![Just(Prediction::None), Just(Prediction::Given)];
    let cost = prop_oneof![2 => Just(TokenCost::Linear), 1 => Just(TokenCost::Profile)];
    let accounting =
        || prop_oneof![2 => Just(OutputAccounting::Slora), 1 => Just(OutputAccounting::Artifact)];
    prop_oneof![
        Just(QueuePolicy::Fcfs),
        Just(QueuePolicy::Lifo),
        Just(QueuePolicy::Sjf),
        (0.0..1e7f64).prop_map(|ageing_us| QueuePolicy::Priority { classes: Vec::new(), ageing_us }),
        (lift, prediction, cost, accounting()).prop_map(|(lift, prediction, cost, accounting)| {
            QueuePolicy::Vtc(VtcConfig { lift, prediction, cost, accounting, ..VtcConfig::default() })
        }),
        (1.0..500.0f64, accounting()).prop_map(|(quantum, accounting)| {
            QueuePolicy::Drr(DrrConfig { quantum: Some(quantum), accounting, ..DrrConfig::default() })
        }),
    ]
}

prop_compose! {
    fn any_gateway()(
        checks in prop::sample::subsequence(Check::ALL.to_vec(), 0..=6).prop_shuffle(),
        quotas in any_quotas(),
        concurrency in prop_oneof![Just(u32::MAX), 1u32..12],
        client_concurrency in prop_oneof![Just(u32::MAX), 1u32..6],
        queue in (prop_oneof![Just(u32::MAX), 1u32..12], or_none(100.0..3_000.0)),
        kv in (0.0..200.0f64, prop_oneof![Just(0.0), 1e4..2e6f64], prop::bool::weighted(0.2)),
        ttft_bound_us in 1e4..5e6f64,
        timeout in prop_oneof![
            Just(Timeout::Fixed(f64::INFINITY)), (1e4..1e7f64).prop_map(Timeout::Fixed),
            (0.5..4.0f64).prop_map(|times| Timeout::Estimated { times, most_us: 6e7 }),
        ],
        sweep_us in prop_oneof![Just(5e4), 1e3..1e6f64],
        retries in any_retries(),
        lengths in any_lengths(),
        load in any_load(),
        queue_policy in any_order(),
        by_adapter in any::<bool>(),
        pool_tokens in 300.0..3_000.0f64,
    ) -> GatewayConfig {
        GatewayConfig {
            checks, quotas, concurrency, client_concurrency, queue_requests: queue.0, queue_tokens: queue.1,
            kv: KvRule { headroom_tokens: kv.0, lag_us: kv.1, leaks: kv.2 },
            ttft_bound_us, timeout, sweep_us, retries, lengths, load, queue_policy, pool_tokens,
            client: if by_adapter { Client::Adapter } else { Client::User },
            ..transparent()
        }
    }
}

fn server(config: PoolConfig) -> PoolConfig {
    PoolConfig { reference_quirks: false, ..config }
}

prop_compose! {
    fn any_fleet()(
        replicas in 1u32..4,
        scheduler in prop_oneof![
            Just(SchedulerKind::Vllm), Just(SchedulerKind::VllmV1), Just(SchedulerKind::Sarathi),
            Just(SchedulerKind::Orca),
        ],
        blocks in 40u32..200,
        max_requests in 1u32..20,
    ) -> PoolConfig {
        PoolConfig {
            replicas, scheduler, blocks, max_requests, block_size: 16, watermark_blocks: 1,
            max_slots: 8, max_request_tokens: 600, max_batch_tokens: 1_000, chunk_tokens: 100,
            decode_steps_between_prefills: 10, reference_quirks: false, prefix_cache: false,
            reserve: false, preemption: Preemption::Recompute,
            adapters: AdapterConfig::FREE,
            ..PoolConfig::default()
        }
    }
}

fn through(trace: &Arc<Trace>, config: PoolConfig, cost: LinearCost, gateway: GatewayConfig) -> Report {
    fleet(trace, config, cost).with_gateway(gateway).run()
}

fn fleet(trace: &Arc<Trace>, config: PoolConfig, cost: LinearCost) -> Fleet {
    // Which router it is depends on the settings, so that equal ones make equal runs.
    let router = [RouterKind::RoundRobin, RouterKind::LeastOutstanding][config.blocks as usize % 2];
    let rules = FleetConfig { router, ..FleetConfig::default() };
    given::fleet(Arc::clone(trace), (rules, config), cost)
}

fn log(report: &Report) -> &GatewayLog {
    report.gateway.as_deref().expect("there was a proxy")
}

/// Most of the intervals that hold at a time, where ends come before starts.
fn most_at_once(intervals: impl Iterator<Item = (f64, f64)>) -> u32 {
    let mut changes: Vec<(f64, i32)> = intervals.flat_map(|(from, to)| [(from, 1), (to, -1)]).collect();
    changes.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let (mut now, mut most) = (0, 0);
    for (_, change) in changes {
        now += change;
        most = most.max(now);
    }
    most as u32
}

/// What holds of every run behind a proxy.
fn check_run(report: &Report, config: &GatewayConfig) {
    let (trace, log) = (&report.trace, log(report));
    let answered: u64 = log.refusals.iter().sum::<u64>() + log.timeouts;
    let mut ends_refused = 0;
    for (id, (result, passage)) in report.results.iter().zip(&log.passages).enumerate() {
        let forwarded = log.forwarded_us[id];
        assert!(u32::from(passage.attempts) <= config.retries.most.max(1), "request {id} asks too often");
        if !forwarded.is_nan() {
            assert!(passage.asked_us >= trace.arrival_us[id] && forwarded >= passage.asked_us);
            assert!((1..=trace.max_tokens[id]).contains(&passage.predicted_tokens));
        }
        match result.outcome {
            Outcome::Completed => assert!(report.scheduled_us(id).is_some_and(|at| at >= forwarded)),
            Outcome::TimedOut => assert!(forwarded.is_nan(), "request {id} timed out behind the proxy"),
            Outcome::Rejected(_) if forwarded.is_nan() => ends_refused += 1,
            Outcome::Rejected(_) | Outcome::Cancelled => {}
            Outcome::Unfinished => {
                assert!(config.kv.leaks && forwarded.is_nan(), "request {id} is stuck");
            }
        }
    }
    assert!(ends_refused <= answered);
    assert!(log.leaked_tokens <= log.reserved_tokens && (config.kv.leaks || log.leaked_tokens == 0));
    assert_eq!(log.reserved_tokens, log.leaked_tokens, "reservations of requests that have ended");
    if config.checks.contains(&Check::Concurrency) {
        let client =
            |id: usize| config.client.of(trace, RequestId::new(id as u32), config.client.count(trace));
        let at_engine = |of: Option<u32>| {
            let spans = (0..trace.len())
                .filter(|&id| of.is_none_or(|c| client(id) == ClientId::new(c)))
                .filter_map(|id| {
                    Some((log.forwarded_us[id], report.results[id].finish_us?))
                        .filter(|span| !span.0.is_nan())
                });
            most_at_once(spans)
        };
        assert!(at_engine(None) <= config.concurrency);
        (0..config.client.count(trace) as u32)
            .for_each(|c| assert!(at_engine(Some(c)) <= config.client_concurrency));
    }
    check_rates(report, config);
    check_reserved(report, config);
}

/// What the monitor reports of users, and of adapters, in all its windows is what the proxy itself had reserved.
fn check_reserved(report: &Report, config: &GatewayConfig) {
    let reported = log(report).reserved.as_ref();
    assert_eq!(reported.is_some(), config.checks.contains(&Check::Kv));
    for client in [Client::User, Client::Adapter] {
        let options = MonitorOptions { client, window_us: None, windows: 7, most: 2, slo: Slo::of_ttft(1.0) };
        let monitor = Monitor::measure(report, &options);
        let of_clients: Vec<f64> =
            monitor.clients.iter().filter_map(|totals| totals.reserved_token_s).collect();
        assert_eq!(of_clients.len(), if reported.is_some() { monitor.clients.len() } else { 0 });
        let in_windows: f64 = (0..monitor.cells.rows())
            .flat_map(|row| monitor.cells.row(row))
            .map(|cell| cell.reserved_token_us / 1e6)
            .sum();
        let total = reported.map_or(0.0, |reported| reported.total_token_us(monitor.end_us) / 1e6);
        for sum in [of_clients.iter().sum(), in_windows] {
            assert!((sum - total).abs() <= 1e-6 + 1e-9 * total, "{client:?}: {sum} of {total}");
        }
    }
}

/// No client is let through more often than its quota says; charges of requests that never went on count, if at all,
/// against it.
fn check_rates(report: &Report, config: &GatewayConfig) {
    let (trace, log) = (&report.trace, log(report));
    if !config.checks.contains(&Check::Rpm) || config.quotas.rpm == f64::INFINITY || config.quotas.refuses {
        return;
    }
    let clients = config.client.count(trace);
    for client in 0..clients as u32 {
        let mut times: Vec<f64> = (0..trace.len())
            .filter(|&id| {
                config.client.of(trace, RequestId::new(id as u32), clients) == ClientId::new(client)
            })
            .map(|id| log.forwarded_us[id])
            .filter(|at| !at.is_nan())
            .collect();
        times.sort_by(f64::total_cmp);
        for (i, &from) in times.iter().enumerate() {
            let span_us = 59.9e6;
            let count = times[i..].iter().filter(|&&at| at - from <= span_us).count() as f64;
            let rpm = config.quotas.rpm;
            let bound = match config.quotas.window {
                Window::Sliding => rpm,
                Window::Fixed => 2.0 * rpm,
                Window::Sub(length_us) => rpm * (1.0 + 2.0 * length_us / 60e6) + 1.0,
                Window::Bucket(burst_us) | Window::Gcra(burst_us) => rpm * (1.0 + burst_us / 60e6),
            };
            assert!(count <= bound + 1e-6, "client {client}: {count} in a minute, at most {bound}");
        }
    }
}

proptest! {
    #![proptest_config(servescope_testkit::cases(100, 1_000))]

    #[test]
    fn a_proxy_without_checks_changes_nothing(
        trace in any_trace(), config in any_config(), cost in any_cost(), replicas in any_fleet(),
    ) {
        // A client that goes away before its request comes in wakes an idle engine without a proxy and is judged by its bounds,
        // not one behind it.
        let mut trace = trace;
        let Trace { cancellations, arrival_us, closed_loop, .. } = &mut trace;
        cancellations.retain(|&(at_us, id)| closed_loop.is_none() && arrival_us[id as usize] <= at_us);
        let (trace, config) = (Arc::new(trace), server(config));
        let plain = Fleet::of_pool(Arc::clone(&trace), config, Box::new(cost)).run();
        let proxied = through(&trace, config, cost, transparent());
        prop_assert_eq!(plain.digest(), proxied.digest());
        prop_assert_eq!(&plain.results, &proxied.results);
        let plain = fleet(&trace, replicas, cost).run();
        let proxied = fleet(&trace, replicas, cost).with_gateway(transparent()).run();
        prop_assert_eq!(plain.digest(), proxied.digest());
        prop_assert_eq!(&plain.results, &proxied.results);
    }

    #[test]
    fn promises_are_kept_and_leaps_equal_steps(
        trace in any_trace(), config in any_config(), cost in any_cost(), gateway in any_gateway(),
    ) {
        let (trace, config) = (Arc::new(trace), server(config));
        let leaping = through(&trace, config, cost, gateway.clone());
        check_run(&leaping, &gateway);
        let stepping = Fleet::of_pool(trace, config, Box::new(cost)).with_gateway(gateway).without_fast_forward().run();
        prop_assert_eq!(&leaping.results, &stepping.results);
        prop_assert_eq!(&leaping.gateway, &stepping.gateway);
        prop_assert_eq!(leaping.digest(), stepping.digest());
    }

    #[test]
    fn the_same_before_a_fleet(
        trace in any_trace(), config in any_fleet(), cost in any_cost(), gateway in any_gateway(),
        order in any_order(),
    ) {
        let trace = Arc::new(trace);
        let fleet = || {
            let queueing = QueueConfig { policy: order.clone(), ..QueueConfig::default() };
            fleet(&trace, config, cost).with_queue_policy(queueing).with_gateway(gateway.clone()).with_decisions()
        };
        let leaping = fleet().run();
        check_run(&leaping, &gateway);
        let stepping = fleet().without_fast_forward().run();
        let (one, other) = (causes(&leaping), causes(&stepping));
        for (id, (one, other)) in one.iter().zip(&other).enumerate() {
            let is_close = one.iter().zip(other).all(|(a, b)| a.abs_diff(*b) <= 1_000);
            prop_assert!(is_close, "request {}: {:?} {:?}", id, one, other);
        }
        let decisions = |report: &Report| report.decisions.clone().unwrap();
        for (leaps, steps) in decisions(&leaping).iter().zip(decisions(&stepping).iter()) {
            prop_assert_eq!(leaps, steps);
        }
        prop_assert_eq!(decisions(&leaping).len(), decisions(&stepping).len());
        prop_assert_eq!(&leaping.results, &stepping.results);
        prop_assert_eq!(&leaping.gateway, &stepping.gateway);
        prop_assert_eq!(leaping.digest(), stepping.digest());
        let (report, mut steps) = recorded(fleet());
        prop_assert!(report == leaping, "to be stepped through changes the run");
        let (_, mut singly) = recorded(fleet().without_fast_forward());
        let forward = states(&mut singly);
        for (place, state) in forward.iter().enumerate().rev().step_by(3) {
            let back = steps.state(place).unwrap();
            prop_assert_eq!(&back.gateway, &state.gateway, "step {}", place);
            prop_assert_eq!(&back.replica, &state.replica, "step {}", place);
            check_forwarded(&steps.all()[place], &back);
        }
    }
}

/// A request that is forwarded is the first of those that may go.
fn check_forwarded(step: &DebugStep, state: &StepState) {
    let DebugStep::Decision(decision) = step else { return };
    if decision.verdict == Verdict::Forwarded {
        let gateway = state.gateway.as_ref().expect("the gateway decides");
        assert!(gateway.waiting.len() > gateway.held_back as usize);
        assert_eq!(Some(gateway.waiting[0].id), decision.request(), "{gateway:?}");
    }
}

proptest! {
    #![proptest_config(servescope_testkit::cases(50, 500))]

    /// Clients are names only: with other names the same happens to each request.
    #[test]
    fn renamed_clients_have_the_same_fates(
        trace in any_trace(), config in any_config(), cost in any_cost(), gateway in any_gateway(),
        turn in 1usize..4,
    ) {
        let gateway = GatewayConfig { client: Client::User, ..gateway };
        let config = server(config);
        let mut renamed = trace.clone();
        let mut names = trace.user.clone();
        names.sort_unstable();
        names.dedup();
        // Each takes the name of another one of them, so that their number stays.
        let other = |user: u32| names[(names.partition_point(|&name| name < user) + turn) % names.len()];
        renamed.user.iter_mut().for_each(|user| *user = other(*user));
        let plain = through(&Arc::new(trace), config, cost, gateway.clone());
        let renamed = through(&Arc::new(renamed), config, cost, gateway);
        prop_assert_eq!(&plain.results, &renamed.results);
        prop_assert_eq!(&log(&plain).forwarded_us.iter().map(|t| t.to_bits()).collect::<Vec<_>>(),
            &log(&renamed).forwarded_us.iter().map(|t| t.to_bits()).collect::<Vec<_>>());
    }
}

/// Iterations of 10 ms.
const TEN_MS: LinearCost = LinearCost {
    prefill_base_us: 1e4,
    prefill_per_token_us: 0.0,
    decode_base_us: 1e4,
    decode_per_request_us: 0.0,
    decode_per_kv_token_us: 0.0,
    overhead_us: 0.0,
    adapters: AdapterCost::FREE,
};

/// Requests of one user with prompts of 50 tokens and 20 tokens of output.
fn equal_requests<const COUNT: usize>(arrivals_us: [f64; COUNT]) -> Trace {
    requests(arrivals_us.map(|arrival_us| (arrival_us, 0, servescope_workload::BASE_MODEL, 50, 20)))
}

/// Two short requests of one user a millisecond apart: what the second one waits for at the gateway.
fn second_waits_for(gateway: GatewayConfig) -> (Cause, f64) {
    let trace = equal_requests([0.0, 1_000.0]);
    let fleet = fleet(&Arc::new(trace), PoolConfig::default(), TEN_MS);
    let sums = causes(&fleet.with_gateway(gateway).with_decisions().run())[1];
    let cause = Cause::ALL.into_iter().filter(|cause| cause.is_delay()).max_by_key(|&c| sums[c as usize]);
    let cause = cause.unwrap();
    (cause, sums[cause as usize] as f64 / 1e9)
}

#[test]
fn waiting_for_the_next_minute_is_a_rate_limit() {
    let quotas = Quotas { rpm: 1.0, window: Window::Sliding, ..Quotas::NONE };
    let held = GatewayConfig { checks: vec![Check::Rpm], quotas, ..transparent() };
    let (cause, seconds) = second_waits_for(held.clone());
    assert_eq!(cause, Cause::RateLimit);
    assert!((seconds - 60.0).abs() < 0.2, "{seconds}");
    // The same where attempts are rejected, and the client retries after Retry-After.
    let retries = RetryRule { kind: RetryKind::Honour, jitter: 0.0, ..held.retries };
    let quotas = Quotas { refuses: true, ..quotas };
    let (cause, seconds) = second_waits_for(GatewayConfig { quotas, retries, ..held });
    assert_eq!(cause, Cause::RateLimit);
    assert!((59.0..63.0).contains(&seconds), "{seconds}");
}

#[test]
fn waiting_for_a_place_at_the_engine_is_the_gateways_queue() {
    let one = GatewayConfig { checks: vec![Check::Concurrency], concurrency: 1, ..transparent() };
    assert_eq!(second_waits_for(one).0, Cause::GatewayQueue);
    // The first one's prompt and output are 70 tokens of the 100 that the gateway knows.
    let kv = GatewayConfig { checks: vec![Check::Kv], pool_tokens: 100.0, ..transparent() };
    assert_eq!(second_waits_for(kv).0, Cause::KvMemory);
}

/// Every second request that ends keeps its place: of two places none is left after four requests.
#[test]
fn leaked_slots_at_the_engine_stop_the_gateway() {
    let trace = Arc::new(equal_requests([0.0, 2e6, 4e6, 6e6, 8e6, 10e6]));
    let run = |gateway: GatewayConfig| {
        let fleet = fleet(&trace, PoolConfig::default(), TEN_MS);
        fleet.with_gateway(GatewayConfig { checks: vec![Check::Concurrency], ..gateway }).run()
    };
    let leaky = GatewayConfig { slot_leak: 0.5, ..transparent() };
    for gateway in [
        GatewayConfig { concurrency: 2, ..leaky.clone() },
        GatewayConfig { client_concurrency: 2, ..leaky.clone() },
    ] {
        let report = run(gateway.clone());
        let completed = (0..6).filter(|&id| report.is_completed(id)).count();
        assert_eq!((completed, report.gateway.as_ref().unwrap().leaked_slots), (4, 2));
        let sound = run(GatewayConfig { slot_leak: 0.0, ..gateway });
        assert!((0..6).all(|id| sound.is_completed(id)));
    }
}

/// The client of the first request goes away, and the gateway never frees its reservation: the others wait for KV memory. The clients of
/// the second and the fourth go away later. The third request waits for ever; the gateway looks at it after the last iteration, when the
/// fifth arrives.
#[test]
fn a_request_that_waits_for_ever_holds_those_behind_it() {
    let mut trace = equal_requests([0.0, 1_000.0, 2_000.0, 3_000.0, 5e6]);
    trace.cancellations.extend([(55e3, 0), (4e6, 1), (7e6, 3)]);
    let kv = KvRule { leaks: true, ..transparent().kv };
    let gateway = GatewayConfig { checks: vec![Check::Kv], pool_tokens: 100.0, kv, ..transparent() };
    let fleet = fleet(&Arc::new(trace), PoolConfig::default(), TEN_MS);
    let report = fleet.with_gateway(gateway).with_decisions().run();
    let mut decisions = report.decisions.as_deref().unwrap().iter();
    assert!(
        decisions.any(|decision| decision.request() == Some(RequestId::new(2)) && decision.time_us == 5e6)
    );
    let (end_us, sums) = (report.end_us(), causes(&report));
    assert!((55e3..1e5).contains(&end_us), "{end_us}");
    let memory_us = |id: usize| sums[id][Cause::KvMemory as usize] as f64 / 1e3;
    assert_eq!(memory_us(2), end_us - 2_000.0, "{sums:?}");
    // From 4 s, when the second one's client went away, to 5 s no one looked at the queue.
    assert_eq!(memory_us(3), (4e6 - 3_000.0) + 2e6, "{sums:?}");
}
