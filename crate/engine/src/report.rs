//! What became of every request, and what the GPU did.

use std::sync::Arc;

use servescope_cost::BatchCost;
use servescope_workload::{BASE_MODEL, Trace};

use crate::gateway::{GatewayLog, Refusal};
use crate::scheduler::Client;
use crate::scheduler::sampler::CounterSample;
use crate::timeline::Timeline;

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Outcome {
    /// It still waits, or runs.
    #[default]
    Unfinished,
    /// All its tokens were produced.
    Completed,
    /// It was refused on arrival.
    Refused(Refusal),
    /// Its client went away.
    Cancelled,
    /// It waited longer than it may.
    TimedOut,
}

impl Outcome {
    /// The name in tables and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unfinished => "unfinished",
            Self::Completed => "completed",
            Self::Refused(reason) => reason.name(),
            Self::Cancelled => "cancelled",
            Self::TimedOut => "timed_out",
        }
    }
}

/// What became of one request.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Fate {
    /// How it ended.
    pub outcome: Outcome,
    /// When it left the batch, microseconds.
    pub finish_us: Option<f64>,
    /// Tokens produced.
    pub produced: u32,
}

/// A request in the batch of S-LoRA's loop.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Stay {
    /// The prefill it was part of: place in [`Timeline::prefills`].
    pub prefill: Option<u32>,
    /// While it runs: the stall counter at joining. Afterwards: how long it stood still for others.
    pub(crate) stall_us: f64,
    pub(crate) joined: u32,
    pub(crate) first_step: u64,
    pub(crate) last_step: u64,
}

impl Fate {
    pub(crate) fn complete(&mut self, now_us: f64, produced: u32) {
        self.finish_us = Some(now_us);
        self.produced = produced;
        if self.outcome == Outcome::Unfinished {
            self.outcome = Outcome::Completed;
        }
    }
}

/// Where a finished request's time went, microseconds. The parts, added in the order of [`Split::parts`], make its E2E
/// time exactly.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Split {
    /// From arrival to the start of its prefill's adapter loading.
    pub queue_us: f64,
    /// Loading adapters for its prefill.
    pub load_us: f64,
    /// Its own prefill.
    pub prefill_us: f64,
    /// Standing still while others were loaded for and prefilled.
    pub stalled_us: f64,
    /// Decode iterations.
    pub decode_us: f64,
}

impl Split {
    /// Queue, adapter load, own prefill, stalled, decode.
    pub fn parts(&self) -> [f64; 5] {
        [self.queue_us, self.load_us, self.prefill_us, self.stalled_us, self.decode_us]
    }

    /// The sum of the parts.
    pub fn total_us(&self) -> f64 {
        self.parts().iter().sum()
    }
}

/// What a fleet knows of each request, one entry a request in every column; NaN where there is none.
#[derive(Debug, Clone, Default)]
pub struct Served {
    /// When the first iteration that it was part of was formed, microseconds.
    pub scheduled_us: Vec<f64>,
    /// When its first token was there.
    pub first_token_us: Vec<f64>,
    /// Durations of the iterations that processed its prompt.
    pub prefill_us: Vec<f64>,
    /// How long it stood still between its iterations.
    pub stalled_us: Vec<f64>,
    /// Which replica.
    pub replica: Vec<u16>,
    /// How often it was thrown out of the batch.
    pub preemptions: Vec<u16>,
    /// Where replicas have several stages: how long they worked on its iterations. Empty otherwise.
    pub worked_us: Vec<f64>,
}

impl Served {
    /// The requests named by `order`, in that order.
    pub(crate) fn select(&self, order: &[u32]) -> Self {
        fn chosen<T: Copy>(column: &[T], order: &[u32]) -> Vec<T> {
            order.iter().map(|&id| column[id as usize]).collect()
        }
        Self {
            scheduled_us: chosen(&self.scheduled_us, order),
            first_token_us: chosen(&self.first_token_us, order),
            prefill_us: chosen(&self.prefill_us, order),
            stalled_us: chosen(&self.stalled_us, order),
            replica: chosen(&self.replica, order),
            preemptions: chosen(&self.preemptions, order),
            worked_us: if self.worked_us.is_empty() { Vec::new() } else { chosen(&self.worked_us, order) },
        }
    }
}

