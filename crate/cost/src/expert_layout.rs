//! Experts that data-parallel ranks share: which GPUs have them, and how tokens get there and back.
//!
//! vLLM spreads the experts of a replica over the GPUs of all its ranks, cut into parts or, with expert parallelism, whole
//! (vllm/model_executor/layers/fused_moe/config.py, `FusedMoEParallelConfig`). Attention is each rank's own, so that before the
//! experts every rank's tokens go to all others, or each to the GPUs of its experts, and afterwards back.

use crate::gpus::Gpu;

/// Bytes of an activation at 16 bits.
const WIDE: f64 = 2.0;
/// Bytes of one at 8 bits, with a scale of 32 bits for each 128.
const NARROW: f64 = 1.0 + 4.0 / 128.0;
/// GPUs among which `DeepEP` was timed.
const TIMED_GPUS: f64 = 8.0;

/// How tokens get to the experts of other ranks and back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AllToAll {
    /// Every rank gets the tokens of all, and their sums are scattered back (vLLM's default).
    AllGather,
    /// `DeepEP`'s kernels for few tokens: each token goes to each of its experts at 8 bits, and comes back at 16.
    DeepEpLowLatency,
    /// `DeepEP`'s kernels for many tokens: each token goes once to each GPU that has experts for it.
    DeepEpHighThroughput,
}

/// How experts lie on the GPUs of data-parallel ranks that run every pass together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExpertLayout {
    /// Ranks; 1: a replica alone has them all.
    pub data_parallel: u32,
    /// Whether experts are whole on GPUs, in place of a part of each on every GPU.
    pub expert_parallel: bool,
    /// How tokens get to them.
    pub all_to_all: AllToAll,
    /// Further copies of experts of each layer, by which their loads are evened out (`num_redundant_experts`).
    pub redundant: u32,
}

impl ExpertLayout {
    /// One replica, each of whose GPUs has a part of every expert.
    pub const ALONE: Self =
        Self { data_parallel: 1, expert_parallel: false, all_to_all: AllToAll::AllGather, redundant: 0 };

    /// GPUs over which the experts of a layer are spread, where `tensor_parallel` GPUs share attention.
    pub fn gpus(&self, tensor_parallel: u32) -> u32 {
        tensor_parallel.max(1) * self.data_parallel.max(1)
    }

    /// GPUs that share each expert.
    pub fn tensor(&self, tensor_parallel: u32) -> u32 {
        if self.expert_parallel { 1 } else { self.gpus(tensor_parallel) }
    }

    /// Groups of GPUs with different experts.
    pub fn groups(&self, tensor_parallel: u32) -> u32 {
        if self.expert_parallel { self.gpus(tensor_parallel) } else { 1 }
    }
}

/// A time that grows with the bytes: microseconds of none, and GB/s.
type Line = (f64, f64);

/// `DeepEP` on one node of a GPU: dispatch and combine for few tokens, and for many with 20 multiprocessors. Lines through
/// AIConfigurator's tables (095f58a, SGLang 0.5.12, 8 GPUs, Apache-2.0); medians of the distances are 5 to 12 %, most at few bytes.
struct DeepEp {
    gpu: &'static str,
    low_latency: [Line; 2],
    high_throughput: [Line; 2],
}

const DEEP_EP: [DeepEp; 6] = [
    DeepEp {
        gpu: "h100_sxm",
        low_latency: [(11.4, 285.0), (11.3, 249.0)],
        high_throughput: [(26.2, 278.0), (38.5, 312.0)],
    },
    DeepEp {
        gpu: "h200_sxm",
        low_latency: [(10.1, 294.0), (10.2, 257.0)],
        high_throughput: [(26.9, 287.0), (38.1, 315.0)],
    },
    DeepEp {
        gpu: "b200_sxm",
        low_latency: [(19.4, 534.0), (17.9, 671.0)],
        high_throughput: [(36.1, 258.0), (47.8, 326.0)],
    },
    DeepEp {
        gpu: "b300_sxm",
        low_latency: [(20.1, 536.0), (18.4, 665.0)],
        high_throughput: [(37.2, 266.0), (48.1, 333.0)],
    },
    DeepEp {
        gpu: "gb200_nvl72",
        low_latency: [(14.4, 566.0), (13.1, 731.0)],
        high_throughput: [(33.3, 311.0), (41.1, 373.0)],
    },
    DeepEp {
        gpu: "gb300_nvl72",
        low_latency: [(14.2, 580.0), (13.4, 743.0)],
        high_throughput: [(35.1, 360.0), (40.2, 378.0)],
    },
];

/// Whether `DeepEP` was timed on a GPU.
pub fn has_deep_ep(gpu: &Gpu) -> bool {
    DEEP_EP.iter().any(|row| row.gpu == gpu.id)
}

/// Microseconds in which the tokens of a rank, so many of this width, get to their experts and back; `None`: they are gathered, or
/// it was not timed on the GPU. `per_token`: experts of each.
pub(crate) fn all_to_all_us(
    gpu: &Gpu,
    by: AllToAll,
    (tokens, hidden, per_token): (f64, f64, f64),
) -> Option<f64> {
    let row = DEEP_EP.iter().find(|row| row.gpu == gpu.id)?;
    let ([dispatch, combine], copies) = match by {
        AllToAll::AllGather => return None,
        AllToAll::DeepEpLowLatency => (row.low_latency, per_token),
        AllToAll::DeepEpHighThroughput => (row.high_throughput, distinct_gpus(per_token)),
    };
    let us = |(fixed_us, gb_s): Line, bytes: f64| fixed_us + bytes / (gb_s * 1e3);
    let values = tokens * copies * hidden;
    Some(us(dispatch, values * NARROW) + us(combine, values * WIDE))
}

/// GPUs that have the experts of a token, in the mean.
fn distinct_gpus(per_token: f64) -> f64 {
    TIMED_GPUS * (1.0 - libm::pow(1.0 - 1.0 / TIMED_GPUS, per_token))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Dispatch and combine together as AIConfigurator timed them, DeepSeek-V3's width and experts.
    #[test]
    fn deep_ep_is_near_what_was_timed() {
        let h100 = Gpu::named("h100_sxm").unwrap();
        for (tokens, timed_us) in [(1.0, 27.6), (32.0, 44.3), (128.0, 103.7), (512.0, 374.0), (1024.0, 713.0)]
        {
            let us = all_to_all_us(h100, AllToAll::DeepEpLowLatency, (tokens, 7168.0, 8.0)).unwrap();
            assert!((us / timed_us - 1.0).abs() < 0.2, "{tokens} tokens: {us} for {timed_us}");
        }
    }

    #[test]
    fn every_timed_gpu_is_known() {
        for row in &DEEP_EP {
            assert!(Gpu::named(row.gpu).is_some(), "{}", row.gpu);
        }
    }

    #[test]
    fn experts_are_cut_or_whole() {
        let cut = ExpertLayout { data_parallel: 4, ..ExpertLayout::ALONE };
        let whole = ExpertLayout { expert_parallel: true, ..cut };
        assert_eq!([cut.gpus(2), cut.tensor(2), cut.groups(2)], [8, 8, 1]);
        assert_eq!([whole.gpus(2), whole.tensor(2), whole.groups(2)], [8, 1, 8]);
    }
}
