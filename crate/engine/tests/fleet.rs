//! What every fleet keeps, whatever its policy: requests, tokens and blocks, order, work, and leaps equal to steps.

use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use servescope_cost::{Batch, BatchCost, Chunk, OperatorClass, Peak, StageParts, StageTime, Work};
use servescope_engine::explain::{Reason, explain};
use servescope_engine::fleet::{Fleet, FleetConfig, Preemption, RouterKind, SchedulerKind};
use servescope_engine::metrics::lanes::stage_works;
use servescope_engine::metrics::operators::{RunParts, RunTotals, run_parts};
use servescope_engine::metrics::token_gaps::TokenGaps;
use servescope_engine::metrics::{fleet_summary, usage};
use servescope_engine::scheduler::accounts::Charging;
use servescope_engine::scheduler::round_robin::RoundRobin;
use servescope_engine::scheduler::vtc::{Fair, Lift, Prediction, TokenCost};
use servescope_engine::scheduler::{Client, Order, Queueing};
use servescope_engine::{Outcome, Report};
use servescope_workload::trace::{Chain, Extra, NOBODY, PrefixBlocks, Request};
use servescope_workload::{BASE_MODEL, Trace};

/// A cost with steps in the KV tokens, growth between them, and a price for everything.
#[derive(Debug, Clone, Copy)]
struct Toy {
    stages: u32,
    growth_us: f64,
    hold: u64,
}

impl BatchCost for Toy {
    fn stages(&self) -> u32 {
        self.stages
    }

    fn stage_time(&self, batch: &Batch<'_>, is_last: bool) -> StageTime {
        let mean = batch.decode_kv_tokens as u64 / u64::from(batch.decodes.max(1));
        let first_us = 50.3
            + 1.7 * f64::from(batch.prompt_tokens())
            + 3.1 * f64::from(batch.decodes)
            + 0.9 * (mean / self.hold) as f64
            + if is_last { 0.0 } else { 2.5 };
        if batch.chunks.is_empty() {
            let holds = (self.hold - mean % self.hold) as u32;
            StageTime { first_us, growth_us: self.growth_us, holds }
        } else {
            StageTime::once(first_us)
        }
    }

    fn stage_parts(&self, batch: &Batch<'_>, is_last: bool) -> StageParts {
        let mut parts = StageParts::default();
        let mean = batch.decode_kv_tokens as u64 / u64::from(batch.decodes.max(1));
        parts[OperatorClass::Host as usize] = 50.3;
        parts[OperatorClass::PrefillAttention as usize] = 1.7 * f64::from(batch.prompt_tokens());
        parts[OperatorClass::Linear as usize] = 3.1 * f64::from(batch.decodes);
        parts[OperatorClass::DecodeAttention as usize] = 0.9 * (mean / self.hold) as f64;
        parts[OperatorClass::Communication as usize] = if is_last { 0.0 } else { 2.5 };
        parts
    }

    fn work(&self, batch: &Batch<'_>) -> Option<Work> {
        let tokens = f64::from(batch.prompt_tokens() + batch.decodes);
        Some(Work { flops: 5.0 * tokens, bytes: batch.decode_kv_tokens })
    }

    fn peak(&self) -> Option<Peak> {
        Some(Peak { flops: 1e6, bytes: 2e9 })
    }
}

/// What a cost model was asked about.
type Asked = (Vec<Chunk>, u32, u64, u64, bool);

/// Remembers of the last stage what it is asked.
#[derive(Debug, Clone)]
struct Listening(Toy, Arc<Mutex<Vec<Asked>>>);

fn asked(batch: &Batch<'_>) -> Asked {
    let Batch { chunks, decodes, decode_kv_tokens, rank_sum, any_adapter } = *batch;
    (chunks.to_vec(), decodes, decode_kv_tokens as u64, rank_sum, any_adapter)
}

impl BatchCost for Listening {
    fn stages(&self) -> u32 {
        self.0.stages
    }

    fn stage_time(&self, batch: &Batch<'_>, is_last: bool) -> StageTime {
        if is_last {
            self.1.lock().unwrap().push(asked(batch));
        }
        self.0.stage_time(batch, is_last)
    }
}

/// A cost that takes a whole factor longer.
#[derive(Debug)]
struct Slow(Toy, f64);

impl BatchCost for Slow {
    fn stages(&self) -> u32 {
        self.0.stages
    }

    fn stage_time(&self, batch: &Batch<'_>, is_last: bool) -> StageTime {
        let time = self.0.stage_time(batch, is_last);
        StageTime { first_us: time.first_us * self.1, growth_us: time.growth_us * self.1, ..time }
    }
}

const ROUTERS: [RouterKind; 8] = [
    RouterKind::RoundRobin,
    RouterKind::Random,
    RouterKind::LeastOutstanding,
    RouterKind::ShortestLine,
    RouterKind::PowerOfTwo,
    RouterKind::LeastKv,
    RouterKind::AdapterAffinity,
    RouterKind::PrefixAffinity,
];

