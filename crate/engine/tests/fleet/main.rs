//! What every fleet keeps, whatever its policy: requests, tokens and blocks, order, work, and leaps equal to steps.

mod adapters;
mod any;
mod cases;
mod causes;
mod checks;
mod decisions;
mod disaggregation;
mod failures;
mod host_cache;
mod long_runs;
mod pipelines;
mod pools;
mod ranks;
mod scaling;
mod sglang;
pub(crate) mod steps;
mod streamed_input;
mod toy;
mod trtllm;
pub(crate) mod why;

use std::sync::Arc;

use proptest::prelude::*;
use servescope_cost::{BatchCost, OperatorClass};
use servescope_engine::explain::request_time::WhyTables;
use servescope_engine::metrics::lanes::stage_works;
use servescope_engine::metrics::operators::{RunParts, RunTotals, run_parts};
use servescope_engine::metrics::token_gaps::InterTokenLatencies;
use servescope_engine::metrics::{fleet_summary, usage};
use servescope_engine::queue::{QueueConfig, QueuePolicy};
use servescope_engine::timeline::IterationRun;
use servescope_engine::{
    Acceptance, AdapterConfig, AdapterLoading, AdapterMemory, Fleet, FleetConfig, PoolConfig, Preemption,
    RouterConstants, RouterView, SchedulerKind, Speculation, VllmRules,
};
use servescope_engine::{Outcome, Report};
use servescope_workload::Trace;

use crate::given::{any_rules, fleet};
use any::{any_config, any_cost, any_trace, any_vllm, on_its_stages, sent_by_users};
use checks::{check_memory, check_requests, check_tokens, check_waits, check_work};
use toy::{Asked, Listening, Slow, TOY, Toy, asked};

/// Runs first come, first served to the end.
pub(crate) fn run(trace: &Arc<Trace>, config: PoolConfig, cost: Toy) -> (Report, Vec<u32>) {
    run_queued(trace, (FleetConfig::default(), config), cost, &QueueConfig::default())
}

/// Runs to the end and says how many blocks stay in use, of the replicas and then of their hosts.
#[expect(clippy::large_types_passed_by_value, reason = "they are passed on")]
pub(crate) fn run_queued(
    trace: &Arc<Trace>,
    settings: (FleetConfig, PoolConfig),
    cost: Toy,
    queueing: &QueueConfig,
) -> (Report, Vec<u32>) {
    to_the_end(fleet(Arc::clone(trace), settings, cost).with_queue_policy(queueing.clone()))
}

/// The same of any fleet.
pub(crate) fn to_the_end(mut fleet: Fleet) -> (Report, Vec<u32>) {
    let mut events = 0u64;
    while !fleet.advance(1_000) {
        events += 1_000;
        assert!(events < 1_000_000, "the run does not end");
    }
    let mut left = fleet.blocks_in_use();
    left.extend(fleet.host_blocks_in_use());
    (fleet.finish(), left)
}

/// Runs a fleet: every request ends and no block stays in use, and neither single steps nor a halt after some times change a bit.
pub(crate) fn conserved(fleet: impl Fn() -> Fleet, times: usize) -> Report {
    let (leaps, left) = to_the_end(fleet());
    assert!(left.iter().all(|&blocks| blocks == 0), "blocks stay in use: {left:?}");
    assert!(leaps.results.iter().all(|result| result.outcome != Outcome::Unfinished));
    assert!(leaps == fleet().without_fast_forward().run(), "leaps differ from steps");
    let mut first = fleet();
    first.advance(times);
    assert!(first.clone().run() == leaps, "a halt changes the run");
    leaps
}

/// The time of every request of a run has causes, to the nanosecond.
pub(crate) fn check_causes(told: &Report) {
    let why = WhyTables::of(told).expect("a run with decisions");
    for id in 0..told.trace.len() {
        let time = why.request(id);
        assert_eq!(time.by_cause().iter().sum::<u64>(), time.end_ns - time.arrival_ns, "request {id}");
    }
}

