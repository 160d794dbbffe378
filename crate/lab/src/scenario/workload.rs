//! The scenario's workload: what arrives.

use servescope_workload::arrivals::Modulation;
use servescope_workload::{AdapterSpec, Arrivals, MaxTokens, Popularity, UserSpec, WorkloadSpec};

use super::Scenario;
use super::lengths::{INPUT, OUTPUT};
use crate::parameters::Id;

impl Scenario {
    /// Requests that the settings make, before any is cut: R D, or the curve's integral.
    pub(super) fn request_count(&self) -> f64 {
        let duration = self.number(Id::Duration);
        match self.curve() {
            Ok(Some(curve)) => curve.integral(duration).floor(),
            _ => (self.number(Id::Rate) * duration).floor(),
        }
    }

    /// The synthetic workload.
    pub fn workload(&self) -> WorkloadSpec {
        WorkloadSpec {
            seed: self.number(Id::Seed) as u64,
            rate_rps: self.number(Id::Rate),
            curve: self.curve().ok().flatten(),
            duration_s: self.number(Id::Duration),
            cut_at_duration: self.flag(Id::CutAtDuration),
            arrivals: match self.choice(Id::ArrivalKind) {
                "poisson" => Arrivals::Poisson,
                "even" => Arrivals::Even,
                "weibull" => Arrivals::Weibull { shape: self.number(Id::WeibullShape) },
                "modulated" => Arrivals::Modulated(Modulation {
                    factor: self.number(Id::BusyFactor),
                    busy_share: self.number(Id::BusyShare),
                    busy_s: self.number(Id::BusySpell),
                }),
                "batch" => Arrivals::Batch { size: self.whole(Id::BatchSize) },
                _ => Arrivals::Gamma { cv: self.number(Id::Cv) },
            },
            adapters: AdapterSpec {
                count: self.whole(Id::Adapters) as usize,
                popularity: self.popularity([
                    Id::Popularity,
                    Id::Alpha,
                    Id::AdapterZipf,
                    Id::AdapterSigma,
                    Id::AdapterDecay,
                    Id::AdapterShares,
                ]),
                ranks: self.list(Id::Ranks).into_iter().map(|rank| rank as u32).collect(),
            },
            users: UserSpec {
                count: self.whole(Id::Users) as usize,
                popularity: self.popularity([
                    Id::UserPopularity,
                    Id::UserAlpha,
                    Id::UserZipf,
                    Id::UserSigma,
                    Id::UserDecay,
                    Id::UserShares,
                ]),
            },
            input: self.length(&INPUT),
            output: self.length(&OUTPUT),
            length_correlation: self.number(Id::LengthCorrelation),
            length_pairs: self.length_pairs(),
            length_curves: self.length_curves().unwrap_or_default(),
            max_tokens: match self.choice(Id::MaxTokensKind) {
                "cap" => MaxTokens::Cap(self.whole(Id::MaxTokensCap)),
                _ => MaxTokens::Output,
            },
        }
    }

    fn popularity(&self, [law, alpha, zipf, sigma, decay, shares]: [Id; 6]) -> Popularity {
        match self.choice(law) {
            "zipf" => Popularity::Zipf { s: self.number(zipf) },
            "lognormal" => Popularity::Lognormal { sigma: self.number(sigma) },
            "geometric" => Popularity::Geometric { decay: self.number(decay) },
            "uniform" => Popularity::Uniform,
            "list" => Popularity::List(self.list(shares)),
            _ => Popularity::Power { alpha: self.number(alpha) },
        }
    }
}
