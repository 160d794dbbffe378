//! Limits on the length of requests that a trace breaks, and the values that accept its requests.

use servescope_engine::metrics::CutOutputs;
use servescope_engine::{PoolConfig, Rejection, Report, rejection};
use servescope_settings::diagnostic::Diagnostic;
use servescope_settings::parameters::{Id, Value};
use servescope_settings::scenario::{AdapterRanks, Scenario};
use servescope_workload::Trace;

/// Limits that would accept requests which are rejected for their length.
#[derive(Debug, Clone, PartialEq)]
pub struct Raised {
    /// The limits to raise, and the values to raise them to, tokens.
    pub limits: Vec<(Id, u32)>,
    /// Requests that are rejected for their length now.
    pub rejected: usize,
    /// Those of them that are rejected with the raised limits all the same: their KV cache or adapter does not fit.
    pub remaining: usize,
}

/// The limits that a trace breaks, with the smallest values that do not reject a request for its length; `None` where no limit
/// is broken that can be raised.
pub fn raised(scenario: &Scenario, trace: &Trace) -> Option<Raised> {
    let config = config_of(scenario, trace)?;
    let rejected = rejected(&config, trace);
    let is_broken = |reason: &Rejection| {
        matches!(reason, Rejection::InputTooLong | Rejection::RequestTooLong | Rejection::PromptOverBatch)
    };
    if !rejected.iter().any(|(_, reason)| is_broken(reason)) {
        return None;
    }
    let mut scenario = scenario.clone();
    let mut limits = Vec::new();
    let mut left = rejected.clone();
    // A request may break one limit after another: each is raised where it rejects a request once those before it are.
    for (limit, broken) in [
        (Id::MaxInputTokens, Rejection::InputTooLong),
        (Id::MaxRequestTokens, Rejection::RequestTooLong),
        (Id::BatchMaxTokens, Rejection::PromptOverBatch),
    ] {
        let needs = |id: usize| needed(&scenario, limit, trace, id);
        let most = left.iter().filter(|(_, reason)| *reason == broken).map(|&(id, _)| needs(id)).max();
        let Some(most) = most.filter(|&most| f64::from(most) > scenario.number(limit)) else { continue };
        if scenario.set(limit, Value::Number(f64::from(most))).is_err() {
            continue;
        }
        limits.push((limit, most));
        left = self::rejected(&config_of(&scenario, trace)?, trace);
    }
    (!limits.is_empty()).then_some(Raised { limits, rejected: rejected.len(), remaining: left.len() })
}

/// The value of a limit that a request needs, tokens.
fn needed(scenario: &Scenario, limit: Id, trace: &Trace, id: usize) -> u32 {
    let (input, max) = (trace.input_tokens[id], trace.max_tokens[id]);
    match limit {
        // SGLang rejects a prompt that leaves fewer tokens of the longest request than these.
        Id::MaxRequestTokens if scenario.is_sglang() => input.saturating_add(7),
        Id::MaxRequestTokens => input.saturating_add(max),
        // A scheduler that does not cut prompts counts the first token of the output with a recomputed prompt, too.
        // TensorRT-LLM counts the prompt alone.
        Id::BatchMaxTokens if scenario.is_trtllm() => input,
        Id::BatchMaxTokens if scenario.scheduler().budget_counts_decodes => input.saturating_add(max),
        _ => input,
    }
}

fn config_of(scenario: &Scenario, trace: &Trace) -> Option<PoolConfig> {
    scenario.pool_for(AdapterRanks::of(trace)).ok()
}

/// The requests that are rejected whatever else is in the service, and why.
fn rejected(config: &PoolConfig, trace: &Trace) -> Vec<(usize, Rejection)> {
    let reason = |id: usize| {
        let rank = trace.rank_of(trace.adapter[id]);
        Some((id, rejection(config, trace.input_tokens[id], trace.max_tokens[id], rank)?))
    };
    (0..trace.len()).filter_map(reason).collect()
}

