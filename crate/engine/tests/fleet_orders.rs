//! Scheduling policies in the queues of a fleet: shares, what is charged, which request is before which.

use servescope_engine::ReplicaIndex;
use servescope_engine::queue::ClientId;
use std::sync::Arc;

use crate::given::requests;
use proptest::prelude::*;
use servescope_cost::{Batch, BatchCost, StageTime};
use servescope_engine::explain::at_arrival;
use servescope_engine::queue::DrrConfig;
use servescope_engine::queue::OutputAccounting;
use servescope_engine::queue::{Client, QueueConfig, QueuePolicy};
use servescope_engine::queue::{Lift, Prediction, TokenCost, VtcConfig};
use servescope_engine::{Fleet, Outcome, PoolConfig, Rejection, Report, SchedulerKind};
use servescope_workload::{BASE_MODEL, Trace};

/// Iterations of 5 ms, 0.1 ms a prompt token and a request.
#[derive(Debug, Clone, Copy)]
struct Plain;

impl BatchCost for Plain {
    fn stages(&self) -> u32 {
        1
    }

    fn stage_time(&self, batch: &Batch<'_>, _is_last: bool) -> StageTime {
        let us = 5_000.0 + 100.0 * f64::from(batch.prompt_tokens() + batch.decodes);
        if batch.chunks.is_empty() {
            StageTime { first_us: us, growth_us: 0.0, valid_iterations: u32::MAX }
        } else {
            StageTime::once(us)
        }
    }
}

/// One replica of vLLM's V1 scheduler for some 20 requests.
fn v1() -> PoolConfig {
    PoolConfig {
        scheduler: SchedulerKind::VllmV1,
        blocks: 250,
        block_size: 16,
        watermark_blocks: 2,
        max_requests: 64,
        max_batch_tokens: 512,
        max_request_tokens: 1_000,
        ..PoolConfig::default()
    }
}

/// (arrival in microseconds, user, prompt, answer), in order of arrival.
fn trace(rows: impl IntoIterator<Item = (f64, u32, u32, u32)>) -> Arc<Trace> {
    Arc::new(requests(
        rows.into_iter().map(|(at, user, input, output)| (at, user, BASE_MODEL, input, output)),
    ))
}

fn serve(trace: &Arc<Trace>, config: PoolConfig, order: QueuePolicy) -> Report {
    let queueing = QueueConfig { policy: order, ..QueueConfig::default() };
    Fleet::of_pool(Arc::clone(trace), config, Box::new(Plain)).with_queue_policy(queueing).run()
}

fn vtc(weights: &[f64]) -> QueuePolicy {
    QueuePolicy::Vtc(VtcConfig {
        weights: weights.to_vec(),
        accounting: OutputAccounting::Ideal,
        ..VtcConfig::default()
    })
}

fn turns(weights: &[f64]) -> QueuePolicy {
    let quantum = Some(500.0);
    QueuePolicy::Drr(DrrConfig {
        weights: weights.to_vec(),
        accounting: OutputAccounting::Ideal,
        quantum,
        ..DrrConfig::default()
    })
}

/// Both users always wait for the first 60 s: user 0 sends six requests in the time in which user 1 sends two.
fn greedy() -> Arc<Trace> {
    trace((0..8_000u32).map(|i| {
        let user = u32::from(i % 4 == 3);
        (f64::from(i) * 5e3, user, 60 + i % 50, 40 + i % 31)
    }))
}

/// Prompt tokens once and output tokens twice of what a user's requests were served by a time, to the iteration.
fn service(report: &Report, user: u32, at_us: f64) -> f64 {
    let own = (0..report.results.len()).filter(|&id| report.trace.user[id] == user);
    own.map(|id| {
        let (Some(first), Some(end)) = (report.first_token_us(id), report.results[id].finish_us) else {
            return 0.0;
        };
        if first > at_us {
            return 0.0;
        }
        let output = f64::from(report.trace.output_tokens[id]);
        let share = if end <= at_us { 1.0 } else { (at_us - first) / (end - first) };
        f64::from(report.trace.input_tokens[id]) + 2.0 * (1.0 + share * (output - 1.0))
    })
    .sum()
}

/// The last time at which both users have a request in the queue.
fn backlogged_until(report: &Report) -> f64 {
    let last = |user: u32| {
        let own = (0..report.results.len()).filter(|&id| report.trace.user[id] == user);
        own.filter_map(|id| report.scheduled_us(id)).fold(0.0, f64::max)
    };
    last(0).min(last(1)).min(report.trace.arrival_us[report.results.len() - 1])
}

