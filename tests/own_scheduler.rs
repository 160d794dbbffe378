//! A batch scheduler written outside the engine, in this file: shortest remaining first. It runs behind the gateway, with LoRA
//! slots, into charts, explanations and the debugger, and the engine's fast-forward gives the bits of single steps.

use std::sync::Arc;

use proptest::prelude::*;
use servescope_cost::{AdapterCost, Batch, BatchCost, LinearCost, StageTime};
use servescope_engine::custom_scheduler::{
    CustomScheduler, Plan, RequestFacts, RunningRequest, SchedulerView, WaitingRequest,
};
use servescope_engine::decisions::Verdict;
use servescope_engine::explain::request_time::WhyTables;
use servescope_engine::steps::{DebugStep, Recording};
use servescope_engine::{
    AdapterConfig, AdapterMemory, Fleet, FleetConfig, Outcome, Pool, PoolConfig, ReplicaIndex, Report,
};
use servescope_lab::run::Run;
use servescope_output::views::{ViewOptions, all};
use servescope_settings::scenario::{AdapterRanks, Scenario};
use servescope_traces::arrivals::trace_of;
use servescope_workload::trace::Request;
use servescope_workload::{BASE_MODEL, RequestId, Trace};

/// Round numbers: an iteration of prompts takes 1 ms and 100 us a token, one that decodes 10 ms.
const COST: LinearCost = LinearCost {
    prefill_base_us: 1_000.0,
    prefill_per_token_us: 100.0,
    decode_base_us: 10_000.0,
    decode_per_request_us: 100.0,
    decode_per_kv_token_us: 1.0,
    overhead_us: 0.0,
    adapters: AdapterCost::FREE,
};

/// Shortest remaining first: the request with the fewest tokens left runs, by the bound on its answer, for what an answer
/// will have is not known. A shorter request that finds no memory preempts the longest one.
#[derive(Debug, Clone, Default)]
struct ShortestRemainingFirst {
    /// Whether the last plan left everything but the tokens of running requests as it was.
    is_steady: bool,
}

/// The order: tokens left, then arrival, then the request's number.
fn remaining(facts: &RequestFacts) -> (u32, u64, RequestId) {
    (facts.max_tokens - facts.output_tokens, facts.arrival_us.to_bits(), facts.id)
}

impl CustomScheduler for ShortestRemainingFirst {
    fn boxed(&self) -> Box<dyn CustomScheduler> {
        Box::new(self.clone())
    }

    fn schedule(&mut self, view: &SchedulerView<'_>) -> Plan {
        let mut plan = Plan::default();
        let mut budget = view.max_batch_tokens;
        let mut free = i64::from(view.free_blocks);
        let blocks = |tokens: u32| i64::from(tokens.div_ceil(view.block_tokens));
        // The longest one stands last and is preempted first; what is under way is left alone.
        let mut running: Vec<&RunningRequest> = view.running.iter().collect();
        running.sort_by_key(|own| remaining(&own.facts));
        let mut kept = running.len();
        let mut waiting: Vec<&WaitingRequest> = view.waiting.iter().filter(|own| own.has_slot).collect();
        waiting.sort_by_key(|own| remaining(&own.facts));
        let mut place = 0;
        while place < kept {
            let own = running[place];
            let tokens = own.next_tokens.min(budget);
            let needs = blocks(own.computed_tokens + tokens) - i64::from(own.blocks);
            if tokens > 0 && needs > free {
                kept -= 1;
                plan.preempted.push(running[kept].facts.id);
                free += i64::from(running[kept].blocks);
                continue;
            }
            if tokens > 0 {
                free -= needs.max(0);
                budget -= tokens;
                plan.tokens.push((own.facts.id, tokens));
            }
            place += 1;
        }
        for own in waiting {
            let known = own.facts.prompt_tokens + own.facts.output_tokens;
            let needs = blocks(known);
            let has_room = needs <= free && kept < view.max_requests as usize;
            if budget == 0 || !has_room || !plan.preempted.is_empty() {
                break;
            }
            let tokens = known.min(budget);
            free -= needs;
            budget -= tokens;
            kept += 1;
            plan.tokens.push((own.facts.id, tokens));
        }
        // In the order of admission the engine keeps requests that only decode together.
        let decodes = |id: RequestId| view.running.iter().position(|own| own.facts.id == id);
        plan.tokens.sort_by_key(|&(id, _)| decodes(id).unwrap_or(usize::MAX));
        let admits = plan.tokens.iter().any(|&(id, _)| decodes(id).is_none());
        self.is_steady = plan.preempted.is_empty() && !admits;
        plan
    }