prop_compose! {
    fn any_trace()(
        rows in prop::collection::vec((prop_oneof![Just(0u32), 0u32..4_000], 1u32..90, 1u32..60, 0u32..4), 1..50),
        block_tokens in prop::sample::select(&[4u32, 8, 16][..]),
        cancels in prop_oneof![Just(vec![]), prop::collection::vec((0u32..60_000, 0usize..50), 1..12)],
        waits in prop::option::weighted(0.3, prop::collection::vec((0u32..70, 0u32..900), 50)),
    ) -> Trace {
        let mut trace = Trace::default();
        let mut now = 0.0;
        let mut prefix = PrefixBlocks { block_tokens, ..PrefixBlocks::default() };
        for (gap, input, output, adapter) in rows {
            // Prompts of one adapter begin alike, for a part of their length.
            let own = u64::from(gap) << 32;
            prefix.push((0..u64::from(input.div_ceil(block_tokens))).map(|i| {
                if i < 5 { u64::from(adapter) << 8 | i } else { own | u64::from(output) << 16 | i }
            }));
            now += f64::from(gap);
            trace.push(Request {
                arrival_us: now,
                user: 0,
                adapter: if adapter == 0 { BASE_MODEL } else { adapter },
                input_tokens: input,
                output_tokens: output,
                max_tokens: output + adapter,
            });
        }
        trace.extra = Some(Box::new(Extra { prefix, ..Extra::default() }));
        trace.cancellations =
            cancels.into_iter().map(|(at, id)| (f64::from(at), (id % trace.len()) as u32)).collect();
        trace.sort_cancellations();
        trace.chain = waits.map(|waits| {
            let mut chain = Chain::default();
            for (id, &(before, think)) in (0..).zip(&waits[..trace.len()]) {
                chain.push(if before < id { before } else { NOBODY }, f64::from(think / 3 * 3));
            }
            Box::new(chain)
        });
        trace
    }
}

prop_compose! {
    fn any_config()(
        scheduler in prop::sample::select(&SchedulerKind::ALL[..]),
        router in prop::sample::select(&ROUTERS[..]),
        replicas in 1u32..4,
        blocks in 10u32..80,
        block_size in prop::sample::select(&[1u32, 4, 16][..]),
        watermark_blocks in 0u32..4,
        max_requests in 1u32..12,
        max_batch_tokens in 40u32..300,
        chunk_tokens in 4u32..64,
        decode_steps_between_prefills in 0u32..12,
        original in any::<bool>(),
        prefix_cache in any::<bool>(),
        max_in_system in prop_oneof![3 => Just(u32::MAX), 1 => 1u32..20],
        reserve in prop::bool::weighted(0.25),
        preemption in prop_oneof![
            Just(Preemption::Recompute),
            Just(Preemption::Regenerate),
            (0u32..60, prop_oneof![Just(0.0), Just(7.0), 0.0..40.0f64])
                .prop_map(|(host_blocks, us_per_block)| Preemption::Swap { host_blocks, us_per_block }),
        ],
        patience_us in prop_oneof![3 => Just(f64::INFINITY), 1 => (0u32..9_000).prop_map(f64::from)],
    ) -> FleetConfig {
        let config = FleetConfig {
            replicas, router, scheduler, block_size, watermark_blocks, max_requests, max_batch_tokens, chunk_tokens,
            decode_steps_between_prefills, original, prefix_cache,
            max_in_system, patience_us, reserve, preemption,
            max_request_tokens: 160,
            max_slots: 6,
            seed: 7,
            blocks: if block_size == 1 { blocks * 8 } else { blocks },
        };
        match scheduler {
            SchedulerKind::LightLlm => FleetConfig { block_size: 1, blocks: blocks * 8, ..config },
            SchedulerKind::VllmV1 => FleetConfig { max_batch_tokens: max_batch_tokens.max(max_requests), ..config },
            _ => config,
        }
    }
}

