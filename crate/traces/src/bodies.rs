//! Request bodies as one text, for a page that saves them as a file.

use servescope_settings::diagnostic::Diagnostic;
use servescope_settings::parameters::Id;
use servescope_settings::scenario::{Scenario, sampling_problems};
use servescope_workload::Trace;
use servescope_workload::prompts::bodies::Texts;
use servescope_workload::prompts::{BodyLines, BodyOptions, Endpoint, Form, Synthesis};

/// Most characters of prompts that are made into one text.
pub const MOST_CHARACTERS: f64 = 256e6;

/// What stands in bodies beside a scenario's sampling.
#[derive(Debug, Clone, PartialEq)]
pub struct BodyNames {
    /// Form of the bodies.
    pub form: Form,
    /// Path of OpenAI's API.
    pub endpoint: Endpoint,
    /// Name of the base model.
    pub model: String,
    /// Pattern of adapter names, as [`BodyOptions`] has it.
    pub adapter_name: String,
}

/// The bodies of a trace, a line each, with made prompts and the scenario's sampling: the bytes that the terminal writes.
///
/// # Errors
/// What the system of the form does not take, or that the prompts are too long together.
pub fn bodies_text(scenario: &Scenario, trace: &Trace, names: BodyNames) -> Result<String, Vec<Diagnostic>> {
    let sampling = scenario.sampling();
    let problems = sampling_problems(&sampling, names.form);
    if !problems.is_empty() {
        return Err(problems);
    }
    let characters = trace.input_tokens.iter().map(|&tokens| f64::from(tokens)).sum::<f64>()
        * scenario.number(Id::CharactersPerToken);
    if characters > MOST_CHARACTERS {
        let message = format!(
            "{characters} characters of prompts are more than {MOST_CHARACTERS}; the terminal writes files of any length \
             (servescope generate --bodies)"
        );
        let error = Diagnostic::error("bodies_too_large", "", message);
        return Err(vec![error.number("value", characters).number("max", MOST_CHARACTERS)]);
    }
    let BodyNames { form, endpoint, model, adapter_name } = names;
    let options = BodyOptions { form, endpoint, model, adapter_name, sampling };
    let seed = scenario.number(Id::Seed) as u64;
    let texts = Texts::Made(Synthesis::by_ratio(seed, scenario.characters_per_token()));
    let failed = |error: servescope_workload::prompts::BodyError| {
        vec![Diagnostic::error("bad_sampling", "", error.to_string()).text("reason", &error.to_string())]
    };
    let mut lines = BodyLines::new(trace, texts, options).map_err(failed)?;
    let mut text = String::new();
    while lines.next_into(&mut text).map_err(failed)? {}
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(form: Form) -> BodyNames {
        let adapter_name = "lora-{adapter}-rank-{rank}".to_owned();
        BodyNames { form, endpoint: Endpoint::Chat, model: "llama-7b".to_owned(), adapter_name }
    }

    #[test]
    fn every_form_has_a_line_a_request_with_the_scenarios_sampling() {
        let mut scenario = Scenario::of_version(4);
        for (path, value) in [
            ("workload.duration_s", "10"),
            ("workload.sampling.do_sample", "true"),
            ("workload.sampling.temperature", "0.5"),
        ] {
            scenario.set_text(path, value).unwrap();
        }
        let trace = crate::arrivals::trace_of(&scenario, None).unwrap();
        for form in [Form::Slora, Form::OpenAi, Form::Vllm] {
            let text = bodies_text(&scenario, &trace, names(form)).unwrap();
            assert_eq!(text.lines().count(), 14);
            for line in text.lines() {
                let line: serde_json::Value = serde_json::from_str(line).unwrap();
                let body = &line["body"];
                let sampled = if form == Form::Slora { &body["parameters"] } else { body };
                assert_eq!((&sampled["do_sample"], &sampled["temperature"]), (&true.into(), &0.5.into()));
            }
        }
    }

    #[test]
    fn what_is_too_long_or_not_taken_is_refused() {
        let mut scenario = Scenario::of_version(4);
        scenario.set_text("workload.sampling.presence_penalty", "-1").unwrap();
        let trace = crate::arrivals::trace_of(&scenario, None).unwrap();
        let refused = bodies_text(&scenario, &trace, names(Form::Slora)).unwrap_err();
        assert_eq!(refused[0].path, "workload.sampling.presence_penalty");
        let mut long = (*trace).clone();
        long.input_tokens.fill(1_000_000);
        let refused = bodies_text(&scenario, &long, names(Form::Vllm)).unwrap_err();
        assert_eq!(refused[0].code, "bodies_too_large");
    }
}
