//! The sentences of the debugger: a code with parameters, for the page to put into the words of its language, and in English.

use std::collections::BTreeMap;

use serde::Serialize;
use servescope_engine::decisions::{Decision, Test, Verdict};
use servescope_engine::{ReplicaFailure, ScalingDecision, ScalingInput, ScalingLimit};
use servescope_settings::diagnostic::Param;

/// A sentence.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "StepText"))]
pub struct Sentence {
    /// One of [`SENTENCES`].
    pub code: &'static str,
    /// What fills its places.
    pub params: BTreeMap<&'static str, Param>,
    /// In English.
    pub text: String,
}

/// Every sentence with its code; `{name}` is a place for a parameter.
pub const SENTENCES: &[(&str, &str)] = &[
    ("forwarded", "The gateway forwards request {request} to the engine."),
    ("routed", "The router sends request {request} to this replica."),
    (
        "gateway_waits",
        "Request {request} stays at the head of the gateway's queue, and no other request is forwarded.",
    ),
    (
        "gateway_skipped",
        "Request {request} waits for a limit of its own client. Requests of other clients go on.",
    ),
    (
        "disaggregated",
        "A prefill replica computes the prompt of request {request}; this replica pulls its KV blocks and decodes.",
    ),
    ("aggregated", "This replica computes the prompt of request {request} itself; no KV block is copied."),
    ("admitted", "Request {request} is admitted: it joins the batch."),
    (
        "loads",
        "Request {request} begins to load KV blocks from host memory or from the prefill replica: it holds blocks, takes no token of the budget, and joins the batch when the copy has ended. Requests behind it go on.",
    ),
    ("waits", "Request {request} stays in the waiting queue, and no request behind it is admitted."),
    ("queue_waits", "No waiting request is admitted."),
    ("skipped", "Request {request} stays in the waiting queue. Requests behind it go on."),
    (
        "awaits_input",
        "The answer to request {request} has ended. Its session keeps KV blocks and place until further input comes.",
    ),
    ("drafts_dropped", "Drafts of request {request} do not fit into this iteration and are dropped."),
    (
        "drafts_padded",
        "Request {request} gets as many rows as the requests with drafts. It has no drafts yet: its further rows are padding, and nothing comes out of them.",
    ),
    (
        "preempted",
        "Request {request} is preempted for request {other}. Its KV cache is freed and computed again later.",
    ),
    (
        "preempted_itself",
        "Request {request} is preempted: it needs KV blocks and no other request gives any. Its KV cache is freed and computed again later.",
    ),
    (
        "swapped_out",
        "Request {request} is preempted for request {other}. Its KV cache is copied to the host.",
    ),
    (
        "swapped_out_itself",
        "Request {request} is preempted: it needs KV blocks and no other request gives any. Its KV cache is copied to the host.",
    ),
    ("swapped_in", "Request {request} joins the batch again. Its KV cache is copied back from the host."),
    ("rejected", "Request {request} is rejected ({reason})."),
    ("timed_out", "Request {request} waited longer than it may and leaves the queue."),
    ("loaded", "Adapters are loaded into GPU memory: {adapters}."),
    ("kv_blocks_pass", "KV blocks that it needs, those that must stay free included: {need}; free: {have}."),
    (
        "kv_blocks_fail",
        "KV blocks that it needs, those that must stay free included: {need}; free: only {have}.",
    ),
    ("kv_blocks_preempt", "KV blocks that request {other} needs besides its own: {need}; free: {have}."),
    (
        "peak_tokens_pass",
        "With it the batch holds {need} KV tokens at its worst moment. That is less than the limit of {have}.",
    ),
    (
        "peak_tokens_fail",
        "With it the batch holds {need} KV tokens at its worst moment. That is not less than the limit of {have}.",
    ),
    (
        "expected_tokens_pass",
        "With its longest output and a page it may need {need} KV tokens. That is less than the {have} that are free or evictable beside what running requests are expected to need.",
    ),
    (
        "expected_tokens_fail",
        "With its longest output and a page it may need {need} KV tokens. That is not less than the {have} that are free or evictable beside what running requests are expected to need.",
    ),
    ("expected_tokens_ahead", "Looking ahead, memory would run out before enough running requests end."),
    (
        "unreserved_blocks_pass",
        "It may need {need} KV blocks for its prompt and its max_tokens, and {have} are free that no running request may come to need.",
    ),
    (
        "unreserved_blocks_fail",
        "It may need {need} KV blocks for its prompt and its max_tokens, but only {have} are free that no running request may come to need.",
    ),
    (
        "prefix_under_way",
        "The next block of its prompt is computed for another request; it will find it later.",
    ),
    ("prompt_count", "This batch has as many prompts as it may."),
    (
        "token_budget_sum",
        "With it the prompts of this iteration have {need} tokens; the token budget is {have}.",
    ),
    ("token_budget_left", "Tokens that it needs of the token budget: {need}; left: {have}."),
    ("token_budget_used", "The token budget of this iteration is used up."),
    ("token_budget_later", "Prompts wait for a later iteration, so that requests that decode go on."),
    ("prompt_over_budget", "Its prompt has {need} tokens; the token budget is {have}."),
    ("running_cap", "It would be running request number {need}; at most {have} may run."),
    ("lora_slots", "Its adapter would be number {need} in use; there are {have} LoRA slots."),
    ("tokens_under_way", "{need} of its tokens are still being computed."),
    ("copy_under_way", "A KV block of it is being copied to host memory, or from it for another request."),
    ("request_tokens", "It has {need} tokens; at most {have} are accepted."),
    ("lora_rank", "Its adapter has rank {need}; the LoRA slots are made for at most {have}."),
    ("in_system", "It would be request number {need} in the service; at most {have} may be."),
    ("requests_per_minute", "Its client has used up its requests per minute."),
    ("tokens_per_minute", "Its client has used up its tokens per minute."),
    ("concurrency", "It would be request number {need} at the engine; at most {have} may be."),
    ("client_concurrency", "Its client has as many requests at the engine as it may."),
    (
        "kv_reservation",
        "Its predicted {need} tokens do not fit: {have} tokens of the KV pool are free and not reserved.",
    ),
    ("cached_prompt", "Tokens of its prompt: {need}; believed to be cached here: {have}."),
    (
        "uncached_prompt",
        "Prompt tokens that the decode replica has not cached: {need}; from {have} on a prefill replica computes the prompt.",
    ),
    (
        "prefill_load",
        "Prompt tokens that wait at the prefill replica: {need}; it is given more up to {have}.",
    ),
    (
        "rank_requests",
        "Requests of its front end on this rank: {need}; waiting or running there by the last message: {have}.",
    ),
    ("fair_share", "The service is overloaded, and its client has used more than an equal share."),
    ("kv_pool", "It does not fit the KV pool, not even alone."),
    (
        "scaled",
        "The autoscaler reads {input}: {value}, compared with {bound}. Replicas ready: {ready}, starting: {starting}; its rule wishes for {wished}.",
    ),
    (
        "scaled_unseen",
        "The autoscaler has read nothing yet. Replicas ready: {ready}, starting: {starting}; the number stays.",
    ),
    (
        "replica_failed",
        "Replica {replica} fails. Requests that waited or ran there and are lost: {requests}. Another one starts in its place.",
    ),
    ("scaling_none", "Replicas that there are to be: {have}, as the rule wishes."),
    ("scaling_min", "Replicas that there are to be: {have}, the fewest that are allowed (wish: {need})."),
    ("scaling_max", "Replicas that there are to be: {have}, the most that are allowed (wish: {need})."),
    (
        "scaling_step_up",
        "Replicas that there are to be: {have}; a decision adds no more of them (wish: {need}).",
    ),
    (
        "scaling_step_down",
        "Replicas that there are to be: {have}; a decision takes no more of them away (wish: {need}).",
    ),
    (
        "scaling_stabilization",
        "Replicas that there are to be: {have}; a wish of the stabilization window stands against the new one (wish: {need}).",
    ),
    (
        "scaling_cooldown",
        "Replicas that there are to be: {have}; the pause after the last change is not over (wish: {need}).",
    ),
    (
        "scaling_starting",
        "Replicas that there are to be: {have}; the rule changes nothing while a replica starts (wish: {need}).",
    ),
];

