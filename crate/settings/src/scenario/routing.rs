//! The scenario's router: what it sees, by default what the system sees whose name it has, and its constants.

use servescope_engine::{CountSource, IndexKind, RouterConstants, RouterKind, RouterView};

use super::Scenario;
use crate::parameters::choices::{self, Choice};
use crate::parameters::{Id, Value};

/// What a system's router sees where nothing else is set. Read in the sources of llm-d-router ebab687, Dynamo 1.6.1, smg f8daa88,
/// `AIBrix` e3e10f9 and production-stack a6c01db.
struct UsualView {
    index: IndexKind,
    ttl_s: f64,
    blocks: f64,
    block_tokens: f64,
    eviction_interval_s: f64,
    host_weight: f64,
    counts: CountSource,
    scrape_ms: f64,
}

const UNSCRAPED: UsualView = UsualView {
    index: IndexKind::Approximate,
    ttl_s: 0.0,
    blocks: 31_250.0,
    block_tokens: 64.0,
    eviction_interval_s: 0.0,
    host_weight: 0.8,
    counts: CountSource::Own,
    scrape_ms: 0.0,
};

/// Where replicas are scraped and nothing says how often.
const USUAL_SCRAPE_MS: f64 = 50.0;

fn usual_view(router: RouterKind) -> UsualView {
    let scraped = UsualView { scrape_ms: USUAL_SCRAPE_MS, ..UNSCRAPED };
    match router {
        RouterKind::FewestWaiting | RouterKind::LeastKv => UNSCRAPED,
        RouterKind::DynamoKv => UsualView {
            index: IndexKind::Precise,
            ttl_s: 120.0,
            block_tokens: 16.0,
            host_weight: 0.75,
            ..scraped
        },
        // 10,000 nodes of a tree over characters: each ends where prompts part.
        RouterKind::SglangCacheAware => {
            UsualView { blocks: 10_000.0, eviction_interval_s: 30.0, block_tokens: 16.0, ..scraped }
        }
        RouterKind::AibrixPrefixCache => UsualView {
            ttl_s: 1_200.0,
            blocks: 200_000.0,
            block_tokens: 16.0,
            counts: CountSource::Scraped,
            ..scraped
        },
        RouterKind::AibrixVtc => UsualView { counts: CountSource::Scraped, ..scraped },
        // The cache's controller knows its chunks of 256 tokens.
        RouterKind::PsKvaware => {
            UsualView { index: IndexKind::Precise, block_tokens: 256.0, scrape_ms: 30_000.0, ..UNSCRAPED }
        }
        // Chunks of 128 characters, never forgotten.
        RouterKind::PsPrefixaware => {
            UsualView { blocks: 100_000_000.0, block_tokens: 32.0, scrape_ms: 30_000.0, ..UNSCRAPED }
        }
        RouterKind::PsSession => UsualView { scrape_ms: 30_000.0, ..UNSCRAPED },
        RouterKind::RoundRobin
        | RouterKind::Random
        | RouterKind::LeastOutstanding
        | RouterKind::PowerOfTwo
        | RouterKind::AdapterAffinity
        | RouterKind::PrefixAffinity
        | RouterKind::Llmd
        | RouterKind::LlmdWeighted
        | RouterKind::Lmetric
        | RouterKind::Lpwl
        | RouterKind::ConsistentHash => scraped,
    }
}

impl Scenario {
    /// The default of a parameter of the router's view.
    pub(super) fn usual_of_view(&self, id: Id) -> Value {
        let usual = usual_view(self.chosen(choices::ROUTER));
        match id {
            Id::RouterIndex => Value::Choice(usual.index.name()),
            Id::RouterCounts => Value::Choice(usual.counts.name()),
            Id::IndexTtl => Value::Number(usual.ttl_s),
            Id::IndexBlocks => Value::Number(usual.blocks),
            Id::IndexBlockTokens => Value::Number(usual.block_tokens),
            Id::IndexEviction => Value::Number(usual.eviction_interval_s),
            Id::HostWeight => Value::Number(usual.host_weight),
            Id::RouterScrape => Value::Number(usual.scrape_ms),
            _ => id.row().default_value(),
        }
    }

