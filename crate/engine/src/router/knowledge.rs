//! What routers know: each of several its own requests, all of them what replicas tell.

use std::collections::BTreeMap;
use std::sync::Arc;

use servescope_workload::stream::Stream;
use servescope_workload::{RequestId, Trace};

use super::counts::{ClientTokens, OwnCounts, Scrapes};
use super::index::{ApproximateIndex, EventIndex, MatchedTokens, cached_now};
use super::pipeline::{Asked, Believed, Reported};
use super::rules::{RuleFacts, facts_of};
use super::{RoutingView, prefix_of};
use crate::block_numbers::{BlockNumbers, Numbers};
use crate::config::FleetConfig;
use crate::config::routing::{CountSource, IndexKind, RouterConstants, RouterView};
use crate::record::RoutedEvent;
use crate::record::request_timings::FoundPrompt;
use crate::replica::Replica;
use crate::replica_index::ReplicaIndex;
use crate::report::RoutingTotals;

/// What `AIBrix` takes an answer to be as long as, in lengths of the prompt, and what a token of it counts. Both stand at every
/// request alike, so that they move no place of a client beside another's.
const OUTPUT_RATIO: f64 = 1.5;
const OUTPUT_WEIGHT: f64 = 2.0;
/// What `AIBrix` takes clients to have been given where none was given anything.
const USUAL_CLIENT_TOKENS: [f64; 3] = [0.0, 1_000.0, 8_000.0];
/// In place of believed tokens: the request was not routed by an index.
const NOT_ROUTED: u32 = u32::MAX;

/// The knowledge of all routers.
#[derive(Debug, Clone)]
pub(crate) struct Knowledge {
    view: RouterView,
    constants: RouterConstants,
    facts: RuleFacts,
    /// The blocks of prompts, of the index's size, where the rule looks at them.
    prompts: Arc<BlockNumbers>,
    shards: Vec<OfShard>,
    /// Requests that were sent and have not ended.
    sent: BTreeMap<RequestId, Sent>,
    events: EventIndex,
    /// Prompt tokens of each request that were believed to be cached on its replica's GPU.
    believed: Vec<u32>,
}

/// What one of them knows of its own requests.
#[derive(Debug, Clone, Default)]
struct OfShard {
    index: ApproximateIndex,
    own: Vec<OwnCounts>,
    clients: ClientTokens,
}

/// A request that was sent.
#[derive(Debug, Clone, Copy)]
struct Sent {
    shard: usize,
    place: ReplicaIndex,
    /// Tokens of its prompt that are to be computed; 0 from its first token on.
    uncached_tokens: u64,
}

impl Knowledge {
    pub(super) fn new(config: &FleetConfig, trace: &Trace) -> Self {
        let facts = facts_of(config.router);
        let looks_at_blocks = facts.blocks || facts.index && config.view.index == IndexKind::Approximate;
        let prompts = || BlockNumbers::of_prompts(trace, config.view.block_tokens);
        Self {
            view: config.view,
            constants: config.constants,
            facts,
            prompts: Arc::new(if looks_at_blocks { prompts() } else { BlockNumbers::default() }),
            shards: vec![OfShard::default(); config.view.shards.max(1) as usize],
            sent: BTreeMap::new(),
            events: EventIndex::default(),
            believed: if facts.index { vec![NOT_ROUTED; trace.len()] } else { Vec::new() },
        }
    }

    /// Whether an index is kept at all.
    pub(crate) fn has_index(&self) -> bool {
        self.facts.index
    }

    /// Whether replicas tell of every change of their caches.
    pub(crate) fn takes_events(&self) -> bool {
        self.facts.index && self.view.index == IndexKind::Precise
    }

    /// Whether decisions depend on what exactly is cached at a moment.
    pub(crate) fn is_exact(&self) -> bool {
        self.facts.index && self.view.index != IndexKind::Approximate
    }

