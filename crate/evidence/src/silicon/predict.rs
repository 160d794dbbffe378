//! A row run as it was measured: a closed loop, all requests created at time 0, means over all of them.

use std::sync::Arc;

use servescope_cost::AllToAll;
use servescope_engine::{Fleet, Report};
use servescope_settings::kernels::KernelEngine;

use super::closed_loop::{mean_length, requests};
use super::disaggregated;
use super::file::SiliconRow;
use super::server::{Constants, NotAnswered, TimeSource, config, server};

/// What is predicted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PredictedLatency {
    /// Mean TTFT, milliseconds.
    pub ttft_ms: f64,
    /// Mean TPOT, milliseconds.
    pub tpot_ms: f64,
    /// Where iteration times come from.
    pub times: TimeSource,
    /// When the last request was sent, seconds after the first ones.
    pub sent_s: f64,
    /// Whether the scheduler is vLLM's, though the row's engine is another one.
    pub is_borrowed: bool,
}

/// A row's prediction.
pub type Predicted = Result<PredictedLatency, NotAnswered>;

/// Mean TTFT and TPOT over all requests, milliseconds: TPOT of each is (E2E time - TTFT) / (output - 1).
fn means(report: &Report) -> Option<[f64; 2]> {
    let (mut ttft_us, mut tpot_us) = (0.0, 0.0);
    for id in 0..report.results.len() {
        let (ttft, e2e) = (report.ttft_us(id)?, report.e2e_us(id)?);
        ttft_us += ttft;
        tpot_us += (e2e - ttft) / f64::from(report.trace.output_tokens[id].max(2) - 1);
    }
    let count = 1e3 * report.results.len() as f64;
    Some([ttft_us / count, tpot_us / count]).filter(|means| means.iter().all(|ms| ms.is_finite()))
}

/// Runs a row as it was measured.
///
/// # Errors
/// [`NotAnswered`] says why it cannot be run.
pub fn predict(row: &SiliconRow) -> Predicted {
    predict_with(row, &Constants::of(row.engine()))
}

/// The same with constants of one's own.
///
/// # Errors
/// [`NotAnswered`] says why it cannot be run.
pub fn predict_with(row: &SiliconRow, constants: &Constants) -> Predicted {
    let in_flight = row.in_flight.ok_or(NotAnswered::InFlight)?;
    let (report, times) = match row.mode.as_str() {
        "agg" => aggregated(row, in_flight, constants)?,
        "disagg" => disaggregated::run(row, in_flight, constants)?,
        _ => return Err(NotAnswered::Mode),
    };
    let count = report.results.len();
    if !(0..count).all(|id| report.is_completed(id)) {
        return Err(NotAnswered::Incomplete);
    }
    let [ttft_ms, tpot_ms] = means(&report).ok_or(NotAnswered::Incomplete)?;
    let client_ms = match (times, row.engine()) {
        (TimeSource::Roofline, KernelEngine::Vllm) => 0.0,
        _ => constants.client_ms + constants.client_ms_per_token * mean_length(row),
    };
    let sent_us = report.trace.arrival_us.iter().copied().fold(0.0, f64::max);
    Ok(PredictedLatency {
        ttft_ms: ttft_ms + client_ms,
        tpot_ms,
        times,
        sent_s: sent_us / 1e6,
        is_borrowed: row.engine() == KernelEngine::TensorRtLlm
            || (row.engine() == KernelEngine::Sglang && row.mode == "disagg"),
    })
}

