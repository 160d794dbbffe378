//! Rates and lengths over time: a sine with noise, rounded to whole numbers (AIBrix, `distribution.py`).
//!
//! Sample k of N is `round_half_even(A sin(w k) + B + sigma z_k)` with `w = 2 pi / (N / cycles)`. Because w divides by the
//! number of samples and not by the duration, the real period is longer than asked by one part in N.

use super::{AibrixError, MAX_ENTRIES, positive};

/// Mean of the named patterns for rates, requests a second.
pub const NAMED_MEAN_RPS: f64 = 6.0;
/// Mean of the named patterns for prompt and completion lengths, tokens.
pub const NAMED_MEAN_TOKENS: f64 = 1024.0;

/// The patterns that have a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamedPattern {
    /// From the mean to 1.5 times the mean within a twentieth of the run, then flat.
    QuickRising,
    /// From the mean to 1.5 times the mean over the whole run.
    SlowRising,
    /// One cycle of 10 % up and down.
    SlightFluctuation,
    /// Twelve cycles of 50 % up and down.
    SevereFluctuation,
    /// Flat; known to AIBrix's function, not offered on its command line.
    Constant,
}

impl NamedPattern {
    /// Every pattern.
    pub const ALL: [Self; 5] = [
        Self::QuickRising,
        Self::SlowRising,
        Self::SlightFluctuation,
        Self::SevereFluctuation,
        Self::Constant,
    ];

    /// Its name on AIBrix's command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::QuickRising => "quick_rising",
            Self::SlowRising => "slow_rising",
            Self::SlightFluctuation => "slight_fluctuation",
            Self::SevereFluctuation => "severe_fluctuation",
            Self::Constant => "constant",
        }
    }

    /// The pattern called `name`.
    ///
    /// # Errors
    /// [`AibrixError::UnknownPattern`].
    pub fn from_name(name: &str) -> Result<Self, AibrixError> {
        Self::ALL.into_iter().find(|p| p.name() == name).ok_or_else(|| AibrixError::UnknownPattern {
            name: name.to_owned(),
            known: Self::ALL.map(Self::name).join(", "),
        })
    }

    /// The curve with this shape around `mean`.
    pub fn pattern(self, mean: f64) -> Pattern {
        let (swing, cycles, only_rise) = match self {
            Self::QuickRising => (0.5, 5.0, true),
            Self::SlowRising => (0.5, 0.25, true),
            Self::SlightFluctuation => (0.1, 1.0, false),
            Self::SevereFluctuation => (0.5, 12.0, false),
            Self::Constant => (0.0, 12.0, false),
        };
        Pattern { amplitude: swing * mean, mean, noise: 0.1, cycles, only_rise }
    }
}

/// A sine with noise around a mean; the unit is that of the quantity, requests a second or tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pattern {
    /// A: half the distance from trough to crest.
    pub amplitude: f64,
    /// B: the middle.
    pub mean: f64,
    /// sigma: standard deviation of the noise, in the quantity's unit.
    pub noise: f64,
    /// Full cycles over the run.
    pub cycles: f64,
    /// Whether a sample is never below the one before.
    pub only_rise: bool,
}

/// What a curve does that its user may not expect.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CurveWarning {
    /// Fewer than two samples a cycle: the samples show a slower wave than the one asked for.
    Aliased {
        /// Full cycles asked for.
        cycles: f64,
        /// Samples there are.
        samples: usize,
    },
    /// The trend goes below zero.
    Negative {
        /// First sample below zero.
        sample: usize,
        /// The trend there.
        value: f64,
    },
}

/// Number of samples of a run: floor(duration / interval) + 1.
///
/// # Errors
/// [`AibrixError::BadValue`] for a duration below zero or an interval that is not above it, [`AibrixError::TooMany`].
pub fn sample_count(duration_ms: f64, interval_ms: f64) -> Result<usize, AibrixError> {
    let interval_ms = positive("interval_ms", interval_ms)?;
    if !(duration_ms.is_finite() && duration_ms >= 0.0) {
        return Err(AibrixError::BadValue {
            key: "duration_ms",
            expected: "a number from zero up",
            value: duration_ms.to_string(),
        });
    }
    let intervals = (duration_ms / interval_ms).floor();
    if intervals >= MAX_ENTRIES as f64 {
        return Err(AibrixError::TooMany { what: "intervals" });
    }
    Ok(intervals as usize + 1)
}

