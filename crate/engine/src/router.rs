//! Which replica gets an arrival. A request stays at its replica.
//!
//! A router that is called by the name of a system is a rule ([`pipeline::Pipeline`]) over what it believes of the replicas: an
//! index of cached blocks (`index.rs`), counts of its own and metrics that it reads from time to time (`counts.rs`).

mod affinity;
mod aibrix;
mod consistent_hash;
pub(crate) mod counts;
mod dynamo_kv;
mod index;
pub(crate) mod knowledge;
mod llmd;
mod lmetric;
mod lpwl;
pub(crate) mod pipeline;
mod production_stack;
mod rules;
mod sglang_cache_aware;

use std::sync::Arc;

use crate::block_numbers::BlockNumbers;
use crate::replica_index::ReplicaIndex;
use servescope_workload::mersenne::MersenneTwister;
use servescope_workload::stream::Stream;
use servescope_workload::trace::NO_LABEL;
use servescope_workload::{RequestId, Trace};

use crate::config::routing::CountSource;
use crate::config::{FleetConfig, PoolConfig, RouterKind};
use crate::ranks::ranks_behind;
use crate::record::decisions::{Compared, Decision, DecisionLog, RatedReplica, RoutingChoice, Test, Verdict};
use crate::replica::Replica;
use crate::router::affinity::{Affinity, Candidate};
use crate::router::counts::Scrapes;
use crate::router::knowledge::Knowledge;
use crate::router::pipeline::{Believed, Pipeline, Reported};
use crate::router::rules::rule_of;

/// A router and what it remembers.
#[derive(Debug, Clone)]
pub(crate) struct Router {
    kind: RouterKind,
    counts: CountSource,
    draws: Stream,
    /// What Python's `random` draws, where that is wanted.
    python_random: Option<MersenneTwister>,
    /// The routers that share the requests in turn.
    shards: Vec<Shard>,
    /// Requests that were routed.
    routed: u64,
    /// What replicas said of themselves.
    pub(crate) scrapes: Scrapes,
    rule: Option<Pipeline>,
    /// What is believed of replicas, where there is a rule or several routers.
    pub(crate) knowledge: Option<Box<Knowledge>>,
}

/// One of several routers.
#[derive(Debug, Clone)]
struct Shard {
    /// Round robin: the index after that of the replica that got the last request.
    turn: usize,
    /// What replicas were given, of the routers that look at it.
    affinity: Affinity,
}

/// What a router sees when a request arrives.
pub(crate) struct RoutingView<'a> {
    /// The settings of a pool, by its place.
    pub(crate) config_of: &'a dyn Fn(u16) -> &'a PoolConfig,
    pub(crate) replicas: &'a [Replica],
    pub(crate) trace: &'a Trace,
    pub(crate) now_us: f64,
}

impl Router {
    /// A router of a trace.
    pub(crate) fn new(config: &FleetConfig, trace: &Trace) -> Self {
        let is_of_python = config.draws_as_python && config.router == RouterKind::Random;
        let rule = rule_of(config.router, &config.constants);
        let shards = config.view.shards.max(1);
        // A decode replica does not know of requests whose prompts are still computed elsewhere; what sent them does.
        let counts_sent = config.disaggregation.is_some() && reads_load(config.router);
        let knows = rule.is_some() || shards > 1 || counts_sent;
        let keys = match config.router {
            RouterKind::AdapterAffinity => BlockNumbers::of_adapters(trace),
            RouterKind::PrefixAffinity => BlockNumbers::of_prompts_or_sessions(trace),
            _ => BlockNumbers::default(),
        };
        let shard = Shard { turn: 0, affinity: Affinity::new(Arc::new(keys)) };
        Self {
            kind: config.router,
            counts: config.view.counts,
            draws: Stream::named(config.seed, "fleet.router"),
            python_random: is_of_python.then(|| MersenneTwister::of_python(config.seed)),
            shards: vec![shard; shards as usize],
            routed: 0,
            scrapes: Scrapes::new(config.seed, config.view.scrape_us),
            rule,
            knowledge: knows.then(|| Box::new(Knowledge::new(config, trace))),
        }
    }

