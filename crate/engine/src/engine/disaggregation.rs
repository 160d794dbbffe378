//! Disaggregated requests: which prefill and which decode replica one gets, its way from the one to the other, and the pull of
//! its KV blocks (the connectors of `crate::replica::kv_connector` have the decode replica's side).
//!
//! The decode replica is chosen first, as llm-d's and Dynamo's routers do: what it has cached of a prompt decides whether the prompt is
//! computed elsewhere at all.

use std::collections::BTreeMap;

use servescope_workload::stream::Stream;
use servescope_workload::trace::TraceMetadata;
use servescope_workload::{RequestId, Trace};

use super::Fleet;
use super::events::Event;
use super::transfers::{Route, Transfer, Transfers};
use crate::config::FleetConfig;
use crate::config::disaggregation::{Decider, Disaggregation, KvRole, LoadFailure};
use crate::config::routing::RouterView;
use crate::ranks::ranks_behind;
use crate::record::decisions::{Compared, Decision, Test, Verdict};
use crate::record::request_legs::RequestLegs;
use crate::record::request_state::{Leg, LegRole, RequestStatus};
use crate::replica_index::ReplicaIndex;
use crate::request::Rejection;
use crate::router::{Router, RoutingView};

/// What a fleet of prefill and decode pools keeps.
#[derive(Debug, Clone)]
pub(super) struct DisaggregatedFleet {
    config: Disaggregation,
    transfers: Transfers,
    /// When the next event of the transfers is expected.
    expected_us: f64,
    prefill_router: Router,
    /// Requests whose prompts are computed elsewhere, with the address that decodes, and some that have ended or begun again.
    on_their_way: BTreeMap<RequestId, ReplicaIndex>,
}

impl DisaggregatedFleet {
    /// `None`: every replica serves whole requests.
    pub(super) fn new(config: &FleetConfig, trace: &Trace) -> Option<Box<Self>> {
        let own = config.disaggregation?;
        // Its kinds compare what replicas have at the moment, and know nothing else.
        let view = RouterView::default();
        let of_prefill = FleetConfig { router: own.prefill_router, view, disaggregation: None, ..*config };
        Some(Box::new(Self {
            config: own,
            transfers: Transfers::new(own.sharing, own.base_us),
            expected_us: f64::INFINITY,
            prefill_router: Router::new(&of_prefill, trace),
            on_their_way: BTreeMap::new(),
        }))
    }
}

/// Where a request is sent.
pub(super) enum Destination {
    /// To the replica that serves all of it, or that decodes, where it is kept.
    Whole(ReplicaIndex),
    /// To a prefill replica first; `decode` is an address, whose replica may choose among its ranks when the request comes there.
    TwoLegs { prefill: ReplicaIndex, decode: ReplicaIndex },
}

impl Fleet {
    /// Why a request can never be served; `None`: it can. A prefill replica is asked for its prompt, a decode replica for all of it.
    pub(super) fn refused_by_roles(&self, [input, max, rank]: [u32; 3]) -> Option<Rejection> {
        let of_role = |role: KvRole, max: u32| {
            let pool = self.pools.iter().find(|pool| pool.config.has_role(role))?;
            pool.rejection([input, max, rank])
        };
        let decode = of_role(KvRole::Consumer, max);
        let is_prefilled = self.disaggregated.as_ref().is_some_and(|own| own.config.policy != Decider::Never);
        decode.or_else(|| of_role(KvRole::Producer, 1).filter(|_| is_prefilled))
    }

    /// Ready replicas of a role.
    pub(super) fn ready_of_role(&self, role: KvRole) -> Vec<ReplicaIndex> {
        let has_role = |&place: &ReplicaIndex| self.pool_of(place).config.has_role(role);
        self.ready.iter().copied().filter(has_role).collect()
    }

