//! The rate over time in bins of equal width, and how wide they are.
//!
//! The width is the least of a list of round ones that holds a wanted number of requests on average (so that the noise of
//! a Poisson count in a bin stays below a known share) and makes no more bins than a chart can show.

/// Widths that a clock face knows, seconds.
const ROUND_S: [f64; 24] = [
    0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0,
    1800.0, 3600.0, 7200.0, 10_800.0, 21_600.0, 43_200.0, 86_400.0,
];
/// Requests in a bin of the chart on average: counts then have a noise of 18 %.
const CHART_REQUESTS: f64 = 30.0;
/// Most bins of the chart: a day in steps of five minutes.
pub(super) const MOST_CHART_BINS: f64 = 288.0;
/// Requests in a replayed bin on average: fewer, because a replay keeps the noise as it is.
const REPLAYED_REQUESTS: f64 = 3.0;
/// Most bins that are replayed.
const MOST_REPLAYED_BINS: f64 = 100_000.0;

/// Rates in bins of equal width.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RateBins {
    /// Width of a bin, seconds.
    pub bin_s: f64,
    /// Rate in each bin from the first arrival on, requests a second. The last bin ends at the last arrival.
    pub rate_rps: Vec<f64>,
    /// Length of the last bin, seconds: at most a width.
    last_s: f64,
}

/// The least round width with this many requests on average in no more bins.
pub(super) fn round_width(requests: usize, span_s: f64, wanted: f64, most_bins: f64) -> f64 {
    let least = (wanted * span_s / requests.max(1) as f64).max(span_s / most_bins);
    let beyond = || 86_400.0 * (least / 86_400.0).ceil();
    ROUND_S.into_iter().find(|&width| width >= least).unwrap_or_else(beyond)
}

pub(super) fn chart_bin_s(requests: usize, span_s: f64) -> f64 {
    round_width(requests, span_s, CHART_REQUESTS, MOST_CHART_BINS)
}

pub(super) fn replayed_bin_s(requests: usize, span_s: f64) -> f64 {
    round_width(requests, span_s, REPLAYED_REQUESTS, MOST_REPLAYED_BINS)
}

impl RateBins {
    /// The rates of times in seconds from the first arrival on, in ascending order.
    pub fn of(since_s: &[f64], span_s: f64, bin_s: f64) -> Self {
        let bin_s = if bin_s > 0.0 && bin_s.is_finite() { bin_s.max(span_s / 1e7) } else { span_s };
        if span_s <= 0.0 || bin_s <= 0.0 {
            return Self::default();
        }
        let bins = ((span_s / bin_s).ceil() as usize).max(1);
        let mut rate_rps = vec![0.0; bins];
        for &time in since_s {
            rate_rps[((time / bin_s) as usize).min(bins - 1)] += 1.0;
        }
        let last_s = span_s - (bins - 1) as f64 * bin_s;
        rate_rps.iter_mut().for_each(|rate| *rate /= bin_s);
        if let Some(rate) = rate_rps.last_mut() {
            *rate *= bin_s / last_s;
        }
        Self { bin_s, rate_rps, last_s }
    }

    fn width_s(&self, bin: usize) -> f64 {
        if bin + 1 == self.rate_rps.len() { self.last_s } else { self.bin_s }
    }

    /// Times on the clock that counts expected requests: the integral of the rate up to each.
    pub fn counted(&self, since_s: &[f64]) -> Vec<f64> {
        let mut before = Vec::with_capacity(self.rate_rps.len());
        let mut sum = 0.0;
        for (bin, rate) in self.rate_rps.iter().enumerate() {
            before.push(sum);
            sum += rate * self.width_s(bin);
        }
        let count = |&time: &f64| {
            let bin = ((time / self.bin_s) as usize).min(before.len() - 1);
            before[bin] + self.rate_rps[bin] * (time - bin as f64 * self.bin_s)
        };
        if before.is_empty() { vec![0.0; since_s.len()] } else { since_s.iter().map(count).collect() }
    }

    /// The times at which a unit-rate process arrives under these rates, from its gaps: the inverse of
    /// [`RateBins::counted`]. Ends where the rates end.
    pub(super) fn arrivals_s(&self, mut unit_gap: impl FnMut() -> f64) -> Vec<f64> {
        let mut arrivals = Vec::new();
        let mut due = unit_gap();
        for (bin, &rate) in self.rate_rps.iter().enumerate() {
            let (start_s, expected) = (bin as f64 * self.bin_s, rate * self.width_s(bin));
            let mut at = due;
            while at < expected {
                arrivals.push(start_s + at / rate);
                at += unit_gap();
            }
            due = at - expected;
        }
        arrivals
    }
}
