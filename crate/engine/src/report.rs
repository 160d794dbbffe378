//! What became of every request, and what the GPU did.

use crate::client::ClientId;
use crate::replica_index::ReplicaIndex;
use std::sync::Arc;

use servescope_cost::BatchCost;
use servescope_workload::{BASE_MODEL, RequestId, Trace};

use crate::client::Client;
use crate::config::SchedulerKind;
use crate::config::disaggregation::KvTransfer;
use crate::gateway::GatewayLog;
use crate::record::decisions::{Decision, RoutingChoice};
use crate::record::drafts::{DraftPositions, RequestDrafts};
use crate::record::failures::{ReplicaFailure, Restart};
use crate::record::replica_life::ReplicaLife;
use crate::record::request_legs::RequestLegs;
use crate::record::request_phases::RequestPhases;
use crate::record::request_state::RequestState;
use crate::record::request_timings::{AdapterCounts, FoundPrompt, PrefixLookups, RequestTimings};
use crate::record::sampler::CounterSample;
use crate::record::scaling::ScalingDecision;
use crate::record::timeline::Timeline;
use crate::replica::batch_scheduler::Awaited;
use crate::request::{Outcome, RequestResult};

/// Where a finished request's time went, microseconds. The parts, added in the order of [`LatencyBreakdown::parts`], make its E2E
/// time exactly.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LatencyBreakdown {
    /// From arrival to the start of its first iteration, or of the loading of adapters before it; where it is disaggregated, also from the
    /// end of its prompt to its first iteration at the decode replica.
    pub queue_us: f64,
    /// Loading adapters before the iterations of its prompt.
    pub load_us: f64,
    /// The iterations of its prompt.
    pub prefill_us: f64,
    /// Stalled while adapters were loaded for other requests and their prompts were processed.
    pub stalled_us: f64,
    /// Decode iterations.
    pub decode_us: f64,
}

impl LatencyBreakdown {
    /// Queue, adapter load, own prefill, stalled, decode.
    pub fn parts(&self) -> [f64; 5] {
        [self.queue_us, self.load_us, self.prefill_us, self.stalled_us, self.decode_us]
    }

    /// The sum of the parts.
    pub fn total_us(&self) -> f64 {
        self.parts().iter().sum()
    }
}

/// A pool of a fleet after a run.
#[derive(Debug, Clone)]
pub struct PoolReport {
    /// What it is called; empty where it has no name.
    pub name: String,
    /// The batch scheduler of its replicas.
    pub scheduler: SchedulerKind,
    /// KV blocks of each replica.
    pub kv_blocks: u32,
    /// KV memory of each replica, tokens.
    pub kv_tokens: u32,
    /// Most requests in the batch of each replica.
    pub max_requests: u32,
    /// LoRA slots of each replica; none where adapters are not kept in slots.
    pub lora_slots: Option<u32>,
    /// What the host memory below the KV cache of each replica holds, tokens; 0: there is none.
    pub host_kv_tokens: u64,
    /// What its replicas do where requests are handed over, and how long a KV block takes their links.
    pub kv_transfer: Option<KvTransfer>,
    /// What a waiting request waits for where nothing is in its way, while an iteration lasts and afterwards.
    pub(crate) awaits: [Awaited; 2],
    /// How long iterations took: what they were made of is asked of it after the run.
    pub cost: Arc<dyn BatchCost>,
}

impl PoolReport {
    /// Tokens of a KV block.
    pub fn block_tokens(&self) -> f64 {
        f64::from(self.kv_tokens) / f64::from(self.kv_blocks.max(1))
    }
}

