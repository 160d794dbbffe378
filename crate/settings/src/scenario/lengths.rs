//! The scenario's lengths: distributions of prompts and outputs, or pairs of both.

use servescope_workload::LengthDistribution;
use servescope_workload::lengths::{LengthError, LengthPairs, LengthTable, Percentiles, Zipf};

use super::Scenario;
use crate::diagnostic::{Diagnostic, Reason};
use crate::parameters::Id;
use crate::parameters::choices::{ChoiceId, LengthKind, LengthSource, MixtureKind};

/// The parameters of a distribution of lengths.
pub(super) struct LengthRows {
    kind: ChoiceId<LengthKind>,
    value: Id,
    low: Id,
    high: Id,
    mean: Id,
    exponent: Id,
    theta: Id,
    median: Id,
    sigma: Id,
    deviation: Id,
    p90: Id,
    p99: Id,
    histogram: Id,
    second: SecondRows,
}

/// The parameters of what is mixed in.
struct SecondRows {
    share: Id,
    kind: ChoiceId<MixtureKind>,
    low: Id,
    exponent: Id,
    median: Id,
    sigma: Id,
}

/// Those of prompts.
pub(super) const INPUT: LengthRows = LengthRows {
    kind: LengthKind::INPUT,
    value: Id::InputValue,
    low: Id::InputLow,
    high: Id::InputHigh,
    mean: Id::InputMean,
    exponent: Id::InputExponent,
    theta: Id::InputTheta,
    median: Id::InputMedian,
    sigma: Id::InputSigma,
    deviation: Id::InputDeviation,
    p90: Id::InputP90,
    p99: Id::InputP99,
    histogram: Id::InputHistogram,
    second: SecondRows {
        share: Id::InputMixShare,
        kind: MixtureKind::INPUT,
        low: Id::InputMixLow,
        exponent: Id::InputMixExponent,
        median: Id::InputMixMedian,
        sigma: Id::InputMixSigma,
    },
};

/// Those of answers.
pub(super) const OUTPUT: LengthRows = LengthRows {
    kind: LengthKind::OUTPUT,
    value: Id::OutputValue,
    low: Id::OutputLow,
    high: Id::OutputHigh,
    mean: Id::OutputMean,
    exponent: Id::OutputExponent,
    theta: Id::OutputTheta,
    median: Id::OutputMedian,
    sigma: Id::OutputSigma,
    deviation: Id::OutputDeviation,
    p90: Id::OutputP90,
    p99: Id::OutputP99,
    histogram: Id::OutputHistogram,
    second: SecondRows {
        share: Id::OutputMixShare,
        kind: MixtureKind::OUTPUT,
        low: Id::OutputMixLow,
        exponent: Id::OutputMixExponent,
        median: Id::OutputMixMedian,
        sigma: Id::OutputMixSigma,
    },
};

impl Scenario {
    /// A length distribution; where its parameters make none, one token, and [`Scenario::length_problems`] says why.
    pub(super) fn length(&self, rows: &LengthRows) -> LengthDistribution {
        let (low, high) = (self.whole(rows.low), self.whole(rows.high).max(self.whole(rows.low)));
        let lognormal = |median, sigma| LengthDistribution::Lognormal {
            median: self.number(median),
            sigma: self.number(sigma),
            low,
            high,
        };
        let pareto = |exponent, low: u32| LengthDistribution::BoundedPareto {
            exponent: self.number(exponent),
            low,
            high: high.max(low),
        };
        match self.chosen(rows.kind) {
            LengthKind::Uniform => LengthDistribution::Uniform { low, high },
            LengthKind::Fixed => LengthDistribution::Fixed { value: self.whole(rows.value) },
            LengthKind::Geometric => LengthDistribution::Geometric { mean: self.number(rows.mean) },
            LengthKind::BoundedGeometric => {
                LengthDistribution::BoundedGeometric { mean: self.number(rows.mean), low, high }
            }
            LengthKind::Normal => LengthDistribution::Normal {
                mean: self.number(rows.mean),
                deviation: self.number(rows.deviation),
                low,
                high,
            },
            LengthKind::BoundedPareto => pareto(rows.exponent, low),
            LengthKind::Zipf => LengthDistribution::Zipf(Zipf::new(low, high, self.number(rows.theta))),
            LengthKind::Lognormal => lognormal(rows.median, rows.sigma),
            LengthKind::Percentiles => LengthDistribution::Percentiles(Percentiles::new(
                [rows.median, rows.p90, rows.p99].map(|id| self.number(id)),
                low,
                high,
            )),
            LengthKind::Mixture => {
                let second = match self.chosen(rows.second.kind) {
                    MixtureKind::BoundedPareto => pareto(rows.second.exponent, self.whole(rows.second.low)),
                    MixtureKind::Lognormal => lognormal(rows.second.median, rows.second.sigma),
                };
                let first = lognormal(rows.median, rows.sigma);
                LengthDistribution::Table(LengthTable::mixture(
                    &first,
                    &second,
                    self.number(rows.second.share),
                ))
            }
            LengthKind::Histogram => LengthTable::histogram(&self.list(rows.histogram))
                .map_or(LengthDistribution::Fixed { value: 1 }, LengthDistribution::Table),
        }
    }

