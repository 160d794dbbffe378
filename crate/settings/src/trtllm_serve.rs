//! A setting as a command of TensorRT-LLM: `trtllm-serve` with the flags that stand for it, and the file of options that it reads for what
//! has no flag, as version 1.3 has them (tensorrt_llm/commands/serve.py, llmapi/llm_args.py). What neither stands for is said in comments.

use crate::diagnostic::Diagnostic;
use crate::notes::Traffic;
use crate::parameters::{Id, Value};
use crate::scenario::{AdapterRanks, Scenario};
use crate::server_flags::ServerFlags;

/// Settings of the service that the command or its first line stands for without a flag of their own.
const NOT_FLAGS: [Id; 5] = [Id::SchedulerKind, Id::FleetGpu, Id::FleetModel, Id::KvPool, Id::CapturedTokens];

/// The command, a flag a line, behind the file of options, and comments with what it leaves out. `traffic` is what a trace carries in the
/// place of generated requests: without adapters in it, no option is about them.
///
/// # Errors
/// [`Diagnostic`] where the scheduler is not TensorRT-LLM's.
pub fn trtllm_serve(scenario: &Scenario, traffic: Option<&Traffic>) -> Result<String, Diagnostic> {
    let scheduler = scenario.choice(Id::SchedulerKind);
    if scheduler != "trtllm" {
        let message = format!(
            "scheduler.kind: {scheduler} is not how TensorRT-LLM schedules; set it to trtllm for a command of TensorRT-LLM"
        );
        return Err(Diagnostic::error("not_trtllm", "scheduler.kind", message).text("scheduler", scheduler));
    }
    let mut flags = ServerFlags::new(scenario, "TensorRT-LLM", &NOT_FLAGS);
    if flags.has_hardware() {
        flags.number("tp_size", Id::TensorParallel);
        flags.covered.push(Id::ExpertParallel);
        if scenario.is_active(Id::ExpertParallel) && flags.is_on(Id::ExpertParallel) {
            flags.number("ep_size", Id::TensorParallel);
        }
    } else {
        flags.left_out.push("the iteration times of this setting are of no GPU and of no model".to_owned());
    }
    flags.number("max_batch_size", Id::MaxRunning);
    flags.number("max_num_tokens", Id::BatchMaxTokens);
    flags.number("max_seq_len", Id::MaxRequestTokens);
    let options = options(&mut flags) + &adapters(&mut flags, traffic);
    flags.leave_out(Id::Replicas, &Value::Number(1.0), "start as many servers, and a router before them");
    flags.leave_out(Id::Router, &Value::Choice("round_robin"), "how that router spreads requests");
    let why = "quotas and its queue belong to a proxy before TensorRT-LLM";
    flags.leave_out(Id::GatewayKind, &Value::Choice("direct"), why);
    flags.leave_out(Id::Weights, &Value::Choice("bf16"), "a checkpoint in this format");
    flags.all_others();
    let start = format!(
        "cat > options.yaml <<'END'\n{options}END\ntrtllm-serve \"$MODEL\" --extra_llm_api_options options.yaml"
    );
    Ok(flags.command(&start))
}

