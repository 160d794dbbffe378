//! What a summary says of a fleet beside the rest: time by class of operator, each replica, and Vidur's times of a
//! request (Agrawal et al., MLSys 2024) that are not among the others.

use std::collections::BTreeMap;

use serde::Serialize;
use servescope_cost::Work;

use super::distribution::Distribution;
use super::operators::{peak, used};
use super::summary::HeldKv;
use super::usage::{FleetUtilization, ReplicaUsage};
use crate::record::request_timings::PrefixLookups;
use crate::replica_index::ReplicaIndex;
use crate::report::{PoolReport, Report};

/// One replica over the time for which it is billed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct ReplicaRow {
    /// Index.
    pub id: u32,
    /// Its pool.
    pub pool: u16,
    /// When it was asked for; 0 of those of the beginning.
    pub start_s: f64,
    /// When it could be given its first request.
    pub ready_s: f64,
    /// When it stopped; missing where it did not.
    pub stop_s: Option<f64>,
    /// How long it is billed up to the end of the run.
    pub billed_s: f64,
    /// Requests that the router gave it; one that is disaggregated counts at both of its replicas.
    pub requests: u32,
    /// Of these, served to the end, or to the end of the prompt.
    pub completed: u32,
    /// Iterations.
    pub iterations: u64,
    /// Share of time in iterations; of several stages their mean.
    pub busy: Option<f64>,
    /// Mean number of requests in an iteration.
    pub mean_size: Option<f64>,
    /// Mean number of tokens in one: of prompts, and one for each request that decodes.
    pub tokens_per_iteration: Option<f64>,
    /// KV memory in use over the pool, mean over the makespan.
    pub mean_kv: Option<f64>,
    /// Most KV blocks in use at the end of an iteration, over all.
    pub peak_kv: Option<f64>,
    /// Prompt tokens that its prefix cache had, over those looked up; missing without one.
    pub prefix_hit_rate: Option<f64>,
    /// Preemptions of its requests.
    pub preemptions: u64,
    /// FLOPs over those of the peak; missing where the cost model knows either not.
    pub mfu: Option<f64>,
    /// Bytes over those of the memory's peak; likewise.
    pub bandwidth: Option<f64>,
}

/// One pool over the run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct PoolRow {
    /// Index.
    pub id: u16,
    /// What it is called; empty where it has no name.
    pub name: String,
    /// Replicas that there were.
    pub replicas: u32,
    /// How long they are paid, all together.
    pub billed_s: f64,
    /// Requests that the router gave them.
    pub requests: u32,
    /// Of these, served to the end.
    pub completed: u32,
    /// Share of their time in iterations.
    pub busy: Option<f64>,
    /// KV memory in use, mean over their time.
    pub mean_kv: Option<f64>,
    /// KV memory of each of them, tokens.
    pub kv_tokens: u32,
    /// Preemptions of their requests.
    pub preemptions: u64,
    /// Time to first token of their completed requests.
    pub ttft_s: Distribution,
    /// Time per output token of those.
    pub tpot_s: Distribution,
}

/// What a summary says of a fleet. Times of requests are over completed ones.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct FleetSummary {
    /// GPU seconds of all replicas by class of operator; of several stages their mean. Classes without time are left out.
    pub operators_s: BTreeMap<&'static str, f64>,
    /// Every pool.
    pub per_pool: Vec<PoolRow>,
    /// Every replica.
    pub per_replica: Vec<ReplicaRow>,
    /// Time in iterations of the busiest replica over their mean; missing where nothing ran.
    pub imbalance: Option<f64>,
    /// Execution time of the iterations of a request.
    pub execution_s: Distribution,
    /// How long it was stalled, waited between stages, or waited after a preemption, from its first iteration on.
    pub preempted_s: Distribution,
    /// From its first iteration to its first token, over the tokens of its prompt.
    pub prefill_per_token_s: Distribution,
    /// From its first token to its last, over its tokens.
    pub decode_per_token_s: Distribution,
}

impl FleetSummary {
    /// The mean over the time of the replicas, where it is known of all; what stood idle counts as 0.
    pub fn mean(&self, of: impl Fn(&ReplicaRow) -> Option<f64>) -> Option<f64> {
        let longest_s = self.per_replica.iter().map(|row| row.billed_s).fold(0.0, f64::max);
        let weight =
            |row: &ReplicaRow| if row.billed_s == longest_s { 1.0 } else { row.billed_s / longest_s };
        let sum: Option<f64> = self.per_replica.iter().map(|row| Some(of(row)? * weight(row))).sum();
        sum.map(|sum| sum / self.per_replica.iter().map(weight).sum::<f64>())
    }
}

/// What the summary says of a fleet whose iterations sum up to `usage`.
pub fn fleet_summary(report: &Report, usage: &FleetUtilization) -> FleetSummary {
    let [execution_s, preempted_s, prefill_per_token_s, decode_per_token_s] = request_times(report);
    let per_replica = rows(report, &usage.replicas, usage.spans.held());
    FleetSummary {
        per_pool: pools(report, &per_replica),
        imbalance: imbalance(&per_replica),
        operators_s: used(&usage.totals_us).map(|(class, us)| (class.name(), us / 1e6)).collect(),
        per_replica,
        execution_s,
        preempted_s,
        prefill_per_token_s,
        decode_per_token_s,
    }
}

