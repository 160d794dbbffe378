//! Bytes of the weights on the GPU that has most to hold: layers' matrices in their format, the rest at 16 bits; what engines
//! keep on every GPU of a layer is counted on every GPU.

use crate::deployment::{Deployment, WeightFormat};
use crate::models::{Attention, Experts, Model};

/// Rows to which vLLM fills up the vocabulary (vllm/model_executor/layers/vocab_parallel_embedding.py).
const VOCABULARY_ROWS: u32 = 64;
/// Numbers to which the MXFP4 kernels of experts fill up the model's width and an expert's on each GPU
/// (vllm/model_executor/layers/fused_moe/oracle/mxfp4.py).
const MXFP4_WIDTH: u32 = 256;
const MXFP4_EXPERT: u32 = 128;

/// Weights of the stage that has most layers, as the checkpoint has them. With several stages that one is taken to have either
/// the embedding or the head beside them.
pub(super) fn weight_bytes(deployment: &Deployment) -> f64 {
    layer_bytes(deployment) + table_bytes(deployment)
}

/// Embedding and head.
pub(super) fn table_bytes(deployment: &Deployment) -> f64 {
    let model = &deployment.model;
    let rows = model.vocabulary.next_multiple_of(VOCABULARY_ROWS);
    let table = f64::from(rows) * f64::from(model.hidden) / f64::from(deployment.tensor_parallel.max(1));
    let wide = WeightFormat::Bf16.bytes();
    let head = if deployment.quantized_head { deployment.format().bytes() } else { wide };
    let tables = match (model.tied_embeddings, deployment.pipeline_parallel) {
        (true, _) | (false, 2..) => wide,
        (false, _) => wide + head,
    };
    tables * table
}

/// The layers.
pub(super) fn layer_bytes(deployment: &Deployment) -> f64 {
    let (model, wide) = (&deployment.model, WeightFormat::Bf16.bytes());
    let extras = f64::from(model.layers) * f64::from(model.layer_extras) + f64::from(model.extras);
    let matrices = shared_matrices(deployment) * deployment.matrix_bytes();
    let share = stage_share(deployment);
    (matrices + kept_at_16_bits(deployment) + wide * extras) * share
}

/// What the kernels keep beside them: experts filled up, and the copies of latent attention's matrices that decoding works with
/// (vllm/model_executor/layers/attention/mla_attention.py, `process_weights_after_loading`).
pub(super) fn kernel_bytes(deployment: &Deployment) -> f64 {
    let model = &deployment.model;
    let absorbed = match model.attention {
        Attention::Latent { heads, kv_rank, nope_dim, value_dim, .. } => {
            let numbers = f64::from(heads) * f64::from(kv_rank) * f64::from(nope_dim + value_dim);
            2.0 * f64::from(model.full_layers()) * numbers / f64::from(deployment.tensor_parallel.max(1))
        }
        Attention::Grouped { .. } => 0.0,
    };
    (absorbed + padding_bytes(deployment)) * stage_share(deployment)
}

/// Which share of the layers the stage has that has most.
fn stage_share(deployment: &Deployment) -> f64 {
    f64::from(deployment.most_layers()) / f64::from(deployment.model.layers)
}

/// Parameters of the layers' matrices on one GPU, the replicated ones counted whole.
fn shared_matrices(deployment: &Deployment) -> f64 {
    let model = &deployment.model;
    let tensor = f64::from(deployment.tensor_parallel.max(1));
    let dense = f64::from(model.mlp_layers() - model.expert_layers());
    let beside_experts = model.experts.map_or(0.0, |e| {
        model.shared_expert_parameters() + 2.0 * f64::from(model.hidden) * f64::from(e.latent)
    });
    let shared = model.mixer_parameters()
        + dense * model.mlp_parameters()
        + f64::from(model.expert_layers()) * beside_experts;
    let experts = model.experts.map_or(0.0, |e| experts_of_gpu(deployment, e) * model.expert_parameters());
    f64::from(model.expert_layers()) * experts
        + shared / tensor
        + (1.0 - 1.0 / tensor) * replicated_matrices(model)
        + repeated_heads(deployment)
}

