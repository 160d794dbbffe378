//! Inter-token latency (ITL, TBT) of all requests, from the timeline alone: exact, without a list of all tokens.

use servescope_cost::LinearDecode;
use servescope_workload::statistics::sort_places;

use super::distribution::{Distribution, QUANTILES, is_supported};
use crate::record::timeline::{IterationRun, Timeline};

/// `count` gaps between tokens of `first_us`, `count` of `first_us + growth_us`, … over `iterations` iterations, the first
/// of which begins or ends at `at_us`.
#[derive(Debug, Clone, Copy)]
struct GapRun {
    at_us: f64,
    first_us: f64,
    growth_us: f64,
    iterations: u32,
    count: u32,
}

impl GapRun {
    fn equal(at_us: f64, length_us: f64, count: u32) -> Self {
        Self { at_us, first_us: length_us, growth_us: 0.0, iterations: u32::from(count > 0), count }
    }

    fn at(&self, iteration: u32) -> f64 {
        self.first_us + self.growth_us * f64::from(iteration)
    }

    fn last(&self) -> f64 {
        self.at(self.iterations - 1)
    }

    /// How many of the gaps are longer than `limit_us`.
    fn longer(&self, limit_us: f64) -> u64 {
        let longer = if self.growth_us == 0.0 {
            if self.first_us > limit_us { self.iterations } else { 0 }
        } else {
            (0..self.iterations).filter(|&i| self.at(i) > limit_us).count() as u32
        };
        u64::from(longer) * u64::from(self.count)
    }
}

/// All gaps between tokens of a run.
#[derive(Debug, Clone, Default)]
pub struct InterTokenLatencies {
    total: u64,
    sum_us: f64,
    max_us: f64,
    /// Gaps by the leading bits of their length, from bucket `lowest` on.
    histogram: Vec<u64>,
    lowest: u64,
    distribution: Distribution,
    /// While they are counted: all of them, as long as they are few.
    kept: Vec<GapRun>,
}

/// This many are looked through a second time; of more the timeline is walked again.
const MOST_KEPT: usize = if cfg!(test) { 4 } else { 1 << 19 };

/// Leading bits of a length that make its bucket: sign, exponent and ten bits of the fraction, so that a bucket is at most
/// a thousandth wide.
const BUCKET_SHIFT: u32 = 42;

fn bucket(length_us: f64) -> u64 {
    // A comparison, for in wasm the larger of two numbers is a call.
    (if length_us > 0.0 { length_us } else { 0.0 }).to_bits() >> BUCKET_SHIFT
}

/// Hands out the gaps of a timeline, none of them twice.
fn each_run(timeline: &Timeline, take: &mut dyn FnMut(GapRun)) {
    let mut take = |run: GapRun| {
        if run.iterations > 0 {
            take(run);
        }
    };
    timeline.iterations.iter().for_each(|run| of_iterations(run).into_iter().for_each(&mut take));
    timeline.gaps.iter().for_each(|gap| take(GapRun::equal(gap.end_us, gap.length_us, gap.count)));
}

/// The gaps between the tokens of equal iterations: those that the first of them ends, and the others.
fn of_iterations(run: &IterationRun) -> [GapRun; 2] {
    let decode = LinearDecode::new(run.first_us, run.growth_us);
    let others = GapRun {
        at_us: run.start_us,
        first_us: decode.iteration_us(1),
        growth_us: run.growth_us,
        iterations: if run.decodes > 0 { run.iterations - 1 } else { 0 },
        count: run.decodes,
    };
    [GapRun::equal(run.start_us, run.start_us + decode.elapsed_us(1) - run.start_us, run.fresh), others]
}

impl InterTokenLatencies {
    /// The gaps of a timeline. Where they are many it is walked once to count them and once for the quantiles.
    pub fn of(timeline: &Timeline) -> Self {
        let mut gaps = Self::default();
        each_run(timeline, &mut |run| gaps.add(run));
        gaps.with_quantiles(timeline)
    }

    /// Counts those of equal iterations. When all are counted, [`Self::whole`] makes them the timeline's.
    pub(super) fn add_iterations(&mut self, run: &IterationRun) {
        of_iterations(run).into_iter().filter(|run| run.iterations > 0).for_each(|run| self.add(run));
    }

    /// The gaps of a timeline whose iterations are all counted.
    pub(super) fn whole(mut self, timeline: &Timeline) -> Self {
        let counted = timeline.gaps.iter().filter(|gap| gap.count > 0);
        counted.for_each(|gap| self.add(GapRun::equal(gap.end_us, gap.length_us, gap.count)));
        self.with_quantiles(timeline)
    }

    fn with_quantiles(mut self, timeline: &Timeline) -> Self {
        if self.total > 0 {
            self.distribution = self.quantiles(timeline);
        }
        self.kept = Vec::new();
        self
    }

