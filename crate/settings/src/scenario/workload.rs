//! The scenario's workload: what arrives.

use crate::diagnostic::Diagnostic;
use servescope_workload::arrivals::Mmpp2;
use servescope_workload::sessions::Pace;
use servescope_workload::{
    AdapterSpec, Arrivals, ClientSpec, LengthDistribution, MaxTokens, Popularity, PrefixSpec, SessionSpec,
    Think, UserSpec, WorkloadSpec,
};

use super::Scenario;
use super::lengths::{INPUT, OUTPUT};
use crate::parameters::Id;
use crate::parameters::choices::{
    self, ArrivalKind, ChoiceId, ClientKind, MaxTokensKind, Order, PrefixKind, SessionKind, ThinkKind,
    TraceTurns, TurnKind,
};

impl Scenario {
    /// Requests that the settings make, before any is cut: R D, the curve's integral, or the bound of a closed loop.
    pub(super) fn request_count(&self) -> f64 {
        if self.is_closed() {
            return self.number(Id::ClosedRequests);
        }
        let duration = self.number(Id::Duration);
        match self.curve() {
            Ok(Some(curve)) => curve.integral(duration).floor(),
            Ok(None) | Err(_) => (self.number(Id::Rate) * duration).floor(),
        }
    }

    /// Whether users wait for the answer to one request before they send the next.
    fn is_closed(&self) -> bool {
        match self.chosen(choices::Loop::ID) {
            choices::Loop::Open => false,
            choices::Loop::Closed => true,
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
            arrivals: self.arrivals(),
            arrivals_per: self.chosen(choices::ARRIVALS_PER),
            adapters: AdapterSpec {
                count: self.whole(Id::Adapters) as usize,
                popularity: self.popularity(
                    choices::Popularity::ADAPTERS,
                    [Id::Alpha, Id::AdapterZipf, Id::AdapterSigma, Id::AdapterDecay, Id::AdapterShares],
                ),
                ranks: self.list(Id::Ranks).into_iter().map(|rank| rank as u32).collect(),
            },
            users: UserSpec {
                count: self.whole(Id::Users) as usize,
                popularity: self.popularity(
                    choices::Popularity::USERS,
                    [Id::UserAlpha, Id::UserZipf, Id::UserSigma, Id::UserDecay, Id::UserShares],
                ),
            },
            input: self.length(&INPUT),
            output: self.length(&OUTPUT),
            length_correlation: self.number(Id::LengthCorrelation),
            length_pairs: self.length_pairs(),
            length_curves: self.length_curves().unwrap_or_default(),
            max_tokens: match self.chosen(MaxTokensKind::ID) {
                MaxTokensKind::Output => MaxTokens::Output,
                MaxTokensKind::Cap => MaxTokens::Cap(self.whole(Id::MaxTokensCap)),
            },
            output_bounds: self.output_bounds(),
            closed_requests: self.is_closed().then(|| self.whole(Id::ClosedRequests) as usize),
            think: self.think(),
            sessions: match self.chosen(SessionKind::ID) {
                SessionKind::None => None,
                SessionKind::Held => Some(self.sessions(Pace::Held)),
                SessionKind::Timed => {
                    Some(self.sessions(Pace::Fixed { answer_s: self.number(Id::AnswerTime) }))
                }
                SessionKind::StreamingInput => Some(self.sessions(Pace::Chunks)),
            },
            clients: match self.chosen(ClientKind::ID) {
                ClientKind::Together => None,
                ClientKind::Each => Some(self.clients()),
            },
            prefix: self.prefix(),
        }
    }

    fn arrivals(&self) -> Arrivals {
        match self.chosen(ArrivalKind::ID) {
            ArrivalKind::Gamma => Arrivals::Gamma { cv: self.number(Id::Cv) },
            ArrivalKind::Poisson => Arrivals::Poisson,
            ArrivalKind::Even => Arrivals::Even,
            ArrivalKind::Weibull => Arrivals::Weibull { shape: self.number(Id::WeibullShape) },
            ArrivalKind::Modulated => Arrivals::Mmpp2(Mmpp2 {
                factor: self.number(Id::BusyFactor),
                busy_share: self.number(Id::BusyShare),
                busy_s: self.number(Id::BusySpell),
            }),
            ArrivalKind::Batch => Arrivals::BatchPoisson { size: self.whole(Id::BatchSize) },
        }
    }

