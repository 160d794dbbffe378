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

use std::sync::{Arc, LazyLock};

use servescope_engine::metrics::summary::SummaryContext;
use servescope_engine::metrics::token_gaps::InterTokenLatencies;
use servescope_engine::metrics::{Summary, summarise};
use servescope_lab::run::fleet_of;
use servescope_settings::scenario::Scenario;
use servescope_workload::Trace;

use crate::figures_file::{number, rows};
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

/// Every recorded run under first come, first served.
static RECORDED: LazyLock<Vec<PublishedRow>> = LazyLock::new(|| {
    let row = |cells: Vec<&'static str>| PublishedRow {
        suite: cells[0],
        sweep: cells[1],
        adapters: number(cells[2]) as usize,
        alpha: number(cells[3]),
        rate_rps: number(cells[4]),
        cv: number(cells[5]),
        throughput_rps: number(cells[6]),
        e2e_s: number(cells[7]),
        first_token_s: number(cells[8]),
        attainment: number(cells[9]),
    };
    rows(include_str!("published/slora.csv")).map(row).collect()
});

/// Every published row under first come, first served, those of the A100 last.
pub fn recorded() -> &'static [PublishedRow] {
    &RECORDED
}

/// The rows of the suites S1 and S2, on the A10G.
pub fn on_a10g() -> impl Iterator<Item = &'static PublishedRow> {
    recorded().iter().filter(|row| row.suite != "S4")
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
    let tuned = on_a10g().filter(|other| other.sweep == "n" && [1, 20, 200].contains(&other.adapters));
    tuned.into_iter().any(|other| row.is_set_like(other))
}

/// The settings of a row's server, and a workload like the row's: the same distributions, drawn by this simulator's generator.
pub fn scenario_of(row: &PublishedRow, policy: ComparedPolicy) -> Scenario {
    let mut scenario = Scenario::of_version(4);
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
