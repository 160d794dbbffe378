//! From rates over time to arrivals (AIBrix, `generate_synthetic_from_dist`).
//!
//! The gap after an arrival is drawn at the rate of that arrival's step, so this is not a Poisson process of the given
//! rate: a long gap drawn in a quiet step jumps over a busy one. Use [`crate::curve`] where the rate is to be honoured.

use super::{AibrixError, MAX_ENTRIES, positive};

/// Rates and wanted lengths, one entry a step of time.
#[derive(Debug, Clone, PartialEq)]
pub struct Steps {
    /// How long one entry holds, milliseconds. AIBrix always reads its lists as one entry a second, whatever
    /// interval they were made for, so that a longer interval shortens its runs.
    pub step_ms: f64,
    /// Rates, requests a second.
    pub rates_rps: Vec<f64>,
    /// Wanted prompt lengths, tokens; 0 = any.
    pub input_tokens: Option<Vec<f64>>,
    /// Wanted completion lengths, tokens; 0 = any.
    pub output_tokens: Option<Vec<f64>>,
}

/// Divisors of rates and lengths: a scale of 10 makes a tenth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scales {
    /// Divides rates.
    pub rate: f64,
    /// Divides prompt lengths.
    pub input: f64,
    /// Divides completion lengths.
    pub output: f64,
}

impl Default for Scales {
    fn default() -> Self {
        Self { rate: 1.0, input: 1.0, output: 1.0 }
    }
}

/// The lengths that a request should have; `None` = any.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TargetLengths {
    /// Prompt length, tokens.
    pub input_tokens: Option<f64>,
    /// Completion length, tokens.
    pub output_tokens: Option<f64>,
}

/// One entry of a workload.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Arrival {
    /// Time from the start, whole milliseconds.
    pub timestamp_ms: u64,
    /// The request's lengths; `None` where the rate is zero and the entry holds no request.
    pub request: Option<TargetLengths>,
}

/// Number of entries of a constant workload: as many intervals as reach the duration.
///
/// # Errors
/// As [`super::curve::sample_count`].
pub fn constant_count(duration_ms: f64, interval_ms: f64) -> Result<usize, AibrixError> {
    let whole = super::curve::sample_count(duration_ms, interval_ms)?;
    Ok(if (whole - 1) as f64 * interval_ms == duration_ms { whole - 1 } else { whole })
}

/// The steps of a constant workload of `rate_rps` requests a second.
///
/// AIBrix crashes when a completion length is asked for; here it is asked for in every step.
///
/// # Errors
/// As [`super::curve::sample_count`].
pub fn constant(
    rate_rps: f64,
    target: TargetLengths,
    duration_ms: f64,
    interval_ms: f64,
) -> Result<Steps, AibrixError> {
    let count = constant_count(duration_ms, interval_ms)?;
    Ok(Steps {
        step_ms: interval_ms,
        rates_rps: vec![rate_rps; count],
        input_tokens: target.input_tokens.map(|length| vec![length; count]),
        output_tokens: target.output_tokens.map(|length| vec![length; count]),
    })
}

impl Steps {
    fn check(&self, scales: &Scales) -> Result<(), AibrixError> {
        positive("step_ms", self.step_ms)?;
        positive("qps_scale", scales.rate)?;
        positive("input_scale", scales.input)?;
        positive("output_scale", scales.output)?;
        let rates = self.rates_rps.len();
        let lists = [
            ("prompt lengths", self.input_tokens.as_ref(), self.output_tokens.is_some()),
            ("completion lengths", self.output_tokens.as_ref(), self.input_tokens.is_some()),
        ];
        for (name, list, both) in lists {
            let Some(list) = list else { continue };
            // One list alone may be longer than the rates: its tail is never read.
            if list.len() < rates || (both && list.len() != rates) {
                return Err(AibrixError::ListLength { rates, name, lengths: list.len() });
            }
        }
        match self.rates_rps.iter().enumerate().find(|(_, rate)| !(rate.is_finite() && **rate >= 0.0)) {
            Some((second, &rate_rps)) => Err(AibrixError::NegativeRate { second, rate_rps }),
            None => Ok(()),
        }
    }
}

