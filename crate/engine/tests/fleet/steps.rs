//! Stepping through the decisions of a run: what a step shows is what running to it shows, whichever way it is come to, and it is
//! true to the numbers of the decision.

use std::sync::Arc;

use crate::given::{any_rules, fleet};
use proptest::prelude::*;
use servescope_engine::decisions::{Decision, Test, Verdict};
use servescope_engine::queue::QueueConfig;
use servescope_engine::snapshot::{MOST_LISTED, ReplicaSnapshot};
use servescope_engine::steps::{DebugStep, DebugStepKind, DebugSteps, Recording, StepState};
use servescope_engine::{Fleet, PoolConfig, Report, SchedulerKind};
use servescope_workload::{RequestId, Trace};

use super::any::{any_config, any_cost, any_vllm, on_its_stages, sent_by_users};

/// Runs a fleet that will be stepped through.
pub(crate) fn recorded(fleet: Fleet) -> (Report, DebugSteps) {
    let mut recording = Recording::new(fleet);
    while !recording.advance(7) {}
    recording.finish()
}

/// What every step shows, found by going forward from each to the next.
pub(crate) fn states(steps: &mut DebugSteps) -> Vec<StepState> {
    (0..steps.all().len()).map(|place| steps.state(place).unwrap()).collect()
}

/// The need of S-LoRA's formula, from the rows of a snapshot and the requests that were admitted since.
fn need(state: &StepState, trace: &Trace, candidate: RequestId, scheduler: SchedulerKind) -> i64 {
    let admitted = |decision: &&Decision| decision.verdict == Verdict::Admitted;
    let joining = state.earlier.iter().filter(admitted).filter_map(Decision::request).chain([candidate]);
    let held_back = if scheduler == SchedulerKind::Slora { 1 } else { 2 };
    let joining = joining.map(|id| {
        let (input, max) = (trace.input_tokens[id], trace.max_tokens[id]);
        (i64::from(input) + 1, i64::from(max.saturating_sub(held_back)))
    });
    let rows = state.replica.as_ref().and_then(|replica| replica.peak.as_ref()).unwrap();
    let mut all: Vec<(i64, i64)> =
        rows.iter().map(|row| (i64::from(row.used), i64::from(row.left))).chain(joining).collect();
    all.sort_by_key(|&(_, left)| std::cmp::Reverse(left));
    let mut held = 0;
    let terms = all.iter().zip(1..).map(|(&(used, left), k)| {
        held += used;
        left * k + held
    });
    terms.max().unwrap_or(0)
}

/// Whether the snapshot of a replica agrees with itself.
fn check_replica(replica: &ReplicaSnapshot, config: &PoolConfig) -> Result<(), TestCaseError> {
    let kv = &replica.kv;
    prop_assert!(kv.used + kv.adapters + kv.free <= kv.total);
    prop_assert_eq!(replica.waiting.len(), (replica.waiting_count as usize).min(MOST_LISTED));
    let blocks: u32 = replica.holders.iter().map(|holder| holder.blocks).sum();
    if config.scheduler != SchedulerKind::Static {
        let in_tree = replica.radix.map_or(0, |tree| tree.locked / kv.block_tokens);
        prop_assert_eq!(blocks - kv.shared + kv.copied + in_tree, kv.used, "{:?}", replica.holders);
    }
    Ok(())
}

