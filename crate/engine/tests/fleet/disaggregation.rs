//! Requests whose prompts and answers are computed in two pools.

use std::sync::Arc;

use proptest::prelude::*;
use servescope_engine::decisions::{Test as DecidedBy, Verdict};
use servescope_engine::explain::cause::{ByCause, Cause};
use servescope_engine::explain::request_time::WhyTables;
use servescope_engine::{
    ColdStart, DataParallel, Decider, Disaggregation, Failures, Fleet, FleetConfig, KvGroups, KvRole,
    KvTransfer, LinkSharing, LoadFailure, Lockstep, Outcome, Pool, PoolConfig, RankChoice, ReplicaIndex,
    Report, RouterKind, SchedulerKind, VllmRules,
};
use servescope_workload::{BASE_MODEL, Trace};

use super::any::{any_cost, any_vllm, on_its_stages, sent_by_users};
use super::checks::check_waits;
use super::pools::any_ranks;
use super::scaling::any_scaled_pool;
use super::toy::TOY;
use super::{check_causes, conserved};
use crate::given::{any_rules, requests};

fn any_policy() -> impl Strategy<Value = Decider> {
    let uncached = || (0u32..100, 0.0..1.0f64);
    prop_oneof![
        3 => Just(Decider::Always),
        1 => Just(Decider::Never),
        1 => (0u32..100).prop_map(Decider::Threshold),
        1 => uncached().prop_map(|(tokens, ratio)| Decider::UncachedPrompt { tokens, ratio }),
        1 => (0.0..2.0f64).prop_map(Decider::PrefillLoad),
        1 => (uncached(), 0.0..2.0f64).prop_map(|((tokens, ratio), busy)| {
            Decider::UncachedPromptOrLoad { tokens, ratio, busy }
        }),
    ]
}

prop_compose! {
    fn any_disaggregation()(
        policy in any_policy(),
        decode_busy in prop_oneof![Just(0.0), 0.1..1.0f64],
        prefill_router in prop::sample::select(&[
            RouterKind::RoundRobin, RouterKind::Random, RouterKind::LeastOutstanding, RouterKind::FewestWaiting,
            RouterKind::PowerOfTwo, RouterKind::LeastKv,
            RouterKind::PrefixAffinity,
        ][..]),
        (route_us, base_us) in (0u32..3_000, 0u32..3_000),
        sharing in prop_oneof![Just(LinkSharing::MaxMin), Just(LinkSharing::Alone)],
        load_failure in prop_oneof![Just(LoadFailure::Fail), Just(LoadFailure::Recompute)],
        failing_loads in prop_oneof![3 => Just(0.0), 1 => 0.0..1.0f64],
    ) -> Disaggregation {
        Disaggregation {
            policy, decode_busy, prefill_router, sharing, load_failure, failing_loads,
            route_us: route_us.into(),
            base_us: base_us.into(),
            ttft_at_prefill_end: false,
        }
    }
}

/// How the replicas of a pool come and go.
fn any_changes() -> BoxedStrategy<Pool> {
    let failures = (
        prop::collection::vec(0u32..20_000, 0..3),
        prop_oneof![3 => Just(f64::INFINITY), 1 => 3_000.0..50_000.0f64],
    );
    (any_scaled_pool(), any::<bool>(), failures)
        .prop_map(|(pool, scales, (times_us, mean_us))| Pool {
            autoscaling: pool.autoscaling.filter(|_| scales),
            failures: Failures { times_us: times_us.into_iter().map(f64::from).collect(), mean_us },
            ..pool
        })
        .boxed()
}

