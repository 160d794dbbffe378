//! A row run as it was measured: a closed loop, all requests created at time 0, means over all of them.

use std::sync::Arc;

use serde::Serialize;
use servescope_cost::kernels::{CAPTURED_TOKENS, Kernels, Layout, NumberFormat, Overheads};
use servescope_cost::kv_groups::KvGroupsPlan;
use servescope_cost::memory_plan::vllm::{Profiled, VllmVersion};
use servescope_cost::memory_plan::{Ask, DrafterMemory, MemoryPlan, Reserve};
use servescope_cost::{
    BatchCost, Corrections, Deployment, HostTime, KvFormat, Model, Roofline, WeightFormat,
};
use servescope_engine::{Equals, Fleet, KvGroups, PoolConfig, Report, SchedulerKind, VllmRules};
use servescope_settings::kernels::{self, CheckpointFormat, Synchronous};
use servescope_settings::scenario::kv_groups::engine_groups;
use servescope_settings::scenario::vllm::serve_defaults;
use servescope_workload::stream::Stream;
use servescope_workload::trace::{ClosedLoop, NO_REQUEST, Request};
use servescope_workload::{BASE_MODEL, Trace};

use super::file::{SiliconRow, gpu};

/// Requests of a run for each one in flight, as InferenceX and AIConfigurator's own client have it.
pub(super) const REQUESTS_PER_SLOT: u32 = 10;
/// Shortest length as a share of the nominal one.
const SHORTEST_SHARE: f64 = 0.8;
/// Seed of the lengths.
const SEED: u64 = 42;
/// vLLM's `--gpu-memory-utilization` where none is given.
const MEMORY_UTILIZATION: f64 = 0.9;
/// vLLM's token budget where none is given: 8192 on an H100 and larger GPUs, in the versions that were measured.
const BUDGET: u32 = 8192;
/// Tokens of a KV block.
pub(super) const BLOCK: u32 = 16;
/// Host time of the roofline, microseconds: BLIS's fit to vLLM on an H100, as in `cost.host`.
const HOST: HostTime = HostTime { base_us: 126.0, per_request_us: 4.4, launch_per_layer_us: 0.0 };

/// Why a row is not answered.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
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
    /// The file does not contain the number of requests in flight.
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

/// Where iteration times come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TimeSource {
    /// Kernels that were timed on this GPU for this layout.
    Kernels,
    /// The same, some of them of related shapes or formats.
    Interpolated,
    /// The roofline.
    Roofline,
}

impl TimeSource {
    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kernels => "measured kernels",
            Self::Interpolated => "measured kernels, some of related shapes",
            Self::Roofline => "roofline",
        }
    }
}

/// What is not measured kernel by kernel.
#[derive(Clone, Copy)]
pub struct Constants {
    /// The kernels of a GPU.
    pub kernels: fn(&str) -> Option<&'static Kernels>,
    /// Around kernels.
    pub overheads: Overheads,
    /// What differs where scheduling is synchronous.
    pub synchronous: Synchronous,
    /// Launching a layer in versions before 0.19 on Blackwell's data centre GPUs, dense or with experts, microseconds.
    pub older_launch_us: f64,
    /// Experts among prompts of versions before 0.19 over those since, 8 bits.
    pub older_experts: f64,
    /// From the client to the scheduler and back, milliseconds of each first token.
    pub client_ms: f64,
    /// The same for each token of the prompt: tokenising and sending it.
    pub client_ms_per_token: f64,
}

impl Constants {
    /// Calibrated on the deployments of even hash.
    pub const CALIBRATED: Self = Self {
        kernels: kernels::kernels,
        overheads: kernels::CALIBRATED,
        synchronous: kernels::SYNCHRONOUS,
        older_launch_us: 1230.0,
        older_experts: 1.65,
        client_ms: 13.2,
        client_ms_per_token: 0.0024,
    };
}

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
    /// Whether kernels and scheduler are those of vLLM, though the row's engine is another one.
    pub is_borrowed: bool,
}

/// A row's prediction.
pub type Predicted = Result<PredictedLatency, NotAnswered>;

/// The model of the catalogue that a path on Hugging Face stands for: the same dimensions, whatever it was tuned on.
pub(crate) fn model(path: &str) -> Option<&'static Model> {
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

/// The ids of the GPU and the model of a row that the catalogue knows.
pub(super) fn deployed(row: &SiliconRow) -> Option<[&'static str; 2]> {
    Some([gpu(&row.system)?.id, model(&row.model)?.id])
}

/// What names add that changes no dimension.
const SUFFIXES: [&str; 7] = ["-instruct", "-fp8", "-fp4", "-nvfp4", "-bf16", "-chat", "-hf"];

