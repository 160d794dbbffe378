//! Rows of a GPU and of a model of one's own: figures of a data sheet, and dimensions, named as in a `config.json` of Hugging Face where that has a plain name.

use crate::parameters::builder::{choice, number, row, whole};
use crate::parameters::choices;
use crate::parameters::conditions::{
    OWN_EXPERTS, OWN_GPU, OWN_GROUPED, OWN_INDEX, OWN_LATENT, OWN_MODEL, OWN_STATE, OWN_WINDOW, above, any,
    when_in,
};
use crate::parameters::id::Id;
use crate::parameters::kind::{Kind, Parameter};

// A row is a paragraph of two to five lines; formatted it would be fifteen.
#[rustfmt::skip]
pub(super) const ROWS: &[(Id, Parameter)] = &[
    (Id::GpuMemory, row("gpu.memory_gib", "gmm", "fleet", number(0.1, 100_000.0, 79.2)).unit("GiB").linear(8.0, 288.0, 0.1)
        .when(&[OWN_GPU])
        .doc("GPU memory", "Memory of your own GPU as a process is given it (torch.cuda.mem_get_info), not as the board has it. The defaults of these figures are an H100's.")),
    (Id::GpuBandwidth, row("gpu.bandwidth_gb_s", "gbw", "fleet", number(1.0, 1e6, 3350.0)).unit("GB/s").log(100.0, 20_000.0, 10.0)
        .when(&[OWN_GPU])
        .doc("Memory bandwidth", "Peak of the data sheet, 1e9 bytes a second.")),
    (Id::GpuBf16, row("gpu.bf16_tflops", "gbf", "fleet", number(0.1, 1e6, 989.0)).unit("TFLOP/s").log(10.0, 5000.0, 1.0)
        .when(&[OWN_GPU])
        .doc("FLOP/s at 16 bits", "Peak of matrix products at 16 bits, dense (without sparsity).")),
    (Id::GpuFp8, row("gpu.fp8_tflops", "gf8", "fleet", number(0.0, 1e6, 1979.0)).unit("TFLOP/s").linear(0.0, 10_000.0, 1.0)
        .when(&[OWN_GPU, when_in(Id::Weights, &["fp8"])])
        .doc("FLOP/s at FP8", "Peak of matrix products at FP8, dense. 0: the GPU has none, and FP8 weights are widened to 16 bits.")),
    (Id::GpuFp4, row("gpu.fp4_tflops", "gf4", "fleet", number(0.0, 1e6, 0.0)).unit("TFLOP/s").linear(0.0, 20_000.0, 1.0)
        .when(&[OWN_GPU, when_in(Id::Weights, &["nvfp4"])])
        .doc("FLOP/s at FP4", "Peak of matrix products at FP4, dense. 0: the GPU has none.")),
    (Id::GpuLink, row("gpu.link_gb_s", "gpl", "fleet", number(0.1, 1e6, 450.0)).unit("GB/s").log(1.0, 2000.0, 1.0)
        .when(&[OWN_GPU, any(&[above(Id::TensorParallel, 1.0), above(Id::PipelineParallel, 1.0)])])
        .doc("Link in a node", "Bandwidth of each GPU to the others of its node, in one direction: NVLink or PCIe. A node has 8 GPUs, and each sends 50 GB/s to other nodes.")),
    (Id::ModelLayers, row("model.layers", "mly", "model", whole(1.0, 1000.0, 32.0)).linear(1.0, 128.0, 1.0)
        .when(&[OWN_MODEL])
        .doc("Layers", "Layers of your own model (num_hidden_layers). The defaults of this group are Llama-3.1-8B's.")),
    (Id::ModelHidden, row("model.hidden_size", "mhs", "model", whole(64.0, 131_072.0, 4096.0)).log(512.0, 16_384.0, 64.0)
        .when(&[OWN_MODEL])
        .doc("Hidden size", "Width of the residual stream (hidden_size).")),
    (Id::ModelHeads, row("model.attention_heads", "mah", "model", whole(1.0, 1024.0, 32.0)).linear(1.0, 128.0, 1.0)
        .when(&[OWN_MODEL])
        .doc("Attention heads", "Heads of queries (num_attention_heads). Tensor parallelism shares them evenly.")),
    (Id::ModelKvHeads, row("model.kv_heads", "mkv", "model", whole(1.0, 1024.0, 8.0)).linear(1.0, 128.0, 1.0)
        .when(&[OWN_MODEL, OWN_GROUPED])
        .doc("KV heads", "Heads of keys and values (num_key_value_heads), each shared by equally many query heads. Equal to the query heads: multi-head attention (MHA); 1: multi-query attention (MQA). They decide the KV bytes of a token.")),
    (Id::ModelHeadDim, row("model.head_dim", "mhd", "model", whole(8.0, 1024.0, 128.0)).linear(16.0, 256.0, 8.0)
        .when(&[OWN_MODEL, OWN_GROUPED])
        .doc("Head dimension", "Values of a head (head_dim; hidden size over heads where a config.json has none).")),
    (Id::ModelWindow, row("model.sliding_window", "mwn", "model", whole(0.0, 10_000_000.0, 0.0)).unit("tokens").linear(0.0, 8192.0, 128.0)
        .when(&[OWN_MODEL, OWN_GROUPED]).off_at_zero()
        .doc("Attention window", "How many tokens back the layers with a window look (sliding_window, attention_chunk_size). 0 = off: every layer looks at all tokens. It shortens attention; under vLLM v1 these layers keep no KV blocks before the window.")),
    (Id::ModelWindowLayers, row("model.sliding_layers", "mwl", "model", whole(0.0, 1000.0, 16.0)).linear(0.0, 128.0, 1.0)
        .when(&[OWN_MODEL, OWN_WINDOW])
        .doc("Layers with a window", "How many layers look no further back than the window; at most all.")),
    (Id::ModelMlp, row("model.intermediate_size", "mis", "model", whole(1.0, 1_000_000.0, 14_336.0)).log(512.0, 65_536.0, 64.0)
        .when(&[OWN_MODEL, any(&[when_in(Id::ModelExperts, &["0"]), above(Id::ModelDenseLayers, 0.0)])])
        .doc("MLP size", "Hidden size of the MLP of layers without experts (intermediate_size).")),
    (Id::ModelGated, row("model.gated_mlp", "mgm", "model", Kind::Flag(true))
        .when(&[OWN_MODEL])
        .doc("Gated MLP", "Whether an MLP or an expert has three matrices (gate, up, down), as in Llama, or two, as in GPT-2, OPT and Falcon.")),
    (Id::ModelVocabulary, row("model.vocab_size", "mvs", "model", whole(1.0, 10_000_000.0, 128_256.0)).log(1000.0, 300_000.0, 1.0)
        .when(&[OWN_MODEL])
        .doc("Vocabulary", "Rows of the embedding and of the output head (vocab_size).")),
    (Id::ModelContext, row("model.max_position_embeddings", "mpe", "model", whole(2.0, 100_000_000.0, 131_072.0)).unit("tokens").log(512.0, 1_048_576.0, 1.0)
        .when(&[OWN_MODEL, when_in(Id::SchedulerKind, &["vllm_v1"])])
        .doc("Longest context", "Tokens of prompt and output that the model is made for (max_position_embeddings); vLLM v1's max request length unless that is given.")),
    (Id::ModelTied, row("model.tied_embeddings", "mte", "model", Kind::Flag(false))
        .when(&[OWN_MODEL])
        .doc("Tied embeddings", "Whether the output head is the embedding, and is stored once (tie_word_embeddings).")),
    (Id::ModelExperts, row("model.experts", "mex", "model", whole(0.0, 4096.0, 0.0)).linear(0.0, 256.0, 1.0)
        .when(&[OWN_MODEL])
        .doc("Experts", "Experts of a layer of a mixture (num_experts, num_local_experts, n_routed_experts). 0: a dense model.")),
    (Id::ModelExpertsPerToken, row("model.experts_per_token", "mep", "model", whole(1.0, 4096.0, 2.0)).linear(1.0, 16.0, 1.0)
        .when(&[OWN_MODEL, OWN_EXPERTS])
        .doc("Experts of a token", "How many experts of a layer compute each token (num_experts_per_tok).")),
    (Id::ModelExpertSize, row("model.expert_size", "mei", "model", whole(1.0, 1_000_000.0, 14_336.0)).log(128.0, 32_768.0, 64.0)
        .when(&[OWN_MODEL, OWN_EXPERTS])
        .doc("Expert size", "Hidden size of an expert (moe_intermediate_size; intermediate_size where a config.json has no other).")),
    (Id::ModelSharedExperts, row("model.shared_experts", "mse", "model", whole(0.0, 256.0, 0.0)).linear(0.0, 8.0, 1.0)
        .when(&[OWN_MODEL, OWN_EXPERTS])
        .doc("Shared experts", "Experts that compute every token beside the others (n_shared_experts).")),
    (Id::ModelSharedSize, row("model.shared_expert_size", "mss", "model", whole(0.0, 1_000_000.0, 0.0)).linear(0.0, 32_768.0, 64.0)
        .when(&[OWN_MODEL, OWN_EXPERTS, above(Id::ModelSharedExperts, 0.0)])
        .doc("Shared expert size", "Hidden size of a shared expert (shared_expert_intermediate_size). 0: that of the other experts.")),
    (Id::ModelDenseLayers, row("model.dense_layers", "mdn", "model", whole(0.0, 1000.0, 0.0)).linear(0.0, 64.0, 1.0)
        .when(&[OWN_MODEL, OWN_EXPERTS])
        .doc("Layers without experts", "How many layers have a plain MLP in place of experts (first_k_dense_replace).")),
    (Id::ModelExpertLatent, row("model.expert_latent_size", "mel", "model", whole(0.0, 131_072.0, 0.0)).linear(0.0, 8192.0, 64.0)
        .when(&[OWN_MODEL, OWN_EXPERTS])
        .doc("Width before experts", "To how many numbers a token is projected before it goes through experts (moe_latent_size). 0: experts work in the model's own width.")),
    (Id::ModelAttention, row("model.attention", "mat", "model", choice(choices::ModelAttention::ID))
        .when(&[OWN_MODEL])
        .doc("Attention", "What attention keeps for a token: keys and values of each KV head, or one compressed vector for all heads (multi-head latent attention, as in DeepSeek-V3).")),
    (Id::ModelQueryRank, row("model.q_lora_rank", "mqr", "model", whole(0.0, 65_536.0, 1536.0)).linear(0.0, 4096.0, 64.0)
        .when(&[OWN_MODEL, OWN_LATENT])
        .doc("Rank of queries", "Latent attention: to how many numbers queries are compressed (q_lora_rank). 0: not at all.")),
    (Id::ModelKvRank, row("model.kv_lora_rank", "mkr", "model", whole(1.0, 65_536.0, 512.0)).linear(64.0, 2048.0, 64.0)
        .when(&[OWN_MODEL, OWN_LATENT])
        .doc("Rank of keys and values", "Latent attention: the numbers of the vector that is kept for a token (kv_lora_rank).")),
    (Id::ModelRopeDim, row("model.qk_rope_head_dim", "mrd", "model", whole(0.0, 1024.0, 64.0)).linear(0.0, 256.0, 8.0)
        .when(&[OWN_MODEL, OWN_LATENT])
        .doc("Rotary dimension", "Latent attention: the rotary part of queries and keys, which is kept beside the vector (qk_rope_head_dim).")),
    (Id::ModelNopeDim, row("model.qk_nope_head_dim", "mnd", "model", whole(1.0, 1024.0, 128.0)).linear(16.0, 256.0, 8.0)
        .when(&[OWN_MODEL, OWN_LATENT])
        .doc("Dimension without rotation", "Latent attention: the other part of a head's queries and keys (qk_nope_head_dim).")),
    (Id::ModelValueDim, row("model.v_head_dim", "mvd", "model", whole(1.0, 1024.0, 128.0)).linear(16.0, 256.0, 8.0)
        .when(&[OWN_MODEL, OWN_LATENT])
        .doc("Value dimension", "Latent attention: values of a head (v_head_dim).")),
    (Id::ModelIndexHeads, row("model.index_n_heads", "mih", "model", whole(0.0, 1024.0, 0.0)).linear(0.0, 128.0, 1.0)
        .when(&[OWN_MODEL, OWN_LATENT])
        .doc("Indexer heads", "Sparse attention (DeepSeek-V3.2): heads of the indexer that picks the tokens to attend to (index_n_heads). 0: attention reads every token.")),
    (Id::ModelIndexDim, row("model.index_head_dim", "mid", "model", whole(1.0, 1024.0, 128.0)).linear(16.0, 256.0, 8.0)
        .when(&[OWN_MODEL, OWN_INDEX])
        .doc("Indexer dimension", "Dimension of the indexer's key, which is kept at 8 bits for every token (index_head_dim).")),
    (Id::ModelIndexTop, row("model.index_topk", "mit", "model", whole(1.0, 10_000_000.0, 2048.0)).unit("tokens").log(128.0, 16_384.0, 1.0)
        .when(&[OWN_MODEL, OWN_INDEX])
        .doc("Tokens attended to", "How many tokens attention reads of those that the indexer scores (index_topk).")),
    (Id::ModelIndexLayers, row("model.index_layers", "mil", "model", whole(0.0, 1000.0, 0.0)).linear(0.0, 128.0, 1.0)
        .when(&[OWN_MODEL, OWN_INDEX])
        .doc("Layers with an indexer", "How many layers have an indexer of their own; the others attend to the tokens that an earlier one has picked (indexer_types). 0: all.")),
    (Id::ModelGate, row("model.attention_gate", "mag", "model", Kind::Flag(false))
        .when(&[OWN_MODEL, OWN_GROUPED])
        .doc("Gated attention", "Whether what attention gives is multiplied by a gate that is projected beside the queries, as in Qwen3-Next (attn_output_gate).")),
    (Id::ModelWindowKind, row("model.window_kind", "mwk", "model", choice(choices::ModelWindowKind::ID))
        .when(&[OWN_MODEL, OWN_WINDOW, when_in(Id::SchedulerKind, &["vllm_v1"])])
        .doc("Window", "Whether the window slides with the token, or windows stand side by side (attention_chunk_size, as in Llama 4).")),
    (Id::ModelWindowKvHeads, row("model.sliding_kv_heads", "mwh", "model", whole(0.0, 1024.0, 0.0)).linear(0.0, 128.0, 1.0)
        .when(&[OWN_MODEL, OWN_WINDOW])
        .doc("KV heads with a window", "KV heads of the layers with a window. 0: as many as in the others.")),
    (Id::ModelWindowHeadDim, row("model.sliding_head_dim", "mwd", "model", whole(0.0, 1024.0, 0.0)).linear(0.0, 256.0, 8.0)
        .when(&[OWN_MODEL, OWN_WINDOW])
        .doc("Head dimension with a window", "Head dimension of the layers with a window. 0: as in the others.")),
    (Id::ModelSharedKv, row("model.shared_kv_layers", "msk", "model", whole(0.0, 1000.0, 0.0)).linear(0.0, 128.0, 1.0)
        .when(&[OWN_MODEL, OWN_GROUPED])
        .doc("Layers without KV of their own", "How many layers that see all tokens read the keys and values of an earlier layer, and keep none (num_kv_shared_layers).")),
    (Id::ModelWindowSharedKv, row("model.sliding_shared_kv_layers", "msw", "model", whole(0.0, 1000.0, 0.0)).linear(0.0, 128.0, 1.0)
        .when(&[OWN_MODEL, OWN_WINDOW])
        .doc("The same with a window", "How many of the layers with a window read the keys and values of an earlier layer, and keep none.")),
    (Id::ModelStateLayers, row("model.state_layers", "msl", "model", whole(0.0, 1000.0, 0.0)).linear(0.0, 48.0, 1.0)
        .when(&[OWN_MODEL])
        .doc("Layers with a state", "How many layers keep a state of fixed size for each request in place of keys and values: linear attention, Mamba. 0: none.")),
    (Id::ModelStateKind, row("model.state_kind", "mst", "model", choice(choices::ModelStateKind::ID))
        .when(&[OWN_MODEL, OWN_STATE])
        .doc("Kind of state", "What these layers compute: the gated delta rule (Qwen3-Next, Qwen3.5, Kimi Linear), or Mamba-2 (Nemotron, Granite 4, Falcon-H1).")),
    (Id::ModelStateHeads, row("model.state_heads", "msh", "model", whole(1.0, 4096.0, 32.0)).linear(1.0, 256.0, 1.0)
        .when(&[OWN_MODEL, OWN_STATE])
        .doc("Heads of the state", "Value heads of a layer with a state (linear_num_value_heads, mamba_num_heads).")),
    (Id::ModelStateHeadDim, row("model.state_head_dim", "msd", "model", whole(1.0, 4096.0, 128.0)).linear(16.0, 256.0, 8.0)
        .when(&[OWN_MODEL, OWN_STATE])
        .doc("Values of such a head", "Dimension of a value head (linear_value_head_dim, mamba_head_dim).")),
    (Id::ModelStateKeyHeads, row("model.state_key_heads", "mkh", "model", whole(1.0, 4096.0, 16.0)).linear(1.0, 128.0, 1.0)
        .when(&[OWN_MODEL, OWN_STATE])
        .doc("Key heads of the state", "Heads of keys, or groups that share them (linear_num_key_heads, n_groups).")),
    (Id::ModelStateKeyDim, row("model.state_key_dim", "mkd", "model", whole(1.0, 4096.0, 128.0)).linear(16.0, 256.0, 8.0)
        .when(&[OWN_MODEL, OWN_STATE])
        .doc("Keys of such a head", "Dimension of a key, the other side of the state (linear_key_head_dim, ssm_state_size).")),
    (Id::ModelConvolution, row("model.state_conv_kernel", "mcv", "model", whole(1.0, 64.0, 4.0)).linear(1.0, 8.0, 1.0)
        .when(&[OWN_MODEL, OWN_STATE])
        .doc("Convolution", "Tokens that the convolution before the state spans (linear_conv_kernel_dim, conv_kernel); all but one of them are kept for each request.")),
    (Id::ModelStateBytes, row("model.state_bytes", "msb", "model", whole(1.0, 8.0, 2.0)).unit("bytes").linear(1.0, 4.0, 1.0)
        .when(&[OWN_MODEL, OWN_STATE])
        .doc("Bytes of a number of the state", "2 or 4 (mamba_ssm_cache_dtype; vLLM's default is the model's own format).")),
    (Id::ModelMlpOnly, row("model.mlp_only_layers", "mmo", "model", whole(0.0, 1000.0, 0.0)).linear(0.0, 128.0, 1.0)
        .when(&[OWN_MODEL])
        .doc("Layers with an MLP alone", "How many layers have neither attention nor a state, as in Nemotron-H.")),
    (Id::ModelMixerOnly, row("model.attention_only_layers", "mao", "model", whole(0.0, 1000.0, 0.0)).linear(0.0, 128.0, 1.0)
        .when(&[OWN_MODEL])
        .doc("Layers without an MLP", "How many layers have attention or a state alone, as in Nemotron-H.")),
    (Id::ModelExtra, row("model.extra_parameters", "mxp", "model", whole(0.0, 4_000_000_000.0, 0.0)).linear(0.0, 4e9, 1e6)
        .when(&[OWN_MODEL])
        .doc("Parameters outside the layers", "Beside embedding, head and norms, at 16 bits: embeddings that each layer has of its own, as in Gemma 3n and the small Gemma 4 (hidden_size_per_layer_input).")),
];