/// Every order of service that a fleet keeps, and one that it cannot.
fn any_order() -> impl Strategy<Value = Order> {
    let weights = || prop::collection::vec(prop_oneof![Just(1.0), Just(3.0), 0.1..5.0f64], 1..4);
    let charging = || prop_oneof![Just(Charging::Slora), Just(Charging::Ideal), Just(Charging::Artifact)];
    let lift = prop_oneof![Just(Lift::Waiting), Just(Lift::Paper), Just(Lift::Never), Just(Lift::Max)];
    let prediction = prop_oneof![
        2 => Just(Prediction::None),
        1 => Just(Prediction::History),
        1 => Just(Prediction::Given)
    ];
    let cost = prop_oneof![2 => Just(TokenCost::Linear), 1 => Just(TokenCost::Profile)];
    let fair =
        (weights(), 0.0..2.0f64, prop_oneof![Just(2.0), 0.0..3.0f64], cost, charging(), lift, prediction)
            .prop_map(|(weights, input_price, output_price, cost, charging, lift, prediction)| {
                Order::Fair(Fair { weights, input_price, output_price, cost, charging, lift, prediction })
            });
    let turns = (weights(), charging(), prop_oneof![Just(None), (1.0..200.0f64).prop_map(Some)]).prop_map(
        |(weights, charging, quantum)| {
            Order::RoundRobin(RoundRobin { weights, charging, quantum, ..RoundRobin::default() })
        },
    );
    prop_oneof![
        2 => Just(Order::Fcfs),
        1 => Just(Order::Lifo),
        1 => Just(Order::Shortest),
        1 => (prop::collection::vec(0.0..3.0f64, 1..4), prop_oneof![Just(0.0), 0.0..9e3f64])
            .prop_map(|(classes, ageing_us)| Order::Priority { classes, ageing_us }),
        1 => (1u32..9).prop_map(|limit| Order::Rpm { limit }),
        1 => Just(Order::Peft),
        4 => fair,
        3 => turns,
    ]
}

prop_compose! {
    /// A trace of several users, and how a fleet's lines are kept for it.
    fn sent_by_users()(
        trace in any_trace(),
        users in prop::collection::vec(0u32..5, 50),
        order in any_order(),
        client in prop_oneof![Just(Client::User), Just(Client::Adapter)],
        predictions in prop::option::of(prop::collection::vec(0.0..80.0f64, 50)),
    ) -> (Trace, Queueing) {
        let mut trace = trace;
        let count = trace.len();
        trace.user.copy_from_slice(&users[..count]);
        (trace, Queueing { order, client, predictions })
    }
}

fn any_cost() -> impl Strategy<Value = Toy> {
    (prop_oneof![3 => Just(1u32), 1 => 2u32..4], prop_oneof![Just(0.0), Just(0.37)], 1u64..20)
        .prop_map(|(stages, growth_us, hold)| Toy { stages, growth_us, hold })
}

/// Runs first come, first served to the end.
fn run(trace: &Arc<Trace>, config: FleetConfig, cost: Toy) -> (Report, Vec<u32>) {
    run_queued(trace, config, cost, &Queueing::default())
}

/// Runs to the end and says how many blocks stay in use, of the replicas and then of their hosts.
fn run_queued(trace: &Arc<Trace>, config: FleetConfig, cost: Toy, queueing: &Queueing) -> (Report, Vec<u32>) {
    let mut fleet = Fleet::new(Arc::clone(trace), config, Box::new(cost)).queued(queueing.clone());
    let mut events = 0u64;
    while !fleet.advance(1_000) {
        events += 1_000;
        assert!(events < 1_000_000, "the run does not end");
    }
    let mut left = fleet.blocks_in_use();
    left.extend(fleet.host_blocks_in_use());
    (fleet.finish(), left)
}

/// Whether all arrive as the trace says and stay to the end.
fn is_plain(trace: &Trace, config: &FleetConfig) -> bool {
    let stay = trace.cancellations.is_empty() && config.patience_us == f64::INFINITY;
    stay && trace.chain.is_none() && config.max_in_system == u32::MAX
}

fn check_requests(report: &Report) {
    for (id, fate) in report.fates.iter().enumerate() {
        let arrival = report.trace.arrival_us[id];
        let (scheduled, first) = (report.scheduled_us(id), report.first_token_us(id));
        match fate.outcome {
            Outcome::Completed => assert_eq!(fate.produced, report.trace.output_tokens[id], "request {id}"),
            Outcome::Cancelled => assert_eq!(scheduled.is_some(), fate.finish_us.is_some(), "request {id}"),
            Outcome::Refused(_) | Outcome::TimedOut => {
                assert!(scheduled.is_none() && fate.finish_us.is_none(), "request {id}");
            }
            Outcome::Unfinished => panic!("request {id} is not done"),
        }
        assert_eq!(first.is_some(), fate.produced > 0, "request {id}: a token is a first token");
        let (Some(scheduled), Some(finish)) = (scheduled, fate.finish_us) else { continue };
        assert!(arrival <= scheduled && scheduled <= finish, "request {id}");
        if let Some(first) = first {
            assert!(scheduled < first && first <= finish, "request {id}");
            let is_done = fate.outcome == Outcome::Completed;
            assert!(!is_done || (fate.produced == 1) == (first == finish), "request {id}: one token");
        }
        let split = report.split(id).unwrap();
        assert_eq!(split.total_us(), finish - arrival);
        assert!(split.stalled_us >= -1e-6 && split.prefill_us >= 0.0, "request {id}: {split:?}");
    }
}

