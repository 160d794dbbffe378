//! Fleets in settings whose answers are known in closed form.

use std::sync::Arc;

use crate::given::fleet;
use servescope_cost::{AdapterCost, LinearCost};
use servescope_engine::{Fleet, FleetConfig, Outcome, PoolConfig, Report, SchedulerKind, VllmRules};
use servescope_workload::stream::Stream;
use servescope_workload::trace::Request;
use servescope_workload::{BASE_MODEL, Trace};

fn poisson(
    count: usize,
    rate_rps: f64,
    seed: u64,
    lengths: impl Fn(&mut Stream) -> (u32, u32),
) -> Arc<Trace> {
    let mut draws = Stream::named(seed, "fleet_laws");
    let mut trace = Trace::with_capacity(count);
    let mut now_us = 0.0;
    for _ in 0..count {
        now_us -= libm::log(draws.uniform()) / rate_rps * 1e6;
        let (input_tokens, output_tokens) = lengths(&mut draws);
        trace.push(Request {
            arrival_us: now_us,
            user: 0,
            adapter: BASE_MODEL,
            input_tokens,
            output_tokens,
            max_tokens: output_tokens,
        });
    }
    Arc::new(trace)
}

fn cost(base_ms: f64, per_request_ms: f64) -> LinearCost {
    LinearCost {
        prefill_base_us: 0.0,
        prefill_per_token_us: 0.0,
        decode_base_us: base_ms * 1e3,
        decode_per_request_us: per_request_ms * 1e3,
        decode_per_kv_token_us: 0.0,
        overhead_us: 0.0,
        adapters: AdapterCost::FREE,
    }
}

/// One replica whose memory and bounds hold back no request. The closed forms know one batch at a time.
fn roomy() -> PoolConfig {
    PoolConfig {
        scheduler: SchedulerKind::VllmV1,
        blocks: 1_000_000,
        watermark_blocks: 0,
        max_requests: 100_000,
        max_slots: 100_000,
        max_batch_tokens: 100_000,
        chunk_tokens: 100_000,
        decode_steps_between_prefills: 0,
        vllm: VllmRules { async_scheduling: false, ..VllmRules::default() },
        ..PoolConfig::default()
    }
}

/// Mean over the requests after the first tenth.
fn mean_s(report: &Report, of: impl Fn(&Report, usize) -> Option<f64>) -> f64 {
    let count = report.results.len();
    let values: Vec<f64> = (count / 10..count).filter_map(|id| of(report, id)).collect();
    values.iter().sum::<f64>() / values.len() as f64 / 1e6
}

/// M/D/1: one request at a time, each of 101 tokens at 10 ms, so S = 1 s. Wait = rho S / (2 (1 - rho)).
#[test]
fn one_at_a_time_waits_as_m_d_1() {
    let kinds = [SchedulerKind::Static, SchedulerKind::Orca, SchedulerKind::Vllm, SchedulerKind::Sarathi];
    for scheduler in kinds.into_iter().chain([SchedulerKind::LightLlm, SchedulerKind::VllmV1]) {
        let mut waits = Vec::new();
        for seed in 0..6 {
            let block_size = if scheduler == SchedulerKind::LightLlm { 1 } else { 16 };
            let config = PoolConfig { scheduler, max_requests: 1, max_slots: 1, block_size, ..roomy() };
            let trace = poisson(60_000, 0.6, seed, |_| (1, 101));
            let report = Fleet::of_pool(trace, config, Box::new(cost(10.0, 0.0))).run();
            waits.push(mean_s(&report, |r, id| Some(r.scheduled_us(id)? - r.trace.arrival_us[id])));
        }
        let wait = waits.iter().sum::<f64>() / waits.len() as f64;
        assert!((wait - 0.75).abs() < 0.02, "{scheduler:?}: {wait} s instead of 0.75 s");
    }
}

/// An answer of geometric length that decodes for `mean` steps, and so a service time near an exponential one.
fn geometric(mean: f64) -> impl Fn(&mut Stream) -> (u32, u32) {
    move |draws| (1, 2 + (libm::log(draws.uniform()) / libm::log(1.0 - 1.0 / mean)) as u32)
}

/// M/M/1 whose customers wait at most 2 s (Barrer 1957): of those at rho = 0.8, (1 - rho) rho e / (1 - rho^2 e) leave, with
/// e = exp(-(mu - lambda) tau).
#[test]
fn impatient_clients_leave_as_in_m_m_1_d() {
    for (rate, expected) in [(0.8, 0.1878), (1.2, 0.3118)] {
        let mut shares = Vec::new();
        for seed in 0..5 {
            let config = PoolConfig { max_requests: 1, ..roomy() };
            let rules = FleetConfig { queue_timeout_us: 2e6, ..FleetConfig::default() };
            let report =
                fleet(poisson(40_000, rate, seed, geometric(100.0)), (rules, config), cost(10.0, 0.0)).run();
            let left = report.results.iter().filter(|f| f.outcome == Outcome::TimedOut).count();
            shares.push(left as f64 / report.results.len() as f64);
        }
        let share = shares.iter().sum::<f64>() / shares.len() as f64;
        assert!((share / expected - 1.0).abs() < 0.02, "at {rate}/s {share} leave instead of {expected}");
    }
}

/// Erlang's loss formula: 10 places over two replicas, steps that do not depend on the batch, 8 erlang: 0.1217 are rejected.
/// A newcomer waits for the step under way, so steps are short.
#[test]
fn a_full_fleet_refuses_as_erlang_says() {
    let config = PoolConfig { replicas: 2, max_request_tokens: 100_000, ..roomy() };
    let rules = FleetConfig { max_in_system: 10, ..FleetConfig::default() };
    let report = fleet(poisson(120_000, 8.0, 1, geometric(1_000.0)), (rules, config), cost(1.0, 0.0)).run();
    let refused = report.results.iter().filter(|f| matches!(f.outcome, Outcome::Rejected(_))).count();
    let share = refused as f64 / report.results.len() as f64;
    assert!((share / 0.1217 - 1.0).abs() < 0.02, "{share} are refused instead of 0.1217");
}

/// Decoding shared by all running requests, steps of a + b B: processor sharing with a speed by state, which is insensitive
/// (Cohen 1979), so the mean sojourn depends on the mean length only: m (a + b) / (1 - lambda m b).
#[test]
fn decoding_together_is_processor_sharing() {
    let (a, b, m) = (0.012, 0.000_25, 200.0);
    for (rate, replicas) in [(8.0, 1), (14.0, 1), (28.0, 2)] {
        let config = PoolConfig { replicas, ..roomy() };
        // A first token is free here, so an answer has one more than it decodes.
        let trace = poisson(60_000, rate, 3, |_| (1, 201));
        let report = Fleet::of_pool(trace, config, Box::new(cost(a * 1e3, b * 1e3))).run();
        let e2e = mean_s(&report, Report::e2e_us);
        let each = rate / f64::from(replicas);
        let expected = m * (a + b) / (1.0 - each * m * b);
        assert!(
            (e2e / expected - 1.0).abs() < 0.02,
            "{rate}/s on {replicas}: {e2e} s instead of {expected} s"
        );
    }
}