    fn add(&mut self, run: GapRun) {
        if self.kept.len() <= MOST_KEPT {
            self.kept.push(run);
        }
        let k = f64::from(run.iterations);
        self.total += u64::from(run.iterations) * u64::from(run.count);
        self.sum_us += f64::from(run.count) * (k * run.first_us + run.growth_us * (k * (k - 1.0) * 0.5));
        let last_us = run.last();
        if last_us > self.max_us {
            self.max_us = last_us;
        }
        let (first, last) = (bucket(run.first_us), bucket(last_us));
        self.reach(first, last);
        if first == last {
            self.histogram[(first - self.lowest) as usize] +=
                u64::from(run.iterations) * u64::from(run.count);
        } else {
            for i in 0..run.iterations {
                self.histogram[(bucket(run.at(i)) - self.lowest) as usize] += u64::from(run.count);
            }
        }
    }

    /// Makes the histogram reach from bucket `first` to bucket `last` at least.
    fn reach(&mut self, first: u64, last: u64) {
        if self.histogram.is_empty() {
            self.lowest = first;
        } else if first < self.lowest {
            self.histogram.splice(0..0, std::iter::repeat_n(0, (self.lowest - first) as usize));
            self.lowest = first;
        }
        let length = (last - self.lowest + 1) as usize;
        if length > self.histogram.len() {
            self.histogram.resize(length, 0);
        }
    }

    /// Gaps longer than `limit_us` and all gaps, in each of `parts` equal parts of the time from `from_us` to `to_us`; the
    /// iterations that the engine charged at once count where the first of them lies.
    pub fn longer_over_time(
        timeline: &Timeline,
        limit_us: f64,
        [from_us, to_us]: [f64; 2],
        parts: usize,
    ) -> Vec<[u64; 2]> {
        let mut counts = vec![[0; 2]; parts];
        let part_us = (to_us - from_us) / parts as f64;
        each_run(timeline, &mut |run| {
            if run.at_us >= from_us && run.at_us <= to_us && part_us > 0.0 {
                let part = (((run.at_us - from_us) / part_us) as usize).min(parts - 1);
                counts[part][0] += run.longer(limit_us);
                counts[part][1] += u64::from(run.iterations) * u64::from(run.count);
            }
        });
        counts
    }

    /// Number of gaps.
    pub fn count(&self) -> u64 {
        self.total
    }

    /// Mean and quantiles in microseconds.
    pub fn distribution(&self) -> Distribution {
        self.distribution
    }

    fn quantiles(&self, timeline: &Timeline) -> Distribution {
        // The two neighbours that each quantile lies between, as ranks.
        let places = QUANTILES.map(|q| q * (self.total - 1) as f64);
        let mut ranks: Vec<u64> = Vec::new();
        for rank in places.iter().flat_map(|&p| [p as u64, (p as u64 + 1).min(self.total - 1)]) {
            let place = ranks.partition_point(|&r| r < rank);
            if ranks.get(place) != Some(&rank) {
                ranks.insert(place, rank);
            }
        }
        let values = self.at_ranks(timeline, &ranks);
        let value = |rank: u64| values[ranks.binary_search(&rank).expect("every rank was asked for")];
        let quantile = |i: usize| {
            let below = places[i] as u64;
            let (low, high) = (value(below), value((below + 1).min(self.total - 1)));
            is_supported(QUANTILES[i], self.total).then(|| low + (high - low) * (places[i] - below as f64))
        };
        Distribution {
            mean: Some(self.sum_us / self.total as f64),
            p50: quantile(0),
            p90: quantile(1),
            p95: quantile(2),
            p99: quantile(3),
            max: Some(self.max_us),
        }
    }

    /// The gap in microseconds that at least the share `q` of all gaps of `timeline`, which these are of, does not exceed;
    /// none without a gap.
    pub fn quantile_us(&self, timeline: &Timeline, q: f64) -> Option<f64> {
        let last = self.total.checked_sub(1)?;
        let rank = f64::ceil(q * self.total as f64 - 1e-9).max(1.0) as u64 - 1;
        self.at_ranks(timeline, &[rank.min(last)]).first().copied()
    }

