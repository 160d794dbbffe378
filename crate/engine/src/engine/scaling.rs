//! How an autoscaler meets its pool: when it reads the replicas, what they say, and how its decision is carried out.

use servescope_cost::{Batch, Chunk};
use servescope_workload::RequestId;

use super::Fleet;
use super::events::Event;
use super::pools::PoolState;
use crate::config::disaggregation::KvRole;
use crate::config::scaling::ScalingKind;
use crate::ranks::RankGroup;
use crate::record::request_state::RequestStatus;
use crate::replica_index::ReplicaIndex;
use crate::scaling::{ReplicaSample, Scaler, Scrape};

/// The largest batch of prompt tokens for which the speed of a replica is asked of its model of iteration times.
const MOST_PROMPT_TOKENS: u32 = 8_192;

/// Prompt tokens of a replica that are not computed yet.
#[derive(Debug, Clone, Copy, Default)]
struct OpenPrompts {
    /// Of all requests without a first token.
    uncached: u64,
    /// Of those among them that wait.
    queued: u64,
}

impl Fleet {
    /// The first events of the autoscaler of a pool.
    pub(super) fn start_scaling(&mut self, pool: u16) {
        let Some(own) = &self.pools[usize::from(pool)].scaling else { return };
        let (scrape_us, interval_us) = (own.next_scrape_us, own.scaler.config.interval_us);
        self.events.push(scrape_us, Event::Scrape(pool));
        self.events.push(interval_us, Event::ScalingDecision(pool));
    }

    /// A request comes to a replica whose pool may have an autoscaler.
    #[inline]
    pub(super) fn note_prompt(&mut self, place: ReplicaIndex, id: RequestId) {
        let pool = usize::from(self.replicas[place].life.pool);
        if let Some(own) = &mut self.pools[pool].scaling {
            own.prompts.push(id);
            own.came = (own.came.0 + 1, own.came.1 + u64::from(self.trace.input_tokens[id]));
        }
    }

    /// An autoscaler reads the replicas of its pool that are ready.
    pub(super) fn scrape_pool(&mut self, pool: u16, now_us: f64) {
        let Some(mut own) = self.pools[usize::from(pool)].scaling.take() else { return };
        own.prompts.retain(|&id| {
            let request = &self.requests[id];
            let has_token = request.first_token_us <= now_us;
            !has_token && request.status != RequestStatus::Finished
        });
        let state = &self.pools[usize::from(pool)];
        let is_ready = |group: &&RankGroup| {
            let life = &self.replicas[group.first].life;
            life.pool == pool && life.ready_us <= now_us && now_us < life.drain_us
        };
        let open = self.open_prompts(&own.prompts);
        let mean_prompt = own.came.1 / own.came.0.max(1);
        let sample = |group: &RankGroup| {
            let place = self.replicas[group.first].life.replica;
            let open = open.get(usize::from(place)).copied().unwrap_or_default();
            self.sample_of(state, group, (open, mean_prompt), &own.scaler, now_us)
        };
        let replicas = self.groups.iter().filter(is_ready).map(sample).collect();
        own.scaler.scraped(Scrape { time_us: now_us, replicas });
        let next_us = now_us + own.scaler.config.scrape_us;
        let goes_on = self.go_on_scaling(next_us, Event::Scrape(pool));
        own.next_scrape_us = if goes_on { next_us } else { f64::INFINITY };
        self.pools[usize::from(pool)].scaling = Some(own);
    }

    /// An autoscaler decides.
    pub(super) fn decide_count(&mut self, pool: u16, now_us: f64) {
        let mut counts = (0, 0);
        for group in &self.groups {
            let life = &self.replicas[group.first].life;
            if life.pool == pool && life.drain_us == f64::INFINITY {
                let count = if life.ready_us <= now_us { &mut counts.0 } else { &mut counts.1 };
                *count += 1;
            }
        }
        let Some(own) = &mut self.pools[usize::from(pool)].scaling else { return };
        let decision = own.scaler.decide(now_us, pool, counts);
        let next_us = now_us + own.scaler.config.interval_us;
        self.record.scaling.push(decision);
        if decision.is_action() {
            self.change_count(pool, decision.desired, now_us);
        }
        self.go_on_scaling(next_us, Event::ScalingDecision(pool));
    }

    /// An autoscaler goes on as long as requests come or replicas work: otherwise a run would not end. Says whether it does.
    fn go_on_scaling(&mut self, next_us: f64, event: Event) -> bool {
        let goes_on = self.next_given_us() < f64::INFINITY || self.events.has_work();
        if goes_on {
            self.events.push(next_us, event);
        }
        goes_on
    }

