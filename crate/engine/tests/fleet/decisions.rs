//! The log of decisions: equal with and without fast-forward, of no influence on the run, and true to its numbers.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::given::{any_rules, fleet, requests};
use proptest::prelude::*;
use servescope_engine::decisions::{Decision, Test, Verdict};
use servescope_engine::first_difference::first_difference;
use servescope_engine::{AdapterMemory, Fleet, Outcome, PoolConfig, Rejection, Report, SchedulerKind};
use servescope_workload::{BASE_MODEL, RequestId, Trace};

use super::any::{any_config, any_cost, any_vllm, on_its_stages, sent_by_users};
use super::toy::TOY;

/// Whether the two numbers of a decision say what was decided.
fn is_true_to_its_numbers(decision: &Decision, config: &PoolConfig) -> bool {
    let Some((need, have)) = decision.compared.numbers() else { return true };
    match (decision.verdict, decision.compared.test) {
        // What would never fit above the watermark may use it.
        (Verdict::Admitted | Verdict::Loads | Verdict::SwappedIn, Test::KvBlocks) => {
            need <= have + config.watermark_blocks
        }
        (Verdict::Admitted, Test::UnreservedBlocks) => need <= have,
        (Verdict::Admitted, Test::PeakTokens | Test::ExpectedTokens) => need < have,
        // The last block of an index may end behind the prompt's last token that is looked up, never behind the prompt.
        (Verdict::Routed, Test::CachedPrompt) => have <= need,
        (Verdict::Routed, Test::RankRequests) => true,
        (Verdict::Waits, Test::PeakTokens | Test::ExpectedTokens) => need >= have,
        (
            Verdict::Waits
            | Verdict::Skipped
            | Verdict::DraftsDropped
            | Verdict::Preempted
            | Verdict::SwappedOut
            | Verdict::Rejected(_),
            _,
        ) => need > have,
        (verdict, test) => panic!("{verdict:?} by {test:?}"),
    }
}

fn check(report: &Report, config: &PoolConfig, stages: u32) -> Result<(), TestCaseError> {
    let decisions = report.decisions.as_deref().unwrap();
    prop_assert!(decisions.is_sorted_by_key(|decision| decision.time_us));
    let mut joined: BTreeMap<RequestId, u32> = BTreeMap::new();
    let mut held: BTreeMap<RequestId, (Verdict, Test)> = BTreeMap::new();
    let mut rejected: BTreeMap<RequestId, Rejection> = BTreeMap::new();
    for decision in decisions {
        prop_assert!(is_true_to_its_numbers(decision, config), "{decision:?}");
        let Some(id) = decision.request() else { continue };
        match decision.verdict {
            Verdict::Admitted | Verdict::SwappedIn => *joined.entry(id).or_default() += 1,
            Verdict::Waits | Verdict::Skipped => {
                let reason = (decision.verdict, decision.compared.test);
                prop_assert_ne!(held.insert(id, reason), Some(reason), "{:?} is told twice", decision);
                continue;
            }
            Verdict::Loads => {}
            Verdict::AwaitsInput => prop_assert!(false, "no session has streaming input"),
            Verdict::DraftsDropped | Verdict::DraftsPadded => prop_assert!(joined.contains_key(&id)),
            Verdict::Preempted | Verdict::SwappedOut => {
                prop_assert!(decision.on_behalf_of().is_some());
            }
            // SGLang keeps a prompt that is too long in its queue, which may turn it away as well: that is the answer.
            Verdict::Rejected(reason) => _ = rejected.insert(id, reason),
            Verdict::TimedOut => prop_assert_eq!(report.results[id].outcome, Outcome::TimedOut),
            Verdict::Routed | Verdict::Disaggregated | Verdict::Aggregated => {
                prop_assert!(decision.replica().is_some());
            }
            Verdict::Forwarded => prop_assert!(false, "there is no gateway"),
        }
        held.remove(&id);
    }
    for (id, reason) in rejected {
        prop_assert_eq!(report.results[id].outcome, Outcome::Rejected(reason));
    }
    for id in 0..report.trace.len() {
        let preemptions = u32::from(report.preemptions(id));
        let times = joined.get(&RequestId::new(id as u32)).copied().unwrap_or(0);
        let is_begun = report.scheduled_us(id).is_some();
        // A client may go away before the first stage takes the batch of its request.
        let is_formed_ahead =
            stages > 1 || matches!(config.scheduler, SchedulerKind::VllmV1 | SchedulerKind::Trtllm);
        let has_begun = is_begun || is_formed_ahead && report.results[id].outcome == Outcome::Cancelled;
        // One that was preempted last may still wait.
        prop_assert!(times <= preemptions + u32::from(has_begun), "request {} joins {} times", id, times);
        prop_assert!(times + 1 >= preemptions + u32::from(is_begun), "request {} joins {} times", id, times);
        if report.results[id].outcome == Outcome::Completed {
            // vLLM's last token may be under way when its request is preempted, and end it.
            prop_assert!(times >= preemptions.max(1));
        }
    }
    let of =
        |verdict: Verdict| decisions.iter().filter(|decision| decision.verdict == verdict).count() as u64;
    prop_assert_eq!(of(Verdict::Preempted) + of(Verdict::SwappedOut), report.preemptions);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..servescope_testkit::cases(100, 1_000) })]

    #[test]
    fn decisions_of_leaps_equal_those_of_steps(
        (trace, queueing) in sent_by_users(), config in prop_oneof![any_config(), any_vllm()],
        rules in any_rules(9_000), cost in any_cost(),
    ) {
        let cost = on_its_stages(config.scheduler, cost);
        let trace = Arc::new(trace);
        let fleet = || fleet(Arc::clone(&trace), (rules, config), cost).with_queue_policy(queueing.clone());
        let leaps = fleet().with_decisions().run();
        let steps = fleet().with_decisions().without_fast_forward().run();
        let (recorded, singly) = (leaps.decisions.as_deref().unwrap(), steps.decisions.as_deref().unwrap());
        for (one, other) in recorded.iter().zip(singly) {
            prop_assert_eq!(one, other);
        }
        prop_assert_eq!(recorded.len(), singly.len());
        prop_assert!(first_difference(&leaps, &steps).is_none());
        let without = fleet().run();
        prop_assert!(Report { decisions: None, phases: None, choices: Vec::new(), ..leaps.clone() } == without, "the log changes the run");
        if !config.reference_quirks {
            check(&leaps, &config, cost.stages)?;
        }
    }
}

