//! The crossover: the value of a parameter at which the better of two settings changes.
//!
//! Let d(x) be the mean over seeds of what a metric is in B less what it is in A, with the parameter at x in both, the same
//! seeds everywhere. First d is found at [`LOOKED_AT`] values from end to end. Between two neighbours whose intervals leave out
//! 0 on opposite sides (values without a significant difference between them are skipped) lies a crossover. It is found by
//! bisection three times: where d itself changes its sign, and where the upper and the lower end of its interval do. The two
//! last are the interval of the crossover: the values at which the pairs do not distinguish the two (the set of values that a
//! test of d(x) = 0 does not reject).

use serde::Serialize;
use serde_json::{Value as Json, json};
use servescope_workload::statistics::sort_by_number;

use crate::compare::interval::{ConfidenceInterval, Paired};
use crate::metric::{Direction, Metric};
use crate::sweep::Range;

/// Values that are looked at first.
pub const LOOKED_AT: usize = 9;

/// A bisection ends at this share of the range.
const TOLERANCE: f64 = 1.0 / 512.0;

/// One side of a crossover.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The metric is less in A.
    A,
    /// The metric is less in B.
    B,
}

impl Side {
    fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::A => "A",
            Self::B => "B",
        }
    }
}

/// Where the better one changes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Crossover {
    /// The value.
    pub value: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// The one in which the metric is less below the crossover.
    pub below: Side,
}

/// What was found over a range.
#[derive(Debug, Clone, PartialEq)]
pub struct Crossovers {
    /// The range.
    pub range: Range,
    /// The metric.
    pub metric: Metric,
    /// Every value that was simulated and its pairs, by value.
    pub seen: Vec<(f64, Option<Paired>)>,
    /// Every crossover, by value.
    pub crossovers: Vec<Crossover>,
    /// Seeds of each value.
    pub seeds: usize,
}

/// The side on which the metric is less, where the pairs show it.
fn side_of(paired: Option<&Paired>) -> Option<Side> {
    let bounds = paired?.bounds?;
    if bounds.low > 0.0 { Some(Side::A) } else { (bounds.high < 0.0).then_some(Side::B) }
}

/// What is bisected: d, or the end of its interval that still shows the side below.
#[derive(Clone, Copy)]
enum Edge {
    Mean,
    Low,
    High,
}

/// The pairs at each of some values.
type PairsAt<E> = Result<Vec<Option<Paired>>, E>;

struct Bisection<'f, E> {
    range: Range,
    seen: Vec<(f64, Option<Paired>)>,
    pairs_at: &'f mut dyn FnMut(&[f64]) -> PairsAt<E>,
}

impl<E> Bisection<'_, E> {
    /// The pairs at a value, simulated once.
    fn at(&mut self, value: f64) -> Result<Option<Paired>, E> {
        if let Some((_, paired)) = self.seen.iter().find(|(seen, _)| *seen == value) {
            return Ok(*paired);
        }
        let paired = (self.pairs_at)(&[value])?.pop().flatten();
        self.seen.push((value, paired));
        Ok(paired)
    }

    /// The value between two at which the metric stops to be as below: less on `below` by the edge.
    fn bisect(&mut self, below: Side, edge: Edge, mut low: f64, mut high: f64) -> Result<[f64; 2], E> {
        loop {
            let (low_share, high_share) = (self.range.share(low), self.range.share(high));
            let middle = if self.range.is_whole {
                f64::midpoint(low, high).floor()
            } else {
                self.range.at(0.5 * (low_share + high_share))
            };
            let is_close = !self.range.is_whole && high_share - low_share <= TOLERANCE;
            if is_close || middle <= low || middle >= high {
                return Ok([low, high]);
            }
            let paired = self.at(middle)?;
            let still = paired.map(|p| {
                let bounds = p.bounds.unwrap_or(ConfidenceInterval { low: p.difference, high: p.difference });
                // Positive while the metric is less on the side below.
                let (mean, nearer, farther) = match below {
                    Side::A => (p.difference, bounds.low, bounds.high),
                    Side::B => (-p.difference, -bounds.high, -bounds.low),
                };
                match edge {
                    Edge::Mean => mean > 0.0,
                    Edge::Low => nearer > 0.0,
                    Edge::High => farther >= 0.0,
                }
            });
            if still.unwrap_or(false) { low = middle } else { high = middle }
        }
    }
}

