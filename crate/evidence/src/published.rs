//! S-LoRA's published A10G results, and the same runs in this simulator.
//!
//! Rows: authors' recorded runs (Sheng et al., MLSys 2024; S-LoRA repository, Apache-2.0), Llama-7B on an A10G, D = 300 s,
//! lengths uniform on [8, 512). The workloads are the authors' own: their generator with its default seed 42, drawn again
//! by [`numpy`]. The default calibration was tuned on seven of these rows, and its
//! overhead settled with all of them in sight (see [`servescope_cost::calibration`]): agreement is not prediction.
//! [`single_run`] has the prediction: a calibration on one run a GPU, and rows of a second one.

pub mod figures;
pub mod numpy;
pub mod peft;
pub mod policies;
pub mod sglang;
pub mod shipped;
pub mod single_run;
pub mod vtc;

use std::sync::Arc;

use servescope_engine::metrics::summary::SummaryContext;
use servescope_engine::metrics::token_gaps::InterTokenLatencies;
use servescope_engine::metrics::{Summary, summarise};
use servescope_lab::run::fleet_of;
use servescope_settings::scenario::Scenario;
use servescope_workload::Trace;

use policies::ComparedPolicy;

/// One published row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PublishedRow {
    /// "S1" (rank 8) or "S2" (ranks 64, 32, 16, 8) with Llama-7B, "S4" (ranks 64, 32, 16) with Llama-13B.
    pub suite: &'static str,
    /// The quantity that its sweep changes.
    pub sweep: &'static str,
    /// Number of adapters.
    pub adapters: usize,
    /// Skew.
    pub alpha: f64,
    /// Rate, requests a second.
    pub rate_rps: f64,
    /// Burstiness.
    pub cv: f64,
    /// Throughput, requests a second.
    pub throughput_rps: f64,
    /// Mean latency, seconds.
    pub e2e_s: f64,
    /// Mean time to first token, seconds.
    pub first_token_s: f64,
    /// Share of requests with a first token within 6 s.
    pub attainment: f64,
}

/// Ranks dealt out in a suite.
pub fn ranks(suite: &str) -> &'static [u32] {
    match suite {
        "S1" => &[8],
        "S2" => &[64, 32, 16, 8],
        _ => &[64, 32, 16],
    }
}

/// Bound on the relative error of throughput.
pub const THROUGHPUT_BOUND: f64 = 0.05;

/// Bound on the error of attainment: twice as wide in the alpha sweep, which comes from backup runs.
pub fn attainment_bound(row: &PublishedRow) -> f64 {
    if row.sweep == "alpha" { 0.10 } else { 0.05 }
}