impl PartialEq for Served {
    /// Equal bits, so that what is missing equals what is missing.
    fn eq(&self, other: &Self) -> bool {
        let same = |a: &[f64], b: &[f64]| {
            a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x.to_bits() == y.to_bits())
        };
        same(&self.scheduled_us, &other.scheduled_us)
            && same(&self.first_token_us, &other.first_token_us)
            && same(&self.prefill_us, &other.prefill_us)
            && same(&self.stalled_us, &other.stalled_us)
            && same(&self.worked_us, &other.worked_us)
            && self.replica == other.replica
            && self.preemptions == other.preemptions
    }
}

/// The model that said how long a fleet's iterations take: what they were made of is asked of it after the run.
#[derive(Debug, Clone)]
pub struct IterationModel(pub Arc<dyn BatchCost>);

impl PartialEq for IterationModel {
    /// Reports are equal when the same happened.
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The requests.
    pub trace: Arc<Trace>,
    /// What became of each.
    pub fates: Vec<Fate>,
    /// Each in the batch of S-LoRA's loop; empty for a fleet.
    pub stays: Vec<Stay>,
    /// What the GPU did.
    pub timeline: Timeline,
    /// Size of the pool of each replica, tokens.
    pub pool_tokens: u32,
    /// KV blocks of each replica of a fleet.
    pub pool_blocks: u32,
    /// Times an adapter was loaded.
    pub adapter_loads: u64,
    /// How many replicas.
    pub replicas: u32,
    /// What a fleet knows of each request; S-LoRA's loop tells it by prefills.
    pub served: Option<Box<Served>>,
    /// Requests thrown out of a batch, each time counted; S-LoRA has none.
    pub preemptions: u64,
    /// What each replica's prefix cache was asked for; empty where there is none.
    pub prefix_lookups: Vec<PrefixLookups>,
    /// What every client was charged, where the order of service keeps accounts.
    pub counters: Option<Counters>,
    /// What a fleet's iterations cost.
    pub cost: Option<IterationModel>,
    /// What the proxy wrote down, if there was one.
    pub gateway: Option<Box<GatewayLog>>,
}

/// What a prefix cache was asked for, tokens. As vLLM counts (`vllm:prefix_cache_queries`, `vllm:prefix_cache_hits`): once
/// for each admission, again for a request that comes back after a preemption.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PrefixLookups {
    /// Tokens of the prompts that were looked up.
    pub tokens: u64,
    /// Those of them that were found, and not computed again.
    pub cached_tokens: u64,
}

impl PrefixLookups {
    /// Found over looked up; `None` where no prompt was looked up.
    pub fn hit_rate(&self) -> Option<f64> {
        (self.tokens > 0).then(|| self.cached_tokens as f64 / self.tokens as f64)
    }
}

impl std::iter::Sum for PrefixLookups {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            tokens: sum.tokens + one.tokens,
            cached_tokens: sum.cached_tokens + one.cached_tokens,
        })
    }
}

/// The counters of an order of service over a run and at its end.
#[derive(Debug, Clone, PartialEq)]
pub struct Counters {
    /// Who counts as one client.
    pub client: Client,
    /// How many clients were told apart: those of all requests, sent or not.
    pub clients: usize,
    /// (client, counter) in the order of the clients' first requests; the base model is the client behind the last adapter.
    pub values: Vec<(u32, f64)>,
    /// Counters over the run, each sample in the order of `values`; clients that come later are not in earlier ones.
    pub samples: Vec<CounterSample>,
}

impl Report {
    /// What a fleet knows; the module without fleets does not even look.
    fn served(&self) -> Option<&Served> {
        if cfg!(feature = "orders") { self.served.as_deref() } else { None }
    }

    /// When the prefill of request `id` began, microseconds.
    pub fn scheduled_us(&self, id: usize) -> Option<f64> {
        if let Some(served) = self.served() {
            return Some(served.scheduled_us[id]).filter(|t| !t.is_nan());
        }
        self.stays[id].prefill.map(|p| self.timeline.prefills[p as usize].start_us)
    }

    /// When its first token was there, microseconds.
    pub fn first_token_us(&self, id: usize) -> Option<f64> {
        if let Some(served) = self.served() {
            return Some(served.first_token_us[id]).filter(|t| !t.is_nan());
        }
        self.stays[id].prefill.map(|p| self.timeline.prefills[p as usize].end_us)
    }

    /// The replica that request `id` was given to.
    pub fn replica(&self, id: usize) -> u16 {
        self.served().map_or(0, |served| served.replica[id])
    }

