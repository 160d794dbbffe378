//! The rule of each router that is called by the name of a system, and what the rule looks at.

use super::pipeline::Pipeline;
use super::{aibrix, consistent_hash, dynamo_kv, llmd, lmetric, lpwl, production_stack, sglang_cache_aware};
use crate::config::RouterKind;
use crate::config::routing::RouterConstants;

/// What a rule looks at beside counts of requests: what no rule asks for is not kept.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is kept by itself")]
pub(super) struct RuleFacts {
    /// An index of cached blocks.
    pub(super) index: bool,
    /// Distinct blocks of the prompts under way.
    pub(super) blocks: bool,
    /// Requests of late.
    pub(super) rates: bool,
    /// Tokens that clients were given.
    pub(super) clients: bool,
}

/// The rule of a router; `None`: it has none.
pub(super) fn rule_of(kind: RouterKind, constants: &RouterConstants) -> Option<Pipeline> {
    Some(match kind {
        RouterKind::RoundRobin
        | RouterKind::Random
        | RouterKind::LeastOutstanding
        | RouterKind::FewestWaiting
        | RouterKind::PowerOfTwo
        | RouterKind::LeastKv
        | RouterKind::AdapterAffinity
        | RouterKind::PrefixAffinity => return None,
        RouterKind::Llmd => llmd::rule(constants),
        RouterKind::LlmdWeighted => llmd::weighted_rule(constants),
        RouterKind::DynamoKv => dynamo_kv::rule(constants),
        RouterKind::SglangCacheAware => sglang_cache_aware::rule(constants),
        RouterKind::AibrixPrefixCache => aibrix::prefix_cache(constants),
        RouterKind::AibrixVtc => aibrix::vtc(constants),
        RouterKind::PsKvaware => production_stack::kvaware(constants),
        RouterKind::PsPrefixaware => production_stack::prefixaware(),
        RouterKind::PsSession => production_stack::session(),
        RouterKind::Lmetric => lmetric::rule(),
        RouterKind::Lpwl => lpwl::rule(),
        RouterKind::ConsistentHash => consistent_hash::rule(constants),
    })
}

/// What its rule looks at.
pub(super) fn facts_of(kind: RouterKind) -> RuleFacts {
    let facts = RuleFacts::default();
    match kind {
        RouterKind::Llmd
        | RouterKind::LlmdWeighted
        | RouterKind::SglangCacheAware
        | RouterKind::AibrixPrefixCache
        | RouterKind::PsPrefixaware
        | RouterKind::Lmetric
        | RouterKind::Lpwl => RuleFacts { index: true, ..facts },
        RouterKind::DynamoKv => RuleFacts { index: true, blocks: true, ..facts },
        RouterKind::PsKvaware => RuleFacts { index: true, rates: true, ..facts },
        RouterKind::PsSession => RuleFacts { rates: true, ..facts },
        RouterKind::AibrixVtc => RuleFacts { clients: true, ..facts },
        _ => facts,
    }
}
