//! The summary of a run: `summary.json` but for the scenario's part.

use std::collections::BTreeMap;

use serde::Serialize;
use servescope_workload::Trace;
use servescope_workload::statistics::distinct;

use super::distribution::Distribution;
use super::failures::FailureLosses;
use super::groups::{GroupBy, GroupRow, busiest};
use super::kv_transfers::KvTransferUse;
use super::ranks::RankUse;
use super::scaling::ScalingUse;
use super::slo::{Slo, SloCount, SloScore};
use super::slora::{satisfaction, strip_throughput};
use super::token_gaps::InterTokenLatencies;
use crate::record::drafts::DraftPositions;
use crate::record::request_timings::PrefixLookups;
use crate::record::timeline::{IterationRun, Timeline};
use crate::replica_index::ReplicaIndex;
use crate::report::{PoolReport, Report};
use crate::request::{Outcome, Rejection};

/// Counts of requests by outcome; they add up to `offered`.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct RequestCounts {
    /// Requests sent.
    pub offered: u64,
    /// Served to the end.
    pub completed: u64,
    /// Rejected, by reason (every reason is listed).
    pub rejected: BTreeMap<&'static str, u64>,
    /// Rejected for any reason.
    pub rejected_total: u64,
    /// Left the waiting queue because they had waited too long.
    pub timed_out: u64,
    /// Still waiting when nothing more could happen.
    pub unfinished: u64,
    /// Cancelled by the client.
    pub cancelled: u64,
}

/// Outputs that vLLM v1 ended at `max_model_len`, of those of completed requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct CutOutputs {
    /// How many were cut.
    pub requests: u64,
    /// Of how many.
    pub of_requests: u64,
    /// Tokens that were not made.
    pub tokens: u64,
    /// Of how many asked for.
    pub of_tokens: u64,
}

impl CutOutputs {
    /// Of a run.
    pub fn of(report: &Report) -> Self {
        let mut cut = Self::default();
        for id in (0..report.results.len()).filter(|&id| report.is_completed(id)) {
            let missing = report.cut_tokens(id);
            cut.requests += u64::from(missing > 0);
            cut.of_requests += 1;
            cut.tokens += u64::from(missing);
            cut.of_tokens += u64::from(report.trace.output_tokens[id]);
        }
        cut
    }
}

/// Mean of each part of E2E, seconds.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct SplitMeans {
    /// Time in the waiting queue.
    pub queue: Option<f64>,
    /// Loading adapters.
    pub adapter_load: Option<f64>,
    /// Own prefill.
    pub prefill: Option<f64>,
    /// Stalled while other requests were prefilled.
    pub stalled: Option<f64>,
    /// Decode iterations.
    pub decode: Option<f64>,
}

/// Iterations, prefills and decodes alike.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct BatchMeans {
    /// How many.
    pub iterations: u64,
    /// Mean number of requests in one.
    pub mean_size: Option<f64>,
    /// Mean duration, seconds.
    pub mean_time_s: Option<f64>,
}

/// KV memory over pool, over the makespan: the tokens held on average, and at the most; of a fleet the most blocks of any
/// replica, those included that are reserved or not full.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct KvUsage {
    /// Time average.
    pub mean_usage: Option<f64>,
    /// Largest.
    pub peak_usage: Option<f64>,
    /// Tokens that the pool of a replica has room for.
    pub pool_tokens: u32,
    /// The same in blocks; missing where memory is counted in tokens.
    pub pool_blocks: Option<u32>,
}

/// What the prefix caches of all replicas were asked for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct PrefixCacheUse {
    /// Cached tokens over those looked up.
    pub hit_rate: Option<f64>,
    /// Prompt tokens looked up, for each admission.
    pub looked_up_tokens: u64,
    /// Prompt tokens that were found and not computed again.
    pub cached_tokens: u64,
}

/// What speculative decoding did, of all replicas.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct SpeculationUse {
    /// Tokens of a verification in the mean: its right drafts and one more.
    pub acceptance_length: Option<f64>,
    /// Right drafts over verified ones.
    pub acceptance_rate: Option<f64>,
    /// Times that drafts of a request were verified.
    pub verifications: u64,
    /// Drafts that were verified.
    pub drafted_tokens: u64,
    /// Those of them that were right.
    pub accepted_tokens: u64,
    /// Those that were not: their rows came to nothing.
    pub rejected_tokens: u64,
    /// The share of verifications in which at least the first, the first two, … drafts were right.
    pub accepted_per_position: Vec<f64>,
}