#[test]
fn backlogged_clients_get_what_their_weights_say() {
    let (trace, config) = (greedy(), v1());
    for (order, ratio) in [
        (vtc(&[1.0, 1.0]), 1.0),
        (vtc(&[1.0, 2.0]), 2.0),
        (turns(&[1.0, 1.0]), 1.0),
        (turns(&[1.0, 2.0]), 2.0),
    ] {
        let report = serve(&trace, config, order.clone());
        let until = backlogged_until(&report);
        assert!(until > 20e6, "{until}");
        let [first, second] = [0, 1].map(|user| service(&report, user, until));
        assert!((second / first / ratio - 1.0).abs() < 0.05, "{order:?}: {first} and {second}");
    }
    let report = serve(&trace, config, QueuePolicy::Fcfs);
    let [first, second] = [0, 1].map(|user| service(&report, user, backlogged_until(&report)));
    assert!(second / first < 0.4, "{first} and {second}");
}

/// VTC, theorem 4.4: of two backlogged clients neither is served more than 2 max(w_in L_in, w_out M) ahead.
#[test]
fn the_service_gap_is_bounded() {
    let (trace, config) = (greedy(), v1());
    let pool = f64::from(config.blocks * config.block_size);
    let bound = 2.0 * f64::max(110.0, 2.0 * pool);
    let largest = |order: QueuePolicy| {
        let report = serve(&trace, config, order);
        let until = backlogged_until(&report).min(30e6);
        let gap = |at: f64| (service(&report, 0, at) - service(&report, 1, at)).abs();
        (1..=100).map(|i| gap(until * f64::from(i) / 100.0)).fold(0.0, f64::max)
    };
    let (fair, fcfs) = (largest(vtc(&[])), largest(QueuePolicy::Fcfs));
    assert!(fair <= bound, "{fair} of {bound}");
    assert!(fcfs > bound, "first come, first served passes it: {fcfs}");
    assert!(largest(turns(&[])) <= bound);
}

#[test]
fn shortest_first_lowers_the_mean_wait() {
    let trace = trace((0..1_500u32).map(|i| (f64::from(i) * 8e3, 0, 40, 1 + (i * i) % 120)));
    let wait = |order| {
        let report = serve(&trace, v1(), order);
        let waits: Vec<f64> =
            (0..1_500).map(|id| report.scheduled_us(id).unwrap() - trace.arrival_us[id]).collect();
        waits.iter().sum::<f64>() / 1_500.0
    };
    let (shortest, fcfs) = (wait(QueuePolicy::Sjf), wait(QueuePolicy::Fcfs));
    assert!(shortest < 0.7 * fcfs, "{shortest} of {fcfs}");
}

#[test]
fn classes_go_first_and_ageing_makes_up_for_them() {
    let trace = trace((0..1_000u32).map(|i| (f64::from(i) * 8e3, i % 2, 60, 60)));
    // The longest waits by class, of the requests that are admitted by a time.
    let waits = |ageing_us, until_us: f64| {
        let report = serve(&trace, v1(), QueuePolicy::Priority { classes: vec![1.0, 0.0], ageing_us });
        [0, 1].map(|user| {
            let own = (0..1_000).filter(|&id| trace.user[id] == user);
            let starts =
                own.map(|id| (id, report.scheduled_us(id).unwrap())).filter(|start| start.1 < until_us);
            starts.map(|(id, at)| at - trace.arrival_us[id]).fold(0.0, f64::max)
        })
    };
    let [low, high] = waits(1e9, f64::INFINITY);
    assert!(high < 0.5 * low, "{high} and {low}");
    // With ageing of 1 s a class is worth 1 s of waiting.
    let [low, high] = waits(1e6, trace.arrival_us[999]);
    assert!((low - high - 1e6).abs() < 0.2e6, "{low} and {high}");
}

#[test]
fn the_newest_is_next_and_those_admitted_before_a_request_are_counted() {
    // The first fills the replica; then three wait.
    let config = PoolConfig { max_requests: 1, ..v1() };
    let trace = trace([(0.0, 0, 50, 50), (1.0, 0, 50, 9), (2.0, 0, 50, 9), (3.0, 0, 50, 9)]);
    let report = serve(&trace, config, QueuePolicy::Lifo);
    let starts: Vec<f64> = (0..4).map(|id| report.scheduled_us(id).unwrap()).collect();
    assert!(starts[3] < starts[2] && starts[2] < starts[1], "{starts:?}");
    assert_eq!([1, 2, 3].map(|id| at_arrival(&report, id).ahead), [0, 0, 0]);
    let report = serve(&trace, config, QueuePolicy::Fcfs);
    assert_eq!([1, 2, 3].map(|id| at_arrival(&report, id).ahead), [0, 1, 2]);
}

