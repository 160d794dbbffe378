//! The scenario's sampling: what request bodies ask of the model that answers them.

use servescope_workload::OutputBounds;
use servescope_workload::prompts::sampling::Refused;
use servescope_workload::prompts::{CharactersPerToken, Form, Sampling};

use super::Scenario;
use crate::diagnostic::{Diagnostic, Reason};
use crate::parameters::{Id, string_list};

impl Scenario {
    /// How tokens are drawn.
    pub fn sampling(&self) -> Sampling {
        let top_k = self.number(Id::TopK);
        Sampling {
            do_sample: self.flag(Id::DoSample),
            temperature: self.number(Id::Temperature),
            top_p: self.number(Id::TopP),
            top_k: (top_k > 0.0).then_some(top_k as u32),
            presence_penalty: self.number(Id::PresencePenalty),
            frequency_penalty: self.number(Id::FrequencyPenalty),
            output_bounds: self.output_bounds(),
            stop_sequences: string_list::split(&self.get(Id::StopSequences).to_text()),
        }
    }

    /// What requests ask of the lengths of their answers, in a run and in bodies.
    pub fn output_bounds(&self) -> OutputBounds {
        let most = self.whole(Id::MaxNewTokens);
        OutputBounds {
            ignore_eos: self.flag(Id::IgnoreEos),
            min_tokens: self.whole(Id::MinTokens),
            max_new_tokens: (most > 0).then_some(most),
            pin_output: self.flag(Id::PinOutput),
        }
    }

    /// Characters of a token where no tokenizer counts.
    pub fn characters_per_token(&self) -> CharactersPerToken {
        CharactersPerToken::new(self.number(Id::CharactersPerToken)).unwrap_or(CharactersPerToken::DEFAULT)
    }
}

/// What the system of `form` would reject, each at its parameter.
pub fn sampling_problems(sampling: &Sampling, form: Form) -> Vec<Diagnostic> {
    let error = |refused: Refused| {
        let path = format!("workload.sampling.{}", refused.name());
        match refused {
            Refused::OutOfRange { value, min, max, system, .. } => {
                let message =
                    format!("{path}: {value} is not between {min} and {max}, which is what {system} takes");
                let error = Diagnostic::out_of_range(&path, value, min, max);
                Diagnostic { message, ..error }
            }
            Refused::EmptyStop => bad(&path, &refused, Reason::new("stop_empty")),
            Refused::StopAgainstPin { count } => {
                bad(&path, &refused, Reason::new("stop_pinned").number("count", count as f64))
            }
            Refused::NotKnown { system, .. } => {
                bad(&path, &refused, Reason::new("sampling_unknown").text("system", system))
            }
        }
    };
    sampling.refused_by(form).into_iter().map(error).collect()
}

fn bad(path: &str, refused: &Refused, reason: Reason) -> Diagnostic {
    let sentence = refused.to_string();
    let message = format!("workload.sampling.{sentence}");
    Diagnostic::error("bad_sampling", path, message).text("reason", &sentence).because(reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_system_refuses_is_told_at_its_parameter() {
        let mut scenario = Scenario::of_version(4);
        let reported = |scenario: &Scenario, form| -> Vec<String> {
            sampling_problems(&scenario.sampling(), form).into_iter().map(|error| error.message).collect()
        };
        assert!(Form::ALL.iter().all(|&form| reported(&scenario, form).is_empty()));
        scenario.set_text("workload.sampling.frequency_penalty", "-0.5").unwrap();
        assert_eq!(
            reported(&scenario, Form::Slora),
            ["workload.sampling.frequency_penalty: -0.5 is not between 0 and 2, which is what slora takes"]
        );
        assert!(reported(&scenario, Form::Vllm).is_empty());
        for (path, bad) in
            [("top_p", "0"), ("temperature", "2.1"), ("top_k", "-2"), ("presence_penalty", "3")]
        {
            assert!(scenario.set_text(&format!("workload.sampling.{path}"), bad).is_err(), "{path}");
        }
        assert!(scenario.set_text("workload.sampling.stop_sequences", &"x".repeat(1001)).is_err());
        scenario.set_text("workload.sampling.stop_sequences", "|x").unwrap();
        assert_eq!(
            reported(&scenario, Form::Vllm),
            ["workload.sampling.stop_sequences: an empty text ends no answer"]
        );
    }
}
