//! The pools of a fleet, and the lives of their replicas: started, ready, draining, stopped.
//!
//! A replica that starts is billed and gets no request until it is ready; then its caches are empty. One that drains gets no new
//! request, serves those that it has, waiting ones too, and stops. Where a pool shrinks, replicas that are still starting are
//! cancelled first, the newest first; of the others the one drains that [`DrainChoice`] says.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use servescope_cost::BatchCost;
use servescope_workload::stream::Stream;
use servescope_workload::{BASE_MODEL, Trace};

use super::Fleet;
use super::events::Event;
use super::failures::PoolFailures;
use super::pipeline::Pipeline;
use super::rejection::rejection_by;
use crate::block_numbers::BlockNumbers;
use crate::config::kv_groups::KvGroups;
use crate::config::ranks::DataParallel;
use crate::config::scaling::{ColdStart, DrainChoice};
use crate::config::{CountChange, Pool, PoolConfig, Preemption};
use crate::ranks::RankGroup;
use crate::record::drafts::RequestDrafts;
use crate::record::replica_life::ReplicaLife;
use crate::record::work_time::WorkTime;
use crate::replica::Replica;
use crate::replica::batch_scheduler::{PrefixCaching, SchedulerFacts, SchedulerRules, SchedulerSetup};
use crate::replica::queue::fairness::FairnessRules;
use crate::replica::queue::waiting_queue::WaitingQueue;
use crate::replica_index::ReplicaIndex;
use crate::report::PoolReport;
use crate::request::Rejection;
use crate::scaling::PoolScaling;

/// A pool as the engine works with it.
#[derive(Debug, Clone)]
pub(crate) struct PoolState {
    name: String,
    pub(crate) config: PoolConfig,
    rules: Arc<dyn SchedulerRules>,
    pub(crate) facts: SchedulerFacts,
    pub(crate) cost: Arc<dyn BatchCost>,
    /// Of each group of layers, the numbers of its KV blocks; of none where prefixes are not cached.
    block_numbers: Vec<Arc<BlockNumbers>>,
    pub(super) stages: u32,
    /// Whether several of its batches are under way, or may be.
    pub(super) is_pipelined: bool,
    /// Whether every pipeline stage has an end event of its own. Otherwise a batch has one event, when it leaves the last stage,
    /// whose time is known when the batch starts.
    pub(super) stages_end: bool,
    schedule: Vec<CountChange>,
    /// Failures of its replicas that are to come.
    pub(super) failures: PoolFailures,
    cold_start: ColdStart,
    drain_choice: DrainChoice,
    /// What chooses the number of its replicas.
    pub(super) scaling: Option<Box<PoolScaling>>,
}

/// The numbers of KV blocks of each size: pools whose blocks are as large share them.
#[derive(Debug, Default)]
pub(super) struct NumbersBySize(BTreeMap<u32, Arc<BlockNumbers>>);

impl NumbersBySize {
    fn of(&mut self, trace: &Trace, tokens: u32) -> Arc<BlockNumbers> {
        let new = || Arc::new(BlockNumbers::of_kv_blocks(trace, tokens));
        Arc::clone(self.0.entry(tokens).or_insert_with(new))
    }
}

