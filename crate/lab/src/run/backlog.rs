//! What the requests that wait when the traffic ends show: a backlog that grows, requests that wait at the gateway, a queue that
//! was empty late, or a run that is too short to decide. What makes them wait is found by simulation ([`crate::blame`]).
//!
//! The growth of the backlog and its test of significance are those of the capacity search ([`crate::run::growth`]). Arrivals exceed
//! the capacity where the backlog grows by more than chance, and some request waited at every moment of the second half of the
//! traffic: a queue that was empty there was filled by what came after.

use servescope_engine::gateway::GatewayLog;
use servescope_engine::gateway::config::Check;
use servescope_engine::gateway::log::GatewayHoldReason;
use servescope_engine::{Outcome, Report};
use servescope_settings::diagnostic::Diagnostic;
use servescope_settings::parameters::Id;
use servescope_workload::statistics::sort;

use crate::run::growth::{Growth, GrowthVerdict};

/// Requests that wait at the last arrival before anything is said of them: this many, and this share of all.
const LEAST_WAITING: usize = 20;
const LEAST_SHARE: f64 = 0.02;

/// The share of all requests from which a backlog without growth is worth a word.
const NOTEWORTHY_SHARE: f64 = 0.1;

/// What the backlog at the last arrival is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Backlog {
    /// Arrivals exceed the capacity.
    Overloaded {
        /// By how many requests the backlog grows each second.
        slope_rps: f64,
        /// Growth as a share of the arrivals, and what chance explains of it.
        growth: f64,
        /// Of that.
        noise: f64,
    },
    /// Most of the requests wait at the gateway.
    AtGateway {
        /// The check that holds most of them, or the fair share of a client.
        reason: GatewayHoldReason,
    },
    /// The waiting queue was empty in the second half of the traffic, or grows no more than chance explains.
    Burst {
        /// When no request waited last, seconds.
        empty_s: f64,
    },
    /// The run is too short to decide.
    TooShort {
        /// A duration that is long enough, seconds.
        needs_s: f64,
    },
}

/// The backlog at the last arrival: how many requests wait then, and what that means. `None`: too few wait.
pub fn backlog(report: &Report) -> Option<(usize, Backlog)> {
    let last_us = report.trace.arrival_us.last().copied()?;
    let requests = report.results.len();
    let waits = |&id: &usize| waits_at(report, id, last_us);
    let waiting: Vec<usize> = (0..requests).filter(waits).collect();
    let share = waiting.len() as f64 / requests as f64;
    if waiting.len() < LEAST_WAITING || share < LEAST_SHARE {
        return None;
    }
    let is_noteworthy = share >= NOTEWORTHY_SHARE;
    let own = match report.gateway.as_deref().and_then(|log| held_by(log, &waiting, last_us)) {
        Some(reason) => Some(Backlog::AtGateway { reason }).filter(|_| is_noteworthy),
        None => of_capacity(report, last_us, is_noteworthy),
    };
    own.map(|own| (waiting.len(), own))
}

/// Whether a request has arrived by a time, and was neither scheduled nor over then.
fn waits_at(report: &Report, id: usize, at_us: f64) -> bool {
    let result = &report.results[id];
    let is_served_later = report.scheduled_us(id).is_some_and(|scheduled_us| scheduled_us > at_us);
    let never = || report.scheduled_us(id).is_none() && result.outcome == Outcome::Unfinished;
    let left_later = || result.finish_us.is_some_and(|us| us > at_us) && report.scheduled_us(id).is_none();
    report.trace.arrival_us[id] <= at_us && (is_served_later || never() || left_later())
}

/// What holds most of the requests that wait at the gateway, if most wait there.
fn held_by(log: &GatewayLog, waiting: &[usize], at_us: f64) -> Option<GatewayHoldReason> {
    let is_outside = |&&id: &&usize| log.forwarded_us[id].is_nan() || log.forwarded_us[id] > at_us;
    let outside: Vec<usize> = waiting.iter().filter(is_outside).copied().collect();
    if 2 * outside.len() <= waiting.len() {
        return None;
    }
    let checks = [Check::Rpm, Check::Tpm, Check::Concurrency, Check::Kv].map(GatewayHoldReason::By);
    let count =
        |reason: GatewayHoldReason| outside.iter().filter(|&&id| log.passages[id].held == reason).count();
    let most =
        checks.into_iter().chain([GatewayHoldReason::FairShare]).max_by_key(|&reason| count(reason))?;
    (count(most) > 0).then_some(most)
}

fn of_capacity(report: &Report, last_us: f64, is_noteworthy: bool) -> Option<Backlog> {
    let growth = Growth::of_report(report, [0.0, last_us]);
    let empty_us = last_empty_us(report, last_us);
    let empty_s = empty_us / 1e6;
    let was_empty = empty_us > 0.5 * last_us;
    match growth.verdict() {
        GrowthVerdict::Growing if !was_empty => Some(Backlog::Overloaded {
            slope_rps: growth.share * report.results.len() as f64 / growth.run_s,
            growth: growth.share,
            noise: growth.noise(),
        }),
        GrowthVerdict::TooShort { needs_s } if is_noteworthy && !was_empty => {
            Some(Backlog::TooShort { needs_s })
        }
        _ if is_noteworthy => Some(Backlog::Burst { empty_s }),
        _ => None,
    }
}

