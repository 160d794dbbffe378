//! A discrete-event simulation of a fleet: pools of equal replicas behind one router, each with a waiting queue, a batch scheduler,
//! KV blocks and one or more pipeline stages.
//!
//! ```text
//! Trace ──> gateway ──> router ──> replica: waiting queue ──> policy ──> stages ──> Report
//! ```
//!
//! An iteration is formed when its replica has a stage free for it: at an arrival, or when another one ends. At equal
//! times arrivals come first, so that they are seen by the iteration formed then; this order reproduces all of
//! Vidur's reference runs. On a replica of one stage, iterations in which no request can join or leave are charged at once.
//! [`Fleet::without_fast_forward`] charges them one by one, with equal bits.
//!
//! Prompts and answers are served by the same replicas, or in pools of their own ([`disaggregation`]); experts spread over GPUs are the cost
//! model's matter alone (`servescope_cost::deployment`).

mod arrivals;
mod audit;
mod counters;
mod departures;
mod disaggregation;
mod events;
pub(crate) mod failures;
mod lockstep;
mod one_stage;
mod one_stage_list;
mod pipeline;
mod pipeline_rounds;
pub(crate) mod pools;
pub(crate) mod rejection;
mod replica_view;
mod routing;
mod scaling;
mod stage_passes;
pub(crate) mod stepping;
mod streamed_input;
mod transfers;

use crate::replica_index::ReplicaIndex;
use std::collections::VecDeque;
use std::sync::Arc;

use servescope_cost::BatchCost;
use servescope_workload::{RequestId, Trace};

pub use audit::{BatchMember, BatchUnderWay};
use counters::Counting;
use disaggregation::DisaggregatedFleet;
use events::{Event, EventQueue};
use failures::Restarts;
use pipeline::Pipeline;
use pools::{NumbersBySize, PoolState};

use crate::config::adapters::AdapterMemory;
use crate::config::{FleetConfig, Pool, PoolConfig};
use crate::gateway::GatewayConfig;
use crate::gateway::frontend::Frontend;
use crate::ranks::RankGroup;
use crate::record::EventLog;
use crate::record::decisions::DecisionLog;
use crate::record::observer::{EventSink, Watch};
use crate::record::request_phases::PhaseLog;
use crate::record::request_timings::AdapterCounts;
use crate::record::timeline::Timeline;
use crate::replica::Replica;
use crate::replica::batch_scheduler::{BatchEvent, ScheduleContext};
use crate::replica::queue::QueueConfig;
use crate::replica::requests::Requests;
use crate::replica::run::BatchRun;
use crate::report::Report;
use crate::router::Router;

/// A simulation of a fleet under way. A clone goes on from the same point of time by itself, with equal bits; it has no observer.
#[derive(Debug, Clone)]
pub struct Fleet {
    trace: Arc<Trace>,
    config: FleetConfig,
    pools: Vec<PoolState>,
    max_fast_forward: u32,
    /// Finite: at an infinite time nothing happens.
    until_us: f64,
    frontend: Frontend,
    next_cancellation: usize,
    /// When waiting requests will have waited too long, in order of time, and entries of some that wait no more.
    deadlines: VecDeque<(f64, RequestId)>,
    requests: Requests,
    record: EventLog,
    router: Router,
    /// How requests go from prefill to decode replicas; `None`: every replica serves whole requests.
    disaggregated: Option<Box<DisaggregatedFleet>>,
    /// Every rank of every replica: one engine each.
    replicas: Vec<Replica>,
    /// The replicas with their ranks, by [`ReplicaLife::replica`](crate::ReplicaLife::replica).
    groups: Vec<RankGroup>,
    /// The pipelines of all replicas; one that keeps a decode batch has no use for its own.
    pipelines: Vec<Pipeline>,
    /// Replicas that may be given requests, in their order: of one that chooses among its ranks itself the first of them.
    ready: Vec<ReplicaIndex>,
    /// Replicas that finish what they have and then stop.
    draining: Vec<ReplicaIndex>,
    events: EventQueue,
    restarts: Restarts,
    /// Chunks that have come in before the answer to the one before them had ended.
    behind_answers: Vec<RequestId>,
    /// Replicas that may begin something new at the present time.
    dirty_replicas: Vec<ReplicaIndex>,
    queueing: Arc<QueueConfig>,
    counting: Counting,
    /// Whether what ends at the present time has ended.
    ends_are_over: bool,
    watch: Watch,
}