impl PoolState {
    pub(super) fn new(pool: Pool, trace: &Trace, numbers: &mut NumbersBySize) -> Self {
        let rules = pool.rules();
        let Pool {
            name,
            config,
            cost,
            schedule,
            failures,
            autoscaling,
            cold_start,
            drain_choice,
            scheduler: _,
        } = pool;
        let ranks = config.data_parallel.ranks.clamp(1, u32::from(u16::MAX));
        let data_parallel = DataParallel { ranks, ..config.data_parallel };
        let replicas = config.replicas.clamp(1, u32::from(u16::MAX) / ranks);
        let block_size = config.block_size.max(1);
        let config = PoolConfig { replicas, data_parallel, block_size, ..config };
        let facts = rules.facts(&config);
        let kv_groups = if facts.groups_layers { config.kv_groups } else { KvGroups::FULL };
        let config = PoolConfig { kv_groups, ..config };
        let config = if facts.counts_tokens {
            PoolConfig { blocks: config.kv_tokens(), block_size: 1, watermark_blocks: 0, ..config }
        } else {
            config
        };
        // Where no request has an adapter, none is asked for one.
        let any_adapter = || trace.adapter.iter().any(|&adapter| adapter != BASE_MODEL);
        let config = PoolConfig { lora_compute: config.lora_compute && any_adapter(), ..config };
        let stages = cost.stages().max(1);
        let config = with_passes(&config, rules.facts(&config).lists_running && stages == 1);
        let facts = rules.facts(&config);
        let caching = if config.prefix_cache { facts.caches_prefixes } else { PrefixCaching::None };
        let sizes: Vec<u32> = match caching {
            PrefixCaching::None => Vec::new(),
            PrefixCaching::Blocks => {
                config.kv_groups.groups(config.block_size).map(|group| group.block_tokens).collect()
            }
            PrefixCaching::OfScheduler => {
                trace.metadata.iter().map(|metadata| metadata.prefix.block_tokens.max(1)).collect()
            }
        };
        let role = config.kv_transfer.map(|own| own.role);
        Self {
            block_numbers: sizes.into_iter().map(|tokens| numbers.of(trace, tokens)).collect(),
            name,
            config,
            rules,
            facts,
            cost,
            stages,
            is_pipelined: stages > 1 || facts.lists_running,
            stages_end: stages > 1 && facts.lists_running,
            schedule,
            failures: PoolFailures::new(failures),
            cold_start,
            drain_choice,
            scaling: autoscaling.map(|own| Box::new(PoolScaling::new(own, role))),
        }
    }

    /// The numbers of the blocks that the KV cache keeps for other requests; none where it does not.
    fn blocks_of_cache(&self) -> &[Arc<BlockNumbers>] {
        match self.facts.caches_prefixes {
            PrefixCaching::Blocks => &self.block_numbers,
            PrefixCaching::None | PrefixCaching::OfScheduler => &[],
        }
    }

    /// Why a request is rejected on arrival that none of its replicas could ever serve.
    pub(super) fn rejection(&self, request: [u32; 3]) -> Option<Rejection> {
        rejection_by(&*self.rules, (&self.facts, self.stages), &self.config, request)
    }

    pub(super) fn into_report(self) -> PoolReport {
        PoolReport {
            name: self.name,
            scheduler: self.config.scheduler,
            kv_blocks: self.config.blocks,
            kv_tokens: self.config.kv_tokens(),
            max_requests: self.config.max_requests,
            lora_slots: self.config.lora_slots(),
            host_kv_tokens: self
                .config
                .host_tier()
                .map_or(0, |cache| self.config.tokens_in(cache.blocks.into())),
            kv_transfer: self.config.kv_transfer,
            awaits: self.facts.awaits,
            cost: self.cost,
        }
    }
}

/// The settings where forward passes of all ranks together are possible, or are not: a scheduler lists its running requests, and
/// there is one pipeline stage. Then there is no tier below the KV cache, for whose copies a rank would wait alone.
fn with_passes(config: &PoolConfig, are_possible: bool) -> PoolConfig {
    let own = config.data_parallel;
    let lockstep = own.lockstep.filter(|_| are_possible && own.ranks > 1);
    let host_cache = config.host_cache.filter(|_| lockstep.is_none());
    PoolConfig { data_parallel: DataParallel { lockstep, ..own }, host_cache, ..*config }
}

impl Fleet {
    /// The pool of a replica.
    pub(super) fn pool_of(&self, place: ReplicaIndex) -> &PoolState {
        &self.pools[usize::from(self.replicas[place].life.pool)]
    }

    /// Allocates the columns with an entry for each request that the pools' schedulers need.
    pub(super) fn keep_columns(&mut self) {
        let any = |is: fn(&PoolState) -> bool| self.pools.iter().any(is);
        let (requests, count) = (&mut self.requests, self.trace.len());
        if any(|pool| matches!(pool.config.preemption, Preemption::Swap { .. })) {
            requests.swapped = vec![0; count];
        }
        if any(|pool| pool.facts.ends_as_joined) {
            requests.joined = vec![0; count];
        }
        if any(|pool| pool.stages > 1) {
            requests.execution = vec![WorkTime::default(); count];
        }
        if any(|pool| !pool.block_numbers.is_empty()) {
            requests.found = vec![None; count];
        }
        if any(|pool| pool.config.drafting().is_some()) {
            requests.drafts = vec![RequestDrafts::default(); count];
        }
        if any(|pool| pool.config.kv_transfer.is_some()) {
            requests.legs = vec![None; count];
        }
        if any(|pool| pool.facts.lists_running) {
            requests.running = vec![None; count];
        }
    }