/// When no request waited last up to a time, microseconds; 0 where one always did.
fn last_empty_us(report: &Report, until_us: f64) -> f64 {
    let mut starts_us: Vec<f64> = (0..report.results.len())
        .filter(|&id| report.trace.arrival_us[id] <= until_us)
        .map(|id| report.scheduled_us(id).or(report.results[id].finish_us).unwrap_or(f64::INFINITY))
        .collect();
    sort(&mut starts_us);
    // The queue is empty before the arrival of a request if as many have started by then as have come before it.
    let arrival_us = &report.trace.arrival_us;
    let mut started = 0;
    let mut empty_us = 0.0;
    for (come, &at_us) in arrival_us.iter().take_while(|&&at_us| at_us <= until_us).enumerate() {
        while started < starts_us.len() && starts_us[started] < at_us {
            started += 1;
        }
        if started >= come {
            empty_us = at_us;
        }
    }
    empty_us
}

/// The warning about the backlog of a run.
pub(crate) fn warning(report: &Report, is_generated: bool, waiting: usize, backlog: Backlog) -> Diagnostic {
    let requests = report.results.len();
    let rate = Id::Rate.row().id;
    let warning = match backlog {
        Backlog::Overloaded { slope_rps, growth, noise } => {
            let message = format!(
                "the backlog grows by {slope_rps:.3} requests/s ({:.1} % of the arrivals; up to {:.1} % may be chance); \
                 {waiting} of {requests} requests wait at the last arrival, and every wait depends on how long the traffic \
                 goes on",
                100.0 * growth,
                100.0 * noise
            );
            Diagnostic::warning("overloaded", rate, message)
                .number("slope", three_digits(slope_rps))
                .number("growth", three_digits(100.0 * growth))
                .number("noise", three_digits(100.0 * noise))
        }
        Backlog::AtGateway { .. } => {
            let message = format!(
                "{waiting} of {requests} requests wait at the last arrival, most of them at the gateway"
            );
            Diagnostic::warning("backlog_at_gateway", Id::GatewayChecks.row().id, message)
        }
        Backlog::Burst { empty_s } => {
            let message = format!(
                "{waiting} of {requests} requests wait at the last arrival: no request waited at {empty_s:.1} s, and over the whole traffic the backlog grows no more than chance explains"
            );
            Diagnostic::warning("backlog_burst", rate, message).number("time", empty_s.round())
        }
        // The duration of a file is its own.
        Backlog::TooShort { .. } if !is_generated => {
            let message = format!(
                "{waiting} of {requests} requests wait at the last arrival: the trace is too short to tell whether the backlog grows"
            );
            Diagnostic::warning("backlog_short_trace", rate, message)
        }
        Backlog::TooShort { needs_s } => {
            let message = format!(
                "{waiting} of {requests} requests wait at the last arrival: the run is too short to tell whether the backlog \
                 grows; a duration of {needs_s:.0} s tells"
            );
            Diagnostic::warning("backlog_short", Id::Duration.row().id, message)
                .number("needs", needs_s.round())
        }
    };
    warning.number("waiting", waiting as f64).number("requests", requests as f64)
}

/// For reading: a number with three digits.
fn three_digits(number: f64) -> f64 {
    let unit = libm::pow(10.0, libm::floor(libm::log10(number.abs().max(1e-9))) - 2.0);
    (number / unit).round() * unit
}

#[cfg(test)]
mod tests {
    use servescope_settings::scenario::Scenario;

    use super::*;
    use crate::run::Run;

    fn of(settings: &[(&str, &str)]) -> (Option<Backlog>, Option<Diagnostic>) {
        let scenario = Scenario::of_version(4).with(settings).unwrap_or_else(|error| panic!("{error}"));
        let run = Run::simulate(&scenario, None).unwrap_or_else(|errors| panic!("{errors:?}"));
        let found = backlog(&run.report);
        let warning = found.map(|(waiting, backlog)| warning(&run.report, true, waiting, backlog));
        (found.map(|own| own.1), warning)
    }

    #[test]
    fn twice_the_capacity_is_an_overload_with_its_slope() {
        let (found, warning) = of(&[("workload.rate_rps", "8"), ("workload.duration_s", "600")]);
        let Some(Backlog::Overloaded { slope_rps, growth, noise }) = found else { panic!("{found:?}") };
        assert!(slope_rps > 3.0 && slope_rps < 8.0 && growth > noise, "{slope_rps} {growth} {noise}");
        assert_eq!(warning.unwrap().code, "overloaded");
    }

    #[test]
    fn a_queue_that_was_empty_late_is_a_burst() {
        // A calm rate, then a step up in the last twentieth of the run.
        let settings = [
            ("workload.rate_rps", "1"),
            ("workload.duration_s", "600"),
            ("workload.curve.kind", "step"),
            ("workload.curve.start_s", "560"),
            ("workload.curve.end_s", "600"),
            ("workload.curve.factor", "10"),
        ];
        let (found, _) = of(&settings);
        assert!(matches!(found, Some(Backlog::Burst { empty_s }) if empty_s > 300.0), "{found:?}");
    }

    #[test]
    fn a_quota_that_holds_requests_is_no_growth() {
        let settings = [
            ("workload.rate_rps", "1"),
            ("workload.duration_s", "300"),
            ("gateway.kind", "proxy"),
            ("gateway.checks", "tpm"),
            ("gateway.tpm.total", "10000"),
            ("workload.users.count", "1"),
            ("gateway.over_quota", "wait"),
        ];
        let (found, warning) = of(&settings);
        assert_eq!(found, Some(Backlog::AtGateway { reason: GatewayHoldReason::By(Check::Tpm) }));
        assert_eq!(warning.unwrap().code, "backlog_at_gateway");
    }

    #[test]
    fn a_short_run_says_that_it_is_too_short() {
        let (found, _) = of(&[("workload.rate_rps", "2.4"), ("workload.duration_s", "60"), ("seed", "3")]);
        assert!(!matches!(found, Some(Backlog::Burst { .. })), "{found:?}");
        let (calm, warning) = of(&[("workload.rate_rps", "0.5")]);
        assert!(calm.is_none() && warning.is_none());
    }
}
