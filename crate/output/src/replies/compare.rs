//! Two runs of one seed.

use serde::Serialize;
use servescope_lab::compare::decisions::{DecisionDifference, DifferingDecisions};
use servescope_lab::compare::requests::{ComparedRequests, RequestPairs};
use servescope_lab::compare::{ComparedMetrics, Comparison};
use servescope_lab::metric::{Measured, Members, Metric};
use servescope_lab::run::Run;
use servescope_settings::parameters::Id;
use servescope_traces::loaded_trace::LoadedTrace;

use crate::views::paired::ttft_pairs;
use crate::views::{Chart, ViewOptions, build_charts};

/// Charts that are drawn of A and of B on the same axes.
const BOTH: [&str; 2] = ["latency_cdf", "running_waiting"];

/// Two runs with the same seed.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct ComparedPair {
    /// The usual metrics of A.
    pub a: Measured,
    /// Those of B.
    pub b: Measured,
    /// Their requests.
    pub requests: ComparedRequests,
    /// Null where every decision is the same.
    pub first_difference: Option<DifferingDecisions>,
    /// Of a file: batches of its one run, by metric.
    pub one_run: Option<ComparedMetrics>,
    /// Charts of A.
    #[serde(skip_serializing)]
    pub charts_a: Vec<Chart>,
    /// The same of B.
    #[serde(skip_serializing)]
    pub charts_b: Vec<Chart>,
    /// Charts of both.
    #[serde(skip_serializing)]
    pub charts: Vec<Chart>,
}

impl ComparedPair {
    /// Of two runs that kept their decisions; `loaded` is the trace that both play, where there is one.
    pub fn of(a: &Run, b: &Run, loaded: Option<&LoadedTrace>) -> Self {
        let metrics =
            &Metric::usual_of(Members::of(&a.scenario, loaded).or(Members::of(&b.scenario, loaded)));
        let pairs = RequestPairs::of(a, b);
        let seed = a.scenario.number(Id::Seed) as u64;
        let charts_of = |run| build_charts(run, &ViewOptions::default(), &|name| BOTH.contains(&name));
        Self {
            a: Measured::of(a, metrics),
            b: Measured::of(b, metrics),
            requests: pairs.compared(),
            first_difference: DecisionDifference::of(a, b).differing(),
            one_run: loaded.map(|_| Comparison::of_one_run(metrics, seed, a, b).metrics()),
            charts_a: charts_of(a),
            charts_b: charts_of(b),
            charts: vec![ttft_pairs(&pairs)],
        }
    }
}
