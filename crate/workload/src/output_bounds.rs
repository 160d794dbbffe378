//! How long outputs become by what requests ask for, beside where the model would end them.
//!
//! A trace says where the model ends an output and which `max_tokens` its request sends. What is asked beside that moves both, in
//! the run and in request bodies alike: as vLLM (`sampling_params.py`: `ignore_eos`, `min_tokens`) and S-LoRA
//! (`sampling_params.py`: `ignore_eos`, `max_new_tokens`) take it.

use crate::trace::Trace;

/// What every request of a workload asks of the length of its output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OutputBounds {
    /// Whether generation goes on past the end-of-sequence token, up to `max_tokens`.
    pub ignore_eos: bool,
    /// Fewest tokens of an output; `max_tokens` is raised to it.
    pub min_tokens: u32,
    /// No request asks for more new tokens than this, whatever else is asked; `None` = no such bound.
    pub max_new_tokens: Option<u32>,
    /// Whether `max_tokens` is where the model ends, and end-of-sequence ignored: outputs have exactly these lengths.
    pub pin_output: bool,
}

/// What becomes of one output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BoundedOutput {
    /// Its tokens.
    pub output_tokens: u32,
    /// The most that its request asks for.
    pub max_tokens: u32,
    /// The fewest that its request asks for.
    pub min_tokens: u32,
}

impl OutputBounds {
    /// The output that the model would end after `output_tokens`, to a request that sends `max_tokens`.
    pub fn bounded(&self, output_tokens: u32, max_tokens: u32) -> BoundedOutput {
        let own = if self.pin_output { output_tokens } else { max_tokens };
        let most = own.max(self.min_tokens).min(self.max_new_tokens.unwrap_or(u32::MAX)).max(1);
        let least = if self.pin_output { most } else { self.min_tokens.min(most) };
        let output_tokens = if self.ignores_eos() { most } else { output_tokens.max(least).min(most) };
        BoundedOutput { output_tokens, max_tokens: most, min_tokens: least }
    }

    /// Whether the end-of-sequence token is ignored.
    pub fn ignores_eos(&self) -> bool {
        self.ignore_eos || self.pin_output
    }

    /// Lets every request of a trace ask for it. Prompts stay as they are, also those that hold an earlier output.
    pub fn ask(&self, trace: &mut Trace) {
        for (output, max) in trace.output_tokens.iter_mut().zip(&mut trace.max_tokens) {
            let bounded = self.bounded(*output, *max);
            (*output, *max) = (bounded.output_tokens, bounded.max_tokens);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lengths(bounds: OutputBounds, output_tokens: u32, max_tokens: u32) -> (u32, u32, u32) {
        let bounded = bounds.bounded(output_tokens, max_tokens);
        (bounded.output_tokens, bounded.max_tokens, bounded.min_tokens)
    }

    #[test]
    fn each_bound_does_what_the_servers_do() {
        let free = OutputBounds::default();
        assert_eq!(lengths(free, 30, 1024), (30, 1024, 0));
        assert_eq!(lengths(OutputBounds { ignore_eos: true, ..free }, 30, 1024), (1024, 1024, 0));
        assert_eq!(lengths(OutputBounds { min_tokens: 50, ..free }, 30, 1024), (50, 1024, 50));
        assert_eq!(lengths(OutputBounds { min_tokens: 50, ..free }, 60, 1024), (60, 1024, 50));
        assert_eq!(lengths(OutputBounds { min_tokens: 50, ..free }, 30, 30), (50, 50, 50));
        assert_eq!(lengths(OutputBounds { max_new_tokens: Some(20), ..free }, 30, 1024), (20, 20, 0));
        assert_eq!(lengths(OutputBounds { pin_output: true, ..free }, 30, 1024), (30, 30, 30));
        let narrow = OutputBounds { min_tokens: 50, max_new_tokens: Some(20), ..free };
        assert_eq!(lengths(narrow, 30, 1024), (20, 20, 20));
    }

    proptest! {
        /// What was asked once may be asked again: bodies of a trace that a run wrote ask for the lengths of that run.
        #[test]
        fn asking_twice_changes_nothing(
            ignore_eos: bool, pin_output: bool, min_tokens in 0..200u32, cap in 0..200u32, output in 1..200u32, more in 0..200u32,
        ) {
            let bounds = OutputBounds { ignore_eos, min_tokens, max_new_tokens: (cap > 0).then_some(cap), pin_output };
            let once = bounds.bounded(output, output + more);
            prop_assert_eq!(bounds.bounded(once.output_tokens, once.max_tokens), once);
            prop_assert!(once.min_tokens <= once.output_tokens && once.output_tokens <= once.max_tokens);
            prop_assert!(once.output_tokens >= 1);
        }
    }
}
