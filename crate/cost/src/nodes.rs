//! What GPUs on more than one node add to communication.
//!
//! A sum over GPUs of several nodes is one inside each node, one across nodes in which each GPU has its share of the bytes, and
//! the result handed round inside each node (NCCL's hierarchical all-reduce).

use crate::deployment::Deployment;
use crate::gpus::Gpu;

/// From a GPU to one of another node, microseconds: `p2p_latency` of AIConfigurator's system descriptions.
const HOP_US: f64 = 10.0;

/// GPUs of a sum that are on one node.
pub fn on_one_node(gpu: &Gpu, gpus: u32) -> u32 {
    gpus.min(gpu.gpus_per_node)
}

/// Nodes of this many GPUs.
pub fn nodes(gpu: &Gpu, gpus: u32) -> u32 {
    gpus.div_ceil(gpu.gpus_per_node).max(1)
}

/// What a sum of few bytes takes longer, microseconds, where GPUs of a node do not read each other's memory, and the share of its
/// speed that one of many bytes keeps: two RTX PRO 6000 were timed both ways (AIConfigurator's tables of vLLM 0.19.0 and 0.24.0:
/// 17.4 and 4.2 us for 1,024 values, 2,214 and 933 us for 16.8 million).
const STAGED_US: f64 = 13.2;
const STAGED_SHARE: f64 = 0.42;

/// Microseconds of a sum through the memory of the host that takes this many from GPU to GPU.
pub fn staged_us(direct_us: f64) -> f64 {
    STAGED_US + direct_us / STAGED_SHARE
}

fn bytes_us(gpu: &Gpu) -> f64 {
    gpu.node_link_gb_s.value * 1e3
}

/// Microseconds that a sum of this many bytes over GPUs takes beyond its part inside a node: there and back through a tree of
/// nodes.
pub fn all_reduce_us(gpu: &Gpu, gpus: u32, bytes: f64) -> f64 {
    let nodes = f64::from(nodes(gpu, gpus));
    if nodes < 2.0 {
        return 0.0;
    }
    let share = bytes / f64::from(gpu.gpus_per_node);
    2.0 * libm::ceil(libm::log2(nodes)) * HOP_US + 2.0 * (nodes - 1.0) / nodes * share / bytes_us(gpu)
}

/// Microseconds of sending this many bytes to a GPU of another node.
pub fn send_us(gpu: &Gpu, bytes: f64) -> f64 {
    HOP_US + bytes / bytes_us(gpu)
}

/// Share of the sends from stage to stage that leave a node: stages lie one after the other.
pub fn share_of_sends(deployment: &Deployment) -> f64 {
    let (stages, tensor) = (deployment.pipeline_parallel, deployment.tensor_parallel.max(1));
    let on_a_node = (deployment.gpu.gpus_per_node / tensor).max(1);
    if stages < 2 {
        return 0.0;
    }
    f64::from(stages.div_ceil(on_a_node) - 1) / f64::from(stages - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{KvFormat, Model, WeightFormat};

    fn deployment(tensor_parallel: u32, pipeline_parallel: u32) -> Deployment {
        Deployment {
            gpu: *Gpu::named("h100_sxm").unwrap(),
            model: *Model::named("llama-3.1-70b").unwrap(),
            tensor_parallel,
            pipeline_parallel,
            expert_layout: crate::ExpertLayout::ALONE,
            weights: WeightFormat::Bf16,
            quantized_head: false,
            kv: KvFormat::Bf16,
        }
    }

    #[test]
    fn nothing_is_added_on_one_node_and_the_slow_link_counts_beyond() {
        let gpu = Gpu::named("h100_sxm").unwrap();
        assert_eq!((nodes(gpu, 8), all_reduce_us(gpu, 8, 1e6)), (1, 0.0));
        // An eighth of 8 MB, once there and half of it back: 1 MB at 50 GB/s, and two hops.
        assert_eq!((nodes(gpu, 16), all_reduce_us(gpu, 16, 8e6)), (2, 20.0 + 20.0));
        assert_eq!(nodes(Gpu::named("gb200_nvl72").unwrap(), 64), 1);
    }

    #[test]
    fn stages_lie_one_after_the_other() {
        let share = |tensor, stages| share_of_sends(&deployment(tensor, stages));
        assert_eq!([share(8, 1), share(4, 2), share(1, 8)], [0.0; 3]);
        assert_eq!([share(8, 2), share(16, 2), share(8, 4)], [1.0; 3]);
        // Two stages a node: of three sends the second leaves it.
        assert!((share(4, 4) - 1.0 / 3.0).abs() < 1e-15);
    }
}
