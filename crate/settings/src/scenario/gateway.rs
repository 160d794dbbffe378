//! The scenario's proxy in front of the engine.

use servescope_engine::gateway::GatewayConfig;
use servescope_engine::gateway::config::{Check, KvRule, Lending, Quotas, RetryRule, Timeout};
use servescope_engine::gateway::load::OverloadConfig;
use servescope_engine::gateway::prediction::{LengthSource, PredictorConfig};
use servescope_engine::gateway::window::Window;

use super::{Scenario, USUAL_CHECKS};
use crate::diagnostic::Diagnostic;
use crate::parameters::{Id, choices, string_list};

/// An estimated timeout without another bound, microseconds.
const LONGEST_WAIT_US: f64 = 600e6;

/// The text of a chain without checks.
const NO_CHECKS: &str = "none";

impl Scenario {
    /// Whether requests go through the proxy.
    pub fn has_proxy(&self) -> bool {
        match self.chosen(choices::GatewayKind::ID) {
            choices::GatewayKind::Direct => false,
            choices::GatewayKind::Proxy => true,
        }
    }

    /// A number that 0 stands for the absence of, times a factor.
    fn bound(&self, id: Id, factor: f64) -> f64 {
        Some(self.number(id) * factor).filter(|&bound| bound > 0.0).unwrap_or(f64::INFINITY)
    }

    /// A count that 0 stands for the absence of.
    fn count_bound(&self, id: Id) -> u32 {
        Some(self.whole(id)).filter(|&bound| bound > 0).unwrap_or(u32::MAX)
    }

    /// The checks that are on, in their order; names that no check has are left out.
    fn checks(&self) -> Vec<Check> {
        match self.text(Id::GatewayChecks).as_str() {
            "" => USUAL_CHECKS.iter().filter_map(|name| Check::from_name(name)).collect(),
            chain => string_list::split(chain).iter().filter_map(|name| Check::from_name(name)).collect(),
        }
    }

    /// The chain of checks without one of them, as `gateway.checks` has it.
    pub fn checks_without(&self, without: Check) -> String {
        let kept = self.checks().into_iter().filter(|&check| check != without);
        let names: Vec<&str> = kept.map(Check::name).collect();
        if names.is_empty() { NO_CHECKS.to_owned() } else { names.join("|") }
    }

    /// What does not fit in the settings of the proxy.
    pub(super) fn gateway_problems(&self) -> Vec<Diagnostic> {
        if !self.has_proxy() {
            return Vec::new();
        }
        let mut problems = Vec::new();
        let chain = string_list::split(&self.text(Id::GatewayChecks));
        let path = Id::GatewayChecks.row().id;
        for (place, name) in chain.iter().enumerate() {
            let is_known = Check::from_name(name).is_some() || (name == NO_CHECKS && chain.len() == 1);
            if !is_known || chain[..place].contains(name) {
                let names: Vec<&str> = Check::ALL.iter().map(|check| check.name()).collect();
                let message = format!(
                    "{path}: {name} is not one of {}, or stands there twice; | separates several: rpm|tpm",
                    names.join(", ")
                );
                problems.push(
                    Diagnostic::error("unknown_check", path, message)
                        .text("name", name)
                        .text("names", &names.join(", ")),
                );
            }
        }
        if self.flag(Id::OriginalBlocking) {
            let path = Id::OriginalBlocking.row().id;
            let message = format!("{path}: behind a proxy nothing blocks the engine for ever; switch it off");
            problems.push(Diagnostic::error("blocking_behind_proxy", path, message));
        }
        problems
    }

