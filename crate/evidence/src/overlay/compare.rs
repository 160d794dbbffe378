//! Both runs, request by request.

use serde::Serialize;
use servescope_engine::Report;
use servescope_engine::metrics::distribution::Distribution;
use servescope_lab::run::Run;

use super::cause::OverlayCause;
use super::measured::{Means, MeasuredRun, Sending};
use super::pair::{Pair, PairedMetric, Times};

/// Windows over which throughputs are compared.
const WINDOWS: usize = 20;
/// The share of the mean rate that every window reaches where the relative errors of the windows are averaged.
const LEAST_RATE: f64 = 0.25;
/// Buckets of prompt lengths.
const BUCKETS: usize = 4;
/// Fewest requests of a bucket.
const FEWEST: usize = 5;

/// Requests of similar prompt length.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct LengthBucket {
    /// Shortest prompt, tokens.
    pub from_tokens: u32,
    /// Longest prompt, tokens.
    pub to_tokens: u32,
    /// How many requests.
    pub requests: usize,
    /// Bias of the TTFT.
    pub ttft_bias: Option<f64>,
    /// Bias of the time between tokens.
    pub tpot_bias: Option<f64>,
    /// Bias of the end-to-end time.
    pub e2e_bias: Option<f64>,
}

/// A measured run over the simulated one.
#[derive(Debug, Clone, PartialEq)]
pub struct Overlay {
    /// The requests that are known in both.
    pub pairs: Vec<Pair>,
    /// Requests of the measured run that did not end in the simulated one.
    pub unfinished: usize,
    /// TTFT, TPOT, ITL, E2E, and both throughputs.
    pub metrics: Vec<PairedMetric>,
    /// By prompt length, shortest first.
    pub by_length: Vec<LengthBucket>,
    /// Where the difference comes from, as far as the numbers show it.
    pub cause: OverlayCause,
    /// Whether single requests of both runs belong together.
    pub is_matched: bool,
}

impl Overlay {
    /// Lays a measured run over its simulation, whose trace is [`MeasuredRun::trace`].
    pub fn of(measured: &MeasuredRun, run: &Run) -> Self {
        let report = &run.report;
        let pairs = pairs(measured, report);
        let means = (!measured.has_times()).then_some(&measured.means);
        let is_matched = measured.is_matched();
        let mut metrics = times_of(&pairs.iter().collect::<Vec<_>>(), means);
        if !is_matched {
            metrics.iter_mut().for_each(|metric| (metric.mape, metric.correlation) = (None, None));
        }
        if let Some(itl) = metrics.iter_mut().find(|metric| metric.name == "itl_s") {
            let mut gaps: Vec<f64> =
                measured.requests.iter().flat_map(|request| &request.gaps_s).copied().collect();
            if !gaps.is_empty() {
                itl.measured_distribution = Distribution::of(&mut gaps);
                itl.simulated_distribution = run.token_gaps().distribution().scaled(1e-6);
            }
        }
        metrics.extend(rates(measured, report, &pairs));
        let cause = OverlayCause::of(if is_matched { &pairs } else { &[] }, &metrics);
        Self {
            unfinished: measured.requests.len() - pairs.len(),
            by_length: if means.is_some() { Vec::new() } else { by_length(&pairs) },
            metrics,
            cause,
            is_matched,
            pairs,
        }
    }

    /// The metric of a name.
    pub fn metric(&self, name: &str) -> Option<&PairedMetric> {
        self.metrics.iter().find(|metric| metric.name == name)
    }
}

/// Every request that ended in the simulated run.
pub(super) fn pairs(measured: &MeasuredRun, report: &Report) -> Vec<Pair> {
    let one = |id: usize| {
        let request = &measured.requests[id];
        let seconds = |us: Option<f64>| us.map(|us| us / 1e6);
        let tpot_s = seconds(report.tpot_us(id));
        Pair {
            id,
            name: request.name.clone(),
            sent_s: request.sent_s,
            input_tokens: request.input_tokens,
            output_tokens: request.output_tokens,
            measured: Times {
                ttft_s: request.ttft_s,
                tpot_s: request.tpot_s(),
                itl_s: request.itl_s(),
                e2e_s: request.e2e_s,
            },
            simulated: Times {
                ttft_s: seconds(report.ttft_us(id)),
                tpot_s,
                itl_s: tpot_s,
                e2e_s: seconds(report.e2e_us(id)),
            },
        }
    };
    (0..report.results.len()).filter(|&id| report.is_completed(id)).map(one).collect()
}

/// Reads one time of a request.
type TimeOf = fn(&Times) -> Option<f64>;

/// The times that are compared, by name.
pub(super) const TIMES: [(&str, TimeOf); 4] = [
    ("ttft_s", |times| times.ttft_s),
    ("tpot_s", |times| times.tpot_s),
    ("itl_s", |times| times.itl_s),
    ("e2e_s", |times| times.e2e_s),
];

