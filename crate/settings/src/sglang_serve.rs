//! A setting as a command of SGLang: `sglang.launch_server` with the flags that stand for it, as SGLang 0.5.23 has them
//! (srt/server_args.py). What no flag stands for is said in comments.

use crate::diagnostic::Diagnostic;
use crate::notes::Traffic;
use crate::parameters::{Id, Value};
use crate::scenario::{AdapterRanks, Scenario};
use crate::server_flags::ServerFlags;

/// Settings of the service that the command or its first line stands for without a flag of their own.
const NOT_FLAGS: [Id; 6] =
    [Id::SchedulerKind, Id::FleetGpu, Id::FleetModel, Id::KvPool, Id::BatchMaxTokens, Id::CapturedTokens];

/// The command, a flag a line, and comments with what it leaves out. `traffic` is what a trace carries in the place of generated
/// requests: without adapters in it, no flag is about them.
///
/// # Errors
/// [`Diagnostic`] where the scheduler is not SGLang's.
pub fn sglang_serve(scenario: &Scenario, traffic: Option<&Traffic>) -> Result<String, Diagnostic> {
    let scheduler = scenario.choice(Id::SchedulerKind);
    if scheduler != "sglang" {
        let message = format!(
            "scheduler.kind: {scheduler} is not how SGLang schedules; set it to sglang for a command of SGLang"
        );
        return Err(Diagnostic::error("not_sglang", "scheduler.kind", message).text("scheduler", scheduler));
    }
    let mut flags = ServerFlags::new(scenario, "SGLang", &NOT_FLAGS);
    layout(&mut flags);
    memory(&mut flags);
    prompts(&mut flags);
    line(&mut flags);
    adapters(&mut flags, traffic);
    let one = Value::Number(1.0);
    flags.leave_out(Id::Replicas, &one, "start as many servers, and a router before them");
    flags.leave_out(Id::Router, &Value::Choice("round_robin"), "how that router spreads requests");
    flags.leave_out(
        Id::GatewayKind,
        &Value::Choice("direct"),
        "quotas and its queue belong to a proxy before SGLang",
    );
    flags.all_others();
    Ok(flags.command("python -m sglang.launch_server --model-path \"$MODEL\""))
}

fn layout(flags: &mut ServerFlags<'_>) {
    flags.covered.extend([Id::Weights, Id::KvFormat]);
    if !flags.has_hardware() {
        flags.left_out.push("the iteration times of this setting are of no GPU and of no model".to_owned());
        return;
    }
    ranks(flags);
    match flags.scenario.choice(Id::Weights) {
        "bf16" => flags.lines.push("--dtype bfloat16".to_owned()),
        "fp8" => flags.lines.push("--quantization fp8".to_owned()),
        format => flags.left_out.push(format!("fleet.weights={format}: a checkpoint in this format")),
    }
    match flags.scenario.choice(Id::KvFormat) {
        "bf16" => {}
        format => flags.lines.push(format!("--kv-cache-dtype {format}_e4m3")),
    }
}

/// SGLang's `--tp-size` counts the GPUs of all ranks that run together.
fn ranks(flags: &mut ServerFlags<'_>) {
    flags.covered.extend([Id::TensorParallel, Id::RankPasses, Id::ExpertParallel]);
    let scenario = flags.scenario;
    let (tensor, ranks) = (scenario.whole(Id::TensorParallel), scenario.data_parallel_size());
    let is_together = scenario.is_active(Id::RankPasses) && scenario.choice(Id::RankPasses) == "together";
    let gpus = if is_together { tensor * ranks } else { tensor };
    flags.lines.push(format!("--tp-size {gpus}"));
    flags.unusual("dp-size", Id::DataParallel, 1.0);
    if is_together {
        flags.lines.push("--enable-dp-attention".to_owned());
    }
    if scenario.is_active(Id::ExpertParallel) && flags.is_on(Id::ExpertParallel) {
        flags.lines.push(format!("--ep-size {gpus}"));
    }
    flags.covered.push(Id::RankChoice);
    if scenario.is_active(Id::RankChoice) {
        match scenario.choice(Id::RankChoice) {
            choice @ ("round_robin" | "total_requests") => {
                flags.lines.push(format!("--load-balance-method {choice}"));
            }
            choice => flags
                .left_out
                .push(format!("fleet.rank_choice={choice}: SGLang has round_robin and total_requests")),
        }
    }
    let why = "SGLang has another default";
    flags.leave_out(Id::SyncInterval, &Value::Number(16.0), why);
    flags.leave_out(Id::ApiServers, &Value::Number(0.0), "SGLang has one server before its ranks");
    flags.leave_out(
        Id::AllToAll,
        &Value::Choice("allgather_reducescatter"),
        "--moe-a2a-backend deepep with --deepep-mode",
    );
}

