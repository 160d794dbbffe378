//! The scenario's vLLM v1: the settings of its scheduler under vLLM's names, and the defaults that `vllm serve` derives from
//! the GPU (vllm/engine/arg_utils.py, `get_batch_defaults`; vllm/config/scheduler.py).

use servescope_cost::deployment::Deployment;
use servescope_cost::gpus::Gpu;
use servescope_cost::kv_groups::KvGroupsPlan;
use servescope_cost::launches::captured_by_default;
use servescope_cost::memory_plan::vllm::{Profiled, VllmVersion};
use servescope_cost::models::Attention;
use servescope_engine::{Equals, LongPrefill, PoolConfig, SchedulerKind, VllmRules};

use super::{CostKind, Scenario, trtllm};
use crate::diagnostic::Diagnostic;
use crate::parameters::byte_size::GIB;
use crate::parameters::choices;
use crate::parameters::{Id, Value};

/// What `vllm serve` takes for `max_num_batched_tokens` and `max_num_seqs` on a GPU.
pub fn serve_defaults(gpu: &Gpu) -> (u32, u32) {
    // The A100 prefills no faster with more tokens in an iteration, whatever its memory.
    let is_a100 = gpu.id.starts_with("a100");
    match gpu.memory_bytes / GIB {
        gib if gib >= 160.0 => (16_384, 1024),
        gib if gib >= 70.0 && !is_a100 => (8192, 1024),
        _ => (2048, 256),
    }
}

/// Where none is given and vLLM v1 does not schedule: the longest request and the bound on running requests are those of
/// S-LoRA's server, the share of the memory that is left alone stands for what is not counted.
const OTHERS_LONGEST_REQUEST: f64 = 3072.0;
const OTHERS_MAX_RUNNING: f64 = 1000.0;
const OTHERS_MARGIN: f64 = 0.1;

impl Scenario {
    /// Whether vLLM v1 schedules.
    pub fn is_vllm_v1(&self) -> bool {
        self.chosen(choices::SCHEDULER) == SchedulerKind::VllmV1
    }

    /// vLLM's defaults for the scenario's GPU; where the cost names none, those of a GPU below 70 GiB.
    fn vllm_defaults(&self) -> (u32, u32) {
        match self.cost_kind() {
            CostKind::Linear => (2048, 256),
            CostKind::Profile | CostKind::Roofline | CostKind::Kernels => serve_defaults(&self.gpu()),
        }
    }

    /// The version of vLLM whose accounting of memory is followed.
    pub(super) fn vllm_version(&self) -> VllmVersion {
        self.chosen(choices::VLLM_VERSION)
    }

    /// The share of the memory that is left alone where none is given.
    pub(super) fn usual_margin(&self) -> Value {
        if self.is_sglang() && self.cost_kind() != CostKind::Linear {
            return Value::Number(self.sglang_margin());
        }
        if self.is_trtllm() {
            return Value::Number(trtllm::MARGIN);
        }
        if !self.is_vllm_v1() {
            return Value::Number(OTHERS_MARGIN);
        }
        Value::Number((100.0 * (1.0 - self.vllm_version().utilization())).round() / 100.0)
    }

    /// Tokens of a KV block where none is given: under vLLM v1 the smallest that the kernels of latent attention take, FlashMLA's
    /// or FlashInfer's 64 on GPUs since Hopper; where layers have a state, what is as large as one
    /// (vllm/platforms/interface.py, `update_block_size_for_backend`, `_align_hybrid_block_size`).
    pub(super) fn usual_block_size(&self) -> Value {
        let usual = Id::BlockSize.row().default_value();
        if self.is_sglang() {
            return Value::Number(1.0);
        }
        if self.is_trtllm() {
            return Value::Number(trtllm::TOKENS_PER_BLOCK);
        }
        if !self.is_vllm_v1() || self.cost_kind() == CostKind::Linear {
            return usual;
        }
        let Deployment { gpu, model, .. } = self.deployment();
        let is_latent = matches!(model.attention, Attention::Latent { .. });
        if is_latent && gpu.is_hopper_or_blackwell() {
            return Value::Number(64.0);
        }
        let groups = KvGroupsPlan::of(&self.deployment()).filter(|_| model.recurrent.is_some());
        groups.map_or(usual, |groups| Value::Number(groups.aligned_block_size(16).into()))
    }

