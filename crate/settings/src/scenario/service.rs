//! The scenario's service: what an iteration costs, the server's limits, the bounds by which runs are judged.

use servescope_cost::{AdapterCost, LinearCost};
use servescope_engine::metrics::Slo;
use servescope_engine::{AdapterConfig, FleetConfig, HostCache, PoolConfig, Preemption};

use super::Scenario;
use super::adapters::AdapterRanks;
use crate::diagnostic::Diagnostic;
use crate::parameters::Id;
use crate::parameters::byte_size::GIB;
use crate::parameters::choices;

impl Scenario {
    /// The linear model.
    pub fn cost(&self) -> LinearCost {
        let us = |id: Id| self.number(id) * 1e3;
        LinearCost {
            prefill_base_us: us(Id::PrefillBase),
            prefill_per_token_us: us(Id::PrefillPerToken),
            decode_base_us: us(Id::DecodeBase),
            decode_per_request_us: us(Id::DecodePerRequest),
            decode_per_kv_token_us: us(Id::DecodePerKv),
            overhead_us: us(Id::Overhead),
            adapters: AdapterCost {
                load_base_us: us(Id::LoadBase),
                load_per_rank_us: us(Id::LoadPerRank),
                prefill_factor: self.number(Id::PrefillFactor),
                decode_active_us: us(Id::DecodeActive),
                decode_per_rank_us: us(Id::DecodePerRank),
            },
        }
    }

    /// The fleet beside its pools.
    pub fn fleet(&self) -> FleetConfig {
        FleetConfig {
            disaggregation: self.disaggregation(),
            router: self.chosen(choices::ROUTER),
            view: self.router_view(),
            constants: self.router_constants(),
            seed: self.number(Id::Seed) as u64,
            draws_as_python: self.flag(Id::OriginalBlocking),
            max_in_system: Some(self.whole(Id::MaxInSystem)).filter(|&n| n > 0).unwrap_or(u32::MAX),
            failure_retries: self.whole(Id::FailureRetries),
            queue_timeout_us: Some(self.number(Id::QueueTimeout) * 1e6)
                .filter(|&t| t > 0.0)
                .unwrap_or(f64::INFINITY),
        }
    }

    /// The first pool with the KV memory as given, for adapters of the scenario's own ranks.
    pub fn pool(&self) -> PoolConfig {
        let adapters = self.fleet_adapters(self.adapter_ranks());
        let tokens = self.whole(Id::MaxTotalTokens);
        PoolConfig { adapters, ..self.pool_with(tokens, self.blocks_of_tokens(tokens, self.block_tokens())) }
    }

    /// The first pool for adapters of these ranks.
    ///
    /// # Errors
    /// [`Diagnostic`] where the model or the adapters do not fit.
    pub fn pool_for(&self, ranks: AdapterRanks) -> Result<PoolConfig, Diagnostic> {
        let adapters = self.fleet_adapters(ranks);
        let (tokens, blocks) = self.pool_memory(ranks)?;
        Ok(PoolConfig { adapters, ..self.pool_with(tokens, blocks) })
    }

