//! What a `config.json` leaves to its model's class, by `model_type`: as the configuration classes of `transformers` 4.57.6 have
//! it where that has the class.

/// Which layers look back no further than a window, where the file does not list its layers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Windows {
    /// None, unless `use_sliding_window` is true: then those from `max_window_layers` on.
    Off,
    /// All.
    All,
    /// All but every n-th.
    Every(f64),
    /// Those whose attention knows positions, in chunks: every fourth does not.
    WithPositions,
}

/// What models of one class have in common.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of a class by itself")]
pub(super) struct ModelFamily {
    /// Whether an MLP has a gate.
    pub(super) gated: bool,
    /// Whether the head is the embedding where the file does not say.
    pub(super) tied: bool,
    /// Layers with a window.
    pub(super) windows: Windows,
    /// Whether attention has a gate where the file does not say.
    pub(super) gated_attention: bool,
    /// Whether every layer has a state beside attention.
    pub(super) parallel_state: bool,
    /// Whether every layer with experts has one that all tokens go through, as wide as the others.
    pub(super) one_shared: bool,
    /// Bytes of a number of a layer's state where the file does not say: 2 is the model's own format.
    pub(super) state_bytes: f64,
    /// Rows of the embedding where the file does not say; 0: it has to.
    pub(super) vocabulary: f64,
}

/// Classes with a gated MLP and a head beside the embedding.
const GATED: &[&str] = &[
    "llama",
    "mistral",
    "mixtral",
    "ministral",
    "phi3",
    "phimoe",
    "internlm2",
    "internlm3",
    "baichuan",
    "olmo",
    "olmo2",
    "olmoe",
    "granite",
    "granitemoe",
    "glm",
    "glm4",
    "glm4_moe",
    "hunyuan_v1_dense",
    "hunyuan_v1_moe",
    "seed_oss",
    "stablelm",
    "minimax_m2",
    "dots1",
    "minimax_m3",
    "minimax_m3_vl",
    "mimo",
    "mimo_v2_flash",
    "deepseek",
    "deepseek_v2",
    "deepseek_v3",
    "deepseek_v32",
    "kimi_k2",
    "kimi_k25",
    "glm_moe_dsa",
    "glm4_moe_lite",
    "mistral3",
    "mistral4",
    "ministral3",
    "step3p5",
    "step3p7",
    "nemotron-nas",
    "granitemoehybrid",
    "bamba",
];

/// The same whose windows are off unless the file says otherwise.
const GATED_QWEN: &[&str] = &[
    "qwen2",
    "qwen2_moe",
    "qwen3",
    "qwen3_moe",
    "qwen2_vl",
    "qwen2_vl_text",
    "qwen2_5_vl",
    "qwen2_5_vl_text",
    "qwen3_vl",
    "qwen3_vl_text",
    "qwen3_vl_moe",
    "qwen3_vl_moe_text",
    "qwen3_5",
    "qwen3_5_text",
    "qwen3_5_moe",
    "qwen3_5_moe_text",
];

impl ModelFamily {
    /// As Llama has it.
    pub(super) const LLAMA: Self = Self {
        gated: true,
        tied: false,
        windows: Windows::All,
        gated_attention: false,
        parallel_state: false,
        one_shared: false,
        state_bytes: 2.0,
        vocabulary: 0.0,
    };

    /// The class of that `model_type`.
    pub(super) fn named(model_type: &str) -> Option<Self> {
        let tied = Self { tied: true, ..Self::LLAMA };
        let two_matrices = Self { gated: false, ..Self::LLAMA };
        Some(match model_type {
            name if GATED.contains(&name) => Self::LLAMA,
            name if GATED_QWEN.contains(&name) => Self { windows: Windows::Off, ..Self::LLAMA },
            "qwen3_next" => Self { windows: Windows::Off, gated_attention: true, ..Self::LLAMA },
            "llama4" | "llama4_text" => {
                Self { windows: Windows::WithPositions, one_shared: true, ..Self::LLAMA }
            }
            "nemotron_h" => Self { state_bytes: 4.0, ..two_matrices },
            "kimi_linear" | "kimi_k3" => Self { state_bytes: 4.0, ..Self::LLAMA },
            "falcon_h1" => Self { parallel_state: true, ..Self::LLAMA },
            "gemma4" | "gemma4_text" => Self { windows: Windows::Every(6.0), ..tied },
            "gpt_oss" => Self { windows: Windows::Every(2.0), ..Self::LLAMA },
            "gemma" | "cohere" | "smollm3" | "ernie4_5" | "ernie4_5_moe" => tied,
            "olmo3" | "exaone4" => Self { windows: Windows::Every(4.0), ..Self::LLAMA },
            "gemma2" => Self { windows: Windows::Every(2.0), ..tied },
            "gemma3" | "gemma3_text" => Self { windows: Windows::Every(6.0), vocabulary: 262_208.0, ..tied },
            "cohere2" => Self { windows: Windows::Every(4.0), ..tied },
            "phi" | "gpt_neox" | "gptj" | "nemotron" => two_matrices,
            "gpt2" | "gpt_bigcode" | "bloom" | "opt" | "falcon" | "starcoder2" => {
                Self { tied: true, ..two_matrices }
            }
            _ => return None,
        })
    }
}
