//! Fits as scenarios, JSON and text.

mod clients;
mod text;

use serde_json::{Value as Json, json};
use servescope_settings::diagnostic::Diagnostic;
use servescope_settings::parameters::choices::{
    ArrivalKind, Choice, ChoiceId, CurveKind, LengthKind, Popularity,
};
use servescope_settings::parameters::{Id, Value};
use servescope_settings::scenario::Scenario;
use servescope_workload::fit::{self, ArrivalModel, Fit, LabelFit, LengthFit, TraceDistances};
use servescope_workload::{LengthDistribution, Trace};

pub use clients::{clients_json, clients_text};
pub use text::to_text;

/// Most points of a scenario's rate curve.
const MOST_POINTS: usize = 96;
/// Most ranks that are dealt out one by one.
const MOST_RANKS: usize = 64;

/// A fitted workload as parameters, and what parameters cannot say.
#[derive(Debug, Clone, PartialEq)]
pub struct FittedScenario {
    /// The workload; other parameters have their defaults.
    pub scenario: Scenario,
    /// What was left out or is only near, for a person.
    pub left_out: Vec<String>,
}

/// The parameters of a length distribution: its kind, and in this order value, low, high, mean, exponent, median, sigma,
/// deviation, histogram.
type LengthIds = (ChoiceId<LengthKind>, [Id; 9]);

const INPUT: LengthIds = (
    LengthKind::INPUT,
    [
        Id::InputValue,
        Id::InputLow,
        Id::InputHigh,
        Id::InputMean,
        Id::InputExponent,
        Id::InputMedian,
        Id::InputSigma,
        Id::InputDeviation,
        Id::InputHistogram,
    ],
);
const OUTPUT: LengthIds = (
    LengthKind::OUTPUT,
    [
        Id::OutputValue,
        Id::OutputLow,
        Id::OutputHigh,
        Id::OutputMean,
        Id::OutputExponent,
        Id::OutputMedian,
        Id::OutputSigma,
        Id::OutputDeviation,
        Id::OutputHistogram,
    ],
);

/// Sets parameters and keeps what was rejected.
#[derive(Default)]
struct Setter {
    scenario: Scenario,
    left_out: Vec<String>,
}

impl Setter {
    fn set(&mut self, id: Id, value: Value) {
        if let Err(error) = self.scenario.set(id, value) {
            self.left_out.push(error.message);
        }
    }

    /// A number to six significant digits, moved to the parameter's bounds.
    fn number(&mut self, id: Id, x: f64) {
        let rounded: f64 = format!("{x:.5e}").parse().unwrap_or(x);
        let (low, high) = id.row().bounds().unwrap_or((rounded, rounded));
        let bounded = rounded.clamp(low, high);
        if bounded != rounded {
            self.left_out
                .push(format!("{}: {rounded} lies outside {low} to {high}; {bounded} is taken", id.row().id));
        }
        self.set(id, Value::Number(bounded));
    }

    fn choose<C: Choice>(&mut self, of: ChoiceId<C>, value: C) {
        self.set(of.id(), of.value(value));
    }

    fn arrivals(&mut self, fitted: &Fit) {
        let gaps = &fitted.curve_gaps;
        match (gaps.gamma, gaps.weibull) {
            (Some(gamma), Some(weibull)) if weibull.distance < gamma.distance => {
                self.choose(ArrivalKind::ID, ArrivalKind::Weibull);
                self.number(Id::WeibullShape, weibull.shape);
            }
            (Some(gamma), _) => {
                self.choose(ArrivalKind::ID, ArrivalKind::Gamma);
                self.number(Id::Cv, f64::sqrt(1.0 / gamma.shape));
            }
            (None, _) => self.choose(ArrivalKind::ID, ArrivalKind::Poisson),
        }
        self.left_out.push(
            "bursts that last seconds to minutes: a curve of points and independent gaps have them only where a point \
             lies; generate the twin with --model bursts for those"
                .to_owned(),
        );
    }

