//! The scenario's curves: the rate over time, and what lengths are multiplied by over time.

use servescope_workload::aibrix::curve::{CurveWarning, NamedPattern, SinePattern, sample_count};
use servescope_workload::aibrix::generate::rate_samples;
use servescope_workload::curve::{CurveError, Point, RateCurve, Shape};
use servescope_workload::formats::MAX_ROWS;

use super::Scenario;
use crate::diagnostic::{Diagnostic, Reason};
use crate::parameters::Id;
use crate::parameters::choices::{ChoiceId, CurveKind, CurveSampling, LengthCurveKind};

/// The parameters that every curve has.
struct CurveRows<C: 'static> {
    kind: ChoiceId<C>,
    factor: Id,
    start: Id,
    end: Id,
    points: Id,
}

const RATE: CurveRows<CurveKind> = CurveRows {
    kind: CurveKind::ID,
    factor: Id::CurveFactor,
    start: Id::CurveStart,
    end: Id::CurveEnd,
    points: Id::CurvePoints,
};

const LENGTHS: [CurveRows<LengthCurveKind>; 2] = [
    CurveRows {
        kind: LengthCurveKind::INPUT,
        factor: Id::InputCurveFactor,
        start: Id::InputCurveStart,
        end: Id::InputCurveEnd,
        points: Id::InputCurvePoints,
    },
    CurveRows {
        kind: LengthCurveKind::OUTPUT,
        factor: Id::OutputCurveFactor,
        start: Id::OutputCurveStart,
        end: Id::OutputCurveEnd,
        points: Id::OutputCurvePoints,
    },
];

/// A kind that rates and lengths share.
#[derive(Clone, Copy)]
enum Common {
    Ramp,
    Step,
    Spike,
    Named(NamedPattern),
    Points,
}

impl Scenario {
    /// The rate over time; `None` where it is constant.
    ///
    /// # Errors
    /// [`Diagnostic`] at the parameter whose number is unsound.
    pub fn curve(&self) -> Result<Option<RateCurve>, Diagnostic> {
        if !self.is_active(RATE.kind.id()) {
            return Ok(None);
        }
        if let Some((pattern, samples)) = self.sampled() {
            let rates = rate_samples(&pattern, samples?, self.number(Id::Seed) as u64);
            let shape = Shape::Steps { step_s: self.number(Id::CurveInterval), rates_rps: rates };
            return made(&shape, Id::CurveInterval).map(Some);
        }
        let rate = self.number(Id::Rate);
        let common = match self.chosen(RATE.kind) {
            CurveKind::Constant => return Ok(None),
            CurveKind::Diurnal => {
                let shape = Shape::Diurnal {
                    mean_rps: rate,
                    swing: self.number(Id::CurveSwing),
                    period_s: self.number(Id::CurvePeriod),
                    peak_s: self.number(Id::CurvePeak),
                };
                return made(&shape, Id::CurvePeriod).map(Some);
            }
            CurveKind::Sine => {
                let shape = Shape::Pattern { pattern: self.sine(), duration_s: self.number(Id::Duration) };
                return made(&shape, Id::CurvePeriod).map(Some);
            }
            CurveKind::Ramp => Common::Ramp,
            CurveKind::Step => Common::Step,
            CurveKind::Spike => Common::Spike,
            CurveKind::QuickRising => Common::Named(NamedPattern::QuickRising),
            CurveKind::SlowRising => Common::Named(NamedPattern::SlowRising),
            CurveKind::SlightFluctuation => Common::Named(NamedPattern::SlightFluctuation),
            CurveKind::SevereFluctuation => Common::Named(NamedPattern::SevereFluctuation),
            CurveKind::Points => Common::Points,
        };
        self.common_curve(&RATE, common, rate)
    }

