//! What the proxy did: attempts and what became of them, waits, load states, and how far its predictions were off.

use std::collections::BTreeMap;

use serde::Serialize;

use super::distribution::Distribution;
use super::slo::{Slo, SloCount};
use crate::gateway::GatewayLog;
use crate::gateway::config::Check;
use crate::gateway::load::LoadState;
use crate::gateway::log::GatewayHoldReason;
use crate::report::Report;
use crate::request::Rejection;

/// Requests that needed no second attempt.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct FirstAttempt {
    /// Served to the end.
    pub completed: u64,
    /// Those within every bound of the SLO, requests a second of the makespan.
    pub goodput_rps: Option<f64>,
    /// Share of all requests that have one attempt and have a first token within the bound on TTFT.
    pub attainment: Option<f64>,
    /// Share of all requests that have one attempt and meet every bound.
    pub attainment_all: Option<f64>,
}

/// Predicted against true outputs of the requests that were forwarded.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct PredictionError {
    /// Predicted over true.
    pub ratio: Distribution,
    /// Tokens that were predicted and never came, of all true tokens.
    pub over_share: Option<f64>,
    /// Tokens that came and were not predicted, of all true tokens.
    pub under_share: Option<f64>,
}

/// What the proxy did.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct GatewaySummary {
    /// Attempts of all requests.
    pub attempts: u64,
    /// Attempts that were rejected, by reason; every reason that a proxy knows is listed.
    pub refusals: BTreeMap<&'static str, u64>,
    /// Attempts that timed out.
    pub timeouts: u64,
    /// Requests with more than one attempt.
    pub retried: u64,
    /// Attempts that no file lists, because there were too many.
    pub unlisted_attempts: u64,
    /// Requests that needed no second attempt.
    pub first_attempt: FirstAttempt,
    /// Requests that had to wait at the gateway, by what held them last.
    pub held: BTreeMap<&'static str, u64>,
    /// Wait of the last attempt at the gateway, of the requests forwarded, seconds.
    pub wait_s: Distribution,
    /// Estimated less true time to first token of the last attempt, seconds.
    pub estimate_error_s: Distribution,
    /// Mean of |estimated - true| over the mean of true.
    pub estimate_relative_error: Option<f64>,
    /// Predicted against true outputs.
    pub prediction: PredictionError,
    /// (time in seconds, state) of each change; the first state is underload.
    pub states: Vec<(f64, &'static str)>,
    /// Share of the time in each state.
    pub state_share: BTreeMap<&'static str, f64>,
    /// Mean share of KV memory that was reserved and not yet used.
    pub mean_reserved: Option<f64>,
    /// Tokens reserved when all was over.
    pub reserved_tokens: u64,
    /// Those that belong to no request.
    pub leaked_tokens: u64,
    /// Concurrency slots that requests which have ended keep.
    pub leaked_slots: u32,
}

/// Most changes of the state that are listed.
const MOST_STATES: usize = 2_000;

/// The reasons for which a proxy rejects.
const REASONS: [Rejection; 6] = [
    Rejection::RateLimit,
    Rejection::TokenQuota,
    Rejection::Concurrency,
    Rejection::QueueFull,
    Rejection::LateFirstToken,
    Rejection::Overload,
];

