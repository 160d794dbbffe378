//! Batch by batch: who is in it with how many tokens, who was preempted for it, how many run and wait, and its times.

use serde_json::Value;
use servescope_engine::ReplicaIndex;
use servescope_engine::timeline::IterationRun;
use servescope_engine::{BatchMember, BatchUnderWay, Fleet, Report};
use servescope_tests::recorded_runs::{list, whole};

use super::given::Given;

/// What a batch left behind when it was formed: requests that run and wait, and free blocks.
type Left = (u32, u32, u32);

/// A batch of ours, with what it left where it was formed alone.
type Formed = (BatchUnderWay, Option<Left>);

/// Batches of vLLM's that hold anything, and what was left when all that were formed then had been: an empty one after
/// them may have preempted requests.
fn theirs(given: &Given, rank: ReplicaIndex) -> Vec<(&Value, Left)> {
    let all = iterations(given, rank);
    let is_empty = |batch: &Value| list(batch, "scheduled").is_empty();
    let tell = |(place, batch)| {
        let follows = |next: &&Value| is_empty(next) && decided_us(next) == decided_us(batch);
        let last = all[place + 1..].iter().take_while(follows).last().unwrap_or(batch);
        (batch, (whole(last, "running"), whole(last, "waiting"), whole(last, "free_blocks")))
    };
    all.iter().enumerate().filter(|(_, batch)| !is_empty(batch)).map(tell).collect()
}

/// What one engine did.
fn iterations(given: &Given, rank: ReplicaIndex) -> &[Value] {
    list(&given.file, "iterations")[rank.index()].as_array().expect("iterations of an engine")
}

/// When a batch was formed.
fn decided_us(batch: &Value) -> f64 {
    batch["decided_us"].as_f64().or(batch["start_us"].as_f64()).unwrap_or(f64::NAN)
}

/// Runs to the end, and returns every batch of each engine, where one was formed alone with what it left.
fn ours(given: &Given) -> (Vec<Vec<Formed>>, Report) {
    let mut fleet: Fleet = given.fleet().without_fast_forward();
    let mut all: Vec<Vec<Formed>> = given.ranks().map(|_| Vec::new()).collect();
    loop {
        let is_over = fleet.advance(1);
        for rank in given.ranks() {
            let all = &mut all[rank.index()];
            let mut formed = fleet.batches_under_way(rank);
            formed.retain(|batch| batch.number > all.len() as u64);
            let is_alone = formed.len() == 1;
            let (running, waiting) = fleet.running_and_waiting(rank);
            let free = given.config_of(rank).blocks - fleet.blocks_in_use()[rank.index()];
            all.extend(formed.into_iter().map(|batch| (batch, is_alone.then_some((running, waiting, free)))));
        }
        if is_over {
            return (all, fleet.finish());
        }
    }
}

/// A run whose batches are those of vLLM.
pub(crate) struct Ran {
    pub(crate) batches: usize,
    pub(crate) report: Report,
    /// Of each request the tokens that were cached when it was first admitted, and each time it was.
    pub(crate) cached: Vec<(Option<u32>, u32)>,
}

fn cached(given: &Given, batches: &[Formed]) -> Vec<(Option<u32>, u32)> {
    let mut cached = vec![(None, 0); given.trace.len()];
    for member in batches.iter().flat_map(|batch| &batch.0.requests).filter(|member| member.is_admitted) {
        let (first, all) = &mut cached[member.id];
        first.get_or_insert(member.computed);
        *all += member.computed;
    }
    cached
}

/// Runs and compares every batch of every engine.
pub(crate) fn check(given: &Given) -> Result<Ran, String> {
    let (ours, report) = ours(given);
    let mut batches = 0;
    for (rank, ours) in given.ranks().zip(&ours) {
        batches +=
            check_rank(given, rank, ours, &report).map_err(|error| format!("engine {rank}: {error}"))?;
    }
    check_preemptions(given, &report)?;
    Ok(Ran { batches, cached: cached(given, &ours.concat()), report })
}

