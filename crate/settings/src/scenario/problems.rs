//! What does not fit together in a scenario whose every value is within its bounds.

use servescope_engine::KvGroups;
use servescope_workload::LengthDistribution;

use super::{MAX_REQUESTS, Scenario};
use crate::diagnostic::Diagnostic;
use crate::parameters::Id;

impl Scenario {
    /// What does not fit together, each at the parameter to change.
    pub fn problems(&self) -> Vec<Diagnostic> {
        let mut problems = Vec::new();
        self.length_problems(&mut problems);
        problems.extend(self.curve().err());
        problems.extend(self.length_curves().err());
        let requests = self.request_count();
        if requests > MAX_REQUESTS {
            let message = format!(
                "workload.duration_s: R D makes {requests} requests, at most {MAX_REQUESTS} can be run; lower workload.rate_rps or \
                 workload.duration_s"
            );
            problems.push(
                Diagnostic::error("too_many_requests", "workload.duration_s", message)
                    .number("value", requests)
                    .number("max", MAX_REQUESTS),
            );
        }
        for (id, count) in [(Id::AdapterShares, Id::Adapters), (Id::UserShares, Id::Users)] {
            let counted = self.number(count) as usize;
            if self.is_active(id) && self.list(id).iter().take(counted).all(|&weight| weight == 0.0) {
                let path = id.row().id;
                let message = format!("{path}: at least one share must be above 0");
                problems.push(Diagnostic::error("empty_list", path, message));
            }
        }
        problems.extend(self.client_adapters());
        problems.extend(self.prefix_blocks());
        problems.extend(self.gateway_problems());
        problems.extend(self.order_problem());
        problems.extend(self.streaming_problems());
        problems.extend(self.service_problems());
        problems.extend(self.pool_problems());
        problems
    }

    /// What does not fit together in the settings of the replicas.
    pub(super) fn service_problems(&self) -> Vec<Diagnostic> {
        let mut problems = self.own_model_problems();
        problems.extend(self.split_problems());
        problems.extend(self.adapter_problems());
        problems.extend(self.vllm_problem());
        problems.extend(self.rank_problem());
        problems.extend(self.speculation_problems());
        problems.extend(self.sglang_problem());
        problems.extend(self.trtllm_problem());
        problems.extend(self.host_cache_problem());
        let (batch, request) = (self.number(Id::BatchMaxTokens), self.number(Id::MaxRequestTokens));
        let scheduler = self.scheduler();
        if scheduler.budget_covers_request && self.flag(Id::OriginalBlocking) && batch < request {
            let path = "scheduler.batch_max_tokens";
            let message = format!(
                "{path}: {batch} is below scheduler.max_request_tokens ({request}), which {} refuses to start with",
                scheduler.system
            );
            problems.push(
                Diagnostic::error("batch_below_request", path, message)
                    .number("value", batch)
                    .number("min", request),
            );
        }
        problems
    }

    /// A tier of host memory keeps blocks of layers that keep every token.
    fn host_cache_problem(&self) -> Option<Diagnostic> {
        let is_on = self.is_active(Id::HostCacheConnector);
        (is_on && self.kv_groups() != KvGroups::FULL).then(|| {
            let path = Id::HostCacheGib.row().id;
            let message = format!(
                "{path}: a tier of host memory is modelled for models whose layers all keep every token; this one has layers with a window or a state"
            );
            Diagnostic::error("host_cache_groups", path, message)
        })
    }

    /// Prompts longer than the prompt budget are rejected where a prompt is prefilled whole.
    pub fn prompt_budget(&self) -> Option<Diagnostic> {
        let id = Id::BatchMaxTokens;
        let is_whole = self.scheduler().has_whole_prompts;
        let (budget, longest) = (self.number(id), self.number(Id::MaxRequestTokens));
        (is_whole && budget < longest).then(|| {
            let path = id.row().id;
            let message = format!(
                "{path}: {budget} is below scheduler.max_request_tokens ({longest}): longer prompts are rejected"
            );
            Diagnostic::warning("budget_below_prompt", path, message).number("value", budget).number("longest", longest)
        })
    }