    /// The gaps at these ranks (ascending): the histogram says in which bucket each lies, a second walk sorts those.
    fn at_ranks(&self, timeline: &Timeline, ranks: &[u64]) -> Vec<f64> {
        let mut wanted: Vec<(u64, u64)> = Vec::new(); // bucket, gaps before it
        let mut before = 0;
        let mut next = ranks.iter().peekable();
        for (i, &count) in self.histogram.iter().enumerate() {
            let mut inside = false;
            while next.next_if(|&&r| r < before + count).is_some() {
                inside = true;
            }
            if inside {
                wanted.push((self.lowest + i as u64, before));
            }
            before += count;
        }
        // For each bucket how many wanted ones lie below it: most runs meet none.
        let mut below = Vec::with_capacity(self.histogram.len() + 1);
        for bucket in self.lowest..=self.lowest + self.histogram.len() as u64 {
            let known = below.last().copied().unwrap_or(0);
            below.push(known + usize::from(wanted.get(known).is_some_and(|&(b, _)| b < bucket)));
        }
        let mut found: Vec<Vec<(f64, u64)>> = vec![Vec::new(); wanted.len()];
        let mut find = |place: usize, length_us: f64, count: u64| match found[place].last_mut() {
            Some(last) if last.0 == length_us => last.1 += count,
            _ => found[place].push((length_us, count)),
        };
        let mut look = |run: GapRun| {
            let (first, last) = (bucket(run.first_us), bucket(run.last()));
            let met = below[(first - self.lowest) as usize]..below[(last - self.lowest) as usize + 1];
            for (place, &(b, _)) in met.clone().zip(&wanted[met]) {
                if run.growth_us == 0.0 {
                    find(place, run.first_us, u64::from(run.iterations) * u64::from(run.count));
                } else {
                    let inside = (0..run.iterations).map(|i| run.at(i)).filter(|&x| bucket(x) == b);
                    inside.for_each(|x| find(place, x, u64::from(run.count)));
                }
            }
        };
        if (1..=MOST_KEPT).contains(&self.kept.len()) {
            self.kept.iter().copied().for_each(look);
        } else {
            each_run(timeline, &mut look);
        }
        for list in &mut found {
            let lengths: Vec<f64> = list.iter().map(|&(x, _)| x).collect();
            *list = sort_places(&lengths).into_iter().map(|i| list[i as usize]).collect();
        }
        let at = |rank: u64| {
            let place = wanted.partition_point(|&(_, before)| before <= rank) - 1;
            let mut seen = wanted[place].1;
            let hit = found[place].iter().find(|&&(_, count)| {
                seen += count;
                seen > rank
            });
            hit.or(found[place].last()).map_or(0.0, |&(x, _)| x)
        };
        ranks.iter().map(|&r| at(r)).collect()
    }

    /// Points of the distribution function: length in microseconds, share of gaps at most as long. At most `points` of
    /// them, each at the upper edge of a bucket.
    pub fn cdf(&self, points: usize) -> Vec<(f64, f64)> {
        let mut curve: Vec<(f64, f64)> = Vec::with_capacity(points + 1);
        let (mut sum, mut written) = (0u64, 0u64);
        let stride = self.total.div_ceil(points.max(1) as u64).max(1);
        for (i, &count) in self.histogram.iter().enumerate() {
            sum += count;
            if count > 0 && (sum >= written + stride || sum == self.total) {
                let edge = f64::from_bits((self.lowest + i as u64 + 1) << BUCKET_SHIFT).min(self.max_us);
                curve.push((edge, sum as f64 / self.total as f64));
                written = sum;
            }
        }
        curve
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::timeline::{InterTokenLatency, Iterations};

    /// One request decodes twice and is stalled for 57 microseconds, another for the last 7 of them; then all three decode.
    #[test]
    fn gaps_are_those_of_every_token() {
        let mut log = Iterations::default();
        let runs = [
            // Start, first, growth, iterations, decodes, those of them whose last token came at the start.
            (0.0, 10.0, 0.0, 1, 0, 0),
            (10.0, 10.0, 0.0, 2, 1, 1),
            (30.0, 50.0, 0.0, 1, 0, 0),
            (80.0, 7.0, 0.0, 1, 0, 0),
            (87.0, 20.0, 1.0, 3, 3, 1),
        ];
        for (start_us, first_us, growth_us, iterations, decodes, fresh) in runs {
            let end_us = start_us + LinearDecode::new(first_us, growth_us).elapsed_us(iterations);
            let times = IterationRun { start_us, end_us, first_us, growth_us, ..IterationRun::BLANK };
            log.push(&IterationRun { busy_us: end_us - start_us, iterations, decodes, fresh, ..times }, &[]);
        }
        let gap = |length_us| InterTokenLatency { end_us: 107.0, length_us, count: 1 };
        let timeline = Timeline { iterations: log, gaps: vec![gap(77.0), gap(27.0)], ..Timeline::default() };
        let gaps = InterTokenLatencies::of(&timeline);
        let mut all = vec![10.0, 10.0, 20.0 + 57.0, 20.0 + 7.0, 20.0, 21.0, 21.0, 21.0, 22.0, 22.0, 22.0];
        assert_eq!(gaps.count(), all.len() as u64);
        let expected = Distribution::of(&mut all);
        let found = gaps.distribution();
        assert_eq!((found.p50, found.p90, found.max), (expected.p50, expected.p90, expected.max));
        assert!((found.mean.unwrap() - expected.mean.unwrap()).abs() < 1e-12);
        assert_eq!(gaps.cdf(100).last(), Some(&(77.0, 1.0)));
        let longer = |parts| InterTokenLatencies::longer_over_time(&timeline, 21.0, [0.0, 120.0], parts);
        assert_eq!(longer(1), [[5, 11]]);
        assert_eq!(longer(2), [[0, 2], [5, 9]]);
    }
}