fn with_role(config: PoolConfig, role: KvRole, block_us: f64) -> PoolConfig {
    PoolConfig {
        reference_quirks: false,
        host_cache: None,
        kv_groups: KvGroups::FULL,
        kv_transfer: Some(KvTransfer { role, block_us }),
        ..config
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..servescope_testkit::cases(150, 2_000) })]

    /// Whatever the rules, the memory and the failures: every request ends, no block stays in use at either side, time adds up, and
    /// leaps are steps.
    #[test]
    fn legs_conserve_requests_and_blocks_and_leap_as_they_step(
        (trace, queueing) in sent_by_users(), (prefill, decode) in (any_vllm().boxed(), any_vllm().boxed()), cost in any_cost(),
        rules in any_rules(9_000), own in any_disaggregation(), block_us in 0u32..400, times in 1usize..80,
        ranks in (any_ranks(), any_ranks()), changes in (any_changes(), any_changes()), failure_retries in 0u32..4,
    ) {
        let trace = Arc::new(trace);
        let cost = on_its_stages(SchedulerKind::VllmV1, cost);
        let decode = PoolConfig { block_size: prefill.block_size, ..decode };
        let pools = || {
            let of = |config, role, data_parallel, changes: &Pool| {
                let config = with_role(PoolConfig { data_parallel, ..config }, role, block_us.into());
                Pool { config, cost: Arc::new(cost), ..changes.clone() }
            };
            let prefill = of(prefill, KvRole::Producer, ranks.0, &changes.0);
            vec![prefill, of(decode, KvRole::Consumer, ranks.1, &changes.1)]
        };
        let rules = FleetConfig { disaggregation: Some(own), failure_retries, ..rules };
        let fleet = || Fleet::new(Arc::clone(&trace), rules, pools()).with_queue_policy(queueing.clone());
        let leaps = conserved(fleet, times);
        check_waits(&leaps, rules.queue_timeout_us);
        for (id, result) in leaps.results.iter().enumerate() {
            let Some(legs) = leaps.legs(id) else { continue };
            if result.outcome != Outcome::Completed {
                continue;
            }
            let times = [legs.scheduled_us, legs.prefilled_us, legs.arrived_us, legs.decode_scheduled_us];
            prop_assert!(times.is_sorted() && leaps.trace.arrival_us[id] <= legs.scheduled_us, "{legs:?}");
            prop_assert_eq!(legs.decode, leaps.replica(id));
            prop_assert!(legs.blocks <= leaps.trace.input_tokens[id].div_ceil(prefill.block_size));
        }
        check_causes(&fleet().with_decisions().run());
    }
}

const BLOCK: u32 = 16;

fn config(replicas: u32) -> PoolConfig {
    PoolConfig {
        scheduler: SchedulerKind::VllmV1,
        replicas,
        blocks: 2_000,
        block_size: BLOCK,
        watermark_blocks: 0,
        max_batch_tokens: 2_048,
        max_request_tokens: 4_096,
        vllm: VllmRules { async_scheduling: false, ..VllmRules::default() },
        ..PoolConfig::default()
    }
}

fn fleet(trace: &Arc<Trace>, [prefill, decode]: [u32; 2], own: Disaggregation, block_us: f64) -> Fleet {
    let of = |replicas, role| Pool::new(with_role(config(replicas), role, block_us), Box::new(TOY));
    let rules = FleetConfig { disaggregation: Some(own), ..FleetConfig::default() };
    Fleet::new(Arc::clone(trace), rules, vec![of(prefill, KvRole::Producer), of(decode, KvRole::Consumer)])
}

fn trace(count: u32, apart_us: f64, input: u32, output: u32) -> Arc<Trace> {
    Arc::new(requests((0..count).map(|i| (f64::from(i) * apart_us, i, BASE_MODEL, input, output))))
}

/// One prefill and one decode replica, transfers that take no time: prompts are computed as by a fleet whose answers have one token.
#[test]
fn prompts_are_computed_as_in_a_fleet_of_single_tokens() {
    let trace = trace(60, 900.0, 300, 40);
    let apart = fleet(&trace, [1, 1], Disaggregation::FREE, 0.0).run();
    let single = Arc::new(Trace { output_tokens: vec![1; 60], max_tokens: vec![1; 60], ..(*trace).clone() });
    let alone = Fleet::of_pool(single, config(1), Box::new(TOY)).run();
    for id in 0..trace.len() {
        let legs = apart.legs(id).unwrap();
        assert_eq!(alone.scheduled_us(id), Some(legs.scheduled_us), "request {id}");
        assert_eq!(alone.results[id].finish_us, Some(legs.prefilled_us), "request {id}");
        assert_eq!(legs.arrived_us, legs.prefilled_us);
        assert_eq!(legs.blocks, 300_u32.div_ceil(BLOCK));
    }
}

fn mean_tpot_us(report: &Report) -> f64 {
    let all: Vec<f64> = (0..report.trace.len()).filter_map(|id| report.tpot_us(id)).collect();
    all.iter().sum::<f64>() / all.len() as f64
}

