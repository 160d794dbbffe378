//! The groups of the model's layers in the KV cache, where the scheduler's system has them.

use servescope_cost::kv_groups::{KvGroupPlan, KvGroupsPlan, LayerKv};
use servescope_engine::{KvGroup, KvGroups, KvGroupsOfKind};

use super::{CostKind, Scenario};

impl Scenario {
    /// How the layers are grouped; `None`: all keep every token, or the cost names no model.
    fn kv_groups_plan(&self) -> Option<KvGroupsPlan> {
        if !self.scheduler().groups_layers || self.cost_kind() == CostKind::Linear {
            return None;
        }
        KvGroupsPlan::of(&self.deployment()).filter(|plan| plan.count() > 1)
    }

    /// The groups of the engine's KV cache.
    pub(super) fn kv_groups(&self) -> KvGroups {
        self.kv_groups_plan().map_or(KvGroups::FULL, |plan| engine_groups(&plan))
    }

    /// The blocks of `block_size` tokens of one group that memory for `pool_tokens` of all layers gives.
    pub(super) fn blocks_of_tokens(&self, pool_tokens: u32, block_size: u32) -> u32 {
        let Some(plan) = self.kv_groups_plan() else { return pool_tokens / block_size };
        // Of several stages each keeps its part of every group.
        let layers = u64::from(self.deployment().model.attention_layers());
        let blocks =
            u64::from(pool_tokens) * layers / (u64::from(plan.most_layers()) * u64::from(block_size));
        blocks.min(u32::MAX.into()) as u32
    }
}

/// The groups of a plan as the engine has them.
pub fn engine_groups(plan: &KvGroupsPlan) -> KvGroups {
    let of_kind = |plan: &KvGroupPlan| KvGroupsOfKind {
        kind: group(plan.kind),
        count: plan.layers.len() as u32,
        ratio: plan.ratio,
    };
    KvGroups::new(&plan.kinds.iter().map(of_kind).collect::<Vec<_>>()).unwrap_or(KvGroups::FULL)
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

    /// A token of Gemma 4's layers of full attention is half as large as one of those with a window.
    #[test]
    fn blocks_of_small_tokens_hold_more_of_them() {
        let settings =
            [("cost.kind", "roofline"), ("fleet.model", "gemma-4-31b"), ("scheduler.kind", "vllm_v1")];
        let groups = Scenario::of_version(4).with(&settings).expect("a scenario").pool().kv_groups;
        let kinds: Vec<_> = groups.kinds().map(|of| (of.kind, of.count, of.ratio)).collect();
        assert_eq!(kinds, [(KvGroup::SlidingWindow(1_024), 5, 1), (KvGroup::Full, 1, 2)]);
    }

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
            let pool = Scenario::of_version(4).with(&settings).expect("a scenario").pool();
            (pool.blocks, pool.kv_groups.kinds().map(|of| of.kind).collect::<Vec<_>>())
        };
        let groups = vec![KvGroup::SlidingWindow(128), KvGroup::Full];
        assert_eq!(pool("gpt-oss-20b", "vllm_v1"), (54_614, groups));
        assert_eq!(pool("gpt-oss-20b", "sarathi"), (27_307, vec![KvGroup::Full]));
        assert_eq!(pool("llama-3.1-8b", "vllm_v1"), (27_307, vec![KvGroup::Full]));
    }
}
