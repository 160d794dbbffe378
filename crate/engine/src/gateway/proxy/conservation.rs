//! Whole runs, about a million moves in all: at every sample what is reserved is what the requests at the engine explain, and
//! when all is over it is nothing.

use std::cell::Cell;
use std::sync::Arc;

use servescope_cost::{AdapterCost, Batch, BatchCost, LinearCost, StageTime};
use servescope_workload::BASE_MODEL;
use servescope_workload::trace::Request;

use super::super::config::{Check, KvRule, Quotas, RetryKind, RetryRule, Timeout};
use super::super::load::{LoadPolicy, OverloadConfig};
use super::super::prediction::{LengthSource, PredictorConfig};
use super::*;
use crate::client::Client;
use crate::config::{PoolConfig, Preemption, SchedulerKind};
use crate::engine::Fleet;
use crate::replica::queue::QueuePolicy;
use crate::replica::queue::VtcConfig;
use crate::{Outcome, Report};

const REQUESTS: u32 = 24_000;
const POOL_TOKENS: u32 = 4_000;
const RUNS: u64 = 8;
/// Requests of a run with every scheduler.
const FEWER: u32 = 1_500;

/// Tokens that the engine held of each request at the last look; `None` = it was in no batch, or not there yet.
pub(super) type Seen = Vec<Option<u32>>;