    /// Pairs of lengths, where lengths come in pairs.
    pub(super) fn length_pairs(&self) -> Option<LengthPairs> {
        self.has_pairs().then(|| LengthPairs::new(&self.list(Id::LengthPairs)).ok()).flatten()
    }

    fn has_pairs(&self) -> bool {
        match self.chosen(LengthSource::ID) {
            LengthSource::Distributions => false,
            LengthSource::Pairs => true,
        }
    }

    /// What is wrong with the lengths.
    pub(super) fn length_problems(&self, problems: &mut Vec<Diagnostic>) {
        if self.has_pairs() {
            problems.extend(refused(Id::LengthPairs, LengthPairs::new(&self.list(Id::LengthPairs)).err()));
            return;
        }
        for rows in [&INPUT, &OUTPUT] {
            let second = &rows.second;
            let ordered = [
                (rows.low, rows.high),
                (rows.median, rows.p90),
                (rows.p90, rows.p99),
                (second.low, rows.high),
            ];
            for (low, high) in ordered {
                problems.extend(self.crossed(low, high));
            }
            if self.is_active(rows.histogram) {
                let error = LengthTable::histogram(&self.list(rows.histogram)).err();
                problems.extend(refused(rows.histogram, error));
            }
        }
    }

    /// Two parameters that both matter and are in the wrong order.
    fn crossed(&self, low: Id, high: Id) -> Option<Diagnostic> {
        let (least, most) = (self.number(low), self.number(high));
        if least <= most || !self.is_active(low) || !self.is_active(high) {
            return None;
        }
        let (path, other) = (high.row().id, low.row().id);
        let message = format!("{path}: {most} is below {other} ({least})");
        let error = Diagnostic::error("bounds_crossed", path, message);
        Some(error.number("value", most).number("min", least).text("other", other))
    }
}