    /// The replica for request `id` among those that it may be given to, of which there is one at least, in their order. Where
    /// several are equal, the first. A rule writes down what it chose among.
    pub(crate) fn pick(
        &mut self,
        view: &RoutingView<'_>,
        (candidates, id): (&[ReplicaIndex], RequestId),
        log: &mut DecisionLog,
    ) -> ReplicaIndex {
        if view.replicas.len() == 1 && self.knowledge.is_none() {
            return candidates[0];
        }
        let shard = (self.routed % self.shards.len() as u64) as usize;
        self.routed += 1;
        let to = match (&self.rule, &mut self.knowledge) {
            (Some(rule), Some(knowledge)) => {
                let mut asked = knowledge.asked(shard, view, id, self.draws.item(id.index()));
                let believed = knowledge.believe(shard, view, (candidates, id), &self.scrapes);
                let all = if log.is_on() { believed.clone() } else { Vec::new() };
                let (chosen, scores) = rule.choose(&mut asked, believed);
                if log.is_on() {
                    write_down(log, (view, id), &chosen, (&all, &scores));
                }
                (chosen.place, chosen.matched_tokens, chosen.matched_tokens - chosen.host_matched_tokens)
            }
            _ => (self.pick_by_kind(shard, view, candidates, id), 0, 0),
        };
        if let Some(knowledge) = &mut self.knowledge {
            knowledge.send(shard, view, id, to);
        }
        to.0
    }

    /// A request goes to the replica where its session is, of which so many tokens are there.
    pub(crate) fn follow_session(
        &mut self,
        view: &RoutingView<'_>,
        id: RequestId,
        (place, tokens): (ReplicaIndex, u32),
    ) {
        let shard = (self.routed % self.shards.len() as u64) as usize;
        self.routed += 1;
        if let Some(knowledge) = &mut self.knowledge {
            knowledge.send(shard, view, id, (place, tokens, tokens));
        }
    }

    /// The replica of a router without a rule.
    fn pick_by_kind(
        &mut self,
        shard: usize,
        view: &RoutingView<'_>,
        candidates: &[ReplicaIndex],
        id: RequestId,
    ) -> ReplicaIndex {
        let count = candidates.len();
        let drawn = |item: u32, count: usize| draw(&self.draws, item, count);
        let reported =
            |place: ReplicaIndex| self.scrapes.of(place).unwrap_or_else(|| view.reported(place, view.now_us));
        let requests = |place: ReplicaIndex| match (self.counts, &self.knowledge) {
            (CountSource::Own, Some(knowledge)) => knowledge.own_requests(shard, place),
            (CountSource::Own, None) => view.outstanding(place),
            (CountSource::Scraped, _) => reported(place).requests,
        };
        let unstarted = |place: ReplicaIndex| match &self.knowledge {
            Some(knowledge) if view.config(place).kv_transfer.is_some() => {
                knowledge.own_unstarted_tokens(shard, place)
            }
            _ => 0,
        };
        let Shard { turn, affinity } = &mut self.shards[shard];
        match self.kind {
            RouterKind::RoundRobin => {
                let next = candidates.iter().find(|place| place.index() >= *turn);
                let place = *next.unwrap_or(&candidates[0]);
                *turn = place.index() + 1;
                place
            }
            RouterKind::Random => match &mut self.python_random {
                Some(words) => candidates[words.below(count as u32) as usize],
                None => candidates[drawn(id.get(), count)],
            },
            RouterKind::FewestWaiting => least(candidates, |place| u64::from(reported(place).waiting)),
            RouterKind::PowerOfTwo => {
                let first = drawn(id.get(), count);
                // Of one replica there is no second one to draw.
                let others = drawn(id.get() ^ 0x8000_0000, (count - 1).max(1));
                let second = (first + 1 + others) % count;
                let busy = |at: usize| (requests(candidates[at]), at);
                candidates[if busy(second) < busy(first) { second } else { first }]
            }
            RouterKind::LeastKv => least(candidates, |place| reported(place).kv_tokens + unstarted(place)),
            RouterKind::AdapterAffinity => affinity.pick(id, by_load(candidates, requests)),
            RouterKind::PrefixAffinity => {
                let candidates = by_load(candidates, requests)
                    .map(|candidate| Candidate { most_keys: view.most_keys(candidate.place), ..candidate });
                affinity.pick(id, candidates)
            }
            // The fewest requests that wait or run: every other kind has a rule.
            _ => least(candidates, |place| u64::from(requests(place))),
        }
    }
}

