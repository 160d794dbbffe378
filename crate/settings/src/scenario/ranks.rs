//! The scenario's data-parallel ranks, and how they share the experts of the model.

use std::num::NonZeroU32;

use servescope_cost::memory_plan::expert_bytes_of_gpu;
use servescope_cost::{ExpertBalance, ExpertLayout};
use servescope_engine::{DataParallel, Lockstep, Rearranging};

use super::{CostKind, Scenario};
use crate::diagnostic::Diagnostic;
use crate::parameters::choices::{self, RankPasses};
use crate::parameters::{Id, Value};

impl Scenario {
    /// Ranks of a replica.
    pub fn data_parallel_size(&self) -> u32 {
        self.whole(Id::DataParallel)
    }

    /// GPUs of a replica with all of its ranks. The linear cost model names none; each rank has one.
    pub fn gpus_per_replica(&self) -> u32 {
        let of_rank = if self.cost_kind() == CostKind::Linear { 1 } else { self.deployment().gpus() };
        of_rank * self.data_parallel_size()
    }

    /// Whether the ranks run every pass together.
    pub(super) fn is_in_lockstep(&self) -> bool {
        self.is_active(Id::RankPasses) && self.chosen(RankPasses::ID) == RankPasses::Together
    }

    /// Ranks of a mixture of experts run together by themselves, where the model of iteration times knows one.
    pub(super) fn usual_rank_passes(&self) -> Value {
        let knows_model = matches!(self.cost_kind(), CostKind::Roofline | CostKind::Kernels);
        let has_experts = knows_model && self.model().experts.is_some();
        let is_together = has_experts && self.whole(Id::PipelineParallel) == 1;
        RankPasses::ID.value(if is_together { RankPasses::Together } else { RankPasses::Apart })
    }

    /// The ranks as the engine has them.
    pub(super) fn data_parallel(&self) -> DataParallel {
        let ranks = self.data_parallel_size();
        let front_ends = match self.whole(Id::ApiServers) {
            0 => ranks,
            count => count,
        };
        let sync_interval = self.whole(Id::SyncInterval);
        DataParallel {
            ranks,
            lockstep: self
                .is_in_lockstep()
                .then(|| Lockstep { sync_interval, rearranging: self.rearranging() }),
            choice: self.chosen(choices::RANK_CHOICE),
            front_ends,
        }
    }

    /// Whether experts are rearranged by their loads.
    fn rearranges_experts(&self) -> bool {
        self.is_active(Id::Eplb) && self.flag(Id::Eplb) && self.model().experts.is_some()
    }

    fn rearranging(&self) -> Option<Rearranging> {
        if !self.rearranges_experts() {
            return None;
        }
        let deployment = self.deployment();
        let groups = f64::from(deployment.expert_layout.groups(deployment.tensor_parallel));
        let moved_bytes = expert_bytes_of_gpu(&deployment) * (1.0 - 1.0 / groups);
        let pause_us = moved_bytes / (self.number(Id::EplbRate) * 1e3);
        let pause_us = if self.flag(Id::EplbAsync) { 0 } else { pause_us.round() as u32 };
        let step_interval = NonZeroU32::new(self.whole(Id::EplbInterval))?;
        Some(Rearranging { step_interval, pause_us })
    }

    /// How evenly experts lie on GPUs; `None`: they stay where they are.
    pub(super) fn expert_balance(&self) -> Option<ExpertBalance> {
        let experts = self.model().experts.filter(|_| self.rearranges_experts())?;
        let deployment = self.deployment();
        let layout = deployment.expert_layout;
        ExpertBalance::of(experts.count, layout.groups(deployment.tensor_parallel), layout.redundant)
    }

    /// How the experts lie on the GPUs of the ranks. What was timed by a profile has them all on each replica.
    pub(super) fn expert_layout(&self) -> ExpertLayout {
        if !matches!(self.cost_kind(), CostKind::Roofline | CostKind::Kernels)
            || self.model().experts.is_none()
        {
            return ExpertLayout::ALONE;
        }
        let alone = ExpertLayout {
            expert_parallel: self.is_active(Id::ExpertParallel) && self.flag(Id::ExpertParallel),
            ..ExpertLayout::ALONE
        };
        if !self.is_in_lockstep() {
            return alone;
        }
        let all_to_all = self.chosen(choices::ALL_TO_ALL);
        let redundant = if self.rearranges_experts() { self.whole(Id::EplbRedundant) } else { 0 };
        ExpertLayout { data_parallel: self.data_parallel_size(), all_to_all, redundant, ..alone }
    }

    /// What cannot be simulated of ranks that run together.
    pub(super) fn rank_problem(&self) -> Option<Diagnostic> {
        if !self.is_in_lockstep() {
            return None;
        }
        let path = Id::RankPasses.row().id;
        let together = RankPasses::Together.name();
        if self.whole(Id::PipelineParallel) > 1 {
            let message = format!("{path}: ranks that run {together} have one pipeline stage here");
            return Some(Diagnostic::error("lockstep_in_stages", path, message));
        }
        if self.rearranges_experts() && self.expert_balance().is_none() {
            let (deployment, redundant) = (self.deployment(), self.whole(Id::EplbRedundant));
            let gpus = deployment.expert_layout.groups(deployment.tensor_parallel);
            let experts = deployment.model.experts.map_or(0, |experts| experts.count);
            let path = Id::EplbRedundant.row().id;
            let message = format!(
                "{path}: {gpus} GPUs cannot share {experts} experts and {redundant} copies evenly; vLLM refuses to start"
            );
            let error = Diagnostic::error("experts_not_even", path, message);
            return Some(
                error
                    .number("gpus", gpus.into())
                    .number("experts", experts.into())
                    .number("redundant", redundant.into()),
            );
        }
        (self.is_active(Id::HostCacheGib) && self.number(Id::HostCacheGib) > 0.0).then(|| {
            let message = format!("{path}: ranks that run {together} have no host KV cache here");
            Diagnostic::error("lockstep_with_host_cache", path, message)
        })
    }
}