/// A held request is sent when the one before it has ended and its client has thought, or at its own time.
fn check_waits(report: &Report, patience_us: f64) {
    let Some(chain) = &report.trace.chain else { return };
    assert!(report.trace.arrival_us.is_sorted(), "sent out of order");
    let cancelled = |id: usize| report.trace.cancellations.iter().find(|c| c.1 as usize == id).map(|c| c.0);
    for (id, (&before, &think_us)) in chain.after.iter().zip(&chain.think_us).enumerate() {
        let Some(fate) = report.fates.get(before as usize) else { continue };
        let arrival = report.trace.arrival_us[before as usize];
        let end = match (fate.finish_us, fate.outcome) {
            (Some(finish), _) => finish,
            (None, Outcome::Cancelled) => cancelled(before as usize).unwrap().max(arrival),
            (None, Outcome::TimedOut) => arrival + patience_us,
            (None, _) => arrival,
        };
        assert!(report.trace.arrival_us[id] >= end + think_us, "request {id} is sent too early");
    }
}

fn check_tokens(report: &Report) {
    let all = 0..report.fates.len();
    let produced: u64 = report.fates.iter().map(|fate| u64::from(fate.produced)).sum();
    let firsts = all.clone().filter(|&id| report.first_token_us(id).is_some()).count() as u64;
    let gaps = TokenGaps::of(&report.timeline).count();
    assert_eq!(produced, firsts + gaps, "a token for each first token and each gap");
    let read: u64 = report.timeline.iterations.iter().map(|run| u64::from(run.prompt_tokens)).sum();
    let asked = |outcome| -> u64 {
        let those = all.clone().filter(|&id| report.fates[id].outcome == outcome);
        those.map(|id| u64::from(report.trace.input_tokens[id])).sum()
    };
    let completed = asked(Outcome::Completed);
    assert!(read + report.cached_tokens >= completed);
    if report.preemptions == 0 {
        assert!(read + report.cached_tokens <= completed + asked(Outcome::Cancelled), "prompt tokens");
    }
}

/// The reasons of a wait add up to it, and only those who were evicted were out of the batch.
fn check_reasons(report: &Report) {
    for id in 0..report.fates.len() {
        let why = explain(report, id);
        if report.scheduled_us(id).is_some() && report.fates[id].finish_us.is_some() {
            let parts = why.memory_us + why.prompt_budget_us + why.running_cap_us + why.next_decision_us;
            assert!((parts - why.split.queue_us).abs() < 1e-6, "request {id}: {why:?}");
            assert!(why.evicted_us <= why.split.stalled_us + 1e-6, "request {id}: {why:?}");
            assert!(why.evicted_us == 0.0 || report.preemptions(id) > 0);
        }
    }
}

