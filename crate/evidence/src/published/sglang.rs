//! SGLang with as many adapters as slots, and with twice as many: a measured run of sgl-project/sglang pull request 13349
//! (November 2025): Llama-3.1-8B, tensor parallel 2 on H100, 8 adapters in a batch at most, 100 requests at 4 a second with prompts
//! of up to 4,096 and outputs of up to 2,048 tokens.
//!
//! SGLang's scheduler stops at the first waiting request whose adapter would be one too many, and admits none until a request
//! ends (`get_new_batch_prefill` in python/sglang/srt/managers/scheduler.py). Servescope has two rules beside that one: vLLM v1
//! passes such a request over and admits those behind it; in S-LoRA, whose queue no request overtakes, all wait behind it. With
//! adapters for which there are slots the rules do not matter; with more of them the measured median lies between theirs.

use std::sync::LazyLock;

use servescope_engine::metrics::Summary;
use servescope_lab::run::SimulationHandle;
use servescope_settings::scenario::Scenario;

use super::set;
use crate::figures_file::{number, rows};

/// A measured row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SlotRow {
    /// How many adapters.
    pub adapters: u32,
    /// Median time to first token, seconds.
    pub first_token_s: f64,
}

static RECORDED: LazyLock<Vec<SlotRow>> = LazyLock::new(|| {
    let row =
        |cells: Vec<&str>| SlotRow { adapters: number(cells[0]) as u32, first_token_s: number(cells[1]) };
    rows(include_str!("sglang.csv")).map(row).collect()
});

/// The measured rows.
pub fn recorded() -> &'static [SlotRow] {
    &RECORDED
}

/// How many adapters may be in a batch.
pub const SLOTS: u32 = 8;

/// How far the median may be off where every adapter has a slot: the roofline knows nothing of SGLang's Python.
pub const BOUND: f64 = 0.5;

/// What becomes of a waiting request whose adapter has no slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlotRule {
    /// Those behind it are admitted (vLLM v1).
    PassedOver,
    /// Those behind it wait, too (S-LoRA's queue).
    Blocks,
}

/// A row beside this simulator's answers under both rules.
#[derive(Debug, Clone, PartialEq)]
pub struct SlotComparison {
    /// The row.
    pub row: SlotRow,
    /// Where the request is passed over.
    pub passed_over: Summary,
    /// Where it blocks the queue.
    pub blocks: Summary,
}

impl SlotComparison {
    /// Whether the median of vLLM v1's rule is near where every adapter has a slot, and otherwise whether the measured median
    /// lies between those of the two rules.
    pub fn is_explained(&self) -> bool {
        let [passed_over, blocks] =
            [&self.passed_over, &self.blocks].map(|summary| summary.ttft_s.p50.unwrap_or(f64::NAN));
        if self.row.adapters <= SLOTS {
            return (passed_over / self.row.first_token_s - 1.0).abs() <= BOUND;
        }
        passed_over < self.row.first_token_s && self.row.first_token_s < blocks
    }
}

/// Simulates a row.
pub fn compare(row: &SlotRow) -> SlotComparison {
    let ours = |rule| simulate(&scenario_of(row, rule));
    SlotComparison { row: *row, passed_over: ours(SlotRule::PassedOver), blocks: ours(SlotRule::Blocks) }
}

/// The settings of a row's server, and a workload like the row's: `bench_serving` draws lengths uniformly.
pub fn scenario_of(row: &SlotRow, rule: SlotRule) -> Scenario {
    let mut scenario = Scenario::of_version(4);
    let kind = match rule {
        SlotRule::PassedOver => "vllm_v1",
        SlotRule::Blocks => "slora",
    };
    for (path, text) in [
        ("scheduler.kind", kind),
        ("scheduler.max_request_tokens", "8192"),
        ("cost.kind", "roofline"),
        ("fleet.gpu", "h100_sxm"),
        ("fleet.model", "llama-3.1-8b"),
        ("fleet.tensor_parallel", "2"),
        ("workload.rate_rps", "4"),
        ("workload.duration_s", "25"),
        ("workload.input_tokens.kind", "uniform"),
        ("workload.input_tokens.low", "1"),
        ("workload.input_tokens.high", "4096"),
        ("workload.output_tokens.kind", "uniform"),
        ("workload.output_tokens.low", "1"),
        ("workload.output_tokens.high", "2048"),
        ("workload.adapters.count", &row.adapters.to_string()),
        ("workload.adapters.ranks", "16"),
        ("adapters.memory", "slots"),
        ("adapters.kernels", "grouped"),
        ("adapters.max_loras", &SLOTS.to_string()),
    ] {
        set(&mut scenario, path, text);
    }
    if rule == SlotRule::Blocks {
        set(&mut scenario, "scheduler.max_input_tokens", "8192");
    }
    scenario
}

fn simulate(scenario: &Scenario) -> Summary {
    let mut running = SimulationHandle::begin(scenario, None)
        .unwrap_or_else(|errors| panic!("a published server: {errors:?}"));
    while running.advance(usize::MAX) < 1.0 {}
    running.finish().summary().run
}