    /// Running requests have fewer and fewer blocks to give away, so what does not fit now fits no better before one leaves.
    fn steady_for(&self) -> u32 {
        if self.is_steady { u32::MAX } else { 0 }
    }
}

/// The same cost on each of several pipeline stages.
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

fn pool(config: &PoolConfig, stages: u32) -> Pool {
    let pool = Pool::new(*config, Box::new(OnStages(stages)));
    pool.with_scheduler(Box::<ShortestRemainingFirst>::default())
}

/// Rows of (arrival in microseconds, adapter, prompt tokens, output tokens, bound on the output beyond it).
fn trace(rows: impl IntoIterator<Item = (f64, u32, u32, u32, u32)>) -> Arc<Trace> {
    let mut trace = Trace { adapter_rank: vec![8; 4], ..Trace::default() };
    for (place, (arrival_us, adapter, input_tokens, output_tokens, beyond)) in rows.into_iter().enumerate() {
        let adapter = if adapter == 0 { BASE_MODEL } else { adapter - 1 };
        let max_tokens = output_tokens + beyond;
        let user = place as u32 % 3;
        trace.push(Request { arrival_us, user, adapter, input_tokens, output_tokens, max_tokens });
    }
    Arc::new(trace)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(60) })]

    /// Whatever is sent: every request is served, the blocks in use are those of the requests that hold memory, nothing is left at the
    /// end, and a fast-forward gives the bits of single steps.
    #[test]
    fn every_run_keeps_the_books_and_fast_forward_equals_single_steps(
        rows in prop::collection::vec((0u32..40_000, 0u32..5, 1u32..90, 1u32..60, 0u32..9), 1..40),
        cancels in prop::collection::vec((0u32..400_000, 0usize..40), 0..6),
        blocks in 12u32..60,
        max_requests in 1u32..12,
        max_batch_tokens in 4u32..200,
        max_loras in 1u32..4,
        prefix_cache in any::<bool>(),
        stages in 1u32..4,
    ) {
        let mut now_us = 0.0;
        let rows = rows.into_iter().map(|(gap, adapter, input, output, beyond)| {
            now_us += f64::from(gap);
            (now_us, adapter, input, output, beyond)
        });
        let mut sent = Arc::unwrap_or_clone(trace(rows));
        let count = sent.len();
        sent.cancellations =
            cancels.into_iter().map(|(at, id)| (f64::from(at), (id % count) as u32)).collect();
        sent.sort_cancellations();
        let adapters = AdapterConfig {
            memory: AdapterMemory::Slots,
            max_loras,
            max_cpu_loras: 8,
            ..PoolConfig::default().adapters
        };
        let config = PoolConfig {
            blocks, max_requests, max_batch_tokens, prefix_cache, adapters, replicas: 2, ..PoolConfig::default()
        };
        let fleet = || Fleet::new(Arc::new(sent.clone()), FleetConfig::default(), vec![pool(&config, stages)]);
        let mut stepped = fleet().without_fast_forward();
        while !stepped.advance(5) {
            prop_assert_eq!(stepped.audited_blocks(), Some(stepped.blocks_in_use()));
            prop_assert!(stepped.audits_adapters());
        }
        prop_assert_eq!(stepped.blocks_in_use(), [0, 0]);
        let (single, leapt): (Report, Report) = (stepped.finish(), fleet().run());
        prop_assert_eq!(&single, &leapt);
        let is_over = |outcome: Outcome| {
            matches!(outcome, Outcome::Completed | Outcome::Cancelled | Outcome::Rejected(_))
        };
        prop_assert!(single.results.iter().all(|result| is_over(result.outcome)));
    }
}