/// Of one stage: iterations of a replica do not overlap, and while a request waits its replica works.
fn check_work(report: &Report, in_turn: bool) {
    for replica in 0..report.replicas as u16 {
        let runs: Vec<_> = report.timeline.iterations.iter().filter(|run| run.replica == replica).collect();
        assert!(runs.windows(2).all(|w| w[0].end_us <= w[1].start_us), "iterations overlap");
        let mut scheduled_before = 0.0;
        for id in (0..report.fates.len()).filter(|&id| report.replica(id) == replica) {
            let Some(scheduled) = report.scheduled_us(id) else { continue };
            assert!(!in_turn || scheduled >= scheduled_before, "request {id} overtakes");
            scheduled_before = scheduled;
            let mut from = report.trace.arrival_us[id];
            for run in &runs {
                if run.start_us <= from && run.end_us > from {
                    from = run.end_us;
                }
            }
            assert!(
                from >= scheduled,
                "the replica is idle at {from} while request {id} waits until {scheduled}"
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1_000) })]

    #[test]
    fn a_fleet_keeps_its_promises(
        (trace, queueing) in sent_by_users(), config in any_config(), cost in any_cost(),
    ) {
        let config = FleetConfig { original: false, ..config };
        let cost = if config.scheduler == SchedulerKind::LightLlm { Toy { stages: 1, ..cost } } else { cost };
        let trace = Arc::new(trace);
        let (report, left) = run_queued(&trace, config, cost, &queueing);
        prop_assert!(left.iter().all(|&blocks| blocks == 0), "blocks stay in use: {left:?}");
        prop_assert!(report.timeline.iterations.iter().all(|run| run.blocks <= config.blocks));
        check_requests(&report);
        check_waits(&report, config.patience_us);
        check_tokens(&report);
        check_reasons(&report);
        if cost.stages == 1 {
            check_work(&report, matches!(queueing.order, Order::Fcfs | Order::Rpm { .. }));
        }
    }

    #[test]
    fn leaps_equal_steps(
        (trace, queueing) in sent_by_users(), config in any_config(), cost in any_cost(),
    ) {
        let cost = if config.scheduler == SchedulerKind::LightLlm { Toy { stages: 1, ..cost } } else { cost };
        let trace = Arc::new(trace);
        let (leaps, _) = run_queued(&trace, config, cost, &queueing);
        let steps =
            Fleet::new(Arc::clone(&trace), config, Box::new(cost)).queued(queueing.clone()).step_by_step().run();
        prop_assert_eq!(leaps.digest(), steps.digest());
        prop_assert!(leaps == steps, "equal outcomes, other timelines");
        if config.prefix_cache && config.scheduler == SchedulerKind::VllmV1 && leaps.preemptions == 0
            && is_plain(&trace, &config) && queueing.order == Order::Fcfs {
            let without = run(&trace, FleetConfig { prefix_cache: false, ..config }, cost).0;
            let read = |report: &Report| report.timeline.iterations.iter().map(|r| u64::from(r.prompt_tokens)).sum::<u64>();
            prop_assert!(read(&leaps) <= read(&without));
        }
    }

    #[test]
    fn every_batch_is_told_after_the_run(trace in any_trace(), config in any_config(), cost in any_cost()) {
        let cost = if config.scheduler == SchedulerKind::LightLlm { Toy { stages: 1, ..cost } } else { cost };
        let heard = Arc::default();
        let listening = Listening(cost, Arc::clone(&heard));
        let mut fleet = Fleet::new(Arc::new(trace), config, Box::new(listening));
        while !fleet.advance(1_000) {}
        let timeline = fleet.finish().timeline;
        let key = |batch: &Asked| format!("{batch:?}");
        let mut told: Vec<Asked> = timeline.iterations.iter().map(|run| asked(&run.batch(&timeline.iterations.chunks(&run), 0.0))).collect();
        let mut heard = heard.lock().unwrap().clone();
        told.sort_by_cached_key(key);
        heard.sort_by_cached_key(key);
        prop_assert_eq!(told, heard);
    }

    #[test]
    fn parts_add_up_to_the_time_worked(trace in any_trace(), config in any_config(), cost in any_cost()) {
        let cost = if config.scheduler == SchedulerKind::LightLlm { Toy { stages: 1, ..cost } } else { cost };
        // As in the original, iterations may go on after the last finish, for requests that never end.
        let config = FleetConfig { original: false, ..config };
        let cost = Toy { growth_us: 0.0, ..cost };
        let (report, _) = run(&Arc::new(trace), config, cost);
        let mut busy_us = vec![0.0; report.replicas as usize];
        for (run, parts) in run_parts(&report) {
            busy_us[run.replica as usize] += run.busy_us;
            let totals = RunTotals::of(&report.timeline, &cost, &run);
            let total: f64 = totals.us.iter().sum();
            prop_assert!((total - run.busy_us).abs() <= 1e-14 * run.busy_us);
            // Nothing was left to the largest part but rounding.
            let many = f64::from(run.iterations);
            let raw: f64 = (0..run.iterations).map(|i| parts.parts_us(i).iter().sum::<f64>()).sum();
            prop_assert!((raw - run.busy_us).abs() <= 1e-9 * run.busy_us, "{raw} of {}", run.busy_us);
            let host = totals.us[OperatorClass::Host as usize];
            prop_assert!((host - 50.3 * many).abs() < 1e-6 * many);
            // One by one they are those of the batch as it is then.
            for i in 0..run.iterations {
                let alone = cost.work(&run.batch(&report.timeline.iterations.chunks(&run), i.into())).unwrap();
                let work = parts.work(i).unwrap();
                prop_assert!((work.bytes - alone.bytes).abs() < 1e-6 && work.flops == alone.flops);
            }
            let bytes: f64 = (0..run.iterations).map(|i| parts.work(i).unwrap().bytes).sum();
            prop_assert!((bytes - totals.work.unwrap().bytes).abs() <= 1e-9 * bytes);
            prop_assert_eq!(parts, RunParts::of(&report.timeline, &cost, &run));
        }
        let (usage, gaps) = usage(&report).unwrap();
        let by_themselves = TokenGaps::of(&report.timeline);
        prop_assert_eq!(gaps.count(), by_themselves.count());
        prop_assert_eq!(gaps.distribution(), by_themselves.distribution());
        let summary = fleet_summary(&report, &usage);
        let all: f64 = summary.operators_s.values().sum();
        prop_assert!((all - busy_us.iter().sum::<f64>() / 1e6).abs() <= 1e-9 * all);
        let makespan = report.fates.iter().filter_map(|fate| fate.finish_us).fold(0.0, f64::max);
        for (row, busy) in summary.per_replica.iter().zip(&busy_us) {
            prop_assert_eq!(row.busy, (makespan > 0.0).then(|| busy / makespan));
            prop_assert!(row.busy.is_none_or(|busy| (0.0..=1.0 + 1e-12).contains(&busy)));
            prop_assert!(row.peak_kv.is_some_and(|peak| peak <= 1.0));
        }
        let rows = &summary.per_replica;
        prop_assert_eq!(rows.iter().map(|row| row.preemptions).sum::<u64>(), report.preemptions);
        let refused = report.fates.iter().filter(|fate| matches!(fate.outcome, Outcome::Refused(_))).count();
        prop_assert_eq!(rows.iter().map(|row| row.requests as usize).sum::<usize>() + refused, report.fates.len());
    }

    #[test]
    fn a_stage_works_on_one_thing_at_a_time(trace in any_trace(), config in any_config(), cost in any_cost()) {
        let cost = if config.scheduler == SchedulerKind::LightLlm { Toy { stages: 1, ..cost } } else { cost };
        let (report, _) = run(&Arc::new(trace), config, cost);
        let mut over_us = vec![0.0; (report.replicas * cost.stages) as usize];
        let mut busy_us = vec![0.0; report.replicas as usize];
        for work in stage_works(&report) {
            let lane = &mut over_us[(u32::from(work.run.replica) * cost.stages + work.stage) as usize];
            prop_assert!(work.start_us >= *lane && work.end_us > work.start_us, "{work:?} overlaps");
            *lane = work.end_us;
            busy_us[work.run.replica as usize] += work.end_us - work.start_us;
            if work.stage + 1 == cost.stages {
                prop_assert_eq!(work.end_us, work.run.end_us, "a batch leaves the last stage when it was written down");
            }
        }
        let mut told_us = vec![0.0; report.replicas as usize];
        report.timeline.iterations.iter().for_each(|run| told_us[run.replica as usize] += run.busy_us);
        for (lanes, told) in busy_us.iter().zip(&told_us) {
            prop_assert!((lanes / f64::from(cost.stages) - told).abs() <= 1e-9 * told);
        }
    }

    #[test]
    fn blocks_are_kept_count_of(
        (trace, queueing) in sent_by_users(), config in any_config(), cost in any_cost(),
    ) {
        let config = FleetConfig { original: false, ..config };
        let cost = if config.scheduler == SchedulerKind::LightLlm { Toy { stages: 1, ..cost } } else { cost };
        let mut fleet = Fleet::new(Arc::new(trace), config, Box::new(cost)).queued(queueing).step_by_step();
        while !fleet.advance(1) {
            let used = fleet.blocks_in_use();
            prop_assert!(used.iter().all(|&blocks| blocks <= config.blocks));
            if let Some(audited) = fleet.audited_blocks() {
                prop_assert_eq!(used, audited);
            }
            if let Preemption::Swap { host_blocks, .. } = config.preemption {
                prop_assert!(fleet.host_blocks_in_use().iter().all(|&blocks| blocks <= host_blocks));
            }
        }
    }

    /// A factor that is a power of two loses no bit.
    #[test]
    fn slower_by_a_factor_is_the_same_run(trace in any_trace(), config in any_config(), cost in any_cost()) {
        const K: f64 = 4.0;
        let cost = if config.scheduler == SchedulerKind::LightLlm { Toy { stages: 1, ..cost } } else { cost };
        let mut slow = trace.clone();
        slow.arrival_us.iter_mut().for_each(|at| *at *= K);
        slow.cancellations.iter_mut().for_each(|(at, _)| *at *= K);
        if let Some(chain) = &mut slow.chain {
            chain.think_us.iter_mut().for_each(|think| *think *= K);
        }
        let preemption = match config.preemption {
            Preemption::Swap { host_blocks, us_per_block } => Preemption::Swap { host_blocks, us_per_block: K * us_per_block },
            other => other,
        };
        let slow_config = FleetConfig { patience_us: K * config.patience_us, preemption, ..config };
        let quick = run(&Arc::new(trace), config, cost).0;
        let slow = Fleet::new(Arc::new(slow), slow_config, Box::new(Slow(cost, K))).run();
        prop_assert_eq!(quick.preemptions, slow.preemptions);
        prop_assert_eq!(quick.fates.len(), slow.fates.len());
        for id in 0..quick.fates.len() {
            prop_assert_eq!(quick.fates[id].outcome, slow.fates[id].outcome);
            prop_assert_eq!(quick.fates[id].finish_us.map(|at| at * K), slow.fates[id].finish_us);
            prop_assert_eq!(quick.ttft_us(id).map(|t| t * K), slow.ttft_us(id));
        }
    }

    #[test]
    fn users_are_names_only(trace in any_trace(), config in any_config(), names in prop::collection::vec(0u32..9, 50)) {
        let mut named = trace.clone();
        named.user.copy_from_slice(&names[..trace.len()]);
        let (mut plain, mut renamed) = (run(&Arc::new(trace), config, TOY).0, run(&Arc::new(named), config, TOY).0);
        prop_assert_eq!(renamed.trace.user.len(), plain.trace.user.len());
        plain.trace = Arc::new(Trace::default());
        renamed.trace = Arc::new(Trace::default());
        prop_assert!(plain == renamed);
    }

    #[test]
    fn two_replicas_in_turn_are_two_fleets(trace in any_trace(), config in any_config(), cost in any_cost()) {
        let cost = if config.scheduler == SchedulerKind::LightLlm { Toy { stages: 1, ..cost } } else { cost };
        let trace = Trace { cancellations: vec![], chain: None, ..trace };
        let config = FleetConfig { replicas: 2, router: RouterKind::RoundRobin, original: true, ..config };
        let config = FleetConfig { max_in_system: u32::MAX, ..config };
        // Who is refused has no turn, so nobody may be: vLLM v1 refuses whatever memory is too small for.
        let is_v1 = config.scheduler == SchedulerKind::VllmV1;
        let config = FleetConfig { blocks: if is_v1 { 160 } else { config.blocks }, ..config };
        let both = run(&Arc::new(trace.clone()), config, cost).0;
        for half in 0..2 {
            let mut part = Trace::default();
            let ids: Vec<usize> = (half..trace.len()).step_by(2).collect();
            ids.iter().for_each(|&id| part.push(trace.request(id)));
            let order: Vec<u32> = ids.iter().map(|&id| id as u32).collect();
            part.extra = trace.extra.as_ref().map(|extra| Box::new(extra.select(&order)));
            let alone = run(&Arc::new(part), FleetConfig { replicas: 1, ..config }, cost).0;
            for (place, &id) in ids.iter().enumerate() {
                prop_assert_eq!(alone.fates[place].finish_us, both.fates[id].finish_us);
                prop_assert_eq!(alone.preemptions(place), both.preemptions(id));
            }
        }
    }
}

