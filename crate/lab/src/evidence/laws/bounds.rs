//! What no scheduler of one replica can exceed with linear iteration times: the batch full all the time, or the KV memory.

use super::{LENGTHS, Law, Test, Wanted, mean_prompt, output};
use crate::parameters::{Id, Value};

/// The least of the rate at which requests come, what a full batch serves, c / (m (a + b c)), and what the KV memory lets
/// through, M / (a E\[s o + o (o + 1) / 2\]) (Nie, Si and Zhou, ICML 2026), m decode iterations a request, s tokens of prompt and o
/// of output. Prefills come on top, so they only lower what is served.
pub(super) fn throughput(test: &mut Test<'_>) -> Option<Law> {
    let scenario = test.scenario;
    for (id, wanted) in [
        (Id::CostKind, Value::Choice("linear")),
        (Id::PrefixKind, Value::Choice("none")),
        (Id::Replicas, Value::Number(1.0)),
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
    let bounds = [("offered rate", rate), ("full batch", by_batch), ("KV memory", by_memory)];
    let least =
        bounds.into_iter().filter(|(_, bound)| bound.is_finite()).min_by(|a, b| a.1.total_cmp(&b.1))?;
    Some(Law { name: least.0, value: least.1 })
}
