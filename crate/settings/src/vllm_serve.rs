//! A setting as a command of vLLM: `vllm serve` with the flags that stand for it.
//!
//! Flags as vLLM 0.33.0 has them (`vllm serve --help`, `vllm/engine/arg_utils.py`); those that versions before it lack are
//! written only where they are not at vLLM's default. What no flag stands for is said in comments, so that nothing is lost unseen.

use crate::diagnostic::Diagnostic;
use crate::notes::Traffic;
use crate::parameters::byte_size::GIB;
use crate::parameters::{Id, Value};
use crate::scenario::{AdapterRanks, Scenario};
use crate::server_flags::ServerFlags;

/// Block sizes that vLLM takes.
const BLOCK_SIZES: [f64; 7] = [1.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];

/// Settings of the service that the command or its first line stands for without a flag of their own.
const NOT_FLAGS: [Id; 4] = [Id::SchedulerKind, Id::FleetGpu, Id::FleetModel, Id::KvPool];

/// Ranks that vLLM makes slots for.
const SLOT_RANKS: [u32; 9] = [1, 8, 16, 32, 64, 128, 256, 320, 512];

/// The command, a flag a line, and comments with what it leaves out. `traffic` is what a trace carries in the place of
/// generated requests: without adapters in it, no flag is about them. Whether the setting can run is not asked here.
///
/// # Errors
/// [`Diagnostic`] where the scheduler is not vLLM's.
pub fn vllm_serve(scenario: &Scenario, traffic: Option<&Traffic>) -> Result<String, Diagnostic> {
    Ok(vllm_flags(scenario, traffic)?.command("vllm serve \"$MODEL\""))
}

/// The fields of `--kv-transfer-config` that servers of prefill and of decode need.
pub(crate) const CONNECTOR: &str = r#""kv_connector": "NixlConnector", "kv_role": "kv_both""#;

/// The flags of the command.
pub(crate) fn vllm_flags<'s>(
    scenario: &'s Scenario,
    traffic: Option<&Traffic>,
) -> Result<ServerFlags<'s>, Diagnostic> {
    let scheduler = scenario.choice(Id::SchedulerKind);
    if scheduler != "vllm_v1" {
        let message = format!(
            "scheduler.kind: {scheduler} is not how vLLM schedules; set it to vllm_v1 for a command of vLLM"
        );
        return Err(Diagnostic::error("not_vllm", "scheduler.kind", message).text("scheduler", scheduler));
    }
    let mut flags = ServerFlags::new(scenario, "vLLM", &NOT_FLAGS);
    flags.layout();
    flags.memory();
    flags.batching();
    flags.speculation();
    flags.adapters(traffic);
    flags.disaggregation();
    flags.not_flags();
    flags.all_others();
    Ok(flags)
}

