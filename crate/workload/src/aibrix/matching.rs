//! Which prompt of a collection stands for a request of wanted lengths (AIBrix, `RequestFinder`).

use super::arrivals::TargetLengths;

/// First half-width of the band for synthetic, constant and statistics traces, as a share of the wanted length.
pub const INITIAL_ERROR: f64 = 0.5;
/// First half-width of the band for Azure traces.
pub const AZURE_INITIAL_ERROR: f64 = 0.1;
/// By how much the band widens while it is empty.
pub const ERROR_STEP: f64 = 0.05;
/// Widest band.
const WIDEST: f64 = 1.0;

/// Lengths of a prompt and of its completion where that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PromptLengths {
    /// Prompt, tokens.
    pub input_tokens: u32,
    /// Completion, tokens.
    pub output_tokens: Option<u32>,
}

/// What the search found.
#[derive(Debug, Clone, PartialEq)]
pub enum Match {
    /// Prompts inside the first band that is not empty, in the order of the collection; one is picked at random.
    Band {
        /// Half-width of the band.
        error: f64,
        /// Places of the prompts.
        prompts: Vec<usize>,
    },
    /// No band holds a prompt: the nearest one.
    Nearest(usize),
}

/// The bounds that a length must keep; a wanted length of zero or none binds nothing.
fn bounds(wanted: Option<f64>, error: f64) -> (f64, f64) {
    match wanted {
        Some(length) if length != 0.0 => ((length * (1.0 - error)).trunc(), (length * (1.0 + error)).trunc()),
        _ => (0.0, f64::INFINITY),
    }
}

/// Prompts whose lengths both lie within `error` of the wanted ones; an unknown completion always does.
pub fn band(prompts: &[PromptLengths], target: TargetLengths, error: f64) -> Vec<usize> {
    let (input_low, input_high) = bounds(target.input_tokens, error);
    let (output_low, output_high) = bounds(target.output_tokens, error);
    let fits = |prompt: &PromptLengths| {
        let input = f64::from(prompt.input_tokens);
        (input_low..=input_high).contains(&input)
            && prompt.output_tokens.is_none_or(|o| (output_low..=output_high).contains(&f64::from(o)))
    };
    prompts.iter().enumerate().filter(|(_, prompt)| fits(prompt)).map(|(i, _)| i).collect()
}

/// The prompt at the least Euclidean distance in (input, output), the first of equals; `None` of an empty collection.
///
/// An unknown completion is at distance zero. So is a length that is not asked for, where AIBrix crashes.
pub fn nearest(prompts: &[PromptLengths], target: TargetLengths) -> Option<usize> {
    let apart = |wanted: Option<f64>, length: Option<u32>| match (wanted, length) {
        (Some(wanted), Some(length)) => (f64::from(length) - wanted) * (f64::from(length) - wanted),
        _ => 0.0,
    };
    let distance = |prompt: &PromptLengths| {
        f64::sqrt(
            apart(target.input_tokens, Some(prompt.input_tokens))
                + apart(target.output_tokens, prompt.output_tokens),
        )
    };
    // min_by keeps the first of equals.
    (0..prompts.len()).min_by(|&a, &b| distance(&prompts[a]).total_cmp(&distance(&prompts[b])))
}

/// Widens the band from `initial_error` by `error_step` until it holds a prompt, and takes the nearest if none up to 1
/// does; `None` of an empty collection.
///
/// Where the band that first holds a prompt has the half-width 1 exactly, AIBrix answers one request with two
/// prompts, that of the band and the nearest; here it is the band's.
pub fn find(
    prompts: &[PromptLengths],
    target: TargetLengths,
    initial_error: f64,
    error_step: f64,
) -> Option<Match> {
    let mut error = initial_error;
    while error <= WIDEST {
        let found = band(prompts, target, error);
        if !found.is_empty() {
            return Some(Match::Band { error, prompts: found });
        }
        // Widened by addition, as in AIBrix: its rounding decides which bands there are. A step that does not
        // widen the band would never end.
        let wider = error + error_step;
        if wider <= error || !wider.is_finite() {
            break;
        }
        error = wider;
    }
    nearest(prompts, target).map(Match::Nearest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompts(lengths: &[(u32, Option<u32>)]) -> Vec<PromptLengths> {
        lengths
            .iter()
            .map(|&(input_tokens, output_tokens)| PromptLengths { input_tokens, output_tokens })
            .collect()
    }

    fn target(input: f64, output: f64) -> TargetLengths {
        TargetLengths { input_tokens: Some(input), output_tokens: Some(output) }
    }

    #[test]
    fn bands_widen_until_one_holds_a_prompt() {
        let all = prompts(&[(100, Some(10)), (160, Some(10)), (170, None)]);
        let Some(Match::Band { error, prompts: found }) = find(&all, target(130.0, 10.0), 0.1, 0.05) else {
            panic!("a band holds some");
        };
        assert_eq!(found, [0, 1]);
        assert!((error - 0.25).abs() < 1e-9);
        assert_eq!(find(&all, target(40.0, 2.0), 0.5, 0.05), Some(Match::Nearest(0)));
        assert_eq!(find(&[], target(1.0, 1.0), 0.5, 0.05), None);
    }

    #[test]
    fn a_length_not_asked_for_binds_nothing_even_in_the_nearest() {
        let all = prompts(&[(100, Some(10)), (500, Some(90))]);
        let only_output = TargetLengths { input_tokens: None, output_tokens: Some(1e4) };
        assert_eq!(find(&all, only_output, 0.5, 0.05), Some(Match::Nearest(1)));
        let Some(Match::Band { prompts: found, .. }) = find(&all, TargetLengths::default(), 0.5, 0.05) else {
            panic!("nothing is asked for");
        };
        assert_eq!(found, [0, 1]);
    }

    #[test]
    fn steps_that_do_not_widen_end() {
        let all = prompts(&[(100, Some(10))]);
        for step in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(find(&all, target(1.0, 1.0), 0.5, step), Some(Match::Nearest(0)));
        }
        assert_eq!(find(&all, target(1.0, 1.0), f64::NAN, 0.1), Some(Match::Nearest(0)));
    }
}