fn memory(flags: &mut ServerFlags<'_>) {
    let scenario = flags.scenario;
    flags.unusual("page-size", Id::BlockSize, 1.0);
    flags.covered.extend([Id::MaxTotalTokens, Id::KvCacheGib, Id::MemoryMargin]);
    if !flags.has_hardware() || scenario.choice(Id::KvPool) == "given" {
        flags.lines.push(format!("--max-total-tokens {}", scenario.number(Id::MaxTotalTokens)));
    } else if scenario.is_active(Id::KvCacheGib) && scenario.number(Id::KvCacheGib) > 0.0 {
        flags.leave_out(
            Id::KvCacheGib,
            &Value::Number(0.0),
            "SGLang takes --mem-fraction-static or --max-total-tokens",
        );
    } else {
        let share = (1e6 * (1.0 - scenario.number(Id::MemoryMargin))).round() / 1e6;
        flags.lines.push(format!("--mem-fraction-static {share}"));
        flags.leave_out(
            Id::MemoryPlan,
            &Value::Choice("whole"),
            "SGLang's KV cache is what its share leaves beside the weights",
        );
    }
    only_off(flags, "disable-radix-cache", Id::PrefixCache);
    option(flags, "radix-eviction-policy", Id::RadixEviction, "lru");
}

fn prompts(flags: &mut ServerFlags<'_>) {
    let scenario = flags.scenario;
    flags.number("max-running-requests", Id::MaxRunning);
    flags.number("context-length", Id::MaxRequestTokens);
    flags.covered.push(Id::PrefillChunk);
    let chunk = scenario.whole(Id::PrefillChunk);
    flags.lines.push(match chunk {
        0 => "--chunked-prefill-size -1".to_owned(),
        _ => format!("--chunked-prefill-size {chunk}"),
    });
    flags.unusual("max-prefill-tokens", Id::MaxPrefillTokens, 16_384.0);
    flags.unusual("prefill-max-requests", Id::PrefillMaxRequests, 0.0);
    only_on(flags, "enable-mixed-chunk", Id::MixedChunk);
    only_off(flags, "disable-overlap-schedule", Id::AsyncScheduling);
    flags.unusual("prefill-decode-interval", Id::DecodeInterval, 0.0);
    flags.unusual("prefill-decode-interval-min-bs", Id::DecodeIntervalLeast, 0.0);
    flags.unusual("scheduler-recv-interval", Id::RecvInterval, 1.0);
    flags.unusual("min-free-slots-delay", Id::MinFreeSlots, 0.0);
    let why = "set the environment variable SGLANG_CLIP_MAX_NEW_TOKENS_ESTIMATION";
    flags.leave_out(Id::ClipMaxNewTokens, &Value::Number(4096.0), why);
}

fn line(flags: &mut ServerFlags<'_>) {
    let scenario = flags.scenario;
    option(flags, "schedule-policy", Id::SchedulePolicy, "fcfs");
    flags.unusual("schedule-conservativeness", Id::Conservativeness, 1.0);
    flags.unusual("max-queued-requests", Id::MaxQueuedRequests, 0.0);
    flags.covered.extend([Id::SchedulerOrder, Id::PriorityClasses, Id::PriorityAgeing]);
    if scenario.choice(Id::SchedulerOrder) == "priority" {
        flags.lines.push("--enable-priority-scheduling".to_owned());
        let classes = scenario.get(Id::PriorityClasses).to_text();
        flags.left_out.push(format!(
            "{}={classes}: clients send minus their class with each request, as \"priority\"",
            Id::PriorityClasses.row().id
        ));
    }
    only_off(flags, "disable-priority-preemption", Id::SlotPreemption);
    flags.unusual("priority-scheduling-preemption-threshold", Id::SlotPreemptionThreshold, 10.0);
    option(flags, "retraction-policy", Id::RetractionPolicy, "length");
}

