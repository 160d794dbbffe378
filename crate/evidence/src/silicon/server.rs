//! What a row runs on: its deployment, where iteration times come from, and its scheduler.

use serde::Serialize;
use servescope_cost::kernels::{Kernels, Layout, NumberFormat, Overheads};
use servescope_cost::kv_groups::KvGroupsPlan;
use servescope_cost::launches::CAPTURED_TOKENS;
use servescope_cost::memory_plan::sglang::{self, Server};
use servescope_cost::memory_plan::vllm::{Profiled, VllmVersion};
use servescope_cost::memory_plan::{Ask, DrafterMemory, MemoryPlan, Reserve};
use servescope_cost::{
    AllToAll, BatchCost, Corrections, Deployment, HostTime, KvFormat, Model, Roofline, WeightFormat,
};
use servescope_engine::{Equals, KvGroups, PoolConfig, SchedulerKind, SglangRules, VllmRules};
use servescope_settings::kernels::{self, CheckpointFormat, KernelEngine, Synchronous};
use servescope_settings::scenario::kv_groups::engine_groups;
use servescope_settings::scenario::vllm::serve_defaults;

use super::engines::SglangFlags;
use super::file::{SiliconRow, WorkerLayout, gpu};

/// vLLM's `--gpu-memory-utilization` where none is given.
const MEMORY_UTILIZATION: f64 = 0.9;
/// vLLM's token budget where none is given: 8192 on an H100 and larger GPUs, in the versions that were measured.
const BUDGET: u32 = 8192;
/// SGLang's bound on running requests where none is given, in the versions that were measured.
const SGLANG_RUNNING: u32 = 2048;
/// Memory of states for each byte of the KV pool (`mamba_full_memory_ratio`).
const STATES_FOR_EACH_KV: f64 = 0.9;
/// Tokens of the context beyond prompt and output, as InferenceX's scripts have it.
const SPARE_CONTEXT: u32 = 20;
/// The same of other engines, calibrated on SGLang's rows of even hash: they are of models with linear attention, whose many small
/// kernels the roofline does not see.
const HOST_OF_OTHERS: HostTime = HostTime { base_us: 2500.0, per_request_us: 20.0, launch_per_layer_us: 0.0 };
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
    /// Prompts and answers on different servers, and the file does not say how many of each.
    #[error("numbers of prefill and decode workers not given")]
    Workers,
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
        kernels: |gpu| kernels::kernels(KernelEngine::Vllm, gpu),
        overheads: kernels::CALIBRATED,
        synchronous: kernels::SYNCHRONOUS,
        older_launch_us: 1230.0,
        older_experts: 1.65,
        client_ms: 13.2,
        client_ms_per_token: 0.0024,
    };

    /// Those of an engine.
    pub fn of(engine: KernelEngine) -> Self {
        match engine {
            KernelEngine::Vllm => Self::CALIBRATED,
            KernelEngine::Sglang => Self::SGLANG,
            KernelEngine::TensorRtLlm => Self::TENSORRT_LLM,
        }
    }

    const SGLANG: Self = Self {
        kernels: |gpu| kernels::kernels(KernelEngine::Sglang, gpu),
        overheads: kernels::SGLANG,
        client_ms: 200.0,
        client_ms_per_token: 0.012,
        ..Self::CALIBRATED
    };
    const TENSORRT_LLM: Self = Self {
        kernels: |gpu| kernels::kernels(KernelEngine::TensorRtLlm, gpu),
        overheads: kernels::TENSORRT_LLM,
        client_ms: 15.8,
        ..Self::CALIBRATED
    };
}

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
    pub(super) attention_data_parallel: u32,
    pub(super) cost: Box<dyn BatchCost>,
    pub(super) times: TimeSource,
}