    /// What the router sees.
    pub(super) fn router_view(&self) -> RouterView {
        RouterView {
            index: self.chosen(choices::INDEX_KIND),
            ttl_us: Some(self.number(Id::IndexTtl) * 1e6).filter(|&us| us > 0.0).unwrap_or(f64::INFINITY),
            index_blocks: self.whole(Id::IndexBlocks),
            block_tokens: self.whole(Id::IndexBlockTokens),
            eviction_interval_us: self.number(Id::IndexEviction) * 1e6,
            event_delay_us: self.number(Id::EventDelay) * 1e3,
            host_weight: self.number(Id::HostWeight),
            counts: self.chosen(choices::COUNT_SOURCE),
            // Metrics that the rule does not look at are not read.
            scrape_us: if self.is_active(Id::RouterScrape) {
                self.number(Id::RouterScrape) * 1e3
            } else {
                0.0
            },
            shards: if self.is_active(Id::RouterShards) { self.whole(Id::RouterShards) } else { 1 },
        }
    }

    /// The constants of its rule.
    pub(super) fn router_constants(&self) -> RouterConstants {
        let number = |id: Id| self.number(id);
        RouterConstants {
            llmd_affinity_threshold: number(Id::LlmdAffinity),
            llmd_exploration: number(Id::LlmdExploration),
            llmd_peak_prefill_tokens_per_s: number(Id::LlmdPeakPrefill),
            llmd_max_ttft_penalty_us: number(Id::LlmdTtftPenalty) * 1e3,
            llmd_max_load_tokens: number(Id::LlmdLoadTokens),
            llmd_weights: [Id::LlmdPrefixWeight, Id::LlmdQueueWeight, Id::LlmdKvWeight].map(number),
            dynamo_overlap_credit: number(Id::DynamoOverlapCredit),
            dynamo_prefill_scale: number(Id::DynamoPrefillScale),
            dynamo_active_weight: number(Id::DynamoActiveWeight),
            dynamo_temperature: number(Id::DynamoTemperature),
            sglang_cache_threshold: number(Id::SglangCacheThreshold),
            sglang_balance_abs: number(Id::SglangBalanceAbs),
            sglang_balance_rel: number(Id::SglangBalanceRel),
            sglang_miss: self.chosen(choices::MISS_TARGET),
            aibrix_imbalance: number(Id::AibrixImbalance),
            aibrix_deviations: number(Id::AibrixDeviations),
            vtc_weights: [Id::VtcFairnessWeight, Id::VtcUtilizationWeight].map(number),
            vtc_max_load: number(Id::VtcMaxLoad),
            vtc_window_us: number(Id::VtcWindow) * 1e6,
            ps_kvaware_threshold: number(Id::PsKvawareThreshold),
            hash_bound: number(Id::HashBound),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_router_sees_what_its_system_sees() {
        let of = |router: &str| {
            let mut scenario = Scenario::of_version(4);
            scenario.set_text("fleet.replicas", "2").unwrap();
            scenario.set_text("fleet.router", router).unwrap();
            scenario.fleet().view
        };
        assert_eq!(of("round_robin"), RouterView::default());
        assert_eq!(of("llmd"), RouterView::default());
        assert_eq!(of("dynamo_kv").index, IndexKind::Precise);
        assert_eq!(of("sglang_cache_aware").eviction_interval_us, 30e6);
        let aibrix = of("aibrix_prefix_cache");
        assert_eq!((aibrix.counts, aibrix.scrape_us, aibrix.ttl_us), (CountSource::Scraped, 50e3, 1_200e6));
        assert_eq!(of("llmd_weighted").scrape_us, 50e3);
        assert_eq!((of("least_kv").scrape_us, of("fewest_waiting").scrape_us), (0.0, 0.0));
        // A rule that reads no metrics has none read.
        assert_eq!((of("ps_session").scrape_us, of("lpwl").scrape_us), (0.0, 0.0));
        // Constants are those of the systems.
        assert_eq!(Scenario::of_version(4).fleet().constants, RouterConstants::default());
    }
}