fn mean_ttft_us(report: &Report) -> f64 {
    let all: Vec<f64> = (0..report.trace.len()).filter_map(|id| report.ttft_us(id)).collect();
    all.iter().sum::<f64>() / all.len() as f64
}

/// No prompt is computed beside a decode, so that tokens come sooner after each other; the first one waits for the KV transfer.
#[test]
fn decodes_are_not_disturbed_and_the_first_token_waits_for_the_copy() {
    let trace = trace(80, 1_200.0, 600, 30);
    let of = |policy| {
        fleet(&trace, [1, 1], Disaggregation { policy, base_us: 400.0, ..Disaggregation::FREE }, 40.0).run()
    };
    let (apart, together) = (of(Decider::Always), of(Decider::Never));
    assert!(
        mean_tpot_us(&apart) < 0.8 * mean_tpot_us(&together),
        "{} {}",
        mean_tpot_us(&apart),
        mean_tpot_us(&together)
    );
    let alone = Arc::new(requests([(0.0, 0, BASE_MODEL, 1_500, 30)]));
    let own = Disaggregation { base_us: 400.0, route_us: 100.0, ..Disaggregation::FREE };
    let one = fleet(&alone, [1, 1], own, 40.0).run();
    let legs = one.legs(0).unwrap();
    // Through the router, to the first byte, and 94 blocks.
    assert_eq!(legs.decode_scheduled_us - legs.prefilled_us, 100.0 + 400.0 + 94.0 * 40.0);
}

/// A link too slow for the prompts: the copy takes longer than the prefill that it spares, and copies wait for each other.
#[test]
fn a_slow_link_loses() {
    let trace = trace(40, 20_000.0, 1_500, 4);
    let of =
        |policy, block_us| fleet(&trace, [1, 1], Disaggregation { policy, ..Disaggregation::FREE }, block_us);
    let whole = of(Decider::Never, 400.0).run();
    let slow = of(Decider::Always, 400.0).with_decisions().run();
    let quick = of(Decider::Always, 4.0).run();
    let [whole_us, slow_us, quick_us] = [&whole, &slow, &quick].map(mean_ttft_us);
    assert!(slow_us > whole_us && slow_us > quick_us, "{whole_us} {slow_us} {quick_us}");
    let why = WhyTables::of(&slow).unwrap();
    let mut causes = ByCause::default();
    for id in 0..trace.len() {
        why.request(id).parts.iter().for_each(|part| causes[part.cause as usize] += part.ns);
    }
    assert!(causes[Cause::KvLoading as usize] > 0 && causes[Cause::KvLink as usize] > 0, "{causes:?}");
}

/// The prefill replica keeps the prompt's blocks until they are pulled: with few of them it admits nothing meanwhile.
#[test]
fn blocks_stay_until_they_are_pulled() {
    let trace = trace(8, 0.0, 1_500, 4);
    let of = |blocks| {
        let small = |role, blocks| {
            Pool::new(PoolConfig { blocks, ..with_role(config(1), role, 400.0) }, Box::new(TOY))
        };
        let rules = FleetConfig { disaggregation: Some(Disaggregation::FREE), ..FleetConfig::default() };
        let pools = vec![small(KvRole::Producer, blocks), small(KvRole::Consumer, 2_000)];
        Fleet::new(Arc::clone(&trace), rules, pools).run()
    };
    let last = |report: &Report| (0..8).map(|id| report.legs(id).unwrap().prefilled_us).fold(0.0, f64::max);
    assert!(last(&of(100)) > 3.0 * last(&of(2_000)));
}

/// A failed pull ends its request, or is computed again.
#[test]
fn failed_pulls_fail_or_are_recomputed() {
    let trace = trace(20, 9_000.0, 500, 6);
    let of = |load_failure| {
        let own = Disaggregation { failing_loads: 1.0, load_failure, ..Disaggregation::FREE };
        fleet(&trace, [1, 1], own, 4.0).with_decisions().run()
    };
    let failed = of(LoadFailure::Fail);
    assert!(failed.results.iter().all(|result| matches!(result.outcome, Outcome::Rejected(_))));
    let decisions = failed.decisions.as_deref().unwrap();
    assert_eq!(decisions.iter().filter(|own| matches!(own.verdict, Verdict::Rejected(_))).count(), 20);
    let again = of(LoadFailure::Recompute);
    assert!(again.results.iter().all(|result| result.outcome == Outcome::Completed));
    let read: u64 = again.timeline.iterations.iter().map(|run| u64::from(run.prompt_tokens)).sum();
    assert!(read > 20 * 500 + 20 * 100, "{read} prompt tokens");
}