/// The metrics of some requests; `means` stands for what was measured where single requests are not known.
pub(super) fn times_of(pairs: &[&Pair], means: Option<&Means>) -> Vec<PairedMetric> {
    let metric = |(name, of): (&'static str, TimeOf)| {
        if let Some(means) = means {
            let time = match name {
                "ttft_s" => means.ttft_s,
                "tpot_s" => means.tpot_s,
                "itl_s" => means.itl_s,
                _ => means.e2e_s,
            };
            let measured = time.mean;
            let mut simulated: Vec<f64> = pairs.iter().filter_map(|pair| of(&pair.simulated)).collect();
            let distribution = Distribution::of(&mut simulated);
            let known = measured.zip(distribution.mean);
            return PairedMetric {
                name,
                measured,
                simulated: distribution.mean,
                mape: None,
                bias: known.and_then(|(measured, simulated)| relative(simulated, measured)),
                correlation: None,
                measured_distribution: time.distribution(),
                simulated_distribution: distribution,
            };
        }
        let (mut measured, mut simulated): (Vec<f64>, Vec<f64>) =
            pairs.iter().filter_map(|pair| pair.both(of)).unzip();
        let (mape, correlation) = (mape(&measured, &simulated), correlation(&measured, &simulated));
        let measured_distribution = Distribution::of(&mut measured);
        let simulated_distribution = Distribution::of(&mut simulated);
        let known = measured_distribution.mean.zip(simulated_distribution.mean);
        PairedMetric {
            name,
            measured: measured_distribution.mean,
            simulated: simulated_distribution.mean,
            mape,
            bias: known.and_then(|(measured, simulated)| relative(simulated, measured)),
            correlation,
            measured_distribution,
            simulated_distribution,
        }
    };
    TIMES.into_iter().map(metric).collect()
}

/// How far a value is from the measured one, over the measured one.
fn relative(simulated: f64, measured: f64) -> Option<f64> {
    (measured > 0.0).then(|| simulated / measured - 1.0)
}

/// Mean absolute percentage error over those that were measured above 0.
fn mape(measured: &[f64], simulated: &[f64]) -> Option<f64> {
    let errors: Vec<f64> =
        measured.iter().zip(simulated).filter_map(|(&m, &s)| relative(s, m).map(f64::abs)).collect();
    (!errors.is_empty()).then(|| errors.iter().sum::<f64>() / errors.len() as f64)
}

/// Whether a mean of relative errors over the windows says something: one window in which hardly anything was produced, as at
/// the end of a run, outweighs all others.
fn is_steady(measured: &[f64]) -> bool {
    let mean = measured.iter().sum::<f64>() / measured.len().max(1) as f64;
    measured.iter().all(|&rate| rate >= LEAST_RATE * mean)
}

/// Pearson's correlation; none of fewer than three, or where one side does not change.
fn correlation(x: &[f64], y: &[f64]) -> Option<f64> {
    let n = x.len() as f64;
    let (mean_x, mean_y) = (x.iter().sum::<f64>() / n, y.iter().sum::<f64>() / n);
    let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
    for (x, y) in x.iter().zip(y) {
        let (dx, dy) = (x - mean_x, y - mean_y);
        xx += dx * dx;
        xy += dx * dy;
        yy += dy * dy;
    }
    (x.len() >= 3 && xx > 0.0 && yy > 0.0).then(|| (xy / (xx * yy).sqrt()).clamp(-1.0, 1.0))
}

