//! One long run in place of many seeds: batch means, after the warm-up was cut.
//!
//! - **Warm-up**: MSER-5 (White, Cobb and Spratt 2000; Franklin and White 2008). The times of the requests, in the order of their
//!   arrival, are averaged in groups of five; of n groups the first d are cut for which the squared standard error of the
//!   mean of the rest, sum (x - mean)² / (n - d)², is least. A least value in the second half says that the run does not
//!   settle. Of A and B the longer warm-up is cut from both.
//! - **Batches**: the rest is divided into [`BATCHES`] batches of consecutive requests, the same in A and B. Their pairs of
//!   means (or quantiles) stand where the pairs of seeds stand otherwise. Twenty batches are within the 10 to 30 of
//!   Schmeiser (1982).
//! - **Dependence**: where the differences of neighbouring batches have a lag-1 correlation that independent ones exceed in one
//!   case of twenty, the run is too short for its interval, and it is said.

use serde::Serialize;
use servescope_engine::Report;
use servescope_engine::metrics::distribution::is_supported;
use servescope_engine::metrics::slo::Slo;
use servescope_workload::statistics::select_quantile;

use super::interval::Paired;
use crate::metric::Metric;
use crate::run::Run;

/// Batches of a run.
pub const BATCHES: usize = 20;

/// Requests of a group in the warm-up's rule.
const GROUP: usize = 5;

/// Fewest requests of a batch.
const LEAST: usize = 10;

/// The one-sided 5 % point of the normal distribution.
const ONE_IN_TWENTY: f64 = 1.645;

/// Why one run has no interval for a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub enum NoBatches {
    /// It is no mean or quantile of a time of requests, and no SLO attainment.
    NotOfRequests,
    /// By MSER-5 the warm-up does not end in the first half of the run.
    NotSettled,
    /// Too few requests are left for each batch.
    TooFew,
}

impl NoBatches {
    /// In words.
    pub fn text(self) -> &'static str {
        match self {
            Self::NotOfRequests => {
                "one run has an interval only for times of requests and for SLO attainment"
            }
            Self::NotSettled => "no interval: the run does not settle in its first half (MSER-5)",
            Self::TooFew => "no interval: too few requests for 20 batches",
        }
    }
}

/// How one run was divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct Batches {
    /// Requests cut at the start, in the order of arrival.
    pub cut_requests: usize,
    /// Requests of a batch.
    pub batch_requests: usize,
    /// Whether neighbouring batches depend on one another: the interval is too narrow then.
    pub is_dependent: bool,
}

impl Batches {
    /// In words.
    pub fn text(self) -> String {
        let mut text = format!(
            "over {BATCHES} batches of {} requests, after a warm-up of {} requests (MSER-5)",
            self.batch_requests, self.cut_requests
        );
        if self.is_dependent {
            text.push_str("; the batches depend on one another, so the interval is too narrow: use a longer run or more seeds");
        }
        text
    }
}

/// A metric of two long runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Batched {
    /// The pairs of batches.
    pub paired: Paired,
    /// What the pairs are of.
    pub batches: Batches,
}

/// A time of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    Ttft,
    Tpot,
    E2e,
    Normalized,
    Queue,
    Attainment,
}

/// What is taken of a batch.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Statistic {
    Mean,
    Quantile(f64),
}

fn of_path(path: &str) -> Option<(Family, Statistic)> {
    if path == "slo.attainment" {
        return Some((Family::Attainment, Statistic::Mean));
    }
    let (family, statistic) = path.split_once('.')?;
    let family = match family {
        "ttft_s" => Family::Ttft,
        "tpot_s" => Family::Tpot,
        "e2e_s" => Family::E2e,
        "normalized_s" => Family::Normalized,
        "queue_s" => Family::Queue,
        _ => return None,
    };
    let statistic = match statistic {
        "mean" => Statistic::Mean,
        "p50" => Statistic::Quantile(0.5),
        "p90" => Statistic::Quantile(0.9),
        "p95" => Statistic::Quantile(0.95),
        "p99" => Statistic::Quantile(0.99),
        _ => return None,
    };
    Some((family, statistic))
}