    /// The parameter by which a longer run would be another one and not more of the same: a curve, of the rate or of lengths,
    /// that does not repeat; `None` where traffic stays as it is or repeats.
    pub fn changes_with_time(&self) -> Option<Id> {
        let does_rate_change = match self.chosen(RATE.kind) {
            CurveKind::Constant | CurveKind::Diurnal | CurveKind::Sine => false,
            CurveKind::Ramp
            | CurveKind::Step
            | CurveKind::Spike
            | CurveKind::QuickRising
            | CurveKind::SlowRising
            | CurveKind::SlightFluctuation
            | CurveKind::SevereFluctuation
            | CurveKind::Points => true,
        };
        let of_rate = Some(RATE.kind.id()).filter(|&id| does_rate_change && self.is_active(id));
        // Lengths that go up and down have a mean other than 1 over a part of a period.
        let changes = |rows: &&CurveRows<LengthCurveKind>| {
            self.is_active(rows.kind.id()) && self.chosen(rows.kind) != LengthCurveKind::Constant
        };
        of_rate.or_else(|| LENGTHS.iter().find(changes).map(|rows| rows.kind.id()))
    }

    /// What prompt and output lengths are multiplied by over time; `None` where that is 1.
    ///
    /// # Errors
    /// [`Diagnostic`] at the parameter whose number is unsound.
    pub fn length_curves(&self) -> Result<[Option<RateCurve>; 2], Diagnostic> {
        let [input, output] = LENGTHS.map(|rows| self.length_curve(&rows));
        Ok([input?, output?])
    }

    fn length_curve(&self, rows: &CurveRows<LengthCurveKind>) -> Result<Option<RateCurve>, Diagnostic> {
        let common = match self.chosen(rows.kind) {
            LengthCurveKind::Constant => return Ok(None),
            LengthCurveKind::Diurnal => return self.diurnal_lengths(rows).map(Some),
            LengthCurveKind::Ramp => Common::Ramp,
            LengthCurveKind::Step => Common::Step,
            LengthCurveKind::Spike => Common::Spike,
            LengthCurveKind::QuickRising => Common::Named(NamedPattern::QuickRising),
            LengthCurveKind::SlowRising => Common::Named(NamedPattern::SlowRising),
            LengthCurveKind::SlightFluctuation => Common::Named(NamedPattern::SlightFluctuation),
            LengthCurveKind::SevereFluctuation => Common::Named(NamedPattern::SevereFluctuation),
            LengthCurveKind::Points => Common::Points,
        };
        self.common_curve(rows, common, 1.0)
    }

    fn diurnal_lengths(&self, rows: &CurveRows<LengthCurveKind>) -> Result<RateCurve, Diagnostic> {
        let factor = self.number(rows.factor);
        if factor > 2.0 {
            // A crest above twice the mean has a trough below zero.
            return Err(Diagnostic::out_of_range(rows.factor.row().id, factor, 0.0, 2.0));
        }
        let (start_s, period_s) = (self.number(rows.start), self.number(rows.end) - self.number(rows.start));
        let peak_s = if factor < 1.0 { start_s + 0.5 * period_s } else { start_s };
        let shape = Shape::Diurnal { mean_rps: 1.0, swing: (factor - 1.0).abs(), period_s, peak_s };
        made(&shape, rows.end)
    }

    /// A kind that rates and lengths share, around `base`.
    fn common_curve<C>(
        &self,
        rows: &CurveRows<C>,
        common: Common,
        base: f64,
    ) -> Result<Option<RateCurve>, Diagnostic> {
        let kind = rows.kind.id();
        let changed = base * self.number(rows.factor);
        let (start_s, end_s) = (self.number(rows.start), self.number(rows.end));
        let (shape, at) = match common {
            Common::Ramp => (Shape::Ramp { from_rps: base, to_rps: changed, start_s, end_s }, rows.end),
            Common::Step => (Shape::Step { before_rps: base, after_rps: changed, at_s: start_s }, kind),
            Common::Spike => (Shape::Spike { base_rps: base, peak_rps: changed, start_s, end_s }, rows.end),
            Common::Points => (Shape::Points(self.curve_points(rows.points, base)?), rows.points),
            Common::Named(named) => {
                (Shape::Pattern { pattern: named.pattern(base), duration_s: self.number(Id::Duration) }, kind)
            }
        };
        made(&shape, at).map(Some)
    }