/// Two long requests and ten short ones behind them, all at once, one at a time: the short ones go first, and their mean time
/// falls as the theory of queues has it.
#[test]
fn short_requests_go_first() {
    let rows = (0..12).map(|place| (f64::from(place), 0, 20, if place < 2 { 400 } else { 10 }, 0));
    let sent = trace(rows);
    let config = PoolConfig { max_requests: 1, ..PoolConfig::default() };
    let own = Fleet::new(Arc::clone(&sent), FleetConfig::default(), vec![pool(&config, 1)]).run();
    let first_come = Fleet::of_pool(Arc::clone(&sent), config, Box::new(COST)).run();
    let mean = |report: &Report| {
        let of = |id: usize| report.results[id].finish_us.unwrap() - report.trace.arrival_us[id];
        (0..12).map(of).sum::<f64>() / 12.0
    };
    assert!(own.results[1].finish_us > own.results[11].finish_us, "the second long one is the last");
    assert!(mean(&own) < 0.6 * mean(&first_come), "{} against {}", mean(&own), mean(&first_come));
}

/// Waits until as many requests are there as a batch is to have, or the first one has waited long enough.
#[derive(Debug, Clone)]
struct WaitsForBatch {
    size: usize,
    most_us: f64,
    wakes_us: f64,
}

impl CustomScheduler for WaitsForBatch {
    fn boxed(&self) -> Box<dyn CustomScheduler> {
        Box::new(self.clone())
    }

    fn schedule(&mut self, view: &SchedulerView<'_>) -> Plan {
        let running = view.running.iter().map(|own| (own.facts.id, own.next_tokens));
        let first_us = view.waiting.first().map_or(f64::INFINITY, |own| own.facts.arrival_us);
        let is_due = view.waiting.len() >= self.size || first_us + self.most_us <= view.now_us;
        self.wakes_us = first_us + self.most_us;
        let joining = view.waiting.iter().filter(|_| is_due && view.running.is_empty());
        let tokens = running.chain(joining.map(|own| (own.facts.id, own.facts.prompt_tokens)));
        Plan { tokens: tokens.collect(), ..Plan::default() }
    }

    fn wakes_us(&self) -> f64 {
        self.wakes_us
    }
}

/// Of three requests two fill a batch at once; the third, alone, begins when it has waited half a second, on any number of stages.
#[test]
fn a_scheduler_may_look_again_at_a_time() {
    let sent = trace([(0.0, 0, 20, 3, 0), (1_000.0, 0, 20, 3, 0), (3e6, 0, 20, 3, 0)]);
    for stages in [1, 2] {
        let own = WaitsForBatch { size: 2, most_us: 5e5, wakes_us: f64::INFINITY };
        let pool = Pool::new(PoolConfig::default(), Box::new(OnStages(stages))).with_scheduler(Box::new(own));
        let report = Fleet::new(Arc::clone(&sent), FleetConfig::default(), vec![pool]).run();
        let scheduled: Vec<f64> = (0..3).filter_map(|id| report.scheduled_us(id)).collect();
        assert_eq!(scheduled, [1_000.0, 1_000.0, 3.5e6]);
    }
}