impl Fleet {
    /// A simulation of `trace` that has not begun, of a fleet of at least one pool.
    pub fn new(trace: Arc<Trace>, config: FleetConfig, pools: Vec<Pool>) -> Self {
        let mut numbers = NumbersBySize::default();
        let of_pool = |pool| PoolState::new(pool, &trace, &mut numbers);
        let pools: Vec<PoolState> = pools.into_iter().map(of_pool).collect();
        let mut fleet = Self {
            requests: Requests::new(&trace),
            record: EventLog {
                ended: trace.closed_loop.as_ref().map(|_| Vec::new()),
                ..EventLog::new(trace.len())
            },
            router: Router::new(&config, &trace),
            disaggregated: DisaggregatedFleet::new(&config, &trace),
            replicas: Vec::new(),
            groups: Vec::new(),
            pipelines: Vec::new(),
            ready: Vec::new(),
            draining: Vec::new(),
            events: EventQueue::default(),
            restarts: Restarts::default(),
            behind_answers: Vec::new(),
            dirty_replicas: Vec::new(),
            queueing: Arc::default(),
            counting: Counting::default(),
            ends_are_over: false,
            watch: Watch::default(),
            max_fast_forward: u32::MAX,
            until_us: f64::MAX,
            frontend: Frontend::direct(&trace),
            next_cancellation: 0,
            deadlines: VecDeque::new(),
            trace,
            config,
            pools,
        };
        fleet.keep_columns();
        fleet.prepare_router();
        fleet.start_first();
        fleet.prepare_sessions();
        fleet
    }

    /// The same of one pool that stays as it is, with the first router.
    pub fn of_pool(trace: Arc<Trace>, config: PoolConfig, cost: Box<dyn BatchCost>) -> Self {
        Self::new(trace, FleetConfig::default(), vec![Pool::new(config, cost)])
    }

    /// Keeps every replica's waiting queue in another way than first come, first served. Orders that need a batcher
    /// ([`QueuePolicy::is_batch_aware`](crate::replica::queue::QueuePolicy::is_batch_aware)) stay first come, first served.
    pub fn with_queue_policy(mut self, queueing: QueueConfig) -> Self {
        self.queueing = Arc::new(queueing);
        for place in ReplicaIndex::first(self.replicas.len()) {
            self.set_queue_policy(place);
        }
        if self.replicas.iter().any(Replica::keeps_counters) {
            self.counting = Counting::new(&self.queueing, &self.trace);
        }
        self
    }

    /// Keeps every decision, in [`Report::decisions`], and what the split of each request's time needs, in [`Report::phases`].
    pub fn with_decisions(mut self) -> Self {
        self.record.decisions = DecisionLog::on();
        self.record.phases = PhaseLog::on(self.trace.len());
        self.frontend.keep_decisions();
        self
    }

    /// Puts a proxy before the router.
    pub fn with_gateway(mut self, gateway: GatewayConfig) -> Self {
        self.frontend.set_proxy(gateway, &self.trace);
        if self.record.decisions.is_on() {
            self.frontend.keep_decisions();
        }
        self.record.ended.get_or_insert_default();
        self.record.first_tokens = Some(Vec::new());
        self.record.scheduled = Some(Vec::new());
        self
    }