    /// Chooses the replicas of a request, where they have roles, of which some that decode are ready. Written down with both sides of
    /// the test that decided.
    pub(super) fn route_by_roles(
        &mut self,
        id: RequestId,
        consumers: Option<&[ReplicaIndex]>,
        now_us: f64,
    ) -> Option<Destination> {
        let own = self.disaggregated.as_ref()?.config;
        let producers = self.ready_of_role(KvRole::Producer);
        let decode = self.pick_address(id, consumers, now_us);
        let (mut is_sent, mut compared) = self.decide_by_prompt(own, id, decode);
        is_sent &= !producers.is_empty();
        let mut address = decode;
        if is_sent {
            let prefill = self.pick_prefill(&producers, id, now_us)?;
            if let Some(load) = self.decide_by_load(own, prefill) {
                (is_sent, compared) = (false, load);
            } else {
                address = prefill;
            }
        }
        let place = self.choose_rank(id, address, now_us);
        self.record.decisions.add(|| {
            let verdict = if is_sent { Verdict::Disaggregated } else { Verdict::Aggregated };
            Decision::of(now_us, decode, id, verdict, compared)
        });
        Some(if is_sent {
            Destination::TwoLegs { prefill: place, decode }
        } else {
            Destination::Whole(place)
        })
    }

    /// The prefill replica for a prompt.
    fn pick_prefill(
        &mut self,
        producers: &[ReplicaIndex],
        id: RequestId,
        now_us: f64,
    ) -> Option<ReplicaIndex> {
        let config_of = |pool: u16| &self.pools[usize::from(pool)].config;
        let view =
            RoutingView { config_of: &config_of, replicas: &self.replicas, trace: &self.trace, now_us };
        let own = self.disaggregated.as_mut()?;
        Some(own.prefill_router.pick(&view, (producers, id), &mut self.record.decisions))
    }

    /// Whether the decider sends a prompt away by what the decode replica has not cached of it, and what it compared.
    fn decide_by_prompt(&self, own: Disaggregation, id: RequestId, decode: ReplicaIndex) -> (bool, Compared) {
        let (ranks, config) = (ranks_behind(&self.replicas, decode), &self.pool_of(decode).config);
        let input = self.trace.input_tokens[id];
        let most = input.saturating_sub(1) / config.block_size;
        let cached = ranks.iter().map(|rank| rank.kv.get_computed_blocks(id, most).0).max();
        let uncached = input - cached.unwrap_or(0) * config.block_size;
        let usage = ranks.iter().map(|rank| rank.kv.usage()).sum::<f64>() / ranks.len() as f64;
        let is_full = own.decode_busy > 0.0 && usage > own.decode_busy;
        let (is_sent, least) = match own.policy {
            Decider::Always | Decider::PrefillLoad(_) => (true, 0),
            Decider::Never => (false, 0),
            Decider::Threshold(tokens) => (uncached >= tokens, tokens),
            Decider::UncachedPrompt { tokens, ratio }
            | Decider::UncachedPromptOrLoad { tokens, ratio, .. } => {
                (uncached >= tokens || f64::from(uncached) >= ratio * f64::from(input), tokens)
            }
        };
        let is_recorded = |known: &TraceMetadata| known.transfers.is_decode_only(id.index());
        let is_kept = own.policy == Decider::Never || self.trace.metadata.as_deref().is_some_and(is_recorded);
        ((is_sent || is_full) && !is_kept, Compared::new(Test::UncachedPrompt, uncached, least))
    }

    /// What the decider compared where the prefill replica has so many prompt tokens to compute that the decode replica keeps the
    /// request.
    fn decide_by_load(&self, own: Disaggregation, prefill: ReplicaIndex) -> Option<Compared> {
        let (ranks, config) = (ranks_behind(&self.replicas, prefill), &self.pool_of(prefill).config);
        let blocks: u64 = ranks.iter().map(|rank| rank.waiting_prompt_blocks).sum();
        let tokens = blocks * u64::from(config.block_size);
        let most = own.policy.most_waiting()? * f64::from(config.max_batch_tokens) * ranks.len() as f64;
        (tokens as f64 > most).then(|| Compared::new(Test::PrefillLoad, tokens, most as u64))
    }

