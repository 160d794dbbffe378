//! A measured row as a scenario: what the page opens when a reader wants to drag on from there.

use servescope_cost::{AllToAll, Batch, BatchCost, Chunk};
use servescope_engine::{PoolConfig, SchedulerKind, SglangRules};
use servescope_settings::kernels::KernelEngine;
use servescope_settings::parameters::choices::Choice;
use servescope_settings::scenario::{AdapterRanks, Scenario};

use super::closed_loop::{REQUESTS_PER_SLOT, shortest_of};
use super::file::SiliconRow;
use super::predict::PredictedLatency;
use super::server::{
    BLOCK, Constants, RowServer, accounting, captured_tokens, config, is_asynchronous, margin, server,
};

/// Time for which users go on sending, over the time at which the last request of the row's run is sent: here each user sends
/// its own share of the requests, and some are slower than others.
const SPARE: f64 = 1.1;

/// What is the same for every row.
const COMMON: [(&str, &str); 10] = [
    ("scheduler.kind", "vllm_v1"),
    ("cost.kind", "kernels"),
    ("workload.loop", "closed"),
    ("workload.think.kind", "fixed"),
    ("workload.think.mean_s", "0"),
    ("workload.adapters.count", "0"),
    ("workload.input_tokens.kind", "uniform"),
    ("workload.output_tokens.kind", "uniform"),
    ("slo.ttft_s", "6"),
    ("slo.tpot_s", "0.2"),
];

/// The settings that the scenarios of all rows have in common.
pub(super) fn common() -> Scenario {
    let mut scenario = Scenario::default();
    for (path, text) in COMMON {
        scenario.set_text(path, text).expect("these are settings of the table");
    }
    scenario
}

/// A row's server and closed loop as a scenario: its iterations take exactly the same times, its KV cache has as many blocks, and
/// as many requests of the same lengths are in flight. `None` where a scenario cannot say that: replicas of attention, experts
/// that not all GPUs share alike, pipeline stages, times from the roofline.
pub fn scenario(row: &SiliconRow, answer: &PredictedLatency) -> Option<Scenario> {
    let server = (row.mode == "agg")
        .then(|| server(row, row.layout, AllToAll::AllGather, &Constants::of(row.engine())).ok())??;
    let longest = row.input_tokens.saturating_add(row.output_tokens);
    let wanted = config(row, &server, longest).ok()?;
    let mut scenario = common();
    let settings = server_texts(row, &server, &wanted).into_iter().chain(workload_texts(row, answer)?);
    for (path, text) in settings {
        scenario.set_text(path, &text).ok()?;
    }
    let own = scenario.pool_for(AdapterRanks::default()).ok()?;
    let cost = scenario.replica_cost(AdapterRanks::default()).ok()?;
    let has_rules = match wanted.scheduler {
        // No request has an adapter.
        SchedulerKind::Sglang => {
            own.sglang == SglangRules { max_loras_per_batch: own.sglang.max_loras_per_batch, ..wanted.sglang }
        }
        _ => own.vllm == wanted.vllm && own.max_batch_tokens == wanted.max_batch_tokens,
    };
    // A token more or less is a block of each group.
    let is_alike = own.blocks.abs_diff(wanted.blocks) <= own.kv_groups.count()
        && own.kv_groups == wanted.kv_groups
        && own.max_requests == wanted.max_requests
        && own.scheduler == wanted.scheduler
        && has_rules
        && has_times_of(&*cost, &*server.cost);
    is_alike.then_some(scenario)
}

fn server_texts(row: &SiliconRow, server: &RowServer, config: &PoolConfig) -> Vec<(&'static str, String)> {
    let deployment = &server.deployment;
    let mut texts = vec![
        ("fleet.gpu", deployment.gpu.id.to_owned()),
        ("fleet.model", deployment.model.id.to_owned()),
        ("fleet.tensor_parallel", deployment.tensor_parallel.to_string()),
        ("fleet.pipeline_parallel", deployment.pipeline_parallel.to_string()),
        ("fleet.weights", deployment.weights.name().to_owned()),
        ("cost.kernel_engine", row.engine().name().to_owned()),
        ("fleet.kv_format", deployment.kv.name().to_owned()),
        ("cost.max_cudagraph_capture_size", captured_tokens(row).to_string()),
        ("scheduler.max_running_requests", config.max_requests.to_string()),
        ("scheduler.max_request_tokens", config.max_request_tokens.to_string()),
    ];
    texts.extend(match row.engine() {
        KernelEngine::Sglang => sglang_texts(config),
        KernelEngine::Vllm | KernelEngine::TensorRtLlm => vllm_texts(row, config),
    });
    texts
}

fn vllm_texts(row: &SiliconRow, config: &PoolConfig) -> Vec<(&'static str, String)> {
    // Shares are given with two digits, which their difference from 1 has not.
    let margin = libm::round(1e6 * margin(row)) / 1e6;
    vec![
        ("fleet.memory_margin", margin.to_string()),
        ("fleet.vllm_version", accounting(row).name().to_owned()),
        ("scheduler.block_size", BLOCK.to_string()),
        ("scheduler.async_scheduling", is_asynchronous(row).to_string()),
        ("scheduler.batch_max_tokens", config.max_batch_tokens.to_string()),
        ("scheduler.max_input_tokens", row.input_tokens.to_string()),
    ]
}