    /// Charges every iteration by itself and schedules each one. The outcome is the same to the last bit.
    pub fn without_fast_forward(mut self) -> Self {
        self.max_fast_forward = 1;
        self.replicas.iter_mut().for_each(|replica| replica.writes_every_iteration = true);
        self
    }

    /// Emits events as they happen.
    pub fn watched(mut self, observer: Box<dyn EventSink>) -> Self {
        self.watch = Watch::by(observer);
        self
    }

    /// Ends at a time: whatever would end after it is not done. Every iteration is charged by itself then, for a fast-forward may
    /// go beyond.
    pub fn until(mut self, until_us: f64) -> Self {
        self.until_us = until_us.min(f64::MAX);
        if until_us < f64::INFINITY { self.without_fast_forward() } else { self }
    }

    /// Runs to the end.
    pub fn run(mut self) -> Report {
        while !self.advance(usize::MAX) {}
        self.finish()
    }

    /// Handles what happens at, at most, `times` different times and says whether the end is reached.
    pub fn advance(&mut self, times: usize) -> bool {
        for _ in 0..times {
            let given_us = self.next_given_us();
            let end_us = self.events.next_us();
            let now_us = if end_us < given_us { end_us } else { given_us };
            if now_us > self.until_us {
                return true;
            }
            self.sample_counters(now_us);
            self.scrape(now_us);
            if end_us < given_us {
                self.process_events(now_us);
            } else {
                self.process_arrivals(now_us, false);
            }
            self.give_left_behind(now_us);
            self.begin_touched(now_us);
            self.send_on(now_us);
            // Requests may be dropped from the queue where an iteration is formed.
            self.notify_ended(now_us);
            self.stop_drained(now_us);
            if self.give_again(now_us) {
                self.begin_touched(now_us);
                self.notify_ended(now_us);
            }
        }
        false
    }

    /// Share of the requests that have arrived so far.
    pub fn progress(&self) -> f64 {
        self.frontend.seen() as f64 / self.trace.len().max(1) as f64
    }

    /// KV blocks in use, of each replica.
    pub fn blocks_in_use(&self) -> Vec<u32> {
        self.replicas.iter().map(|replica| replica.kv.used()).collect()
    }

    /// KV blocks that the host of each replica keeps.
    pub fn host_blocks_in_use(&self) -> Vec<u32> {
        self.replicas.iter().map(|replica| replica.kv.host_used()).collect()
    }

    /// What happened up to now.
    pub fn finish(mut self) -> Report {
        for i in ReplicaIndex::first(self.replicas.len()) {
            self.write_batches_down(i);
            let (replica, mut context, _) = self.parts(i, f64::INFINITY);
            replica.close_run(&mut context, &[]);
            replica.close_open(&mut context);
            replica.with_list(|list, replica| list.settle(replica, &mut context));
        }
        let counters = self.final_counters();
        let of_replicas = || self.replicas.iter().map(Replica::loads_and_evictions);
        let adapters = AdapterCounts {
            loads: of_replicas().map(|counts| counts.0).sum(),
            evictions: of_replicas().map(|counts| counts.1).sum(),
            reserved_tokens: self.reserved_tokens(),
            stay: self.pools.iter().all(|pool| pool.config.adapters.memory != AdapterMemory::Unified),
        };
        let routing = self.routing_totals();
        let mut served = self.requests.into_served();
        self.record.decisions.merge(self.frontend.take_decisions());
        if let Some(sent) = self.frontend.sent() {
            served = served.select(sent);
            self.record.rename(sent);
        }
        let preemptions = self.record.preemptions.len() as u64;
        let prefix_lookups = self.replicas.iter().filter_map(Replica::prefix_lookups).collect();
        let (trace, results, gateway) = self.frontend.finish(self.trace, self.record.results);
        Report {
            timeline: Timeline {
                iterations: self.record.iterations,
                preemptions: self.record.preemptions,
                gaps: self.record.gaps,
                holds: self.record.holds,
                departures: self.record.departures,
                preemption_intervals: self.record.preemption_intervals,
                kv_copies: self.record.kv_copies,
                dummy_batches: self.record.dummy_batches,
                rearrangements: self.record.rearrangements,
            },
            ttft_at_prefill_end: self.config.disaggregation.is_some_and(|own| own.ttft_at_prefill_end),
            results,
            adapters,
            replicas: self.replicas.iter().map(|replica| replica.life).collect(),
            scaling: self.record.scaling,
            failures: self.record.failures,
            restarts: self.record.restarts,
            pools: self.pools.into_iter().map(PoolState::into_report).collect(),
            served: Box::new(served),
            had_choice: self.record.had_choice,
            preemptions,
            choices: self.record.decisions.take_choices(),
            decisions: self.record.decisions.into_decisions(),
            phases: self.record.phases.into_phases(),
            prefix_lookups,
            drafts: self.record.drafts,
            gateway,
            counters,
            routing,
            trace,
        }
    }

