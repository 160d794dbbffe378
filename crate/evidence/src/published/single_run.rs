//! Prediction: each GPU calibrated on one run of its server and one row for what its adapters cost, everything else predicted.
//!
//! What an iteration takes comes from profiles, not from runs of the server: VTC's authors' of the A10G, DistServe's of the
//! A100 (see [`servescope_cost::calibration`]). A profile knows nothing of Python around it nor of adapters, so two numbers
//! are settled, each where it alone decides: [`SingleRunCalibration::overhead_ms`] by the throughput of one recording of VTC's
//! artifact, which computes no adapters, and [`SingleRunCalibration::load_per_rank_ms`] by the mean latency of one of S-LoRA's
//! rows. Adapters are taken to cost their loading and nothing else.
//!
//! Rows of suite S4: recorded on an A100-80 with Llama-13B and 400 adapters.

use servescope_engine::metrics::Summary;
use servescope_settings::scenario::Scenario;

use super::policies::{ComparedPolicy, PolicyComparison, PolicyRow, is_above};
use super::{PublishedRow, recorded, scenario_of, set, simulate};

/// A GPU's two settled numbers, and where they come from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SingleRunCalibration {
    /// GPU and model of the rows.
    pub title: &'static str,
    /// The profile: a value of `cost.calibration`.
    pub calibration: &'static str,
    /// The recording that settles the overhead.
    pub recording: &'static str,
    /// Added to each decode iteration, milliseconds.
    pub overhead_ms: f64,
    /// Suite, number of adapters, rate and cv of the row that settles the loading.
    pub row: (&'static str, &'static str, usize, f64, f64),
    /// Loading an adapter, for each unit of its rank, milliseconds.
    pub load_per_rank_ms: f64,
}

/// The A10G with Llama-7B, and the A100-80 with Llama-13B, whose profile is of OPT-13B.
pub static ONE_RUN: [SingleRunCalibration; 2] = [
    SingleRunCalibration {
        title: "A10G, Llama-7B",
        calibration: "a10g-llama-7b",
        recording: "vtc__FCFS__overload.csv",
        overhead_ms: 4.3,
        row: ("S2", "n", 200, 2.0, 1.0),
        load_per_rank_ms: 2.17,
    },
    SingleRunCalibration {
        title: "A100-80, Llama-13B",
        calibration: "a100-80-opt-13b",
        recording: "vtc__sec6.4__35000__VTC-512__overload-s4.csv",
        overhead_ms: 1.6,
        row: ("S4", "cv", 400, 6.0, 1.0),
        load_per_rank_ms: 2.83,
    },
];

/// Bounds on the relative error of throughput and on the error of attainment.
pub const THROUGHPUT_BOUND: f64 = 0.10;
/// See [`THROUGHPUT_BOUND`].
pub const ATTAINMENT_BOUND: f64 = 0.10;

impl SingleRunCalibration {
    /// The one of a suite's GPU.
    pub fn of(suite: &str) -> &'static Self {
        &ONE_RUN[usize::from(suite == "S4")]
    }

    /// The row that settled the loading.
    pub fn settling(&self) -> &'static PublishedRow {
        let is_it =
            |row: &&PublishedRow| (row.suite, row.sweep, row.adapters, row.rate_rps, row.cv) == self.row;
        recorded().iter().find(is_it).expect("the row is one of the table's")
    }

    /// A row with this calibration.
    pub fn scenario(&self, row: &PublishedRow, policy: ComparedPolicy) -> Scenario {
        self.loading(row, policy, self.load_per_rank_ms)
    }

    fn loading(&self, row: &PublishedRow, policy: ComparedPolicy, load_per_rank_ms: f64) -> Scenario {
        let mut scenario = scenario_of(row, policy);
        for (path, text) in [
            ("cost.calibration", self.calibration),
            ("cost.linear.overhead_ms", &self.overhead_ms.to_string()),
            ("cost.adapters.load_base_ms", "0"),
            ("cost.adapters.load_per_rank_ms", &load_per_rank_ms.to_string()),
            ("cost.adapters.decode_per_rank_ms", "0"),
            ("cost.adapters.decode_active_ms", "0"),
            ("cost.adapters.prefill_factor", "1"),
        ] {
            set(&mut scenario, path, text);
        }
        scenario
    }
}

