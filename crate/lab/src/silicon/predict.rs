//! A row run as it was measured: a closed loop, all requests created at time 0, means over all of them.

use std::sync::Arc;

use servescope_cost::memory_plan::{Ask, MemoryPlan};
use servescope_cost::{
    BatchCost, Corrections, Deployment, Gpu, HostTime, KvFormat, Model, Roofline, WeightFormat,
};
use servescope_engine::{Equals, Fleet, FleetConfig, Report, SchedulerKind, VllmRules};
use servescope_workload::stream::Stream;
use servescope_workload::trace::{Chain, NOBODY, Request};
use servescope_workload::{BASE_MODEL, Trace};

use super::file::Row;
use crate::scenario::vllm::serve_defaults;

/// Requests of a run for each one in flight, as InferenceX and AIConfigurator's own client have it.
const REQUESTS_PER_SLOT: u32 = 10;
/// Shortest length as a share of the nominal one, in InferenceX. Clients of other origins are taken to ask for the nominal length.
const SHORTEST_SHARE: f64 = 0.8;
/// Seed of the lengths.
const SEED: u64 = 42;
/// vLLM's `--gpu-memory-utilization` where none is given.
const MEMORY_UTILIZATION: f64 = 0.9;
/// Tokens of a KV block.
const BLOCK: u32 = 16;
/// Host time of the roofline, microseconds: BLIS's fit to vLLM on an H100, as in `cost.host`.
const HOST: HostTime = HostTime { base_us: 126.0, per_request_us: 4.4, launch_per_layer_us: 0.0 };

/// Why a row is not answered.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum NotAnswered {
    /// The model is not in the catalogue.
    #[error("model not known")]
    Model,
    /// The GPU is not in the catalogue.
    #[error("GPU not known")]
    Gpu,
    /// Prompts and outputs on different GPUs.
    #[error("disaggregated serving is not modelled")]
    Disaggregated,
    /// A mode that is neither agg nor disagg.
    #[error("mode not known")]
    Mode,
    /// The file does not tell how many requests were in flight.
    #[error("requests in flight not given")]
    InFlight,
    /// Weights in a format that the model of iteration times does not have.
    #[error("weight format {0} not modelled")]
    Format(String),
    /// Several replicas of attention that share experts.
    #[error("data parallel attention not modelled")]
    DataParallel,
    /// Heads that the GPUs cannot share evenly.
    #[error("heads not shared evenly")]
    Heads,
    /// The model, or its longest request, does not fit.
    #[error("does not fit in memory")]
    Memory,
    /// The run did not end with all requests completed.
    #[error("not all requests completed")]
    Incomplete,
}

/// What is predicted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Answer {
    /// Mean TTFT, milliseconds.
    pub ttft_ms: f64,
    /// Mean TPOT, milliseconds.
    pub tpot_ms: f64,
    /// Whether kernels and scheduler are those of vLLM, though the row's engine is another one.
    pub is_borrowed: bool,
}

/// A row's prediction.
pub type Predicted = Result<Answer, NotAnswered>;

/// The GPU of the catalogue that a system has.
fn gpu(system: &str) -> Option<&'static Gpu> {
    let id = match system {
        "a100_sxm" => "a100_80_sxm",
        "a100_pcie" => "a100_80_pcie",
        "gb200" | "gb200_sxm" => "gb200_nvl72",
        "gb300" | "gb300_sxm" => "gb300_nvl72",
        other => other,
    };
    Gpu::named(id)
}

/// The model of the catalogue that a path on Hugging Face stands for: the same dimensions, whatever it was tuned on.
fn model(path: &str) -> Option<&'static Model> {
    let name = path.rsplit('/').next()?.to_ascii_lowercase();
    let mut name = name.as_str();
    // A suffix may stand behind another one.
    while let Some(shorter) = SUFFIXES.iter().find_map(|suffix| name.strip_suffix(suffix)) {
        name = shorter;
    }
    let id = match name {
        "deepseek-r1" | "deepseek-r1-0528" | "deepseek-v3-0324" => "deepseek-v3",
        // The text model of Kimi-K2.5 is Kimi-K2.
        "kimi-k2.5" | "kimi-k2-thinking" => "kimi-k2",
        "llama-3.3-70b" | "meta-llama-3.1-70b" => "llama-3.1-70b",
        "meta-llama-3.1-8b" => "llama-3.1-8b",
        "meta-llama-3.1-405b" => "llama-3.1-405b",
        other => other,
    };
    Model::named(id)
}

