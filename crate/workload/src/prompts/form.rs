//! The forms of request bodies.

/// Whose requests they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// S-LoRA's `/generate_stream`.
    Slora,
    /// OpenAI's API; what only other servers of it know is sent where it was set.
    OpenAi,
    /// vLLM's server of OpenAI's API, with its own parameters.
    Vllm,
    /// AIBrix's workload file, a line a time stamp.
    Aibrix,
    /// vLLM's custom dataset, which has no times.
    VllmCustom,
}

impl Form {
    /// Every form.
    pub const ALL: [Self; 5] = [Self::Slora, Self::OpenAi, Self::Vllm, Self::Aibrix, Self::VllmCustom];

    /// The name used on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Slora => "slora",
            Self::OpenAi => "openai",
            Self::Vllm => "vllm",
            Self::Aibrix => "aibrix",
            Self::VllmCustom => "vllm_custom",
        }
    }

    /// The form called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|form| form.name() == name)
    }
}