    /// A request begins its way: at its first replica its prompt alone is computed.
    pub(super) fn begin_prefill_leg(&mut self, id: RequestId, prefill: ReplicaIndex, decode: ReplicaIndex) {
        self.requests.legs[id.index()] = Some(RequestLegs::between(prefill, decode));
        self.disaggregated.iter_mut().for_each(|own| _ = own.on_their_way.insert(id, decode));
        let request = &mut self.requests[id];
        request.leg = Leg::at(prefill, LegRole::Prefill);
        request.total = request.prompt + 1;
    }

    /// Prompts that were computed since the last call go on to their decode replicas.
    pub(super) fn send_on(&mut self, now_us: f64) {
        let route_us = self.disaggregated.as_ref().map_or(0.0, |own| own.config.route_us);
        for id in std::mem::take(&mut self.record.prefilled) {
            let Some(legs) = self.requests.legs_mut(id) else { continue };
            legs.prefilled_us = now_us;
            let (prefill, decode) = (legs.prefill, legs.decode);
            self.group_of_mut(prefill).ended(id);
            self.events.push(now_us + route_us, Event::DecodeLegArrives { replica: decode, request: id });
        }
    }

    /// Whether a request is to come to the address of a replica from one that computes its prompt.
    pub(super) fn is_expected(&self, address: ReplicaIndex) -> bool {
        let replica = self.replicas[address].life.replica;
        let comes = |(&id, &to): (&RequestId, &ReplicaIndex)| {
            let is_on_way = |legs: &RequestLegs| legs.decode == to && legs.arrived_us.is_nan();
            self.replicas[to].life.replica == replica
                && self.requests[id].status != RequestStatus::Finished
                && self.requests.legs(id).is_some_and(is_on_way)
        };
        self.disaggregated.as_ref().is_some_and(|own| own.on_their_way.iter().any(comes))
    }

    /// A request comes to the replica that decodes, or to another one where that has failed, unless its client has gone or it begins
    /// again.
    pub(super) fn decode_leg_arrives(&mut self, address: ReplicaIndex, id: RequestId, now_us: f64) {
        let Some(own) = &mut self.disaggregated else { return };
        let route_us = own.config.route_us;
        let is_due = |legs: &RequestLegs| legs.prefilled_us + route_us <= now_us;
        if self.requests[id].status != RequestStatus::BetweenLegs
            || !self.requests.legs(id).is_some_and(is_due)
        {
            return;
        }
        own.on_their_way.remove(&id);
        let mut address = address;
        if self.replicas[address].life.fails {
            let others = self.ready_of_role(KvRole::Consumer);
            if others.is_empty() {
                self.record.lost.insert(id);
                return self.leave(id, now_us);
            }
            address = self.pick_address(id, Some(&others), now_us);
        }
        let place = self.choose_rank(id, address, now_us);
        let (input, output) = (self.trace.input_tokens[id], self.trace.output_tokens[id]);
        let most = self.pool_of(place).facts.lengths.cut().unwrap_or(u32::MAX);
        let request = &mut self.requests[id];
        let began_us = request.leg.scheduled_us;
        request.leg = Leg::at(place, LegRole::Decode);
        (request.prompt, request.done, request.status) = (input, 0, RequestStatus::Waiting);
        request.total = input.saturating_add(output).min(most);
        if let Some(legs) = self.requests.legs_mut(id) {
            (legs.decode, legs.scheduled_us, legs.arrived_us) = (place, began_us, now_us);
        }
        self.group_of_mut(place).arrives(place);
        let (replica, mut context, _) = self.parts(place, now_us);
        if replica.enqueue(&mut context, id) {
            self.dirty_replicas.push(place);
        }
    }