/// A run of the toy model whose decisions are kept.
fn recorded(trace: &Arc<Trace>, config: PoolConfig) -> Report {
    let cost = on_its_stages(config.scheduler, TOY);
    Fleet::of_pool(Arc::clone(trace), config, Box::new(cost)).with_decisions().run()
}

const SCHEDULERS: [SchedulerKind; 7] = [
    SchedulerKind::Static,
    SchedulerKind::Orca,
    SchedulerKind::Vllm,
    SchedulerKind::Sarathi,
    SchedulerKind::LightLlm,
    SchedulerKind::VllmV1,
    SchedulerKind::Slora,
];

/// Requests of equal lengths that all arrive before the first iteration ends.
fn trace_of(count: u32, adapter: impl Fn(u32) -> u32, ranks: &[u32]) -> Arc<Trace> {
    let rows = (0..count).map(|i| (f64::from(i), 0, adapter(i), 20, 10));
    Arc::new(Trace { adapter_rank: ranks.to_vec(), ..requests(rows) })
}

fn plain(scheduler: SchedulerKind) -> PoolConfig {
    let base = if scheduler == SchedulerKind::Slora { PoolConfig::slora() } else { PoolConfig::default() };
    PoolConfig { scheduler, blocks: 4_000, max_slots: 64, max_request_tokens: 64, ..base }
}

/// With a cap of k running requests instead of a large one nothing differs up to the request that is one too many.
#[test]
fn two_runs_part_where_a_cap_first_matters() {
    let trace = trace_of(12, |_| BASE_MODEL, &[]);
    for scheduler in SCHEDULERS {
        let of = |max_requests: u32| {
            let config = PoolConfig { max_requests, ..plain(scheduler) };
            recorded(&trace, config)
        };
        let (wide, again, narrow) = (of(64), of(64), of(4));
        assert_eq!(first_difference(&wide, &again), None, "{scheduler:?}");
        let difference = first_difference(&wide, &narrow).unwrap();
        let (a, b) = (difference.a.unwrap(), difference.b.unwrap());
        assert_eq!(a.verdict, Verdict::Admitted, "{scheduler:?}");
        assert_eq!((b.verdict, b.compared.test, b.request()), (Verdict::Waits, Test::RunningCap, None));
        assert_eq!(b.compared.numbers(), Some((5, 4)), "{scheduler:?}");
        assert_eq!(difference.time_us(), a.time_us.min(b.time_us));
        let admitted = |report: &Report| {
            let all = report.decisions.as_deref().unwrap().iter();
            all.filter(|decision| decision.verdict == Verdict::Admitted).find_map(Decision::request)
        };
        assert_eq!(admitted(&wide), admitted(&narrow));
    }
}