fn fixed(requests: &[(f64, u32, u32)]) -> Arc<Trace> {
    let mut trace = Trace::default();
    for &(arrival_us, input_tokens, output_tokens) in requests {
        trace.push(Request {
            arrival_us,
            user: 0,
            adapter: BASE_MODEL,
            input_tokens,
            output_tokens,
            max_tokens: output_tokens,
        });
    }
    Arc::new(trace)
}

const TOY: Toy = Toy { stages: 1, growth_us: 0.0, hold: 64 };

/// Vidur: the second prompt is over the budget, blocks the line, and the run ends in an assertion with one completed.
#[test]
fn a_prompt_over_the_budget_is_refused_or_blocks_as_in_the_original() {
    let trace = fixed(&[(0.0, 100, 5), (1.0, 1_500, 5), (2.0, 100, 5)]);
    let config = FleetConfig { max_batch_tokens: 1_024, ..FleetConfig::default() };
    let (ours, _) = run(&trace, config, TOY);
    let outcomes: Vec<&str> = ours.fates.iter().map(|f| f.outcome.name()).collect();
    assert_eq!(outcomes, ["completed", "prompt_over_batch", "completed"]);
    let (theirs, _) = run(&trace, FleetConfig { original: true, ..config }, TOY);
    let outcomes: Vec<&str> = theirs.fates.iter().map(|f| f.outcome.name()).collect();
    assert_eq!(outcomes, ["completed", "unfinished", "unfinished"]);
}