    fn prefix(&self) -> Option<PrefixSpec> {
        match self.chosen(PrefixKind::ID) {
            PrefixKind::None => None,
            PrefixKind::Tree => Some(PrefixSpec {
                block_tokens: self.whole(Id::BlockTokens),
                system_tokens: self.whole(Id::SystemTokens),
                adapter_tokens: self.whole(Id::AdapterTokens),
                user_tokens: self.whole(Id::UserTokens),
            }),
        }
    }

    /// Whether the input of sessions comes in chunks.
    pub(super) fn streams_input(&self) -> bool {
        self.chosen(SessionKind::ID) == SessionKind::StreamingInput
            || self.chosen(TraceTurns::ID) == TraceTurns::StreamingInput
    }

    /// What a session that is kept between two chunks of its input cannot be simulated beside.
    pub(super) fn streaming_problems(&self) -> Vec<Diagnostic> {
        if !self.streams_input() || !self.is_vllm_v1() {
            return Vec::new();
        }
        let beside = |id: Id| {
            let (path, other) = (Id::SessionKind.row().id, id.row().id);
            let message = format!("{path}: sessions with streaming input are not simulated beside {other}");
            Diagnostic::error("streaming_beside", path, message).text("name", other)
        };
        let is_set = [
            (Id::Disaggregation, self.is_disaggregated()),
            (Id::FailureTimes, !self.text(Id::FailureTimes).is_empty()),
            (Id::FailureInterval, self.number(Id::FailureInterval) > 0.0),
            (Id::HostCacheGib, self.is_active(Id::HostCacheGib) && self.number(Id::HostCacheGib) > 0.0),
            (Order::SCHEDULER.id(), self.chosen(Order::SCHEDULER) != Order::Fcfs),
        ];
        is_set.into_iter().filter(|row| row.1).map(|row| beside(row.0)).collect()
    }

    fn think(&self) -> Think {
        let mean_s = self.number(Id::ThinkMean);
        match self.chosen(ThinkKind::ID) {
            ThinkKind::Exponential => Think::Exponential { mean_s },
            ThinkKind::Tools => Think::Tools,
            ThinkKind::Fixed => Think::Fixed { seconds: mean_s },
            ThinkKind::Lognormal => Think::Lognormal { mean_s, sigma: self.number(Id::ThinkSigma) },
        }
    }

    fn sessions(&self, pace: Pace) -> SessionSpec {
        /// Most turns of a lognormal distribution.
        const MOST_TURNS: u32 = 100_000;
        let mean = self.number(Id::TurnMean);
        let sigma = self.number(Id::TurnSigma);
        SessionSpec {
            turns: match self.chosen(TurnKind::ID) {
                TurnKind::Geometric => LengthDistribution::Geometric { mean },
                TurnKind::Fixed => LengthDistribution::Fixed { value: (mean + 0.5) as u32 },
                TurnKind::Lognormal => {
                    let median = mean * libm::exp(-0.5 * sigma * sigma);
                    LengthDistribution::Lognormal { median, sigma, low: 1, high: MOST_TURNS }
                }
            },
            context_cap: self.whole(Id::ContextCap),
            at_cap: self.chosen(choices::AT_CAP),
            pace,
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

    fn popularity(
        &self,
        of: ChoiceId<choices::Popularity>,
        [alpha, zipf, sigma, decay, shares]: [Id; 5],
    ) -> Popularity {
        match self.chosen(of) {
            choices::Popularity::Power => Popularity::Power { alpha: self.number(alpha) },
            choices::Popularity::Zipf => Popularity::Zipf { s: self.number(zipf) },
            choices::Popularity::Uniform => Popularity::Uniform,
            choices::Popularity::List => Popularity::List(self.list(shares)),
            choices::Popularity::Lognormal => Popularity::Lognormal { sigma: self.number(sigma) },
            choices::Popularity::Geometric => Popularity::Geometric { decay: self.number(decay) },
        }
    }
}