/// Whether a router without a rule compares how much replicas have to do.
fn reads_load(kind: RouterKind) -> bool {
    !matches!(kind, RouterKind::RoundRobin | RouterKind::Random | RouterKind::FewestWaiting)
}

/// The log has a rule's choice, with both sides of what it compared.
fn write_down(
    log: &mut DecisionLog,
    (view, request): (&RoutingView<'_>, RequestId),
    chosen: &Believed,
    (all, scores): (&[Believed], &[(ReplicaIndex, f64)]),
) {
    let time_us = view.now_us;
    let tokens = view.trace.input_tokens[request];
    let compared = Compared::new(Test::CachedPrompt, tokens, chosen.matched_tokens);
    log.add(|| Decision::of(time_us, chosen.place, request, Verdict::Routed, compared));
    let rated = |one: &Believed| RatedReplica {
        replica: one.place,
        cached_tokens: one.matched_tokens,
        uncached_tokens: one.uncached_tokens,
        requests: one.requests,
        score: scores.iter().find(|score| score.0 == one.place).map(|score| score.1),
    };
    log.add_choice(RoutingChoice { time_us, request, replicas: all.iter().map(rated).collect() });
}

fn draw(draws: &Stream, item: u32, count: usize) -> usize {
    let mut stream = draws.item(item as usize);
    ((stream.uniform() * count as f64) as usize).min(count - 1)
}

fn by_load(
    candidates: &[ReplicaIndex],
    load: impl Fn(ReplicaIndex) -> u32,
) -> impl Iterator<Item = Candidate> {
    candidates.iter().map(move |&place| Candidate { place, load: load(place), most_keys: usize::MAX })
}

fn least(candidates: &[ReplicaIndex], load: impl Fn(ReplicaIndex) -> u64) -> ReplicaIndex {
    candidates.iter().copied().min_by_key(|&place| load(place)).unwrap_or_default()
}

impl RoutingView<'_> {
    fn config(&self, place: ReplicaIndex) -> &PoolConfig {
        (self.config_of)(self.replicas[place].life.pool)
    }

    /// The ranks that a router sees as one address, the first of which has this place.
    pub(crate) fn ranks(&self, place: ReplicaIndex) -> &[Replica] {
        ranks_behind(self.replicas, place)
    }

    /// Requests at an address that wait or run.
    pub(crate) fn outstanding(&self, place: ReplicaIndex) -> u32 {
        self.ranks(place).iter().map(|rank| rank.outstanding).sum()
    }

    /// What an address says of itself at a time. Blocks of pools may differ in size, so that KV memory is in tokens.
    pub(crate) fn reported(&self, place: ReplicaIndex, at_us: f64) -> Reported {
        let (ranks, config) = (self.ranks(place), self.config(place));
        let used: u64 = ranks.iter().map(|rank| u64::from(rank.used_at(at_us))).sum();
        let sum = |of: fn(&Replica) -> u32| ranks.iter().map(of).sum();
        let waiting_blocks: u64 = ranks.iter().map(|rank| rank.waiting_prompt_blocks).sum();
        Reported {
            requests: self.outstanding(place),
            waiting: sum(|rank| rank.num_waiting),
            running: sum(|rank| rank.num_running),
            kv_tokens: config.tokens_in(used + waiting_blocks),
            kv_use: used as f64 / (f64::from(config.blocks.max(1)) * ranks.len() as f64),
        }
    }

    /// Blocks of prompts that are remembered of a replica: as many as its KV cache has room for.
    fn most_keys(&self, place: ReplicaIndex) -> usize {
        let prefix = self.trace.metadata.as_deref().map(|metadata| &metadata.prefix);
        let tokens = u64::from(self.config(place).kv_tokens()) * self.ranks(place).len() as u64;
        prefix
            .filter(|prefix| !prefix.is_empty())
            .map_or(usize::MAX, |prefix| (tokens / u64::from(prefix.block_tokens.max(1))).max(1) as usize)
    }
}

/// The blocks of a prompt, and the session of a request for prompts that are not given in blocks.
fn prefix_of(trace: &Trace, id: RequestId) -> (&[u64], Option<u64>) {
    let Some(metadata) = trace.metadata.as_deref() else { return (&[], None) };
    let session = metadata.session.index.get(id.index()).filter(|&&place| place != NO_LABEL);
    (metadata.prefix.of(id.index()), session.map(|&place| u64::from(place)))
}