/// What names add that changes no dimension.
const SUFFIXES: [&str; 7] = ["-instruct", "-fp8", "-fp4", "-nvfp4", "-bf16", "-chat", "-hf"];

/// How weights are stored, by the name of a format.
fn weights(format: &str) -> Result<WeightFormat, NotAnswered> {
    match format {
        "" | "bf16" | "bfloat16" => Ok(WeightFormat::Bf16),
        "fp8" | "fp8_block" => Ok(WeightFormat::Fp8),
        "int4_wo" => Ok(WeightFormat::Int4),
        other => Err(NotAnswered::Format(other.to_owned())),
    }
}

/// What a row runs on.
struct Server {
    deployment: Deployment,
    cost: Box<dyn BatchCost>,
}

fn server(row: &Row) -> Result<Server, NotAnswered> {
    match row.mode.as_str() {
        "agg" => {}
        "disagg" => return Err(NotAnswered::Disaggregated),
        _ => return Err(NotAnswered::Mode),
    }
    let gpu = gpu(&row.system).ok_or(NotAnswered::Gpu)?;
    let model = *model(&row.model).ok_or(NotAnswered::Model)?;
    let deployment = Deployment {
        gpu,
        model,
        tensor_parallel: row.tensor_parallel,
        pipeline_parallel: row.pipeline_parallel.min(model.layers),
        weights: weights(&row.gemm_format)?,
        kv: if row.flags.kv_cache_dtype.starts_with("fp8") { KvFormat::Fp8 } else { KvFormat::Bf16 },
    };
    if row.attention_data_parallel > 1 {
        return Err(NotAnswered::DataParallel);
    }
    if model.attention.heads() % row.tensor_parallel != 0 {
        return Err(NotAnswered::Heads);
    }
    let cost = Box::new(Roofline::new(deployment, Corrections::of(gpu.id), HOST));
    Ok(Server { deployment, cost })
}

/// vLLM's scheduler with the flags of a row.
fn config(row: &Row, deployment: &Deployment, longest: u32) -> Result<FleetConfig, NotAnswered> {
    let (budget, seqs) = serve_defaults(deployment.gpu);
    let max_batch_tokens = row.flags.max_batched_tokens.unwrap_or(budget);
    let max_requests = row.flags.max_seqs.unwrap_or(seqs).min(max_batch_tokens);
    let ask = Ask {
        batch_tokens: max_batch_tokens,
        requests: max_requests,
        adapter_ranks: 0,
        margin: 1.0 - row.flags.memory_utilization.unwrap_or(MEMORY_UTILIZATION),
        kv_bytes: 0.0,
    };
    let plan = MemoryPlan::of(deployment, &ask);
    if !plan.fits() || plan.kv_tokens() < longest + BLOCK {
        return Err(NotAnswered::Memory);
    }
    Ok(FleetConfig {
        replicas: 1,
        scheduler: SchedulerKind::VllmV1,
        blocks: plan.kv_tokens() / BLOCK,
        block_size: BLOCK,
        watermark_blocks: 0,
        max_requests,
        max_slots: u32::MAX,
        max_request_tokens: longest.saturating_add(1),
        max_batch_tokens,
        vllm: VllmRules {
            async_scheduling: row.flags.async_scheduling != "off",
            equals: Equals::LastAdmitted,
            ..VllmRules::default()
        },
        ..FleetConfig::default()
    })
}

