//! Sessions whose input comes in chunks.

use std::sync::Arc;

use proptest::prelude::*;
use servescope_engine::decisions::Verdict;
use servescope_engine::explain::cause::Cause;
use servescope_engine::explain::request_time::WhyTables;
use servescope_engine::{Fleet, Outcome, PoolConfig, SchedulerKind, VllmRules};
use servescope_workload::trace::{LabelMaker, StreamedInput, TraceMetadata};
use servescope_workload::{BASE_MODEL, RequestId, Trace};

use super::any::{any_cost, any_trace, any_vllm, on_its_stages};
use super::checks::{check_memory, check_tokens, check_waits};
use super::toy::TOY;
use super::{check_causes, conserved};
use crate::given::{any_rules, fleet, requests};

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..servescope_testkit::cases(150, 2_000) })]

    /// Whatever comes when, and whoever goes away: requests end, no block stays in use, time adds up, and leaps are steps. As in vLLM,
    /// sessions whose chunks need blocks that each other's hold wait for ever.
    #[test]
    fn sessions_conserve_requests_and_blocks_and_leap_as_they_step(
        mut trace in any_trace(), config in any_vllm(), cost in any_cost(), rules in any_rules(9_000),
        open_us in prop::collection::vec(prop_oneof![Just(0.0), 0.0..100_000.0f64], 50), times in 1usize..80,
        is_tight in prop::bool::weighted(0.3),
    ) {
        let count = trace.len();
        // A chunk could wait for a request that waits for its session.
        trace.closed_loop = None;
        if let Some(metadata) = &mut trace.metadata {
            metadata.streamed = StreamedInput {
                goes_on: vec![true; count],
                open_until_us: open_us[..count].to_vec(),
            };
        }
        let trace = Arc::new(trace);
        let cost = on_its_stages(SchedulerKind::VllmV1, cost);
        let blocks = if is_tight { config.blocks } else { 50 * config.blocks };
        let config = PoolConfig { reference_quirks: false, host_cache: None, blocks, ..config };
        let run = || fleet(Arc::clone(&trace), (rules, config), cost);
        let leaps = if is_tight { run().run() } else { conserved(run, times) };
        prop_assert!(leaps == run().without_fast_forward().run(), "leaps differ from steps");
        check_waits(&leaps, rules.queue_timeout_us);
        if leaps.results.iter().all(|result| result.outcome != Outcome::Unfinished) {
            check_tokens(&leaps);
        }
        check_memory(&leaps);
        check_causes(&run().with_decisions().run());
    }
}

const BLOCK: u32 = 16;

fn config() -> PoolConfig {
    PoolConfig {
        scheduler: SchedulerKind::VllmV1,
        blocks: 200,
        block_size: BLOCK,
        watermark_blocks: 0,
        max_requests: 2,
        max_batch_tokens: 2_048,
        max_request_tokens: 4_096,
        vllm: VllmRules { async_scheduling: false, ..VllmRules::default() },
        ..PoolConfig::default()
    }
}

/// Requests (arrival, session, prompt, answer), each of which goes on in its session.
fn chunks(rows: &[(f64, &str, u32, u32)], open_until_us: Vec<f64>) -> Arc<Trace> {
    let mut session = LabelMaker::default();
    rows.iter().for_each(|row| session.push(Some(row.1)));
    let mut trace = requests(rows.iter().map(|&(us, _, input, output)| (us, 0, BASE_MODEL, input, output)));
    let streamed = StreamedInput { goes_on: vec![true; rows.len()], open_until_us };
    let session = session.finish();
    trace.set_metadata(TraceMetadata { session, streamed, ..TraceMetadata::default() });
    Arc::new(trace)
}

/// A chunk computes what is new of its prompt; the last token of the answer before it was not computed.
#[test]
fn a_chunk_goes_on_from_what_was_computed() {
    let trace = chunks(&[(0.0, "a", 100, 20), (1e6, "a", 150, 5), (2e6, "a", 154, 5)], vec![0.0; 3]);
    let report = Fleet::of_pool(trace, config(), Box::new(TOY)).run();
    let prompts: u32 = report.timeline.iterations.iter().map(|run| run.prompt_tokens).sum();
    assert_eq!(prompts, 100 + (150 - 119) + 154);
    assert!(report.results.iter().all(|result| result.outcome == Outcome::Completed));
    assert_eq!([0, 1, 2].map(|id| report.goes_on_from(id).map(RequestId::index)), [None, Some(0), None]);
}

/// Between two chunks a session keeps its blocks, and its place in the batch: another request waits for it.
#[test]
fn a_silent_session_keeps_its_place() {
    let rows = [
        (0.0, "a", 100, 20),
        (0.0, "b", 100, 20),
        (5e5, "c", 100, 20),
        (1e6, "a", 150, 5),
        (2e6, "b", 150, 5),
    ];
    let trace = chunks(&rows, vec![0.0; 5]);
    let report = Fleet::of_pool(Arc::clone(&trace), config(), Box::new(TOY)).with_decisions().run();
    // The first place comes free behind the second chunk of session a.
    assert!(report.scheduled_us(2).unwrap() > 1e6);
    let why = WhyTables::of(&report).unwrap().request(2).by_cause();
    assert!(why[Cause::BatchCap as usize] > 450_000_000, "{why:?}");
    let kept = report.decisions.as_deref().unwrap().iter();
    assert_eq!(kept.filter(|decision| decision.verdict == Verdict::AwaitsInput).count(), 2);
    let single = Arc::new(Trace { metadata: None, ..(*trace).clone() });
    let report = Fleet::of_pool(single, config(), Box::new(TOY)).run();
    assert_eq!(report.scheduled_us(2), Some(5e5), "without sessions it begins at once");
}

/// A chunk that comes early waits for the answer before it, and nothing else.
#[test]
fn an_early_chunk_waits_for_the_answer() {
    let trace = chunks(&[(0.0, "a", 100, 60), (1.0, "a", 180, 5)], vec![0.0; 2]);
    let report = Fleet::of_pool(trace, config(), Box::new(TOY)).with_decisions().run();
    let answered_us = report.results[0].finish_us.unwrap();
    assert_eq!(report.scheduled_us(1), Some(answered_us));
    let why = WhyTables::of(&report).unwrap().request(1).by_cause();
    assert_eq!(why[Cause::PreviousAnswer as usize], ((answered_us - 1.0) * 1e3).round() as u64);
}

/// A session that stays open behind its last chunk keeps its blocks until then.
#[test]
fn an_open_session_keeps_its_blocks() {
    let trace = chunks(&[(0.0, "a", 100, 20), (5e6, "b", 100, 20)], vec![9e6, 0.0]);
    let mut fleet = Fleet::of_pool(trace, config(), Box::new(TOY)).without_fast_forward();
    let mut most = 0;
    while !fleet.advance(1) {
        most = most.max(fleet.blocks_in_use()[0]);
    }
    assert_eq!(most, 2 * 119_u32.div_ceil(BLOCK));
    assert_eq!(fleet.blocks_in_use(), [0]);
}