    /// When the autoscaler of a replica's pool reads it next, microseconds; infinite: none does.
    pub(super) fn next_scrape_us(&self, place: ReplicaIndex) -> f64 {
        self.pool_of(place).scaling.as_ref().map_or(f64::INFINITY, |own| own.next_scrape_us)
    }

    /// Prompt tokens that are not computed yet, of each replica; what a request found cached is computed.
    fn open_prompts(&self, prompts: &[RequestId]) -> Vec<OpenPrompts> {
        let mut open = vec![OpenPrompts::default(); self.groups.len()];
        for &id in prompts {
            let request = &self.requests[id];
            let found = self.requests.found.get(id.index()).copied().flatten();
            let cached = found.map_or(0, |found| found.cached_tokens);
            let tokens = u64::from(self.trace.input_tokens[id].saturating_sub(cached));
            let own = &mut open[usize::from(self.replicas[request.leg.replica].life.replica)];
            own.uncached += tokens;
            if request.status == RequestStatus::Waiting {
                own.queued += tokens;
            }
        }
        open
    }

    /// What a replica says of itself.
    fn sample_of(
        &self,
        state: &PoolState,
        group: &RankGroup,
        (open, mean_prompt): (OpenPrompts, u64),
        scaler: &Scaler,
        now_us: f64,
    ) -> ReplicaSample {
        let config = &state.config;
        let ranks = &self.replicas[group.first.index()..][..group.ranks().count()];
        let count = ranks.len() as f64;
        let used: u64 = ranks.iter().map(|rank| u64::from(rank.used_at(now_us))).sum();
        let promised: u64 = ranks.iter().map(|rank| rank.waiting_prompt_blocks).sum();
        let running: u32 = ranks.iter().map(|rank| rank.num_running).sum();
        let blocks = f64::from(config.blocks.max(1)) * count;
        let mut sample = ReplicaSample {
            replica: self.replicas[group.first].life.replica,
            waiting: ranks.iter().map(|rank| rank.num_waiting).sum(),
            running,
            kv_use: used as f64 / blocks,
            scheduled_kv: (used + promised) as f64 / blocks,
            queued_prefill: open.queued as f64 / f64::from(config.max_request_tokens.max(1)) / count,
            ..ReplicaSample::default()
        };
        match scaler.config.kind {
            ScalingKind::KedaTokens { prefill_tokens_per_s, .. } => {
                let per_s = prefill_tokens_per_s.unwrap_or_else(|| state.prefill_tokens_per_s() * count);
                sample.prefill_s = open.uncached as f64 / per_s;
            }
            ScalingKind::DynamoSla { .. } => {
                // What waits at a decode replica has its prompt already, and decodes next; then there is one request more of mean length.
                let queued = if config.has_role(KvRole::Consumer) { promised } else { 0 };
                let kv_tokens = config.tokens_in(used + queued) as f64 / count;
                let mean_tokens = config.tokens_in(used) as f64 / f64::from(running.max(1));
                let decodes = running.div_ceil(ranks.len() as u32) + 1;
                sample.itl_us = state.decode_us(decodes, kv_tokens + mean_tokens);
                sample.ttft_us = state.prefill_us(open.uncached / ranks.len() as u64 + mean_prompt);
            }
            _ => {}
        }
        sample
    }
}

impl PoolState {
    /// How long an iteration takes through all stages, by the pool's own model.
    fn iteration_us(&self, batch: &Batch<'_>) -> f64 {
        let time_us = |is_last| self.cost.stage_time(batch, is_last).first_us;
        f64::from(self.stages - 1) * time_us(false) + time_us(true)
    }

    /// How long an iteration takes in which requests decode that have so many tokens in KV memory.
    fn decode_us(&self, decodes: u32, kv_tokens: f64) -> f64 {
        self.iteration_us(&Batch { decodes, decode_kv_tokens: kv_tokens, ..Batch::default() })
    }

    /// How long prompts take that are computed in full batches, one after the other.
    fn prefill_us(&self, tokens: u64) -> f64 {
        let batch = u64::from(self.config.max_batch_tokens.clamp(1, MOST_PROMPT_TOKENS));
        let of = |tokens: u64| {
            let chunks = [Chunk { kv_tokens: 0, tokens: tokens.max(1) as u32 }];
            self.iteration_us(&Batch { chunks: &chunks, ..Batch::default() })
        };
        let (full, rest) = (tokens / batch, tokens % batch);
        full as f64 * of(batch) + if rest > 0 || full == 0 { of(rest) } else { 0.0 }
    }

    /// Prompt tokens that an engine computes in a second, in full batches.
    fn prefill_tokens_per_s(&self) -> f64 {
        let batch = u64::from(self.config.max_batch_tokens.clamp(1, MOST_PROMPT_TOKENS));
        batch as f64 / (self.prefill_us(batch) / 1e6)
    }
}