    fn curve(&mut self, fitted: &Fit) {
        let bins = &fitted.curve.rate_rps;
        if bins.len() < 2 || fitted.rate_rps <= 0.0 {
            return;
        }
        let joined = bins.len().div_ceil(MOST_POINTS);
        let mut points = Vec::new();
        for (place, rates) in bins.chunks(joined).enumerate() {
            let rate = rates.iter().sum::<f64>() / rates.len() as f64;
            let middle_s = ((place * joined) as f64 + 0.5 * rates.len() as f64) * fitted.curve.bin_s;
            points.push(middle_s);
            points.push(libm::round(rate / fitted.rate_rps * 1e4) / 1e4);
        }
        self.choose(CurveKind::ID, CurveKind::Points);
        self.set(Id::CurvePoints, Value::List(points));
    }

    /// The nearest distribution without anything longer than the source's longest, or a histogram where none is near.
    fn lengths(&mut self, ids: LengthIds, fit: &LengthFit) {
        const NEAR: f64 = 0.05;
        const BINS: usize = 24;
        let Some(best) = fit.best_bounded() else { return };
        let (
            kind,
            [value, low_id, high_id, mean_id, exponent_id, median_id, sigma_id, deviation_id, histogram_id],
        ) = ids;
        if best.distance > NEAR {
            self.choose(kind, LengthKind::Histogram);
            let rounded = |x: f64| libm::round(x * 1e6) / 1e6;
            let numbers = fit.quantiles.histogram(BINS).into_iter().map(rounded).collect();
            self.set(histogram_id, Value::List(numbers));
            self.left_out.push(format!(
                "{}: no distribution is within {NEAR} of the lengths; a histogram of their quantiles spreads them evenly inside a bin",
                kind.id().row().id
            ));
            return;
        }
        let bounds = |setter: &mut Self, low: u32, high: u32| {
            setter.number(low_id, f64::from(low));
            setter.number(high_id, f64::from(high));
        };
        match best.distribution {
            // No fit proposes these.
            LengthDistribution::Percentiles(_)
            | LengthDistribution::Table(_)
            | LengthDistribution::Zipf(_) => {}
            LengthDistribution::Fixed { value: tokens } => {
                self.choose(kind, LengthKind::Fixed);
                self.number(value, f64::from(tokens));
            }
            LengthDistribution::Uniform { low, high } => {
                self.choose(kind, LengthKind::Uniform);
                bounds(self, low, high);
            }
            LengthDistribution::Geometric { mean } => {
                self.choose(kind, LengthKind::Geometric);
                self.number(mean_id, mean);
            }
            LengthDistribution::BoundedGeometric { mean, low, high } => {
                self.choose(kind, LengthKind::BoundedGeometric);
                bounds(self, low, high);
                self.number(mean_id, mean);
            }
            LengthDistribution::BoundedPareto { exponent, low, high } => {
                self.choose(kind, LengthKind::BoundedPareto);
                bounds(self, low, high);
                self.number(exponent_id, exponent);
            }
            LengthDistribution::Normal { mean, deviation, low, high } => {
                self.choose(kind, LengthKind::Normal);
                bounds(self, low, high);
                self.number(mean_id, mean);
                self.number(deviation_id, deviation);
            }
            LengthDistribution::Lognormal { median, sigma, low, high } => {
                self.choose(kind, LengthKind::Lognormal);
                bounds(self, low, high);
                self.number(median_id, median);
                self.number(sigma_id, sigma);
            }
        }
    }

    /// Shares by the nearest distribution: its parameter goes where the distribution has one.
    fn shares(
        &mut self,
        labels: &LabelFit,
        count: Id,
        of: ChoiceId<Popularity>,
        [alpha, zipf, sigma, decay]: [Id; 4],
    ) {
        self.number(count, labels.labels as f64);
        let Some(nearest) = labels.distributions.first() else { return };
        let Some(popularity) = of.find(nearest.distribution) else { return };
        self.choose(of, popularity);
        let id = match popularity {
            Popularity::Power => alpha,
            Popularity::Zipf => zipf,
            Popularity::Lognormal => sigma,
            Popularity::Geometric => decay,
            Popularity::Uniform | Popularity::List => return,
        };
        self.number(id, nearest.parameter.unwrap_or(0.0));
    }
}