/// A server of a row's in such a layout: from measured kernels where the GPU has them, else from the roofline where it knows the layout.
pub(super) fn server(
    row: &SiliconRow,
    own: WorkerLayout,
    all_to_all: AllToAll,
    constants: &Constants,
) -> Result<RowServer, NotAnswered> {
    let gpu = *gpu(&row.system).ok_or(NotAnswered::Gpu)?;
    let model = *model(&row.model).ok_or(NotAnswered::Model)?;
    let formats = checkpoint(row, &model)?.formats(&gpu, &model);
    let kv = if row.flags.kv_cache_dtype.starts_with("fp8") { KvFormat::Fp8 } else { KvFormat::Bf16 };
    let deployment = Deployment {
        gpu,
        model,
        tensor_parallel: own.tensor_parallel,
        pipeline_parallel: own.pipeline_parallel.min(model.layers),
        expert_layout: servescope_cost::ExpertLayout::ALONE,
        weights: weights(formats[2]),
        quantized_head: false,
        kv,
    };
    if model.attention.heads() % own.tensor_parallel != 0 {
        return Err(NotAnswered::Heads);
    }
    // Where more GPUs share the experts than attention, attention has replicas, said so or not.
    let expert_gpus =
        if model.experts.is_some() { own.expert_tensor_parallel * own.expert_parallel } else { 1 };
    let attention_data_parallel = own.attention_data_parallel.max(expert_gpus / own.tensor_parallel);
    let layout = Layout {
        gpu,
        model,
        tensor_parallel: own.tensor_parallel,
        attention_data_parallel,
        expert_tensor_parallel: own.expert_tensor_parallel,
        expert_parallel: own.expert_parallel,
        all_to_all,
        attention: formats[0],
        mlp: formats[1],
        experts: formats[2],
        kv,
        has_peer_access: true,
    };
    let is_vllm = row.engine() == KernelEngine::Vllm;
    let synchronous = (is_vllm && !is_asynchronous(row)).then_some(constants.synchronous);
    let kernels = (constants.kernels)(gpu.id).filter(|_| deployment.pipeline_parallel == 1);
    let mut overheads = constants.overheads;
    if is_vllm && is_before_19(row) {
        for format in [NumberFormat::Fp8, NumberFormat::Fp8Block] {
            overheads.expert_factors[format as usize] *= constants.older_experts;
        }
        if gpu.has_compute_capability_10() {
            (overheads.eager_layer_us, overheads.eager_expert_layer_us) =
                (constants.older_launch_us, constants.older_launch_us);
        }
    }
    let made = |tables| kernels::cost(layout, tables, overheads, synchronous);
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
    let host = if is_vllm { HOST } else { HOST_OF_OTHERS };
    let cost = Box::new(Roofline::new(deployment, Corrections::of(gpu.id), host));
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

/// The memory of a replica of attention for its KV cache: replicas that share experts have these split over all their GPUs.
fn kv_bytes(server: &RowServer, ask: &Ask) -> f64 {
    let own = &server.deployment;
    let gpus = own.tensor_parallel * server.attention_data_parallel;
    MemoryPlan::of(&Deployment { tensor_parallel: gpus, ..*own }, ask).kv_bytes
}

/// Blocks of vLLM's KV cache, and their groups.
fn kv_blocks(server: &RowServer, ask: &Ask) -> Result<(u32, KvGroups), NotAnswered> {
    let groups = KvGroupsPlan::of(&server.deployment).ok_or(NotAnswered::Memory)?;
    let least = groups.blocks_of_request(ask.largest.longest, ask.largest.batch_tokens, BLOCK);
    let blocks = groups.blocks(kv_bytes(server, ask), BLOCK).saturating_sub(1);
    if blocks >= least { Ok((blocks, engine_groups(&groups))) } else { Err(NotAnswered::Memory) }
}

/// Tokens of SGLang's KV pool. Layers that keep a state have a pool of their own beside it.
fn kv_pool(server: &RowServer, ask: &Ask) -> Result<u32, NotAnswered> {
    let own = &server.deployment;
    let has_states = own.state_bytes_per_layer() > 0.0;
    let share = if has_states { 1.0 / (1.0 + STATES_FOR_EACH_KV) } else { 1.0 };
    let bytes = share * kv_bytes(server, ask);
    let tokens = MemoryPlan::of(own, &Ask { kv_bytes: bytes, ..*ask }).kv_tokens;
    if bytes > 0.0 && tokens >= ask.largest.longest { Ok(tokens) } else { Err(NotAnswered::Memory) }
}

/// The scheduler of a row's engine with its flags. TensorRT-LLM has vLLM's in its place.
pub(super) fn config(row: &SiliconRow, server: &RowServer, longest: u32) -> Result<PoolConfig, NotAnswered> {
    match row.engine() {
        KernelEngine::Sglang => sglang_config(row, server, longest),
        KernelEngine::Vllm | KernelEngine::TensorRtLlm => vllm_config(row, server, longest),
    }
}

pub(super) fn vllm_config(
    row: &SiliconRow,
    server: &RowServer,
    longest: u32,
) -> Result<PoolConfig, NotAnswered> {
    let (budget, seqs) = serve_defaults(&server.deployment.gpu);
    let max_batch_tokens = row.flags.max_batched_tokens.unwrap_or(budget.min(BUDGET));
    let max_requests = row.flags.max_seqs.unwrap_or(seqs).min(max_batch_tokens);
    let largest = Profiled {
        batch_tokens: max_batch_tokens,
        requests: max_requests,
        longest: longest.saturating_add(1),
        captured_tokens: captured_tokens(row),
    };
    let reserve = Reserve::Vllm { utilization: 1.0 - margin(row), version: accounting(row) };
    let ask = Ask {
        largest,
        adapter_bytes: 0.0,
        drafter: DrafterMemory::default(),
        reserve,
        kv_bytes: 0.0,
        block_size: BLOCK,
    };
    let (blocks, kv_groups) = kv_blocks(server, &ask)?;
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

/// SGLang's memory counts tokens, each of all layers, whatever their windows are.
fn sglang_config(row: &SiliconRow, server: &RowServer, longest: u32) -> Result<PoolConfig, NotAnswered> {
    let flags = SglangFlags::of(row);
    let gpu = &server.deployment.gpu;
    let chunk = flags.chunked_prefill_size.unwrap_or_else(|| sglang::chunked_prefill_size(gpu.memory_bytes));
    let told = Server {
        chunked_prefill_size: Some(chunk),
        max_prefill_tokens: chunk.max(SglangRules::default().max_prefill_tokens),
        max_running_requests: flags.max_running_requests,
    };
    let static_share = flags.static_share.unwrap_or_else(|| sglang::static_share(&server.deployment, &told));
    let context = longest.saturating_add(SPARE_CONTEXT);
    let largest = Profiled { batch_tokens: chunk, requests: 1, longest: context, captured_tokens: 0 };
    let reserve = Reserve::Sglang { static_share };
    let ask = Ask {
        largest,
        adapter_bytes: 0.0,
        drafter: DrafterMemory::default(),
        reserve,
        kv_bytes: 0.0,
        block_size: 1,
    };
    let tokens = kv_pool(server, &ask)?;
    Ok(PoolConfig {
        replicas: 1,
        scheduler: SchedulerKind::Sglang,
        blocks: tokens,
        block_size: 1,
        max_requests: flags.max_running_requests.unwrap_or(SGLANG_RUNNING),
        max_request_tokens: context,
        sglang: SglangRules {
            chunked_prefill_size: Some(chunk),
            max_prefill_tokens: told.max_prefill_tokens,
            recv_interval: flags.recv_interval,
            ..SglangRules::default()
        },
        ..PoolConfig::default()
    })
}