/// Finds every crossover of a metric over a range. `pairs_at` simulates A and B at each of some values, and gives the pairs of the
/// metric over the seeds for each.
///
/// # Errors
/// The first of `pairs_at`.
pub fn crossovers<E>(
    range: Range,
    metric: &Metric,
    seeds: usize,
    mut pairs_at: impl FnMut(&[f64]) -> Result<Vec<Option<Paired>>, E>,
) -> Result<Crossovers, E> {
    let mut first: Vec<f64> = (0..LOOKED_AT).map(|i| range.at(i as f64 / (LOOKED_AT - 1) as f64)).collect();
    first.dedup();
    let pairs = pairs_at(&first)?;
    let looked: Vec<(f64, Option<Paired>)> = first.into_iter().zip(pairs).collect();
    let sides = looked.iter().filter_map(|(x, paired)| Some((*x, side_of(paired.as_ref())?)));
    let sides: Vec<(f64, Side)> = sides.collect();
    let mut search = Bisection { range, seen: looked, pairs_at: &mut pairs_at };
    let mut found = Vec::new();
    for pair in sides.windows(2) {
        let [(left, below), (right, above)] = [pair[0], pair[1]];
        if below == above {
            continue;
        }
        let [last, next] = search.bisect(below, Edge::Mean, left, right)?;
        let low = search.bisect(below, Edge::Low, left, next)?[0];
        let high = search.bisect(below, Edge::High, last, right)?[1];
        let value =
            if range.is_whole { last } else { range.at(0.5 * (range.share(last) + range.share(next))) };
        found.push(Crossover { value, low, high, below });
    }
    let mut seen = search.seen;
    sort_by_number(&mut seen, |point| point.0);
    Ok(Crossovers { range, metric: metric.clone(), seen, crossovers: found, seeds })
}

impl Crossovers {
    /// The better of the two by the metric, where it is less on `side`; where neither direction is better, the lower.
    fn better(&self, side: Side) -> (&'static str, &'static str) {
        match self.metric.direction() {
            Direction::Less => (side.name(), "better"),
            Direction::More => (side.other().name(), "better"),
            Direction::Neither => (side.name(), "lower"),
        }
    }

    /// What was found, a sentence for each crossover, or one that says that there is none.
    pub fn sentences(&self) -> Vec<String> {
        let (path, title) = (self.range.id.row().id, self.metric.title());
        let unit = match self.range.id.row().unit {
            "" => String::new(),
            unit => format!(" {unit}"),
        };
        let of = |crossover: &Crossover| {
            let ((below, word), (above, _)) =
                (self.better(crossover.below), self.better(crossover.below.other()));
            let digits = if self.range.is_whole {
                0
            } else {
                crate::compare::sentence::decimals(crossover.value, crossover.high - crossover.low)
            };
            let Crossover { value, low, high, .. } = crossover;
            format!(
                "{title}: {below} is {word} up to {path} {value:.digits$}{unit}, {above} above (95 % interval {low:.digits$} to {high:.digits$}, {} seeds)",
                self.seeds
            )
        };
        if !self.crossovers.is_empty() {
            return self.crossovers.iter().map(of).collect();
        }
        let sides: Vec<Side> = self.seen.iter().filter_map(|(_, paired)| side_of(paired.as_ref())).collect();
        let (from, to, values) = (self.range.from, self.range.to, self.seen.len());
        vec![match sides.first() {
            None => format!(
                "{title}: no significant difference ({} seeds) at any of {values} values of {path} from {from} to {to}",
                self.seeds
            ),
            Some(side) => {
                let (name, word) = self.better(*side);
                let where_significant = if sides.len() == values {
                    format!("at each of {values} values")
                } else {
                    format!(
                        "at {} of {values} values, and at the others there is no significant difference",
                        sides.len()
                    )
                };
                format!(
                    "{title}: no crossover of {path} from {from} to {to}: {name} is {word} {where_significant}"
                )
            }
        }]
    }

    /// What was found, with every value that was simulated.
    pub fn found(&self) -> CrossoverFound {
        let crossover = |crossover: &Crossover| {
            let ((below, _), (above, _)) =
                (self.better(crossover.below), self.better(crossover.below.other()));
            FoundCrossover { value: crossover.value, low: crossover.low, high: crossover.high, below, above }
        };
        let value = |(value, paired): &(f64, Option<Paired>)| {
            let bounds = paired.and_then(|p| p.bounds);
            CrossoverValue {
                value: *value,
                difference: paired.map(|p| p.difference),
                low: bounds.map(|b| b.low),
                high: bounds.map(|b| b.high),
            }
        };
        CrossoverFound {
            parameter: self.range.id.row().id,
            metric: self.metric.path().to_owned(),
            seeds: self.seeds,
            crossovers: self.crossovers.iter().map(crossover).collect(),
            values: self.seen.iter().map(value).collect(),
            sentences: self.sentences(),
        }
    }

