//! Requests that are handed over: which prefill and which decode replica one gets, its way from the one to the other, and the pull of
//! its KV blocks (the connectors of `crate::replica::kv_offload` have the decode replica's side).
//!
//! The decode replica is chosen first, as llm-d's and Dynamo's routers do: what it has cached of a prompt decides whether the prompt is
//! computed elsewhere at all.

use servescope_workload::stream::Stream;
use servescope_workload::trace::TraceMetadata;
use servescope_workload::{RequestId, Trace};

use super::Fleet;
use super::events::Event;
use super::transfers::{Route, Transfer, Transfers};
use crate::config::FleetConfig;
use crate::config::disaggregation::{Disaggregation, HandoverPolicy, KvRole, LoadFailure};
use crate::config::routing::RouterView;
use crate::record::decisions::{Compared, Decision, Test, Verdict};
use crate::record::handover::Handover;
use crate::record::request_state::{Leg, LegRole, RequestStatus};
use crate::replica_index::ReplicaIndex;
use crate::request::Rejection;
use crate::router::{Router, RoutingView};

/// What a fleet of prefill and decode pools keeps.
#[derive(Debug, Clone)]
pub(super) struct Handovers {
    config: Disaggregation,
    transfers: Transfers,
    /// When the next event of the transfers is expected.
    expected_us: f64,
    prefill_router: Router,
}

impl Handovers {
    /// `None`: every replica serves whole requests.
    pub(super) fn new(config: &FleetConfig, trace: &Trace) -> Option<Box<Self>> {
        let own = config.disaggregation?;
        let view = RouterView { scrape_us: config.view.scrape_us, ..RouterView::default() };
        let of_prefill = FleetConfig { router: own.prefill_router, view, ..*config };
        Some(Box::new(Self {
            config: own,
            transfers: Transfers::new(own.sharing, own.base_us),
            expected_us: f64::INFINITY,
            prefill_router: Router::new(&of_prefill, trace),
        }))
    }
}

/// Where a request is sent.
pub(super) enum Destination {
    /// To the replica that serves all of it, or that decodes, where it is kept.
    Whole(ReplicaIndex),
    /// To a prefill replica first.
    HandedOver { prefill: ReplicaIndex, decode: ReplicaIndex },
}

impl Fleet {
    /// Why a request can never be served; `None`: it can. A prefill replica is asked for its prompt, a decode replica for all of it.
    pub(super) fn refused_by_roles(&self, [input, max, rank]: [u32; 3]) -> Option<Rejection> {
        let of_role = |role: KvRole, max: u32| {
            let pool = self.pools.iter().find(|pool| pool.config.has_role(role))?;
            pool.rejection([input, max, rank])
        };
        let decode = of_role(KvRole::Consumer, max);
        let is_prefilled =
            self.handovers.as_ref().is_some_and(|own| own.config.policy != HandoverPolicy::Never);
        decode.or_else(|| of_role(KvRole::Producer, 1).filter(|_| is_prefilled))
    }

    /// Ready replicas of a role.
    fn ready_of_role(&self, role: KvRole) -> Vec<ReplicaIndex> {
        let has_role = |&place: &ReplicaIndex| self.pool_of(place).config.has_role(role);
        self.ready.iter().copied().filter(has_role).collect()
    }