fn check_step(
    step: &Decision,
    state: &StepState,
    config: &PoolConfig,
    trace: &Trace,
) -> Result<(), TestCaseError> {
    let Some(replica) = &state.replica else { return Ok(()) };
    prop_assert_eq!(Some(replica.replica), step.replica());
    prop_assert_eq!(replica.time_us, step.time_us);
    let Some(id) = step.request() else { return Ok(()) };
    let is_on_list = replica.waiting.iter().any(|entry| entry.id == id);
    let was_preempted = state.earlier.iter().any(|earlier| earlier.request() == Some(id));
    if matches!(step.verdict, Verdict::Admitted | Verdict::Waits | Verdict::Skipped | Verdict::SwappedIn) {
        prop_assert!(is_on_list || was_preempted, "{step:?} is of a request that does not wait: {replica:?}");
    }
    if matches!(step.verdict, Verdict::Preempted | Verdict::SwappedOut) {
        let came = |earlier: &Decision| earlier.request() == Some(id);
        let holds = replica.holders.iter().any(|holder| holder.id == id) || state.earlier.iter().any(came);
        prop_assert!(holds, "{step:?} is of a request that holds nothing: {replica:?}");
    }
    if let (Test::PeakTokens, Some((reported, _))) = (step.compared.test, step.compared.numbers()) {
        prop_assert_eq!(
            need(state, trace, id, config.scheduler),
            i64::from(reported),
            "{:?} {:?}",
            step,
            replica.peak
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..servescope_testkit::cases(60, 600) })]

    #[test]
    fn a_step_shows_what_running_to_it_shows(
        (trace, queueing) in sent_by_users(),
        config in prop_oneof![any_config(), any_vllm()],
        rules in any_rules(9_000),
        cost in any_cost(),
        places in prop::collection::vec(any::<prop::sample::Index>(), 1..20),
    ) {
        let cost = on_its_stages(config.scheduler, cost);
        let trace = Arc::new(trace);
        let fleet = || {
            fleet(Arc::clone(&trace), (rules, config), cost).with_queue_policy(QueueConfig::clone(&queueing))
        };
        let (report, mut steps) = recorded(fleet());
        prop_assert!(report == fleet().with_decisions().run(), "to be stepped through changes the run");
        let kept = report.decisions.as_deref().unwrap();
        let reported = steps.all().iter().filter_map(|step| match step {
            DebugStep::Decision(decision) => Some(*decision),
            DebugStep::Load(_) | DebugStep::Scaling(_) | DebugStep::Failure(_) => None,
        });
        prop_assert!(reported.eq(kept.iter().copied()));
        let loads: u64 = steps.all().iter().map(|step| if let DebugStep::Load(load) = step { u64::from(load.count) } else { 0 }).sum();
        prop_assert_eq!(loads, report.adapters.loads);
        prop_assume!(!kept.is_empty());

        let (_, mut from_start) = recorded(fleet());
        let forward = states(&mut from_start);
        for place in places {
            let place = place.index(steps.all().len());
            prop_assert_eq!(&steps.state(place).unwrap(), &forward[place], "step {}", place);
        }
        let (_, mut singly) = recorded(fleet().without_fast_forward());
        for (place, step) in steps.all().to_vec().iter().enumerate() {
            let state = &forward[place];
            prop_assert_eq!(&singly.state(place).unwrap().replica, &state.replica, "{:?}", step);
            if let Some(replica) = state.replica.as_ref().filter(|replica| replica.is_look) {
                check_replica(replica, &config)?;
            }
            match step {
                DebugStep::Decision(decision) if !config.reference_quirks => check_step(decision, state, &config, &report.trace)?,
                DebugStep::Load(load) => {
                    let replica = state.replica.as_ref().unwrap();
                    prop_assert!(replica.has_loaded && replica.loaded.len() <= load.count as usize);
                }
                DebugStep::Decision(_) | DebugStep::Scaling(_) | DebugStep::Failure(_) => {}
            }
        }
        prop_assert!(steps.state(steps.all().len()).is_none());
    }
}

#[test]
fn steps_are_found_by_time_request_and_kind() {
    let rows = (0..40).map(|i| (f64::from(i) * 10.0, 0, 0, 20, 30));
    let trace = Arc::new(Trace { adapter_rank: vec![8], ..crate::given::requests(rows) });
    let mut config = PoolConfig { blocks: 30, block_size: 4, watermark_blocks: 0, ..PoolConfig::default() };
    (config.scheduler, config.max_request_tokens) = (SchedulerKind::Vllm, 64);
    let fleet = Fleet::of_pool(Arc::clone(&trace), config, Box::new(super::toy::TOY));
    let (report, mut steps) = recorded(fleet);
    assert!(report.preemptions > 0);
    let preemption = steps.next(DebugStepKind::Preemption, None).unwrap();
    let DebugStep::Decision(first) = steps.all()[preemption] else { panic!("a preemption is a decision") };
    assert_eq!(first.verdict, Verdict::Preempted);
    let second = steps.next(DebugStepKind::Preemption, Some(preemption)).unwrap();
    assert_eq!(steps.previous(DebugStepKind::Preemption, second), Some(preemption));
    assert_eq!(steps.next(DebugStepKind::Rejection, None), None);
    assert_eq!(steps.at(-1.0), 0);
    let at = steps.at(first.time_us);
    assert!(at >= preemption && steps.all()[at].time_us() == first.time_us);
    let of = steps.of_request(RequestId::new(7)).unwrap();
    assert!(
        matches!(steps.all()[of], DebugStep::Decision(decision) if decision.request() == Some(RequestId::new(7)))
    );
    assert_eq!(steps.of_request(RequestId::new(40)), None);
    assert!(steps.state(second).unwrap().replica.is_some());
}