    /// A client asks for an adapter that is not there.
    fn client_adapters(&self) -> Option<Diagnostic> {
        let count = self.number(Id::Adapters);
        let relevant = self.is_active(Id::ClientAdapters) && count > 0.0;
        let beyond =
            self.list(Id::ClientAdapters).into_iter().find(|&adapter| relevant && adapter >= count)?;
        Some(Diagnostic::out_of_range(Id::ClientAdapters.row().id, beyond, -1.0, count - 1.0))
    }

    /// Blocks so small that the prompts have too many.
    fn prefix_blocks(&self) -> Option<Diagnostic> {
        /// Most ids of a trace: 160 MB.
        const MOST: f64 = 20e6;
        let spec = self.workload();
        let prefix = spec.prefix?;
        let mean = |distribution: &LengthDistribution| {
            (0..64).map(|i| f64::from(distribution.quantile((f64::from(i) + 0.5) / 64.0))).sum::<f64>() / 64.0
        };
        let largest = |scales: &[f64]| scales.iter().copied().fold(1.0, f64::max);
        let (mut own, mut answer) = (mean(&spec.input), mean(&spec.output));
        if let Some(clients) = &spec.clients {
            own *= largest(&clients.input_scales);
            answer *= largest(&clients.output_scales);
        }
        let shared = f64::from(prefix.shared_tokens(0));
        let prompt = spec.sessions.as_ref().map_or(shared + own, |sessions| {
            (shared + sessions.mean_turns() * (own + answer)).min(sessions.context_cap.into())
        });
        let tokens = self.request_count() * prompt;
        let (least, block) = ((tokens / MOST).ceil(), f64::from(prefix.block_tokens));
        (block < least).then(|| {
            let path = Id::BlockTokens.row().id;
            let message = format!(
                "{path}: the prompts have some {tokens:.0} tokens; in blocks of {block} these are more than the {MOST} blocks that a \
                 trace holds. Use {least} tokens a block or more, or lower workload.rate_rps, workload.duration_s or the lengths of prompts"
            );
            let number = |error: Diagnostic, (name, value)| error.number(name, value);
            let numbers = [("tokens", tokens.round()), ("value", block), ("max", MOST), ("min", least)];
            numbers.into_iter().fold(Diagnostic::error("too_many_blocks", path, message), number)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Scenario;

    #[test]
    fn blocks_that_are_too_many_for_a_trace_are_refused_with_the_tokens_that_would_do() {
        let of = |block: &str| {
            let long = [("workload.prefix.kind", "tree"), ("workload.prefix.system_tokens", "16000")];
            let many = [("workload.rate_rps", "100"), ("workload.duration_s", "3600")];
            let scenario = Scenario::of_version(5).with(&long).and_then(|of| of.with(&many));
            let scenario =
                scenario.and_then(|of| of.with(&[("workload.prefix.block_tokens", block)])).unwrap();
            scenario.problems()
        };
        let refused = of("16");
        assert_eq!(refused.iter().map(|problem| problem.code).collect::<Vec<_>>(), ["too_many_blocks"]);
        assert!(refused[0].message.contains("300 tokens a block"), "{}", refused[0].message);
        assert!(of("300").is_empty() && !of("299").is_empty());
    }

    #[test]
    fn gpus_that_cannot_share_a_model_are_refused() {
        let code = |settings: [(&str, &str); 3]| {
            let scenario = Scenario::of_version(4).with(&settings).unwrap();
            scenario.problems().first().map(|error| error.code)
        };
        let fleet = |policy| ("scheduler.kind", policy);
        let roofline = ("cost.kind", "roofline");
        assert_eq!(
            code([fleet("vllm_v1"), roofline, ("fleet.tensor_parallel", "3")]),
            Some("heads_not_shared")
        );
        assert_eq!(code([fleet("vllm_v1"), roofline, ("fleet.tensor_parallel", "4")]), None);
        assert_eq!(
            code([fleet("vllm_v1"), roofline, ("fleet.pipeline_parallel", "33")]),
            Some("more_stages_than_layers")
        );
        assert_eq!(code([fleet("lightllm"), roofline, ("fleet.pipeline_parallel", "2")]), Some("one_stage"));
        assert_eq!(code([fleet("sarathi"), roofline, ("fleet.pipeline_parallel", "2")]), None);
        let kernels = ("cost.kind", "kernels");
        assert_eq!(
            code([fleet("vllm_v1"), kernels, ("fleet.pipeline_parallel", "33")]),
            Some("more_stages_than_layers")
        );
    }
}