/// One server for whole requests. Replicas of attention have equal shares of the requests, and their iterations wait for one another.
fn aggregated(
    row: &SiliconRow,
    in_flight: u32,
    constants: &Constants,
) -> Result<(Report, TimeSource), NotAnswered> {
    let server = server(row, row.layout, AllToAll::AllGather, constants)?;
    let longest = row.input_tokens.saturating_add(row.output_tokens);
    let config = config(row, &server, longest)?;
    let trace = Arc::new(requests(row, in_flight.div_ceil(server.attention_data_parallel)));
    Ok((Fleet::of_pool(trace, config, server.cost).run(), server.times))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::silicon::read;

    const HEADER: &str = "id,deployment_id,origin,backend,mode,system,model_path,gemm_quant_mode,isl,osl,silicon_concurrency,tp_size,attention_dp_size,silicon_ttft_ms,silicon_tpot_ms";

    fn row(cells: &str) -> SiliconRow {
        read(&format!("{HEADER}\na,0,{cells},1,1\n")).unwrap().remove(0)
    }

    #[test]
    fn a_closed_loop_keeps_as_many_requests_in_flight_as_were_measured() {
        let row = row("inferencex,vllm,agg,h100_sxm,x/Llama-3.1-8B-Instruct-FP8,fp8,1000,50,7,1,1");
        let (in_flight, server) = (
            row.in_flight.unwrap(),
            server(&row, row.layout, AllToAll::AllGather, &Constants::CALIBRATED).unwrap(),
        );
        let trace = requests(&row, in_flight);
        assert_eq!(trace.len(), 70);
        for (lengths, nominal) in [(&trace.input_tokens, 1000), (&trace.output_tokens, 50)] {
            assert!(lengths.iter().all(|&n| n >= nominal * 4 / 5 && n <= nominal));
            let mean = lengths.iter().map(|&n| f64::from(n)).sum::<f64>() / 70.0;
            assert!((mean / (0.9 * f64::from(nominal)) - 1.0).abs() < 0.03, "{mean}");
        }
        let config = config(&row, &server, 1_050).unwrap();
        let report = Fleet::of_pool(Arc::new(trace), config, server.cost).run();
        let finish = |id: usize| report.results[id].finish_us.unwrap();
        // From the eighth on, each request is sent at the very end of another one.
        let mut ends: Vec<f64> = (0..70).map(finish).collect();
        ends.sort_by(f64::total_cmp);
        let sent = &report.trace.arrival_us;
        assert!(sent[..7].iter().all(|&at| at == 0.0));
        assert_eq!(&sent[7..], &ends[..63]);
    }

    #[test]
    fn what_is_not_known_is_said() {
        let why = |cells: &str| predict(&row(cells)).unwrap_err().to_string();
        let reported = [
            ("inferencex,vllm,agg,h100_sxm,x/unheard-of,fp8,100,10,2,1,1", "model not known"),
            ("inferencex,vllm,agg,abacus,x/Qwen3-32B,fp8,100,10,2,1,1", "GPU not known"),
            (
                "inferencex,vllm,disagg,h100_sxm,x/Qwen3-32B,fp8,100,10,2,1,1",
                "numbers of prefill and decode workers not given",
            ),
            ("inferencex,vllm,both,h100_sxm,x/Qwen3-32B,fp8,100,10,2,1,1", "mode not known"),
            ("inferencex,vllm,agg,h100_sxm,x/Qwen3-32B,fp8,100,10,,1,1", "requests in flight not given"),
            ("inferencex,vllm,agg,h100_sxm,x/Qwen3-32B,fp9,100,10,2,1,1", "weight format fp9 not modelled"),
            ("inferencex,vllm,agg,h100_sxm,x/Qwen3-32B,fp8,100,10,2,7,1", "heads not shared evenly"),
            ("inferencex,vllm,agg,h100_sxm,x/DeepSeek-R1,bf16,100,10,2,1,1", "does not fit in memory"),
        ];
        for (cells, reason) in reported {
            assert_eq!(why(cells), reason, "{cells}");
        }
    }

    #[test]
    fn a_scenario_of_the_deployment_has_the_rows_iteration_times() {
        use servescope_cost::{Batch, BatchCost, Chunk};
        use servescope_settings::scenario::{AdapterRanks, Scenario};
        for (cells, settings) in [
            (
                "x/Llama-3.1-8B,fp8,1000,50,7,2,1",
                &[("fleet.model", "llama-3.1-8b"), ("fleet.weights", "fp8")][..],
            ),
            ("x/gpt-oss-120b,,1000,50,7,2,1", &[("fleet.model", "gpt-oss-120b"), ("fleet.weights", "int4")]),
        ] {
            let mut row = row(&format!("inferencex,vllm,agg,h100_sxm,{cells}"));
            row.layout.expert_tensor_parallel = 2;
            let server = server(&row, row.layout, AllToAll::AllGather, &Constants::CALIBRATED).unwrap();
            let mut scenario = Scenario::of_version(4);
            let common = [
                ("scheduler.kind", "vllm_v1"),
                // Rows without a version are of a vLLM that schedules synchronously.
                ("scheduler.async_scheduling", "false"),
                ("cost.kind", "kernels"),
                ("fleet.gpu", "h100_sxm"),
                ("fleet.tensor_parallel", "2"),
            ];
            for (path, value) in common.iter().chain(settings) {
                scenario.set_text(path, value).unwrap_or_else(|error| panic!("{path}: {error}"));
            }
            let cost = scenario.replica_cost(AdapterRanks::default()).unwrap();
            // Longer and shorter than what CUDA graphs are captured of.
            let chunks = [900, 200].map(|tokens| [Chunk { kv_tokens: 100, tokens }]);
            let decode = Batch { decodes: 30, decode_kv_tokens: 4e4, ..Batch::default() };
            let prompts = chunks.each_ref().map(|chunks| Batch { chunks, ..Batch::default() });
            for batch in [decode, Batch { chunks: &chunks[0], ..decode }, prompts[0], prompts[1]] {
                let us = |cost: &dyn BatchCost| cost.stage_time(&batch, true).first_us;
                assert_eq!(us(&*cost), us(&*server.cost), "{cells}");
            }
        }
    }

    #[test]
    fn engines_have_their_own_kernels_and_scheduler() {
        for (backend, is_borrowed) in [("vllm", false), ("sglang", false), ("trtllm", true)] {
            let cells = format!("inferencex,{backend},agg,h100_sxm,x/Qwen3-32B,fp8,100,10,2,1,1");
            let answer = predict(&row(&cells)).unwrap();
            assert_eq!(answer.is_borrowed, is_borrowed);
            assert!(answer.ttft_ms > answer.tpot_ms && answer.tpot_ms > 1.0);
        }
    }
}