/// A first token that counts when the prompt is computed comes sooner by all that is between; TPOT has that instead.
#[test]
fn the_first_token_may_count_at_the_end_of_prefill() {
    let trace = trace(10, 9_000.0, 500, 6);
    let of = |ttft_at_prefill_end| {
        let own = Disaggregation { ttft_at_prefill_end, base_us: 900.0, ..Disaggregation::FREE };
        fleet(&trace, [1, 1], own, 4.0).run()
    };
    let (client, prefill) = (of(false), of(true));
    for id in 0..10 {
        let legs = client.legs(id).unwrap();
        let sooner_us = client.ttft_us(id).unwrap() - prefill.ttft_us(id).unwrap();
        assert_eq!(prefill.ttft_us(id), Some(legs.prefilled_us - trace.arrival_us[id]));
        assert!(sooner_us > 900.0 && client.e2e_us(id) == prefill.e2e_us(id));
        let longer_us = prefill.tpot_us(id).unwrap() - client.tpot_us(id).unwrap();
        assert!((longer_us - sooner_us / 5.0).abs() < 1e-6);
    }
}

/// What is written down of a decision is the test that decided, and what became of the request.
#[test]
fn a_busy_prefill_replica_keeps_requests_away_and_says_so() {
    let trace = trace(12, 0.0, 1_500, 4);
    let own = Disaggregation { policy: Decider::PrefillLoad(1.0), ..Disaggregation::FREE };
    let report = fleet(&trace, [1, 1], own, 4.0).with_decisions().run();
    let mut kept = 0;
    for decision in report.decisions.as_deref().unwrap() {
        let id = decision.request().map_or(0, servescope_workload::RequestId::index);
        match decision.verdict {
            Verdict::Disaggregated => assert!(report.legs(id).is_some(), "request {id}"),
            Verdict::Aggregated => {
                assert!(report.legs(id).is_none(), "request {id}");
                let (waiting, most) = decision.compared.numbers().unwrap();
                assert!((decision.compared.test, most) == (DecidedBy::PrefillLoad, 2_048) && waiting > most);
                kept += 1;
            }
            _ => {}
        }
    }
    // Two prompts have more than a budget of 2,048 tokens; the others are kept.
    assert_eq!(kept, 10);
}

/// Routers that compare loads count what they have sent, though its prompt is still computed elsewhere: a burst is shared evenly.
#[test]
fn a_burst_is_shared_among_decode_replicas_before_they_know_of_it() {
    let trace = trace(40, 0.0, 300, 20);
    for router in [RouterKind::LeastOutstanding, RouterKind::LeastKv, RouterKind::PowerOfTwo] {
        let of = |replicas, role| Pool::new(with_role(config(replicas), role, 4.0), Box::new(TOY));
        let rules =
            FleetConfig { router, disaggregation: Some(Disaggregation::FREE), ..FleetConfig::default() };
        let pools = vec![of(1, KvRole::Producer), of(4, KvRole::Consumer)];
        let report = Fleet::new(Arc::clone(&trace), rules, pools).run();
        let mut given = [0; 5];
        (0..trace.len()).for_each(|id| given[report.replica(id).index()] += 1);
        let wanted = if router == RouterKind::PowerOfTwo { 5..=15 } else { 10..=10 };
        assert!(given[1..].iter().all(|count| wanted.contains(count)), "{router:?}: {given:?}");
    }
}

