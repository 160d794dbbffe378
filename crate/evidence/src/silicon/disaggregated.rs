//! A disaggregated deployment: its prefill and its decode servers as pools of a fleet, with vLLM's scheduler and its NIXL connector,
//! whatever its engine is; iteration times are its engine's own.

use std::sync::Arc;

use servescope_cost::gpus::Gpu;
use servescope_cost::kernels::Overheads;
use servescope_cost::memory_plan::kv_token_bytes;
use servescope_cost::{AllToAll, Deployment};
use servescope_engine::{
    DataParallel, Disaggregation, Fleet, FleetConfig, KvRole, KvTransfer, Lockstep, Pool, PoolConfig,
    RankChoice, Report, RouterKind,
};

use super::closed_loop::requests;
use super::file::{SiliconRow, WorkerLayout};
use super::server::{BLOCK, Constants, NotAnswered, RowServer, TimeSource, server, vllm_config};

/// From the beginning of a pull to its first byte, microseconds: fitted to Mooncake's table of transfers.
const BASE_US: f64 = 390.0;
/// From the answer of the prefill server to the request at the decode server, microseconds.
const ROUTE_US: f64 = 500.0;
/// A GPU's part of the network, GB/s: one link of 400 Gbit/s.
const NETWORK_GB_PER_S: f64 = 50.0;
/// The same where NVLink joins the GPUs of a rack, in one direction.
const RACK_GB_PER_S: f64 = 450.0;
/// GPUs that NVLink joins in a rack.
const RACK_GPUS: u32 = 72;

/// Runs a row.
pub(super) fn run(
    row: &SiliconRow,
    in_flight: u32,
    constants: &Constants,
) -> Result<(Report, TimeSource), NotAnswered> {
    let [prefill, decode] = row.workers;
    let counts = prefill.count.zip(decode.count).ok_or(NotAnswered::Workers)?;
    let [(producers, first), (consumers, second)] = [
        pool(row, (counts.0, prefill.layout), KvRole::Producer, constants)?,
        pool(row, (counts.1, decode.layout), KvRole::Consumer, constants)?,
    ];
    let rules = FleetConfig {
        router: RouterKind::LeastOutstanding,
        disaggregation: Some(Disaggregation {
            prefill_router: RouterKind::LeastOutstanding,
            route_us: ROUTE_US,
            base_us: BASE_US,
            ..Disaggregation::FREE
        }),
        ..FleetConfig::default()
    };
    let trace = Arc::new(requests(row, in_flight));
    let times = if first == second { first } else { worse(first, second) };
    Ok((Fleet::new(trace, rules, vec![producers, consumers]).run(), times))
}

/// The less certain of two sources.
fn worse(one: TimeSource, other: TimeSource) -> TimeSource {
    let is_either = |source| one == source || other == source;
    if is_either(TimeSource::Roofline) { TimeSource::Roofline } else { TimeSource::Interpolated }
}

/// The servers of one side. Replicas of attention that share experts run every pass together.
fn pool(
    row: &SiliconRow,
    (count, layout): (u32, WorkerLayout),
    role: KvRole,
    constants: &Constants,
) -> Result<(Pool, TimeSource), NotAnswered> {
    let all_to_all = match role {
        KvRole::Producer => AllToAll::DeepEpHighThroughput,
        KvRole::Consumer => AllToAll::DeepEpLowLatency,
    };
    // A request joins the batch of SGLang's and TensorRT-LLM's decode servers without a pass over its prompt, and decodes.
    let overheads = Overheads { one_token_decodes: true, ..constants.overheads };
    let server = server(row, layout, all_to_all, &Constants { overheads, ..*constants })?;
    let longest = row.input_tokens.saturating_add(row.output_tokens);
    let ranks = server.attention_data_parallel;
    let has_experts = server.deployment.model.experts.is_some();
    let config = PoolConfig {
        replicas: count,
        data_parallel: DataParallel {
            ranks,
            lockstep: (ranks > 1 && has_experts).then_some(Lockstep { sync_interval: 32, rearranging: None }),
            choice: RankChoice::External,
            front_ends: 1,
        },
        kv_transfer: Some(KvTransfer { role, block_us: block_us(&server) }),
        ..vllm_config(row, &server, longest)?
    };
    let times = server.times;
    Ok((Pool::new(config, server.cost), times))
}

/// How long the link of a server takes for a KV block: each GPU sends its own part.
fn block_us(server: &RowServer) -> f64 {
    let Deployment { gpu: Gpu { gpus_per_node, .. }, .. } = server.deployment;
    let gb_per_s = if gpus_per_node >= RACK_GPUS { RACK_GB_PER_S } else { NETWORK_GB_PER_S };
    kv_token_bytes(&server.deployment) * f64::from(BLOCK) / (gb_per_s * 1e3)
}

#[cfg(test)]
mod tests {
    use crate::silicon::{Predicted, predict, read};

    const HEADER: &str = "id,deployment_id,origin,backend,mode,system,model_path,gemm_quant_mode,isl,osl,silicon_concurrency,tp_size,\
        prefill_num_workers,prefill_tp_size,decode_num_workers,decode_tp_size,decode_attention_dp_size,decode_moe_ep_size,silicon_ttft_ms,silicon_tpot_ms";

    fn answer(cells: &str) -> Predicted {
        predict(&read(&format!("{HEADER}\na,0,inferencex,{cells},1,1\n")).unwrap().remove(0))
    }

    /// No prompt disturbs what decodes, and the second prefill server halves the wait for the first.
    #[test]
    fn prompts_and_answers_are_computed_apart() {
        let dense = "h100_sxm,x/Qwen3-32B,fp8,4000,200,16";
        let together = answer(&format!("vllm,agg,{dense},2,,,,,,")).unwrap();
        let one = answer(&format!("vllm,disagg,{dense},,1,2,1,2,,")).unwrap();
        let two = answer(&format!("vllm,disagg,{dense},,2,2,1,2,,")).unwrap();
        assert!(one.tpot_ms < 0.8 * together.tpot_ms, "{one:?} {together:?}");
        assert!(two.ttft_ms < 0.7 * one.ttft_ms, "{two:?} {one:?}");
        assert!(
            !one.is_borrowed && answer(&format!("sglang,disagg,{dense},,1,2,1,2,,")).unwrap().is_borrowed
        );
    }

    /// Eight ranks of decode, which share experts, have an eighth of the requests each.
    #[test]
    fn ranks_share_the_requests() {
        let of = |count: &str, ranks: u32| {
            let cells = format!("h200_sxm,x/DeepSeek-V3,fp8_block,500,60,64,,1,8,{count},1,{ranks},{ranks}");
            answer(&format!("trtllm,disagg,{cells}"))
        };
        let answer = of("1", 8).unwrap();
        assert!(answer.ttft_ms > 0.0 && answer.tpot_ms < 60.0, "{answer:?}");
        assert_eq!(of("", 8).unwrap_err().to_string(), "numbers of prefill and decode workers not given");
    }
}