impl SpeculationUse {
    fn of(positions: &DraftPositions) -> Self {
        let sum = |counts: &[u64]| counts.iter().sum::<u64>();
        let (drafted_tokens, accepted_tokens) = (sum(&positions.verified), sum(&positions.accepted));
        let verifications = positions.verified[0];
        let used = positions.verified.iter().take_while(|&&count| count > 0).count();
        let share = |&count: &u64| count as f64 / verifications as f64;
        Self {
            acceptance_length: positions.acceptance_length(),
            acceptance_rate: (drafted_tokens > 0).then(|| accepted_tokens as f64 / drafted_tokens as f64),
            verifications,
            drafted_tokens,
            accepted_tokens,
            rejected_tokens: drafted_tokens - accepted_tokens,
            accepted_per_position: positions.accepted[..used].iter().map(share).collect(),
        }
    }
}

/// What tiers of host memory did, of all replicas.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct HostCacheUse {
    /// Prompt tokens that were found in host memory, over those looked up.
    pub hit_rate: Option<f64>,
    /// Prompt tokens that were found in host memory, loaded and not computed again.
    pub loaded_tokens: u64,
    /// KV blocks that were copied to the host.
    pub stored_blocks: u64,
    /// KV blocks that were copied from the host.
    pub loaded_blocks: u64,
    /// From the decision to load to the scheduler's knowledge that it has ended, seconds, in the mean of all loads.
    pub mean_load_s: Option<f64>,
    /// Share of the makespan in which a replica's blocks were copied to its GPUs, in the mean of all replicas.
    pub load_link: Option<f64>,
    /// The same to its host.
    pub store_link: Option<f64>,
}

/// What a router with an index believed to be cached where it sent requests, beside what they found there when they were first
/// admitted. Prompt tokens of admitted requests.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct RoutingUse {
    /// Believed to be cached.
    pub believed_tokens: u64,
    /// Found.
    pub found_tokens: u64,
    /// Believed, and not found: false hits.
    pub false_tokens: u64,
    /// Found, and not believed: missed hits.
    pub missed_tokens: u64,
    /// False hits over what was believed.
    pub false_share: Option<f64>,
}

/// Use of the GPU over the makespan.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct GpuUse {
    /// Share of time in iterations (adapter loading is not counted).
    pub busy: Option<f64>,
    /// Work that reached the replicas over what they serve when they are saturated; missing until that was simulated.
    pub load: Option<f64>,
    /// FLOPs over the peak's, where the cost model knows them; of a calibration 2 x parameters a token.
    pub mfu: Option<f64>,
    /// Bytes read and written over what the memory can do; missing where the cost model does not know it.
    pub bandwidth: Option<f64>,
}

/// Adapter swapping.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct AdapterUse {
    /// Times an adapter was loaded.
    pub loads: u64,
    /// Time average of the number on the GPUs, all replicas together.
    pub mean_resident: Option<f64>,
    /// Times that an adapter was evicted.
    pub evictions: u64,
    /// Time for which iterations waited for adapters to be loaded, seconds.
    pub load_s: f64,
    /// Different adapters asked for, the base model not counted.
    pub asked_for: u64,
}