/// How weights are stored in memory, of a format of products.
fn weights(format: NumberFormat) -> WeightFormat {
    match format {
        NumberFormat::Bf16 => WeightFormat::Bf16,
        NumberFormat::Fp8 | NumberFormat::Fp8Block => WeightFormat::Fp8,
        NumberFormat::Nvfp4 => WeightFormat::Nvfp4,
        NumberFormat::Mxfp4 | NumberFormat::Mxfp4Fp8 => WeightFormat::Mxfp4,
        NumberFormat::Int4 => WeightFormat::Int4,
    }
}

/// The checkpoint that a row's format of products stands for.
fn checkpoint(row: &SiliconRow, model: &Model) -> Result<CheckpointFormat, NotAnswered> {
    match row.gemm_format.as_str() {
        "" | "bf16" | "bfloat16" => Ok(CheckpointFormat::Bf16),
        "fp8" => Ok(CheckpointFormat::Fp8),
        "fp8_block" => Ok(CheckpointFormat::Fp8Block),
        "nvfp4" => Ok(CheckpointFormat::Nvfp4),
        "int4_wo" => Ok(CheckpointFormat::Int4),
        // Published in one format, whatever the file calls that.
        _ if model.id.starts_with("gpt-oss") => Ok(CheckpointFormat::Int4),
        other => Err(NotAnswered::Format(other.to_owned())),
    }
}

/// Whether the next iteration is scheduled while one runs: as the flag says, by default from vLLM 0.14 on. A version that is no
/// number is newer, one that is not given is older.
pub(super) fn is_asynchronous(row: &SiliconRow) -> bool {
    let mut numbers = row.version.split('.').map(|part| part.parse::<u32>().ok());
    let is_new = match (numbers.next().flatten(), numbers.next().flatten()) {
        (Some(major), Some(minor)) => (major, minor) >= (0, 14),
        _ => !row.version.is_empty(),
    };
    match row.flags.async_scheduling.as_str() {
        "on" => true,
        "off" => false,
        _ => is_new,
    }
}

/// Whether a row's version is below 0.19: one that is not given is older, one that is no number newer.
fn is_before_19(row: &SiliconRow) -> bool {
    let mut numbers = row.version.split('.').map(|part| part.parse::<u32>().ok());
    match (numbers.next().flatten(), numbers.next().flatten()) {
        (Some(major), Some(minor)) => (major, minor) < (0, 19),
        _ => row.version.is_empty(),
    }
}

/// What a row runs on.
pub(super) struct RowServer {
    pub(super) deployment: Deployment,
    attention_data_parallel: u32,
    pub(super) cost: Box<dyn BatchCost>,
    times: TimeSource,
}

/// From measured kernels where the GPU has them, else from the roofline where it knows the layout.
pub(super) fn server(row: &SiliconRow, constants: &Constants) -> Result<RowServer, NotAnswered> {
    match row.mode.as_str() {
        "agg" => {}
        "disagg" => return Err(NotAnswered::Disaggregated),
        _ => return Err(NotAnswered::Mode),
    }
    let gpu = *gpu(&row.system).ok_or(NotAnswered::Gpu)?;
    let model = *model(&row.model).ok_or(NotAnswered::Model)?;
    let formats = checkpoint(row, &model)?.formats(&gpu, &model);
    let kv = if row.flags.kv_cache_dtype.starts_with("fp8") { KvFormat::Fp8 } else { KvFormat::Bf16 };
    let deployment = Deployment {
        gpu,
        model,
        tensor_parallel: row.tensor_parallel,
        pipeline_parallel: row.pipeline_parallel.min(model.layers),
        weights: weights(formats[2]),
        quantized_head: false,
        kv,
    };
    if model.attention.heads() % row.tensor_parallel != 0 {
        return Err(NotAnswered::Heads);
    }
    // Where more GPUs share the experts than attention, attention has replicas, said so or not.
    let expert_gpus =
        if model.experts.is_some() { row.expert_tensor_parallel * row.expert_parallel } else { 1 };
    let attention_data_parallel = row.attention_data_parallel.max(expert_gpus / row.tensor_parallel);
    let layout = Layout {
        gpu,
        model,
        tensor_parallel: row.tensor_parallel,
        attention_data_parallel,
        expert_tensor_parallel: row.expert_tensor_parallel,
        expert_parallel: row.expert_parallel,
        attention: formats[0],
        mlp: formats[1],
        experts: formats[2],
        kv,
        has_peer_access: true,
    };
    let synchronous = (!is_asynchronous(row)).then_some(constants.synchronous);
    let kernels = (constants.kernels)(gpu.id).filter(|_| deployment.pipeline_parallel == 1);
    let mut overheads = constants.overheads;
    if is_before_19(row) {
        for format in [NumberFormat::Fp8, NumberFormat::Fp8Block] {
            overheads.expert_factors[format as usize] *= constants.older_experts;
        }
        if gpu.has_compute_capability_10() {
            (overheads.eager_layer_us, overheads.eager_expert_layer_us) =
                (constants.older_launch_us, constants.older_launch_us);
        }
    }
    let made = |own| kernels::cost(layout, own, overheads, synchronous);
    if let Some(Ok(cost)) = kernels.map(made) {
        let cost = cost.capturing(captured_tokens(row));
        let is_whole = cost.borrowed().is_empty();
        let times = if is_whole { TimeSource::Kernels } else { TimeSource::Interpolated };
        return Ok(RowServer { deployment, attention_data_parallel, cost: Box::new(cost), times });
    }
    if formats.contains(&NumberFormat::Nvfp4) {
        return Err(NotAnswered::Format(row.gemm_format.clone()));
    }
    if attention_data_parallel > 1 {
        return Err(NotAnswered::DataParallel);
    }
    let cost = Box::new(Roofline::new(deployment, Corrections::of(gpu.id), HOST));
    Ok(RowServer { deployment, attention_data_parallel, cost, times: TimeSource::Roofline })
}