/// The workload that a fit describes, as parameters.
pub fn scenario(fitted: &Fit) -> FittedScenario {
    let mut setter = Setter::default();
    setter.number(Id::Rate, fitted.rate_rps);
    setter.number(Id::Duration, fitted.span_s);
    setter.curve(fitted);
    setter.arrivals(fitted);
    setter.lengths(INPUT, &fitted.input);
    setter.lengths(OUTPUT, &fitted.output);
    if let Some(rho) = fitted.length_correlation {
        setter.number(Id::LengthCorrelation, rho);
    }
    match &fitted.users {
        Some(users) => setter.shares(
            users,
            Id::Users,
            Popularity::USERS,
            [Id::UserAlpha, Id::UserZipf, Id::UserSigma, Id::UserDecay],
        ),
        None => setter.number(Id::Users, 1.0),
    }
    match &fitted.adapters {
        Some(adapters) => {
            let ids = [Id::Alpha, Id::AdapterZipf, Id::AdapterSigma, Id::AdapterDecay];
            setter.shares(adapters, Id::Adapters, Popularity::ADAPTERS, ids);
            // Parameters name adapters by how busy they are.
            let by_share = adapters.label.iter().filter_map(|&label| fitted.adapter_rank.get(label as usize));
            let ranks: Vec<f64> = by_share.filter(|&&rank| rank > 0).map(|&rank| f64::from(rank)).collect();
            if ranks.iter().all(|rank| Some(rank) == ranks.first()) {
                if let Some(&rank) = ranks.first() {
                    setter.set(Id::Ranks, Value::List(vec![rank]));
                }
            } else if ranks.len() <= MOST_RANKS {
                setter.set(Id::Ranks, Value::List(ranks));
            } else {
                setter
                    .left_out
                    .push(format!("ranks of {} adapters: at most {MOST_RANKS} are listed", ranks.len()));
            }
            if adapters.unlabelled_share > 0.0 {
                let share = 100.0 * adapters.unlabelled_share;
                setter.left_out.push(format!("{share:.1} % of requests are for the base model"));
            }
        }
        None => setter.number(Id::Adapters, 0.0),
    }
    if fitted.sessions.is_some() {
        setter.left_out.push("sessions: every request comes on its own".to_owned());
    }
    FittedScenario { scenario: setter.scenario, left_out: setter.left_out }
}

/// The model called `name`.
///
/// # Errors
/// [`Diagnostic`] with the known names.
pub fn model(name: &str) -> Result<ArrivalModel, Diagnostic> {
    ArrivalModel::from_name(name).ok_or_else(|| {
        let known: Vec<&str> = ArrivalModel::ALL.iter().map(|model| model.name()).collect();
        let message = format!("model {name} is not known; known are {}", known.join(", "));
        Diagnostic::error("unknown_option", "model", message)
            .text("value", name)
            .text("options", &known.join(", "))
    })
}

/// A twin by one model, with its distances.
#[derive(Debug, Clone, PartialEq)]
pub struct Twin {
    /// The model.
    pub model: ArrivalModel,
    /// The trace.
    pub trace: Trace,
    /// How far it is from its source.
    pub comparison: TraceDistances,
}

/// A twin by each model.
pub fn twins(source: &Trace, fitted: &Fit, seed: u64) -> Vec<Twin> {
    let twin = |model: ArrivalModel| {
        let trace = fitted.twin(seed, model);
        Twin { model, comparison: fit::compare(source, &trace), trace }
    };
    ArrivalModel::ALL.into_iter().map(twin).collect()
}

/// A number, or null for one that is none.
fn finite(x: f64) -> Json {
    if x.is_finite() { json!(x) } else { Json::Null }
}

fn finite_all(values: &[f64]) -> Json {
    values.iter().map(|&x| finite(x)).collect()
}

fn gaps_json(gaps: &fit::GapFit) -> Json {
    let distribution = |distribution: Option<fit::DistributionDistance>| {
        distribution.map(|l| json!({"shape": l.shape, "distance": l.distance}))
    };
    json!({
        "count": gaps.count, "mean": gaps.mean, "cv": gaps.cv, "zeros": gaps.zeros,
        "gamma_moments": distribution(gaps.gamma_moments), "gamma_mle": distribution(gaps.gamma), "weibull_mle": distribution(gaps.weibull),
        "exponential": gaps.exponential_distance.map(|d| json!({"distance": d})),
    })
}