    /// The largest iteration, by which vLLM plans its memory.
    pub(super) fn largest_iteration(&self) -> Profiled {
        let tokens = self.whole(self.scheduler().iteration_tokens);
        let requests = self.whole(Id::MaxRunning);
        Profiled {
            batch_tokens: tokens,
            requests,
            longest: self.whole(Id::MaxRequestTokens),
            captured_tokens: self.whole(Id::CapturedTokens),
        }
    }

    /// The bound on prompt and output where none is given. vLLM's `max_model_len` is the model's longest context; where the cost
    /// names no model, what fits into the pool, as under `auto`.
    pub(super) fn usual_longest_request(&self) -> Value {
        if !self.is_vllm_v1() && !self.is_sglang() && !self.is_trtllm() {
            return Value::Number(OTHERS_LONGEST_REQUEST);
        }
        Value::Number(match self.cost_kind() {
            CostKind::Linear => self.number(Id::MaxTotalTokens),
            CostKind::Profile | CostKind::Roofline | CostKind::Kernels => {
                f64::from(self.deployment().model.context)
            }
        })
    }

    /// The token budget where none is given: vLLM v1's by GPU, otherwise what S-LoRA derives from the pool.
    pub(super) fn usual_token_budget(&self) -> u32 {
        if self.is_trtllm() {
            return trtllm::MAX_NUM_TOKENS;
        }
        if !self.is_vllm_v1() {
            return self.pool_budget();
        }
        // vLLM's `_set_default_max_num_seqs_and_batched_tokens_args`: prompts that are not cut have to fit, and no more is
        // needed than the longest requests have.
        let (tokens, requests) = self.vllm_defaults();
        let requests = if self.is_set(Id::MaxRunning) { self.whole(Id::MaxRunning) } else { requests };
        let longest = self.whole(Id::MaxRequestTokens);
        let tokens = if self.flag(Id::ChunkedPrefill) { tokens } else { tokens.max(longest) };
        tokens.min(requests.saturating_mul(longest))
    }

    /// The token budget that S-LoRA derives from the pool.
    pub(crate) fn pool_budget(&self) -> u32 {
        PoolConfig::default_batch_max_tokens(self.whole(Id::MaxTotalTokens), self.whole(Id::MaxRequestTokens))
    }

    /// The bound on running requests where none is given. vLLM does not start with one above its token budget.
    pub(super) fn usual_max_running(&self) -> Value {
        if self.is_vllm_v1() {
            return Value::Number(self.vllm_defaults().1.min(self.whole(Id::BatchMaxTokens)).into());
        }
        Value::Number(match self.chosen(choices::SCHEDULER) {
            SchedulerKind::Sglang => self.sglang_max_running(),
            SchedulerKind::Trtllm => trtllm::MAX_BATCH_SIZE,
            _ => OTHERS_MAX_RUNNING,
        })
    }

    /// The largest CUDA graph where none is given: SGLang's own, otherwise vLLM's rule, whichever scheduler runs.
    pub(super) fn usual_captured_tokens(&self) -> Value {
        if self.is_sglang() && self.cost_kind() != CostKind::Linear {
            return Value::Number(self.sglang_captured_tokens().into());
        }
        let has_budget = !matches!(
            self.chosen(choices::SCHEDULER),
            SchedulerKind::Static | SchedulerKind::Orca | SchedulerKind::Sarathi
        );
        let tokens = if has_budget { self.whole(Id::BatchMaxTokens) } else { u32::MAX };
        // Each request may have its drafts beside its token.
        let rows = 1 + if self.speculates() { self.whole(Id::SpecTokens) } else { 0 };
        let requests = self.whole(Id::MaxRunning).saturating_mul(rows);
        Value::Number(captured_by_default(&self.gpu(), requests, tokens).into())
    }