impl ServerFlags<'_> {
    fn layout(&mut self) {
        self.covered.extend([Id::Weights, Id::KvFormat]);
        if !self.has_hardware() {
            self.left_out
                .push("the iteration times of this setting are of no GPU and of no model".to_owned());
            return;
        }
        self.number("tensor-parallel-size", Id::TensorParallel);
        if self.scenario.number(Id::PipelineParallel) > 1.0 {
            self.number("pipeline-parallel-size", Id::PipelineParallel);
        }
        self.ranks();
        if self.scenario.is_active(Id::CapturedTokens) {
            self.number("max-cudagraph-capture-size", Id::CapturedTokens);
        }
        match self.scenario.choice(Id::Weights) {
            "bf16" => self.lines.push("--dtype bfloat16".to_owned()),
            "fp8" => self.lines.push("--quantization fp8".to_owned()),
            format => self.left_out.push(format!("fleet.weights={format}: a checkpoint in this format")),
        }
        match self.scenario.choice(Id::KvFormat) {
            "bf16" => {}
            format => self.lines.push(format!("--kv-cache-dtype {format}")),
        }
    }

    /// Data-parallel ranks. Whether they run together follows from the model.
    fn ranks(&mut self) {
        self.covered.extend([Id::RankChoice, Id::ExpertParallel, Id::AllToAll]);
        self.covered.extend([Id::Eplb, Id::EplbRedundant, Id::EplbInterval, Id::EplbAsync, Id::EplbRate]);
        self.unusual("data-parallel-size", Id::DataParallel, 1.0);
        self.unusual("dp-sync-interval", Id::SyncInterval, 16.0);
        self.unusual("api-server-count", Id::ApiServers, 0.0);
        if self.scenario.is_active(Id::ExpertParallel) && self.is_on(Id::ExpertParallel) {
            self.lines.push("--enable-expert-parallel".to_owned());
        }
        if self.scenario.is_active(Id::Eplb) && self.is_on(Id::Eplb) {
            self.lines.push("--enable-eplb".to_owned());
            let [redundant, interval] =
                [Id::EplbRedundant, Id::EplbInterval].map(|id| self.scenario.number(id));
            let is_async = self.is_on(Id::EplbAsync);
            self.lines.push(format!(
                "--eplb-config '{{\"num_redundant_experts\": {redundant}, \"step_interval\": {interval}, \"use_async\": {is_async}}}'"
            ));
        }
        let backend = self.scenario.choice(Id::AllToAll);
        if self.scenario.is_active(Id::AllToAll) && backend != "allgather_reducescatter" {
            self.lines.push(format!("--all2all-backend {backend}"));
        }
        match self.scenario.choice(Id::RankChoice) {
            _ if !self.scenario.is_active(Id::RankChoice) => {}
            "vllm" => {}
            "external" => self.lines.push("--data-parallel-external-lb".to_owned()),
            choice => {
                let path = Id::RankChoice.row().id;
                self.left_out.push(format!("{path}={choice}: vLLM 0.33 has its own rule"));
            }
        }
        let usual = self.scenario.default_of(Id::RankPasses);
        self.leave_out(Id::RankPasses, &usual, "it follows from the model");
    }

    fn memory(&mut self) {
        let block = self.scenario.number(Id::BlockSize);
        self.number("block-size", Id::BlockSize);
        if !BLOCK_SIZES.contains(&block) {
            self.left_out
                .push(format!("scheduler.block_size={block}: vLLM takes 1, 8, 16, 32, 64, 128 and 256"));
        }
        self.covered.extend([Id::MaxTotalTokens, Id::KvCacheGib, Id::MemoryMargin]);
        let given_gib = self.scenario.number(Id::KvCacheGib);
        if !self.has_hardware() || self.scenario.choice(Id::KvPool) == "given" {
            // vLLM never gives its block 0 to a request.
            let blocks = (self.scenario.number(Id::MaxTotalTokens) / block).floor() + 1.0;
            self.lines.push(format!("--num-gpu-blocks-override {blocks}"));
        } else if given_gib > 0.0 && self.scenario.is_active(Id::KvCacheGib) {
            self.lines.push(format!("--kv-cache-memory-bytes {}", (given_gib * GIB).floor()));
        } else {
            // The share that is left free is written without the noise of the subtraction.
            let used = (1e6 * (1.0 - self.scenario.number(Id::MemoryMargin))).round() / 1e6;
            self.lines.push(format!("--gpu-memory-utilization {used}"));
            self.leave_out(
                Id::MemoryPlan,
                &Value::Choice("whole"),
                "vLLM counts every allocation, so that its KV cache has another size",
            );
        }
        self.switch("enable-prefix-caching", Id::PrefixCache);
        self.host_cache();
        if self.scenario.number(Id::Watermark) < 1.0 {
            self.unusual("watermark", Id::Watermark, 0.0);
        } else {
            self.leave_out(Id::Watermark, &Value::Number(0.0), "vLLM takes shares below 1");
        }
    }

    /// The tier of host memory (`vllm/config/cache.py`; what its connector does not take from the size comes with
    /// `--kv-transfer-config`).
    fn host_cache(&mut self) {
        self.covered.extend([
            Id::HostCacheGib,
            Id::HostCacheConnector,
            Id::HostCacheEviction,
            Id::HostCacheThreshold,
            Id::HostCachePrompts,
            Id::HostCacheLazy,
            Id::HostCacheRate,
            Id::HostCacheBase,
        ]);
        if !self.scenario.is_active(Id::HostCacheConnector) {
            return;
        }
        let gib = self.scenario.number(Id::HostCacheGib);
        let bytes = (gib * GIB).floor();
        let is_simple = self.scenario.choice(Id::HostCacheConnector) == "simple_cpu";
        let name = if is_simple { "SimpleCPUOffloadConnector" } else { "OffloadingConnector" };
        let mut extra = vec![format!("\"cpu_bytes_to_use\": {bytes}")];
        if is_simple && self.is_on(Id::HostCacheLazy) {
            extra.push("\"lazy_offload\": true".to_owned());
        }
        if !is_simple && self.scenario.choice(Id::HostCacheEviction) != "lru" {
            extra.push("\"eviction_policy\": \"arc\"".to_owned());
        }
        let threshold = self.scenario.number(Id::HostCacheThreshold);
        if !is_simple && threshold > 1.0 {
            extra.push(format!("\"store_threshold\": {threshold}"));
        }
        if !is_simple && !self.is_on(Id::HostCachePrompts) {
            extra.push("\"offload_prompt_only\": false".to_owned());
        }
        if !is_simple && extra.len() == 1 {
            self.lines.push(format!("--kv-offloading-size {gib}"));
        } else {
            let extra = extra.join(", ");
            self.lines.push(format!(
                "--kv-transfer-config '{{\"kv_connector\": \"{name}\", \"kv_role\": \"kv_both\", \"kv_connector_extra_config\": {{{extra}}}}}'"
            ));
        }
    }

    fn batching(&mut self) {
        self.number("max-num-seqs", Id::MaxRunning);
        self.number("max-num-batched-tokens", Id::BatchMaxTokens);
        self.number("max-model-len", Id::MaxRequestTokens);
        self.switch("enable-chunked-prefill", Id::ChunkedPrefill);
        self.unusual("long-prefill-token-threshold", Id::LongPrefillTokens, 0.0);
        if self.scenario.is_active(Id::LongPrefillAdaptive) && self.is_on(Id::LongPrefillAdaptive) {
            self.lines.push("--long-prefill-token-threshold-adaptive".to_owned());
        }
        self.unusual("prefill-schedule-interval", Id::PrefillInterval, 1.0);
        // vLLM does not start where it is above the most that run anyway; it acts on nothing then.
        self.covered.push(Id::MaxActiveSeqs);
        if self.scenario.number(Id::MaxActiveSeqs) < self.scenario.number(Id::MaxRunning) {
            self.unusual("max-num-active-seqs", Id::MaxActiveSeqs, 0.0);
        }
        self.unusual("max-num-queued-tokens", Id::MaxQueuedTokens, 0.0);
        self.queued_requests();
        self.switch("scheduler-reserve-full-isl", Id::ReserveFullIsl);
        self.switch("async-scheduling", Id::AsyncScheduling);
        self.covered.push(Id::SchedulerOrder);
        match self.scenario.choice(Id::SchedulerOrder) {
            "fcfs" => {}
            "priority" => self.priority(),
            order => self.left_out.push(format!("scheduler.order={order}: vLLM's queue is fcfs or priority")),
        }
    }

    /// How many drafts are accepted is the traffic's, and what they cost the GPU's: neither is a flag.
    fn speculation(&mut self) {
        if !self.scenario.speculates() {
            return;
        }
        let method = self.scenario.choice(Id::SpecMethod);
        let drafts = self.scenario.number(Id::SpecTokens);
        let mut fields =
            vec![format!("\"method\": \"{method}\""), format!("\"num_speculative_tokens\": {drafts}")];
        if method == "draft_model" {
            let model = self.scenario.choice(Id::SpecDraftModel);
            fields.push(format!("\"model\": \"{model}\""));
            self.left_out.push(format!("{model}: the draft model's folder or its name on Hugging Face"));
        } else if method == "eagle" {
            self.left_out.push("the EAGLE head is a checkpoint of its own, named as \"model\"".to_owned());
        }
        let ranges = match self.scenario.choice(Id::SpecGate) {
            "batch_below" => {
                let below = self.scenario.number(Id::SpecBelow);
                Some(format!("[1, {}, {drafts}], [{below}, {}, 0]", below - 1.0, below.max(100_000.0)))
            }
            "dynamic" => {
                let list = self.scenario.get(Id::SpecSchedule);
                let Value::List(list) = list else { return };
                let ranges = list.chunks_exact(3).map(|own| format!("[{}, {}, {}]", own[0], own[1], own[2]));
                Some(ranges.collect::<Vec<_>>().join(", "))
            }
            _ => None,
        };
        fields.extend(ranges.map(|ranges| format!("\"num_speculative_tokens_per_batch_size\": [{ranges}]")));
        self.lines.push(format!("--speculative-config '{{{}}}'", fields.join(", ")));
    }

    /// vLLM reads the class of each request from its body, and knows no ageing.
    fn priority(&mut self) {
        self.lines.push("--scheduling-policy priority".to_owned());
        self.covered.extend([Id::PriorityClasses, Id::PriorityAgeing]);
        let text = |id: Id| format!("{}={}", id.row().id, self.scenario.get(id).to_text());
        let (classes, ageing) = (text(Id::PriorityClasses), text(Id::PriorityAgeing));
        self.left_out.push(format!("{classes}: clients send their class with each request, as \"priority\""));
        self.left_out
            .push(format!("{ageing}: vLLM has no ageing; a class that others precede may wait for ever"));
    }

    /// Without a gateway each server bounds its own requests; the bound of the setting is one of all servers.
    fn queued_requests(&mut self) {
        if self.scenario.choice(Id::GatewayKind) != "direct" {
            return;
        }
        if self.scenario.number(Id::Replicas) > 1.0 {
            self.leave_out(
                Id::MaxInSystem,
                &Value::Number(0.0),
                "--max-num-queued-reqs is a bound of each server",
            );
        } else {
            self.unusual("max-num-queued-reqs", Id::MaxInSystem, 0.0);
        }
    }

    fn adapters(&mut self, traffic: Option<&Traffic>) {
        self.covered.extend([Id::AdapterMemory, Id::MaxLoras, Id::MaxLoraRank, Id::MaxCpuLoras]);
        let generated = self.scenario.adapter_ranks();
        let largest = traffic.map_or(generated.largest, |traffic| traffic.largest_rank);
        let ranks = AdapterRanks { largest, ..generated };
        if ranks.largest == 0 {
            return;
        }
        let rank = self.scenario.slot_rank(ranks);
        self.lines.push("--enable-lora".to_owned());
        match self.scenario.choice(Id::AdapterMemory) {
            "slots" => self.number("max-loras", Id::MaxLoras),
            "resident" => {
                self.lines.push(format!("--max-loras {}", ranks.count));
                self.left_out.push(
                    "adapters.memory=resident: vLLM keeps adapters in slots, here one for each, of equal size".to_owned(),
                );
            }
            memory => self.left_out.push(format!(
                "adapters.memory={memory}: vLLM keeps adapters in slots beside the KV cache; --max-loras says how many"
            )),
        }
        let slot = SLOT_RANKS.into_iter().find(|&slot| slot >= rank).unwrap_or(rank);
        self.lines.push(format!("--max-lora-rank {slot}"));
        if rank > SLOT_RANKS[SLOT_RANKS.len() - 1] {
            self.left_out.push(format!("rank {rank}: vLLM has no slots for ranks above 512"));
        } else if slot != rank && self.scenario.is_active(Id::MaxLoraRank) {
            self.left_out.push(format!(
                "rank {rank}: vLLM's slots have memory for rank {slot}, those of the simulation for {rank}; \
                 adapters.max_lora_rank={slot} makes them equal"
            ));
        }
        if self.scenario.is_active(Id::MaxCpuLoras) && self.scenario.number(Id::MaxCpuLoras) > 0.0 {
            self.number("max-cpu-loras", Id::MaxCpuLoras);
        }
    }

    /// The connector of disaggregated servers. vLLM recommends one role for all of them: what a server does follows from what the
    /// router asks it for.
    fn disaggregation(&mut self) {
        if !self.scenario.is_disaggregated() {
            return;
        }
        self.covered.extend([Id::Disaggregation, Id::KvLoadFailure]);
        let policy = self.scenario.choice(Id::KvLoadFailure);
        let failure = if self.scenario.is_active(Id::KvLoadFailure) {
            format!(r#", "kv_load_failure_policy": "{policy}""#)
        } else {
            String::new()
        };
        self.lines.push(format!("--kv-transfer-config '{{{CONNECTOR}{failure}}}'"));
        let none = Value::Number(0.0);
        self.leave_out(
            Id::PrefillReplicas,
            &none,
            "start so many of the servers for prompts, and a router before all of them that sends each request to one of these first (llm-d, Dynamo)",
        );
        self.leave_out(Id::DecodePool, &Value::Text(String::new()), "flags of the other servers");
        self.leave_out(Id::DisaggregationPolicy, &Value::Choice("always"), "a rule of that router");
    }

    fn not_flags(&mut self) {
        let one = Value::Number(1.0);
        self.leave_out(Id::Replicas, &one, "start as many servers, and a router before them");
        self.leave_out(Id::Router, &Value::Choice("round_robin"), "how that router spreads requests");
        self.leave_out(
            Id::GatewayKind,
            &Value::Choice("direct"),
            "quotas and its queue belong to a proxy before vLLM",
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reported(settings: &[(&str, &str)]) -> String {
        let mut scenario = Scenario::of_version(4);
        scenario.set_text("scheduler.kind", "vllm_v1").unwrap();
        for (path, value) in settings {
            scenario.set_text(path, value).unwrap();
        }
        vllm_serve(&scenario, None).unwrap()
    }

    #[test]
    fn every_setting_that_vllm_has_is_a_flag() {
        let text = reported(&[
            ("cost.kind", "roofline"),
            ("fleet.gpu", "h100_sxm"),
            ("fleet.model", "llama-3.1-70b"),
            ("fleet.tensor_parallel", "4"),
            ("fleet.kv_format", "fp8"),
            ("fleet.weights", "fp8"),
            ("fleet.memory_margin", "0.05"),
            ("scheduler.max_running_requests", "256"),
            ("scheduler.batch_max_tokens", "8192"),
            ("scheduler.max_request_tokens", "32768"),
            ("scheduler.long_prefill_token_threshold", "2048"),
            ("scheduler.prefix_cache", "false"),
            ("scheduler.order", "priority"),
            ("adapters.max_loras", "16"),
            ("workload.adapters.ranks", "24"),
        ]);
        for flag in [
            "--tensor-parallel-size 4",
            "--quantization fp8",
            "--kv-cache-dtype fp8",
            "--gpu-memory-utilization 0.95",
            "--block-size 16",
            "--max-num-seqs 256",
            "--max-num-batched-tokens 8192",
            "--max-model-len 32768",
            "--long-prefill-token-threshold 2048",
            "--no-enable-prefix-caching",
            "--enable-chunked-prefill",
            "--async-scheduling",
            "--scheduling-policy priority",
            "--enable-lora",
            "--max-loras 16",
            "--max-lora-rank 32",
        ] {
            assert!(text.contains(&format!("  {flag}")), "{flag}: {text}");
        }
        assert!(
            text.starts_with(
                "# MODEL is a folder or a name on Hugging Face: Llama-3.1-70B\nvllm serve \"$MODEL\" \\\n"
            ),
            "{text}"
        );
        assert!(!text.contains("pipeline") && !text.trim_end().ends_with('\\'), "{text}");
    }

    #[test]
    fn flags_at_vllms_default_are_left_out() {
        let (added, least) = (
            [
                "--watermark 0.02",
                "--long-prefill-token-threshold 512",
                "--long-prefill-token-threshold-adaptive",
                "--prefill-schedule-interval 4",
                "--max-num-active-seqs 32",
                "--max-num-queued-tokens 50000",
                "--max-num-queued-reqs 300",
                "--max-lora-rank 1",
            ],
            [("workload.adapters.ranks", "1"), ("scheduler.max_num_seqs", "64")],
        );
        let text = reported(&least);
        for flag in &added[..7] {
            let name = flag.split(' ').next().unwrap();
            assert!(!text.contains(name), "{name}: {text}");
        }
        let text = reported(&[
            least[0],
            least[1],
            ("scheduler.watermark", "0.02"),
            ("scheduler.long_prefill_token_threshold", "512"),
            ("scheduler.long_prefill_token_threshold_adaptive", "true"),
            ("scheduler.prefill_schedule_interval", "4"),
            ("scheduler.max_num_active_seqs", "32"),
            ("scheduler.max_num_queued_tokens", "50000"),
            ("gateway.concurrency", "300"),
        ]);
        for flag in added {
            assert!(text.lines().any(|line| line.trim_end_matches('\\').trim() == flag), "{flag}: {text}");
        }
        let text = reported(&[("scheduler.max_num_seqs", "64"), ("scheduler.max_num_active_seqs", "65")]);
        assert!(!text.contains("active"), "vLLM does not start with it: {text}");
        let text = reported(&[("fleet.replicas", "2"), ("gateway.concurrency", "300")]);
        assert!(text.contains("# gateway.concurrency=300: "), "{text}");
    }

    #[test]
    fn disaggregated_servers_have_a_connector() {
        let text = reported(&[
            ("fleet.replicas", "6"),
            ("fleet.disaggregation.kind", "nixl"),
            ("fleet.disaggregation.prefill_replicas", "2"),
            ("fleet.disaggregation.failing_loads", "0.1"),
            ("fleet.disaggregation.kv_load_failure_policy", "recompute"),
        ]);
        let flag = r#"--kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_both", "kv_load_failure_policy": "recompute"}'"#;
        assert!(text.contains(flag), "{text}");
        assert!(text.contains("# fleet.disaggregation.prefill_replicas=2: start so many"), "{text}");
        assert!(!reported(&[("fleet.replicas", "6")]).contains("kv-transfer-config"));
    }

    #[test]
    fn adapters_are_those_of_the_traffic() {
        let mut scenario = Scenario::of_version(4);
        scenario.set_text("scheduler.kind", "vllm_v1").unwrap();
        let of = |largest_rank: u32| {
            let adapters = u32::from(largest_rank > 0);
            vllm_serve(&scenario, Some(&Traffic { adapters, largest_rank, ..Traffic::default() })).unwrap()
        };
        assert!(!of(0).contains("lora"), "{}", of(0));
        assert!(of(48).contains("--enable-lora") && of(48).contains("--max-lora-rank 64"), "{}", of(48));
    }

    #[test]
    fn what_is_no_flag_is_said() {
        let text = reported(&[
            ("workload.adapters.count", "0"),
            ("scheduler.max_total_tokens", "41392"),
            ("scheduler.order", "vtc"),
            ("fleet.replicas", "4"),
            ("gateway.kind", "proxy"),
        ]);
        assert!(text.contains("--num-gpu-blocks-override 2588"), "{text}");
        for left_out in
            ["of no GPU", "# scheduler.order=vtc: ", "# fleet.replicas=4: ", "# gateway.kind=proxy: "]
        {
            assert!(text.contains(left_out), "{left_out}: {text}");
        }
        assert!(!text.contains("lora"), "{text}");
        let error = vllm_serve(&Scenario::of_version(4), None).unwrap_err();
        assert_eq!((error.code, error.path.as_str()), ("not_vllm", "scheduler.kind"));
    }
}