fn lengths_json(lengths: &fit::LengthFit) -> Json {
    let distributions: Vec<Json> = lengths
        .distributions
        .iter()
        .map(|distribution| json!({"distribution": distribution.name, "parameters": format!("{:?}", distribution.distribution), "distance": distribution.distance}))
        .collect();
    json!({
        "count": lengths.count, "mean": lengths.mean, "cv": lengths.cv, "min": lengths.min, "max": lengths.max,
        "distributions": distributions, "quantile_table_distance": lengths.quantile_distance,
    })
}

fn shares_json(labels: &LabelFit) -> Json {
    let distributions: Vec<Json> = labels.distributions.iter().map(share_distribution_json).collect();
    json!({
        "labels": labels.labels, "unlabelled_share": labels.unlabelled_share,
        "top_share": labels.shares.first(), "labels_for_50_80_90pct": labels.labels_for, "distributions": distributions,
    })
}

fn share_distribution_json(distribution: &servescope_workload::share_fit::ShareFit) -> Json {
    json!({
        "distribution": distribution.distribution, "parameter": distribution.parameter, "divergence_nats": distribution.divergence_nats,
        "distance": distribution.distance, "top_share": distribution.top_share,
    })
}

fn comparison_json(comparison: &TraceDistances) -> Json {
    let c = comparison;
    let quantiles = |q: &fit::QuantileTable| json!({"share": q.share, "source": q.source, "twin": q.twin});
    json!({
        "requests": c.requests, "rate_rps": c.rate_rps,
        "gap_cv": finite_all(&c.gap_cv), "length_correlation": finite_all(&c.length_correlation),
        "distance": {
            "gaps": c.gap_distance, "input_tokens": c.input_distance, "output_tokens": c.output_distance,
            "users": c.user_distance, "adapters": c.adapter_distance,
        },
        "dispersion": {
            "window_s": c.window_s,
            "source": finite_all(&c.source_dispersion),
            "twin": finite_all(&c.twin_dispersion),
        },
        "rate": {
            "bin_s": c.bin_s,
            "source_rps": finite_all(&c.source_rate_rps),
            "twin_rps": finite_all(&c.twin_rate_rps),
        },
        "quantiles": {
            "gaps_s": quantiles(&c.gaps_s),
            "input_tokens": quantiles(&c.input_tokens),
            "output_tokens": quantiles(&c.output_tokens),
        },
    })
}