    /// The proxy before an engine with this many tokens of KV memory, unless another size is set; `None` where requests go
    /// to the engine at once.
    pub fn gateway(&self, engine_pool_tokens: f64) -> Option<GatewayConfig> {
        let reported = Some(self.number(Id::GatewayPool)).filter(|&tokens| tokens > 0.0);
        let pool_tokens = reported.unwrap_or(engine_pool_tokens);
        self.has_proxy().then(|| GatewayConfig {
            checks: self.checks(),
            client: self.chosen(choices::GATEWAY_CLIENT),
            quotas: self.quotas(),
            concurrency: self.count_bound(Id::MaxInSystem),
            client_concurrency: self.count_bound(Id::ClientConcurrency),
            slot_leak: self.number(Id::SlotLeak),
            queue_requests: self.count_bound(Id::QueueRequests),
            queue_tokens: self.bound(Id::QueueTokens, 1.0),
            kv: KvRule {
                headroom_tokens: self.number(Id::KvHeadroom) * pool_tokens,
                lag_us: self.number(Id::KvLag) * 1e6,
                leaks: self.flag(Id::KvLeak),
            },
            ttft_bound_us: match self.number(Id::TtftBound) {
                0.0 => self.number(Id::SloTtft) * 1e6,
                bound_s => bound_s * 1e6,
            },
            estimate_over_us: self.number(Id::EstimateOver) * 1e6,
            timeout: match self.chosen(choices::TimeoutKind::ID) {
                choices::TimeoutKind::Estimated => Timeout::Estimated {
                    times: self.number(Id::TimeoutTimes),
                    most_us: match self.number(Id::QueueTimeout) {
                        0.0 => LONGEST_WAIT_US,
                        most_s => most_s * 1e6,
                    },
                },
                choices::TimeoutKind::Fixed => Timeout::Fixed(self.bound(Id::QueueTimeout, 1e6)),
            },
            sweep_us: self.number(Id::Sweep) * 1e3,
            retries: self.retries(),
            lengths: self.predicted_lengths(),
            load: self.load(),
            queue_policy: self.order(choices::Order::GATEWAY),
            pool_tokens,
            seed: self.number(Id::Seed) as u64,
        })
    }

    fn quotas(&self) -> Quotas {
        use choices::{GatewayWindow, OverQuota};
        let burst_us = self.number(Id::GatewayBurst) * 1e6;
        let quota = |id: Id| self.bound(id, 1.0);
        Quotas {
            rpm: quota(Id::GatewayRpm),
            tpm: [Id::GatewayTpmInput, Id::GatewayTpmOutput, Id::GatewayTpmTotal].map(quota),
            window: match self.chosen(GatewayWindow::ID) {
                GatewayWindow::Sliding => Window::Sliding,
                GatewayWindow::Fixed => Window::Fixed,
                GatewayWindow::Sub10s => Window::Sub(10e6),
                GatewayWindow::Sub1s => Window::Sub(1e6),
                GatewayWindow::Bucket => Window::Bucket(burst_us),
                GatewayWindow::Gcra => Window::Gcra(burst_us),
            },
            charge: self.chosen(choices::GATEWAY_CHARGE),
            refuses: match self.chosen(OverQuota::ID) {
                OverQuota::Wait => false,
                OverQuota::Refuse => true,
            },
            lending: self.flag(Id::Lending).then(|| Lending {
                threshold: self.number(Id::LendingThreshold),
                floor: self.number(Id::LendingFloor),
            }),
        }
    }

    fn retries(&self) -> RetryRule {
        RetryRule {
            kind: self.chosen(choices::RETRY_KIND),
            most: self.whole(Id::RetryAttempts),
            round_trip_us: self.number(Id::RoundTrip) * 1e6,
            base_us: self.number(Id::RetryBase) * 1e6,
            cap_us: self.number(Id::RetryCap) * 1e6,
            jitter: self.number(Id::RetryJitter),
        }
    }

    fn predicted_lengths(&self) -> PredictorConfig {
        use choices::PredictKind;
        let (source, quantile) = match self.chosen(PredictKind::ID) {
            PredictKind::MaxTokens => (LengthSource::MaxTokens, 0.0),
            PredictKind::Oracle => (LengthSource::Oracle, 0.0),
            PredictKind::Noisy => (LengthSource::Noisy, 0.0),
            PredictKind::P90 => (LengthSource::History, 0.9),
            PredictKind::P95 => (LengthSource::History, 0.95),
            PredictKind::Average => (LengthSource::Average, 0.0),
        };
        PredictorConfig {
            source,
            bias: self.number(Id::PredictBias),
            noise: self.number(Id::PredictNoise),
            quantile,
            half_life: self.number(Id::PredictHalfLife),
            cold_start: self.whole(Id::PredictCold),
        }
    }

    fn load(&self) -> OverloadConfig {
        OverloadConfig {
            kv_share: self.bound(Id::LoadKv, 1.0),
            wait_us: self.bound(Id::LoadWait, 1e6),
            step_us: self.bound(Id::LoadStep, 1e3),
            near: self.number(Id::LoadNear),
            hysteresis: self.number(Id::LoadHysteresis),
            average_us: self.number(Id::LoadAverage) * 1e6,
            dwell_us: self.number(Id::LoadDwell) * 1e6,
            policy: self.chosen(choices::LOAD_POLICY),
        }
    }
}
