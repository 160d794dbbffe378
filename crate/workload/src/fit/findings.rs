//! What a reader of a fit should know: where numbers mean less than they seem to.

use super::Fit;
use crate::trace::Trace;

/// Fewest requests for which shapes and dispersions are given without a caution.
const FEW: usize = 1000;
/// Share of zero gaps that is worth a word.
const ZERO_GAPS: f64 = 0.01;

/// A caution about a fit.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// What, as a word for a program.
    pub code: &'static str,
    /// What, for a person.
    pub message: String,
    /// The numbers in it, by name.
    pub values: Vec<(&'static str, f64)>,
}

/// All that is to be said of a fit.
pub(super) fn all(fit: &Fit, trace: &Trace) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut say = |code, message: String, values: &[(&'static str, f64)]| {
        findings.push(Finding { code, message, values: values.to_vec() });
    };
    if fit.requests < FEW {
        say(
            "few_requests",
            format!(
                "{} requests: shapes and dispersions of so few are uncertain by tens of percent",
                fit.requests
            ),
            &[("requests", fit.requests as f64), ("least", FEW as f64)],
        );
    }
    if let Some(stamps) = &fit.stamps {
        let step = stamps.step_s;
        if stamps.batches_s.is_empty() {
            say(
                "ticks",
                format!(
                    "times are whole multiples of {step} s: gaps are spread inside a tick for the fit, and the twin is stamped alike"
                ),
                &[("step_s", step)],
            );
        } else {
            say(
                "stamped_batches",
                format!(
                    "requests are stamped in batches every {step} s ({:.0} % of gaps are zero): gap statistics tell of the \
                     recorder; batches are spread for the fit, and the twin keeps the stamps",
                    100.0 * stamps.zero_gaps
                ),
                &[("step_s", step), ("zero_gaps", stamps.zero_gaps)],
            );
        }
    } else if fit.gaps.zeros > ZERO_GAPS {
        say(
            "zero_gaps",
            format!("{:.1} % of gaps are zero: requests share time stamps", 100.0 * fit.gaps.zeros),
            &[("zero_gaps", fit.gaps.zeros)],
        );
    }
    if let (Some(moments), Some(likelihood)) = (fit.gaps.gamma_moments, fit.gaps.gamma) {
        let apart = likelihood.shape / moments.shape;
        if !(1.0 / 3.0..=3.0).contains(&apart) {
            say(
                "no_single_gamma",
                format!(
                    "no single gamma distribution: the shape is {:.4} by mean and cv and {:.4} by likelihood",
                    moments.shape, likelihood.shape
                ),
                &[("by_moments", moments.shape), ("by_likelihood", likelihood.shape)],
            );
        }
    }
    if let Some(blocks) =
        trace.metadata.as_ref().map(|metadata| &metadata.prefix).filter(|blocks| !blocks.is_empty())
    {
        let size = blocks.block_tokens.max(1);
        let fits = (0..trace.len())
            .filter(|&id| blocks.of(id).len() == trace.input_tokens[id].div_ceil(size) as usize);
        let share = 1.0 - fits.count() as f64 / trace.len() as f64;
        if share > ZERO_GAPS {
            say(
                "block_size",
                format!(
                    "{:.0} % of prompts have another number of blocks than their length over {size} tokens: the block size \
                     may be wrong",
                    100.0 * share
                ),
                &[("share", share), ("block_tokens", f64::from(size))],
            );
        }
        say("prefixes_not_made", "the twin has no prefix blocks: its prompts share nothing".to_owned(), &[]);
    }
    if fit.sessions.is_some() {
        say(
            "sessions_not_made",
            "the twin's requests belong to no sessions: each comes on its own".to_owned(),
            &[],
        );
    }
    findings
}
