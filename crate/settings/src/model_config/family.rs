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
}

/// What models of one class have in common.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ModelFamily {
    /// Whether an MLP has a gate.
    pub(super) gated: bool,
    /// Whether the head is the embedding where the file does not say.
    pub(super) tied: bool,
    /// Layers with a window.
    pub(super) windows: Windows,
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
];

impl ModelFamily {
    /// As Llama has it.
    pub(super) const LLAMA: Self = Self { gated: true, tied: false, windows: Windows::All };

    /// The class of that `model_type`.
    pub(super) fn named(model_type: &str) -> Option<Self> {
        let tied = Self { tied: true, ..Self::LLAMA };
        let two_matrices = Self { gated: false, ..Self::LLAMA };
        Some(match model_type {
            name if GATED.contains(&name) => Self::LLAMA,
            name if GATED_QWEN.contains(&name) => Self { windows: Windows::Off, ..Self::LLAMA },
            "gpt_oss" => Self { windows: Windows::Every(2.0), ..Self::LLAMA },
            "gemma" | "cohere" | "smollm3" | "ernie4_5" | "ernie4_5_moe" => tied,
            "olmo3" | "exaone4" => Self { windows: Windows::Every(4.0), ..Self::LLAMA },
            "gemma2" => Self { windows: Windows::Every(2.0), ..tied },
            "gemma3" | "gemma3_text" => Self { windows: Windows::Every(6.0), ..tied },
            "cohere2" => Self { windows: Windows::Every(4.0), ..tied },
            "phi" | "gpt_neox" | "gptj" | "nemotron" => two_matrices,
            "gpt2" | "gpt_bigcode" | "bloom" | "opt" | "falcon" | "starcoder2" => {
                Self { tied: true, ..two_matrices }
            }
            _ => return None,
        })
    }
}
