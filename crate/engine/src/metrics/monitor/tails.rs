//! Percentiles of the times of many groups of requests at once.

use crate::metrics::distribution::{is_supported, select};
use crate::report::Report;

/// Percentiles, seconds; each is missing where the sample does not allow it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Tail {
    /// Median.
    pub p50: Option<f64>,
    /// From 20 samples on.
    pub p95: Option<f64>,
    /// From 100 samples on.
    pub p99: Option<f64>,
}

impl Tail {
    fn of(values: &mut [f64]) -> Self {
        let n = values.len() as u64;
        let [p50, p95, p99] = [0.5, 0.95, 0.99].map(|q| is_supported(q, n).then(|| select(values, q) / 1e6));
        Self { p50, p95, p99 }
    }

    /// The three.
    pub fn all(&self) -> [Option<f64>; 3] {
        [self.p50, self.p95, self.p99]
    }
}

/// Times of completed requests.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Tails {
    /// Time to first token.
    pub ttft_s: Tail,
    /// Time per output token after the first, of requests with several.
    pub tpot_s: Tail,
    /// End-to-end time.
    pub e2e_s: Tail,
}

/// A completed request's times, microseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    pub(super) first_token_us: f64,
    pub(super) finish_us: f64,
    ttft: f64,
    tpot: Option<f64>,
    e2e: f64,
}

/// The times of request `id`, if it is completed.
fn times(report: &Report, id: usize) -> Option<Times> {
    if !report.is_completed(id) {
        return None;
    }
    let fate = &report.fates[id];
    let (ttft, e2e) = (report.ttft_us(id)?, report.e2e_us(id)?);
    let after_first = f64::from(fate.produced.max(1) - 1);
    Some(Times {
        first_token_us: report.first_token_us(id)?,
        finish_us: fate.finish_us?,
        ttft,
        tpot: (after_first > 0.0).then(|| (e2e - ttft) / after_first),
        e2e,
    })
}

/// The completed requests of a run.
pub(super) struct Samples(Vec<(u32, Times)>);

impl Samples {
    pub(super) fn of(report: &Report) -> Self {
        Self((0..report.fates.len()).filter_map(|id| Some((id as u32, times(report, id)?))).collect())
    }

    /// The percentiles of groups: `groups_of` tells that of a request's first token and that of its end.
    pub(super) fn tails(&self, groups: usize, groups_of: impl Fn(usize, &Times) -> [usize; 2]) -> Vec<Tails> {
        let ttft = self.grouped(groups, |id, times| (groups_of(id, times)[0], Some(times.ttft)));
        let tpot = self.grouped(groups, |id, times| (groups_of(id, times)[1], times.tpot));
        let e2e = self.grouped(groups, |id, times| (groups_of(id, times)[1], Some(times.e2e)));
        let pairs = ttft.into_iter().zip(tpot).zip(e2e);
        pairs.map(|((ttft_s, tpot_s), e2e_s)| Tails { ttft_s, tpot_s, e2e_s }).collect()
    }

    /// Percentiles of the values of each group (counting sort).
    fn grouped(&self, groups: usize, of: impl Fn(usize, &Times) -> (usize, Option<f64>)) -> Vec<Tail> {
        let samples = || {
            self.0.iter().filter_map(|(id, times)| {
                let (group, value) = of(*id as usize, times);
                Some((group, value?))
            })
        };
        let mut starts = vec![0usize; groups + 1];
        samples().for_each(|(group, _)| starts[group + 1] += 1);
        for group in 0..groups {
            starts[group + 1] += starts[group];
        }
        let mut values = vec![0.0; starts[groups]];
        let mut next = starts.clone();
        for (group, value) in samples() {
            values[next[group]] = value;
            next[group] += 1;
        }
        starts.windows(2).map(|range| Tail::of(&mut values[range[0]..range[1]])).collect()
    }
}
