//! How a server draws an answer's tokens, and the limits that each system sets.
//!
//! Limits as the systems check them: S-LoRA `slora/server/sampling_params.py` (penalties not below 0, temperature not
//! negative, top_p in (0, 1], top_k -1 or at least 1, max_new_tokens at least 1), vLLM `sampling_params.py` (penalties
//! -2 to 2, temperature 0 to 2, top_p in (0, 1], no empty stop string), OpenAI's API reference (as vLLM, at most 4 stop
//! strings).

use super::form::Form;
use crate::output_bounds::OutputBounds;

/// Parameters of drawing tokens, the same for every request of a workload.
#[derive(Debug, Clone, PartialEq)]
pub struct Sampling {
    /// Whether tokens are drawn; otherwise the likeliest is taken.
    pub do_sample: bool,
    /// Flattens (above 1) or sharpens the distribution; 0 takes the likeliest.
    pub temperature: f64,
    /// Tokens are drawn from the likeliest that together have this probability.
    pub top_p: f64,
    /// Tokens are drawn from this many of the likeliest; `None` = from all.
    pub top_k: Option<u32>,
    /// Taken off the logits of tokens that have come up.
    pub presence_penalty: f64,
    /// Taken off the logits of tokens for each time they have come up.
    pub frequency_penalty: f64,
    /// What is asked of the lengths of answers.
    pub output_bounds: OutputBounds,
    /// Texts that end an answer.
    pub stop_sequences: Vec<String>,
}

impl Default for Sampling {
    fn default() -> Self {
        Self {
            do_sample: false,
            temperature: 1.0,
            top_p: 1.0,
            top_k: None,
            presence_penalty: 0.0,
            frequency_penalty: 0.0,
            output_bounds: OutputBounds::default(),
            stop_sequences: Vec::new(),
        }
    }
}

/// A parameter that a system would reject.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Refused {
    /// A number outside the system's bounds.
    #[error("{name}: {value} is not between {min} and {max} ({system})")]
    OutOfRange {
        /// Field of [`Sampling`].
        name: &'static str,
        /// Its value.
        value: f64,
        /// Smallest that the system takes.
        min: f64,
        /// Largest that the system takes.
        max: f64,
        /// Name of the system.
        system: &'static str,
    },
    /// A stop sequence without any character.
    #[error("stop_sequences: an empty text ends no answer")]
    EmptyStop,
    /// The system has no such parameter, and nothing else that it takes says the same.
    #[error(
        "{name}: {system} has no such parameter; ignore_eos or pin_output hold outputs to a length there"
    )]
    NotKnown {
        /// Field of [`Sampling`].
        name: &'static str,
        /// Name of the system.
        system: &'static str,
    },
    /// A pinned answer cannot be stopped by what it says.
    #[error("stop_sequences: {count} of them could cut an answer short that pin_output holds to its length")]
    StopAgainstPin {
        /// How many there are.
        count: usize,
    },
}

impl Refused {
    /// The field of [`Sampling`] that is at fault.
    pub fn name(&self) -> &'static str {
        match self {
            Self::OutOfRange { name, .. } | Self::NotKnown { name, .. } => name,
            Self::EmptyStop | Self::StopAgainstPin { .. } => "stop_sequences",
        }
    }
}

/// Smallest share of probability that `top_p` may leave: the systems reject 0 and take anything above.
pub const MIN_TOP_P: f64 = 1e-6;
/// Largest temperature.
pub const MAX_TEMPERATURE: f64 = 2.0;
/// Largest penalty, and with the sign turned the smallest.
pub const MAX_PENALTY: f64 = 2.0;
/// Most stop sequences that OpenAI's API takes.
pub const OPENAI_MAX_STOPS: usize = 4;

impl Sampling {
    /// Everything that the system of `form` would reject.
    pub fn refused_by(&self, form: Form) -> Vec<Refused> {
        let system = form.name();
        let mut refused = Vec::new();
        let mut check = |name, value: f64, min: f64, max: f64| {
            if !(min..=max).contains(&value) {
                refused.push(Refused::OutOfRange { name, value, min, max, system });
            }
        };
        let least_penalty = if form == Form::Slora { 0.0 } else { -MAX_PENALTY };
        check("temperature", self.temperature, 0.0, MAX_TEMPERATURE);
        check("top_p", self.top_p, MIN_TOP_P, 1.0);
        check("presence_penalty", self.presence_penalty, least_penalty, MAX_PENALTY);
        check("frequency_penalty", self.frequency_penalty, least_penalty, MAX_PENALTY);
        let stops = self.stop_sequences.len();
        if form == Form::OpenAi {
            check("stop_sequences", stops as f64, 0.0, OPENAI_MAX_STOPS as f64);
        }
        if let Some(most) = self.output_bounds.max_new_tokens {
            check("max_new_tokens", most.into(), 1.0, u32::MAX.into());
        }
        if form == Form::Slora && self.output_bounds.min_tokens > 0 && !self.output_bounds.ignores_eos() {
            refused.push(Refused::NotKnown { name: "min_tokens", system });
        }
        if self.stop_sequences.iter().any(String::is_empty) {
            refused.push(Refused::EmptyStop);
        }
        if self.output_bounds.pin_output && stops > 0 {
            refused.push(Refused::StopAgainstPin { count: stops });
        }
        refused
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_system_has_its_own_limits() {
        let names = |sampling: &Sampling, form| -> Vec<&'static str> {
            sampling.refused_by(form).iter().map(Refused::name).collect()
        };
        for form in Form::ALL {
            assert!(names(&Sampling::default(), form).is_empty());
        }
        let grudging = Sampling { presence_penalty: -1.0, frequency_penalty: 2.0, ..Sampling::default() };
        assert_eq!(names(&grudging, Form::Slora), ["presence_penalty"]);
        assert!(names(&grudging, Form::Vllm).is_empty());
        let stops = Sampling { stop_sequences: vec!["x".to_owned(); 5], ..Sampling::default() };
        assert_eq!(names(&stops, Form::OpenAi), ["stop_sequences"]);
        assert!(names(&stops, Form::Vllm).is_empty());
        let wrong = Sampling {
            temperature: f64::NAN,
            top_p: 0.0,
            output_bounds: OutputBounds {
                max_new_tokens: Some(0),
                pin_output: true,
                ..OutputBounds::default()
            },
            stop_sequences: vec![String::new()],
            ..Sampling::default()
        };
        assert_eq!(
            names(&wrong, Form::Vllm),
            ["temperature", "top_p", "max_new_tokens", "stop_sequences", "stop_sequences"]
        );
        assert_eq!(
            grudging.refused_by(Form::Slora)[0].to_string(),
            "presence_penalty: -1 is not between 0 and 2 (slora)"
        );
    }

    #[test]
    fn slora_knows_no_fewest_tokens() {
        let output_bounds = OutputBounds { min_tokens: 20, ..OutputBounds::default() };
        let fewest = Sampling { output_bounds, ..Sampling::default() };
        let reported: Vec<String> = fewest.refused_by(Form::Slora).iter().map(Refused::to_string).collect();
        assert_eq!(
            reported,
            [
                "min_tokens: slora has no such parameter; ignore_eos or pin_output hold outputs to a length there"
            ]
        );
        assert!(fewest.refused_by(Form::Vllm).is_empty());
        let output_bounds = OutputBounds { ignore_eos: true, ..output_bounds };
        assert!(Sampling { output_bounds, ..fewest }.refused_by(Form::Slora).is_empty());
    }
}