#[test]
fn requests_a_minute_are_counted_by_the_replica() {
    let trace = trace((0..40u32).map(|i| (f64::from(i) * 1e3, i % 2, 10, 3)));
    for replicas in [1, 2] {
        // In turn: each replica serves one of the users.
        let config = PoolConfig { replicas, ..v1() };
        let report = serve(&trace, config, QueuePolicy::Rpm { limit: 7 });
        let refused = report.results.iter().filter(|f| f.outcome == Outcome::Rejected(Rejection::RateLimit));
        assert_eq!(refused.count(), 40 - 14);
    }
}

/// A request that was preempted under priority goes back to its place: a better class that came meanwhile is before it.
#[test]
fn priority_takes_the_evicted_back_in_its_place() {
    let config = PoolConfig { blocks: 20, watermark_blocks: 0, ..v1() };
    let rows = [(0.0, 1, 100, 150), (1.0, 1, 100, 150), (400e3, 0, 90, 20)];
    let classes = |classes: &[f64]| QueuePolicy::Priority { classes: classes.to_vec(), ageing_us: 1e9 };
    let comes_in_time = |order| {
        let report = serve(&trace(rows), config, order);
        assert!(report.preemptions > 0 && report.preemptions(1) > 0);
        report.scheduled_us(2).unwrap() < report.results[0].finish_us.unwrap()
    };
    assert!(comes_in_time(classes(&[0.0, 1.0])));
    assert!(!comes_in_time(classes(&[1.0, 0.0])));
    assert!(!comes_in_time(QueuePolicy::Fcfs), "first come, first served the evicted stand ahead");
}

fn any_rows() -> impl Strategy<Value = Vec<(f64, u32, u32, u32)>> {
    let row = (prop_oneof![Just(0u32), 0u32..60_000], 0u32..4, 1u32..120, 1u32..60);
    prop::collection::vec(row, 1..60).prop_map(|rows| {
        let mut now = 0.0;
        let row = |(gap, user, input, output)| {
            now += f64::from(gap);
            (now, user, input, output)
        };
        rows.into_iter().map(row).collect()
    })
}

fn any_counting() -> impl Strategy<Value = QueuePolicy> {
    let accounting = prop_oneof![Just(OutputAccounting::Slora), Just(OutputAccounting::Ideal)];
    let prediction = prop_oneof![Just(Prediction::None), Just(Prediction::History), Just(Prediction::Given)];
    let cost = prop_oneof![Just(TokenCost::Linear), Just(TokenCost::Profile)];
    prop_oneof![
        (accounting.clone(), prediction, cost).prop_map(|(accounting, prediction, cost)| QueuePolicy::Vtc(
            VtcConfig { accounting, prediction, cost, lift: Lift::Never, ..VtcConfig::default() }
        )),
        accounting.prop_map(|accounting| QueuePolicy::Drr(DrrConfig { accounting, ..DrrConfig::default() })),
    ]
}