/// A rate: its name, what a request counts for, and its value in the file.
type Counted = (&'static str, fn(&[f64; 3]) -> f64, Option<f64>);

/// What a run produced over time: when each request ended, and its tokens between its first and its last one.
struct Produced {
    /// (first token, end, output tokens), seconds.
    requests: Vec<[f64; 3]>,
    /// The end of the run.
    end_s: f64,
}

impl Produced {
    fn of(requests: Vec<[f64; 3]>) -> Self {
        let end_s = requests.iter().map(|request| request[1]).fold(0.0, f64::max);
        Self { requests, end_s }
    }

    /// Output tokens and ended requests a second, in each of equal windows up to `end_s`.
    fn windows(&self, end_s: f64) -> [Vec<f64>; 2] {
        let width = end_s / WINDOWS as f64;
        let (mut tokens, mut ends) = (vec![0.0; WINDOWS], vec![0.0; WINDOWS]);
        let place = |at: f64| ((at / width) as usize).min(WINDOWS - 1);
        for &[first, end, count] in &self.requests {
            ends[place(end)] += 1.0 / width;
            tokens[place(first)] += 1.0 / width;
            let (from, to) = (place(first), place(end));
            for (window, sum) in tokens.iter_mut().enumerate().take(to + 1).skip(from) {
                let (low, high) = (width * window as f64, width * (window + 1) as f64);
                let inside =
                    if end > first { (end.min(high) - first.max(low)).max(0.0) / (end - first) } else { 1.0 };
                *sum += (count - 1.0).max(0.0) * inside / width;
            }
        }
        [tokens, ends]
    }
}

/// Output tokens and requests a second: over the whole run, and in windows up to the later end.
fn rates(measured: &MeasuredRun, report: &Report, pairs: &[Pair]) -> Vec<PairedMetric> {
    let simulated = |pair: &Pair| {
        let sent = report.trace.arrival_us[pair.id] / 1e6;
        let (ttft, e2e) = (pair.simulated.ttft_s?, pair.simulated.e2e_s?);
        Some([sent + ttft, sent + e2e, f64::from(pair.output_tokens)])
    };
    let of_measured = |pair: &Pair| {
        let (ttft, e2e) = (pair.measured.ttft_s?, pair.measured.e2e_s?);
        Some([pair.sent_s + ttft, pair.sent_s + e2e, f64::from(pair.output_tokens)])
    };
    let ours = Produced::of(pairs.iter().filter_map(simulated).collect());
    let theirs = Produced::of(pairs.iter().filter_map(of_measured).collect());
    let mean = |of: &Produced, value: fn(&[f64; 3]) -> f64| {
        (of.end_s > 0.0).then(|| of.requests.iter().map(value).sum::<f64>() / of.end_s)
    };
    // In a closed loop without times of sending, and at drawn ones, only the file's own rates are known.
    let has_sent =
        measured.sending != Sending::Drawn && measured.requests.iter().any(|request| request.sent_s > 0.0);
    let has_windows = theirs.end_s > 0.0 && (has_sent || measured.requests.len() < 2);
    let [our_windows, their_windows] =
        [&ours, &theirs].map(|of| has_windows.then(|| of.windows(theirs.end_s.max(ours.end_s))));
    let counted: [Counted; 2] = [
        ("output_tokens_per_s", |request| request[2], measured.means.output_tokens_per_s),
        ("throughput_rps", |_| 1.0, measured.means.throughput_rps),
    ];
    let rate = |(place, (name, value, stated)): (usize, Counted)| {
        let measured = stated.or_else(|| if has_windows { mean(&theirs, value) } else { None });
        let simulated = mean(&ours, value);
        let windows = their_windows.as_ref().zip(our_windows.as_ref()).map(|(m, s)| (&m[place], &s[place]));
        PairedMetric {
            name,
            measured,
            simulated,
            mape: windows.filter(|(m, _)| is_steady(m)).and_then(|(m, s)| mape(m, s)),
            bias: measured.zip(simulated).and_then(|(measured, simulated)| relative(simulated, measured)),
            correlation: windows.and_then(|(m, s)| correlation(m, s)),
            measured_distribution: Distribution::default(),
            simulated_distribution: Distribution::default(),
        }
    };
    counted.into_iter().enumerate().map(rate).collect()
}

/// Requests in groups of equal size by prompt length.
fn by_length(pairs: &[Pair]) -> Vec<LengthBucket> {
    let mut sorted: Vec<&Pair> = pairs.iter().collect();
    sorted.sort_by_key(|pair| pair.input_tokens);
    let count = BUCKETS.min(sorted.len() / FEWEST).max(1);
    let groups =
        (0..count).map(|place| &sorted[place * sorted.len() / count..(place + 1) * sorted.len() / count]);
    let bucket = |group: &[&Pair]| {
        let metrics = times_of(group, None);
        let bias = |name: &str| metrics.iter().find(|metric| metric.name == name)?.bias;
        Some(LengthBucket {
            from_tokens: group.first()?.input_tokens,
            to_tokens: group.last()?.input_tokens,
            requests: group.len(),
            ttft_bias: bias("ttft_s"),
            tpot_bias: bias("tpot_s"),
            e2e_bias: bias("e2e_s"),
        })
    };
    groups.filter_map(bucket).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_those_of_their_definitions() {
        assert_eq!(mape(&[1.0, 2.0, 0.0], &[1.5, 1.0, 9.0]), Some(0.5));
        assert_eq!(correlation(&[1.0, 2.0, 3.0], &[5.0, 7.0, 9.0]), Some(1.0));
        assert_eq!(correlation(&[1.0, 2.0, 3.0], &[3.0, 2.0, 1.0]), Some(-1.0));
        assert_eq!(correlation(&[1.0, 1.0, 1.0], &[3.0, 2.0, 1.0]), None);
        assert_eq!(relative(1.5, 2.0), Some(-0.25));
    }

    #[test]
    fn windows_with_hardly_a_request_have_no_mean_error() {
        assert!(is_steady(&[3.0, 4.0, 2.0]));
        assert!(!is_steady(&[4.0, 4.0, 0.1]) && !is_steady(&[4.0, 0.0, 4.0]));
    }

    #[test]
    fn windows_hold_every_token_once() {
        let produced = Produced::of(vec![[1.0, 9.0, 17.0], [2.0, 2.0, 1.0], [0.5, 20.0, 40.0]]);
        let [tokens, ends] = produced.windows(20.0);
        let total = |rates: &[f64]| rates.iter().sum::<f64>();
        assert!((total(&tokens) - 58.0).abs() < 1e-9, "{tokens:?}");
        assert_eq!(total(&ends), 3.0);
        assert_eq!(ends[WINDOWS - 1], 1.0);
    }
}