fn sglang_texts(config: &PoolConfig) -> Vec<(&'static str, String)> {
    let rules = &config.sglang;
    vec![
        ("scheduler.kind", "sglang".to_owned()),
        ("scheduler.block_size", config.block_size.to_string()),
        ("scheduler.chunked_prefill_size", rules.chunked_prefill_size.unwrap_or(0).to_string()),
        ("scheduler.max_prefill_tokens", rules.max_prefill_tokens.to_string()),
        ("scheduler.recv_interval", rules.recv_interval.to_string()),
        ("scheduler.prefix_cache", "false".to_owned()),
        ("fleet.kv_pool", "given".to_owned()),
        ("scheduler.max_total_tokens", config.blocks.to_string()),
    ]
}

fn workload_texts(row: &SiliconRow, answer: &PredictedLatency) -> Option<Vec<(&'static str, String)>> {
    let in_flight = row.in_flight?;
    Some(vec![
        ("workload.users.count", in_flight.to_string()),
        ("workload.closed.requests", in_flight.saturating_mul(REQUESTS_PER_SLOT).to_string()),
        ("workload.duration_s", (SPARE * answer.sent_s).ceil().max(1.0).to_string()),
        ("workload.input_tokens.low", shortest_of(row, row.input_tokens).to_string()),
        ("workload.input_tokens.high", row.input_tokens.to_string()),
        ("workload.output_tokens.low", shortest_of(row, row.output_tokens).to_string()),
        ("workload.output_tokens.high", row.output_tokens.to_string()),
    ])
}

/// Whether iterations with prompts, with outputs, and with both take the same times under both costs.
fn has_times_of(own: &dyn BatchCost, wanted: &dyn BatchCost) -> bool {
    let chunks = [Chunk { kv_tokens: 100, tokens: 900 }, Chunk { kv_tokens: 0, tokens: 3_000 }];
    let decode = Batch { decodes: 30, decode_kv_tokens: 4e4, ..Batch::default() };
    let prompts = Batch { chunks: &chunks, ..Batch::default() };
    [decode, prompts, Batch { chunks: &chunks, ..decode }].iter().all(|batch| {
        let us = |cost: &dyn BatchCost| cost.stage_time(batch, true).first_us;
        us(own) == us(wanted)
    })
}

#[cfg(test)]
mod tests {
    use servescope_lab::run::Run;

    use super::*;
    use crate::silicon::{predict, read};

    const HEADER: &str = "id,deployment_id,origin,backend,backend_version,mode,system,model_path,gemm_quant_mode,isl,osl,\
        silicon_concurrency,tp_size,moe_tp_size,moe_ep_size,attention_dp_size,ix_kv_cache_dtype,ix_gpu_mem_util,silicon_ttft_ms,silicon_tpot_ms";

    fn row(cells: &str) -> SiliconRow {
        read(&format!("{HEADER}\na,0,inferencex,{cells},1,1\n")).unwrap().remove(0)
    }

    #[test]
    fn a_run_of_the_scenario_has_the_rows_times() {
        for cells in [
            "vllm,0.19.0,agg,h100_sxm,x/Llama-3.1-70B,fp8,1024,256,16,4,,,,fp8,0.92",
            "vllm,0.12.0,agg,h200_sxm,x/Qwen3-32B,,2000,100,8,2,,,,,",
            "vllm,0.15.1,agg,b200_sxm,x/gpt-oss-120b,nvfp4,1024,128,24,2,2,,,fp8,0.9",
            "sglang,0.5.9,agg,h200_sxm,x/Llama-3.1-70B,fp8,1024,256,16,4,,,,,",
            "sglang,0.5.9,agg,b200_sxm,x/Llama-3.1-8B,,1024,256,24,1,,,,,",
        ] {
            let row = row(cells);
            let answer = predict(&row).unwrap();
            let scenario = scenario(&row, &answer).unwrap_or_else(|| panic!("{cells}"));
            let run = Run::simulate(&scenario, None).unwrap();
            let summary = run.summary().run;
            assert_eq!(summary.requests.completed, 10 * u64::from(row.in_flight.unwrap()), "{cells}");
            let constants = Constants::of(row.engine());
            let client_ms =
                constants.client_ms + constants.client_ms_per_token * 0.9 * f64::from(row.input_tokens);
            let ttft_ms = 1e3 * summary.ttft_s.mean.unwrap() + client_ms;
            let tpot_ms = 1e3 * summary.tpot_s.mean.unwrap();
            let (ttft, tpot) = (ttft_ms / answer.ttft_ms - 1.0, tpot_ms / answer.tpot_ms - 1.0);
            assert!(ttft.abs() < 0.1 && tpot.abs() < 0.02, "{cells}: {ttft:+.3} {tpot:+.3}");
        }
    }

    #[test]
    fn what_a_scenario_cannot_say_has_none() {
        for cells in [
            "vllm,0.19.0,agg,b200_sxm,x/MiniMax-M2.5,fp8,1024,64,8,1,1,4,4,,",
            "vllm,0.19.0,agg,a100_pcie,x/Llama-3.1-8B,,1024,64,4,1,,,,,",
        ] {
            let row = row(cells);
            let answer = predict(&row).unwrap_or_else(|why| panic!("{cells}: {why}"));
            assert!(scenario(&row, &answer).is_none(), "{cells}");
        }
    }
}