    /// What happened since the last decision is learnt.
    pub(crate) fn hear(
        &mut self,
        happened: impl Iterator<Item = (RequestId, RoutedEvent)>,
        replicas: &mut [Replica],
        trace: &Trace,
        now_us: f64,
    ) {
        for (id, event) in happened {
            let Some(sent) = self.sent.get_mut(&id) else { continue };
            let own = &mut self.shards[sent.shard].own[sent.place.index()];
            own.uncached_tokens -= std::mem::take(&mut sent.uncached_tokens);
            if event == RoutedEvent::Ends {
                own.requests -= 1;
                if self.facts.blocks {
                    own.use_blocks(all_blocks(&self.prompts, trace, id, self.view.block_tokens), false);
                }
                self.sent.remove(&id);
            }
        }
        if self.takes_events() {
            let caches = replicas.iter_mut().map(|replica| &mut replica.kv);
            self.events.hear(caches, now_us - self.view.event_delay_us);
        }
    }

    /// Requests that a router sent to a replica and that have not ended.
    pub(super) fn own_requests(&self, shard: usize, place: ReplicaIndex) -> u32 {
        self.shards[shard].own.get(place.index()).map_or(0, |own| own.requests)
    }

    /// Tokens of the prompts that a shard has sent to a replica and that have no first token.
    pub(super) fn own_unstarted_tokens(&self, shard: usize, place: ReplicaIndex) -> u64 {
        self.shards[shard].own.get(place.index()).map_or(0, |own| own.uncached_tokens)
    }

    /// The request as a rule sees it.
    pub(super) fn asked(
        &mut self,
        shard: usize,
        view: &RoutingView<'_>,
        id: RequestId,
        draws: Stream,
    ) -> Asked {
        let (blocks, session) = prefix_of(view.trace, id);
        let user = view.trace.user[id];
        let of_client = |clients: &mut ClientTokens| {
            clients.of(user, view.now_us - self.constants.vtc_window_us).unwrap_or(USUAL_CLIENT_TOKENS)
        };
        let clients = self.facts.clients.then(|| of_client(&mut self.shards[shard].clients));
        Asked {
            prompt_tokens: view.trace.input_tokens[id],
            block_tokens: self.view.block_tokens,
            session,
            key: blocks.first().copied().unwrap_or(u64::from(user)),
            client_tokens: clients.unwrap_or_default(),
            draws,
        }
    }

    /// What a router believes of each candidate, in their order.
    pub(super) fn believe(
        &mut self,
        shard: usize,
        view: &RoutingView<'_>,
        (candidates, id): (&[ReplicaIndex], RequestId),
        scrapes: &Scrapes,
    ) -> Vec<Believed> {
        let matched = self.matched(shard, view, candidates, id);
        let blocks = all_blocks(&self.prompts, view.trace, id, self.view.block_tokens);
        let OfShard { own, index, .. } = &mut self.shards[shard];
        let most = candidates.iter().map(|place| place.index() + 1).max().unwrap_or(0);
        own.resize(own.len().max(most), OwnCounts::default());
        let of_place = |(&place, (matched, indexed_tokens)): (&ReplicaIndex, (MatchedTokens, u32))| {
            let own = &mut own[place.index()];
            debug_assert!(
                self.view.shards > 1
                    || own.requests == view.outstanding(place)
                    // Some that it has sent are at their prefill replicas.
                    || view.config(place).kv_transfer.is_some() && own.requests > view.outstanding(place),
                "a router alone has sent every request of {place}"
            );
            let reported: Reported = scrapes.of(place).unwrap_or_else(|| view.reported(place, view.now_us));
            Believed {
                place,
                matched_tokens: matched.gpu + matched.host,
                host_matched_tokens: matched.host,
                indexed_tokens,
                requests: match self.view.counts {
                    CountSource::Own => own.requests,
                    CountSource::Scraped => reported.requests,
                },
                uncached_tokens: own.uncached_tokens,
                decode_blocks: if self.facts.blocks { own.blocks_with(blocks.clone()) } else { 0 },
                index_blocks: index.blocks_of(place),
                recent_requests: if self.facts.rates { own.recent_requests(view.now_us) } else { 0 },
                reported,
            }
        };
        candidates.iter().zip(matched).map(of_place).collect()
    }

