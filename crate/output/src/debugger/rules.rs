//! Which rule decides: its name, the page of the documentation that describes it, and the file that implements it.

use serde::Serialize;
use servescope_engine::SchedulerKind;
use servescope_engine::decisions::{Decision, Test, Verdict};
use servescope_engine::queue::QueuePolicy;

/// A rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "StepRule"))]
pub struct Rule {
    /// Its name, for the page to put into words.
    pub code: &'static str,
    /// In English.
    pub name: &'static str,
    /// Page of the documentation, from the root of the repository.
    pub doc: &'static str,
    /// Source file, from the root of the repository.
    pub source: &'static str,
}

/// Every code of a [`Rule`].
pub const CODES: &[&str] = &[
    "slora",
    "static",
    "orca",
    "vllm",
    "sarathi",
    "lightllm",
    "vllm_v1",
    "sglang",
    "trtllm",
    "bounds",
    "router",
    "rpm",
    "queue_timeout",
    "early_abort",
    "lora_slots",
    "preemption",
    "drafts",
    "retraction",
    "pause",
    "kv_reservation",
    "quota",
    "fair_share",
    "gateway_checks",
    "dispatcher",
    "adapter_loading",
    "kv_connector",
    "autoscaling",
    "failures",
    "streaming_input",
    "fcfs",
    "lifo",
    "sjf",
    "priority",
    "vtc",
    "drr",
    "cluster",
    "peft",
    "pets",
];

const fn rule(code: &'static str, name: &'static str, doc: &'static str, source: &'static str) -> Rule {
    Rule { code, name, doc, source }
}

const GLOSSARY: &str = "docs/glossary.md";
const GATEWAY: &str = "docs/gateway.md";
const ROUTERS: &str = "docs/routers.md";
const SGLANG: &str = "docs/sglang.md";
const TRTLLM: &str = "docs/tensorrt-llm.md";
const SPECULATION: &str = "docs/speculation.md";
const STREAMING: &str = "docs/streaming-input.md";
const ORDERS: &str = "docs/orders.md";
const ADAPTERS: &str = "docs/adapters.md";
const AUTOSCALING: &str = "docs/autoscaling.md";

/// The rule of a scheduler by which it admits requests.
pub(crate) fn scheduler(kind: SchedulerKind) -> Rule {
    match kind {
        SchedulerKind::Slora => rule(
            "slora",
            "S-LoRA: peak KV memory of the batch",
            GLOSSARY,
            "crate/engine/src/replica/scheduler/slora/admission.rs",
        ),
        SchedulerKind::Static => {
            rule("static", "static batching", GLOSSARY, "crate/engine/src/replica/scheduler/static_batch.rs")
        }
        SchedulerKind::Orca => rule(
            "orca",
            "Orca: memory for the longest request",
            GLOSSARY,
            "crate/engine/src/replica/scheduler/orca.rs",
        ),
        SchedulerKind::Vllm => {
            rule("vllm", "vLLM v0: prompts first", GLOSSARY, "crate/engine/src/replica/scheduler/vllm.rs")
        }
        SchedulerKind::Sarathi => rule(
            "sarathi",
            "Sarathi: chunked prefill",
            GLOSSARY,
            "crate/engine/src/replica/scheduler/sarathi.rs",
        ),
        SchedulerKind::LightLlm => rule(
            "lightllm",
            "LightLLM: peak KV memory of the batch",
            GLOSSARY,
            "crate/engine/src/replica/scheduler/lightllm.rs",
        ),
        SchedulerKind::VllmV1 => rule(
            "vllm_v1",
            "vLLM v1: running requests first, then waiting ones",
            GLOSSARY,
            "crate/engine/src/replica/scheduler/vllm_v1/waiting.rs",
        ),
        SchedulerKind::Sglang => rule(
            "sglang",
            "SGLang: prompts before decodes",
            SGLANG,
            "crate/engine/src/replica/scheduler/sglang/prefill.rs",
        ),
        SchedulerKind::Trtllm => rule(
            "trtllm",
            "TensorRT-LLM: memory first, then the token budget",
            TRTLLM,
            "crate/engine/src/replica/scheduler/trtllm/prompts.rs",
        ),
    }
}