    /// Chooses the replicas of a request, where they have roles.
    pub(super) fn route_by_roles(&mut self, id: RequestId, now_us: f64) -> Option<Destination> {
        self.handovers.as_ref()?;
        let [producers, consumers] =
            [KvRole::Producer, KvRole::Consumer].map(|role| self.ready_of_role(role));
        let decode = self.route(id, Some(&consumers), now_us);
        if producers.is_empty() || !self.is_sent_to_prefill(id, decode, now_us) {
            return Some(Destination::Whole(decode));
        }
        let config_of = |pool: u16| &self.pools[usize::from(pool)].config;
        let view =
            RoutingView { config_of: &config_of, replicas: &self.replicas, trace: &self.trace, now_us };
        let own = self.handovers.as_mut()?;
        let prefill = own.prefill_router.pick(&view, (&producers, id), &mut self.record.decisions);
        let is_busy = own.config.policy.most_waiting().is_some_and(|most| {
            let replica = &self.replicas[prefill];
            let config = config_of(replica.life.pool);
            let tokens = replica.waiting_prompt_blocks as f64 * f64::from(config.block_size);
            tokens > most * f64::from(config.max_batch_tokens)
        });
        Some(if is_busy { Destination::Whole(decode) } else { Destination::HandedOver { prefill, decode } })
    }

    /// Whether the rule sends the prompt of a request to another replica than the one that decodes; written down with both sides of
    /// the test.
    fn is_sent_to_prefill(&mut self, id: RequestId, decode: ReplicaIndex, now_us: f64) -> bool {
        let Some(own) = &self.handovers else { return false };
        let Disaggregation { policy, decode_busy, .. } = own.config;
        let (replica, config) = (&self.replicas[decode], &self.pool_of(decode).config);
        let input = self.trace.input_tokens[id];
        let most = input.saturating_sub(1) / config.block_size;
        let uncached = input - replica.kv.get_computed_blocks(id, most).0 * config.block_size;
        let is_full = decode_busy > 0.0 && replica.kv.usage() > decode_busy;
        let (is_sent, least) = match policy {
            HandoverPolicy::Always | HandoverPolicy::PrefillLoad(_) => (true, 0),
            HandoverPolicy::Never => (false, 0),
            HandoverPolicy::Threshold(tokens) => (uncached >= tokens, tokens),
            HandoverPolicy::UncachedPrompt { tokens, ratio }
            | HandoverPolicy::UncachedPromptOrLoad { tokens, ratio, .. } => {
                (uncached >= tokens || f64::from(uncached) >= ratio * f64::from(input), tokens)
            }
        };
        let is_recorded = |known: &TraceMetadata| known.handovers.is_decode_only(id.index());
        let is_kept =
            policy == HandoverPolicy::Never || self.trace.metadata.as_deref().is_some_and(is_recorded);
        let is_sent = (is_sent || is_full) && !is_kept;
        self.record.decisions.add(|| {
            let verdict = if is_sent { Verdict::HandedOver } else { Verdict::KeptWhole };
            Decision::of(now_us, decode, id, verdict, Compared::new(Test::UncachedPrompt, uncached, least))
        });
        is_sent
    }

    /// A request begins its way: at its first replica its prompt alone is computed.
    pub(super) fn begin_handover(&mut self, id: RequestId, prefill: ReplicaIndex, decode: ReplicaIndex) {
        self.requests.handovers[id.index()] = Some(Handover::between(prefill, decode));
        let request = &mut self.requests[id];
        request.leg = Leg::at(prefill, LegRole::Prefill);
        request.total = request.prompt + 1;
    }

    /// Prompts that were computed since the last call go on to their decode replicas.
    pub(super) fn send_on(&mut self, now_us: f64) {
        let route_us = self.handovers.as_ref().map_or(0.0, |own| own.config.route_us);
        for id in std::mem::take(&mut self.record.handed_over) {
            let Some(handover) = self.requests.handover_mut(id) else { continue };
            handover.prefilled_us = now_us;
            let decode = handover.decode;
            self.events.push(now_us + route_us, Event::DecodeLegArrives { replica: decode, request: id });
        }
    }