    /// The replicas of the beginning, which are ready, and the changes to come.
    pub(super) fn start_first(&mut self) {
        for pool in 0..self.pools.len() {
            for _ in 0..self.pools[pool].config.replicas {
                let addresses = self.add_replica(pool as u16, 0.0, 0.0);
                self.ready.extend(addresses);
            }
            for change in self.pools[pool].schedule.clone() {
                let event = Event::CountChanges { pool: pool as u16, replicas: change.replicas };
                self.events.push(change.time_us, event);
            }
            self.expect_failure(pool as u16, 0.0);
            self.start_scaling(pool as u16);
        }
    }

    /// Adds a replica with all of its ranks; the places that a router sees of it.
    fn add_replica(&mut self, pool: u16, start_us: f64, ready_us: f64) -> Vec<ReplicaIndex> {
        let config = self.pools[usize::from(pool)].config.data_parallel;
        let first = ReplicaIndex::new(self.replicas.len() as u16);
        let group = RankGroup::new(first, &config);
        let balances = config.balances();
        let mut life = ReplicaLife {
            pool,
            replica: self.groups.len() as u16,
            rank: 0,
            ranks_behind: if balances { config.ranks as u16 } else { 1 },
            start_us,
            ready_us,
            drain_us: f64::INFINITY,
            stop_us: f64::INFINITY,
            fails: false,
        };
        self.groups.push(group);
        for rank in 0..config.ranks as u16 {
            life.rank = rank;
            if balances && rank > 0 {
                life.ranks_behind = 1;
            }
            self.add_rank(life);
        }
        let seen = if balances { 1 } else { config.ranks as u16 };
        (first.get()..first.get() + seen).map(ReplicaIndex::new).collect()
    }

    fn add_rank(&mut self, life: ReplicaLife) {
        let place = ReplicaIndex::new(self.replicas.len() as u16);
        let state = &self.pools[usize::from(life.pool)];
        let mut replica = Replica::new(
            place,
            life,
            (&state.config, state.blocks_of_cache()),
            state.facts,
            &self.trace,
            &*state.cost,
        );
        replica.writes_every_iteration = self.max_fast_forward == 1;
        let batches = state.stages + state.facts.batches_ahead;
        self.pipelines.push(Pipeline::new(state.stages, batches));
        self.replicas.push(replica);
        self.introduce(place);
        self.set_queue_policy(place);
        let wakes_us = self.replicas[place].scheduler().wakes_us();
        if wakes_us < f64::INFINITY {
            self.schedule_completion(wakes_us.max(life.ready_us), place);
        }
    }

    /// The ranks among which a place is one.
    pub(super) fn group_of(&self, place: ReplicaIndex) -> &RankGroup {
        &self.groups[usize::from(self.replicas[place].life.replica)]
    }

    pub(super) fn group_of_mut(&mut self, place: ReplicaIndex) -> &mut RankGroup {
        &mut self.groups[usize::from(self.replicas[place].life.replica)]
    }

    /// Gives a replica an empty waiting queue under the fleet's policy.
    pub(super) fn set_queue_policy(&mut self, place: ReplicaIndex) {
        let replica = &mut self.replicas[place];
        let pool = &self.pools[usize::from(replica.life.pool)];
        let trace = &self.trace;
        let setup = SchedulerSetup {
            config: &pool.config,
            trace,
            queueing: &self.queueing,
            block_numbers: &pool.block_numbers,
        };
        replica.set_scheduler(pool.rules.scheduler(&setup));
        replica.waiting = if pool.facts.keeps_queue {
            WaitingQueue::limited(&self.queueing, trace)
        } else {
            let pool_tokens = f64::from(pool.config.kv_tokens());
            WaitingQueue::new(&self.queueing, FairnessRules::Engine, trace, pool_tokens)
                .listing_by_adapter(trace, replica.adapters.has_short_slots(trace))
        };
    }