/// Vidur's static batches keep the memory of early finishers for ever: in the end requests run one at a time.
#[test]
fn static_batches_leak_only_as_the_original() {
    let rows: Vec<(f64, u32, u32)> = (0..60).map(|i| (0.0, 20, 5 + i * 7 % 30)).collect();
    let config = FleetConfig {
        scheduler: SchedulerKind::Static,
        blocks: 80,
        max_slots: 8,
        max_request_tokens: 160,
        ..FleetConfig::default()
    };
    let batches =
        |report: &Report| report.timeline.iterations.iter().map(|run| u64::from(run.iterations)).sum();
    let (ours, left) = run(&fixed(&rows), config, TOY);
    let (theirs, leaked) = run(&fixed(&rows), FleetConfig { original: true, ..config }, TOY);
    assert_eq!((left[0], leaked[0]), (0, 70), "all but one slot of 10 blocks leak");
    let (ours, theirs): (u64, u64) = (batches(&ours), batches(&theirs));
    assert!(theirs > 2 * ours, "{theirs} iterations against {ours}");
}

/// Vidur takes what was read of a half-read prompt for all of it when it evicts the request; here it is read anew.
#[test]
fn a_half_read_prompt_is_read_anew() {
    // Memory for the second prompt is taken whole, and the first then needs a block.
    let trace = fixed(&[(0.0, 60, 40), (10.0, 90, 3)]);
    let config = FleetConfig {
        scheduler: SchedulerKind::Sarathi,
        blocks: 10,
        watermark_blocks: 0,
        chunk_tokens: 10,
        ..FleetConfig::default()
    };
    let prompt_tokens =
        |report: &Report| report.timeline.iterations.iter().map(|run| run.prompt_tokens).sum::<u32>();
    let (ours, _) = run(&trace, config, TOY);
    let (theirs, _) = run(&trace, FleetConfig { original: true, ..config }, TOY);
    assert!(ours.preemptions(1) > 0 && theirs.preemptions(1) > 0);
    assert!(prompt_tokens(&ours) > 150, "its read part is read twice");
    assert!(prompt_tokens(&theirs) < 150, "its unread part is generated token by token");
}