/// The summary of a run. Times are over completed requests.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct Summary {
    /// 64-bit digest of all outcomes, hexadecimal.
    pub digest: String,
    /// Requests by outcome.
    pub requests: RequestCounts,
    /// Outputs that are shorter than asked for.
    pub cut_outputs: CutOutputs,
    /// From time 0 to the end of the last iteration, seconds.
    pub makespan_s: f64,
    /// Completed requests over the makespan.
    pub throughput_rps: Option<f64>,
    /// S-LoRA's throughput without ramp up and down; missing on runs of 20 s and less, where fewer requests were
    /// completed than arrive in 20 s, and where no rate was asked for.
    pub strip_throughput_rps: Option<f64>,
    /// Tokens produced a second.
    pub output_tokens_per_s: Option<f64>,
    /// Prompt and produced tokens a second.
    pub total_tokens_per_s: Option<f64>,
    /// Prompt tokens for each output token of the requests offered (P:D), without output tokens that were cut; missing without
    /// requests.
    pub pd_ratio: Option<f64>,
    /// Time to first token.
    pub ttft_s: Distribution,
    /// Every gap between two tokens of a request; tokens of one verification come together, and have one gap.
    pub tbt_s: Distribution,
    /// Mean gap of each request of at least two tokens.
    pub tpot_s: Distribution,
    /// End-to-end time.
    pub e2e_s: Distribution,
    /// End-to-end time over tokens produced.
    pub normalized_s: Distribution,
    /// Time in the waiting queue.
    pub queue_s: Distribution,
    /// Mean of each part of E2E.
    pub split_s: SplitMeans,
    /// Judgement by the SLO.
    pub slo: SloScore,
    /// Iterations.
    pub batch: BatchMeans,
    /// KV memory.
    pub kv: KvUsage,
    /// The prefix cache; missing where there is none.
    pub prefix_cache: Option<PrefixCacheUse>,
    /// What the tiers of host memory did; missing where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "types", ts(optional))]
    pub host_cache: Option<HostCacheUse>,
    /// What speculative decoding did; missing where no draft was verified.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "types", ts(optional))]
    pub speculation: Option<SpeculationUse>,
    /// What data-parallel ranks lost by running every pass together; missing where none did.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "types", ts(optional))]
    pub ranks: Option<RankUse>,
    /// What KV transfers from prefill to decode replicas cost; missing where there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "types", ts(optional))]
    pub kv_transfer: Option<KvTransferUse>,
    /// The replicas over time; missing where their number never changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "types", ts(optional))]
    pub scaling: Option<ScalingUse>,
    /// What failures of replicas cost; missing where none failed.
    pub failures: Option<FailureLosses>,
    /// What the router believed of it; missing where it keeps no index.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "types", ts(optional))]
    pub routing: Option<RoutingUse>,
    /// The GPU.
    pub gpu: GpuUse,
    /// Preemptions of running requests; S-LoRA has none.
    pub preemptions: u64,
    /// Adapter swapping.
    pub adapters: AdapterUse,
    /// Different users that sent requests.
    pub users: u64,
    /// The busiest users.
    pub per_user: Vec<GroupRow>,
    /// The busiest adapters.
    pub per_adapter: Vec<GroupRow>,
}

/// What the summary needs to know beside the report.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SummaryContext {
    /// Bounds.
    pub slo: Slo,
    /// The rate asked for, for strip throughput.
    pub rate_rps: Option<f64>,
    /// Parameters of the model and peak FLOP/s, for MFU.
    pub flops: Option<(f64, f64)>,
    /// Most rows of the tables by user and adapter.
    pub table_rows: usize,
}

/// Prompt tokens over output tokens of all requests.
fn pd_ratio(trace: &Trace, cut: CutOutputs) -> Option<f64> {
    let total = |tokens: &[u32]| tokens.iter().map(|&t| u64::from(t)).sum::<u64>();
    let output = (total(&trace.output_tokens) - cut.tokens) as f64;
    (output > 0.0).then(|| total(&trace.input_tokens) as f64 / output)
}

/// Sums over requests.
#[derive(Default)]
struct RequestSamples {
    ttft: Vec<f64>,
    tpot: Vec<f64>,
    e2e: Vec<f64>,
    normalized: Vec<f64>,
    queue: Vec<f64>,
    parts: [f64; 5],
    slo: SloCount,
    satisfaction: f64,
    input_tokens: u64,
    output_tokens: u64,
}

/// Summarises a report. `gaps` are those of its timeline.
pub fn summarise(report: &Report, gaps: &InterTokenLatencies, context: &SummaryContext) -> Summary {
    summarise_spans(report, gaps, &IterationTotals::over(&report.timeline), context)
}