    /// How often request `id` was thrown out of a batch.
    pub fn preemptions(&self, id: usize) -> u16 {
        self.served().map_or(0, |served| served.preemptions[id])
    }

    /// How long the iterations of a fleet's finished request were worked on, microseconds; Vidur's execution time.
    pub fn worked_us(&self, id: usize) -> Option<f64> {
        let split = self.split(id)?;
        let worked = self.served()?.worked_us.get(id).copied();
        Some(worked.unwrap_or(split.prefill_us + split.decode_us))
    }

    /// Time to first token, microseconds.
    pub fn ttft_us(&self, id: usize) -> Option<f64> {
        self.first_token_us(id).map(|t| t - self.trace.arrival_us[id])
    }

    /// End-to-end time, microseconds.
    pub fn e2e_us(&self, id: usize) -> Option<f64> {
        self.fates[id].finish_us.map(|t| t - self.trace.arrival_us[id])
    }

    /// When the run ends: at the last finish, or at the end of the last iteration where some request is still processed
    /// after it, microseconds.
    pub fn end_us(&self) -> f64 {
        let finish = self.fates.iter().filter_map(|fate| fate.finish_us).fold(0.0, f64::max);
        self.timeline.end_us().max(finish)
    }

    /// Whether the request ran to its end.
    pub fn is_completed(&self, id: usize) -> bool {
        self.fates[id].outcome == Outcome::Completed
    }

    /// Where the time of a finished request went.
    pub fn split(&self, id: usize) -> Option<Split> {
        let fate = &self.fates[id];
        if let Some(served) = self.served() {
            return self.split_served(served, id);
        }
        let stay = &self.stays[id];
        let (finish, prefill) = (fate.finish_us?, self.timeline.prefills[stay.prefill? as usize]);
        let arrival = self.trace.arrival_us[id];
        let mut parts = [
            prefill.start_us - arrival,
            prefill.load_us,
            prefill.prefill_us,
            stay.stall_us,
            (finish - prefill.end_us - stay.stall_us).max(0.0),
        ];
        settle(&mut parts, finish - arrival);
        let [queue_us, load_us, prefill_us, stalled_us, decode_us] = parts;
        Some(Split { queue_us, load_us, prefill_us, stalled_us, decode_us })
    }

    fn split_served(&self, served: &Served, id: usize) -> Option<Split> {
        let (finish, scheduled) = (self.fates[id].finish_us?, self.scheduled_us(id)?);
        let arrival = self.trace.arrival_us[id];
        let (prefill, stalled) = (served.prefill_us[id], served.stalled_us[id]);
        let decode = (finish - scheduled - prefill - stalled).max(0.0);
        let mut parts = [scheduled - arrival, 0.0, prefill, stalled, decode];
        settle(&mut parts, finish - arrival);
        let [queue_us, load_us, prefill_us, stalled_us, decode_us] = parts;
        Some(Split { queue_us, load_us, prefill_us, stalled_us, decode_us })
    }

    /// A fingerprint of every request and what became of it. Equal digests mean equal bits.
    pub fn digest(&self) -> u64 {
        let mut hash = Digest::default();
        for (id, fate) in self.fates.iter().enumerate() {
            let r = self.trace.request(id);
            hash.add(r.arrival_us.to_bits());
            hash.add(u64::from(r.user) << 32 | u64::from(r.adapter));
            hash.add(u64::from(r.input_tokens) << 32 | u64::from(r.output_tokens));
            let outcome = match fate.outcome {
                Outcome::Unfinished => 0,
                Outcome::Completed => 1,
                Outcome::Cancelled => 2,
                Outcome::TimedOut => 255,
                Outcome::Refused(reason) => 3 + reason as u64,
            };
            hash.add(u64::from(r.max_tokens) << 32 | u64::from(fate.produced) << 8 | outcome);
            let rank = if r.adapter == BASE_MODEL { 0 } else { self.trace.rank(id) };
            hash.add(u64::from(rank));
            for time in [self.scheduled_us(id), self.first_token_us(id), fate.finish_us] {
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
    let largest = (0..5).max_by(|&a, &b| parts[a].total_cmp(&parts[b])).expect("there are five parts");
    let mut others = 0.0;
    for (_, part) in parts.iter_mut().enumerate().filter(|(i, _)| *i != largest) {
        *part = (*part / spacing).round() * spacing;
        others += *part;
    }
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
