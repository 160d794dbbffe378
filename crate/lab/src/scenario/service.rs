//! The scenario's service: what an iteration costs, the server's limits, the bounds by which runs are judged.

use servescope_cost::{AdapterCost, LinearCost};
use servescope_engine::SchedulerConfig;
use servescope_engine::fleet::{FleetConfig, Preemption, RouterKind, SchedulerKind};
use servescope_engine::metrics::Slo;

use super::Scenario;
use crate::parameters::Id;

/// Bytes.
pub(super) const GIB: f64 = (1u64 << 30) as f64;

impl Scenario {
    /// The linear law.
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

    /// The server's limits.
    pub fn scheduler(&self) -> SchedulerConfig {
        SchedulerConfig {
            max_total_tokens: self.whole(Id::MaxTotalTokens),
            batch_max_tokens: self.whole(Id::BatchMaxTokens),
            max_running_requests: self.whole(Id::MaxRunning),
            max_request_tokens: self.whole(Id::MaxRequestTokens),
            max_input_tokens: self.whole(Id::MaxInputTokens),
            decode_steps_between_prefills: self.whole(Id::DecodeSteps),
            idle_poll_us: self.number(Id::IdlePoll) * 1e3,
            original_blocking: self.flag(Id::OriginalBlocking),
            max_in_system: self.max_in_system(),
            patience_us: self.patience_us(),
            prefetch_adapters: self.is_active(Id::PrefetchAdapters) && self.flag(Id::PrefetchAdapters),
            lora_compute: true,
        }
    }

    fn max_in_system(&self) -> u32 {
        Some(self.whole(Id::MaxInSystem)).filter(|&n| n > 0).unwrap_or(u32::MAX)
    }

    fn patience_us(&self) -> f64 {
        Some(self.number(Id::QueueTimeout) * 1e6).filter(|&t| t > 0.0).unwrap_or(f64::INFINITY)
    }

    /// The fleet with the memory pool as given, unless the scheduler is S-LoRA's, which has a loop of its own.
    pub fn fleet(&self) -> Option<FleetConfig> {
        self.fleet_with(self.whole(Id::MaxTotalTokens))
    }

    /// The fleet whose replicas have a memory pool of so many tokens.
    pub fn fleet_with(&self, pool_tokens: u32) -> Option<FleetConfig> {
        let scheduler = match self.choice(Id::SchedulerKind) {
            "static" => SchedulerKind::Static,
            "orca" => SchedulerKind::Orca,
            "vllm" => SchedulerKind::Vllm,
            "sarathi" => SchedulerKind::Sarathi,
            "lightllm" => SchedulerKind::LightLlm,
            "vllm_v1" => SchedulerKind::VllmV1,
            _ => return None,
        };
        let router = match self.choice(Id::Router) {
            "random" => RouterKind::Random,
            "least_outstanding" => RouterKind::LeastOutstanding,
            "shortest_line" => RouterKind::ShortestLine,
            "power_of_two" => RouterKind::PowerOfTwo,
            "least_kv" => RouterKind::LeastKv,
            "adapter_affinity" => RouterKind::AdapterAffinity,
            "prefix_affinity" => RouterKind::PrefixAffinity,
            _ => RouterKind::RoundRobin,
        };
        // LightLLM counts memory token by token.
        let block_size = if scheduler == SchedulerKind::LightLlm { 1 } else { self.whole(Id::BlockSize) };
        let blocks = pool_tokens / block_size;
        let max_request_tokens = self.whole(Id::MaxRequestTokens);
        Some(FleetConfig {
            replicas: self.whole(Id::Replicas),
            router,
            scheduler,
            blocks,
            block_size,
            watermark_blocks: if self.is_active(Id::Watermark) {
                (self.number(Id::Watermark) * f64::from(blocks)) as u32
            } else {
                0
            },
            max_requests: self.whole(Id::MaxRunning),
            max_slots: blocks / max_request_tokens.div_ceil(block_size).max(1),
            max_request_tokens,
            max_batch_tokens: self.whole(Id::BatchMaxTokens),
            chunk_tokens: self.whole(Id::ChunkTokens),
            decode_steps_between_prefills: self.whole(Id::DecodeSteps),
            original: self.flag(Id::OriginalBlocking),
            prefix_cache: self.flag(Id::PrefixCache),
            max_in_system: self.max_in_system(),
            patience_us: self.patience_us(),
            reserve: self.is_active(Id::Allocation) && self.choice(Id::Allocation) == "reserve",
            preemption: self.preemption(block_size),
            seed: self.number(Id::Seed) as u64,
        })
    }

    /// What becomes of an evicted request whose memory comes in blocks of `block_size`.
    fn preemption(&self, block_size: u32) -> Preemption {
        if !self.is_active(Id::Preemption) {
            return Preemption::Recompute;
        }
        match self.choice(Id::Preemption) {
            "regenerate" => Preemption::Regenerate,
            "swap" => {
                let block_bytes = self.kv_token_bytes() * f64::from(block_size);
                Preemption::Swap {
                    host_blocks: (self.number(Id::SwapSpace) * GIB / block_bytes) as u32,
                    us_per_block: block_bytes / (self.number(Id::SwapRate) * 1e3),
                }
            }
            _ => Preemption::Recompute,
        }
    }

    /// The bounds by which runs are judged.
    pub fn slo(&self) -> Slo {
        Slo { ttft_s: self.number(Id::SloTtft), tbt_s: self.number(Id::SloTbt) }
    }
}