impl PartialEq for PoolReport {
    /// Reports are equal when the same happened: the cost model is not compared.
    fn eq(&self, other: &Self) -> bool {
        let of = |pool: &Self| (pool.scheduler, pool.kv_blocks, pool.kv_tokens);
        self.name == other.name && of(self) == of(other)
    }
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The requests.
    pub trace: Arc<Trace>,
    /// What became of each.
    pub results: Vec<RequestResult>,
    /// What the GPU did.
    pub timeline: Timeline,
    /// What became of adapters.
    pub adapters: AdapterCounts,
    /// The pools, one at least.
    pub pools: Vec<PoolReport>,
    /// Every replica that there was, by its index.
    pub replicas: Vec<ReplicaLife>,
    /// What autoscalers decided, in order of time; empty without one.
    pub scaling: Vec<ScalingDecision>,
    /// Replicas that failed, in order of time.
    pub failures: Vec<ReplicaFailure>,
    /// Requests that were given to a replica again, or for which none was ready before, in order of time.
    pub restarts: Vec<Restart>,
    /// When each was served, and where.
    pub served: Box<RequestTimings>,
    /// Whether the scheduler ever left one of two waiting requests behind, or a part of its prompt: otherwise every scheduling
    /// policy makes the same run, unless a request is preempted or an adapter replaced.
    pub had_choice: bool,
    /// Preemptions, each time counted.
    pub preemptions: u64,
    /// What was decided, in order of time; `None`: no decisions were kept.
    pub decisions: Option<Box<[Decision]>>,
    /// What routers with a rule chose among, in order of time; empty where no decisions were kept.
    pub choices: Vec<RoutingChoice>,
    /// What requests did between their iterations; `None`: no decisions were kept.
    pub phases: Option<Box<RequestPhases>>,
    /// What each replica's prefix cache was asked for; empty where there is none.
    pub prefix_lookups: Vec<PrefixLookups>,
    /// What became of drafts by their position; `None`: none was verified.
    pub drafts: Option<Box<DraftPositions>>,
    /// What every client was charged, where the scheduling policy keeps accounts.
    pub counters: Option<Counters>,
    /// What the proxy wrote down, if there was one.
    pub gateway: Option<Box<GatewayLog>>,
    /// What a router that keeps an index believed to be cached, and what was.
    pub routing: Option<RoutingTotals>,
    /// Whether the first token of a disaggregated request counts when its prompt is computed.
    pub ttft_at_prefill_end: bool,
}

/// Prompt tokens that a router believed to be cached on the replica that it chose, and those that the request found there when it
/// was admitted for the first time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RoutingTotals {
    /// Believed to be cached.
    pub believed_tokens: u64,
    /// Found.
    pub found_tokens: u64,
    /// Believed, and not found.
    pub false_tokens: u64,
    /// Found, and not believed.
    pub missed_tokens: u64,
}

impl RoutingTotals {
    /// One more request.
    pub(crate) fn add(&mut self, believed: u32, found: u32) {
        self.believed_tokens += u64::from(believed);
        self.found_tokens += u64::from(found);
        self.false_tokens += u64::from(believed.saturating_sub(found));
        self.missed_tokens += u64::from(found.saturating_sub(believed));
    }
}

/// The counters of a scheduling policy over a run and at its end.
#[derive(Debug, Clone, PartialEq)]
pub struct Counters {
    /// What counts as one client.
    pub client: Client,
    /// The number of clients that were distinguished: those of all requests, sent or not.
    pub clients: usize,
    /// (client, counter) in the order of the clients' first requests; the base model is the client behind the last adapter.
    pub values: Vec<(ClientId, f64)>,
    /// Counters over the run, each sample in the order of `values`; clients that come later are not in earlier ones.
    pub samples: Vec<CounterSample>,
}

impl Report {
    /// When the first iteration of request `id` began, or the loading of adapters before it, microseconds.
    pub fn scheduled_us(&self, id: usize) -> Option<f64> {
        let of_leg = self.served.requests[id].leg.scheduled_us;
        Some(self.legs(id).map_or(of_leg, |legs| legs.scheduled_us)).filter(|t| !t.is_nan())
    }

    /// The request whose answer the session's input went on from, with its KV blocks; `None`: it came with its whole prompt.
    pub fn goes_on_from(&self, id: usize) -> Option<RequestId> {
        self.served.chunks.get(id)?.previous
    }

    /// The two legs of a disaggregated request; `None`: one replica served it.
    pub fn legs(&self, id: usize) -> Option<&RequestLegs> {
        self.served.legs.get(id)?.as_ref()
    }