/// The requests of a run: the first ones start together, and each end lets the next one go.
fn requests(row: &Row, in_flight: u32) -> Trace {
    let count = in_flight.saturating_mul(REQUESTS_PER_SLOT);
    let mut trace = Trace::with_capacity(count as usize);
    let mut chain = Chain { is_shared: true, ..Chain::default() };
    let share = if row.origin == "inferencex" { SHORTEST_SHARE } else { 1.0 };
    let streams = ["silicon_input", "silicon_output"].map(|name| Stream::named(SEED, name));
    let length = |stream: &Stream, place: u32, nominal: u32| {
        let low = ((f64::from(nominal) * share) as u32).clamp(1, nominal);
        let width = f64::from(nominal - low) + 1.0;
        (low + (stream.item(place as usize).uniform() * width) as u32).min(nominal)
    };
    for place in 0..count {
        let output_tokens = length(&streams[1], place, row.output_tokens);
        trace.push(Request {
            arrival_us: 0.0,
            user: 0,
            adapter: BASE_MODEL,
            input_tokens: length(&streams[0], place, row.input_tokens),
            output_tokens,
            max_tokens: output_tokens,
        });
        chain.push(if place < in_flight { NOBODY } else { 0 }, 0.0);
    }
    trace.chain = Some(Box::new(chain));
    trace
}

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
pub fn predict(row: &Row) -> Predicted {
    let server = server(row)?;
    let in_flight = row.in_flight.ok_or(NotAnswered::InFlight)?;
    let longest = row.input_tokens.saturating_add(row.output_tokens);
    let config = config(row, &server.deployment, longest)?;
    let trace = Arc::new(requests(row, in_flight));
    let count = trace.len();
    let report = Fleet::new(trace, config, server.cost).run();
    if report.results.len() != count || !(0..count).all(|id| report.is_completed(id)) {
        return Err(NotAnswered::Incomplete);
    }
    let [ttft_ms, tpot_ms] = means(&report).ok_or(NotAnswered::Incomplete)?;
    Ok(Answer { ttft_ms, tpot_ms, is_borrowed: row.backend != "vllm" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::silicon::read;

    const HEADER: &str = "id,deployment_id,origin,backend,mode,system,model_path,gemm_quant_mode,isl,osl,silicon_concurrency,tp_size,attention_dp_size,silicon_ttft_ms,silicon_tpot_ms";

    fn row(cells: &str) -> Row {
        read(&format!("{HEADER}\na,0,{cells},1,1\n")).unwrap().remove(0)
    }

    #[test]
    fn a_closed_loop_keeps_as_many_requests_in_flight_as_were_measured() {
        let row = row("inferencex,vllm,agg,h100_sxm,x/Llama-3.1-8B-Instruct-FP8,fp8,1000,50,7,1,1");
        let (in_flight, server) = (row.in_flight.unwrap(), server(&row).unwrap());
        let trace = requests(&row, in_flight);
        assert_eq!(trace.len(), 70);
        for (lengths, nominal) in [(&trace.input_tokens, 1000), (&trace.output_tokens, 50)] {
            assert!(lengths.iter().all(|&n| n >= nominal * 4 / 5 && n <= nominal));
            let mean = lengths.iter().map(|&n| f64::from(n)).sum::<f64>() / 70.0;
            assert!((mean / (0.9 * f64::from(nominal)) - 1.0).abs() < 0.03, "{mean}");
        }
        let config = config(&row, &server.deployment, 1_050).unwrap();
        let report = Fleet::new(Arc::new(trace), config, server.cost).run();
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
        let told = [
            ("inferencex,vllm,agg,h100_sxm,x/unheard-of,fp8,100,10,2,1,1", "model not known"),
            ("inferencex,vllm,agg,abacus,x/Qwen3-32B,fp8,100,10,2,1,1", "GPU not known"),
            (
                "inferencex,vllm,disagg,h100_sxm,x/Qwen3-32B,fp8,100,10,2,1,1",
                "disaggregated serving is not modelled",
            ),
            ("inferencex,vllm,both,h100_sxm,x/Qwen3-32B,fp8,100,10,2,1,1", "mode not known"),
            ("inferencex,vllm,agg,h100_sxm,x/Qwen3-32B,fp8,100,10,,1,1", "requests in flight not given"),
            ("inferencex,vllm,agg,h100_sxm,x/Qwen3-32B,fp9,100,10,2,1,1", "weight format fp9 not modelled"),
            ("inferencex,vllm,agg,h100_sxm,x/Qwen3-32B,fp8,100,10,2,7,1", "heads not shared evenly"),
            ("inferencex,vllm,agg,h100_sxm,x/DeepSeek-R1,bf16,100,10,2,1,1", "does not fit in memory"),
        ];
        for (cells, reason) in told {
            assert_eq!(why(cells), reason, "{cells}");
        }
    }

    #[test]
    fn other_engines_borrow_vllms_kernels() {
        for (backend, is_borrowed) in [("vllm", false), ("sglang", true)] {
            let cells = format!("inferencex,{backend},agg,h100_sxm,x/Qwen3-32B,fp8,100,10,2,1,1");
            let answer = predict(&row(&cells)).unwrap();
            assert_eq!(answer.is_borrowed, is_borrowed);
            assert!(answer.ttft_ms > answer.tpot_ms && answer.tpot_ms > 1.0);
        }
    }
}