thread_local! {
    /// Samples that were explained, and requests at the engine in all of them.
    static EXPLAINED: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

impl Proxy {
    /// A look is taken: the engine is asked for every request with a reservation.
    pub(super) fn note_what_is_seen(&mut self, at_us: f64, probe: &dyn KvUsageProbe) {
        let mut held = Vec::new();
        let open: Vec<RequestId> = self.reservations.open().iter().map(|entry| entry.id).collect();
        probe.held_tokens(&open, at_us, &mut held);
        for (id, tokens) in open.into_iter().zip(held) {
            self.seen[id] = tokens;
        }
    }

    /// A look was taken: it asked for the requests that may hold memory, and each reservation is what it is when all are asked for.
    pub(super) fn compare_with_all(&self) {
        for entry in self.reservations.open() {
            let left = entry.predicted.saturating_sub(self.seen[entry.id].unwrap_or(0));
            assert_eq!(entry.left, left, "{:?}", entry.id);
        }
    }

    /// What is reserved follows from the requests at the engine, what was predicted of them, and how many tokens they held when the
    /// usage was last read.
    pub(super) fn explain(&self, trace: &Trace) {
        let at_engine = |id: &usize| self.place[*id] == Place::AtEngine;
        let (mut reserved, mut there) = (0, 0);
        for id in (0..trace.len()).filter(at_engine) {
            let predicted = trace.input_tokens[id] + self.log.passages[id].predicted_tokens;
            reserved += u64::from(predicted.saturating_sub(self.seen[id].unwrap_or(0)));
            there += 1;
        }
        assert_eq!(self.reservations.reserved() - self.reservations.leaked(), reserved);
        assert_eq!(self.reservations.open().len() as u64, there);
        let (samples, requests) = EXPLAINED.get();
        EXPLAINED.set((samples + 1, requests + there));
    }
}

/// Bursts beyond what the engine can do, a part of the clients impatient.
fn trace(seed: u64, requests: u32) -> Trace {
    let mut draws = Stream::named(seed, "conservation");
    let mut trace = Trace::default();
    let mut arrival_us = 0.0;
    for id in 0..requests {
        let is_burst = (id / 500) % 3 == 0;
        arrival_us += if is_burst { 3e3 } else { 9e3 } * draws.uniform() * 2.0;
        let output_tokens = 1 + (draws.bits() % 60) as u32;
        trace.push(Request {
            arrival_us,
            user: (draws.bits() % 40) as u32,
            adapter: BASE_MODEL,
            input_tokens: 1 + (draws.bits() % 120) as u32,
            output_tokens,
            max_tokens: output_tokens + (draws.bits() % 40) as u32,
        });
        if draws.bits().is_multiple_of(6) {
            trace.cancellations.push((arrival_us + 3e6 * draws.uniform(), id));
        }
    }
    trace.cancellations.sort_by(|a, b| a.0.total_cmp(&b.0));
    trace
}

fn gateway(seed: u64) -> GatewayConfig {
    let kind = [RetryKind::Backoff, RetryKind::Honour, RetryKind::AtOnce][seed as usize % 3];
    let source = [LengthSource::Noisy, LengthSource::MaxTokens, LengthSource::History][seed as usize % 3];
    GatewayConfig {
        checks: vec![Check::Concurrency, Check::Queue, Check::Kv],
        client: Client::User,
        quotas: Quotas::NONE,
        concurrency: 100,
        client_concurrency: 20,
        slot_leak: 0.0,
        queue_requests: 150,
        queue_tokens: f64::INFINITY,
        kv: KvRule { headroom_tokens: 100.0, lag_us: [0.0, 1e5, 1e6][seed as usize % 3], leaks: false },
        ttft_bound_us: f64::INFINITY,
        estimate_over_us: 30e6,
        timeout: Timeout::Fixed(5e5),
        sweep_us: 50e3,
        retries: RetryRule { kind, most: 4, round_trip_us: 5e4, base_us: 2e5, cap_us: 2e6, jitter: 1.0 },
        lengths: PredictorConfig {
            source,
            bias: 1.0,
            noise: 0.5,
            quantile: 0.9,
            half_life: 50.0,
            cold_start: 5,
        },
        load: OverloadConfig {
            kv_share: f64::INFINITY,
            wait_us: f64::INFINITY,
            step_us: f64::INFINITY,
            near: 0.8,
            hysteresis: 0.1,
            average_us: 0.0,
            dwell_us: 0.0,
            policy: LoadPolicy::AdmitAll,
        },
        queue_policy: if seed.is_multiple_of(2) {
            QueuePolicy::Fcfs
        } else {
            QueuePolicy::Vtc(VtcConfig::default())
        },
        pool_tokens: f64::from(POOL_TOKENS),
        seed,
    }
}

const COST: LinearCost = LinearCost {
    prefill_base_us: 2e3,
    prefill_per_token_us: 20.0,
    decode_base_us: 5e3,
    decode_per_request_us: 50.0,
    decode_per_kv_token_us: 0.1,
    overhead_us: 0.0,
    adapters: AdapterCost::FREE,
};

/// Attempts, admissions, and ends of every kind.
fn moves(report: &Report) -> u64 {
    let log = report.gateway.as_deref().expect("there was a proxy");
    assert!(report.results.iter().all(|result| result.outcome != Outcome::Unfinished));
    assert_eq!((log.reserved_tokens, log.leaked_tokens), (0, 0), "all have ended");
    let admitted: Vec<usize> =
        (0..report.results.len()).filter(|&id| !log.forwarded_us[id].is_nan()).collect();
    let gone = admitted.iter().filter(|&&id| report.results[id].outcome == Outcome::Cancelled).count() as u64;
    let admitted = admitted.len() as u64;
    // Every kind of move is there.
    assert!(admitted > 5_000 && gone > 100 && log.timeouts > 1_000, "{admitted} {gone} {}", log.timeouts);
    let attempts: u64 = log.passages.iter().map(|passage| u64::from(passage.attempts)).sum();
    assert!(attempts > u64::from(REQUESTS) + 1_000, "{attempts} attempts");
    attempts + log.timeouts + 2 * admitted
}

#[test]
fn nothing_is_lost_before_the_loop_of_slora_and_before_a_fleet() {
    let config = PoolConfig { blocks: POOL_TOKENS, ..PoolConfig::slora() };
    let fleet = PoolConfig {
        scheduler: SchedulerKind::Vllm,
        replicas: 2,
        blocks: POOL_TOKENS / 16 / 2,
        block_size: 16,
        max_requests: 60,
        preemption: Preemption::Recompute,
        ..PoolConfig::default()
    };
    let mut all = 0;
    for seed in 0..RUNS {
        let trace = Arc::new(trace(seed, REQUESTS));
        let looped =
            Fleet::of_pool(Arc::clone(&trace), config, Box::new(COST)).with_gateway(gateway(seed)).run();
        let spread = Fleet::of_pool(trace, fleet, Box::new(COST)).with_gateway(gateway(seed)).run();
        all += moves(&looped) + moves(&spread);
    }
    assert!(all >= 1_000_000, "{all} moves");
    let (samples, requests) = EXPLAINED.get();
    assert!(samples > 10_000 && requests > 10 * samples, "{requests} requests in {samples} samples");
}

/// The same cost on some pipeline stages.
#[derive(Debug)]
struct OnStages(u32);

impl BatchCost for OnStages {
    fn stages(&self) -> u32 {
        self.0
    }

    fn stage_time(&self, batch: &Batch<'_>, is_last: bool) -> StageTime {
        COST.stage_time(batch, is_last)
    }
}

/// [`Proxy::compare_with_all`] at every look, of requests that wait, are preempted in every way, and go away.
#[test]
fn a_look_at_running_requests_sees_what_a_look_at_all_requests_sees() {
    use SchedulerKind::{LightLlm, Orca, Sarathi, Slora, Static, Vllm, VllmV1};
    let swap = Preemption::Swap { host_blocks: 40, us_per_block: 10.0 };
    let mut preemptions = [0; 3];
    for scheduler in [Static, Orca, Vllm, Sarathi, LightLlm, VllmV1, Slora] {
        for (k, preemption) in [Preemption::Recompute, Preemption::Regenerate, swap].into_iter().enumerate() {
            let stages = if matches!(scheduler, LightLlm | Slora) { 1 } else { 1 + k as u32 % 2 };
            let base = if scheduler == Slora { PoolConfig::slora() } else { PoolConfig::default() };
            let block_size = if scheduler == Slora { 1 } else { 16 };
            let config = PoolConfig {
                scheduler,
                replicas: 1,
                blocks: POOL_TOKENS / 4 / block_size,
                block_size,
                max_requests: 60,
                max_slots: 4,
                max_request_tokens: 180,
                watermark_blocks: 0,
                preemption,
                ..base
            };
            let trace = Arc::new(trace(k as u64, FEWER));
            // Room for more than the pool has, so that requests wait at the engine and are preempted there.
            let mut gateway = gateway(k as u64);
            gateway.pool_tokens *= 4.0;
            gateway.kv.lag_us = 0.0;
            let report =
                Fleet::of_pool(trace, config, Box::new(OnStages(stages))).with_gateway(gateway).run();
            let log = report.gateway.as_deref().expect("there was a proxy");
            assert_eq!((log.reserved_tokens, log.leaked_tokens), (0, 0), "all have ended");
            preemptions[k] += report.preemptions;
        }
    }
    assert!(preemptions.iter().all(|&count| count > 20), "{preemptions:?}");
}