/// The largest iteration that the server captured a CUDA graph of, tokens: by default the rule of the versions that were measured,
/// which make no difference between GPUs.
pub(super) fn captured_tokens(row: &SiliconRow) -> u32 {
    row.flags.captured_tokens.unwrap_or_else(|| {
        let seqs = row.flags.max_seqs.unwrap_or(u32::MAX);
        let budget = row.flags.max_batched_tokens.unwrap_or(u32::MAX);
        CAPTURED_TOKENS.min(seqs.saturating_mul(2)).min(budget)
    })
}

/// Share of a GPU's memory that the server leaves free.
pub(super) fn margin(row: &SiliconRow) -> f64 {
    1.0 - row.flags.memory_utilization.unwrap_or(MEMORY_UTILIZATION)
}

/// Whose accounting of memory the row's server has.
pub(super) fn accounting(row: &SiliconRow) -> VllmVersion {
    VllmVersion::of(&row.version).unwrap_or(VllmVersion::V0_33)
}

/// Blocks of the KV cache of a replica of attention, and their groups. Replicas that share experts have these split over all
/// their GPUs.
fn kv_blocks(
    row: &SiliconRow,
    server: &RowServer,
    largest: Profiled,
) -> Result<(u32, KvGroups), NotAnswered> {
    let own = &server.deployment;
    let reserve = Reserve::Vllm { utilization: 1.0 - margin(row), version: accounting(row) };
    let drafter = DrafterMemory::default();
    let ask = Ask { largest, adapter_bytes: 0.0, drafter, reserve, kv_bytes: 0.0, block_size: BLOCK };
    let gpus = own.tensor_parallel * server.attention_data_parallel;
    let plan = MemoryPlan::of(&Deployment { tensor_parallel: gpus, ..*own }, &ask);
    let groups = KvGroupsPlan::of(own).ok_or(NotAnswered::Memory)?;
    let kv_bytes = plan.kv_bytes;
    let least = groups.blocks_of_request(largest.longest, largest.batch_tokens, BLOCK);
    let blocks = groups.blocks(kv_bytes, BLOCK).saturating_sub(1);
    if blocks >= least { Ok((blocks, engine_groups(&groups))) } else { Err(NotAnswered::Memory) }
}

/// vLLM's scheduler with the flags of a row.
pub(super) fn config(row: &SiliconRow, server: &RowServer, longest: u32) -> Result<PoolConfig, NotAnswered> {
    let (budget, seqs) = serve_defaults(&server.deployment.gpu);
    let max_batch_tokens = row.flags.max_batched_tokens.unwrap_or(budget.min(BUDGET));
    let max_requests = row.flags.max_seqs.unwrap_or(seqs).min(max_batch_tokens);
    let largest = Profiled {
        batch_tokens: max_batch_tokens,
        requests: max_requests,
        longest: longest.saturating_add(1),
        captured_tokens: captured_tokens(row),
    };
    let (blocks, kv_groups) = kv_blocks(row, server, largest)?;
    Ok(PoolConfig {
        replicas: 1,
        scheduler: SchedulerKind::VllmV1,
        blocks,
        block_size: BLOCK,
        kv_groups,
        watermark_blocks: 0,
        max_requests,
        max_slots: u32::MAX,
        max_request_tokens: longest.saturating_add(1),
        max_batch_tokens,
        vllm: VllmRules {
            async_scheduling: is_asynchronous(row),
            equals: Equals::LastAdmitted,
            ..VllmRules::default()
        },
        ..PoolConfig::default()
    })
}