/// Of request `id`, seconds, or 0 and 1 for SLO attainment; none where it has no such time. As the summary counts.
fn value(report: &Report, slo_ttft_s: f64, family: Family, id: usize) -> Option<f64> {
    if family == Family::Attainment {
        return Some(f64::from(u8::from(Slo::of_ttft(slo_ttft_s).is_first_in_time(report, id))));
    }
    let ttft_us = report.ttft_us(id).filter(|_| report.is_completed(id))?;
    let produced = f64::from(report.results[id].produced);
    let e2e_us = report.e2e_us(id)?;
    let us = match family {
        Family::Ttft => ttft_us,
        Family::Tpot if produced > 1.0 => (e2e_us - ttft_us) / (produced - 1.0),
        Family::Tpot => return None,
        Family::E2e => e2e_us,
        Family::Normalized => e2e_us / produced,
        Family::Queue => report.scheduled_us(id)? - report.trace.arrival_us[id],
        Family::Attainment => unreachable!("it is no time"),
    };
    Some(us / 1e6)
}

/// Where the warm-up of a series ends by MSER-5: how many of its values are cut; none where it does not end in the first half.
///
/// ```
/// use servescope_lab::compare::batch_means::warm_up;
/// // A hundred values that climb, then a thousand that stay.
/// let values: Vec<f64> = (0..1100).map(|i| f64::from(i.min(100)) + f64::from(i % 7)).collect();
/// assert!((100..120).contains(&warm_up(&values).unwrap()));
/// ```
pub fn warm_up(values: &[f64]) -> Option<usize> {
    let groups: Vec<f64> =
        values.chunks_exact(GROUP).map(|group| group.iter().sum::<f64>() / GROUP as f64).collect();
    let n = groups.len();
    if n < 2 {
        return None;
    }
    // About the overall mean: the sums of squares of the rests, from the end on, without cancellation.
    let centre = groups.iter().sum::<f64>() / n as f64;
    let (mut sum, mut squares) = (0.0, 0.0);
    let mut best = (f64::INFINITY, 0);
    for d in (0..n).rev() {
        let x = groups[d] - centre;
        sum += x;
        squares += x * x;
        let rest = (n - d) as f64;
        // The last few groups are alike by chance; of all places but those, as Franklin and White advise.
        if n - d < GROUP {
            continue;
        }
        let error = (squares - sum * sum / rest).max(0.0) / (rest * rest);
        if error <= best.0 {
            best = (error, d);
        }
    }
    (best.1 <= n / 2).then_some(best.1 * GROUP)
}

/// A metric of two long runs by paired batches.
///
/// # Errors
/// Why there is no interval.
pub fn batched(metric: &Metric, a: &Run, b: &Run) -> Result<Batched, NoBatches> {
    let (family, statistic) = of_path(metric.path()).ok_or(NoBatches::NotOfRequests)?;
    let series = [a, b].map(|run| {
        let slo = run.scenario.slo().ttft_s;
        let ids = 0..run.report.results.len();
        ids.map(|id| value(&run.report, slo, family, id)).collect::<Vec<Option<f64>>>()
    });
    let mut cut = 0;
    for one in &series {
        let (ids, values): (Vec<usize>, Vec<f64>) =
            one.iter().enumerate().filter_map(|(id, value)| Some((id, (*value)?))).unzip();
        let values_cut = warm_up(&values).ok_or(if values.len() < BATCHES * LEAST {
            NoBatches::TooFew
        } else {
            NoBatches::NotSettled
        })?;
        cut = cut.max(ids[values_cut]);
    }
    let all = series[0].len().min(series[1].len());
    let batch_requests = all.saturating_sub(cut) / BATCHES;
    if batch_requests < LEAST {
        return Err(NoBatches::TooFew);
    }
    let first = all - BATCHES * batch_requests;
    let mut pairs = Vec::with_capacity(BATCHES);
    for batch in 0..BATCHES {
        let ids = first + batch * batch_requests..first + (batch + 1) * batch_requests;
        let of = |one: &[Option<f64>]| taken(statistic, one[ids.clone()].iter().flatten().copied().collect());
        pairs.push((of(&series[0]).ok_or(NoBatches::TooFew)?, of(&series[1]).ok_or(NoBatches::TooFew)?));
    }
    let paired = Paired::of(&pairs).ok_or(NoBatches::TooFew)?;
    let differences: Vec<f64> = pairs.iter().map(|(a, b)| b - a).collect();
    let is_dependent = correlation(&differences) > ONE_IN_TWENTY / (BATCHES as f64).sqrt();
    Ok(Batched { paired, batches: Batches { cut_requests: first, batch_requests, is_dependent } })
}