/// Where a predicate that holds below ends, to a hundredth.
pub(super) fn bisect((mut low, mut high): (f64, f64), holds: impl Fn(f64) -> bool) -> f64 {
    while high - low > 0.01 {
        let middle = 0.5 * (low + high);
        if holds(middle) { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// A row under the calibration on one run.
#[derive(Debug, Clone, PartialEq)]
pub struct OneRunPrediction {
    /// The recorded row; of a policy's row, throughput and times are not set.
    pub row: PublishedRow,
    /// Its policy.
    pub policy: ComparedPolicy,
    /// The prediction.
    pub ours: Summary,
}

impl OneRunPrediction {
    /// (ours - recorded) / recorded; `None` where only attainment is compared.
    pub fn throughput_error(&self) -> Option<f64> {
        let ours = self.ours.throughput_rps.unwrap_or(0.0);
        (self.policy == ComparedPolicy::Fcfs).then(|| ours / self.row.throughput_rps - 1.0)
    }

    /// Ours - recorded.
    pub fn attainment_error(&self) -> f64 {
        self.ours.slo.attainment.unwrap_or(0.0) - self.row.attainment
    }

    /// Whether its errors are within their bounds.
    pub fn is_within(&self) -> bool {
        self.throughput_error().is_none_or(|e| e.abs() <= THROUGHPUT_BOUND)
            && self.attainment_error().abs() <= ATTAINMENT_BOUND
    }

    /// Whether it has the setting that settled the calibration.
    pub fn is_settling(&self) -> bool {
        self.policy == ComparedPolicy::Fcfs
            && self.row.is_set_like(SingleRunCalibration::of(self.row.suite).settling())
    }
}

/// Predicts a row.
pub fn predict(row: &PublishedRow) -> OneRunPrediction {
    predicted(row, ComparedPolicy::Fcfs)
}

/// Predicts a row of a policy.
pub fn predict_policy(row: &PolicyRow) -> OneRunPrediction {
    let setting = PublishedRow { attainment: row.attainment, ..row.setting() };
    predicted(&setting, row.policy)
}

fn predicted(row: &PublishedRow, policy: ComparedPolicy) -> OneRunPrediction {
    let ours = simulate(row, &SingleRunCalibration::of(row.suite).scenario(row, policy));
    OneRunPrediction { row: *row, policy, ours }
}

/// Whether S-LoRA's policies come in the recorded order at every cv of the suites among these.
pub fn is_in_order(predictions: &[OneRunPrediction]) -> bool {
    let mut fcfs = Vec::new();
    let mut others = Vec::new();
    for p in predictions.iter().filter(|p| p.row.sweep == "cv") {
        let (suite, cv, ours) = (p.row.suite, p.row.cv, p.ours.clone());
        if p.policy == ComparedPolicy::Fcfs {
            fcfs.push((suite, cv, ours.slo.attainment.unwrap_or(0.0)));
        } else {
            let row = PolicyRow { suite, policy: p.policy, cv, attainment: p.row.attainment, rejected: 0 };
            others.push(PolicyComparison { row, ours });
        }
    }
    is_above(&fcfs, &others)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The loading at which the settling row has its recorded mean latency, by bisection.
    fn settled_loading(one: &SingleRunCalibration) -> f64 {
        let row = one.settling();
        let latency =
            |ms| simulate(row, &one.loading(row, ComparedPolicy::Fcfs, ms)).e2e_s.mean.unwrap_or(0.0);
        bisect((0.0, 10.0), |ms| latency(ms) < row.e2e_s)
    }

    #[test]
    fn the_settled_loading_is_what_its_row_says() {
        for one in &ONE_RUN {
            let settled = settled_loading(one);
            assert!((settled - one.load_per_rank_ms).abs() < 0.03, "{}: {settled}", one.title);
        }
    }
}
