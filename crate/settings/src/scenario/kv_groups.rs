//! The groups of the model's layers in the KV cache, where the scheduler's system has them.

use servescope_cost::Deployment;
use servescope_cost::kv_groups::{KvGroupsPlan, LayerKv, LayersOfKind, kv_groups};
use servescope_engine::{KvGroup, KvGroups};

use super::{CostKind, Scenario};

impl Scenario {
    /// The groups of the first pool, and the blocks of `block_size` tokens of one group that memory for `pool_tokens` of all layers
    /// gives.
    pub(super) fn kv_groups_and_blocks(&self, pool_tokens: u32, block_size: u32) -> (KvGroups, u32) {
        if !self.scheduler().groups_layers || self.cost_kind() == CostKind::Linear {
            return (KvGroups::FULL, pool_tokens / block_size);
        }
        groups_and_blocks(&self.deployment(), pool_tokens, block_size)
    }
}

/// The same for vLLM v1 on a deployment.
pub fn groups_and_blocks(deployment: &Deployment, pool_tokens: u32, block_size: u32) -> (KvGroups, u32) {
    let of_all_layers = (KvGroups::FULL, pool_tokens / block_size);
    let Some(plan) = plan(deployment) else { return of_all_layers };
    let kinds: Vec<(KvGroup, u32)> =
        plan.kinds.iter().map(|kind| (group(kind.kind), kind.layers.len() as u32)).collect();
    let Some(groups) = KvGroups::new(&kinds) else { return of_all_layers };
    // Of several stages each keeps its part of every group.
    let layers = u64::from(deployment.model.layers);
    let blocks = u64::from(pool_tokens) * layers / (u64::from(plan.most_layers()) * u64::from(block_size));
    (groups, blocks.min(u32::MAX.into()) as u32)
}

/// How the layers of a model with windows are grouped; `None`: all keep every token.
fn plan(deployment: &Deployment) -> Option<KvGroupsPlan> {
    let window = deployment.model.attention.window()?;
    let bytes = deployment.kv_values_per_layer() * deployment.kv.bytes();
    let of = |kind, layers| LayersOfKind { kind, layers, bytes };
    // In models with both, the first layer has a window.
    kv_groups(&[
        of(LayerKv::SlidingWindow(window.tokens), window.layers),
        of(LayerKv::Full, deployment.model.layers - window.layers),
    ])
}

fn group(kind: LayerKv) -> KvGroup {
    match kind {
        LayerKv::Full => KvGroup::Full,
        LayerKv::SlidingWindow(tokens) => KvGroup::SlidingWindow(tokens),
        LayerKv::ChunkedLocal(tokens) => KvGroup::ChunkedLocal(tokens),
        LayerKv::State => KvGroup::State,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_groups_under_vllm_v1_alone() {
        let pool = |model: &str, scheduler: &str| {
            let settings = [
                ("cost.kind", "roofline"),
                ("fleet.model", model),
                ("scheduler.kind", scheduler),
                ("fleet.kv_pool", "given"),
                ("scheduler.max_total_tokens", "436912"),
                ("scheduler.block_size", "16"),
            ];
            let pool = Scenario::of_settings(&settings).expect("a scenario").pool();
            (pool.blocks, pool.kv_groups.iter().collect::<Vec<_>>())
        };
        let groups = vec![KvGroup::SlidingWindow(128), KvGroup::Full];
        assert_eq!(pool("gpt-oss-20b", "vllm_v1"), (54_614, groups));
        assert_eq!(pool("gpt-oss-20b", "sarathi"), (27_307, vec![KvGroup::Full]));
        assert_eq!(pool("llama-3.1-8b", "vllm_v1"), (27_307, vec![KvGroup::Full]));
    }
}