fn taken(statistic: Statistic, mut values: Vec<f64>) -> Option<f64> {
    match statistic {
        Statistic::Mean => (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64),
        Statistic::Quantile(q) => {
            is_supported(q, values.len() as u64).then(|| select_quantile(&mut values, q))
        }
    }
}

/// Lag-1 correlation; 0 where nothing varies.
fn correlation(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let square: f64 = values.iter().map(|x| (x - mean) * (x - mean)).sum();
    let product: f64 = values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    if square > 0.0 { product / square } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use servescope_settings::scenario::Scenario;

    use super::*;

    fn run(settings: &[(&str, &str)]) -> Run {
        let mut scenario = Scenario::of_version(4);
        let base = [("workload.duration_s", "6000"), ("workload.rate_rps", "0.7")];
        for (path, value) in base.iter().chain(settings) {
            scenario.set_text(path, value).unwrap();
        }
        Run::simulate(&scenario, None).unwrap()
    }

    #[test]
    fn a_warm_up_is_cut_where_it_ends() {
        // Deterministic noise of mean 0 around a climb and a level.
        let noise = |i: usize| f64::from(u32::try_from(i * 7919 % 101).unwrap()) / 50.5 - 1.0;
        let climbs: Vec<f64> = (0..2000).map(|i| (i.min(300) as f64) / 30.0 + noise(i)).collect();
        let cut = warm_up(&climbs).unwrap();
        assert!((230..=330).contains(&cut), "{cut}");
        let steady: Vec<f64> = (0..2000).map(noise).collect();
        assert!(warm_up(&steady).unwrap() < 300);
        let grows: Vec<f64> = (0..2000).map(|i| i as f64 + noise(i)).collect();
        assert_eq!(warm_up(&grows), None);
        assert_eq!(warm_up(&[1.0; 9]), None);
        assert_eq!(warm_up(&[1.0; 50]), Some(0));
    }

    #[test]
    fn one_long_run_tells_a_difference_and_where_it_has_none() {
        let metric = |path: &str| Metric::parse(path).unwrap();
        let (a, b) = (run(&[]), run(&[("cost.linear.overhead_ms", "8")]));
        let reported = batched(&metric("ttft_s.mean"), &a, &b).unwrap();
        assert!(reported.paired.is_significant() && reported.paired.pairs == BATCHES);
        let Batches { cut_requests, batch_requests, .. } = reported.batches;
        assert_eq!(cut_requests + BATCHES * batch_requests, a.report.results.len());
        assert!(batched(&metric("ttft_s.p99"), &a, &b).unwrap().paired.is_significant());
        let same = batched(&metric("slo.attainment"), &a, &a.clone()).unwrap();
        assert_eq!((same.paired.difference, same.paired.is_significant()), (0.0, false));
        assert_eq!(batched(&metric("throughput_rps"), &a, &b), Err(NoBatches::NotOfRequests));
        let overloaded = run(&[("workload.rate_rps", "6"), ("workload.duration_s", "1000")]);
        let of_mean = batched(&metric("ttft_s.mean"), &overloaded, &overloaded.clone());
        assert_eq!(of_mean, Err(NoBatches::NotSettled));
        let short = run(&[("workload.duration_s", "50")]);
        assert_eq!(batched(&metric("ttft_s.mean"), &short, &short.clone()), Err(NoBatches::TooFew));
    }
}
