//! Fit a trace, make its twin, and measure how close the twin is.
//!
//! ```
//! use servescope_workload::fit::{self, FitOptions, ArrivalModel};
//! use servescope_workload::{WorkloadSpec, generate};
//! let source = generate(&WorkloadSpec { rate_rps: 5.0, ..WorkloadSpec::default() });
//! let fitted = fit::fit(&source, &FitOptions::default());
//! let twin = fitted.twin(7, ArrivalModel::Bursts);
//! assert_eq!(twin.len(), source.len());
//! assert!(fit::compare(&source, &twin).input_distance < 0.1);
//! ```
//!
//! A fit is numbers only: it holds neither the source's times of arrival nor its rows, but for the rates that
//! [`ArrivalModel::Curve`] replays and the stamps of a clock that is coarser than the gaps.

mod cascade;
mod clients;
mod compare;
mod findings;
mod gaps;
mod lengths;
mod rate;
mod sessions;
mod shares;
mod stamps;
mod twin;

pub use cascade::{Cascade, Level, Split};
pub use clients::{ClientFit, fit_clients};
pub use compare::{QuantileTable, TraceDistances, compare};
pub use findings::Finding;
pub use gaps::{DistributionDistance, GapFit, kolmogorov};
pub use lengths::{FittedLength, LengthFit, Quantiles};
pub use rate::RateBins;
pub use sessions::SessionFit;
pub use shares::LabelFit;
pub use stamps::Stamps;
pub use twin::ArrivalModel;

use crate::statistics::{Dispersion, log_windows, spearman};
use crate::trace::Trace;

/// Options of a fit.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FitOptions {
    /// Width of the bins of the rate curve, seconds; `None` for the rule of [`RateBins`].
    pub bin_s: Option<f64>,
}

/// What a trace follows: the distributions that its twin is drawn from.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// Number of requests.
    pub requests: usize,
    /// Arrival of the first request, seconds.
    pub start_s: f64,
    /// From the first arrival to the last, seconds.
    pub span_s: f64,
    /// Requests over span, requests a second; 0 for a span of zero.
    pub rate_rps: f64,
    /// The clock that the times were read from, where it is coarser than the gaps.
    pub stamps: Option<Stamps>,
    /// Rate over time, for a chart and a scenario.
    pub curve: RateBins,
    /// Rate over time in the narrower bins that [`ArrivalModel::Curve`] replays.
    pub replayed: RateBins,
    /// The gaps as the file has them.
    pub gaps: GapFit,
    /// The gaps of the times with stamped batches spread out; equal to `gaps` where nothing is stamped.
    pub spread_gaps: GapFit,
    /// The gaps on the clock of `curve`, which counts expected requests: the distribution that a scenario draws from.
    pub curve_gaps: GapFit,
    /// The gaps on the clock of `replayed`.
    pub changed_gaps: GapFit,
    /// Medians of the variation of gaps inside minutes that hold at least 20 gaps; `None` where no minute does.
    pub cv_within_minutes: Option<f64>,
    /// Variance over mean of counts, by window.
    pub dispersion: Dispersion,
    /// The distribution of how bursts split, scale by scale.
    pub cascade: Cascade,
    /// Prompt lengths.
    pub input: LengthFit,
    /// Output lengths.
    pub output: LengthFit,
    /// Spearman's rank correlation of prompt and output lengths.
    pub length_correlation: Option<f64>,
    /// Users, where there are two or more.
    pub users: Option<LabelFit>,
    /// Adapters, where any is asked for; the base model's share is given separately.
    pub adapters: Option<LabelFit>,
    /// Ranks of the adapters, by adapter index.
    pub adapter_rank: Vec<u32>,
    /// Sessions, where the file has any.
    pub sessions: Option<SessionFit>,
    /// What a reader of these numbers should know.
    pub findings: Vec<Finding>,
}

/// Fits every distribution to a trace.
pub fn fit(trace: &Trace, options: &FitOptions) -> Fit {
    let times_s: Vec<f64> = trace.arrival_us.iter().map(|t| t / 1e6).collect();
    let start_s = times_s.first().copied().unwrap_or(0.0);
    let since_s: Vec<f64> = times_s.iter().map(|t| t - start_s).collect();
    let span_s = since_s.last().copied().unwrap_or(0.0);
    let stamps = Stamps::of(&since_s);
    let spread_s = stamps.as_ref().map_or_else(|| since_s.clone(), |stamps| stamps.spread(&since_s));
    let curve = RateBins::of(
        &since_s,
        span_s,
        options.bin_s.unwrap_or_else(|| rate::chart_bin_s(trace.len(), span_s)),
    );
    let spread_span_s = spread_s.last().copied().unwrap_or(0.0).max(span_s);
    let replayed = RateBins::of(&spread_s, spread_span_s, rate::replayed_bin_s(trace.len(), span_s));
    let spread_curve = RateBins::of(&spread_s, spread_span_s, curve.bin_s);
    let gaps = GapFit::of_times(&since_s);
    let mut fitted = Fit {
        requests: trace.len(),
        start_s,
        span_s,
        rate_rps: if span_s > 0.0 { trace.len() as f64 / span_s } else { 0.0 },
        spread_gaps: if stamps.is_some() { GapFit::of_times(&spread_s) } else { gaps.clone() },
        changed_gaps: GapFit::of_times(&replayed.counted(&spread_s)),
        curve_gaps: GapFit::of_times(&spread_curve.counted(&spread_s)),
        gaps,
        cv_within_minutes: gaps::cv_within_minutes(&since_s),
        dispersion: Dispersion::of(&since_s, &log_windows(span_s)),
        cascade: Cascade::of(&spread_s, spread_span_s, stamps.as_ref().map_or(0.0, |s| s.step_s)),
        stamps,
        curve,
        replayed,
        input: LengthFit::of(&trace.input_tokens),
        output: LengthFit::of(&trace.output_tokens),
        length_correlation: spearman(
            &lengths::floats(&trace.input_tokens),
            &lengths::floats(&trace.output_tokens),
        ),
        users: LabelFit::of(&trace.user).filter(|users| users.labels > 1),
        adapters: LabelFit::of(&trace.adapter),
        adapter_rank: trace.adapter_rank.clone(),
        sessions: SessionFit::of(trace),
        findings: Vec::new(),
    };
    fitted.findings = findings::all(&fitted, trace);
    fitted
}

#[cfg(test)]
mod tests;