    /// One replica, what it works on, and the model that says how long.
    #[inline]
    fn parts(
        &mut self,
        replica: ReplicaIndex,
        now_us: f64,
    ) -> (&mut Replica, ScheduleContext<'_>, &dyn BatchCost) {
        let replica = &mut self.replicas[replica];
        replica.kv.set_clock(now_us);
        let pool = &self.pools[usize::from(replica.life.pool)];
        let context = ScheduleContext {
            config: &pool.config,
            facts: &pool.facts,
            trace: &self.trace,
            requests: &mut self.requests,
            record: &mut self.record,
            cost: &*pool.cost,
            watch: &mut self.watch,
            steps_singly: self.max_fast_forward == 1,
            arrivals: &self.frontend,
            now_us,
            ends_are_over: self.ends_are_over,
        };
        (replica, context, &*pool.cost)
    }

    /// When the next request arrives or goes away, whatever the replicas do; infinite: never.
    #[inline]
    fn next_given_us(&mut self) -> f64 {
        let due_us = self.frontend.due_us();
        let none_leaves =
            self.deadlines.is_empty() && self.next_cancellation == self.trace.cancellations.len();
        if none_leaves { due_us } else { due_us.min(self.next_leaving_us()) }
    }

    /// When the next client goes away, or the next request has waited too long.
    fn next_leaving_us(&mut self) -> f64 {
        let cancelled = self.trace.cancellations.get(self.next_cancellation);
        let cancelled_us = cancelled.map_or(f64::INFINITY, |&(cancelled_us, _)| cancelled_us);
        self.deadline_us().map_or(cancelled_us, |deadline_us| cancelled_us.min(deadline_us))
    }

    /// Every replica that may begin something new does, in their order, so that the record has what happens to several of them at
    /// one time in the same order however many iterations are charged at once.
    fn begin_touched(&mut self, now_us: f64) {
        while let Some(place) = self.next_touched() {
            self.begin(place, now_us);
        }
    }

    /// The first replica that may begin something new.
    #[inline]
    fn next_touched(&mut self) -> Option<ReplicaIndex> {
        if self.dirty_replicas.len() > 1 {
            self.sort_touched();
        }
        self.dirty_replicas.pop()
    }

    /// Puts the first of them last, each once.
    fn sort_touched(&mut self) {
        self.dirty_replicas.sort_unstable_by(|one, other| other.cmp(one));
        self.dirty_replicas.dedup();
    }