    /// Pulls that a replica has begun share the links from now on.
    pub(super) fn begin_pulls(&mut self, place: ReplicaIndex, now_us: f64) {
        let pulls =
            self.replicas[place].kv_connector.as_mut().map(|tier| tier.take_pulls()).unwrap_or_default();
        if pulls.is_empty() {
            return;
        }
        for pull in pulls {
            let Some(legs) = self.requests.legs(pull.request) else { continue };
            let block_us =
                |place: ReplicaIndex| self.pool_of(place).config.kv_transfer.map_or(0.0, |own| own.block_us);
            let from = legs.prefill;
            let fails_at = self.fails_at(pull.request, pull.blocks);
            let route = Route { from: (from, block_us(from)), to: (place, block_us(place)) };
            let Some(own) = &mut self.disaggregated else { continue };
            let is_gone = self.replicas[from].life.fails;
            let (blocks, fails_at) =
                if is_gone { (0, Some((0, own.config.load_failure))) } else { (pull.blocks, fails_at) };
            self.replicas[place].holding.fails_at(pull.request, fails_at);
            own.transfers.begin((pull.request, pull.copy), route, blocks, now_us);
        }
        self.transfers_change(now_us);
    }

    /// At which of its blocks the pull of a request fails, and what becomes of the request then; `None`: all can be read.
    fn fails_at(&self, id: RequestId, blocks: u32) -> Option<(u32, LoadFailure)> {
        let own = self.disaggregated.as_ref()?.config;
        let metadata = self.trace.metadata.as_ref();
        let recorded = metadata.and_then(|known| known.transfers.load_fails_at(id.index()));
        let drawn = || {
            let mut draws = Stream::named(self.config.seed, "fleet.failing_loads").item(id.index());
            let fails = draws.uniform() < own.failing_loads;
            fails.then(|| (draws.uniform() * f64::from(blocks)) as u32)
        };
        recorded
            .or_else(|| if own.failing_loads > 0.0 { drawn() } else { None })
            .map(|at| (at, own.load_failure))
    }

    /// Prefill replicas fail: pulls from them end, each at the block that it has come to.
    pub(super) fn transfers_fail(&mut self, replicas: &[ReplicaIndex], now_us: f64) {
        let Some(own) = &mut self.disaggregated else { return };
        let load_failure = own.config.load_failure;
        let failed = own.transfers.fail_from(replicas, now_us);
        for &(request, to, blocks) in &failed {
            self.replicas[to].holding.fails_at(request, Some((blocks, load_failure)));
        }
        for &place in replicas {
            self.replicas[place].pinned.give_up();
            self.dirty_replicas.push(place);
        }
        if !failed.is_empty() {
            self.transfers_change(now_us);
        }
    }

    /// Pulls that have ended free the blocks of the prefill replica; the others share the links anew.
    pub(super) fn transfers_change(&mut self, now_us: f64) {
        let Some(own) = &mut self.disaggregated else { return };
        let ended = own.transfers.take_ended(now_us);
        let next_us = own.transfers.next_us();
        if own.expected_us <= now_us || next_us < own.expected_us {
            own.expected_us = next_us;
            if next_us < f64::INFINITY {
                self.events.push(next_us, Event::TransfersChange);
            }
        }
        for Transfer { request, route: Route { from: (from, _), to: (to, _) }, copy, alone_us, .. } in ended {
            if let Some(tier) = &mut self.replicas[to].kv_connector {
                tier.pull_ends(copy, now_us, alone_us);
            }
            self.finish_sending(from, request);
            self.copy_ends(to, now_us);
        }
    }

    /// A prefill replica need keep the blocks of a request no longer; it learns of that with its next batch.
    fn finish_sending(&mut self, place: ReplicaIndex, id: RequestId) {
        self.replicas[place].pinned.finish_sending(id);
        self.dirty_replicas.push(place);
    }

    /// The client of a request goes away between two replicas, or before the second one has pulled: its blocks are free at the first.
    pub(super) fn cancel_between_legs(&mut self, id: RequestId) {
        let Some(legs) = self.requests.legs(id).filter(|own| !own.is_pulled) else { return };
        self.finish_sending(legs.prefill, id);
    }
}

impl Decider {
    /// With how many token budgets of prompts a prefill replica may be chosen.
    fn most_waiting(self) -> Option<f64> {
        match self {
            Self::PrefillLoad(busy) | Self::UncachedPromptOrLoad { busy, .. } => Some(busy),
            _ => None,
        }
    }
}
