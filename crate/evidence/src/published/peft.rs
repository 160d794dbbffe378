//! S-LoRA beside a server made of Hugging Face PEFT: table 3 of S-LoRA's paper (Sheng et al., MLSys 2024), Llama-7B with adapters
//! of rank 8 on an A100-80, 10 requests a second for 120 s.
//!
//! S-LoRA's rows are predictions: its scheduler with the roofline of an A100. The other server batches requests of one adapter
//! only. Its kernels and its limit on a batch are not published: it is taken to have static batches, iterations that all take
//! the same time, and a cap, and the two numbers are settled by its two rows, each where it decides. With 100 adapters
//! batches stay below every cap, so that row settles the time; the other one then settles the cap. What is shown is that batches of
//! one adapter explain the rows together, not that either is predicted.

use std::sync::{Arc, LazyLock};

use servescope_engine::metrics::Summary;
use servescope_settings::scenario::Scenario;

use super::numpy::Workload;
use super::{LENGTHS, TOKENIZER_EXTRA, set, simulate_trace};
use crate::figures_file::{number, rows};

/// A server of the comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeftServer {
    /// S-LoRA.
    Slora,
    /// Batches of one adapter on Hugging Face's kernels.
    Peft,
}

impl PeftServer {
    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Slora => "S-LoRA",
            Self::Peft => "PEFT",
        }
    }
}

/// A row of the paper.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ServerRow {
    /// Which server.
    pub server: PeftServer,
    /// How many adapters.
    pub adapters: usize,
    /// Requests a second.
    pub throughput_rps: f64,
}

static RECORDED: LazyLock<Vec<ServerRow>> = LazyLock::new(|| {
    let row = |cells: Vec<&str>| ServerRow {
        server: if cells[0] == "peft" { PeftServer::Peft } else { PeftServer::Slora },
        adapters: number(cells[1]) as usize,
        throughput_rps: number(cells[2]),
    };
    rows(include_str!("peft.csv")).map(row).collect()
});

/// The paper's rows, S-LoRA's first.
pub fn recorded() -> &'static [ServerRow] {
    &RECORDED
}

/// Bound on the relative error of throughput.
pub const BOUND: f64 = 0.25;

/// An iteration on Hugging Face's kernels, milliseconds, settled by the row of 100 adapters.
pub const ITERATION_MS: f64 = 98.1;

/// Most requests in a batch of one adapter, settled by the row of 5 adapters.
pub const MOST_IN_BATCH: u32 = 47;

/// A row beside this simulator's answer.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerComparison {
    /// The row.
    pub row: ServerRow,
    /// The same run here.
    pub ours: Summary,
}

impl ServerComparison {
    /// (ours - published) / published.
    pub fn throughput_error(&self) -> f64 {
        self.ours.throughput_rps.unwrap_or(0.0) / self.row.throughput_rps - 1.0
    }

    /// Whether it is within its bound.
    pub fn is_within(&self) -> bool {
        self.throughput_error().abs() <= BOUND
    }
}

/// Simulates a row.
pub fn compare(row: &ServerRow) -> ServerComparison {
    ServerComparison { row: *row, ours: simulate(row, ITERATION_MS, MOST_IN_BATCH) }
}

/// Whether rows come in the order of the paper's.
pub fn is_in_order(comparisons: &[ServerComparison]) -> bool {
    let ours = |c: &ServerComparison| c.ours.throughput_rps.unwrap_or(0.0);
    comparisons.iter().all(|one| {
        let below = comparisons.iter().filter(|other| other.row.throughput_rps < one.row.throughput_rps);
        below.into_iter().all(|other| ours(other) < ours(one))
    })
}

fn simulate(row: &ServerRow, iteration_ms: f64, most_in_batch: u32) -> Summary {
    let rate_rps = 10.0;
    let workload = Workload {
        adapters: row.adapters,
        alpha: 1.0,
        rate_rps,
        cv: 1.0,
        duration_s: 120.0,
        lengths: LENGTHS,
    };
    let mut trace = workload.draw(42);
    trace.input_tokens.iter_mut().for_each(|tokens| *tokens += TOKENIZER_EXTRA);
    trace.adapter_rank = vec![8; row.adapters];
    let mut scenario = Scenario::of_version(4);
    let (iteration_ms, most) = (iteration_ms.to_string(), most_in_batch.to_string());
    let settings: &[(&str, &str)] = match row.server {
        PeftServer::Slora => {
            &[("cost.kind", "roofline"), ("fleet.gpu", "a100_80_sxm"), ("fleet.model", "llama-2-7b")]
        }
        // Every iteration takes the same time, those of prompts, too; memory never decides.
        PeftServer::Peft => &[
            ("scheduler.kind", "static"),
            ("scheduler.max_running_requests", &most),
            ("scheduler.max_total_tokens", "1000000"),
            ("adapters.memory", "slots"),
            ("adapters.max_loras", "1"),
            ("cost.linear.prefill_base_ms", &iteration_ms),
            ("cost.linear.prefill_per_token_ms", "0"),
            ("cost.linear.decode_base_ms", &iteration_ms),
            ("cost.linear.decode_per_request_ms", "0"),
            ("cost.linear.decode_per_kv_token_ms", "0"),
            ("cost.linear.overhead_ms", "0"),
            ("cost.adapters.load_base_ms", "0"),
            ("cost.adapters.load_per_rank_ms", "0"),
            ("cost.adapters.decode_per_rank_ms", "0"),
            ("cost.adapters.decode_active_ms", "0"),
            ("cost.adapters.prefill_factor", "1"),
        ],
    };
    settings.iter().for_each(|(path, text)| set(&mut scenario, path, text));
    simulate_trace(Arc::new(trace), rate_rps, &scenario)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn throughput(row: &ServerRow, iteration_ms: f64, most: u32) -> f64 {
        simulate(row, iteration_ms, most).throughput_rps.unwrap_or(0.0)
    }

    #[test]
    fn the_settled_numbers_are_what_their_rows_say() {
        let [.., few, many] = recorded() else { panic!("two rows of the other server") };
        let is_slow = |ms: f64| throughput(many, ms, 1_000) < many.throughput_rps;
        let (below, above) = (ITERATION_MS - 0.2, ITERATION_MS + 0.2);
        assert!(
            !is_slow(below) && is_slow(above),
            "{:?}",
            [below, above].map(|ms| throughput(many, ms, 1_000))
        );
        let error = |most| (throughput(few, ITERATION_MS, most) / few.throughput_rps - 1.0).abs();
        let around = [MOST_IN_BATCH - 1, MOST_IN_BATCH, MOST_IN_BATCH + 1].map(error);
        assert!(around[1] <= around[0] && around[1] <= around[2], "{around:?}");
    }

    #[test]
    fn no_cap_decides_with_many_adapters() {
        let many = &recorded()[5];
        assert_eq!(throughput(many, ITERATION_MS, MOST_IN_BATCH), throughput(many, ITERATION_MS, 1_000));
    }
}