    /// What a request found cached of its prompt when it was first admitted; `None`: nothing was looked up, or it was not admitted.
    pub fn found_prompt(&self, id: usize) -> Option<FoundPrompt> {
        self.served.found.get(id).copied().flatten()
    }

    /// What became of the drafts of a request; nothing without speculative decoding.
    pub fn drafts(&self, id: usize) -> RequestDrafts {
        self.served.drafts.get(id).copied().unwrap_or_default()
    }

    /// When its first token was there, microseconds; from its arrival to then is its TTFT.
    pub fn first_token_us(&self, id: usize) -> Option<f64> {
        Some(self.served.requests[id].first_token_us).filter(|t| !t.is_nan())
    }

    /// Time for which replicas are billed up to `end_us`, all of them together, each with a weight, microseconds.
    pub fn billed_us(&self, end_us: f64, weight: impl Fn(&PoolReport) -> f64) -> f64 {
        let mut billed_us = 0.0;
        for (place, pool) in (0..).zip(&self.pools) {
            let lives = self.replicas.iter().filter(|life| life.pool == place);
            // Equal times are multiplied, not added up, which would round.
            let (mut whole, mut parts_us) = (0.0, 0.0);
            for life in lives {
                let own_us = life.billed_us(end_us);
                if own_us == end_us { whole += 1.0 } else { parts_us += own_us }
            }
            billed_us += (end_us * whole + parts_us) * weight(pool);
        }
        billed_us
    }

    /// The pool of a replica.
    pub fn pool(&self, replica: ReplicaIndex) -> &PoolReport {
        let place = self.replicas.get(replica.index()).map_or(0, |life| life.pool);
        &self.pools[usize::from(place)]
    }

    /// The replica that request `id` was given to.
    pub fn replica(&self, id: usize) -> ReplicaIndex {
        self.served.requests.get(id).map(|request| request.leg.replica).unwrap_or_default()
    }

    /// How often request `id` was preempted.
    pub fn preemptions(&self, id: usize) -> u16 {
        self.served.requests.get(id).map_or(0, |request| request.preemptions)
    }

    /// Execution time of the iterations of a finished request, microseconds; Vidur's execution time.
    pub fn execution_us(&self, id: usize) -> Option<f64> {
        let split = self.split(id)?;
        let is_pipelined = self.pool(self.replica(id)).cost.stages() > 1;
        let worked = self.served.execution.get(id).filter(|_| is_pipelined).map(|execution| execution.us());
        Some(worked.unwrap_or(split.prefill_us + split.decode_us))
    }

    /// Time to first token, microseconds: to that which the client gets, or to the end of its prompt where that counts
    /// ([`Disaggregation::ttft_at_prefill_end`](crate::Disaggregation::ttft_at_prefill_end)).
    pub fn ttft_us(&self, id: usize) -> Option<f64> {
        let first_us = self.first_token_us(id)?;
        let legs = if self.ttft_at_prefill_end { self.legs(id) } else { None };
        Some(legs.map_or(first_us, |legs| legs.prefilled_us) - self.trace.arrival_us[id])
    }

    /// Tokens that the output of a completed request lacks, because the request was as long as vLLM v1 lets one be.
    pub fn cut_tokens(&self, id: usize) -> u32 {
        let missing = self.trace.output_tokens[id].saturating_sub(self.results[id].produced);
        if self.is_completed(id) { missing } else { 0 }
    }

    /// Mean time between the tokens of a finished request (TPOT), microseconds; none of one with fewer than two.
    pub fn tpot_us(&self, id: usize) -> Option<f64> {
        let (ttft_us, e2e_us) = (self.ttft_us(id)?, self.e2e_us(id)?);
        let produced = self.results[id].produced;
        (produced > 1).then(|| (e2e_us - ttft_us) / (f64::from(produced) - 1.0))
    }

    /// The longest time between two tokens of a request, microseconds; 0 of one with fewer than two.
    pub fn longest_gap_us(&self, id: usize) -> f64 {
        self.served.requests.get(id).map_or(0.0, |request| request.longest_gap_us)
    }