fn refused(id: Id, error: Option<LengthError>) -> Option<Diagnostic> {
    let error = error?;
    let (path, sentence) = (id.row().id, error.to_string());
    let reason = match error {
        LengthError::NoBins(count) => Reason::new("bins_count").number("count", count as f64),
        LengthError::BadEdge(value) => Reason::new("bin_edge").number("value", value),
        LengthError::EdgeOrder { lower, upper } => {
            Reason::new("bin_order").number("lower", lower).number("upper", upper)
        }
        LengthError::BadWeight(value) => Reason::new("bin_weight").number("value", value),
        LengthError::NoWeight => Reason::new("bin_no_weight"),
        LengthError::NoPairs(count) => Reason::new("pairs_count").number("count", count as f64),
    };
    let reported = Diagnostic::error("bad_lengths", path, format!("{path}: {sentence}"));
    Some(reported.text("reason", &sentence).because(reason))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::{Kind, Value};

    use proptest::prelude::*;
    use servescope_workload::generate;

    fn set(settings: &[(&str, &str)]) -> Scenario {
        Scenario::of_version(4).with(settings).unwrap_or_else(|error| panic!("{error}"))
    }

    fn paths(scenario: &Scenario) -> Vec<(&'static str, String)> {
        scenario.problems().into_iter().map(|error| (error.code, error.path)).collect()
    }

    #[test]
    fn every_distribution_reaches_the_trace_and_leaves_the_other_side_alone() {
        let plain = generate(&Scenario::of_version(4).workload());
        // The first is the default.
        for kind in LengthKind::NAMES.iter().copied().skip(1) {
            let scenario = set(&[("workload.input_tokens.kind", kind)]);
            assert!(scenario.problems().is_empty(), "{kind}");
            let trace = generate(&scenario.workload());
            assert_ne!(trace.input_tokens, plain.input_tokens, "{kind}");
            assert_eq!(trace.output_tokens, plain.output_tokens, "{kind}");
            assert_eq!(trace.arrival_us, plain.arrival_us, "{kind}");
        }
    }

    #[test]
    fn a_histogram_draws_from_its_bins_and_says_what_is_wrong_with_them() {
        let histogram = "workload.output_tokens.histogram";
        let bins = |list| set(&[("workload.output_tokens.kind", "histogram"), (histogram, list)]);
        assert_eq!(paths(&bins("100, 1, 102, 0, 900, 3, 900")), [("bad_lengths", histogram.to_owned())]);
        let trace = generate(&bins("100, 1, 102, 0, 900, 3, 901").workload());
        let share = |range: std::ops::RangeInclusive<u32>| {
            trace.output_tokens.iter().filter(|l| range.contains(l)).count() as f64 / trace.len() as f64
        };
        assert!((share(100..=101) - 0.25).abs() < 0.08 && (share(900..=901) - 0.75).abs() < 0.08);
        // Parameters of a distribution that is not chosen do not matter.
        assert!(set(&[(histogram, "1, 2")]).problems().is_empty());
    }

    #[test]
    fn pairs_are_drawn_as_they_stand() {
        let pairs = set(&[
            ("workload.lengths.from", "pairs"),
            ("workload.lengths.pairs", "10, 900, 700, 3"),
            ("workload.input_tokens.low", "900"),
        ]);
        assert!(pairs.problems().is_empty(), "the bounds of distributions do not matter");
        let trace = generate(&pairs.workload());
        let drawn: Vec<(u32, u32)> =
            trace.input_tokens.iter().copied().zip(trace.output_tokens.iter().copied()).collect();
        assert!(drawn.iter().all(|pair| [(10, 900), (700, 3)].contains(pair)));
        let longer = drawn.iter().filter(|pair| pair.0 == 700).count() as f64 / drawn.len() as f64;
        assert!((longer - 0.5).abs() < 0.08);
        assert_eq!(trace.arrival_us, generate(&Scenario::of_version(4).workload()).arrival_us);
        let odd = set(&[("workload.lengths.from", "pairs"), ("workload.lengths.pairs", "1, 2, 3")]);
        assert_eq!(paths(&odd), [("bad_lengths", "workload.lengths.pairs".to_owned())]);
    }

    #[test]
    fn what_is_out_of_order_is_named() {
        let crossed = |path: &str| [("bounds_crossed", path.to_owned())];
        let kind = ("workload.input_tokens.kind", "percentiles");
        let scenario = set(&[kind, ("workload.input_tokens.p90", "150")]);
        assert_eq!(paths(&scenario), crossed("workload.input_tokens.p90"));
        let scenario = set(&[kind, ("workload.input_tokens.p99", "399")]);
        assert_eq!(paths(&scenario), crossed("workload.input_tokens.p99"));
        let mixture = ("workload.output_tokens.kind", "mixture");
        let scenario = set(&[mixture, ("workload.output_tokens.mixture.low", "512")]);
        assert_eq!(paths(&scenario), crossed("workload.output_tokens.high"));
        let scenario = set(&[
            mixture,
            ("workload.output_tokens.mixture.low", "512"),
            ("workload.output_tokens.mixture.kind", "lognormal"),
        ]);
        assert!(scenario.problems().is_empty());
    }

    /// Any value of a row, its bounds included.
    fn any_value(id: Id) -> BoxedStrategy<Value> {
        let row = id.row();
        let near = |min: f64, max: f64, whole: bool| {
            let bounded = move |x: f64| if whole { x.trunc() } else { x };
            prop_oneof![
                Just(min),
                Just(max),
                (0.0..1.0f64)
                    .prop_map(move |u| bounded((min + u * u * (max.min(2000.0) - min)).clamp(min, max))),
            ]
        };
        match row.kind {
            Kind::Number { min, max, .. } => near(min, max, false).prop_map(Value::Number).boxed(),
            Kind::Whole { min, max, .. } => near(min, max, true).prop_map(Value::Number).boxed(),
            Kind::Choice(names) => proptest::sample::select(names).prop_map(Value::Choice).boxed(),
            Kind::Flag(_) => any::<bool>().prop_map(Value::Flag).boxed(),
            Kind::Text { .. } => Just(row.default_value()).boxed(),
            Kind::List { min, max, whole, .. } => {
                proptest::collection::vec(near(min, max, whole), 1..8).prop_map(Value::List).boxed()
            }
        }
    }

    fn any_settings() -> impl Strategy<Value = Vec<(Id, Value)>> {
        let rows: Vec<Id> = Id::ALL
            .iter()
            .copied()
            .filter(|id| ["lengths", "length_curve", "curve"].contains(&id.row().group))
            .collect();
        let one = proptest::sample::select(rows).prop_flat_map(|id| (Just(id), any_value(id)));
        proptest::collection::vec(one, 0..12)
    }

    proptest! {
        #[test]
        fn what_is_not_refused_makes_a_trace(settings in any_settings(), duration_s in 0.1..30.0f64) {
            let mut scenario = Scenario::of_version(4);
            scenario.set(Id::Duration, Value::Number(duration_s)).expect("it is within its bounds");
            for (id, value) in settings {
                scenario.set(id, value).expect("it is within its bounds");
            }
            scenario.warnings();
            let spec = scenario.workload();
            if scenario.problems().is_empty() && spec.request_count() < 10_000 {
                let trace = generate(&spec);
                prop_assert!(trace.arrival_us.is_sorted());
                prop_assert!(trace.arrival_us.iter().all(|t| t.is_finite()));
                let lengths = trace.input_tokens.iter().chain(&trace.output_tokens);
                prop_assert!(lengths.clone().all(|&length| length >= 1));
            }
        }
    }
}