/// A short request that finds no block has the longest one preempted, which is computed again and finishes; and what only decodes
/// takes one event for many iterations.
#[test]
fn the_longest_gives_way_and_long_decodes_take_few_events() {
    let sent = trace([(0.0, 0, 20, 300, 0), (1.0, 0, 20, 290, 0), (2e6, 0, 20, 40, 0)]);
    let config = PoolConfig { blocks: 30, ..PoolConfig::default() };
    let fleet = || Fleet::new(Arc::clone(&sent), FleetConfig::default(), vec![pool(&config, 1)]);
    let events = |mut fleet: Fleet| (1..1_000_000).find(|_| fleet.advance(1)).unwrap();
    let (leapt, single) = (events(fleet()), events(fleet().without_fast_forward()));
    assert!(10 * leapt < single, "{leapt} events in place of {single}");
    let report = fleet().run();
    let preempted: Vec<u16> = (0..3).map(|id| report.preemptions(id)).collect();
    assert!(preempted[0] > 0 && preempted[2] == 0, "{preempted:?}");
    assert!(report.results.iter().all(|result| result.outcome == Outcome::Completed));
}

/// Behind the gateway, with LoRA slots, with explanations, charts and the debugger.
#[test]
fn it_runs_through_gateway_lora_slots_charts_and_debugger() {
    let mut scenario = Scenario::of_version(4);
    for (path, value) in [
        ("workload.duration_s", "40"),
        ("workload.rate_rps", "8"),
        ("workload.adapters.count", "12"),
        ("scheduler.kind", "vllm_v1"),
        ("cost.kind", "roofline"),
        ("fleet.model", "llama-3.1-8b"),
        ("fleet.gpu", "a10"),
        ("scheduler.max_model_len", "8192"),
        ("adapters.memory", "slots"),
        ("adapters.max_loras", "3"),
        ("gateway.kind", "proxy"),
    ] {
        scenario.set_text(path, value).unwrap_or_else(|error| panic!("{path}: {error:?}"));
    }
    let sent = trace_of(&scenario, None).unwrap();
    let ranks = AdapterRanks::of(&sent);
    let fleet = || {
        let pools = scenario.pools_for(ranks).unwrap();
        let tokens: f64 =
            pools.iter().map(|pool| f64::from(pool.config.blocks * pool.config.block_size)).sum();
        let own = |pool: Pool| pool.with_scheduler(Box::<ShortestRemainingFirst>::default());
        let pools = pools.into_iter().map(own).collect();
        Fleet::new(Arc::clone(&sent), scenario.fleet(), pools)
            .with_gateway(scenario.gateway(tokens).expect("a gateway is asked for"))
    };
    let mut recording = Recording::new(fleet());
    while !recording.advance(100) {}
    let (report, mut steps) = recording.finish();
    assert!(report.gateway.is_some() && report.adapters.loads > 0);
    let verdicts = |verdict| steps.all().iter().filter(|step| step_is(step, verdict)).count();
    assert!(verdicts(Verdict::Admitted) > 100);
    let admitted = steps.all().iter().position(|step| step_is(step, Verdict::Admitted)).unwrap();
    let state = steps.state(admitted).unwrap();
    let replica = state.replica.expect("the replica as it was");
    assert!(replica.waiting_count > 0 && replica.replica == ReplicaIndex::new(0));
    let run = Run::of(report, &scenario);
    let summary = run.summary();
    assert_eq!(summary.run.requests.offered as usize, sent.len());
    let charts = all(&run, &ViewOptions::default());
    assert!(charts.len() > 10);
    let heights = charts.iter().flat_map(|chart| &chart.series).flat_map(|series| &series.y);
    assert!(heights.clone().count() > 1_000 && heights.clone().all(|number| !number.is_infinite()));
    let tables = WhyTables::of(&run.report).expect("decisions are kept");
    for id in 0..run.report.results.len() {
        let time = tables.request(id);
        assert_eq!(time.by_cause().iter().sum::<u64>(), time.end_ns - time.arrival_ns, "request {id}");
    }
}

fn step_is(step: &DebugStep, verdict: Verdict) -> bool {
    matches!(step, DebugStep::Decision(decision) if decision.verdict == verdict)
}