impl Pattern {
    /// The curve without noise at sample `k` of `count`.
    pub fn trend(&self, k: usize, count: usize) -> f64 {
        let omega = std::f64::consts::TAU / (count as f64 / self.cycles);
        self.amplitude * libm::sin(omega * k as f64) + self.mean
    }

    /// `count` rates in whole requests a second. `normal` gives one standard normal number a sample.
    ///
    /// Rates may be below zero, as in AIBrix; drawing arrivals from such rates is rejected.
    pub fn rates(&self, count: usize, normal: impl FnMut() -> f64) -> Vec<i64> {
        self.samples(count, normal, Some(-1))
    }

    /// `count` lengths in tokens, at least 1. `normal` gives one standard normal number a sample.
    ///
    /// AIBrix crashes for lengths that only rise, because they have no value to start from; here the first sample
    /// is that value.
    pub fn lengths(&self, count: usize, normal: impl FnMut() -> f64) -> Vec<i64> {
        let mut lengths = self.samples(count, normal, None);
        lengths.iter_mut().for_each(|length| *length = (*length).max(1));
        lengths
    }

    fn samples(&self, count: usize, mut normal: impl FnMut() -> f64, floor: Option<i64>) -> Vec<i64> {
        let mut floor = floor.unwrap_or(i64::MIN);
        (0..count)
            .map(|k| {
                let value = (self.trend(k, count) + self.noise * normal()).round_ties_even() as i64;
                if self.only_rise {
                    floor = floor.max(value);
                    floor
                } else {
                    value
                }
            })
            .collect()
    }

    /// What is odd about the curve in `count` samples.
    pub fn warnings(&self, count: usize) -> Vec<CurveWarning> {
        let mut warnings = Vec::new();
        // A curve that only rises shows its first crest; what follows is flat in any case.
        if !self.only_rise && self.amplitude != 0.0 && self.cycles.abs() * 2.0 > count as f64 {
            warnings.push(CurveWarning::Aliased { cycles: self.cycles, samples: count });
        }
        let below = (0..count).map(|k| (k, self.trend(k, count))).find(|&(_, value)| value < 0.0);
        if let Some((sample, value)) = below {
            warnings.push(CurveWarning::Negative { sample, value });
        }
        warnings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_go_to_the_even_number() {
        let flat = |mean| Pattern { mean, ..NamedPattern::Constant.pattern(0.0) };
        assert_eq!(flat(2.5).rates(1, || 0.0), [2]);
        assert_eq!(flat(3.5).rates(1, || 0.0), [4]);
        assert_eq!(flat(-0.4).lengths(2, || 0.0), [1, 1]);
    }

    #[test]
    fn lengths_that_only_rise_start_at_their_first_value() {
        let lengths = NamedPattern::SlowRising.pattern(NAMED_MEAN_TOKENS).lengths(61, || 0.0);
        assert_eq!((lengths[0], lengths[60]), (1024, 1536));
        assert!(lengths.is_sorted());
    }

    #[test]
    fn short_runs_and_deep_waves_are_warned_of() {
        let severe = NamedPattern::SevereFluctuation.pattern(NAMED_MEAN_RPS);
        assert_eq!(severe.warnings(21), [CurveWarning::Aliased { cycles: 12.0, samples: 21 }]);
        assert!(severe.warnings(61).is_empty());
        let deep = Pattern { amplitude: 5.0, mean: 3.0, cycles: 3.0, ..severe };
        assert!(matches!(deep.warnings(61)[..], [CurveWarning::Negative { sample: 13, .. }]));
    }

    #[test]
    fn bad_durations_are_refused() {
        assert_eq!(sample_count(60_000.0, 1000.0), Ok(61));
        for (duration_ms, interval_ms) in [(1.0, 0.0), (f64::NAN, 1.0), (-1.0, 1.0), (1e18, 1.0), (1.0, -1.0)]
        {
            assert!(sample_count(duration_ms, interval_ms).is_err());
        }
    }
}