/// A fit with its twins and its scenario as JSON.
pub fn to_json(fitted: &Fit, twins: &[Twin]) -> Json {
    let scenario = scenario(fitted);
    let dispersion = &fitted.dispersion;
    let findings: Vec<Json> =
        fitted.findings.iter().map(|n| json!({"code": n.code, "message": n.message})).collect();
    let models: serde_json::Map<String, Json> =
        twins.iter().map(|twin| (twin.model.name().to_owned(), comparison_json(&twin.comparison))).collect();
    json!({
        "requests": fitted.requests, "span_s": fitted.span_s, "rate_rps": fitted.rate_rps,
        "stamps": fitted.stamps.as_ref().map(|s| json!({"step_s": s.step_s, "batches": s.batches_s.len()})),
        "curve": {"bin_s": fitted.curve.bin_s, "rate_rps": fitted.curve.rate_rps},
        "gaps_s": gaps_json(&fitted.gaps),
        "gaps_spread_s": gaps_json(&fitted.spread_gaps),
        "gaps_on_curve_clock": gaps_json(&fitted.curve_gaps),
        "gaps_on_replayed_clock": gaps_json(&fitted.changed_gaps),
        "cv_within_minutes": fitted.cv_within_minutes,
        "dispersion": {"window_s": dispersion.window_s, "index": finite_all(&dispersion.index)},
        "bursts": {
            "trend_s": fitted.cascade.trend_s,
            "parameters": fitted.cascade.parameters(),
            "levels": fitted.cascade.levels.len(),
        },
        "input_tokens": lengths_json(&fitted.input),
        "output_tokens": lengths_json(&fitted.output),
        "length_correlation": fitted.length_correlation,
        "users": fitted.users.as_ref().map(shares_json),
        "adapters": fitted.adapters.as_ref().map(shares_json),
        "sessions": fitted.sessions.as_ref().map(|s| json!({
            "sessions": s.sessions, "share": s.share, "turns_mean": s.turns.mean,
            "between_median_s": s.between_s.as_ref().map(|d| d.percentiles[3]),
            "growth_median_tokens": s.growth_tokens.as_ref().map(|d| d.percentiles[3]),
        })),
        "models": models,
        "scenario": scenario.scenario.to_json(),
        "left_out_of_scenario": scenario.left_out,
        "noticed": findings,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use servescope_workload::fit::{FitOptions, fit};

    #[test]
    fn the_scenario_of_a_drawn_trace_is_the_one_it_was_drawn_from() {
        let mut drawn = Scenario::of_version(4);
        for (path, text) in [
            ("workload.rate_rps", "20"),
            ("workload.duration_s", "1500"),
            ("workload.arrivals.cv", "2"),
            ("workload.input_tokens.kind", "lognormal"),
            ("workload.input_tokens.median", "300"),
            ("workload.input_tokens.high", "20000"),
            ("workload.users.popularity", "zipf"),
            ("workload.users.zipf_s", "1.3"),
            ("workload.length_correlation", "0.5"),
            ("workload.adapters.count", "20"),
            ("workload.adapters.popularity", "geometric"),
        ] {
            drawn.set_text(path, text).unwrap();
        }
        let trace = crate::arrivals::trace_of(&drawn, None).unwrap();
        let fitted = scenario(&fit(&trace, &FitOptions::default())).scenario;
        assert!(fitted.problems().is_empty());
        for (id, tolerance) in [
            (Id::Rate, 0.02),
            (Id::Duration, 0.05),
            (Id::Cv, 0.1),
            (Id::InputMedian, 0.05),
            (Id::InputSigma, 0.05),
            (Id::UserZipf, 0.05),
            (Id::LengthCorrelation, 0.05),
            (Id::AdapterDecay, 0.05),
        ] {
            let (was, is) = (drawn.number(id), fitted.number(id));
            assert!((is / was - 1.0).abs() < tolerance, "{}: {is}, drawn from {was}", id.row().id);
        }
        for id in
            [Id::ArrivalKind, Id::InputKind, Id::OutputKind, Id::UserPopularity, Id::Popularity, Id::Ranks]
        {
            assert_eq!(fitted.get(id), drawn.get(id), "{}", id.row().id);
        }
        let again = Scenario::from_json(&fitted.to_json());
        assert!(again.1.is_empty(), "{:?}", again.1);
    }

    #[test]
    fn a_fitted_scenario_draws_nothing_longer_than_its_source() {
        for (kind, path, value) in [
            ("geometric", "workload.input_tokens.mean", "900"),
            ("bounded_pareto", "workload.input_tokens.high", "30000"),
            ("histogram", "workload.input_tokens.histogram", "8, 30, 30, 0, 5000, 1, 7000"),
        ] {
            let mut drawn = Scenario::of_version(4);
            drawn.set_text("workload.duration_s", "2000").unwrap();
            drawn.set_text("workload.input_tokens.kind", kind).unwrap();
            drawn.set_text(path, value).unwrap();
            let source = crate::arrivals::trace_of(&drawn, None).unwrap();
            let mut fitted = scenario(&fit(&source, &FitOptions::default())).scenario;
            assert!(fitted.problems().is_empty(), "{kind}: {:?}", fitted.problems());
            // Ten times as many requests as the source has.
            fitted.set_text("workload.curve.kind", "constant").unwrap();
            fitted.set_text("workload.duration_s", "20000").unwrap();
            let twin = crate::arrivals::trace_of(&fitted, None).unwrap();
            let longest = |trace: &Trace| trace.input_tokens.iter().copied().max().unwrap();
            assert!(longest(&twin) <= longest(&source), "{kind}: {} {}", longest(&twin), longest(&source));
            let quantile = |trace: &Trace, q: f64| {
                let mut lengths = trace.input_tokens.clone();
                lengths.sort_unstable();
                f64::from(lengths[(q * lengths.len() as f64) as usize])
            };
            for q in [0.25, 0.5, 0.9] {
                let (ours, theirs) = (quantile(&twin, q), quantile(&source, q));
                assert!((ours / theirs - 1.0).abs() < 0.12, "{kind}, {q}: {ours} {theirs}");
            }
        }
    }
}