/// What a reason of a rejection is called.
pub const REASONS: &[(&str, &str)] = &[
    ("input_too_long", "prompt too long"),
    ("request_too_long", "prompt and output too long"),
    ("pool_too_small", "longer than the KV pool"),
    ("never_fits", "never fits beside its adapter"),
    ("prompt_over_batch", "prompt over the token budget"),
    ("rate_limit", "rate limit"),
    ("token_quota", "token quota"),
    ("concurrency", "concurrency limit"),
    ("early_abort", "its first token would be too late"),
    ("queue_full", "queue full"),
    ("late_first_token", "first token expected too late"),
    ("overload", "overload"),
    ("lora_rank", "rank above the LoRA slots"),
    ("kv_load", "its KV blocks could not be pulled"),
    ("replica_failed", "its replica failed"),
];

fn of_table(
    table: &'static [(&'static str, &'static str)],
    name: &str,
) -> Option<&'static (&'static str, &'static str)> {
    table.iter().find(|row| row.0 == name)
}

impl Sentence {
    /// A sentence of the table.
    pub(crate) fn new(code: &'static str, params: impl IntoIterator<Item = (&'static str, Param)>) -> Self {
        let params: BTreeMap<&'static str, Param> = params.into_iter().collect();
        let mut text = of_table(SENTENCES, code).map_or(code, |row| row.1).to_owned();
        for (name, value) in &params {
            let value = match value {
                // A request, an adapter or a user has a number for a name.
                Param::Number(number) if NAMES.contains(name) => number.to_string(),
                Param::Number(number) => in_thousands(*number),
                Param::Text(text) if *name == "reason" => {
                    of_table(REASONS, text).map_or(text.as_str(), |row| row.1).to_owned()
                }
                Param::Text(text) => text.clone(),
            };
            text = text.replace(&format!("{{{name}}}"), &value);
        }
        Self { code, params, text }
    }
}