/// The same, given the sums over the timeline.
pub fn summarise_spans(
    report: &Report,
    gaps: &InterTokenLatencies,
    busy: &IterationTotals,
    context: &SummaryContext,
) -> Summary {
    let mut counts = count(report);
    counts.rejected_total = counts.rejected.values().sum();
    let mut samples = sample(report, context.slo);
    let cut_outputs = CutOutputs::of(report);
    let makespan_us = report.end_us();
    let makespan_s = makespan_us / 1e6;
    let per_second = |x: f64| (makespan_s > 0.0).then(|| x / makespan_s);
    let completed = counts.completed as f64;
    let seconds = |values: &mut Vec<f64>| Distribution::of(values).scaled(1e-6);
    let part = |i: usize| (counts.completed > 0).then(|| samples.parts[i] / 1e6 / completed);
    let split_s = SplitMeans {
        queue: part(0),
        adapter_load: part(1),
        prefill: part(2),
        stalled: part(3),
        decode: part(4),
    };
    let tokens = (samples.input_tokens + samples.output_tokens) as f64;
    let replica_us = report.billed_us(makespan_us, |_| 1.0);
    let mean_over_time = |integral: f64| (replica_us > 0.0).then(|| integral / replica_us);
    let pool = &report.pools[0];
    Summary {
        digest: format!("{:016x}", report.digest()),
        makespan_s,
        throughput_rps: per_second(completed),
        strip_throughput_rps: context
            .rate_rps
            .filter(|_| makespan_s > 20.0)
            .map(|rate| strip_throughput(counts.completed as usize, rate, makespan_s))
            .filter(|&rps| rps >= 0.0),
        output_tokens_per_s: per_second(samples.output_tokens as f64),
        total_tokens_per_s: per_second(tokens),
        pd_ratio: pd_ratio(&report.trace, cut_outputs),
        cut_outputs,
        ttft_s: seconds(&mut samples.ttft),
        tbt_s: gaps.distribution().scaled(1e-6),
        tpot_s: seconds(&mut samples.tpot),
        e2e_s: seconds(&mut samples.e2e),
        normalized_s: seconds(&mut samples.normalized),
        queue_s: seconds(&mut samples.queue),
        split_s,
        slo: SloScore::of(context.slo, samples.slo, counts.offered, makespan_s, samples.satisfaction),
        batch: BatchMeans {
            iterations: busy.iterations,
            mean_size: (busy.iterations > 0).then(|| busy.sizes / busy.iterations as f64),
            mean_time_s: (busy.iterations > 0).then(|| busy.busy_us / 1e6 / busy.iterations as f64),
        },
        kv: KvUsage {
            // Tokens that requests share are read by each; no more of them are held than blocks are.
            mean_usage: busy.mean_usage(report, makespan_us),
            peak_usage: busy.peak_usage(report),
            pool_tokens: pool.kv_tokens,
            pool_blocks: (pool.kv_blocks != pool.kv_tokens).then_some(pool.kv_blocks),
        },
        prefix_cache: prefix_cache(report),
        host_cache: host_cache(report, makespan_us),
        speculation: report.drafts.as_deref().map(SpeculationUse::of),
        ranks: RankUse::of(report),
        kv_transfer: KvTransferUse::of(report),
        scaling: ScalingUse::of(report, makespan_us),
        failures: FailureLosses::of(report),
        routing: report.routing.map(|totals| RoutingUse {
            believed_tokens: totals.believed_tokens,
            found_tokens: totals.found_tokens,
            false_tokens: totals.false_tokens,
            missed_tokens: totals.missed_tokens,
            false_share: (totals.believed_tokens > 0)
                .then(|| totals.false_tokens as f64 / totals.believed_tokens as f64),
        }),
        gpu: GpuUse {
            busy: mean_over_time(busy.busy_us),
            load: None,
            mfu: context
                .flops
                .and_then(|(parameters, peak)| mean_over_time(tokens * 2.0 * parameters / peak * 1e6)),
            bandwidth: None,
        },
        preemptions: report.preemptions,
        adapters: AdapterUse {
            loads: report.adapters.loads,
            mean_resident: mean_over_time(busy.resident_over(report, makespan_us)),
            evictions: report.adapters.evictions,
            load_s: busy.load_us / 1e6,
            asked_for: distinct(&report.trace.adapter) as u64,
        },
        users: distinct(&report.trace.user) as u64,
        per_user: busiest(report, GroupBy::User, context.slo, context.table_rows),
        per_adapter: busiest(report, GroupBy::Adapter, context.slo, context.table_rows),
        requests: counts,
    }
}

