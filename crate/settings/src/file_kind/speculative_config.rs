//! vLLM's `--speculative-config`: JSON (vllm/config/speculative.py).

use serde_json::Value as Json;
use servescope_cost::models::Model;

use super::launch_line::{json_of, model_named};
use crate::parameters::Id;

/// The flag.
pub(super) const FLAG: &str = "speculative-config";

/// The settings of the flag in a line, as `PATH=VALUE`; nothing: the line does not have it, or it cannot be read.
pub(super) fn settings(line: &str) -> Option<Vec<String>> {
    let config = json_of(line, FLAG)?;
    let drafter = config["model"].as_str().and_then(model_named);
    let method = match config["method"].as_str() {
        Some("ngram") => "ngram",
        Some("draft_model") => "draft_model",
        Some("eagle" | "eagle3") => "eagle",
        Some(name) if name.contains("mtp") => "mtp",
        None if drafter.is_some() => "draft_model",
        _ => return None,
    };
    let mut settings = Vec::new();
    let mut set = |id: Id, value: &str| settings.push(format!("{}={value}", id.row().id));
    set(Id::SpecMethod, method);
    if let Some(drafts) = config["num_speculative_tokens"].as_u64() {
        set(Id::SpecTokens, &drafts.to_string());
    }
    if let (Some(drafter), "draft_model") = (drafter.and_then(Model::named), method) {
        set(Id::SpecDraftModel, drafter.id);
    }
    if let Some(ranges) = numbers(&config["num_speculative_tokens_per_batch_size"]) {
        set(Id::SpecGate, "dynamic");
        set(Id::SpecSchedule, &ranges);
    }
    if let Some(rates) = numbers(&config["synthetic_acceptance_rates"]) {
        set(Id::SpecAcceptance, "positions");
        set(Id::SpecPositions, &rates);
    }
    if let Some(length) = config["synthetic_acceptance_length"].as_f64() {
        set(Id::SpecAcceptance, "length");
        set(Id::SpecLength, &length.to_string());
    }
    Some(settings)
}

/// The numbers of a list, or of its lists, after one another.
fn numbers(list: &Json) -> Option<String> {
    let entries = list.as_array()?.iter();
    let each: Vec<String> = entries
        .flat_map(|entry| entry.as_array().map_or_else(|| std::slice::from_ref(entry), Vec::as_slice))
        .map(Json::to_string)
        .collect();
    Some(each.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;
    use crate::vllm_serve::vllm_serve;

    #[test]
    fn what_is_written_is_read() {
        let usual = [("scheduler.kind", "vllm_v1"), ("cost.kind", "roofline")];
        let cases: [&[(&str, &str)]; 5] = [
            &[("cost.speculation.method", "ngram"), ("cost.speculation.num_speculative_tokens", "5")],
            &[("cost.speculation.method", "eagle"), ("cost.speculation.gate", "batch_below")],
            &[("cost.speculation.method", "mtp"), ("cost.speculation.gate", "dynamic")],
            &[("cost.speculation.method", "draft_model"), ("cost.speculation.draft_model", "qwen3-0.6b")],
            &[],
        ];
        for case in cases {
            let all: Vec<(&str, &str)> = usual.iter().chain(case).copied().collect();
            let scenario = Scenario::of_version(4).with(&all).unwrap();
            let line = vllm_serve(&scenario, None).unwrap();
            let read = settings(&line).unwrap_or_default();
            let mut again = Scenario::of_version(4).with(&usual).unwrap();
            for setting in &read {
                let (path, value) = setting.split_once('=').unwrap();
                again.set_text(path, value).unwrap();
            }
            assert_eq!(again.pool().speculation, scenario.pool().speculation, "{line}");
            assert_eq!(read.is_empty(), case.is_empty(), "{line}");
        }
    }

    #[test]
    fn methods_go_by_several_names() {
        let method = |json: &str| {
            let line = format!("vllm serve m --speculative-config '{json}' --max-num-seqs 8");
            settings(&line).map(|all| all[0].rsplit('=').next().unwrap_or("").to_owned())
        };
        assert_eq!(method(r#"{"method": "eagle3", "num_speculative_tokens": 2}"#).as_deref(), Some("eagle"));
        assert_eq!(method(r#"{"method":"deepseek_mtp"}"#).as_deref(), Some("mtp"));
        assert_eq!(
            method(r#"{"model": "meta-llama/Llama-3.2-1B-Instruct"}"#).as_deref(),
            Some("draft_model")
        );
        assert_eq!(method(r#"{"method": "medusa"}"#), None);
        assert_eq!(method("{"), None);
    }
}