    /// The rules of vLLM v1's scheduler.
    pub(super) fn vllm_rules(&self) -> VllmRules {
        let bound = |id: Id| Some(self.whole(id)).filter(|&most| most > 0);
        VllmRules {
            scheduler_reserve_full_isl: self.flag(Id::ReserveFullIsl),
            // vLLM switches it off for n-grams (vllm/config/vllm.py).
            async_scheduling: self.flag(Id::AsyncScheduling) && self.choice(Id::SpecMethod) != "ngram",
            stages_wait_for_tokens: true,
            long_prefill_token_threshold: match self.whole(Id::LongPrefillTokens) {
                0 => LongPrefill::Unbounded,
                most if self.flag(Id::LongPrefillAdaptive) => LongPrefill::Share(most),
                most => LongPrefill::Tokens(most),
            },
            enable_chunked_prefill: self.flag(Id::ChunkedPrefill),
            prefill_schedule_interval: self.whole(Id::PrefillInterval),
            max_num_active_seqs: bound(Id::MaxActiveSeqs),
            max_num_queued_tokens: bound(Id::MaxQueuedTokens),
            // vLLM preempts the first admitted of equally urgent requests, with which some runs never end.
            equals: Equals::LastAdmitted,
        }
    }

    /// A token budget in which the running requests do not find a token each: vLLM does not start with it.
    pub(super) fn vllm_problem(&self) -> Option<Diagnostic> {
        let (budget, running) = (self.number(Id::BatchMaxTokens), self.number(Id::MaxRunning));
        (self.is_vllm_v1() && budget < running).then(|| {
            let path = Id::BatchMaxTokens.row().id;
            let message = format!(
                "{path}: {budget} is below scheduler.max_running_requests ({running}), which vLLM refuses to start with"
            );
            Diagnostic::error("budget_below_running", path, message).number("value", budget).number("min", running)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario(settings: &[(&str, &str)]) -> Scenario {
        let mut scenario = Scenario::of_version(4);
        for (path, value) in [("scheduler.kind", "vllm_v1")].iter().chain(settings) {
            scenario.set_text(path, value).unwrap();
        }
        scenario
    }

    #[test]
    fn defaults_are_those_of_vllm_serve() {
        let defaults = |settings: &[(&str, &str)]| {
            let scenario = scenario(settings);
            (scenario.whole(Id::BatchMaxTokens), scenario.whole(Id::MaxRunning))
        };
        let on = |gpu| defaults(&[("cost.kind", "roofline"), ("fleet.gpu", gpu)]);
        assert_eq!(on("a100_80_sxm"), (2048, 256));
        assert_eq!(on("h100_sxm"), (8192, 1024));
        assert_eq!(on("h200_sxm"), (8192, 1024));
        assert_eq!(on("b200_sxm"), (16_384, 1024));
        assert_eq!(on("l40s"), (2048, 256));
        assert_eq!(defaults(&[]), (2048, 256));
        assert_eq!(defaults(&[("scheduler.max_num_batched_tokens", "64")]), (64, 64));
        let whole = [("scheduler.enable_chunked_prefill", "false"), ("scheduler.max_model_len", "32768")];
        assert_eq!(defaults(&whole), (32_768, 256), "a prompt that is not cut fits");
        assert_eq!(
            defaults(&[("scheduler.max_num_seqs", "2"), ("scheduler.max_model_len", "400")]),
            (800, 2)
        );
        let scenario = scenario(&[]);
        assert_eq!(scenario.number(Id::Watermark), 0.0);
        assert_eq!(scenario.pool().vllm, VllmRules { equals: Equals::LastAdmitted, ..VllmRules::default() });
    }

    #[test]
    fn the_largest_cuda_graph_follows_vllms_rule() {
        let captured = |settings: &[(&str, &str)]| scenario(settings).whole(Id::CapturedTokens);
        let on = |gpu| captured(&[("cost.kind", "kernels"), ("fleet.gpu", gpu)]);
        assert_eq!(["h100_sxm", "b200_sxm", "gb300_nvl72", "rtx_pro_6000"].map(on), [512, 1024, 1024, 512]);
        let few = [("cost.kind", "kernels"), ("scheduler.max_num_seqs", "128")];
        assert_eq!(captured(&few), 256);
        assert_eq!(captured(&[few[0], few[1], ("scheduler.max_num_batched_tokens", "200")]), 200);
        let given = ("cost.max_cudagraph_capture_size", "512");
        assert_eq!(captured(&[few[0], few[1], given]), 512, "what is given stays");
    }

    #[test]
    fn the_longest_request_is_the_models_own() {
        let longest = |settings: &[(&str, &str)]| scenario(settings).whole(Id::MaxRequestTokens);
        let roofline = ("cost.kind", "roofline");
        assert_eq!(longest(&[roofline, ("fleet.model", "llama-3.1-8b")]), 131_072);
        assert_eq!(longest(&[roofline, ("fleet.model", "llama-2-7b")]), 4096);
        assert_eq!(longest(&[roofline, ("fleet.model", "own")]), 131_072);
        let own = ("model.max_position_embeddings", "8192");
        assert_eq!(longest(&[roofline, ("fleet.model", "own"), own]), 8192);
        assert_eq!(longest(&[roofline, ("scheduler.max_model_len", "500")]), 500);
        assert_eq!(longest(&[]), 14_500, "what fits into the pool");
        assert_eq!(longest(&[("scheduler.max_total_tokens", "900")]), 900);
        assert_eq!(Scenario::of_version(4).whole(Id::MaxRequestTokens), 3072);
        assert!(servescope_cost::models::MODELS.iter().all(|model| model.context >= 2048));
    }

    #[test]
    fn vllms_names_are_read() {
        let scenario = scenario(&[
            ("scheduler.max_num_batched_tokens", "4096"),
            ("scheduler.max_num_seqs", "64"),
            ("scheduler.max_model_len", "2000"),
            ("scheduler.scheduler_reserve_full_isl", "false"),
            ("scheduler.long_prefill_token_threshold", "512"),
            ("scheduler.long_prefill_token_threshold_adaptive", "true"),
            ("scheduler.max_num_active_seqs", "9"),
        ]);
        let fleet = scenario.pool();
        assert_eq!((fleet.max_batch_tokens, fleet.max_requests, fleet.max_request_tokens), (4096, 64, 2000));
        let rules = fleet.vllm;
        assert!(!rules.scheduler_reserve_full_isl && rules.async_scheduling);
        assert_eq!(rules.long_prefill_token_threshold, LongPrefill::Share(512));
        assert_eq!((rules.max_num_active_seqs, rules.max_num_queued_tokens), (Some(9), None));
        let paths: Vec<&str> = scenario.changed().map(|(id, _)| id.row().id).collect();
        assert!(paths.contains(&"scheduler.batch_max_tokens"), "what is written has the one name");
    }

    #[test]
    fn a_budget_below_the_running_requests_is_refused() {
        let code = |settings: &[(&str, &str)]| scenario(settings).problems().first().map(|error| error.code);
        let budget = ("scheduler.batch_max_tokens", "100");
        assert_eq!(code(&[budget, ("scheduler.max_running_requests", "101")]), Some("budget_below_running"));
        assert_eq!(code(&[budget, ("scheduler.max_running_requests", "100")]), None);
        assert_eq!(code(&[budget]), None);
    }
}
