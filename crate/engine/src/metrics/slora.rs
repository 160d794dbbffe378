//! S-LoRA's own measures, as its benchmark suite prints them.

use servescope_workload::statistics::{quantile, sort};

/// One request as S-LoRA's client saw it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Response {
    /// Prompt length, tokens.
    pub input_tokens: u32,
    /// Answer length, tokens.
    pub output_tokens: u32,
    /// Whole time, seconds.
    pub latency_s: f64,
    /// Time to first token, seconds; `None` = rejected.
    pub first_token_s: Option<f64>,
}

/// The measures over all requests of a run. Rejected requests count as 0 in satisfaction and attainment, and are left out
/// of the mean times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SloraMetrics {
    /// Rejected requests.
    pub rejected: usize,
    /// Completed requests over the whole time, requests a second.
    pub throughput_rps: f64,
    /// (completed - 2 trunc(10 R)) / (T - 20): without ramp up and down. Negative or inflated on short runs.
    pub strip_throughput_rps: f64,
    /// Mean latency, seconds.
    pub latency_s: f64,
    /// Mean of latency over (input + output).
    pub per_token_s: f64,
    /// Mean of latency over output.
    pub per_output_token_s: f64,
    /// Mean time to first token, seconds.
    pub first_token_s: f64,
    /// Mean of [`satisfaction`].
    pub satisfaction: f64,
    /// Share with a first token below the bound.
    pub attainment: f64,
    /// 90th percentile of time to first token, seconds.
    pub first_token_p90_s: f64,
    /// Median time to first token, seconds.
    pub first_token_p50_s: f64,
    /// 10th percentile of satisfaction (printed as "p90" by Vidur).
    pub satisfaction_p10: f64,
    /// Median satisfaction.
    pub satisfaction_p50: f64,
}

/// 1 - (t/bound)^2 for a first token at t < bound, otherwise 0.
pub fn satisfaction(first_token_s: f64, bound_s: f64) -> f64 {
    if first_token_s < bound_s {
        let share = first_token_s / bound_s;
        1.0 - share * share
    } else {
        0.0
    }
}

/// Strip throughput: completed requests without the first and last ten seconds' worth, over the time without them.
pub fn strip_throughput(completed: usize, rate_rps: f64, total_s: f64) -> f64 {
    (completed as f64 - 2.0 * (10.0 * rate_rps).trunc()) / (total_s - 20.0)
}

/// The measures of `responses` over a run of `total_s` seconds at `rate_rps`.
pub fn measure(responses: &[Response], total_s: f64, rate_rps: f64, bound_s: f64) -> SloraMetrics {
    let served: Vec<(&Response, f64)> =
        responses.iter().filter_map(|r| Some((r, r.first_token_s?))).collect();
    let n = served.len();
    let mean = |of: &dyn Fn(&Response) -> f64| served.iter().map(|(r, _)| of(r)).sum::<f64>() / n as f64;
    let mut first: Vec<f64> = served.iter().map(|s| s.1).collect();
    sort(&mut first);
    let mut satisfied: Vec<f64> =
        responses.iter().map(|r| r.first_token_s.map_or(0.0, |t| satisfaction(t, bound_s))).collect();
    let total_satisfaction: f64 = satisfied.iter().sum();
    sort(&mut satisfied);
    let attained = served.iter().filter(|s| s.1 < bound_s).count();
    SloraMetrics {
        rejected: responses.len() - n,
        throughput_rps: n as f64 / total_s,
        strip_throughput_rps: strip_throughput(n, rate_rps, total_s),
        latency_s: mean(&|r| r.latency_s),
        per_token_s: mean(&|r| r.latency_s / f64::from(r.input_tokens + r.output_tokens)),
        per_output_token_s: mean(&|r| r.latency_s / f64::from(r.output_tokens)),
        first_token_s: first.iter().sum::<f64>() / n as f64,
        satisfaction: total_satisfaction / responses.len() as f64,
        attainment: attained as f64 / responses.len() as f64,
        first_token_p90_s: quantile(&first, 0.9),
        first_token_p50_s: quantile(&first, 0.5),
        satisfaction_p10: quantile(&satisfied, 0.1),
        satisfaction_p50: quantile(&satisfied, 0.5),
    }
}
