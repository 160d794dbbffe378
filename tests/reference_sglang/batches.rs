//! Decision by decision: which requests are in the batch with how many tokens, what is left, and its times.

use serde_json::Value;
use servescope_engine::snapshot::RadixState;
use servescope_engine::{BatchMember, BatchUnderWay, Fleet, ReplicaIndex, Report};
use servescope_tests::recorded_runs::{list, number, whole};

use super::given::Given;

/// What a decision left behind: the tree and the memory, and how many wait.
type Left = (RadixState, u32);

/// The new token ratio is equal within this.
const RATIO: f64 = 1e-12;

/// A run whose batches are those of SGLang.
pub(crate) struct Ran {
    pub(crate) batches: usize,
    pub(crate) report: Report,
    /// Of each request the tokens that were known when it was first admitted.
    pub(crate) cached: Vec<Option<u32>>,
}

/// When a batch was decided.
fn decided_us(batch: &Value) -> f64 {
    batch["decided_us"].as_f64().unwrap_or_else(|| number(batch, "start_us"))
}

/// Runs to the end, and returns every batch, where one was decided alone with what it left.
fn ours(given: &Given) -> (Vec<(BatchUnderWay, Option<Left>)>, Report) {
    let mut fleet: Fleet = given.fleet().without_fast_forward();
    let mut all: Vec<(BatchUnderWay, Option<Left>)> = Vec::new();
    let mut decisions = 0;
    loop {
        let is_over = fleet.advance(1);
        let mut formed = fleet.batches_under_way(ReplicaIndex::default());
        formed.retain(|batch| batch.number > all.len() as u64);
        let (_, waiting) = fleet.running_and_waiting(ReplicaIndex::default());
        let left = fleet.radix_state(ReplicaIndex::default()).map(|state| (state, waiting));
        let before = std::mem::replace(&mut decisions, left.map_or(0, |left| left.0.decisions));
        let is_alone = formed.len() == 1 && decisions == before + 1;
        all.extend(formed.into_iter().map(|batch| (batch, left.filter(|_| is_alone))));
        if is_over {
            return (all, fleet.finish());
        }
    }
}

/// Runs and compares every batch.
pub(crate) fn check(given: &Given) -> Result<Ran, String> {
    let theirs = list(&given.file, "iterations");
    let (ours, report) = ours(given);
    for (place, (batch, own)) in theirs.iter().zip(&ours).enumerate() {
        let differs = |what: &str, own: &dyn std::fmt::Debug, other: &dyn std::fmt::Debug| {
            format!("batch {place} at {} us: {what} {own:?} instead of {other:?}", batch["start_us"])
        };
        let members = members(given, batch);
        if own.0.requests.iter().map(plain).ne(members.iter().map(plain)) {
            return Err(differs("holds", &own.0.requests, &members));
        }
        if own.0.formed_us != decided_us(batch) {
            return Err(differs("is decided at", &own.0.formed_us, &decided_us(batch)));
        }
        if let Some((state, waiting)) = own.1 {
            let lies = [state.free, state.evictable, state.locked, state.running, waiting];
            let expected =
                ["available", "evictable", "protected", "running", "waiting"].map(|key| whole(batch, key));
            if lies != expected {
                return Err(differs("leaves (free, evictable, locked, running, waiting)", &lies, &expected));
            }
            if (state.new_token_ratio - number(batch, "ratio")).abs() > RATIO {
                return Err(differs("has the ratio", &state.new_token_ratio, &batch["ratio"]));
            }
            let chunked_request = batch["chunked"].as_u64().map(|id| given.place_of[&id]);
            if state.chunked_request != chunked_request {
                return Err(differs("has as chunked request", &state.chunked_request, &chunked_request));
            }
        }
    }
    if ours.len() != theirs.len() {
        return Err(format!("{} batches instead of {}", ours.len(), theirs.len()));
    }
    check_evicted(theirs, &ours)?;
    check_times(theirs, &report)?;
    check_sent_back(given, &report)?;
    let mut cached = vec![None; given.trace.len()];
    for member in ours.iter().flat_map(|batch| &batch.0.requests).filter(|member| member.is_admitted) {
        cached[member.id].get_or_insert(member.computed);
    }
    Ok(Ran { batches: theirs.len(), cached, report })
}

fn plain(member: &BatchMember) -> (servescope_workload::RequestId, u32, Option<u32>) {
    (member.id, member.tokens, member.is_prompt.then_some(member.computed))
}

fn members(given: &Given, batch: &Value) -> Vec<BatchMember> {
    let prompts = batch["prefill"].as_array().into_iter().flatten().map(|entry| {
        let number = |at: usize| entry[at].as_u64().expect("id, tokens and tokens before") as u32;
        BatchMember {
            id: given.place_of[&u64::from(number(0))],
            tokens: number(1),
            computed: number(2),
            is_prompt: true,
            is_admitted: entry[3] != "chunk",
            drafts: 0,
            is_padded: false,
        }
    });
    let decodes = batch["decode"].as_array().into_iter().flatten().map(|id| BatchMember {
        id: given.place_of[&id.as_u64().expect("an id")],
        tokens: 1,
        computed: 0,
        is_prompt: false,
        is_admitted: false,
        drafts: 0,
        is_padded: false,
    });
    prompts.chain(decodes).collect()
}

/// What was evicted for each batch, where batches were decided one by one.
fn check_evicted(theirs: &[Value], ours: &[(BatchUnderWay, Option<Left>)]) -> Result<(), String> {
    let mut before = Some(0);
    for (batch, own) in theirs.iter().zip(ours) {
        let now = own.1.map(|left| left.0.evicted);
        if let (Some(before), Some(now)) = (before, now)
            && now - before != batch["evicted"].as_u64().unwrap_or(0)
        {
            return Err(format!("at {} us {} tokens are evicted", batch["start_us"], now - before));
        }
        before = now;
    }
    Ok(())
}

fn check_times(theirs: &[Value], report: &Report) -> Result<(), String> {
    let mut rows: Vec<(f64, f64)> = Vec::new();
    for run in &report.timeline.iterations {
        for i in 0..run.iterations {
            let k = f64::from(i);
            let start_us = run.start_us + k * run.first_us + run.growth_us * (k * (k - 1.0) * 0.5);
            rows.push((start_us, run.first_us + k * run.growth_us));
        }
    }
    if rows.len() != theirs.len() {
        return Err(format!("{} batches in the timeline instead of {}", rows.len(), theirs.len()));
    }
    for (place, (row, batch)) in rows.iter().zip(theirs).enumerate() {
        let expected = (number(batch, "start_us"), number(batch, "duration_us"));
        if *row != expected {
            return Err(format!("batch {place}: (start, duration) {row:?} instead of {expected:?}"));
        }
    }
    Ok(())
}

/// Who was retracted or preempted, and when. Those that are so in a decision without a batch are told with the next one.
fn check_sent_back(given: &Given, report: &Report) -> Result<(), String> {
    let mut theirs = Vec::new();
    for batch in list(&given.file, "iterations") {
        for gone in batch["gone"].as_array().into_iter().flatten() {
            theirs.push((given.place_of[&gone[0].as_u64().expect("an id")], decided_us(batch)));
        }
    }
    let mut ours: Vec<_> = report.timeline.preemptions.iter().map(|e| (e.id, e.time_us)).collect();
    for list in [&mut ours, &mut theirs] {
        list.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
    }
    if ours == theirs { Ok(()) } else { Err(format!("retracts {ours:?} instead of {theirs:?}")) }
}