/// The rule of a decision.
pub(crate) fn of_decision(decision: &Decision, kind: SchedulerKind) -> Rule {
    let preempts = matches!(decision.verdict, Verdict::Preempted | Verdict::SwappedOut | Verdict::SwappedIn);
    match (decision.replica(), decision.compared.test, decision.verdict) {
        (_, Test::RequestTokens | Test::LoraRank | Test::InSystem, _)
        | (None, Test::TokenBudget | Test::KvBlocks, _) => {
            rule("bounds", "bounds of the server", GLOSSARY, "crate/engine/src/engine/rejection.rs")
        }
        (None, ..) => gateway(decision),
        (_, _, Verdict::Routed) => rule("router", "router", ROUTERS, "crate/engine/src/router/rules.rs"),
        (_, Test::RequestsPerMinute, _) => {
            rule("rpm", "requests per minute", ORDERS, "crate/engine/src/replica/queue/rpm.rs")
        }
        (_, _, Verdict::TimedOut) => {
            rule("queue_timeout", "queue timeout", GLOSSARY, "crate/engine/src/engine/departures.rs")
        }
        (_, _, Verdict::Rejected(_)) if kind == SchedulerKind::Sglang => rule(
            "bounds",
            "bounds of the server",
            SGLANG,
            "crate/engine/src/replica/scheduler/sglang/waiting_queue.rs",
        ),
        (_, _, Verdict::Rejected(_)) => rule(
            "early_abort",
            "S-LoRA: early abort",
            ORDERS,
            "crate/engine/src/replica/scheduler/slora/early_abort.rs",
        ),
        (_, Test::LoraSlots, _) => {
            rule("lora_slots", "LoRA slots", ADAPTERS, "crate/engine/src/replica/adapters/slots.rs")
        }
        (_, Test::CopyUnderWay, _) | (_, _, Verdict::Loads) => {
            rule("kv_connector", "host KV cache", GLOSSARY, "crate/engine/src/replica/kv_connector.rs")
        }
        (_, _, Verdict::AwaitsInput) => rule(
            "streaming_input",
            "vLLM v1: streaming input",
            STREAMING,
            "crate/engine/src/replica/streamed_input.rs",
        ),
        (_, _, Verdict::DraftsDropped | Verdict::DraftsPadded) => rule(
            "drafts",
            "vLLM v1: drafts of a request",
            SPECULATION,
            "crate/engine/src/replica/scheduler/vllm_v1.rs",
        ),
        _ if preempts && kind == SchedulerKind::VllmV1 => rule(
            "preemption",
            "preemption",
            GLOSSARY,
            "crate/engine/src/replica/scheduler/vllm_v1/running.rs",
        ),
        _ if preempts && kind == SchedulerKind::Sglang => rule(
            "retraction",
            "SGLang: retraction",
            SGLANG,
            "crate/engine/src/replica/scheduler/sglang/decode.rs",
        ),
        _ if preempts && kind == SchedulerKind::Trtllm => rule(
            "pause",
            "TensorRT-LLM: pause",
            TRTLLM,
            "crate/engine/src/replica/scheduler/trtllm/max_utilization.rs",
        ),
        _ if preempts => rule("preemption", "preemption", GLOSSARY, "crate/engine/src/replica/preemption.rs"),
        _ => scheduler(kind),
    }
}

fn gateway(decision: &Decision) -> Rule {
    match decision.compared.test {
        Test::KvReservation => rule(
            "kv_reservation",
            "gateway: KV reservation",
            GATEWAY,
            "crate/engine/src/gateway/reservations.rs",
        ),
        Test::RequestsPerMinute | Test::TokensPerMinute => {
            rule("quota", "gateway: quota of a client", GATEWAY, "crate/engine/src/gateway/quotas.rs")
        }
        Test::FairShare => rule(
            "fair_share",
            "gateway: fair share under overload",
            GATEWAY,
            "crate/engine/src/gateway/load.rs",
        ),
        _ if matches!(decision.verdict, Verdict::Rejected(_) | Verdict::TimedOut) => rule(
            "gateway_checks",
            "gateway: checks and deadlines",
            GATEWAY,
            "crate/engine/src/gateway/proxy.rs",
        ),
        _ => rule("dispatcher", "gateway: dispatcher", GATEWAY, "crate/engine/src/gateway/proxy/dispatch.rs"),
    }
}

/// Adapters are loaded.
pub(crate) const LOADING: Rule =
    rule("adapter_loading", "adapter loading", ADAPTERS, "crate/engine/src/replica/adapters.rs");

/// An autoscaler decides.
pub(crate) const FAILURE: Rule =
    rule("failures", "failures of replicas", AUTOSCALING, "crate/engine/src/engine/failures.rs");
pub(crate) const SCALING: Rule =
    rule("autoscaling", "autoscaling", AUTOSCALING, "crate/engine/src/scaling.rs");

/// The rule by which a queue is ordered.
pub(crate) fn order(policy: &QueuePolicy) -> Rule {
    match policy {
        QueuePolicy::Fcfs => {
            rule("fcfs", "first come, first served", ORDERS, "crate/engine/src/replica/queue/fcfs.rs")
        }
        QueuePolicy::Lifo => {
            rule("lifo", "last come, first served", ORDERS, "crate/engine/src/replica/queue/lifo.rs")
        }
        QueuePolicy::Sjf => {
            rule("sjf", "shortest predicted output first", ORDERS, "crate/engine/src/replica/queue/sjf.rs")
        }
        QueuePolicy::Priority { .. } => {
            rule("priority", "priority with aging", ORDERS, "crate/engine/src/replica/queue/priority.rs")
        }
        QueuePolicy::Vtc(_) => {
            rule("vtc", "virtual token counter", ORDERS, "crate/engine/src/replica/queue/vtc.rs")
        }
        QueuePolicy::Drr(_) => {
            rule("drr", "deficit round robin", ORDERS, "crate/engine/src/replica/queue/drr.rs")
        }
        QueuePolicy::Rpm { .. } => rule(
            "rpm",
            "first come, first served, with requests per minute",
            ORDERS,
            "crate/engine/src/replica/queue/rpm.rs",
        ),
        QueuePolicy::Cluster { .. } => rule(
            "cluster",
            "S-LoRA: running adapters first",
            ORDERS,
            "crate/engine/src/replica/scheduler/slora/cluster.rs",
        ),
        QueuePolicy::Peft => rule(
            "peft",
            "S-LoRA: one adapter at a time",
            ORDERS,
            "crate/engine/src/replica/scheduler/slora/peft.rs",
        ),
        QueuePolicy::Pets => {
            rule("pets", "S-LoRA: PetS batching", ORDERS, "crate/engine/src/replica/scheduler/slora/pets.rs")
        }
        QueuePolicy::EarlyAbort { .. } => rule(
            "early_abort",
            "S-LoRA: early abort",
            ORDERS,
            "crate/engine/src/replica/scheduler/slora/early_abort.rs",
        ),
    }
}
