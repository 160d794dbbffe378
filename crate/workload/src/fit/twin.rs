//! Twins: traces drawn from a fit, by several models of arrival.

use super::Fit;
use super::rate::RateBins;
use crate::BASE_MODEL;
use crate::arrivals::Arrivals;
use crate::copula::GaussianCopula;
use crate::distribution;
use crate::statistics::index_at;
use crate::stream::Stream;
use crate::trace::{Request, Trace};

/// Windows at which a draw of bursts is judged, seconds.
const ACCEPTED_WINDOWS_S: [f64; 3] = [1.0, 10.0, 60.0];
/// Most that its dispersion may be off, as a share of the source's.
const ACCEPTED: f64 = 0.2;
/// Draws that are tried.
const MOST_DRAWS: usize = 8;

/// How a twin's requests arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Model {
    /// Gamma gaps with the mean and the variation of the source's gaps: what most generators offer.
    Gamma,
    /// Gamma gaps of the source's mean and the shape of largest likelihood.
    GammaLikelihood,
    /// Weibull gaps of the source's mean and the shape of largest likelihood.
    WeibullLikelihood,
    /// Exponential gaps.
    Poisson,
    /// Curve replayed: the rates of [`Fit::replayed`] as they were, with gamma gaps on the clock of that curve.
    Curve,
    /// Bursts resampled: the trend as it was, every burst redrawn from [`Fit::cascade`]; of at most eight draws the first
    /// with a dispersion within a fifth of the source's at 1, 10 and 60 s.
    Bursts,
}

impl Model {
    /// Every model, the simplest first.
    pub const ALL: [Self; 6] = [
        Self::Poisson,
        Self::Gamma,
        Self::GammaLikelihood,
        Self::WeibullLikelihood,
        Self::Curve,
        Self::Bursts,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gamma => "gamma",
            Self::GammaLikelihood => "gamma_mle",
            Self::WeibullLikelihood => "weibull_mle",
            Self::Poisson => "poisson",
            Self::Curve => "curve",
            Self::Bursts => "bursts",
        }
    }

    /// The model called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|model| model.name() == name)
    }

    /// What it does, in a few words.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Gamma => "gamma gaps of the same mean and cv",
            Self::GammaLikelihood => "gamma gaps, shape by maximum likelihood",
            Self::WeibullLikelihood => "Weibull gaps, shape by maximum likelihood",
            Self::Poisson => "exponential gaps",
            Self::Curve => "curve replayed, gamma gaps on its clock",
            Self::Bursts => "bursts resampled, trend replayed",
        }
    }
}

impl Fit {
    /// A trace drawn from the fit: arrivals by `model`, lengths from the quantile tables with the source's rank
    /// correlation, users and adapters by their shares, each from a stream of its own. Sessions and prefixes are not made.
    pub fn twin(&self, seed: u64, model: Model) -> Trace {
        let times_s = self.arrivals_s(seed, model);
        let mut trace = Trace::with_capacity(times_s.len());
        let stream = |name: &str| Stream::named(seed, name);
        let (mut input, mut output) = (stream("twin input"), stream("twin output"));
        let (mut user, mut adapter) = (stream("twin users"), stream("twin adapters"));
        let copula = GaussianCopula::rising(self.length_correlation.unwrap_or(0.0));
        let [user_table, adapter_table] =
            [&self.users, &self.adapters].map(|l| l.as_ref().map(|l| (l, l.cumulated())));
        let label = |table: &Option<(&super::LabelFit, Vec<f64>)>, draws: &mut Stream, none: u32| {
            table.as_ref().map_or(none, |(labels, cumulated)| labels.at(cumulated, draws.uniform()))
        };
        for time_s in times_s {
            let (u, v) = (input.uniform(), output.uniform());
            let output_tokens = self.output.quantiles.at(copula.second(u, v));
            trace.push(Request {
                arrival_us: (self.start_s + time_s) * 1e6,
                user: label(&user_table, &mut user, 0),
                adapter: label(&adapter_table, &mut adapter, BASE_MODEL),
                input_tokens: self.input.quantiles.at(u),
                output_tokens,
                max_tokens: output_tokens,
            });
        }
        trace.adapter_rank.clone_from(&self.adapter_rank);
        trace
    }

    /// Times of arrival in seconds from the first one of the source, ascending, on the source's clock.
    fn arrivals_s(&self, seed: u64, model: Model) -> Vec<f64> {
        if self.requests == 0 {
            return Vec::new();
        }
        let stream = Stream::named(seed, "twin arrivals");
        let shape = |distribution: Option<super::DistributionDistance>| {
            distribution.map_or(1.0, |distribution| distribution.shape)
        };
        let renewal = |arrivals: Arrivals| {
            let rate = if self.gaps.mean > 0.0 { 1.0 / self.gaps.mean } else { 1.0 };
            let gaps = if self.requests > 1 && self.gaps.mean > 0.0 { self.requests - 1 } else { 0 };
            let mut times = vec![0.0; self.requests - gaps];
            times.extend(arrivals.times_us(rate, gaps, stream.clone()).into_iter().map(|us| us / 1e6));
            times
        };
        let gamma = |shape: f64| Arrivals::Gamma { cv: 1.0 / f64::sqrt(shape) };
        let mut times = match model {
            Model::Poisson => renewal(Arrivals::Poisson),
            Model::Gamma => renewal(gamma(shape(self.gaps.gamma_moments))),
            Model::GammaLikelihood => renewal(gamma(shape(self.spread_gaps.gamma))),
            Model::WeibullLikelihood => renewal(Arrivals::Weibull { shape: shape(self.spread_gaps.weibull) }),
            Model::Curve => replayed(&self.replayed, shape(self.changed_gaps.gamma), &stream),
            Model::Bursts => return self.accepted_bursts(&stream),
        };
        self.stamp(&mut times);
        times
    }

    /// Times as the source's clock would have them.
    fn stamp(&self, times_s: &mut [f64]) {
        if let Some(stamps) = &self.stamps {
            times_s.iter_mut().for_each(|time| *time = stamps.stamp_s(*time));
        }
    }

    /// Bursts drawn until a draw's dispersion at 1, 10 and 60 s is near the source's; the nearest of all draws otherwise.
    /// A trace has few long windows, so that a draw of the right distribution may still be far off by chance.
    fn accepted_bursts(&self, stream: &Stream) -> Vec<f64> {
        let mut nearest = (f64::INFINITY, Vec::new());
        for draw in 0..MOST_DRAWS {
            let mut times = self.cascade.times_s(&stream.item(draw));
            self.stamp(&mut times);
            let off = ACCEPTED_WINDOWS_S.iter().filter_map(|&window_s| {
                let source = self.dispersion.at(window_s).filter(|&index| index > 0.0)?;
                Some((index_at(&times, window_s).unwrap_or(0.0) / source - 1.0).abs())
            });
            let off = off.fold(0.0, f64::max);
            if off < nearest.0 {
                nearest = (off, times);
            }
            if nearest.0 <= ACCEPTED {
                break;
            }
        }
        nearest.1
    }
}

/// Arrivals under a replayed curve: gamma gaps of mean 1 on its clock.
fn replayed(curve: &RateBins, shape: f64, stream: &Stream) -> Vec<f64> {
    let mut next = 0;
    curve.arrivals_s(|| {
        next += 1;
        distribution::gamma(shape, &mut stream.item(next)) / shape
    })
}