/// Parameters that name something.
const NAMES: [&str; 5] = ["request", "other", "adapter", "user", "replica"];

/// A number with a comma between its thousands.
fn in_thousands(number: f64) -> String {
    let plain = number.to_string();
    let (whole, rest) = plain.split_at(plain.find('.').unwrap_or(plain.len()));
    let digits = whole.len() - usize::from(whole.starts_with('-'));
    let mut grouped = String::new();
    for (place, digit) in whole.chars().enumerate() {
        let left = whole.len() - place;
        if left < digits && left.is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped + rest
}

fn number(value: u32) -> Param {
    Param::Number(f64::from(value))
}

/// What was decided.
pub(crate) fn verdict(decision: &Decision) -> Sentence {
    let is_gateways = decision.replica().is_none();
    let Some(id) = decision.request() else { return Sentence::new("queue_waits", []) };
    let request = ("request", number(id.get()));
    let other = decision.on_behalf_of().filter(|&other| other != id);
    let for_other = |code: &'static str, itself: &'static str| match other {
        Some(other) => Sentence::new(code, [("request", number(id.get())), ("other", number(other.get()))]),
        None => Sentence::new(itself, [("request", number(id.get()))]),
    };
    match decision.verdict {
        Verdict::Forwarded => Sentence::new("forwarded", [request]),
        Verdict::Routed => Sentence::new("routed", [request]),
        Verdict::Admitted => Sentence::new("admitted", [request]),
        Verdict::Disaggregated => Sentence::new("disaggregated", [request]),
        Verdict::Aggregated => Sentence::new("aggregated", [request]),
        Verdict::Loads => Sentence::new("loads", [request]),
        Verdict::Waits => Sentence::new(if is_gateways { "gateway_waits" } else { "waits" }, [request]),
        Verdict::Skipped => Sentence::new(if is_gateways { "gateway_skipped" } else { "skipped" }, [request]),
        Verdict::AwaitsInput => Sentence::new("awaits_input", [request]),
        Verdict::DraftsDropped => Sentence::new("drafts_dropped", [request]),
        Verdict::DraftsPadded => Sentence::new("drafts_padded", [request]),
        Verdict::Preempted => for_other("preempted", "preempted_itself"),
        Verdict::SwappedOut => for_other("swapped_out", "swapped_out_itself"),
        Verdict::SwappedIn => Sentence::new("swapped_in", [request]),
        Verdict::Rejected(reason) => {
            Sentence::new("rejected", [request, ("reason", Param::Text(reason.name().to_owned()))])
        }
        Verdict::TimedOut => Sentence::new("timed_out", [request]),
    }
}

/// What the test compared; none of a decision without a test. `sums_prompts`: whether the token budget is compared with all
/// prompts of the iteration.
pub(crate) fn test(decision: &Decision, sums_prompts: bool) -> Option<Sentence> {
    let compared = &decision.compared;
    let passes = matches!(decision.verdict, Verdict::Admitted | Verdict::Loads | Verdict::SwappedIn);
    let preempts = matches!(decision.verdict, Verdict::Preempted | Verdict::SwappedOut);
    let numbers = compared.numbers();
    let code = match (compared.test, numbers) {
        (Test::None, _) => return None,
        (Test::KvBlocks, None) => "kv_pool",
        (Test::KvBlocks, _) if preempts => "kv_blocks_preempt",
        (Test::KvBlocks, _) if passes => "kv_blocks_pass",
        (Test::KvBlocks, _) => "kv_blocks_fail",
        (Test::PeakTokens, _) if passes => "peak_tokens_pass",
        (Test::PeakTokens, _) => "peak_tokens_fail",
        (Test::ExpectedTokens, None) => "expected_tokens_ahead",
        (Test::PromptCount, _) => "prompt_count",
        (Test::ExpectedTokens, _) if passes => "expected_tokens_pass",
        (Test::ExpectedTokens, _) => "expected_tokens_fail",
        (Test::UnreservedBlocks, _) if passes => "unreserved_blocks_pass",
        (Test::UnreservedBlocks, _) => "unreserved_blocks_fail",
        (Test::PrefixUnderWay, _) => "prefix_under_way",
        (Test::TokenBudget, None) => "token_budget_later",
        (Test::TokenBudget, _) if decision.replica().is_none() => "prompt_over_budget",
        (Test::TokenBudget, Some((_, 0))) if decision.request().is_none() => "token_budget_used",
        (Test::TokenBudget, _) if sums_prompts => "token_budget_sum",
        (Test::TokenBudget, _) => "token_budget_left",
        (Test::RunningCap, _) => "running_cap",
        (Test::LoraSlots, _) => "lora_slots",
        (Test::TokensUnderWay, _) => "tokens_under_way",
        (Test::CopyUnderWay, _) => "copy_under_way",
        (Test::RequestTokens, _) => "request_tokens",
        (Test::LoraRank, _) => "lora_rank",
        (Test::InSystem, _) => "in_system",
        (Test::RequestsPerMinute, _) => "requests_per_minute",
        (Test::TokensPerMinute, _) => "tokens_per_minute",
        (Test::Concurrency, None) => "client_concurrency",
        (Test::Concurrency, _) => "concurrency",
        (Test::KvReservation, _) => "kv_reservation",
        (Test::CachedPrompt, _) => "cached_prompt",
        (Test::UncachedPrompt, _) => "uncached_prompt",
        (Test::PrefillLoad, _) => "prefill_load",
        (Test::RankRequests, _) => "rank_requests",
        (Test::FairShare, _) => "fair_share",
    };
    let mut params = Vec::new();
    if let Some((need, have)) = numbers {
        params.extend([("need", number(need)), ("have", number(have))]);
    }
    if code == "kv_blocks_preempt" {
        params.extend(decision.on_behalf_of().map(|other| ("other", number(other.get()))));
    }
    Some(Sentence::new(code, params))
}

/// A replica that fails, with what is lost.
pub(crate) fn failure(failure: &ReplicaFailure) -> Sentence {
    let replica = ("replica", number(u32::from(failure.replica.get())));
    Sentence::new("replica_failed", [replica, ("requests", number(failure.lost))])
}

/// What the rule of an autoscaler read, and what it wishes for.
pub(crate) fn scaling(decision: &ScalingDecision) -> Sentence {
    /// Four digits behind the point are enough to compare.
    fn rounded(value: f64) -> Param {
        Param::Number((value * 1e4).round() / 1e4)
    }
    let counts = [("ready", number(decision.ready)), ("starting", number(decision.starting))];
    if decision.input == ScalingInput::Nothing {
        return Sentence::new("scaled_unseen", counts);
    }
    let read = [
        ("input", Param::Text(decision.input.name().to_owned())),
        ("value", rounded(decision.value)),
        ("bound", rounded(decision.bound)),
        ("wished", number(decision.wished)),
    ];
    Sentence::new("scaled", counts.into_iter().chain(read))
}

/// What stood between the wish and the number of replicas.
pub(crate) fn scaling_limit(decision: &ScalingDecision) -> Sentence {
    let code = match decision.limit {
        ScalingLimit::None => "scaling_none",
        ScalingLimit::Min => "scaling_min",
        ScalingLimit::Max => "scaling_max",
        ScalingLimit::StepUp => "scaling_step_up",
        ScalingLimit::StepDown => "scaling_step_down",
        ScalingLimit::Stabilization => "scaling_stabilization",
        ScalingLimit::Cooldown => "scaling_cooldown",
        ScalingLimit::Starting => "scaling_starting",
    };
    let need = (decision.limit != ScalingLimit::None).then(|| ("need", number(decision.wished)));
    Sentence::new(code, need.into_iter().chain([("have", number(decision.desired))]))
}

/// Adapters were loaded.
pub(crate) fn loaded(adapters: &[u32], count: u32) -> Sentence {
    let list: Vec<String> = adapters.iter().map(u32::to_string).collect();
    // One that was loaded and evicted within the look is not on the list.
    let list = if list.is_empty() { count.to_string() } else { list.join(", ") };
    Sentence::new("loaded", [("adapters", Param::Text(list))])
}

#[cfg(test)]
mod tests {
    #[test]
    fn thousands_are_kept_apart() {
        for (number, grouped) in
            [(7.0, "7"), (999.0, "999"), (1000.0, "1,000"), (-1_234_567.5, "-1,234,567.5"), (-123.0, "-123")]
        {
            assert_eq!(super::in_thousands(number), grouped);
        }
    }
}