    fn curve_points(&self, id: Id, base: f64) -> Result<Vec<Point>, Diagnostic> {
        let numbers = self.list(id);
        if numbers.len() % 2 == 1 {
            return Err(bad(id, &format!("{} numbers are no pairs of time and value", numbers.len()))
                .because(Reason::new("curve_pairs").number("count", numbers.len() as f64)));
        }
        Ok(numbers.chunks(2).map(|pair| Point { time_s: pair[0], rate_rps: base * pair[1] }).collect())
    }

    /// AIBrix's configured pattern from the rows of a sine.
    fn sine(&self) -> SinePattern {
        let mean = self.number(Id::Rate);
        SinePattern {
            amplitude: self.number(Id::CurveSwing) * mean,
            mean,
            noise: 0.0,
            cycles: self.number(Id::Duration) / self.number(Id::CurvePeriod),
            only_rise: self.flag(Id::CurveRise),
        }
    }

    /// AIBrix's pattern and the number of its samples, where the rate is sampled as AIBrix does.
    fn sampled(&self) -> Option<(SinePattern, Result<usize, Diagnostic>)> {
        let is_sampled = match self.chosen(CurveSampling::ID) {
            CurveSampling::Continuous => false,
            CurveSampling::Aibrix => self.is_active(Id::CurveSampling),
        };
        if !is_sampled {
            return None;
        }
        let mean = self.number(Id::Rate);
        let pattern = match self.chosen(CurveKind::ID) {
            CurveKind::Sine => self.sine(),
            CurveKind::QuickRising => NamedPattern::QuickRising.pattern(mean),
            CurveKind::SlowRising => NamedPattern::SlowRising.pattern(mean),
            CurveKind::SlightFluctuation => NamedPattern::SlightFluctuation.pattern(mean),
            CurveKind::SevereFluctuation => NamedPattern::SevereFluctuation.pattern(mean),
            CurveKind::Constant
            | CurveKind::Ramp
            | CurveKind::Step
            | CurveKind::Spike
            | CurveKind::Diurnal
            | CurveKind::Points => return None,
        };
        let noise = self.number(Id::CurveNoise);
        let ms = |id| self.number(id) * 1e3;
        // Within their bounds, duration and interval fail in one way.
        let samples = sample_count(ms(Id::Duration), ms(Id::CurveInterval)).map_err(|_| {
            bad(Id::CurveInterval, "more samples than a run can have").because(Reason::new("curve_samples"))
        });
        Some((SinePattern { noise, ..pattern }, samples))
    }

    /// What is odd about the workload and no error.
    pub fn warnings(&self) -> Vec<Diagnostic> {
        let Some((pattern, Ok(samples))) = self.sampled() else { return Vec::new() };
        let aliased = |warning| match warning {
            CurveWarning::Aliased { cycles, samples } => {
                let path = Id::CurveInterval.row().id;
                let message = format!(
                    "{path}: {samples} samples are fewer than two for each of {cycles} cycles; they show a slower wave"
                );
                let warning = Diagnostic::warning("aliased_curve", path, message);
                Some(warning.number("cycles", cycles).number("samples", samples as f64))
            }
            // A swing of at most 1 keeps the trend from going below zero.
            CurveWarning::Negative { .. } => None,
        };
        pattern.warnings(samples).into_iter().filter_map(aliased).collect()
    }
}

/// The curve of a shape, or why there is none, at the parameter to change.
fn made(shape: &Shape, at: Id) -> Result<RateCurve, Diagnostic> {
    RateCurve::new(shape).map_err(|error: CurveError| {
        let plain = bad(at, &error.to_string());
        match reason_of(&error) {
            Some(reason) => plain.because(reason),
            None => plain,
        }
    })
}