    /// A replica has ended something, or its queue has another head.
    fn begin(&mut self, place: ReplicaIndex, now_us: f64) {
        if self.has_failed(place, now_us) {
            return;
        }
        if self.group_of(place).passes.is_some() {
            return self.begin_pass(place, now_us);
        }
        let pool = self.pool_of(place);
        let (facts, stages, stages_end) = (&pool.facts, pool.stages, pool.stages_end);
        if pool.is_pipelined {
            // No other batch may be formed before one has ended.
            let is_full = facts.queues_empty_batches || self.pipelines[place].unused.is_empty();
            let waits_for_end = facts.lists_running && is_full && self.replicas[place].in_flight > 0;
            if !self.pipelines[place].take_end() && waits_for_end {
                return self.truncate_fast_forward(place, now_us);
            }
            self.fill_pipeline(place, now_us);
            if self.replicas[place].in_flight == 0 {
                self.wait_for_copies(place, now_us);
                let wakes_us = self.replicas[place].scheduler().wakes_us();
                if now_us < wakes_us && wakes_us < f64::INFINITY {
                    self.schedule_completion(wakes_us, place);
                }
            } else if stages == 1 {
                self.fast_forward(place, now_us);
            } else if !stages_end {
                self.advance_batches(place, now_us);
            }
            return;
        }
        if self.replicas[place].in_flight == 0 {
            return self.end_and_schedule(place, now_us, true);
        }
        let loads_ahead = pool.config.adapters.loads_ahead() && facts.managed_adapters.loads_ahead();
        if facts.arrival_changes_plan || loads_ahead {
            self.truncate_fast_forward(place, now_us);
        }
    }

    /// The replica's work ends at `time_us`, whatever was expected before.
    fn schedule_completion(&mut self, time_us: f64, place: ReplicaIndex) {
        self.events.push(time_us, Event::WorkEnds(place));
    }

    /// What is expected until `now_us` happens; requests that this releases arrive before an iteration begins.
    fn process_events(&mut self, now_us: f64) {
        while let Some(event) = self.events.pop_until(now_us) {
            match event {
                Event::Scrape(pool) => self.scrape_pool(pool, now_us),
                Event::ScalingDecision(pool) => self.decide_count(pool, now_us),
                Event::CountChanges { pool, replicas } => self.change_count(pool, replicas, now_us),
                Event::ReplicaFails(pool) => self.replica_fails(pool, now_us),
                Event::ReplicaReady(place) => self.replica_is_ready(place, now_us),
                Event::StageEnds { replica, stage } => self.end_stage(replica, stage, now_us),
                Event::PassEnds(first) => self.end_pass(first, now_us),
                Event::CopyEnds(place) => self.copy_ends(place, now_us),
                Event::TransfersChange => self.transfers_change(now_us),
                Event::DecodeLegArrives { replica, request } => {
                    self.decode_leg_arrives(replica, request, now_us);
                }
                Event::SessionEnds(id) => self.end_session(id),
                Event::WorkEnds(place) => {
                    if self.work_ends(place, now_us) {
                        return;
                    }
                }
            }
        }
        if self.record.ended.is_some() {
            self.notify_ended(now_us);
            self.process_arrivals(now_us, true);
        }
    }

    /// What a replica worked on ends; says whether nothing else can happen at this time and the next iteration has begun.
    fn work_ends(&mut self, place: ReplicaIndex, now_us: f64) -> bool {
        if self.has_failed(place, now_us) {
            return false;
        }
        let pool = self.pool_of(place);
        if pool.is_pipelined && self.replicas[place].in_flight == 0 {
            // It stood still, and looks again.
            self.dirty_replicas.push(place);
            return false;
        }
        if pool.is_pipelined && pool.stages > 1 {
            self.end_oldest(place, now_us);
            return false;
        }
        if pool.is_pipelined {
            self.end_alike(place);
            self.end_stage(place, 0, now_us);
            return false;
        }
        // A replica that stood still looks again. Where nothing else can happen at this time, it does at once.
        let is_alone = self.replicas.len() == 1
            && self.record.ended.is_none()
            && self.behind_answers.is_empty()
            && self.events.is_empty();
        self.end_and_schedule(place, now_us, is_alone);
        if !is_alone {
            self.dirty_replicas.push(place);
        }
        is_alone
    }
}