    /// A pool whose replicas have this many tokens of KV memory; its adapters take no room and no time.
    fn pool_with(&self, pool_tokens: u32, blocks: u32) -> PoolConfig {
        let block_size = self.block_tokens();
        let max_request_tokens = self.longest_in_pool(pool_tokens);
        PoolConfig {
            kv_transfer: None,
            data_parallel: self.data_parallel(),
            replicas: self.whole(Id::Replicas),
            scheduler: self.chosen(choices::SCHEDULER),
            blocks,
            block_size,
            kv_groups: self.kv_groups(),
            watermark_blocks: self.active(Id::Watermark).map_or(0, |share| {
                // vLLM v1 counts its null block, too (vllm/v1/core/kv_cache_manager.py).
                (share * (f64::from(blocks) + f64::from(u8::from(self.is_vllm_v1())))) as u32
            }),
            max_requests: self.whole(Id::MaxRunning),
            max_slots: pool_tokens / block_size / max_request_tokens.div_ceil(block_size).max(1),
            max_request_tokens,
            max_batch_tokens: self.whole(Id::BatchMaxTokens),
            chunk_tokens: self.whole(Id::ChunkTokens),
            decode_steps_between_prefills: self.whole(Id::DecodeSteps),
            reference_quirks: self.flag(Id::OriginalBlocking),
            prefix_cache: self.flag(Id::PrefixCache),
            vllm: self.vllm_rules(),
            sglang: self.sglang_rules(),
            trtllm: self.trtllm_rules(),
            speculation: self.speculation(),
            reserve: match self.chosen(choices::Allocation::ID) {
                choices::Allocation::Watermark | choices::Allocation::OnDemand => false,
                choices::Allocation::Reserve => self.is_active(Id::Allocation),
            },
            preemption: self.preemption(block_size),
            max_input_tokens: self.active(Id::MaxInputTokens).map_or(u32::MAX, |tokens| tokens as u32),
            idle_poll_us: self.active(Id::IdlePoll).map_or(0.0, |ms| ms * 1e3),
            lora_compute: true,
            adapters: AdapterConfig::FREE,
            host_cache: self.host_cache(block_size),
        }
    }

    /// The tier of host memory, where there is one: each GPU has its share of it, and copies its own part of a block.
    fn host_cache(&self, block_size: u32) -> Option<HostCache> {
        let gib = self.active(Id::HostCacheGib).filter(|&gib| gib > 0.0)?;
        let gpus = self.number(Id::TensorParallel) * self.number(Id::PipelineParallel);
        let block_bytes = self.kv_token_bytes() * f64::from(block_size);
        let block_us = block_bytes / (self.number(Id::HostCacheRate) * 1e3);
        Some(HostCache {
            connector: self.chosen(choices::HOST_CONNECTOR),
            blocks: ((gib * GIB / (block_bytes * gpus)) as u32).max(1),
            eviction: self.chosen(choices::HOST_EVICTION),
            store_threshold: self.whole(Id::HostCacheThreshold),
            prompts_only: self.flag(Id::HostCachePrompts),
            lazy: self.flag(Id::HostCacheLazy),
            base_us: self.number(Id::HostCacheBase) * 1e3,
            load_block_us: block_us,
            store_block_us: block_us,
        })
    }

    /// Tokens of a block: S-LoRA and LightLLM count memory token by token.
    pub(super) fn block_tokens(&self) -> u32 {
        if self.is_active(Id::BlockSize) { self.whole(Id::BlockSize) } else { 1 }
    }

    /// A number, if it matters to the scenario.
    fn active(&self, id: Id) -> Option<f64> {
        self.is_active(id).then(|| self.number(id))
    }

    /// What becomes of an evicted request whose memory comes in blocks of `block_size`.
    fn preemption(&self, block_size: u32) -> Preemption {
        if !self.is_active(Id::Preemption) {
            return Preemption::Recompute;
        }
        match self.chosen(choices::Preemption::ID) {
            choices::Preemption::Recompute => Preemption::Recompute,
            choices::Preemption::Regenerate => Preemption::Regenerate,
            choices::Preemption::Swap => {
                let block_bytes = self.kv_token_bytes() * f64::from(block_size);
                Preemption::Swap {
                    host_blocks: (self.number(Id::SwapSpace) * GIB / block_bytes) as u32,
                    us_per_block: block_bytes / (self.number(Id::SwapRate) * 1e3),
                }
            }
        }
    }

    /// The bounds by which runs are judged; one of 0 is none.
    pub fn slo(&self) -> Slo {
        let bound = |id: Id| Some(self.number(id)).filter(|&s| s > 0.0).unwrap_or(f64::INFINITY);
        Slo { ttft_s: bound(Id::SloTtft), tpot_s: bound(Id::SloTpot), tbt_s: bound(Id::SloTbt) }
    }
}
