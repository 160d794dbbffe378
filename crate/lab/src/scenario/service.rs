//! The scenario's service: what an iteration costs, the server's limits, the bounds by which runs are judged.

use servescope_cost::{AdapterCost, LinearCost};
use servescope_engine::SchedulerConfig;
use servescope_engine::metrics::Slo;

use super::Scenario;
use crate::parameters::Id;

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
            max_in_system: Some(self.whole(Id::MaxInSystem)).filter(|&n| n > 0).unwrap_or(u32::MAX),
            patience_us: Some(self.number(Id::QueueTimeout) * 1e6)
                .filter(|&t| t > 0.0)
                .unwrap_or(f64::INFINITY),
            prefetch_adapters: self.is_active(Id::PrefetchAdapters) && self.flag(Id::PrefetchAdapters),
            lora_compute: true,
        }
    }

    /// The bounds by which runs are judged.
    pub fn slo(&self) -> Slo {
        Slo { ttft_s: self.number(Id::SloTtft), tbt_s: self.number(Id::SloTbt) }
    }
}