fn any_fleet() -> impl Strategy<Value = PoolConfig> {
    // SGLang's waiting queue knows no clients.
    let kinds = SchedulerKind::ALL.into_iter().filter(|&kind| kind != SchedulerKind::Sglang);
    (prop::sample::select(kinds.collect::<Vec<_>>()), 1u32..3, 12u32..40).prop_map(
        |(scheduler, replicas, blocks)| {
            let config = PoolConfig {
                scheduler,
                replicas,
                blocks,
                block_size: 16,
                watermark_blocks: 1,
                max_requests: 8,
                max_slots: 3,
                max_request_tokens: 180,
                max_batch_tokens: 180,
                chunk_tokens: 64,
                ..PoolConfig::default()
            };
            match scheduler {
                SchedulerKind::LightLlm => PoolConfig { block_size: 1, blocks: blocks * 16, ..config },
                _ => config,
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..servescope_testkit::cases(20, 100) })]

    /// Without lift a counter is what a client's requests are charged, evictions or not: the prompt, and all output tokens
    /// but the first, or all. What was charged ahead is given back.
    #[test]
    fn counters_are_what_was_served(rows in any_rows(), order in any_counting(), config in any_fleet()) {
        let trace = trace(rows);
        let report = serve(&trace, config, order.clone());
        let counters = report.counters.as_ref().unwrap();
        prop_assert!(counters.samples.iter().all(|sample| sample.values.len() <= counters.values.len()));
        let QueuePolicy::Vtc(rule) = &order else { return Ok(()) };
        // S-LoRA's predicting variants are those of VTC's artifact, which its own vectors hold.
        let is_artifacts = config.scheduler == SchedulerKind::Slora || rule.accounting == OutputAccounting::Slora;
        if rule.prediction != Prediction::None && is_artifacts {
            return Ok(());
        }
        let free = if rule.accounting == OutputAccounting::Slora { 1.0 } else { 0.0 };
        for &(client, value) in &counters.values {
            let own = (0..trace.len()).filter(|&id| {
                trace.user[id] == client.get() && report.results[id].outcome == Outcome::Completed
            });
            let due: f64 = own.map(|id| {
                let (input, output) = (f64::from(trace.input_tokens[id]), f64::from(trace.output_tokens[id]));
                let cost = servescope_engine::queue::token_cost::profiled_cost;
                match rule.cost {
                    TokenCost::Linear => input + 2.0 * (output - free),
                    // S-LoRA charges an iteration before it has made its token: it is the last one that is free.
                    TokenCost::Profile if config.scheduler == SchedulerKind::Slora => cost(input, output - free),
                    TokenCost::Profile => cost(input, output) - free * (cost(input, 1.0) - cost(input, 0.0)),
                }
            }).sum();
            prop_assert!((value - due).abs() <= 1e-9 * due, "client {client}: {value}, due {due}");
        }
    }

    /// Orders that rank clients serve first come, first served inside one, on each replica.
    #[test]
    fn a_client_is_served_in_turn(rows in any_rows(), order in any_counting(), config in any_fleet()) {
        let trace = trace(rows);
        let report = serve(&trace, config, order);
        for client in 0..4 {
            for replica in ReplicaIndex::first(report.replicas.len()) {
                let own = (0..trace.len()).filter(|&id| trace.user[id] == client && report.replica(id) == replica);
                let starts: Vec<f64> = own.filter_map(|id| report.scheduled_us(id)).collect();
                prop_assert!(starts.is_sorted());
            }
        }
    }

    /// Clients are names: other ones make the same run.
    #[test]
    fn renaming_users_permutes_results(
        rows in any_rows(),
        order in any_counting(),
        config in any_fleet(),
        names in Just(vec![0u32, 1, 2, 3]).prop_shuffle(),
    ) {
        let plain = trace(rows.iter().copied());
        let renamed = trace(rows.iter().map(|&(at, user, i, o)| (at, names[user as usize], i, o)));
        let (a, b) = (serve(&plain, config, order.clone()), serve(&renamed, config, order));
        prop_assert_eq!(&a.results, &b.results);
        prop_assert_eq!(&a.served, &b.served);
        let mapped: Vec<(ClientId, f64)> =
            a.counters.unwrap().values.iter().map(|&(client, value)| (ClientId::new(names[client]), value)).collect();
        prop_assert_eq!(mapped, b.counters.unwrap().values);
    }

    /// Weights that are all multiples of one number are those without it: ties stay ties.
    #[test]
    fn only_ratios_of_weights_count(
        rows in any_rows(), config in any_fleet(), ratios in prop::sample::select(&[[1.0, 1.0, 1.0, 1.0], [1.0, 2.0, 3.0, 2.0]][..]),
        factor in prop::sample::select(&[3.0, 7.0, 11.0][..]), equal in 0.1..9.0f64,
    ) {
        let trace = trace(rows);
        let run = |weights: [f64; 4]| serve(&trace, config, vtc(&weights));
        let (plain, scaled) = (run(ratios), run(ratios.map(|ratio| factor * ratio)));
        prop_assert_eq!(plain.digest(), scaled.digest());
        let (plain_counters, scaled_counters) = (plain.counters.unwrap(), scaled.counters.unwrap());
        for (plain, scaled) in plain_counters.values.iter().zip(&scaled_counters.values) {
            prop_assert!((plain.1 - factor * scaled.1).abs() <= 1e-9 * plain.1);
        }
        prop_assert_eq!(run([equal; 4]).digest(), run([1.0; 4]).digest());
    }

    /// With one client every order that ranks clients is first come, first served.
    #[test]
    fn one_client_is_first_come_first_served(rows in any_rows(), order in any_counting(), config in any_fleet()) {
        let trace = trace(rows);
        let run = |order| {
            let queueing = QueueConfig { policy: order, client: Client::Adapter, ..QueueConfig::default() };
            Fleet::of_pool(Arc::clone(&trace), config, Box::new(Plain)).with_queue_policy(queueing).run()
        };
        let (fair, fcfs) = (run(order), run(QueuePolicy::Fcfs));
        prop_assert_eq!(fair.digest(), fcfs.digest());
    }
}