    /// Prompt tokens that each candidate is believed to have cached, and those of whole blocks of the index.
    fn matched(
        &self,
        shard: usize,
        view: &RoutingView<'_>,
        candidates: &[ReplicaIndex],
        id: RequestId,
    ) -> Vec<(MatchedTokens, u32)> {
        if !self.facts.index {
            return vec![(MatchedTokens::default(), 0); candidates.len()];
        }
        let (trace, size) = (view.trace, self.view.block_tokens);
        if self.view.index == IndexKind::Approximate {
            let oldest_us = view.now_us - self.view.ttl_us;
            let matched = self.shards[shard].index.matched((&self.prompts, id), candidates, oldest_us);
            let indexed = trace.input_tokens[id] / size * size;
            let of_gpu = |count: u32| MatchedTokens { gpu: count * size, host: 0 };
            return matched.into_iter().map(|count| (of_gpu(count), indexed)).collect();
        }
        let of_place = |&place: &ReplicaIndex| {
            let (ranks, host_weight) = (view.ranks(place), self.view.host_weight);
            let of_rank = |replica: &Replica| match self.view.index {
                IndexKind::Precise => self.events.matched(trace, id, replica, host_weight),
                IndexKind::Approximate | IndexKind::True => cached_now(trace, id, replica, host_weight),
            };
            // An index of a whole replica does not tell which rank it is.
            let most = ranks.iter().map(of_rank).max_by_key(|matched| matched.gpu + matched.host);
            let (matched, size) = (most.unwrap_or_default(), ranks[0].kv.block_size());
            (matched, trace.input_tokens[id].saturating_sub(1) / size * size)
        };
        candidates.iter().map(of_place).collect()
    }

    /// A request is sent to a replica that is believed to have so many tokens of its prompt, and so many of them on its GPU.
    pub(super) fn send(
        &mut self,
        shard: usize,
        view: &RoutingView<'_>,
        id: RequestId,
        (place, matched_tokens, on_gpu): (ReplicaIndex, u32, u32),
    ) {
        let tokens = view.trace.input_tokens[id];
        let OfShard { own, index, clients } = &mut self.shards[shard];
        own.resize(own.len().max(place.index() + 1), OwnCounts::default());
        let own = &mut own[place.index()];
        let uncached_tokens = u64::from(tokens.saturating_sub(matched_tokens));
        own.add(uncached_tokens);
        if self.facts.rates {
            own.note_time(view.now_us);
        }
        if self.facts.blocks {
            own.use_blocks(all_blocks(&self.prompts, view.trace, id, self.view.block_tokens), true);
        }
        if self.facts.index {
            self.believed[id.index()] = on_gpu;
            if self.view.index == IndexKind::Approximate {
                index.insert((&self.prompts, id), place, &self.view, view.now_us);
            }
        }
        if self.facts.clients {
            let answer = (f64::from(tokens) * OUTPUT_RATIO).ceil();
            let charged = f64::from(tokens) + OUTPUT_WEIGHT * answer;
            clients.give(view.trace.user[id], charged, view.now_us);
        }
        self.sent.insert(id, Sent { shard, place, uncached_tokens });
    }

    /// What was believed of the requests that were admitted, beside what they found on the GPU; `is_cached`: whether the replica of a
    /// request caches prefixes.
    pub(crate) fn totals(
        &self,
        found: &[Option<FoundPrompt>],
        is_cached: impl Fn(usize) -> bool,
    ) -> RoutingTotals {
        let mut totals = RoutingTotals::default();
        for (id, &believed) in self.believed.iter().enumerate() {
            let found = found.get(id).copied().flatten();
            if believed != NOT_ROUTED && (found.is_some() || !is_cached(id)) {
                totals.add(believed, found.unwrap_or_default().cached_tokens);
            }
        }
        totals
    }
}

/// The blocks of a prompt that the trace describes, and how many it has beside them.
fn all_blocks<'a>(
    prompts: &'a BlockNumbers,
    trace: &Trace,
    id: RequestId,
    block_tokens: u32,
) -> (Numbers<'a>, u64) {
    let all = trace.input_tokens[id].div_ceil(block_tokens.max(1));
    (prompts.iter(id, 0..u32::MAX), u64::from(all - prompts.count_of(id)))
}