/// Experts of a layer that a GPU has; a part of an expert counts as that part. Whole experts that cannot be shared evenly leave
/// some GPUs one more.
fn experts_of_gpu(deployment: &Deployment, experts: Experts) -> f64 {
    let (layout, tensor) = (deployment.expert_layout, deployment.tensor_parallel);
    let count = experts.count + layout.redundant;
    f64::from(count.div_ceil(layout.groups(tensor))) / f64::from(layout.tensor(tensor))
}

/// Bytes of the experts that a GPU has, of all layers.
pub fn expert_bytes_of_gpu(deployment: &Deployment) -> f64 {
    let model = &deployment.model;
    let count = model.experts.map_or(0.0, |e| experts_of_gpu(deployment, e));
    f64::from(model.expert_layers()) * count * model.expert_parameters() * deployment.matrix_bytes()
}

/// Of matrices that every GPU keeps whole: latent attention's first projections and the indexer.
fn replicated_matrices(model: &Model) -> f64 {
    let Attention::Latent { query_rank, kv_rank, rope_dim, .. } = model.attention else { return 0.0 };
    let down = f64::from(model.hidden) * f64::from(query_rank + kv_rank + rope_dim);
    let [with, without] = [model.attention, model.attention.without_indexer()];
    let indexer = with.parameters(model.hidden) - without.parameters(model.hidden);
    let indexed = with.indexer().map_or(0, |indexer| indexer.layers);
    f64::from(model.full_layers()) * down + f64::from(indexed) * indexer
}

/// KV heads that several GPUs have: more GPUs than heads share a layer.
fn repeated_heads(deployment: &Deployment) -> f64 {
    let (model, tensor) = (&deployment.model, deployment.tensor_parallel.max(1));
    let windowed = model.window.map(|window| (window.layers, window.attention(&model.attention)));
    let all = [Some((model.full_layers(), model.attention)), windowed];
    all.into_iter().flatten().fold(0.0, |sum, (layers, attention)| match attention {
        Attention::Grouped { kv_heads, head_dim, .. } => {
            let more = f64::from(kv_heads.div_ceil(tensor)) - f64::from(kv_heads) / f64::from(tensor);
            sum + f64::from(layers) * more * 2.0 * f64::from(head_dim) * f64::from(model.hidden)
        }
        Attention::Latent { .. } => sum,
    })
}

/// Bytes by which kernels fill experts up.
fn padding_bytes(deployment: &Deployment) -> f64 {
    let model = &deployment.model;
    let Some(e) = model.experts.filter(|_| deployment.format() == WeightFormat::Mxfp4) else { return 0.0 };
    let tensor = deployment.expert_layout.tensor(deployment.tensor_parallel);
    let width = if e.latent > 0 { e.latent } else { model.hidden };
    let width = f64::from(width.next_multiple_of(MXFP4_WIDTH));
    let inner = f64::from(e.hidden.div_ceil(tensor).next_multiple_of(MXFP4_EXPERT));
    let filled = model.mlp_matrices() * width * inner;
    let more = filled - model.expert_parameters() / f64::from(tensor);
    let layout = deployment.expert_layout;
    let count = (e.count + layout.redundant).div_ceil(layout.groups(deployment.tensor_parallel));
    f64::from(model.expert_layers()) * f64::from(count) * more * WeightFormat::Mxfp4.bytes()
}

/// Routers and biases of experts.
fn kept_at_16_bits(deployment: &Deployment) -> f64 {
    let model = &deployment.model;
    let of_layer = |e: Experts| {
        let biases = experts_of_gpu(deployment, e) * f64::from(e.biases);
        f64::from(e.count) * f64::from(model.hidden) + biases
    };
    2.0 * f64::from(model.expert_layers()) * model.experts.map_or(0.0, of_layer)
}
