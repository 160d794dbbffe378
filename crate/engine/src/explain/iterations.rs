//! What the iterations of a replica mean for a request that decodes in them: sums over time of adapter loading, copying, prompts
//! of others and decoding; and how long decoding takes alone.

use crate::replica_index::ReplicaIndex;
use std::collections::BTreeMap;

use servescope_cost::{Batch, BatchCost, Chunk, LinearDecode, LoraBatch};

use super::cause::in_ns;
use crate::record::request_phases::{all_stages_us, prefill_in_iteration_us};
use crate::record::timeline::{IterationRun, Iterations};
use crate::report::Report;

/// Nanoseconds of adapter loads, KV copies, prompts of other requests, waiting for other ranks and for experts, out of the `busy` nanoseconds
/// of iterations.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Shares {
    pub(super) load: f64,
    pub(super) copying: f64,
    pub(super) prefill: f64,
    pub(super) ranks: f64,
    pub(super) moves: f64,
    pub(super) busy: u64,
}

/// What a replica works on at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    /// A batch.
    Batch,
    /// A dummy batch, as other data-parallel ranks have one.
    Dummy,
    /// Nothing.
    None,
}

#[derive(Debug)]
struct RunSpan {
    start_ns: u64,
    end_ns: u64,
    start_us: f64,
    time: LinearDecode,
    own: Shares,
    before: Shares,
}

/// The iterations of one replica.
#[derive(Debug, Default)]
pub(super) struct IterationTable {
    runs: Vec<RunSpan>,
    /// Times in which something runs, that do not touch each other.
    busy: Vec<(u64, u64)>,
    /// Times in which dummy batches run.
    dummies: Vec<(u64, u64)>,
}

impl IterationTable {
    pub(super) fn of(report: &Report, replica: ReplicaIndex) -> Self {
        let iterations = &report.timeline.iterations;
        let own_dummies = report.timeline.dummy_batches.iter().filter(|row| row.replica == replica);
        let dummies = own_dummies.map(|row| (in_ns(row.start_us), in_ns(row.end_us))).collect();
        let mut table = Self { dummies, ..Self::default() };
        let mut before = Shares::default();
        for run in iterations.of_replica(replica) {
            let (start_ns, end_ns) = (in_ns(run.start_us), in_ns(run.end_us));
            match table.busy.last_mut() {
                Some(last) if start_ns <= last.1 => last.1 = last.1.max(end_ns),
                _ => table.busy.push((start_ns, end_ns)),
            }
            let own = shares(report, iterations, run);
            let time = LinearDecode::new(run.first_us, run.growth_us);
            table.runs.push(RunSpan { start_ns, end_ns, start_us: run.start_us, time, own, before });
            before.load += own.load;
            before.copying += own.copying;
            before.prefill += own.prefill;
            before.ranks += own.ranks;
            before.moves += own.moves;
            before.busy += own.busy;
        }
        table
    }

    /// Sums up to a time, of a replica whose iterations do not overlap.
    fn until(&self, ns: u64) -> Shares {
        let Some(last) = self.runs.partition_point(|run| run.start_ns <= ns).checked_sub(1) else {
            return Shares::default();
        };
        let run = &self.runs[last];
        let busy = ns.min(run.end_ns) - run.start_ns;
        let mut sums = run.before;
        sums.busy += busy;
        if ns >= run.end_ns {
            sums.load += run.own.load;
            sums.copying += run.own.copying;
            sums.prefill += run.own.prefill;
            sums.ranks += run.own.ranks;
            sums.moves += run.own.moves;
            return sums;
        }
        let at = busy as f64;
        let load = run.own.load.min(at);
        let copying = run.own.copying.min(at - load);
        let rest = (run.end_ns - run.start_ns) as f64 - run.own.load - run.own.copying;
        sums.load += load;
        sums.copying += copying;
        if rest > 0.0 {
            let share = (at - load - copying) / rest;
            sums.prefill += run.own.prefill * share;
            sums.ranks += run.own.ranks * share;
            sums.moves += run.own.moves * share;
        }
        sums
    }

    /// Sums between two times.
    pub(super) fn between(&self, start_ns: u64, end_ns: u64) -> Shares {
        let (to, from) = (self.until(end_ns), self.until(start_ns));
        Shares {
            load: to.load - from.load,
            copying: to.copying - from.copying,
            prefill: to.prefill - from.prefill,
            ranks: to.ranks - from.ranks,
            moves: to.moves - from.moves,
            busy: to.busy - from.busy,
        }
    }