    /// The replicas that a request may be given to, of pools that can ever serve it; `None`: all that are ready. Otherwise why no
    /// pool can. Asked with the tokens of its prompt and of its longest output, and the rank of its adapter.
    pub(super) fn candidates(
        &self,
        [input, max, rank]: [u32; 3],
    ) -> Result<Option<Vec<ReplicaIndex>>, Rejection> {
        let refuses = |pool: &PoolState| pool.rejection([input, max, rank]);
        let Some(first) = self.pools.iter().find_map(refuses) else { return Ok(None) };
        let serves: Vec<bool> = self.pools.iter().map(|pool| refuses(pool).is_none()).collect();
        if !serves.contains(&true) {
            return Err(first);
        }
        let is_able = |&place: &ReplicaIndex| serves[usize::from(self.replicas[place].life.pool)];
        Ok(Some(self.ready.iter().copied().filter(is_able).collect()))
    }

    /// KV tokens that a replica reserves for adapters: the largest reservation of any pool.
    pub(super) fn reserved_tokens(&self) -> u32 {
        self.pools.iter().map(|pool| pool.config.adapters.reserved_tokens).max().unwrap_or(0)
    }

    /// A pool is to have this many replicas.
    pub(super) fn change_count(&mut self, pool: u16, replicas: u32, now_us: f64) {
        let ranks_of = |group: &RankGroup| &self.replicas[group.first.index()..][..group.ranks().count()];
        let stays = |group: &RankGroup| {
            let life = &self.replicas[group.first].life;
            life.pool == pool && life.drain_us == f64::INFINITY
        };
        let choice = self.pools[usize::from(pool)].drain_choice;
        let draws = Stream::named(self.config.seed, "fleet.scale_down");
        let mut staying: Vec<(bool, u64, Reverse<ReplicaIndex>)> = Vec::new();
        for group in self.groups.iter().filter(|group| stays(group)) {
            let is_ready = self.replicas[group.first].life.ready_us <= now_us;
            let outstanding = || ranks_of(group).iter().map(|rank| u64::from(rank.outstanding)).sum();
            let rank = match choice {
                DrainChoice::LeastLoaded => outstanding(),
                DrainChoice::Random if is_ready => draws.item(group.first.index()).bits(),
                DrainChoice::Newest | DrainChoice::Random => 0,
            };
            staying.push((is_ready, rank, Reverse(group.first)));
        }
        for _ in staying.len()..replicas.max(1) as usize {
            self.start_replica(pool, now_us);
        }
        staying.sort_unstable();
        let leaving = staying.len().saturating_sub(replicas.max(1) as usize);
        for (.., Reverse(first)) in staying.into_iter().take(leaving) {
            for place in self.group_of(first).ranks() {
                self.replicas[place].life.drain_us = now_us;
                self.ready.retain(|&other| other != place);
                self.draining.push(place);
            }
        }
    }

    /// A replica of a pool starts, unless there are as many as can be.
    pub(super) fn start_replica(&mut self, pool: u16, now_us: f64) {
        let state = &self.pools[usize::from(pool)];
        let (cold_start, ranks) = (state.cold_start, state.config.data_parallel.ranks as usize);
        let places_left = usize::from(u16::MAX) - self.replicas.len();
        if ranks <= places_left {
            let ready_us = now_us + cold_start.time_us(self.groups.len());
            for place in self.add_replica(pool, now_us, ready_us) {
                self.events.push(ready_us, Event::ReplicaReady(place));
            }
        }
    }

    /// A replica has started, unless it was cancelled meanwhile.
    pub(super) fn replica_is_ready(&mut self, place: ReplicaIndex, now_us: f64) {
        if self.replicas[place].life.drain_us == f64::INFINITY {
            self.ready.push(place);
            self.ready.sort_unstable();
            self.give_waiting(now_us);
        }
    }

    /// Replicas that drain and have no request stop, all of their ranks at once. An iteration that was scheduled before the last
    /// request had ended, as vLLM's asynchronous scheduler does, is computed first.
    pub(super) fn stop_drained(&mut self, now_us: f64) {
        let mut draining = std::mem::take(&mut self.draining);
        draining.retain(|&place| {
            let group = self.group_of(place);
            let is_running = group.passes.as_ref().is_some_and(|passes| passes.is_running);
            let is_done = |rank: ReplicaIndex| {
                let replica = &self.replicas[rank];
                replica.outstanding == 0
                    && replica.in_flight == 0
                    && replica.holding.is_empty()
                    && replica.pinned.is_empty()
            };
            let are_done = !is_running && group.ranks().all(is_done) && !self.is_expected(place);
            if are_done {
                self.replicas[place].life.stop_us = now_us;
            }
            !are_done
        });
        self.draining = draining;
    }
}
