//! The scenario's workload: what arrives.

use servescope_workload::arrivals::Modulation;
use servescope_workload::sessions::{AtCap, Pace};
use servescope_workload::{
    AdapterSpec, Arrivals, ArrivalsPer, ClientSpec, Length, MaxTokens, Popularity, PrefixSpec, SessionSpec,
    Think, UserSpec, WorkloadSpec,
};

use super::Scenario;
use super::lengths::{INPUT, OUTPUT};
use crate::parameters::Id;

impl Scenario {
    /// Requests that the settings make, before any is cut: R D, the curve's integral, or the bound of a closed loop.
    pub(super) fn request_count(&self) -> f64 {
        if self.choice(Id::Loop) == "closed" {
            return self.number(Id::ClosedRequests);
        }
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
            arrivals_per: match self.choice(Id::ArrivalsPer) {
                "adapter" => ArrivalsPer::Adapter,
                _ => ArrivalsPer::All,
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
            closed_requests: (self.choice(Id::Loop) == "closed")
                .then(|| self.whole(Id::ClosedRequests) as usize),
            think: self.think(),
            sessions: (self.choice(Id::SessionKind) != "none").then(|| self.sessions()),
            clients: (self.choice(Id::ClientKind) == "each").then(|| self.clients()),
            prefix: (self.choice(Id::PrefixKind) == "tree").then(|| PrefixSpec {
                block_tokens: self.whole(Id::BlockTokens),
                system_tokens: self.whole(Id::SystemTokens),
                adapter_tokens: self.whole(Id::AdapterTokens),
                user_tokens: self.whole(Id::UserTokens),
            }),
        }
    }

    fn think(&self) -> Think {
        let mean_s = self.number(Id::ThinkMean);
        match self.choice(Id::ThinkKind) {
            "fixed" => Think::Fixed { seconds: mean_s },
            "lognormal" => Think::Lognormal { mean_s, sigma: self.number(Id::ThinkSigma) },
            _ => Think::Exponential { mean_s },
        }
    }

    fn sessions(&self) -> SessionSpec {
        /// Most turns of a lognormal law.
        const MOST_TURNS: u32 = 100_000;
        let mean = self.number(Id::TurnMean);
        let sigma = self.number(Id::TurnSigma);
        SessionSpec {
            turns: match self.choice(Id::TurnKind) {
                "fixed" => Length::Fixed { value: (mean + 0.5) as u32 },
                "lognormal" => {
                    let median = mean * libm::exp(-0.5 * sigma * sigma);
                    Length::Lognormal { median, sigma, low: 1, high: MOST_TURNS }
                }
                _ => Length::Geometric { mean },
            },
            context_cap: self.whole(Id::ContextCap),
            at_cap: match self.choice(Id::AtCap) {
                "end" => AtCap::End,
                "restart" => AtCap::Restart,
                _ => AtCap::Truncate,
            },
            pace: match self.choice(Id::SessionKind) {
                "timed" => Pace::Fixed { answer_s: self.number(Id::AnswerTime) },
                _ => Pace::Held,
            },
        }
    }

    fn clients(&self) -> ClientSpec {
        ClientSpec {
            cvs: self.list(Id::ClientCvs),
            input_scales: self.list(Id::ClientInputScales),
            output_scales: self.list(Id::ClientOutputScales),
            adapters: self
                .list(Id::ClientAdapters)
                .into_iter()
                .map(|adapter| (adapter >= 0.0).then_some(adapter as u32))
                .collect(),
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