/// Draws the arrivals. `exponential` gives one standard exponential number for each gap at a rate above zero.
///
/// An idle step is one entry without a request. The run ends with the lists or with the first arrival after the duration,
/// which is kept.
///
/// # Errors
/// [`AibrixError::NegativeRate`] (AIBrix crashes), [`AibrixError::ListLength`], [`AibrixError::BadValue`] for a scale
/// that is not above zero, [`AibrixError::TooMany`].
pub fn arrivals(
    steps: &Steps,
    duration_ms: f64,
    scales: &Scales,
    mut exponential: impl FnMut() -> f64,
) -> Result<Vec<Arrival>, AibrixError> {
    steps.check(scales)?;
    let wanted = |list: &Option<Vec<f64>>, step: usize, scale: f64| {
        list.as_ref()
            .map(|lengths| lengths[step])
            .filter(|&length| length != 0.0)
            .map(|length| length / scale)
    };
    let end_ms = steps.rates_rps.len() as f64 * steps.step_ms;
    let mut arrivals = Vec::new();
    let mut now_ms = 0.0;
    while now_ms < end_ms {
        let step = ((now_ms / steps.step_ms) as usize).min(steps.rates_rps.len() - 1);
        let rate_rps = steps.rates_rps[step] / scales.rate;
        now_ms += if rate_rps == 0.0 { steps.step_ms } else { 1000.0 / rate_rps * exponential() };
        if now_ms >= end_ms {
            break;
        }
        if arrivals.len() == MAX_ENTRIES {
            return Err(AibrixError::TooMany { what: "arrivals" });
        }
        let request = (rate_rps != 0.0).then(|| TargetLengths {
            input_tokens: wanted(&steps.input_tokens, step, scales.input),
            output_tokens: wanted(&steps.output_tokens, step, scales.output),
        });
        arrivals.push(Arrival { timestamp_ms: now_ms as u64, request });
        if now_ms > duration_ms {
            break;
        }
    }
    Ok(arrivals)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(step_ms: f64, rates_rps: &[f64]) -> Steps {
        Steps { step_ms, rates_rps: rates_rps.to_vec(), input_tokens: None, output_tokens: None }
    }

    fn times(steps: &Steps, duration_ms: f64) -> Vec<u64> {
        let drawn = arrivals(steps, duration_ms, &Scales::default(), || 1.0).expect("the rates are good");
        drawn.iter().map(|a| a.timestamp_ms).collect()
    }

    #[test]
    fn the_entry_that_passes_the_duration_is_the_last() {
        assert_eq!(times(&steps(1000.0, &[2.0; 4]), 1200.0), [500, 1000, 1500]);
        assert_eq!(times(&steps(1000.0, &[2.0; 2]), 60_000.0), [500, 1000, 1500]);
        assert_eq!(times(&steps(1000.0, &[]), 60_000.0), []);
    }

    #[test]
    fn a_longer_step_holds_longer() {
        assert_eq!(times(&steps(1000.0, &[1.0; 2]), 4000.0), [1000]);
        assert_eq!(times(&steps(2000.0, &[1.0; 2]), 4000.0), [1000, 2000, 3000]);
    }

    #[test]
    fn completion_lengths_of_a_constant_workload_are_kept() {
        let target = TargetLengths { input_tokens: None, output_tokens: Some(100.0) };
        let made = constant(1.0, target, 5500.0, 1000.0).expect("the duration is good");
        assert_eq!(made.output_tokens, Some(vec![100.0; 6]));
        assert!(constant(1.0, target, 5000.0, 0.0).is_err());
    }

    #[test]
    fn endless_and_negative_rates_are_refused() {
        let one = Scales::default();
        assert!(matches!(
            arrivals(&steps(1000.0, &[1.0, -2.0]), 2000.0, &one, || 1.0),
            Err(AibrixError::NegativeRate { second: 1, .. })
        ));
        assert!(arrivals(&steps(1000.0, &[1e300]), 2000.0, &one, || 0.5).is_err());
        assert!(arrivals(&steps(1000.0, &[f64::NAN]), 2000.0, &one, || 0.5).is_err());
        let zero = Scales { rate: 0.0, ..one };
        assert!(arrivals(&steps(1000.0, &[1.0]), 2000.0, &zero, || 0.5).is_err());
    }
}
