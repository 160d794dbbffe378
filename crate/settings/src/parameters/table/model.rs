//! Rows of a model of one's own: its dimensions, named as in a `config.json` of Hugging Face where that has a plain name.

use crate::parameters::builder::{row, whole};
use crate::parameters::conditions::{OWN_EXPERTS, OWN_MODEL, above, any, when_in};
use crate::parameters::id::Id;
use crate::parameters::kind::{Kind, Parameter};

// A row is a paragraph of two to five lines; formatted it would be fifteen.
#[rustfmt::skip]
pub(super) const ROWS: &[(Id, Parameter)] = &[
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
        .when(&[OWN_MODEL])
        .doc("KV heads", "Heads of keys and values (num_key_value_heads), each shared by equally many query heads. Equal to the query heads: multi-head attention (MHA); 1: multi-query attention (MQA). They decide the KV bytes of a token.")),
    (Id::ModelHeadDim, row("model.head_dim", "mhd", "model", whole(8.0, 1024.0, 128.0)).linear(16.0, 256.0, 8.0)
        .when(&[OWN_MODEL])
        .doc("Head dimension", "Values of a head (head_dim; hidden size over heads where a config.json has none).")),
    (Id::ModelWindow, row("model.sliding_window", "mwn", "model", whole(0.0, 10_000_000.0, 0.0)).unit("tokens").linear(0.0, 8192.0, 128.0)
        .when(&[OWN_MODEL]).off_at_zero()
        .doc("Sliding window", "How many tokens back the layers with a window look (sliding_window). 0 = off: every layer looks at all tokens. It shortens attention; the KV cache keeps every token.")),
    (Id::ModelWindowLayers, row("model.sliding_layers", "mwl", "model", whole(0.0, 1000.0, 16.0)).linear(0.0, 128.0, 1.0)
        .when(&[OWN_MODEL, above(Id::ModelWindow, 0.0)])
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
        .doc("Shared experts", "Experts of the same size that compute every token beside the others (n_shared_experts).")),
    (Id::ModelDenseLayers, row("model.dense_layers", "mdn", "model", whole(0.0, 1000.0, 0.0)).linear(0.0, 64.0, 1.0)
        .when(&[OWN_MODEL, OWN_EXPERTS])
        .doc("Layers without experts", "How many layers have a plain MLP in place of experts (first_k_dense_replace).")),
];
