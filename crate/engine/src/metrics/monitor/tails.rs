//! Percentiles of the times of many groups of requests at once.

use servescope_workload::statistics::select_quantile;

use crate::client::ClientId;
use servescope_workload::RequestId;

use super::super::distribution::is_supported;
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
        let [p50, p95, p99] =
            [0.5, 0.95, 0.99].map(|q| is_supported(q, n).then(|| select_quantile(values, q) / 1e6));
        Self { p50, p95, p99 }
    }

    /// The three.
    pub fn all(&self) -> [Option<f64>; 3] {
        [self.p50, self.p95, self.p99]
    }
}

/// Times of completed requests.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TailLatencies {
    /// Time to first token.
    pub ttft_s: Tail,
    /// Time per output token after the first, of requests with several.
    pub tpot_s: Tail,
    /// End-to-end time.
    pub e2e_s: Tail,
}

/// The completed requests of a run and their times, microseconds.
#[derive(Default)]
pub(super) struct TailSamples {
    ids: Vec<RequestId>,
    first_us: Vec<f64>,
    finish_us: Vec<f64>,
    ttft: Vec<f64>,
    /// NaN for a single token.
    tpot: Vec<f64>,
    e2e: Vec<f64>,
}

impl TailSamples {
    pub(super) fn of(report: &Report) -> Self {
        let mut samples = Self::default();
        for (id, result) in report.results.iter().enumerate().filter(|(id, _)| report.is_completed(*id)) {
            let (Some(first_us), Some(finish_us)) = (report.first_token_us(id), result.finish_us) else {
                continue;
            };
            let arrival_us = report.trace.arrival_us[id];
            let (ttft, e2e) = (first_us - arrival_us, finish_us - arrival_us);
            samples.ids.push(RequestId::new(id as u32));
            samples.first_us.push(first_us);
            samples.finish_us.push(finish_us);
            samples.ttft.push(ttft);
            samples.tpot.push(match result.produced {
                0 | 1 => f64::NAN,
                produced => (e2e - ttft) / f64::from(produced - 1),
            });
            samples.e2e.push(e2e);
        }
        samples
    }

    /// Percentiles by client.
    pub(super) fn of_clients(&self, client_of: &[ClientId], count: usize) -> Vec<TailLatencies> {
        let groups: Vec<u32> = self.ids.iter().map(|&id| client_of[id].get()).collect();
        self.tails(count, &groups, &groups)
    }

    /// Percentiles by group: that of a request at the time of its first token, and that at the time of its end.
    pub(super) fn of_groups(
        &self,
        count: usize,
        group: &dyn Fn(RequestId, f64) -> u32,
    ) -> Vec<TailLatencies> {
        let at = |times: &[f64]| -> Vec<u32> {
            self.ids.iter().zip(times).map(|(&id, &time_us)| group(id, time_us)).collect()
        };
        self.tails(count, &at(&self.first_us), &at(&self.finish_us))
    }

    fn tails(&self, count: usize, first: &[u32], end: &[u32]) -> Vec<TailLatencies> {
        let ttft = grouped(count, first, &self.ttft);
        let tpot = grouped(count, end, &self.tpot);
        let e2e = grouped(count, end, &self.e2e);
        let pairs = ttft.into_iter().zip(tpot).zip(e2e);
        pairs.map(|((ttft_s, tpot_s), e2e_s)| TailLatencies { ttft_s, tpot_s, e2e_s }).collect()
    }
}

/// Percentiles of the values of each group (counting sort); NaN is none.
fn grouped(count: usize, groups: &[u32], values: &[f64]) -> Vec<Tail> {
    let samples = || groups.iter().zip(values).filter(|(_, value)| !value.is_nan());
    let mut starts = vec![0usize; count + 1];
    samples().for_each(|(&group, _)| starts[group as usize + 1] += 1);
    for group in 0..count {
        starts[group + 1] += starts[group];
    }
    let mut sorted = vec![0.0; starts[count]];
    let mut next = starts.clone();
    for (&group, &value) in samples() {
        sorted[next[group as usize]] = value;
        next[group as usize] += 1;
    }
    starts.windows(2).map(|range| Tail::of(&mut sorted[range[0]..range[1]])).collect()
}