fn check_rank(given: &Given, rank: ReplicaIndex, ours: &[Formed], report: &Report) -> Result<usize, String> {
    let theirs = theirs(given, rank);
    for (place, (&(batch, expected), own)) in theirs.iter().zip(ours).enumerate() {
        let differs = |what: &str, own: &dyn std::fmt::Debug, other: &dyn std::fmt::Debug| {
            format!("batch {place} at {} us: {what} {own:?} instead of {other:?}", batch["start_us"])
        };
        let members = members(given, batch);
        if own.0.requests != members {
            return Err(differs("holds", &own.0.requests, &members));
        }
        if let Some(left) = own.1.filter(|&left| left != expected) {
            return Err(differs("leaves (running, waiting, free blocks)", &left, &expected));
        }
        if !is_close(own.0.formed_us, decided_us(batch)) {
            return Err(differs("is formed at", &own.0.formed_us, &decided_us(batch)));
        }
    }
    if ours.len() != theirs.len() {
        return Err(format!("{} batches instead of {}", ours.len(), theirs.len()));
    }
    check_times(&theirs, report.timeline.iterations.of_replica(rank))?;
    Ok(theirs.len())
}

/// Times are equal within a microsecond.
pub(crate) fn is_close(ours: f64, theirs: f64) -> bool {
    (ours - theirs).abs() <= 1.0
}

fn members(given: &Given, batch: &Value) -> Vec<BatchMember> {
    let member = |entry: &Value| {
        let number = |at: usize| entry[at].as_u64().expect("id, tokens and tokens before") as u32;
        BatchMember {
            id: given.place_of[&u64::from(number(0))],
            tokens: number(1),
            computed: number(2),
            is_prompt: entry[3] == "p",
            is_admitted: entry[4] == "admitted",
            drafts: entry[5].as_u64().unwrap_or(0) as u32,
            is_padded: entry[6] == true,
        }
    };
    list(batch, "scheduled").iter().map(member).collect()
}

fn check_times(theirs: &[(&Value, Left)], runs: &[IterationRun]) -> Result<(), String> {
    let mut rows: Vec<(f64, f64)> = Vec::new();
    for run in runs {
        for i in 0..run.iterations {
            let k = f64::from(i);
            let start_us = run.start_us + k * run.first_us + run.growth_us * (k * (k - 1.0) * 0.5);
            rows.push((start_us, run.first_us + k * run.growth_us));
        }
    }
    if rows.len() != theirs.len() {
        return Err(format!("{} batches in the timeline instead of {}", rows.len(), theirs.len()));
    }
    for (place, (row, (batch, _))) in rows.iter().zip(theirs).enumerate() {
        let expected = ["start_us", "duration_us"].map(|key| batch[key].as_f64().unwrap_or(f64::NAN));
        if !is_close(row.0, expected[0]) || !is_close(row.1, expected[1]) {
            return Err(format!("batch {place}: (start, duration) {row:?} instead of {expected:?}"));
        }
    }
    Ok(())
}

fn check_preemptions(given: &Given, report: &Report) -> Result<(), String> {
    let mut theirs = Vec::new();
    for batch in given.ranks().flat_map(|rank| iterations(given, rank)) {
        for id in list(batch, "preempted") {
            theirs.push((given.place_of[&id.as_u64().expect("an id")], decided_us(batch)));
        }
    }
    let mut ours: Vec<_> = report.timeline.preemptions.iter().map(|e| (e.id, e.time_us)).collect();
    // The file lists those of one batch in order of their ids, and several may be formed at a time.
    for list in [&mut ours, &mut theirs] {
        list.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
    }
    for (own, other) in ours.iter().zip(&theirs) {
        if own.0 != other.0 || !is_close(own.1, other.1) {
            return Err(format!("preempts (request, time) {own:?} instead of {other:?}"));
        }
    }
    if ours.len() == theirs.len() {
        Ok(())
    } else {
        Err(format!("{} preemptions instead of {}", ours.len(), theirs.len()))
    }
}