fn prefix_cache(report: &Report) -> Option<PrefixCacheUse> {
    let lookups: PrefixLookups = report.prefix_lookups.iter().copied().sum();
    (!report.prefix_lookups.is_empty()).then(|| PrefixCacheUse {
        hit_rate: lookups.hit_rate(),
        looked_up_tokens: lookups.tokens,
        cached_tokens: lookups.cached_tokens,
    })
}

fn host_cache(report: &Report, makespan_us: f64) -> Option<HostCacheUse> {
    if report.pools.iter().all(|pool| pool.host_kv_tokens == 0) {
        return None;
    }
    let lookups: PrefixLookups = report.prefix_lookups.iter().copied().sum();
    let share = |tokens: u64| (lookups.tokens > 0).then(|| tokens as f64 / lookups.tokens as f64);
    let of_way = |is_load: bool| report.timeline.kv_copies.iter().filter(move |copy| copy.is_load == is_load);
    let blocks = |is_load: bool| of_way(is_load).map(|copy| u64::from(copy.blocks)).sum();
    let link = |is_load: bool| {
        let busy_us: f64 = of_way(is_load).map(|copy| copy.end_us - copy.start_us).sum();
        let of_replicas_us = makespan_us * report.replicas.len() as f64;
        (of_replicas_us > 0.0).then(|| busy_us / of_replicas_us)
    };
    let loads = of_way(true).count();
    let took_us: f64 = of_way(true).map(|copy| copy.known_us - copy.decided_us).sum();
    Some(HostCacheUse {
        hit_rate: share(lookups.host_tokens),
        loaded_tokens: lookups.host_tokens,
        stored_blocks: blocks(false),
        loaded_blocks: blocks(true),
        mean_load_s: (loads > 0).then(|| took_us / 1e6 / loads as f64),
        load_link: link(true),
        store_link: link(false),
    })
}

fn count(report: &Report) -> RequestCounts {
    let mut counts = RequestCounts {
        offered: report.results.len() as u64,
        rejected: Rejection::ALL.iter().map(|r| (r.name(), 0)).collect(),
        ..RequestCounts::default()
    };
    for result in &report.results {
        match result.outcome {
            Outcome::Completed => counts.completed += 1,
            Outcome::Cancelled => counts.cancelled += 1,
            Outcome::TimedOut => counts.timed_out += 1,
            Outcome::Unfinished => counts.unfinished += 1,
            Outcome::Rejected(reason) => *counts.rejected.entry(reason.name()).or_default() += 1,
        }
    }
    counts
}

fn sample(report: &Report, slo: Slo) -> RequestSamples {
    let n = report.results.len();
    let room = || Vec::with_capacity(n);
    let mut s = RequestSamples {
        ttft: room(),
        tpot: room(),
        e2e: room(),
        normalized: room(),
        queue: room(),
        ..RequestSamples::default()
    };
    for (id, result) in report.results.iter().enumerate() {
        let Some(ttft) = report.ttft_us(id) else { continue };
        s.slo.add(slo, report, id);
        s.satisfaction += satisfaction(ttft / 1e6, slo.ttft_s);
        let Some(split) = report.split(id).filter(|_| report.is_completed(id)) else { continue };
        let e2e = split.total_us();
        let produced = f64::from(result.produced);
        s.tpot.extend(report.tpot_us(id));
        s.ttft.push(ttft);
        s.e2e.push(e2e);
        s.normalized.push(e2e / produced);
        s.queue.push(split.queue_us);
        for (sum, part) in s.parts.iter_mut().zip(split.parts()) {
            *sum += part;
        }
        s.input_tokens += u64::from(report.trace.input_tokens[id]);
        s.output_tokens += u64::from(result.produced);
    }
    s
}

/// Sums over a timeline.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct IterationTotals {
    iterations: u64,
    sizes: f64,
    busy_us: f64,
    kv_integral: f64,
    load_us: f64,
    /// Each replica.
    held: Vec<HeldKv>,
}