fn adapters(flags: &mut ServerFlags<'_>, traffic: Option<&Traffic>) {
    let scenario = flags.scenario;
    flags.covered.extend([Id::AdapterMemory, Id::MaxLoras, Id::MaxLoraRank, Id::MaxCpuLoras]);
    let generated = scenario.adapter_ranks();
    let largest = traffic.map_or(generated.largest, |traffic| traffic.largest_rank);
    let ranks = AdapterRanks { largest, ..generated };
    if ranks.largest == 0 {
        return;
    }
    flags.lines.push("--enable-lora".to_owned());
    match scenario.choice(Id::AdapterMemory) {
        "slots" => flags.number("max-loras-per-batch", Id::MaxLoras),
        memory => flags.left_out.push(format!(
            "adapters.memory={memory}: SGLang keeps adapters in slots; --max-loras-per-batch says how many"
        )),
    }
    flags.lines.push(format!("--max-lora-rank {}", scenario.slot_rank(ranks)));
    if scenario.is_active(Id::MaxCpuLoras) && scenario.number(Id::MaxCpuLoras) > 0.0 {
        flags.number("max-loaded-loras", Id::MaxCpuLoras);
    }
}

/// A flag that stands for a switch which is off by default.
fn only_on(flags: &mut ServerFlags<'_>, flag: &str, id: Id) {
    flags.covered.push(id);
    if flags.scenario.is_active(id) && flags.is_on(id) {
        flags.lines.push(format!("--{flag}"));
    }
}

/// A flag that stands for a switch which is on by default.
fn only_off(flags: &mut ServerFlags<'_>, flag: &str, id: Id) {
    flags.covered.push(id);
    if flags.scenario.is_active(id) && !flags.is_on(id) {
        flags.lines.push(format!("--{flag}"));
    }
}

/// A flag with a name as its value.
fn option(flags: &mut ServerFlags<'_>, flag: &str, id: Id, usual: &str) {
    flags.covered.push(id);
    let value = flags.scenario.choice(id);
    if flags.scenario.is_active(id) && value != usual {
        flags.lines.push(format!("--{flag} {}", value.replace('_', "-")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file_kind::{FileKind, Server, recognise};

    fn of(settings: &[(&str, &str)]) -> Scenario {
        Scenario::of_version(5).with(&[&[("scheduler.kind", "sglang")], settings].concat()).unwrap()
    }

    const ALL: [(&str, &str); 20] = [
        ("cost.kind", "roofline"),
        ("fleet.gpu", "h200_sxm"),
        ("fleet.model", "llama-3.1-70b"),
        ("fleet.tensor_parallel", "2"),
        ("fleet.memory_margin", "0.15"),
        ("scheduler.max_running_requests", "512"),
        ("scheduler.max_request_tokens", "32768"),
        ("scheduler.chunked_prefill_size", "4096"),
        ("scheduler.max_prefill_tokens", "8192"),
        ("scheduler.prefill_max_requests", "7"),
        ("scheduler.schedule_policy", "lof"),
        ("scheduler.schedule_conservativeness", "0.5"),
        ("scheduler.enable_mixed_chunk", "true"),
        ("scheduler.async_scheduling", "false"),
        ("scheduler.radix_eviction_policy", "slru"),
        ("scheduler.max_queued_requests", "99"),
        ("scheduler.order", "priority"),
        ("scheduler.priority_preemption_threshold", "3"),
        ("scheduler.retraction_policy", "priority"),
        ("adapters.max_loras", "4"),
    ];

    #[test]
    fn what_is_written_is_read_again() {
        let scenario = of(&ALL);
        let text = sglang_serve(&scenario, None).unwrap();
        for flag in
            ["--tp-size 2", "--mem-fraction-static 0.85", "--schedule-policy lof", "--enable-mixed-chunk"]
        {
            assert!(text.contains(&format!("  {flag}")), "{flag}: {text}");
        }
        let FileKind::LaunchLine(server) = recognise(text.as_bytes()).expect("a launch line").kind else {
            panic!("{text}")
        };
        assert_eq!(server, Server::Sglang);
        let read = server.launched(&text.replace("$MODEL", "meta-llama/Llama-3.1-70B"), &of(&ALL[..2]));
        assert!(read.errors.is_empty() && read.unknown.is_empty(), "{:?} {:?}", read.errors, read.unknown);
        for (path, _) in ALL {
            let id = Id::from_path(path).unwrap();
            assert_eq!(read.scenario.get(id), scenario.get(id), "{path}: {text}");
        }
    }

    #[test]
    fn defaults_need_few_flags() {
        let text = sglang_serve(&of(&[("workload.adapters.count", "0")]), None).unwrap();
        for absent in ["page-size", "disable", "priority", "lora", "policy", "interval"] {
            assert!(!text.contains(absent), "{absent}: {text}");
        }
        assert_eq!(sglang_serve(&Scenario::of_version(5), None).unwrap_err().code, "not_sglang");
    }
}
