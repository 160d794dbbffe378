//! What no scheduler of one replica can exceed with linear iteration times: the batch full all the time, the KV memory, or the
//! token budget of iterations.

use servescope_settings::parameters::{Id, Value};
use servescope_settings::scenario::Scenario;

use super::{ClosedFormValue, ConditionTest, LENGTHS, Wanted, mean_prompt, output};

/// The least of the rate at which requests come, what a full batch serves, c / (m (a + b c)), and what the KV memory lets
/// through, M / (a E\[s o + o (o + 1) / 2\]) (Nie, Si and Zhou, ICML 2026), m decode iterations a request, s tokens of prompt
/// and o of output. Prefills come on top, so they only lower what is served.
pub(super) fn throughput(test: &mut ConditionTest<'_>) -> Option<ClosedFormValue> {
    let scenario = test.scenario;
    for (id, wanted) in [
        (Id::CostKind, Value::Choice("linear")),
        (Id::PrefixKind, Value::Choice("none")),
        (Id::Replicas, Value::Number(1.0)),
        (Id::DataParallel, Value::Number(1.0)),
        (Id::PipelineParallel, Value::Number(1.0)),
    ] {
        test.needs(id, scenario.get(id) == wanted || !scenario.is_active(id), Wanted::Is(wanted));
    }
    test.needs(Id::OutputKind, output(scenario).is_some(), Wanted::OneOf(LENGTHS));
    let prompt = mean_prompt(scenario);
    test.needs(Id::InputKind, prompt.is_some(), Wanted::OneOf(LENGTHS));
    let ((mean, variance), prompt) = (output(scenario)?, prompt?);
    let (a, b) = (scenario.number(Id::DecodeBase) / 1e3, scenario.number(Id::DecodePerRequest) / 1e3);
    let most = scenario.number(Id::MaxRunning);
    let by_batch = most / ((mean - 1.0) * (a + b * most));
    // The first token comes out of the prefill, so of o tokens o - 1 are decoded.
    let held = (prompt + 0.5) * (mean - 1.0) + 0.5 * (variance + (mean - 1.0) * (mean - 1.0));
    let by_memory = scenario.number(Id::MaxTotalTokens) / (a * held);
    // Clients that wait for their answers, and sessions of several requests, offer another rate than the one that is set.
    let is_open = scenario.choice(Id::Loop) == "open" && scenario.choice(Id::SessionKind) == "none";
    let rate = if is_open { scenario.number(Id::Rate) } else { f64::INFINITY };
    let by_budget =
        token_budget(scenario).map_or(f64::INFINITY, |budget| by_budget(scenario, budget, prompt, mean));
    let bounds = [
        ("upper bound: offered rate", rate),
        ("upper bound: full batch", by_batch),
        ("upper bound: KV memory", by_memory),
        ("upper bound: token budget", by_budget),
    ];
    let least =
        bounds.into_iter().filter(|(_, bound)| bound.is_finite()).min_by(|a, b| a.1.total_cmp(&b.1))?;
    Some(ClosedFormValue { name: least.0, value: least.1 })
}

/// The most tokens of an iteration, of prompts and of outputs together, where the scheduler has such a budget: the chunk of
/// Sarathi-Serve, `max_num_batched_tokens` of vLLM v1 with chunked prefill.
fn token_budget(scenario: &Scenario) -> Option<f64> {
    let scheduler = scenario.scheduler();
    let cuts_prompts =
        !scenario.is_active(Id::ChunkedPrefill) || scenario.get(Id::ChunkedPrefill) == Value::Flag(true);
    (scheduler.budget_counts_decodes && cuts_prompts).then(|| scenario.number(scheduler.iteration_tokens))
}

/// What a token budget b lets through (B2, after arXiv 2504.07347): a request takes p prompt tokens and o - 1 decode tokens, so n
/// requests take at least n (p + o - 1) / b iterations. Each of these costs its base, of a prefill or of a decode iteration,
/// whichever is less, and each token its own time on top.
fn by_budget(scenario: &Scenario, budget: f64, prompt: f64, mean: f64) -> f64 {
    let s = |id: Id| scenario.number(id) / 1e3;
    let base = s(Id::PrefillBase).min(s(Id::DecodeBase) + s(Id::Overhead));
    let decodes = mean - 1.0;
    let tokens_s = prompt * s(Id::PrefillPerToken) + decodes * s(Id::DecodePerRequest);
    1.0 / ((prompt + decodes) / budget * base + tokens_s)
}