    /// The same as JSON.
    pub fn to_json(&self) -> Json {
        json!(self.found())
    }
}

/// Where the better of A and B changes, as it is reported.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct CrossoverFound {
    /// Path of the parameter.
    pub parameter: &'static str,
    /// Key path of the summary.
    pub metric: String,
    /// Seeds of each value.
    pub seeds: usize,
    /// Every crossover, by value.
    pub crossovers: Vec<FoundCrossover>,
    /// Every value that was simulated.
    pub values: Vec<CrossoverValue>,
    /// In English, a sentence for each crossover, or one that says that there is none.
    pub sentences: Vec<String>,
}

/// A crossover; all values are those of the parameter.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct FoundCrossover {
    /// Where it is.
    pub value: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// The better one below it.
    #[cfg_attr(feature = "types", ts(type = "'A' | 'B'"))]
    pub below: &'static str,
    /// The better one above it.
    #[cfg_attr(feature = "types", ts(type = "'A' | 'B'"))]
    pub above: &'static str,
}

/// The difference B - A at a value of the parameter.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct CrossoverValue {
    /// The value.
    pub value: f64,
    /// Mean over the seeds.
    pub difference: Option<f64>,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    /// Pairs whose difference is `d`, give or take `half` by seed.
    fn pairs(d: f64, half: f64) -> Option<Paired> {
        let all: Vec<(f64, f64)> =
            (0..10).map(|i| (10.0, 10.0 + d + if i % 2 == 0 { half } else { -half })).collect();
        Paired::of(&all)
    }

    fn found(range: &str, path: &str, d: impl Fn(f64) -> f64, half: f64) -> Crossovers {
        let metric = Metric::parse(path).unwrap();
        let at = |xs: &[f64]| Ok::<_, Infallible>(xs.iter().map(|&x| pairs(d(x), half)).collect());
        crossovers(Range::parse(range).unwrap(), &metric, 10, at).unwrap()
    }

    #[test]
    fn a_turn_is_found_with_its_interval() {
        let found = found("workload.arrivals.cv=0.5:8", "ttft_s.p99", |x| 2.1 - x, 0.3);
        let [crossover] = found.crossovers.as_slice() else { panic!("{:?}", found.crossovers) };
        let step = 7.5 / 512.0;
        assert!((crossover.value - 2.1).abs() <= step, "{crossover:?}");
        // Of ten alternating pairs the 25th of the means of subsets is still one of equal signs.
        let half = 0.3;
        assert!(
            (crossover.low - (2.1 - half)).abs() <= step && (crossover.high - (2.1 + half)).abs() <= step,
            "{crossover:?}"
        );
        assert_eq!(crossover.below, Side::A);
        assert!(found.sentences()[0].starts_with("P99 TTFT: A is better up to workload.arrivals.cv 2.1"));
        assert!(found.seen.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }

    #[test]
    fn more_of_goodput_is_better_and_there_may_be_two_turns() {
        let found = found("workload.rate_rps=1:9", "slo.goodput_rps", |x| (x - 3.3) * (7.7 - x), 0.1);
        assert_eq!(found.crossovers.len(), 2);
        let reported = found.sentences();
        // B has less goodput below 3.3: A is better there.
        assert!(reported[0].contains("A is better up to workload.rate_rps 3.3"), "{reported:?}");
        assert!(reported[1].contains("B is better up to workload.rate_rps 7.69"), "{reported:?}");
    }

    #[test]
    fn whole_numbers_turn_between_neighbours() {
        let found = found("fleet.replicas=1:64:log", "ttft_s.mean", |x| 12.5 - x, 0.01);
        assert_eq!(
            (found.crossovers[0].value, found.crossovers[0].low, found.crossovers[0].high),
            (12.0, 12.0, 13.0)
        );
        assert!(found.sentences()[0].contains("up to fleet.replicas 12, B above"));
    }

    #[test]
    fn no_turn_is_told() {
        let none = found("workload.rate_rps=1:9", "ttft_s.mean", |_| 1.0, 0.1);
        assert!(none.crossovers.is_empty());
        assert!(
            none.sentences()[0].contains("no crossover")
                && none.sentences()[0].contains("A is better at each of 9")
        );
        let noise = found("workload.rate_rps=1:9", "ttft_s.mean", |_| 0.0, 0.1);
        assert!(noise.sentences()[0].contains("no significant difference (10 seeds)"));
    }
}
