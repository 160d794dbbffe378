//! The same request in two runs: which gained, which lost, and by how much.
//!
//! Two runs with the same seed draw each property of a request from a random stream of its own, so the request of one id is
//! the same request in both, as long as the workloads are the same. Where they differ, the requests of one id still have
//! what the change left alone: at another rate they come at other times with the same lengths.

use std::fmt::Write as _;

use serde::Serialize;
use servescope_workload::Trace;

use crate::run::Run;

/// Requests that are named on either side.
pub const NAMED: usize = 10;

/// A request in both runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RequestPair {
    /// Its id: its place in the order of arrival.
    pub id: usize,
    /// Arrival in A, seconds.
    pub arrival_s: f64,
    /// Time to first token in A, seconds; none where it got none.
    pub a_s: Option<f64>,
    /// The same in B.
    pub b_s: Option<f64>,
}

impl RequestPair {
    /// B - A, seconds.
    pub fn difference_s(&self) -> Option<f64> {
        Some(self.b_s? - self.a_s?)
    }
}

/// A request that has a first token in both runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct ComparedRequest {
    /// Its place in the order of arrival.
    pub id: usize,
    /// Arrival in A, seconds.
    pub arrival_s: f64,
    /// Time to first token in A, seconds.
    pub a_ttft_s: f64,
    /// The same in B.
    pub b_ttft_s: f64,
    /// B less A, seconds.
    pub difference_s: f64,
}

impl ComparedRequest {
    fn of(pair: &RequestPair) -> Option<Self> {
        let (a_ttft_s, b_ttft_s, difference_s) = (pair.a_s?, pair.b_s?, pair.difference_s()?);
        Some(Self { id: pair.id, arrival_s: pair.arrival_s, a_ttft_s, b_ttft_s, difference_s })
    }
}

/// Requests that only one run has.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct UnpairedRequests {
    /// Only A.
    pub a: usize,
    /// Only B.
    pub b: usize,
}

/// Requests by their first token in both runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct FirstTokens {
    /// Sooner in B.
    pub sooner_in_b: usize,
    /// Later in B.
    pub later_in_b: usize,
    /// After the same time in both.
    pub same: usize,
    /// A first token in A alone.
    pub only_in_a: usize,
    /// A first token in B alone.
    pub only_in_b: usize,
}

/// The same requests in two runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct ComparedRequests {
    /// Ids that both runs have.
    pub paired: usize,
    /// How many of them come at the same time with the same prompt, output, user and adapter.
    pub equal: usize,
    /// Ids that one run has.
    pub unpaired: UnpairedRequests,
    /// Counts by first token.
    pub first_token: FirstTokens,
    /// Requests whose TTFT B lowers most, the first most.
    pub gained_most: Vec<ComparedRequest>,
    /// Requests whose TTFT B raises most.
    pub lost_most: Vec<ComparedRequest>,
}

/// The requests that two runs have in common, by TTFT.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestPairs {
    /// Every id that both runs have, in order.
    pub pairs: Vec<RequestPair>,
    /// How many of them come at the same time with the same prompt, output, user and adapter.
    pub equal: usize,
    /// Ids that only A has, and that only B has.
    pub only: [usize; 2],
}

impl RequestPairs {
    /// Of two runs with the same seed.
    pub fn of(a: &Run, b: &Run) -> Self {
        let counts = [a, b].map(|run| run.report.results.len());
        let common = counts[0].min(counts[1]);
        let seconds = |run: &Run, id: usize| run.report.ttft_us(id).map(|us| us / 1e6);
        let pair = |id: usize| RequestPair {
            id,
            arrival_s: a.report.trace.arrival_us[id] / 1e6,
            a_s: seconds(a, id),
            b_s: seconds(b, id),
        };
        Self {
            pairs: (0..common).map(pair).collect(),
            equal: (0..common).filter(|&id| is_equal(&a.report.trace, &b.report.trace, id)).count(),
            only: counts.map(|count| count - common),
        }
    }

    /// The [`NAMED`] requests whose TTFT B lowers most, the first most; of equals the one that came first.
    pub fn gained(&self) -> Vec<RequestPair> {
        self.most(-1.0)
    }

    /// The [`NAMED`] requests whose TTFT B raises most.
    pub fn lost(&self) -> Vec<RequestPair> {
        self.most(1.0)
    }

    fn most(&self, sign: f64) -> Vec<RequestPair> {
        let reported = self.pairs.iter().filter(|pair| pair.difference_s().is_some_and(|s| s * sign > 0.0));
        let mut chosen: Vec<RequestPair> = reported.copied().collect();
        let by = |pair: &RequestPair| -sign * pair.difference_s().unwrap_or(0.0);
        chosen.sort_by(|x, y| by(x).total_cmp(&by(y)).then(x.id.cmp(&y.id)));
        chosen.truncate(NAMED);
        chosen
    }

    /// How many requests B serves sooner, later, at the same time, only in A, only in B.
    pub fn counts(&self) -> [usize; 5] {
        let mut counts = [0; 5];
        for pair in &self.pairs {
            let place = match (pair.a_s, pair.b_s) {
                (Some(a), Some(b)) if b < a => 0,
                (Some(a), Some(b)) if b > a => 1,
                (Some(_), Some(_)) => 2,
                (Some(_), None) => 3,
                (None, Some(_)) => 4,
                (None, None) => continue,
            };
            counts[place] += 1;
        }
        counts
    }

    /// The counts, and the requests that gained and lost most.
    pub fn compared(&self) -> ComparedRequests {
        let [sooner_in_b, later_in_b, same, only_in_a, only_in_b] = self.counts();
        let list = |pairs: Vec<RequestPair>| pairs.iter().filter_map(ComparedRequest::of).collect();
        ComparedRequests {
            paired: self.pairs.len(),
            equal: self.equal,
            unpaired: UnpairedRequests { a: self.only[0], b: self.only[1] },
            first_token: FirstTokens { sooner_in_b, later_in_b, same, only_in_a, only_in_b },
            gained_most: list(self.gained()),
            lost_most: list(self.lost()),
        }
    }

    /// Every pair as CSV: id, arrival and TTFT in both runs, seconds; empty where there is no first token.
    pub fn csv(&self) -> String {
        let cell = |x: Option<f64>| x.map_or_else(String::new, |x| x.to_string());
        let mut text = String::from("id,arrival_s,a_ttft_s,b_ttft_s,difference_s\n");
        for pair in &self.pairs {
            let cells = [cell(pair.a_s), cell(pair.b_s), cell(pair.difference_s())];
            let _ = writeln!(text, "{},{},{}", pair.id, pair.arrival_s, cells.join(","));
        }
        text
    }
}

fn is_equal(a: &Trace, b: &Trace, id: usize) -> bool {
    let of = |trace: &Trace| {
        let r = trace.request(id);
        (r.arrival_us.to_bits(), r.user, r.adapter, r.input_tokens, r.output_tokens, r.max_tokens)
    };
    of(a) == of(b)
}