fn rows(report: &Report, sums: &[ReplicaUsage], held: &[HeldKv]) -> Vec<ReplicaRow> {
    let makespan_us = report.end_us();
    let over = |part: f64, whole: f64| (whole > 0.0).then(|| part / whole);
    let mut rows: Vec<ReplicaRow> = sums
        .iter()
        .enumerate()
        .map(|(id, sum)| {
            let iterations = sum.iterations as f64;
            let (life, pool) = (report.replicas[id], report.pool(ReplicaIndex::new(id as u16)));
            let billed_us = life.billed_us(makespan_us);
            let share = |of: fn(Work) -> f64, most: fn(servescope_cost::Peak) -> f64| {
                let (peak, stages) = peak(pool)?;
                // What never ran did nothing; those that ran show that the model does not know its work.
                let work = if sum.iterations == 0 { Work::default() } else { sum.work? };
                over(of(work), most(peak) * f64::from(stages) * billed_us / 1e6)
            };
            ReplicaRow {
                id: id as u32,
                requests: 0,
                completed: 0,
                iterations: sum.iterations,
                pool: life.pool,
                start_s: life.start_us / 1e6,
                ready_s: life.ready_us / 1e6,
                stop_s: Some(life.stop_us / 1e6).filter(|stop_s| stop_s.is_finite()),
                billed_s: billed_us / 1e6,
                busy: over(sum.busy_us, billed_us),
                mean_size: over(sum.sizes, iterations),
                tokens_per_iteration: over(sum.tokens, iterations),
                mean_kv: held.get(id).and_then(|held| held.mean_usage(pool, billed_us)),
                prefix_hit_rate: report.prefix_lookups.get(id).and_then(PrefixLookups::hit_rate),
                peak_kv: over(sum.blocks.into(), pool.kv_blocks.into()),
                preemptions: 0,
                mfu: share(|work| work.flops, |peak| peak.flops),
                bandwidth: share(|work| work.bytes, |peak| peak.bytes),
            }
        })
        .collect();
    for (id, result) in report.results.iter().enumerate() {
        if !matches!(result.outcome, crate::Outcome::Rejected(_)) {
            let row = &mut rows[report.replica(id)];
            row.requests += 1;
            row.completed += u32::from(report.is_completed(id));
            if let Some(legs) = report.legs(id).filter(|own| own.prefill != report.replica(id)) {
                let prefill = &mut rows[legs.prefill];
                prefill.requests += 1;
                prefill.completed += u32::from(!legs.prefilled_us.is_nan());
            }
        }
    }
    report.timeline.preemptions.iter().for_each(|e| rows[e.replica].preemptions += 1);
    rows
}

fn imbalance(rows: &[ReplicaRow]) -> Option<f64> {
    let busy_s = || rows.iter().map(|row| row.busy.unwrap_or(0.0) * row.billed_s);
    let mean_s = busy_s().sum::<f64>() / rows.len() as f64;
    (mean_s > 0.0).then(|| busy_s().fold(0.0, f64::max) / mean_s)
}

fn pools(report: &Report, replicas: &[ReplicaRow]) -> Vec<PoolRow> {
    let row = |(id, pool): (u16, &PoolReport)| {
        let own = || replicas.iter().filter(|row| row.pool == id);
        let billed_s = own().map(|row| row.billed_s).sum::<f64>();
        let over_time = |of: fn(&ReplicaRow) -> Option<f64>| {
            let sum = own().filter_map(|row| Some(of(row)? * row.billed_s)).sum::<f64>();
            (billed_s > 0.0).then(|| sum / billed_s)
        };
        let completed = || {
            let ids = (0..report.results.len()).filter(|&id| report.is_completed(id));
            ids.filter(move |&request| report.replicas[report.replica(request)].pool == id)
        };
        let seconds = |of: &dyn Fn(usize) -> Option<f64>| {
            Distribution::of(&mut completed().filter_map(of).collect::<Vec<f64>>()).scaled(1e-6)
        };
        PoolRow {
            id,
            name: pool.name.clone(),
            replicas: own().count() as u32,
            billed_s,
            requests: own().map(|row| row.requests).sum(),
            completed: own().map(|row| row.completed).sum(),
            busy: over_time(|row| row.busy),
            mean_kv: over_time(|row| row.mean_kv),
            kv_tokens: pool.kv_tokens,
            preemptions: own().map(|row| row.preemptions).sum(),
            ttft_s: seconds(&|id| report.ttft_us(id)),
            tpot_s: seconds(&|id| report.tpot_us(id)),
        }
    };
    (0..).zip(&report.pools).map(row).collect()
}

/// Execution, preempted, prefill and decode times of the completed requests, seconds.
fn request_times(report: &Report) -> [Distribution; 4] {
    let mut columns: [Vec<f64>; 4] = std::array::from_fn(|_| Vec::with_capacity(report.results.len()));
    for id in (0..report.results.len()).filter(|&id| report.is_completed(id)) {
        let (Some(e2e), Some(worked)) = (report.e2e_us(id), report.execution_us(id)) else { continue };
        let (Some(scheduled), Some(first)) = (report.scheduled_us(id), report.first_token_us(id)) else {
            continue;
        };
        let arrival = report.trace.arrival_us[id];
        let tokens = [report.trace.input_tokens[id], report.trace.output_tokens[id]].map(f64::from);
        let preempted = (e2e - (scheduled - arrival) - worked).max(0.0);
        let decode = arrival + e2e - first;
        let times = [worked, preempted, (first - scheduled) / tokens[0], decode / tokens[1]];
        columns.iter_mut().zip(times).for_each(|(column, time)| column.push(time));
    }
    columns.map(|mut column| Distribution::of(&mut column).scaled(1e-6))
}