    /// End-to-end time, microseconds.
    pub fn e2e_us(&self, id: usize) -> Option<f64> {
        self.results[id].finish_us.map(|t| t - self.trace.arrival_us[id])
    }

    /// When the run ends: at the last finish, or at the end of the last iteration where some request is still processed
    /// after it, microseconds.
    pub fn end_us(&self) -> f64 {
        let finish = self.results.iter().filter_map(|result| result.finish_us).fold(0.0, f64::max);
        self.timeline.end_us().max(finish)
    }

    /// Whether the request ran to its end.
    pub fn is_completed(&self, id: usize) -> bool {
        self.results[id].outcome == Outcome::Completed
    }

    /// Where the time of a finished request went.
    pub fn split(&self, id: usize) -> Option<LatencyBreakdown> {
        let (finish, scheduled) = (self.results[id].finish_us?, self.scheduled_us(id)?);
        let arrival = self.trace.arrival_us[id];
        let RequestState { prefill_us: prefill, stalled_us: stalled, .. } = self.served.requests[id];
        let load = self.served.load_us.get(id).copied().unwrap_or(0.0);
        // Sums of differences of times: where nothing took any time, rounding may leave less than nothing.
        let [load, prefill, stalled] = [load, prefill, stalled].map(|us| us.max(0.0));
        let between_us = self.legs(id).map_or(0.0, RequestLegs::wait_us);
        let decode = (finish - scheduled - between_us - load - prefill - stalled).max(0.0);
        let mut parts = [scheduled - arrival + between_us, load, prefill, stalled, decode];
        settle(&mut parts, finish - arrival);
        let [queue_us, load_us, prefill_us, stalled_us, decode_us] = parts;
        Some(LatencyBreakdown { queue_us, load_us, prefill_us, stalled_us, decode_us })
    }

    /// A fingerprint of every request and what became of it. Equal digests mean equal bits.
    pub fn digest(&self) -> u64 {
        let mut hash = Digest::default();
        for (id, result) in self.results.iter().enumerate() {
            let r = self.trace.request(id);
            hash.add(r.arrival_us.to_bits());
            hash.add(u64::from(r.user) << 32 | u64::from(r.adapter));
            hash.add(u64::from(r.input_tokens) << 32 | u64::from(r.output_tokens));
            let outcome = match result.outcome {
                Outcome::Unfinished => 0,
                Outcome::Completed => 1,
                Outcome::Cancelled => 2,
                Outcome::TimedOut => 255,
                Outcome::Rejected(reason) => 3 + reason as u64,
            };
            hash.add(u64::from(r.max_tokens) << 32 | u64::from(result.produced) << 8 | outcome);
            let rank = if r.adapter == BASE_MODEL { 0 } else { self.trace.rank(id) };
            hash.add(u64::from(rank));
            for time in [self.scheduled_us(id), self.first_token_us(id), result.finish_us] {
                hash.add(time.map_or(u64::MAX, f64::to_bits));
            }
        }
        hash.finish()
    }
}

/// Makes the parts add up to exactly `total`: all but the largest are rounded to the spacing of floating-point numbers at
/// `total`, on which sums up to `total` are exact, and the largest is what is left.
fn settle(parts: &mut [f64; 5], total: f64) {
    let spacing = total.next_up() - total;
    let largest = (1..5).fold(0, |most, i| if parts[i].total_cmp(&parts[most]).is_ge() { i } else { most });
    for part in parts.iter_mut() {
        let steps = *part / spacing;
        // Beside a total of 0 the quotient may be beyond all numbers.
        *part = if steps.is_finite() { steps.round() * spacing } else { *part };
    }
    parts[largest] = 0.0;
    let others = parts.iter().fold(0.0, |sum, part| sum + part);
    parts[largest] = total - others;
}

/// A 64-bit hash of words: multiply and rotate (as in FxHash), with a final avalanche.
#[derive(Debug, Default)]
struct Digest(u64);

impl Digest {
    fn add(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    fn finish(&self) -> u64 {
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }
}