/// The proxy's part of a summary; `None` where there was none.
pub fn gateway_summary(report: &Report, slo: Slo) -> Option<GatewaySummary> {
    let log = report.gateway.as_deref()?;
    let end_us = report.end_us();
    let mut held: BTreeMap<&'static str, u64> =
        Check::ALL.iter().map(|check| (check.name(), 0)).chain([("behind", 0), ("fair_share", 0)]).collect();
    let (mut waits, mut errors) =
        (Vec::with_capacity(log.passages.len()), Vec::with_capacity(log.passages.len()));
    let (mut attempts, mut retried, mut off, mut truth) = (0, 0, 0.0, 0.0);
    for (id, passage) in log.passages.iter().enumerate() {
        attempts += u64::from(passage.attempts);
        retried += u64::from(passage.attempts > 1);
        if passage.held != GatewayHoldReason::Nothing {
            *held.entry(passage.held.name()).or_default() += 1;
        }
        let wait = (log.forwarded_us[id] - passage.asked_us) / 1e6;
        if !wait.is_nan() {
            waits.push(wait);
        }
        if passage.estimate_us.is_nan() {
            continue;
        }
        let Some(first_us) = report.first_token_us(id) else { continue };
        let true_s = (first_us - passage.asked_us) / 1e6;
        let error = f64::from(passage.estimate_us) / 1e6 - true_s;
        errors.push(error);
        off += error.abs();
        truth += true_s;
    }
    let samples = log.samples.kept();
    let reserved: f64 = samples.iter().map(|sample| sample.reserved_tokens).sum();
    Some(GatewaySummary {
        attempts,
        refusals: REASONS.iter().map(|&reason| (reason.name(), log.refusals[reason as usize])).collect(),
        timeouts: log.timeouts,
        retried,
        unlisted_attempts: log.retries.dropped(),
        first_attempt: first_attempt(report, log, slo, end_us),
        held,
        wait_s: Distribution::of(&mut waits),
        estimate_error_s: Distribution::of(&mut errors),
        estimate_relative_error: (truth > 0.0).then(|| off / truth),
        prediction: prediction(report, log),
        states: log.states.iter().take(MOST_STATES).map(|&(at, state)| (at / 1e6, state.name())).collect(),
        state_share: state_share(log, end_us),
        mean_reserved: (!samples.is_empty()).then(|| reserved / samples.len() as f64 / log.pool_tokens),
        reserved_tokens: log.reserved_tokens,
        leaked_tokens: log.leaked_tokens,
        leaked_slots: log.leaked_slots,
    })
}

fn first_attempt(report: &Report, log: &GatewayLog, slo: Slo, end_us: f64) -> FirstAttempt {
    let (mut completed, mut met) = (0, SloCount::default());
    for id in (0..report.results.len()).filter(|&id| log.passages[id].attempts == 1) {
        completed += u64::from(report.is_completed(id));
        met.add(slo, report, id);
    }
    let [attainment, attainment_all] = met.shares(report.results.len() as u32);
    FirstAttempt {
        completed,
        goodput_rps: (end_us > 0.0).then(|| f64::from(met.met) / end_us * 1e6),
        attainment,
        attainment_all,
    }
}

fn prediction(report: &Report, log: &GatewayLog) -> PredictionError {
    let (mut over, mut under, mut all) = (0.0, 0.0, 0.0);
    let mut ratios = Vec::with_capacity(report.results.len());
    for id in (0..report.results.len()).filter(|&id| report.is_completed(id)) {
        let (predicted, truth) =
            (f64::from(log.passages[id].predicted_tokens), f64::from(report.results[id].produced));
        ratios.push(predicted / truth);
        over += (predicted - truth).max(0.0);
        under += (truth - predicted).max(0.0);
        all += truth;
    }
    let share = |part: f64| (all > 0.0).then(|| part / all);
    PredictionError {
        ratio: Distribution::of(&mut ratios),
        over_share: share(over),
        under_share: share(under),
    }
}

fn state_share(log: &GatewayLog, end_us: f64) -> BTreeMap<&'static str, f64> {
    let mut share: BTreeMap<&'static str, f64> =
        LoadState::ALL.iter().map(|state| (state.name(), 0.0)).collect();
    let mut add = |state: LoadState, from: f64, to: f64| {
        if end_us > 0.0 {
            *share.entry(state.name()).or_default() += (to.min(end_us) - from.min(end_us)) / end_us;
        }
    };
    let (mut state, mut since) = (LoadState::Under, 0.0);
    for &(at_us, next) in &log.states {
        add(state, since, at_us);
        (state, since) = (next, at_us);
    }
    add(state, since, end_us.max(since));
    share
}