/// The lines of the file of options.
fn options(flags: &mut ServerFlags<'_>) -> String {
    let scenario = flags.scenario;
    flags.covered.extend([
        Id::CapacityPolicy,
        Id::ChunkedPrefill,
        Id::ChunkingPolicy,
        Id::AsyncScheduling,
        Id::PrefixCache,
        Id::BlockSize,
        Id::KvFormat,
        Id::MemoryMargin,
        Id::MaxTotalTokens,
        Id::MemoryPlan,
    ]);
    let name = |id: Id| scenario.choice(id).to_ascii_uppercase();
    let mut lines = vec![
        format!("enable_chunked_prefill: {}", flags.is_on(Id::ChunkedPrefill)),
        format!("disable_overlap_scheduler: {}", !flags.is_on(Id::AsyncScheduling)),
        "scheduler_config:".to_owned(),
        format!("  capacity_scheduler_policy: {}", name(Id::CapacityPolicy)),
    ];
    if scenario.is_active(Id::ChunkingPolicy) {
        lines.push(format!("  context_chunking_policy: {}", name(Id::ChunkingPolicy)));
    }
    lines.push("kv_cache_config:".to_owned());
    lines.push(format!("  enable_block_reuse: {}", flags.is_on(Id::PrefixCache)));
    lines.push(format!("  tokens_per_block: {}", scenario.whole(Id::BlockSize)));
    if flags.has_hardware() && scenario.choice(Id::KvPool) == "planned" {
        let share = (1e6 * (1.0 - scenario.number(Id::MemoryMargin))).round() / 1e6;
        lines.push(format!("  free_gpu_memory_fraction: {share}"));
    } else {
        lines.push(format!("  max_tokens: {}", scenario.whole(Id::MaxTotalTokens)));
    }
    if scenario.is_active(Id::KvFormat) && scenario.choice(Id::KvFormat) == "fp8" {
        lines.push("  dtype: fp8".to_owned());
    }
    lines.join("\n") + "\n"
}

/// Those of them that are about adapters.
fn adapters(flags: &mut ServerFlags<'_>, traffic: Option<&Traffic>) -> String {
    let scenario = flags.scenario;
    flags.covered.extend([Id::AdapterMemory, Id::MaxLoras, Id::MaxLoraRank, Id::MaxCpuLoras]);
    let generated = scenario.adapter_ranks();
    let largest = traffic.map_or(generated.largest, |traffic| traffic.largest_rank);
    if largest == 0 {
        return String::new();
    }
    let rank = scenario.slot_rank(AdapterRanks { largest, ..generated });
    let slots =
        scenario.is_active(Id::MaxLoras).then(|| format!("  max_loras: {}\n", scenario.whole(Id::MaxLoras)));
    format!("lora_config:\n  max_lora_rank: {rank}\n{}", slots.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file_kind::{FileKind, Server, recognise};

    fn of(settings: &[(&str, &str)]) -> Scenario {
        Scenario::of_version(5).with(&[&[("scheduler.kind", "trtllm")], settings].concat()).unwrap()
    }

    const ALL: [(&str, &str); 14] = [
        ("cost.kind", "roofline"),
        ("fleet.gpu", "h200_sxm"),
        ("fleet.model", "llama-3.1-70b"),
        ("fleet.tensor_parallel", "2"),
        ("fleet.memory_margin", "0.15"),
        ("scheduler.max_running_requests", "512"),
        ("scheduler.max_request_tokens", "32768"),
        ("scheduler.batch_max_tokens", "4096"),
        ("scheduler.block_size", "64"),
        ("scheduler.capacity_scheduler_policy", "max_utilization"),
        ("scheduler.enable_chunked_prefill", "true"),
        ("scheduler.context_chunking_policy", "equal_progress"),
        ("scheduler.async_scheduling", "false"),
        ("scheduler.prefix_cache", "false"),
    ];

    #[test]
    fn what_is_written_is_read_again() {
        let scenario = of(&ALL);
        let text = trtllm_serve(&scenario, None).unwrap();
        for line in ["  --tp_size 2", "free_gpu_memory_fraction: 0.85", "MAX_UTILIZATION"] {
            assert!(text.contains(line), "{line}: {text}");
        }
        let FileKind::LaunchLine(server) = recognise(text.as_bytes()).expect("a launch line").kind else {
            panic!("{text}")
        };
        assert_eq!(server, Server::TrtLlm);
        let read = server.launched(&text.replace("$MODEL", "meta-llama/Llama-3.1-70B"), &of(&ALL[..2]));
        assert!(read.errors.is_empty() && read.unknown.is_empty(), "{:?} {:?}", read.errors, read.unknown);
        for (path, _) in ALL {
            let id = Id::from_path(path).unwrap();
            assert_eq!(read.scenario.get(id), scenario.get(id), "{path}: {text}");
        }
        assert_eq!(trtllm_serve(&Scenario::of_version(5), None).unwrap_err().code, "not_trtllm");
    }
}