/// Whether all arrive as the trace says and stay to the end.
pub(crate) fn is_plain(trace: &Trace, rules: &FleetConfig) -> bool {
    let stay = trace.cancellations.is_empty() && rules.queue_timeout_us == f64::INFINITY;
    stay && trace.closed_loop.is_none() && rules.max_in_system == u32::MAX
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..servescope_testkit::cases(100, 1_000) })]

    #[test]
    fn a_fleet_conserves_requests_tokens_and_blocks(
        (trace, queueing) in sent_by_users(), config in any_config(), rules in any_rules(9_000), cost in any_cost(),
    ) {
        let config = PoolConfig { reference_quirks: false, ..config };
        let cost = on_its_stages(config.scheduler, cost);
        let trace = Arc::new(trace);
        let (report, left) = run_queued(&trace, (rules, config), cost, &queueing);
        prop_assert!(left.iter().all(|&blocks| blocks == 0), "blocks stay in use: {left:?}");
        prop_assert!(report.timeline.iterations.iter().all(|run| run.blocks <= config.blocks));
        check_requests(&report, &config);
        check_waits(&report, rules.queue_timeout_us);
        check_tokens(&report);
        check_memory(&report);
        if cost.stages == 1 {
            let passes_over = config.adapters.memory == AdapterMemory::Slots;
            // TensorRT-LLM passes prompts over that wait for a prefix, or for a larger part of the budget.
            let has_own_order = matches!(config.scheduler, SchedulerKind::Sglang | SchedulerKind::Trtllm);
            let is_in_turn = !passes_over && !has_own_order && matches!(queueing.policy, QueuePolicy::Fcfs | QueuePolicy::Rpm { .. });
            check_work(&report, is_in_turn);
        }
    }

    #[test]
    fn nothing_is_used_more_than_wholly(
        (trace, queueing) in sent_by_users(), config in any_config(), rules in any_rules(9_000),
        reference_quirks in any::<bool>(), cost in any_cost(),
    ) {
        let config = PoolConfig { reference_quirks, ..config };
        let cost = on_its_stages(config.scheduler, cost);
        let (report, _) = run_queued(&Arc::new(trace), (rules, config), cost, &queueing);
        check_memory(&report);
        prop_assert!(report.timeline.iterations.iter().all(|run| run.end_us <= report.end_us()));
    }

    #[test]
    fn leaps_equal_steps(
        (trace, queueing) in sent_by_users(), config in any_config(), rules in any_rules(9_000), cost in any_cost(),
    ) {
        let cost = on_its_stages(config.scheduler, cost);
        let trace = Arc::new(trace);
        let (leaps, _) = run_queued(&trace, (rules, config), cost, &queueing);
        let steps =
            fleet(Arc::clone(&trace), (rules, config), cost).with_queue_policy(queueing.clone()).without_fast_forward().run();
        prop_assert_eq!(leaps.digest(), steps.digest());
        prop_assert!(leaps == steps, "equal outcomes, other timelines");
        if config.prefix_cache && config.scheduler == SchedulerKind::VllmV1 && leaps.preemptions == 0
            && is_plain(&trace, &rules) && queueing.policy == QueuePolicy::Fcfs {
            let without = run(&trace, PoolConfig { prefix_cache: false, ..config }, cost).0;
            let read = |report: &Report| report.timeline.iterations.iter().map(|r| u64::from(r.prompt_tokens)).sum::<u64>();
            prop_assert!(read(&leaps) <= read(&without));
        }
    }

    #[test]
    fn vllm_fast_forwarded_equals_single_steps(
        (trace, queueing) in sent_by_users(), config in any_vllm(), rules in any_rules(9_000), cost in any_cost(),
        replicas in 1u32..3,
    ) {
        let trace = Arc::new(trace);
        let config = PoolConfig { replicas, ..config };
        let together = run_queued(&trace, (rules, config), cost, &queueing).0;
        let alone = fleet(Arc::clone(&trace), (rules, config), cost).with_queue_policy(queueing).without_fast_forward();
        prop_assert!(together == alone.run());
        check_requests(&together, &config);
        check_waits(&together, rules.queue_timeout_us);
        check_tokens(&together);
        check_memory(&together);
    }

    /// Copied in the middle of a run, the copy and the run end alike.
    #[test]
    fn a_clone_goes_on_with_equal_bits(
        (trace, queueing) in sent_by_users(), config in prop_oneof![2 => any_config(), 1 => any_vllm()],
        rules in any_rules(9_000), cost in any_cost(), times in 1usize..60,
    ) {
        let cost = on_its_stages(config.scheduler, cost);
        let fleet = || fleet(Arc::new(trace.clone()), (rules, config), cost).with_queue_policy(queueing.clone());
        let whole = fleet().run();
        let mut first = fleet();
        first.advance(times);
        let clone = first.clone();
        first.advance(times);
        prop_assert!(clone.run() == whole);
        prop_assert!(first.run() == whole);
    }

    #[test]
    fn every_batch_is_told_after_the_run(trace in any_trace(), config in any_config(), cost in any_cost()) {
        let cost = on_its_stages(config.scheduler, cost);
        let heard = Arc::default();
        let listening = Listening(cost, Arc::clone(&heard));
        let mut fleet = Fleet::of_pool(Arc::new(trace), config, Box::new(listening));
        while !fleet.advance(1_000) {}
        let timeline = fleet.finish().timeline;
        let key = |batch: &Asked| format!("{batch:?}");
        let mut reported: Vec<Asked> = timeline.iterations.iter().map(|run| asked(&run.batch(timeline.iterations.chunks(run), 0.0))).collect();
        let mut heard = heard.lock().unwrap().clone();
        reported.sort_by_cached_key(key);
        heard.sort_by_cached_key(key);
        let forms_ahead =
            matches!(config.scheduler, SchedulerKind::VllmV1 | SchedulerKind::Sglang | SchedulerKind::Trtllm);
        if !forms_ahead || cost.stages > 1 {
            prop_assert_eq!(reported, heard);
            return Ok(());
        }
        // An iteration that makes no token for a client that has gone is recorded by itself, and takes the time that was known.
        let continues_run = |run: &&IterationRun| run.prompts == 0 && run.fresh < run.decodes;
        let most = heard.len() + timeline.iterations.iter().filter(continues_run).count();
        prop_assert!(reported.len() <= most, "{} told of {}", reported.len(), heard.len());
        for batch in heard {
            let place = reported.iter().position(|other| *other == batch);
            prop_assert!(place.map(|place| reported.remove(place)).is_some(), "{batch:?} is not told");
        }
    }

    #[test]
    fn parts_add_up_to_the_time_worked(trace in any_trace(), config in any_config(), cost in any_cost()) {
        let cost = on_its_stages(config.scheduler, cost);
        let cost = Toy { growth_us: 0.0, ..cost };
        let (report, _) = run(&Arc::new(trace), config, cost);
        let mut busy_us = vec![0.0; report.replicas.len()];
        for (run, parts) in run_parts(&report) {
            busy_us[run.replica] += run.busy_us;
            let totals = RunTotals::of(&report.timeline, &cost, run);
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
                let alone = cost.work(&run.batch(report.timeline.iterations.chunks(run), i.into())).unwrap();
                let work = parts.work(i).unwrap();
                prop_assert!((work.bytes - alone.bytes).abs() < 1e-6 && work.flops == alone.flops);
            }
            let bytes: f64 = (0..run.iterations).map(|i| parts.work(i).unwrap().bytes).sum();
            prop_assert!((bytes - totals.work.unwrap().bytes).abs() <= 1e-9 * bytes);
            prop_assert_eq!(parts, RunParts::of(&report.timeline, &cost, run));
        }
        let (usage, gaps) = usage(&report);
        let by_themselves = InterTokenLatencies::of(&report.timeline);
        prop_assert_eq!(gaps.count(), by_themselves.count());
        prop_assert_eq!(gaps.distribution(), by_themselves.distribution());
        let summary = fleet_summary(&report, &usage);
        let all: f64 = summary.operators_s.values().sum();
        prop_assert!((all - busy_us.iter().sum::<f64>() / 1e6).abs() <= 1e-9 * all);
        let makespan = report.end_us();
        for (row, busy) in summary.per_replica.iter().zip(&busy_us) {
            prop_assert_eq!(row.busy, (makespan > 0.0).then(|| busy / makespan));
            prop_assert!(row.busy.is_none_or(|busy| (0.0..=1.0 + 1e-12).contains(&busy)));
            prop_assert!(row.peak_kv.is_some_and(|peak| peak <= 1.0));
        }
        let rows = &summary.per_replica;
        prop_assert_eq!(rows.iter().map(|row| row.preemptions).sum::<u64>(), report.preemptions);
        let refused = report.results.iter().filter(|result| matches!(result.outcome, Outcome::Rejected(_))).count();
        prop_assert_eq!(rows.iter().map(|row| row.requests as usize).sum::<usize>() + refused, report.results.len());
    }

    #[test]
    fn a_stage_works_on_one_thing_at_a_time(trace in any_trace(), config in any_config(), cost in any_cost()) {
        let cost = on_its_stages(config.scheduler, cost);
        let (report, _) = run(&Arc::new(trace), config, cost);
        let mut over_us = vec![0.0; report.replicas.len() * cost.stages as usize];
        let mut busy_us = vec![0.0; report.replicas.len()];
        for work in stage_works(&report) {
            let lane = &mut over_us[(u32::from(work.run.replica.get()) * cost.stages + work.stage) as usize];
            prop_assert!(work.start_us >= *lane && work.end_us > work.start_us, "{work:?} overlaps");
            *lane = work.end_us;
            busy_us[work.run.replica] += work.end_us - work.start_us;
            if work.stage + 1 == cost.stages {
                prop_assert_eq!(work.end_us, work.run.end_us, "a batch leaves the last stage when it was written down");
            }
        }
        let mut told_us = vec![0.0; report.replicas.len()];
        report.timeline.iterations.iter().for_each(|run| told_us[run.replica] += run.busy_us);
        for (lanes, reported) in busy_us.iter().zip(&told_us) {
            prop_assert!((lanes / f64::from(cost.stages) - reported).abs() <= 1e-9 * reported);
        }
    }

    #[test]
    fn blocks_are_kept_count_of(
        (trace, queueing) in sent_by_users(), config in any_config(), rules in any_rules(9_000), cost in any_cost(),
    ) {
        let config = PoolConfig { reference_quirks: false, ..config };
        let cost = on_its_stages(config.scheduler, cost);
        let mut fleet = fleet(Arc::new(trace), (rules, config), cost).with_queue_policy(queueing).without_fast_forward();
        while !fleet.advance(1) {
            let used = fleet.blocks_in_use();
            prop_assert!(used.iter().all(|&blocks| blocks <= config.blocks));
            if let Some(audited) = fleet.audited_blocks() {
                prop_assert_eq!(&used, &audited);
            }
            prop_assert!(fleet.audits_adapters());
            let all = used.iter().zip(fleet.adapter_blocks_in_use()).map(|(used, adapters)| used + adapters);
            prop_assert!(all.into_iter().all(|blocks| blocks <= config.blocks));
            if let Preemption::Swap { host_blocks, .. } = config.preemption {
                prop_assert!(fleet.host_blocks_in_use().iter().all(|&blocks| blocks <= host_blocks));
            }
        }
    }

    /// A factor that is a power of two loses no bit.
    #[test]
    fn slower_by_a_factor_is_the_same_run(
        trace in any_trace(), config in any_config(), rules in any_rules(9_000), cost in any_cost(),
    ) {
        const K: f64 = 4.0;
        let cost = on_its_stages(config.scheduler, cost);
        let mut slow = trace.clone();
        slow.arrival_us.iter_mut().for_each(|at| *at *= K);
        slow.cancellations.iter_mut().for_each(|(at, _)| *at *= K);
        if let Some(closed_loop) = &mut slow.closed_loop {
            closed_loop.think_us.iter_mut().for_each(|think| *think *= K);
        }
        let preemption = match config.preemption {
            Preemption::Swap { host_blocks, us_per_block } => Preemption::Swap { host_blocks, us_per_block: K * us_per_block },
            other => other,
        };
        let AdapterLoading { base_us, host_us_per_rank, disk_us_per_rank } = config.adapters.loading;
        let loading = AdapterLoading {
            base_us: K * base_us,
            host_us_per_rank: K * host_us_per_rank,
            disk_us_per_rank: K * disk_us_per_rank,
        };
        let adapters = AdapterConfig { loading, ..config.adapters };
        let slow_config = PoolConfig { preemption, adapters, ..config };
        let view = RouterView {
            ttl_us: K * rules.view.ttl_us,
            event_delay_us: K * rules.view.event_delay_us,
            scrape_us: K * rules.view.scrape_us,
            ..rules.view
        };
        let constants = RouterConstants {
            llmd_peak_prefill_tokens_per_s: rules.constants.llmd_peak_prefill_tokens_per_s / K,
            llmd_max_ttft_penalty_us: K * rules.constants.llmd_max_ttft_penalty_us,
            vtc_window_us: K * rules.constants.vtc_window_us,
            ..rules.constants
        };
        let slow_rules =
            FleetConfig { queue_timeout_us: K * rules.queue_timeout_us, view, constants, ..rules };
        let quick = fleet(Arc::new(trace), (rules, config), cost).run();
        let slow = fleet(Arc::new(slow), (slow_rules, slow_config), Slow(cost, K)).run();
        prop_assert_eq!(quick.preemptions, slow.preemptions);
        prop_assert_eq!(quick.results.len(), slow.results.len());
        for id in 0..quick.results.len() {
            prop_assert_eq!(quick.results[id].outcome, slow.results[id].outcome);
            prop_assert_eq!(quick.results[id].finish_us.map(|at| at * K), slow.results[id].finish_us);
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
        let cost = on_its_stages(config.scheduler, cost);
        let trace = Trace { cancellations: vec![], closed_loop: None, ..trace };
        let config = PoolConfig { replicas: 2, reference_quirks: true, ..config };
        let vllm = VllmRules { max_num_queued_tokens: None, ..config.vllm };
        let adapters =
            AdapterConfig { max_lora_rank: u32::MAX, tokens_per_rank: 0.0, ..config.adapters };
        let config =
            PoolConfig { max_request_tokens: 160, vllm, adapters, ..config };
        // Drafts are drawn by the place of a request.
        let speculation =
            config.speculation.map(|own| Speculation { acceptance: Acceptance::Recorded, ..own });
        let config = PoolConfig { speculation, ..config };
        // A request that is rejected has no turn, so none may be: vLLM v1, TensorRT-LLM and S-LoRA reject requests for which memory
        // is too small.
        let config = match config.scheduler {
            SchedulerKind::VllmV1 => {
                PoolConfig { blocks: 160 * config.kv_groups.count(), max_batch_tokens: config.max_batch_tokens.max(160), ..config }
            }
            SchedulerKind::Trtllm => {
                PoolConfig { blocks: config.blocks.max(160), max_batch_tokens: config.max_batch_tokens.max(160), ..config }
            }
            SchedulerKind::Slora => PoolConfig { blocks: 400, max_request_tokens: 400, max_input_tokens: 400, ..config },
            _ => config,
        };
        let both = run(&Arc::new(trace.clone()), config, cost).0;
        for half in 0..2 {
            let mut part = Trace { adapter_rank: trace.adapter_rank.clone(), ..Trace::default() };
            let ids: Vec<usize> = (half..trace.len()).step_by(2).collect();
            ids.iter().for_each(|&id| part.push(trace.request(id)));
            let order: Vec<u32> = ids.iter().map(|&id| id as u32).collect();
            part.metadata = trace.metadata.as_ref().map(|metadata| Box::new(metadata.select(&order)));
            let alone = run(&Arc::new(part), PoolConfig { replicas: 1, ..config }, cost).0;
            for (place, &id) in ids.iter().enumerate() {
                prop_assert_eq!(alone.results[place].finish_us, both.results[id].finish_us);
                prop_assert_eq!(alone.preemptions(place), both.preemptions(id));
            }
        }
    }
}