fn bad(id: Id, reason: &str) -> Diagnostic {
    let path = id.row().id;
    Diagnostic::error("bad_curve", path, format!("{path}: {reason}")).text("reason", reason)
}

/// None of what only a file can have.
fn reason_of(error: &CurveError) -> Option<Reason> {
    let reason = Reason::new;
    Some(match *error {
        CurveError::OutOfRange { value, min, max, .. } => {
            reason("curve_out_of_range").number("value", value).number("min", min).number("max", max)
        }
        CurveError::NegativeRate { amplitude_rps, mean_rps } => {
            reason("curve_negative").number("amplitude", amplitude_rps).number("mean", mean_rps)
        }
        CurveError::NoPoints => reason("curve_no_points"),
        CurveError::OutOfOrder { place, time_s, former_s } => reason("curve_order")
            .number("place", place as f64)
            .number("time", time_s)
            .number("former", former_s),
        CurveError::TooManyArrivals => reason("curve_arrivals").number("max", MAX_ROWS as f64),
        CurveError::MissingColumn { .. } | CurveError::File(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use servescope_workload::generate;

    fn set(settings: &[(&str, &str)]) -> Scenario {
        Scenario::of_version(4).with(settings).unwrap_or_else(|error| panic!("{error}"))
    }

    const FIXED: (&str, &str) = ("workload.output_tokens.kind", "fixed");

    /// Length of the answer at each arrival, seconds and tokens; without a curve it is 256.
    fn answers(settings: &[(&str, &str)]) -> Vec<(f64, u32)> {
        let scenario = set(&[&[FIXED], settings].concat());
        assert!(scenario.problems().is_empty(), "{:?}", scenario.problems());
        let trace = generate(&scenario.workload());
        assert_eq!(trace.input_tokens, generate(&Scenario::of_version(4).workload()).input_tokens);
        trace.arrival_us.iter().map(|us| us / 1e6).zip(trace.output_tokens.iter().copied()).collect()
    }

    #[test]
    fn every_kind_of_length_curve_reaches_the_trace() {
        let kind = |name| ("workload.output_tokens.curve.kind", name);
        for (time_s, tokens) in answers(&[kind("step")]) {
            assert_eq!(tokens, if time_s < 100.0 { 256 } else { 512 });
        }
        for (time_s, tokens) in answers(&[kind("spike"), ("workload.output_tokens.curve.factor", "0")]) {
            assert_eq!(tokens, if (100.0..200.0).contains(&time_s) { 1 } else { 256 });
        }
        for (time_s, tokens) in answers(&[kind("ramp")]) {
            let factor = 1.0 + ((time_s - 100.0) / 100.0).clamp(0.0, 1.0);
            assert_eq!(tokens, (256.0 * factor + 0.5) as u32);
        }
        for factor in ["1.6", "0.4"] {
            for (time_s, tokens) in
                answers(&[kind("diurnal"), ("workload.output_tokens.curve.factor", factor)])
            {
                let swing = factor.parse::<f64>().expect("a number") - 1.0;
                let wave = 1.0 + swing * libm::cos(std::f64::consts::TAU * time_s / 100.0);
                assert!((f64::from(tokens) - 256.0 * wave).abs() <= 0.5 + 1e-6, "{time_s}: {tokens}");
            }
        }
        for (time_s, tokens) in answers(&[kind("slow_rising")]) {
            let wave = 1.0 + 0.5 * libm::sin(0.5 * std::f64::consts::PI * (time_s / 300.0).min(1.0));
            assert!((f64::from(tokens) - 256.0 * wave).abs() <= 0.5 + 1e-6, "{time_s}: {tokens}");
        }
        let points = ("workload.output_tokens.curve.points", "0, 1, 150, 3, 150, 0.5");
        for (time_s, tokens) in answers(&[kind("points"), points]) {
            let factor = if time_s < 150.0 { 1.0 + time_s / 75.0 } else { 0.5 };
            assert_eq!(tokens, (256.0 * factor + 0.5) as u32);
        }
    }

    #[test]
    fn unsound_length_curves_are_refused_at_their_parameter() {
        let paths = |settings: &[(&str, &str)]| -> Vec<String> {
            set(settings).problems().into_iter().map(|error| error.path).collect()
        };
        let kind = |name| ("workload.input_tokens.curve.kind", name);
        let (factor, end) = ("workload.input_tokens.curve.factor", "workload.input_tokens.curve.end_s");
        assert_eq!(paths(&[kind("diurnal"), (factor, "2.5")]), [factor]);
        assert_eq!(paths(&[kind("diurnal"), (end, "100")]), [end]);
        assert_eq!(paths(&[kind("ramp"), (end, "50")]), [end]);
        let points = "workload.input_tokens.curve.points";
        assert_eq!(paths(&[kind("points"), (points, "1, 2, 3")]), [points]);
        assert_eq!(paths(&[(points, "1, 2, 3")]), [""; 0]);
    }

    #[test]
    fn sampled_rates_are_whole_and_those_of_the_pattern() {
        let kind = ("workload.curve.kind", "severe_fluctuation");
        let settings = [kind, ("workload.rate_rps", "6"), ("workload.curve.sampling", "aibrix")];
        let scenario = set(&settings);
        let curve = scenario.curve().expect("it is sound").expect("it is no constant");
        let pattern = NamedPattern::SevereFluctuation.pattern(6.0);
        let rates = rate_samples(&pattern, 301, 42);
        for (second, rate) in rates.iter().enumerate() {
            assert_eq!(curve.value_at(second as f64 + 0.5), *rate);
            assert_eq!(rate.fract(), 0.0);
        }
        let total: f64 = rates[..300].iter().sum();
        assert!((curve.integral(300.0) - total).abs() < 1e-6);
        assert_eq!(generate(&scenario.workload()).len(), total as usize);
        assert!(scenario.warnings().is_empty());
    }

    #[test]
    fn a_sine_is_aibrix_configured_pattern() {
        let settings = [
            ("workload.curve.kind", "sine"),
            ("workload.rate_rps", "6"),
            ("workload.curve.period_s", "60"),
            ("workload.curve.only_rise", "true"),
        ];
        let free = set(&settings).curve().expect("it is sound").expect("it is no constant");
        assert!((free.value_at(5.0) - 7.5).abs() < 1e-12);
        assert_eq!([15.0, 45.0, 299.0].map(|t| free.value_at(t)), [9.0; 3]);
        let whole = set(&[
            &settings[..],
            &[("workload.curve.sampling", "aibrix"), ("workload.curve.noise_rps", "0")],
        ]
        .concat());
        let whole = whole.curve().expect("it is sound").expect("it is no constant");
        assert_eq!([0.0, 5.0, 299.0].map(|t| whole.value_at(t)), [6.0, 7.0, 9.0]);
    }

    #[test]
    fn waves_faster_than_their_samples_are_warned_of() {
        let settings = [
            ("workload.curve.kind", "sine"),
            ("workload.curve.period_s", "1.5"),
            ("workload.curve.sampling", "aibrix"),
        ];
        let warnings = set(&settings).warnings();
        assert_eq!(warnings.len(), 1);
        assert_eq!((warnings[0].code, &*warnings[0].path), ("aliased_curve", "workload.curve.interval_s"));
        assert!(set(&settings[..2]).warnings().is_empty());
        let many = [&settings[..], &[("workload.curve.interval_s", "0.001"), ("workload.duration_s", "1e7")]];
        let problems = set(&many.concat()).problems();
        assert_eq!(problems[0].path, "workload.curve.interval_s");
    }
}