/// KV memory that a replica held during its iterations.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct HeldKv {
    kv_integral: f64,
    block_integral: f64,
    block_peak: u32,
    /// Adapters in memory, over time: during its iterations, and while nothing ran after the first of them if they stayed.
    resident_integral: f64,
    idle_resident_integral: f64,
    resident: u32,
    /// Until when its iterations are counted: those of a pipeline overlap.
    counted_us: f64,
}

impl HeldKv {
    /// Over the KV memory of a replica of a pool that is billed for `billed_us`: the tokens held, at most the blocks.
    pub(super) fn mean_usage(&self, pool: &PoolReport, billed_us: f64) -> Option<f64> {
        let [tokens, blocks] = [pool.kv_tokens, pool.kv_blocks].map(f64::from);
        (billed_us > 0.0).then(|| (self.kv_integral / tokens).min(self.block_integral / blocks) / billed_us)
    }

    /// Nothing runs before a time.
    fn stands_until(&mut self, time_us: f64) {
        self.idle_resident_integral += (time_us - self.counted_us).max(0.0) * f64::from(self.resident);
    }

    /// Counts iterations in the order of their start; returns the integral of tokens over them.
    fn add(&mut self, run: &IterationRun) -> f64 {
        let tokens = (run.end_us - run.start_us) * 0.5 * (run.kv_tokens + run.kv_tokens_at_end());
        let uncounted_us = (run.end_us - run.start_us.max(self.counted_us)).max(0.0);
        let blocks = uncounted_us * f64::from(run.blocks);
        self.resident_integral += uncounted_us * f64::from(run.resident_adapters);
        self.stands_until(run.start_us);
        self.resident = run.resident_adapters;
        self.counted_us = self.counted_us.max(run.end_us);
        self.kv_integral += tokens;
        self.block_integral += blocks;
        self.block_peak = self.block_peak.max(run.blocks);
        tokens
    }
}

impl IterationTotals {
    fn over(timeline: &Timeline) -> Self {
        let mut sums = Self::default();
        timeline.iterations.iter().for_each(|run| sums.add(run));
        sums
    }

    /// Over the KV memory of all replicas up to `end_us`: the tokens held, at most the blocks.
    fn mean_usage(&self, report: &Report, end_us: f64) -> Option<f64> {
        let memory = report.billed_us(end_us, |pool| f64::from(pool.kv_tokens));
        let blocks = |(place, held): (usize, &HeldKv)| {
            held.block_integral * report.pool(ReplicaIndex::new(place as u16)).block_tokens()
        };
        let in_blocks = self.held.iter().enumerate().map(blocks).sum::<f64>();
        (memory > 0.0).then(|| self.kv_integral.min(in_blocks) / memory)
    }

    /// Most KV blocks in use at the end of an iteration, over those of the replica.
    fn peak_usage(&self, report: &Report) -> Option<f64> {
        let share = |(place, held): (usize, &HeldKv)| {
            f64::from(held.block_peak) / f64::from(report.pool(ReplicaIndex::new(place as u16)).kv_blocks)
        };
        self.held.iter().enumerate().map(share).reduce(f64::max)
    }

    /// Adapters in memory of all replicas over a run that ends at `end_us`.
    fn resident_over(&self, report: &Report, end_us: f64) -> f64 {
        self.held.iter().fold(0.0, |sum, held| {
            let mut held = *held;
            held.stands_until(end_us);
            let idle = if report.adapters.stay { held.idle_resident_integral } else { 0.0 };
            sum + held.resident_integral + idle
        })
    }

    /// What each replica held, up to the last one that ran.
    pub(super) fn held(&self) -> &[HeldKv] {
        &self.held
    }

    /// Adds equal iterations.
    pub(super) fn add(&mut self, run: &IterationRun) {
        let place = usize::from(run.replica);
        if self.held.len() <= place {
            self.held.resize(place + 1, HeldKv::default());
        }
        self.kv_integral += self.held[place].add(run);
        self.iterations += u64::from(run.iterations);
        self.sizes += f64::from(run.iterations) * f64::from(run.requests());
        self.busy_us += run.busy_us;
        self.load_us += run.adapter_load_us;
    }
}