/// A request that fills the memory alone evicts itself; Vidur stops there.
#[test]
fn a_request_that_fills_the_memory_alone_is_served() {
    let trace = fixed(&[(0.0, 30, 50)]);
    let config = FleetConfig { blocks: 5, watermark_blocks: 1, ..FleetConfig::default() };
    let (ours, left) = run(&trace, config, TOY);
    assert_eq!((ours.fates[0].outcome, left[0]), (Outcome::Completed, 0));
    let (theirs, _) = run(&trace, FleetConfig { original: true, ..config }, TOY);
    assert_eq!(theirs.fates[0].outcome, Outcome::Unfinished);
}

/// Everybody is there from the start and iterations take a time each, so copies make the run longer and change nothing else.
#[test]
fn a_swapped_request_is_not_read_again_and_its_copies_take_their_time() {
    let rows: Vec<(f64, u32, u32)> = (0..12).map(|i| (0.0, 20 + i, 30 + 3 * i)).collect();
    for scheduler in [SchedulerKind::Vllm, SchedulerKind::Sarathi, SchedulerKind::VllmV1] {
        let of = |host_blocks, us_per_block| {
            let preemption = Preemption::Swap { host_blocks, us_per_block };
            let config = FleetConfig {
                scheduler,
                blocks: 12,
                watermark_blocks: 0,
                preemption,
                ..FleetConfig::default()
            };
            let (report, left) = run(&fixed(&rows), config, Toy { hold: u64::MAX / 2, ..TOY });
            assert_eq!(left, [0, 0]);
            let read: u32 = report.timeline.iterations.iter().map(|run| run.prompt_tokens).sum();
            let end_us = report.fates.iter().filter_map(|fate| fate.finish_us).fold(0.0, f64::max);
            (report.preemptions, read, end_us)
        };
        let asked: u32 = rows.iter().map(|row| row.1).sum();
        let (swaps, read, end_us) = of(1_000, 0.0);
        assert!(swaps > 3 && read == asked, "{scheduler:?}: {swaps} swaps, {read} tokens of {asked}");
        let (again, _, slower_us) = of(1_000, 10.0);
        let copies = (slower_us - end_us) / 10.0;
        assert_eq!(again, swaps);
        assert!(copies >= 2.0 * swaps as f64 && (copies - copies.round()).abs() < 1e-6, "{copies} blocks");
        let (_, read, _) = of(0, 0.0);
        assert!(read > asked, "without room on the host they are read again");
    }
}

#[test]
fn a_fleet_says_why_a_request_waited() {
    let reason = |config: FleetConfig, rows: &[(f64, u32, u32)], id: usize| {
        explain(&run(&fixed(rows), FleetConfig { watermark_blocks: 0, ..config }, TOY).0, id).reason
    };
    for scheduler in [SchedulerKind::Vllm, SchedulerKind::Sarathi, SchedulerKind::VllmV1] {
        let base = FleetConfig { scheduler, ..FleetConfig::default() };
        // The first needs 10 blocks of 12 from the start, or 7; the second 7 more.
        let rows = [(0.0, 100, 50), (1.0, 100, 5)];
        assert_eq!(reason(FleetConfig { blocks: 12, reserve: true, ..base }, &rows, 1), Reason::Memory);
        assert_eq!(reason(FleetConfig { max_requests: 1, ..base }, &rows, 1), Reason::RunningCap);
        assert_eq!(reason(base, &rows, 0), Reason::Decode);
        // With 14 blocks both begin; the first grows, the second makes room.
        let rows = [(0.0, 100, 50), (1.0, 100, 30)];
        assert_eq!(reason(FleetConfig { blocks: 14, ..base }, &rows, 1), Reason::Evicted);
    }
    // Each prompt fills the budget of an iteration.
    let rows: Vec<(f64, u32, u32)> = (0..12).map(|_| (0.0, 90, 1)).collect();
    let config = FleetConfig { max_batch_tokens: 100, ..FleetConfig::default() };
    assert_eq!(reason(config, &rows, 11), Reason::PromptBudget);
    // What is under way when it comes takes longer than its own prompt.
    let rows = [(0.0, 4_000, 1), (1.0, 10, 1)];
    assert_eq!(reason(FleetConfig::default(), &rows, 1), Reason::NextDecision);
}