/// Ranks that run together, on both sides: each decode rank pulls what the replica gave it.
#[test]
fn ranks_that_run_together_share_the_pulls() {
    let trace = trace(30, 400.0, 60, 6);
    for async_scheduling in [false, true] {
        let data_parallel = DataParallel {
            ranks: 2,
            lockstep: Some(Lockstep { sync_interval: 2, rearranging: None }),
            choice: RankChoice::RoundRobin,
            front_ends: 1,
        };
        let vllm = VllmRules { async_scheduling, ..VllmRules::default() };
        let of = |role| {
            let config = PoolConfig { data_parallel, vllm, ..config(1) };
            Pool::new(with_role(config, role, 4.0), Box::new(TOY))
        };
        let rules = FleetConfig { disaggregation: Some(Disaggregation::FREE), ..FleetConfig::default() };
        let pools = || vec![of(KvRole::Producer), of(KvRole::Consumer)];
        let report = conserved(|| Fleet::new(Arc::clone(&trace), rules, pools()), 7);
        let mut given = [0; 4];
        for id in 0..trace.len() {
            let legs = report.legs(id).unwrap();
            given[legs.prefill.index()] += 1;
            given[legs.decode.index()] += 1;
        }
        assert_eq!(given, [15; 4]);
    }
}

/// Of two replicas of a pool the second one drawn fails; a new one is ready 2 ms later.
fn failing(role: KvRole, at_us: f64, own: Disaggregation, block_us: f64) -> Report {
    let trace = trace(24, 1_000.0, 500, 40);
    let of = |pool_role| {
        let times_us = if pool_role == role { vec![at_us] } else { Vec::new() };
        let failures = Failures { times_us, ..Failures::NONE };
        let pool = Pool::new(with_role(config(2), pool_role, block_us), Box::new(TOY));
        Pool { failures, cold_start: ColdStart::fixed(2_000.0), ..pool }
    };
    let rules = FleetConfig {
        disaggregation: Some(own),
        router: RouterKind::LeastOutstanding,
        failure_retries: 3,
        ..FleetConfig::default()
    };
    let fleet = || Fleet::new(Arc::clone(&trace), rules, vec![of(KvRole::Producer), of(KvRole::Consumer)]);
    conserved(fleet, 9);
    fleet().with_decisions().run()
}

/// A prefill replica fails: prompts that it was computing begin again elsewhere; what decode replicas were pulling from it is lost, and
/// is computed there or ends with an error.
#[test]
fn pulls_from_a_failed_prefill_replica_fail() {
    for load_failure in [LoadFailure::Fail, LoadFailure::Recompute] {
        let own = Disaggregation { load_failure, base_us: 3_000.0, ..Disaggregation::FREE };
        let report = failing(KvRole::Producer, 8_500.0, own, 40.0);
        let failed = report.failures[0];
        let was_pulling = |id: &usize| {
            let legs = report.legs(*id).unwrap();
            legs.prefill == failed.replica
                && legs.arrived_us < failed.time_us
                && failed.time_us < legs.decode_scheduled_us
        };
        let pulling: Vec<usize> = (0..24).filter(was_pulling).collect();
        let refused =
            report.results.iter().filter(|result| matches!(result.outcome, Outcome::Rejected(_))).count();
        let completed = report.results.iter().filter(|result| result.outcome == Outcome::Completed).count();
        if load_failure == LoadFailure::Fail {
            assert!(refused > 0 && refused + completed == 24, "{refused} {completed}");
        } else {
            assert!(!pulling.is_empty() && completed == 24, "{pulling:?} {completed}");
            // They compute what had not come yet.
            let computed = |replica| -> u64 {
                let runs = report.timeline.iterations.of_replica(replica);
                runs.iter().map(|run| u64::from(run.prompt_tokens)).sum()
            };
            let by_decode: u64 = (2..4).map(|place| computed(ReplicaIndex::new(place))).sum();
            assert!(by_decode >= 24 + 400 * pulling.len() as u64, "{by_decode} {pulling:?}");
        }
    }
}

/// A decode replica fails: its requests begin again with their prompts, and those on their way to it go to the other one.
#[test]
fn requests_of_a_failed_decode_replica_begin_again() {
    let own = Disaggregation { route_us: 1_500.0, ..Disaggregation::FREE };
    let report = failing(KvRole::Consumer, 9_000.0, own, 4.0);
    let failed = report.failures[0];
    assert!(failed.lost > 0 && report.restarts.len() >= failed.lost as usize);
    assert!(
        report.results.iter().all(|result| result.outcome == Outcome::Completed && result.produced == 40)
    );
    for id in 0..24 {
        let legs = report.legs(id).unwrap();
        assert!(legs.decode != failed.replica || legs.arrived_us < failed.time_us, "request {id}");
    }
    check_causes(&report);
}