    /// When the iteration under way at a time ends; `None`: nothing runs.
    pub(super) fn end_of_iteration(&self, ns: u64) -> Option<u64> {
        let upto = self.runs.partition_point(|run| run.start_ns <= ns);
        let run = self.runs[..upto].iter().rev().take(16).find(|run| ns < run.end_ns)?;
        let k = run.time.iterations_until(ns as f64 / 1e3 - run.start_us);
        let end_ns = in_ns(run.start_us + run.time.elapsed_us(k));
        Some(if end_ns > ns { end_ns.min(run.end_ns) } else { run.end_ns })
    }

    /// The next time after one at which something begins or ceases to run, and what runs until then.
    pub(super) fn next_change(&self, ns: u64) -> (u64, Work) {
        let next_of =
            |times: &[(u64, u64)], work: Work| match times.get(times.partition_point(|time| time.1 <= ns)) {
                Some(&(start, end)) if start <= ns => (end, work),
                Some(&(start, _)) => (start, Work::None),
                None => (u64::MAX, Work::None),
            };
        let (batch, dummy) = (next_of(&self.busy, Work::Batch), next_of(&self.dummies, Work::Dummy));
        if batch.1 == Work::Batch || dummy.1 == Work::None && batch.0 < dummy.0 { batch } else { dummy }
    }
}

/// What a run is for the requests that decode in it, or could.
fn shares(report: &Report, iterations: &Iterations, run: &IterationRun) -> Shares {
    let busy = in_ns(run.end_us) - in_ns(run.start_us);
    let load = (run.adapter_load_us * 1e3).min(busy as f64);
    let copying = (run.copying_us * 1e3).min(busy as f64 - load);
    let ranks = (run.waited_us * 1e3).min(busy as f64 - load - copying);
    let rest = busy as f64 - load - copying - ranks;
    let group = report.replicas[run.replica.index()].replica;
    let moving_us = report.timeline.rearranging_us(group, run.end_us - run.waited_us, run.end_us);
    let moves = (moving_us * 1e3).min(ranks);
    let ranks = ranks - moves;
    let prefill = if run.decodes == 0 {
        rest
    } else if run.prompts > 0 {
        let cost = &*report.pool(run.replica).cost;
        (prefill_in_iteration_us(cost, &run.batch(iterations.chunks(run), 0.0)) * 1e3).min(rest)
    } else {
        0.0
    };
    Shares { load, copying, prefill, ranks, moves, busy }
}

/// How long requests take alone on a replica of a pool.
#[derive(Debug, Default)]
pub(super) struct AloneTimes {
    /// By pool, rank and drafts: decoding with this many tokens in KV memory, and all fewer, microseconds.
    decode_us: BTreeMap<(u16, Option<u32>, u32), Vec<f64>>,
}

impl AloneTimes {
    /// Decoding of `count` tokens in as many iterations, each with so many drafts, the first of which has `from` tokens before it,
    /// nanoseconds.
    pub(super) fn decode_ns(
        &mut self,
        (pool, cost): (u16, &dyn BatchCost),
        (rank, drafts): (Option<u32>, u32),
        from: u32,
        count: u32,
    ) -> f64 {
        let sums = self.decode_us.entry((pool, rank, drafts)).or_insert_with(|| vec![0.0]);
        let to = (from + count) as usize;
        while sums.len() <= to {
            let kv_tokens = sums.len() as u32 - 1;
            let batch = Batch { drafts, drafted: drafts, ..one(rank, &[], 1, kv_tokens) };
            let us = all_stages_us(cost, &batch);
            sums.push(sums[sums.len() - 1] + us);
        }
        (sums[to] - sums[from as usize]) * 1e3
    }

    /// A part of a prompt, nanoseconds.
    pub(super) fn prefill_ns(cost: &dyn BatchCost, rank: Option<u32>, chunk: Chunk) -> f64 {
        all_stages_us(cost, &one(rank, &[chunk], 0, 0)) * 1e3
    }
}

/// An iteration of one request.
fn one(rank: Option<u32>, chunks: &[Chunk], decodes: u32, kv_tokens: u32) -> Batch<'_> {
    let tokens = decodes + chunks.iter().map(|chunk| chunk.tokens).sum::<u32>();
    Batch {
        chunks,
        decodes,
        decode_kv_tokens: f64::from(kv_tokens),
        rank_sum: u64::from(rank.unwrap_or(0)),
        any_adapter: rank.is_some(),
        lora: rank.map_or_else(LoraBatch::default, |rank| LoraBatch::of_one(rank, tokens)),
        ..Batch::default()
    }
}