/// A request that lacks memory has one entry for it, with the blocks that it needs and those that are free.
#[test]
fn waiting_for_memory_is_told_once_with_its_numbers() {
    let trace = trace_of(3, |_| BASE_MODEL, &[]);
    let config = PoolConfig { blocks: 7, block_size: 4, reserve: true, ..plain(SchedulerKind::Vllm) };
    let report = recorded(&trace, PoolConfig { watermark_blocks: 0, max_request_tokens: 28, ..config });
    let lines: Vec<_> = report
        .decisions
        .as_deref()
        .unwrap()
        .iter()
        .map(|decision| (decision.request(), decision.verdict, decision.compared.numbers()))
        .collect();
    // 20 tokens of prompt and 9 of the answer are 8 blocks: none fits the pool of 7.
    assert!(lines.iter().all(|line| matches!(line.1, Verdict::Rejected(_))), "{lines:?}");
    let report = recorded(&trace, PoolConfig { blocks: 9, watermark_blocks: 0, ..config });
    let recorded: Vec<_> = report
        .decisions
        .as_deref()
        .unwrap()
        .iter()
        .map(|decision| (decision.request(), decision.verdict.name(), decision.compared.numbers()))
        .collect();
    let admitted = |id: u32| (Some(RequestId::new(id)), "admitted", Some((8, 9)));
    let waits = |id: u32| (Some(RequestId::new(id)), "waits", Some((8, 1)));
    assert_eq!(recorded, [admitted(0), waits(1), admitted(1), waits(2), admitted(2)]);
}

/// Requests for whose adapters there is no slot are skipped, the first of each adapter is recorded so.
#[test]
fn a_request_without_a_slot_is_skipped_by_name() {
    let trace = trace_of(6, |i| [0, 0, 1, 1, 2, 0][i as usize], &[8, 8, 8]);
    for scheduler in [SchedulerKind::VllmV1, SchedulerKind::Vllm, SchedulerKind::Sarathi] {
        let mut config = plain(scheduler);
        config.adapters.memory = AdapterMemory::Slots;
        (config.adapters.max_loras, config.adapters.max_cpu_loras, config.adapters.max_lora_rank) = (1, 3, 8);
        let report = recorded(&trace, config);
        let skipped: Vec<_> = report
            .decisions
            .as_deref()
            .unwrap()
            .iter()
            .filter(|decision| decision.compared.test == Test::LoraSlots)
            .map(|decision| (decision.request().unwrap(), decision.verdict, decision.compared.numbers()))
            .collect();
        let recorded = |id: u32| (RequestId::new(id), Verdict::Skipped, Some((2, 1)));
        assert_eq!(skipped, [recorded(2), recorded(4)], "{scheduler:?}");
    }
}

/// The preempted request is recorded with the one that needed its blocks.
#[test]
fn a_preemption_names_the_request_that_needs_the_blocks() {
    let trace = trace_of(2, |_| BASE_MODEL, &[]);
    for scheduler in [SchedulerKind::Vllm, SchedulerKind::Sarathi, SchedulerKind::VllmV1] {
        // Two prompts of 5 blocks fit, two whole requests of 8 do not.
        let config = PoolConfig { blocks: 12, block_size: 4, watermark_blocks: 0, ..plain(scheduler) };
        let report = recorded(&trace, config);
        let preempted: Vec<_> = report
            .decisions
            .as_deref()
            .unwrap()
            .iter()
            .filter(|decision| decision.verdict == Verdict::Preempted)
            .collect();
        assert!(!preempted.is_empty(), "{scheduler:?}");
        assert_eq!(
            (preempted[0].request(), preempted[0].on_behalf_of()),
            (Some(RequestId::new(1)), Some(RequestId::new(0))),
            "{scheduler:?}"
        );
        assert_eq!(preempted[0].compared.numbers(), Some((1, 0)), "{scheduler:?}");
    }
}