macro_rules! rows {
    ($(#[$doc:meta])* $name:ident: $($suite:literal $sweep:literal $n:literal $alpha:literal $rate:literal $cv:literal:
       $throughput:literal $e2e:literal $first:literal $attainment:literal;)*) => {
        $(#[$doc])*
        pub static $name: &[PublishedRow] = &[$($crate::published::PublishedRow {
            suite: $suite,
            sweep: $sweep,
            adapters: $n,
            alpha: $alpha,
            rate_rps: $rate,
            cv: $cv,
            throughput_rps: $throughput,
            e2e_s: $e2e,
            first_token_s: $first,
            attainment: $attainment,
        },)*];
    };
}

pub(crate) use rows;

rows! {
    /// Every published row of the suites S1 and S2 under first come, first served.
    ROWS:
    // suite sweep n alpha R cv: throughput, latency, first token, attainment
    "S1" "n" 1 1.0 2.0 1.0: 1.8314 18.051 3.361 0.7150;
    "S1" "n" 20 1.0 2.0 1.0: 1.8118 18.993 4.326 0.6117;
    "S1" "n" 50 1.0 2.0 1.0: 1.7878 20.122 5.362 0.5317;
    "S1" "n" 100 1.0 2.0 1.0: 1.7807 20.834 6.009 0.5167;
    "S1" "n" 200 1.0 2.0 1.0: 1.7753 21.135 6.287 0.5033;
    "S1" "R" 200 1.0 1.0 1.0: 0.9626 11.488 0.280 1.0;
    "S1" "R" 200 1.0 1.5 1.0: 1.3708 13.505 0.368 1.0;
    "S1" "R" 200 1.0 2.0 1.0: 1.7771 20.888 6.077 0.5150;
    "S1" "R" 200 1.0 2.5 1.0: 1.8035 67.559 52.158 0.1147;
    "S1" "cv" 200 1.0 2.0 1.0: 1.7794 20.829 6.064 0.5167;
    "S1" "cv" 200 1.0 2.0 2.0: 1.7867 23.363 8.730 0.4767;
    "S1" "cv" 200 1.0 2.0 4.0: 1.5353 23.601 9.776 0.5617;
    "S1" "cv" 200 1.0 2.0 6.0: 1.4800 30.115 16.191 0.5183;
    "S1" "cv" 200 1.0 2.0 8.0: 1.2427 25.147 11.044 0.4800;
    "S1" "alpha" 200 0.1 2.0 1.0: 1.7972 19.823 4.888 0.5633;
    "S1" "alpha" 200 0.3 2.0 1.0: 1.7813 20.941 5.994 0.5167;
    "S1" "alpha" 200 0.6 2.0 1.0: 1.7678 21.544 6.572 0.4967;
    "S1" "alpha" 200 1.0 2.0 1.0: 1.7669 21.739 6.773 0.4950;
    "S2" "n" 1 1.0 2.0 1.0: 1.7441 24.194 8.164 0.4933;
    "S2" "n" 20 1.0 2.0 1.0: 1.6797 28.592 13.411 0.4450;
    "S2" "n" 50 1.0 2.0 1.0: 1.6064 36.365 21.146 0.3033;
    "S2" "n" 100 1.0 2.0 1.0: 1.5927 38.078 22.877 0.2667;
    "S2" "n" 200 1.0 2.0 1.0: 1.5755 38.805 23.584 0.2717;
    "S2" "R" 200 1.0 1.0 1.0: 0.9614 12.241 0.318 1.0;
    "S2" "R" 200 1.0 1.5 1.0: 1.3638 15.481 1.174 0.9778;
    "S2" "R" 200 1.0 2.0 1.0: 1.5752 38.852 23.629 0.2717;
    "S2" "R" 200 1.0 2.5 1.0: 1.5358 102.929 87.415 0.0547;
    "S2" "cv" 200 1.0 2.0 1.0: 1.5749 38.973 23.744 0.2700;
    "S2" "cv" 200 1.0 2.0 2.0: 1.5722 42.378 27.235 0.2633;
    "S2" "cv" 200 1.0 2.0 4.0: 1.4247 33.053 18.735 0.4333;
    "S2" "cv" 200 1.0 2.0 6.0: 1.3729 39.772 25.435 0.4083;
    "S2" "cv" 200 1.0 2.0 8.0: 1.1899 32.460 17.946 0.3150;
    "S2" "alpha" 200 0.1 2.0 1.0: 1.6291 34.034 17.766 0.3833;
    "S2" "alpha" 200 0.3 2.0 1.0: 1.5724 39.407 23.724 0.2583;
    "S2" "alpha" 200 0.6 2.0 1.0: 1.5294 45.025 29.508 0.2267;
    "S2" "alpha" 200 1.0 2.0 1.0: 1.5445 42.672 27.124 0.2250;
}

/// A published row beside this simulator's answer.
#[derive(Debug, Clone, PartialEq)]
pub struct PublishedComparison {
    /// The published row.
    pub row: PublishedRow,
    /// The same run here.
    pub ours: Summary,
}

impl PublishedComparison {
    /// (ours - published) / published.
    pub fn throughput_error(&self) -> f64 {
        self.ours.throughput_rps.unwrap_or(0.0) / self.row.throughput_rps - 1.0
    }

    /// Ours - published.
    pub fn attainment_error(&self) -> f64 {
        self.ours.slo.attainment.unwrap_or(0.0) - self.row.attainment
    }

    /// Whether both errors are within their bounds.
    pub fn is_within(&self) -> bool {
        self.throughput_error().abs() <= THROUGHPUT_BOUND
            && self.attainment_error().abs() <= attainment_bound(&self.row)
    }
}

/// Tokens that Llama's tokenizer adds to the benchmark's prompts, whose recorded lengths count words: an estimate.
pub const TOKENIZER_EXTRA: u32 = 2;

/// Lengths of prompts and answers: low, and high which is excluded.
const LENGTHS: (u32, u32) = (8, 512);

/// The authors' workload of a row, with prompts as long as the server saw them.
pub fn trace_of(row: &PublishedRow) -> Trace {
    let workload = numpy::Workload {
        adapters: row.adapters,
        alpha: row.alpha,
        rate_rps: row.rate_rps,
        cv: row.cv,
        duration_s: 300.0,
        lengths: LENGTHS,
    };
    let mut trace = workload.draw(42);
    trace.input_tokens.iter_mut().for_each(|tokens| *tokens += TOKENIZER_EXTRA);
    trace.adapter_rank = ranks(row.suite).iter().copied().cycle().take(row.adapters).collect();
    trace
}

impl PublishedRow {
    /// Whether it has the same setting as another one: settings were recorded in several sweeps.
    pub fn is_set_like(&self, other: &Self) -> bool {
        let setting = |row: &Self| (row.suite, row.adapters, row.alpha, row.rate_rps, row.cv);
        setting(self) == setting(other)
    }
}

/// Whether the default calibration was tuned on a row's setting: with adapters, those of the sweep over n at 1, 20 and 200.
pub fn is_tuned(row: &PublishedRow) -> bool {
    let tuned = ROWS.iter().filter(|other| other.sweep == "n" && [1, 20, 200].contains(&other.adapters));
    tuned.into_iter().any(|other| row.is_set_like(other))
}

/// The settings of a row's server, and a workload like the row's: the same distributions, drawn by this simulator's generator.
pub fn scenario_of(row: &PublishedRow, policy: ComparedPolicy) -> Scenario {
    let mut scenario = Scenario::default();
    let (low, high) = LENGTHS;
    // What a generator that leaves its upper bound out draws, and the tokenizer's addition.
    let (shortest, longest) = (low + TOKENIZER_EXTRA, high - 1 + TOKENIZER_EXTRA);
    let ranks: Vec<String> = ranks(row.suite).iter().map(ToString::to_string).collect();
    for (path, text) in [
        ("workload.rate_rps", row.rate_rps.to_string()),
        ("workload.arrivals.cv", row.cv.to_string()),
        ("workload.adapters.alpha", row.alpha.to_string()),
        ("workload.adapters.count", row.adapters.to_string()),
        ("workload.adapters.ranks", ranks.join(",")),
        ("workload.input_tokens.low", shortest.to_string()),
        ("workload.input_tokens.high", longest.to_string()),
        ("scheduler.order", policy.choice().to_owned()),
    ] {
        set(&mut scenario, path, &text);
    }
    scenario
}

/// Sets what is known to be a parameter and within its bounds.
pub(crate) fn set(scenario: &mut Scenario, path: &str, text: &str) {
    scenario.set_text(path, text).unwrap_or_else(|error| panic!("{path} = {text}: {error:?}"));
}

/// Simulates the authors' workload of a row with the server of a scenario.
pub fn simulate(row: &PublishedRow, scenario: &Scenario) -> Summary {
    simulate_trace(Arc::new(trace_of(row)), row.rate_rps, scenario)
}

fn simulate_trace(trace: Arc<Trace>, rate_rps: f64, scenario: &Scenario) -> Summary {
    let fleet = fleet_of(scenario, trace).unwrap_or_else(|error| panic!("a published server: {error:?}"));
    let report = fleet.run();
    let context =
        SummaryContext { slo: scenario.slo(), rate_rps: Some(rate_rps), flops: None, table_rows: 0 };
    summarise(&report, &InterTokenLatencies::of(&report.timeline), &context)
}

/// Simulates a row with the default calibration.
pub fn compare(row: &PublishedRow) -> PublishedComparison {
    PublishedComparison { row: *row, ours: simulate(row, &scenario_of(row, ComparedPolicy::Fcfs)) }
}