/// The warning about limits that reject requests of the run, with the settings that accept them.
pub(crate) fn warning(scenario: &Scenario, report: &Report) -> Option<Diagnostic> {
    let Raised { limits, rejected, remaining } = raised(scenario, &report.trace)?;
    let settings: Vec<String> =
        limits.iter().map(|(id, tokens)| format!("{}={tokens}", id.row().id)).collect();
    let options: Vec<String> = settings.iter().map(|setting| format!("--set {setting}")).collect();
    let rest = match remaining {
        0 => String::new(),
        left => format!("; {left} of them do not fit into memory all the same"),
    };
    let requests = report.results.len();
    let message = format!(
        "{rejected} of {requests} requests are rejected: they are longer than the limits of the server; {} accepts them{rest}",
        options.join(" ")
    );
    Some(
        Diagnostic::warning("limits_too_low", limits[0].0.row().id, message)
            .number("rejected", rejected as f64)
            .number("requests", requests as f64)
            .number("remaining", remaining as f64)
            .text("settings", &settings.join(" ")),
    )
}

/// The warning about outputs that were cut at the longest request, with the length that the longest one asks for.
pub(crate) fn cut_warning(scenario: &Scenario, trace: &Trace, cut: CutOutputs) -> Option<Diagnostic> {
    if cut.requests == 0 {
        return None;
    }
    let longest =
        trace.input_tokens.iter().zip(&trace.output_tokens).map(|(a, b)| a.saturating_add(*b)).max();
    let (path, needed, limit) =
        (Id::MaxRequestTokens.row().id, longest.unwrap_or(0), scenario.number(Id::MaxRequestTokens));
    let CutOutputs { requests, of_requests, tokens, of_tokens } = cut;
    let message = format!(
        "{requests} of {of_requests} outputs were cut at max_model_len ({limit} tokens); {tokens} of {of_tokens} tokens not made; the \
         longest request asks for {path}={needed}"
    );
    let warning = Diagnostic::warning("outputs_cut", path, message);
    Some(with_counts(warning, cut).number("limit", limit).number("needed", needed.into()))
}

/// A warning about cut outputs with what its message counts.
pub(crate) fn with_counts(warning: Diagnostic, cut: CutOutputs) -> Diagnostic {
    let CutOutputs { requests, of_requests, tokens, of_tokens } = cut;
    [("requests", requests), ("of_requests", of_requests), ("tokens", tokens), ("of_tokens", of_tokens)]
        .into_iter()
        .fold(warning, |warning, (name, count)| warning.number(name, count as f64))
}

#[cfg(test)]
mod tests {
    use servescope_traces::loaded_trace::LoadedTrace;

    use super::*;
    use crate::run::Run;

    /// Prompts and outputs, tokens.
    fn trace(lengths: &[[u32; 2]]) -> Trace {
        let rows = lengths.iter().enumerate().map(|(i, [a, b])| format!("{i},{a},{b}"));
        let head = "arrival_s,input_tokens,output_tokens".to_owned();
        let text = std::iter::once(head).chain(rows).collect::<Vec<_>>().join("\n");
        servescope_workload::formats::read(text.as_bytes()).expect("a table").trace
    }

