//! Whether a request meets the service level objective (SLO): the one rule by which requests of a report are counted.

use serde::Serialize;

use crate::report::Report;

/// Bounds by which a run is judged, seconds; infinite where there is none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slo {
    /// A request's first token comes sooner than this (TTFT).
    pub ttft_s: f64,
    /// Its mean time per output token after the first (TPOT) is at most this.
    pub tpot_s: f64,
    /// The largest gap between two of its tokens (TBT) is at most this.
    pub tbt_s: f64,
}

impl Slo {
    /// A bound on TTFT alone.
    pub const fn of_ttft(ttft_s: f64) -> Self {
        Self { ttft_s, tpot_s: f64::INFINITY, tbt_s: f64::INFINITY }
    }

    /// Whether the first token of a request comes within its bound, which is what S-LoRA's attainment asks.
    pub fn is_first_in_time(&self, report: &Report, id: usize) -> bool {
        report.ttft_us(id).is_some_and(|ttft_us| ttft_us / 1e6 < self.ttft_s)
    }

    /// Whether a request is served to its end within every bound. One of a single token has no time between tokens.
    pub fn is_met(&self, report: &Report, id: usize) -> bool {
        self.is_first_in_time(report, id) && self.is_met_from_first(report, id)
    }

    /// The same of a request whose first token comes in time.
    fn is_met_from_first(&self, report: &Report, id: usize) -> bool {
        report.is_completed(id)
            && report.tpot_us(id).is_none_or(|tpot_us| tpot_us / 1e6 <= self.tpot_s)
            && report.longest_gap_us(id) / 1e6 <= self.tbt_s
    }
}

/// How many requests meet the SLO.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SloCount {
    /// First tokens within their bound.
    pub first_in_time: u32,
    /// Requests that meet every bound.
    pub met: u32,
}

impl SloCount {
    /// Counts a request.
    pub fn add(&mut self, slo: Slo, report: &Report, id: usize) {
        let is_first_in_time = slo.is_first_in_time(report, id);
        self.first_in_time += u32::from(is_first_in_time);
        self.met += u32::from(is_first_in_time && slo.is_met_from_first(report, id));
    }

    /// Shares of `offered` requests: first tokens within their bound, and requests that meet every bound; none of none.
    pub fn shares(&self, offered: u32) -> [Option<f64>; 2] {
        let share = |count: u32| (offered > 0).then(|| f64::from(count) / f64::from(offered));
        [share(self.first_in_time), share(self.met)]
    }
}

/// Judgement by the SLO. Requests that were rejected, timed out or never served count as missed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct SloScore {
    /// Bound on TTFT, seconds; missing where there is none.
    pub ttft_s: Option<f64>,
    /// Bound on a request's mean time per output token, seconds; missing where there is none.
    pub tpot_s: Option<f64>,
    /// Bound on a request's largest gap between tokens, seconds; missing where there is none.
    pub tbt_s: Option<f64>,
    /// S-LoRA's SLO attainment: share of requests with a first token within the bound on TTFT.
    pub attainment: Option<f64>,
    /// Share of requests that were completed within every bound that is set.
    pub attainment_all: Option<f64>,
    /// Mean of 1 - (t/bound)^2.
    pub satisfaction: Option<f64>,
    /// Goodput: requests completed within every bound, requests a second.
    pub goodput_rps: Option<f64>,
}

impl SloScore {
    /// The score of `count` among `offered` requests over `makespan_s`; `satisfaction` is the sum over them.
    pub(super) fn of(slo: Slo, count: SloCount, offered: u64, makespan_s: f64, satisfaction: f64) -> Self {
        let bound = |s: f64| Some(s).filter(|s| s.is_finite());
        let [attainment, attainment_all] = count.shares(offered as u32);
        Self {
            ttft_s: bound(slo.ttft_s),
            tpot_s: bound(slo.tpot_s),
            tbt_s: bound(slo.tbt_s),
            attainment,
            attainment_all,
            satisfaction: (offered > 0).then(|| satisfaction / offered as f64),
            goodput_rps: (makespan_s > 0.0).then(|| f64::from(count.met) / makespan_s),
        }
    }
}