    /// A request comes to the replica that decodes, unless its client has gone.
    pub(super) fn decode_leg_arrives(&mut self, place: ReplicaIndex, id: RequestId, now_us: f64) {
        if self.requests[id].status != RequestStatus::HandedOver {
            return;
        }
        let (input, output) = (self.trace.input_tokens[id], self.trace.output_tokens[id]);
        let most = self.pool_of(place).facts.lengths.cut().unwrap_or(u32::MAX);
        let request = &mut self.requests[id];
        let began_us = request.leg.scheduled_us;
        request.leg = Leg::at(place, LegRole::Decode);
        (request.prompt, request.done, request.status) = (input, 0, RequestStatus::Waiting);
        request.total = input.saturating_add(output).min(most);
        if let Some(handover) = self.requests.handover_mut(id) {
            (handover.scheduled_us, handover.arrived_us) = (began_us, now_us);
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
            self.replicas[place].kv_offload.as_mut().map(|tier| tier.take_pulls()).unwrap_or_default();
        if pulls.is_empty() {
            return;
        }
        for pull in pulls {
            let Some(handover) = self.requests.handover(pull.request) else { continue };
            let block_us =
                |place: ReplicaIndex| self.pool_of(place).config.kv_transfer.map_or(0.0, |own| own.block_us);
            let from = handover.prefill;
            let fails_at = self.fails_at(pull.request, pull.blocks);
            let route = Route { from: (from, block_us(from)), to: (place, block_us(place)) };
            if let Some(tier) = &mut self.replicas[place].kv_offload {
                tier.fails_at(pull.request, fails_at);
            }
            let Some(own) = &mut self.handovers else { continue };
            own.transfers.begin((pull.request, pull.copy), route, pull.blocks, now_us);
        }
        self.transfers_change(now_us);
    }

    /// At which of its blocks the pull of a request fails, and what becomes of the request then; `None`: all can be read.
    fn fails_at(&self, id: RequestId, blocks: u32) -> Option<(u32, LoadFailure)> {
        let own = self.handovers.as_ref()?.config;
        let metadata = self.trace.metadata.as_ref();
        let recorded = metadata.and_then(|known| known.handovers.load_fails_at(id.index()));
        let drawn = || {
            let mut draws = Stream::named(self.config.seed, "fleet.failing_loads").item(id.index());
            let fails = draws.uniform() < own.failing_loads;
            fails.then(|| (draws.uniform() * f64::from(blocks)) as u32)
        };
        recorded
            .or_else(|| if own.failing_loads > 0.0 { drawn() } else { None })
            .map(|at| (at, own.load_failure))
    }

    /// Pulls that have ended free the blocks of the prefill replica; the others share the links anew.
    pub(super) fn transfers_change(&mut self, now_us: f64) {
        let Some(own) = &mut self.handovers else { return };
        let ended = own.transfers.take_ended(now_us);
        let next_us = own.transfers.next_us();
        if own.expected_us <= now_us || next_us < own.expected_us {
            own.expected_us = next_us;
            if next_us < f64::INFINITY {
                self.events.push(next_us, Event::TransfersChange);
            }
        }
        for Transfer { request, from, to, copy, alone_us, .. } in ended {
            if let Some(tier) = &mut self.replicas[to].kv_offload {
                tier.pull_ends(copy, now_us, alone_us);
            }
            self.are_read(from, request);
            self.copy_ends(to, now_us);
        }
    }

    /// A prefill replica need keep the blocks of a request no longer; it learns of that with its next batch.
    fn are_read(&mut self, place: ReplicaIndex, id: RequestId) {
        self.replicas[place].pinned.are_read(id);
        self.dirty_replicas.push(place);
    }

    /// The client of a request goes away between two replicas, or before the second one has pulled: its blocks are free at the first.
    pub(super) fn cancel_handover(&mut self, id: RequestId) {
        let Some(handover) = self.requests.handover(id).filter(|own| !own.is_pulled) else { return };
        self.are_read(handover.prefill, id);
    }
}

impl HandoverPolicy {
    /// With how many token budgets of prompts a prefill replica may be chosen.
    fn most_waiting(self) -> Option<f64> {
        match self {
            Self::PrefillLoad(busy) | Self::UncachedPromptOrLoad { busy, .. } => Some(busy),
            _ => None,
        }
    }
}