    fn scenario(settings: &[(&str, &str)]) -> Scenario {
        Scenario::of_version(4).with(settings).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn the_raised_limits_accept_every_request_and_no_smaller_ones_do() {
        let trace = trace(&[[100, 50], [5000, 10], [2500, 2000], [7000, 400]]);
        for kind in ["slora", "lightllm", "vllm", "static", "orca", "sarathi", "vllm_v1", "sglang", "trtllm"]
        {
            let scenario = scenario(&[
                ("scheduler.kind", kind),
                ("fleet.kv_pool", "given"),
                ("workload.adapters.count", "0"),
                ("scheduler.max_request_tokens", "3072"),
            ]);
            let raised = raised(&scenario, &trace).unwrap_or_else(|| panic!("{kind}"));
            assert_eq!(raised.remaining, 0, "{kind}: {raised:?}");
            assert!(raised.rejected >= 1, "{kind}: {raised:?}");
            let mut accepting = scenario.clone();
            for &(id, tokens) in &raised.limits {
                accepting.set(id, Value::Number(tokens.into())).unwrap();
            }
            assert!(rejected(&config_of(&accepting, &trace).unwrap(), &trace).is_empty(), "{kind}");
            for &(id, tokens) in &raised.limits {
                let mut less = accepting.clone();
                // These cut an output at the limit, which rejects no request.
                let cuts = matches!(kind, "vllm_v1" | "trtllm") && id == Id::MaxRequestTokens;
                let below = if cuts { 7000 } else { tokens - 1 };
                less.set(id, Value::Number(below.into())).unwrap();
                let refused = rejected(&config_of(&less, &trace).unwrap(), &trace);
                assert!(!refused.is_empty(), "{kind}: {} = {below}", id.row().id);
            }
            let loaded = LoadedTrace::from_trace("t.csv", trace.clone());
            let run = Run::simulate(&scenario, Some(&loaded)).unwrap_or_else(|errors| panic!("{errors:?}"));
            let warning = warning(&scenario, &run.report).expect("a warning");
            assert!(warning.message.contains("--set scheduler."), "{}", warning.message);
            let run = Run::simulate(&accepting, Some(&loaded)).unwrap_or_else(|errors| panic!("{errors:?}"));
            assert_eq!(run.summary().run.requests.rejected_total, 0, "{kind}");
        }
    }

    #[test]
    fn outputs_that_are_cut_are_told() {
        let loaded = LoadedTrace::from_trace("t.csv", trace(&[[2000, 4000], [2000, 4000], [10, 20]]));
        let run = |settings: &[(&str, &str)]| {
            let scenario = scenario(&[&[("scheduler.kind", "vllm_v1")], settings].concat());
            Run::simulate(&scenario, Some(&loaded)).unwrap_or_else(|errors| panic!("{errors:?}"))
        };
        let cut = run(&[("scheduler.max_request_tokens", "3072")]);
        let summary = cut.summary();
        let expected = CutOutputs { requests: 2, of_requests: 3, tokens: 2 * 2928, of_tokens: 8020 };
        assert_eq!(summary.run.cut_outputs, expected);
        assert_eq!(summary.run.pd_ratio, Some(4010.0 / f64::from(2 * 1072 + 20)));
        let of_users: u64 = summary.run.per_user.iter().map(|row| row.output_tokens).sum();
        assert_eq!(of_users, 2 * 1072 + 20);
        let warning =
            summary.warnings.iter().find(|warning| warning.code == "outputs_cut").expect("a warning");
        assert!(warning.message.starts_with(
            "2 of 3 outputs were cut at max_model_len (3072 tokens); 5856 of 8020 tokens not made"
        ));
        // Where no model is named, what fits into the pool is the bound.
        let whole = run(&[]).summary();
        assert_eq!(
            whole.run.cut_outputs,
            CutOutputs { of_requests: 3, of_tokens: 8020, ..CutOutputs::default() }
        );
        assert!(whole.warnings.iter().all(|warning| warning.code != "outputs_cut"));
    }

    #[test]
    fn what_no_limit_rejects_is_no_matter_of_limits() {
        assert_eq!(raised(&Scenario::of_version(4), &trace(&[[100, 50]])), None);
        // More than the whole pool: memory, not a limit.
        let large = scenario(&[
            ("scheduler.max_input_tokens", "100000"),
            ("scheduler.max_request_tokens", "100000"),
            ("scheduler.batch_max_tokens", "100000"),
        ]);
        assert_eq!(raised(&large, &trace(&[[50_000, 50]])), None);
    }
}