/// Least tokens of a prompt or output, of the nominal number.
pub(super) fn shortest(nominal: u32) -> u32 {
    ((f64::from(nominal) * SHORTEST_SHARE) as u32).clamp(1, nominal)
}

/// A length of a request of InferenceX's client: uniform from 0.8 of the nominal one on.
pub(crate) fn nominal_length(stream: &Stream, place: u32, nominal: u32) -> u32 {
    let low = shortest(nominal);
    let width = f64::from(nominal - low) + 1.0;
    (low + (stream.item(place as usize).uniform() * width) as u32).min(nominal)
}

/// The requests of a run: the first ones start together, and each end lets the next one go.
fn requests(row: &SiliconRow, in_flight: u32) -> Trace {
    let count = in_flight.saturating_mul(REQUESTS_PER_SLOT);
    let mut trace = Trace::with_capacity(count as usize);
    let mut closed_loop = ClosedLoop { is_shared: true, ..ClosedLoop::default() };
    let streams = ["silicon_input", "silicon_output"].map(|name| Stream::named(SEED, name));
    for place in 0..count {
        let output_tokens = nominal_length(&streams[1], place, row.output_tokens);
        trace.push(Request {
            arrival_us: 0.0,
            user: 0,
            adapter: BASE_MODEL,
            input_tokens: nominal_length(&streams[0], place, row.input_tokens),
            output_tokens,
            max_tokens: output_tokens,
        });
        closed_loop.push(if place < in_flight { NO_REQUEST } else { 0 }, 0.0);
    }
    trace.closed_loop = Some(Box::new(closed_loop));
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
pub fn predict(row: &SiliconRow) -> Predicted {
    predict_with(row, &Constants::CALIBRATED)
}

/// The same with constants of one's own.
///
/// # Errors
/// [`NotAnswered`] says why it cannot be run.
pub fn predict_with(row: &SiliconRow, constants: &Constants) -> Predicted {
    let server = server(row, constants)?;
    let in_flight = row.in_flight.ok_or(NotAnswered::InFlight)?;
    let longest = row.input_tokens.saturating_add(row.output_tokens);
    let config = config(row, &server, longest)?;
    // Replicas of attention have equal shares of the requests, and their iterations wait for one another.
    let trace = Arc::new(requests(row, in_flight.div_ceil(server.attention_data_parallel)));
    let count = trace.len();
    let report = Fleet::of_pool(trace, config, server.cost).run();
    if report.results.len() != count || !(0..count).all(|id| report.is_completed(id)) {
        return Err(NotAnswered::Incomplete);
    }
    let [ttft_ms, tpot_ms] = means(&report).ok_or(NotAnswered::Incomplete)?;
    let client_ms = match server.times {
        TimeSource::Roofline => 0.0,
        _ => constants.client_ms + constants.client_ms_per_token * 0.9 * f64::from(row.input_tokens),
    };
    let (times, sent_us) = (server.times, report.trace.arrival_us.iter().copied().fold(0.0, f64::max));
    Ok(PredictedLatency {
        ttft_ms: ttft_ms + client_ms,
        tpot_ms,
        times,
        sent_s: sent_us / 1e6,
        is_borrowed: row.backend != "vllm",
    })
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
        let (in_flight, server) = (row.in_flight.unwrap(), server(&row, &Constants::CALIBRATED).unwrap());
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
                "disaggregated serving is not modelled",
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
        use servescope_cost::{Batch, Chunk};
        use servescope_settings::scenario::{AdapterRanks, Scenario};
        for (cells, settings) in [
            (
                "x/Llama-3.1-8B,fp8,1000,50,7,2,1",
                &[("fleet.model", "llama-3.1-8b"), ("fleet.weights", "fp8")][..],
            ),
            ("x/gpt-oss-120b,,1000,50,7,2,1", &[("fleet.model", "gpt-oss-120b"), ("fleet.weights", "int4")]),
        ] {
            let mut row = row(&format!("inferencex,vllm,agg,h100_sxm,{cells}"));
            row.expert_tensor_parallel = 2;
            let server = server(&row, &Constants::CALIBRATED).unwrap();
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
    fn other_engines_borrow_vllms_kernels() {
        for (backend, is_borrowed) in [("vllm", false), ("sglang", true)] {
            let cells = format!("inferencex,{backend},agg,h100_sxm,x/Qwen3-32B,fp8,100,10,2,1,1");
            let answer = predict(&row(&cells)).unwrap();
            assert_eq!(answer.is_borrowed, is_borrowed);
            assert!(answer.ttft_ms > answer.tpot_ms && answer.tpot_ms > 1.0);
        }
    }
}
