//! The measured kernels in `static/profiles`, one file a GPU, and what surrounds kernels in an iteration.

mod checkpoint;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use servescope_cost::kernels::{KernelCost, Kernels, Layout, MissingTable, Overheads};

pub use checkpoint::CheckpointFormat;

use crate::shipped::{Shipped, shipped_file};

/// The serving engine whose kernels run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KernelEngine {
    /// vLLM, and every engine that has none of its own.
    Vllm,
    /// SGLang.
    Sglang,
    /// TensorRT-LLM.
    TensorRtLlm,
}

/// Measured kernels by their engine and the id of their GPU. The files of other engines than vLLM hold its tables of what their own
/// engine has not timed.
static SHIPPED: [(KernelEngine, &str, Shipped<Kernels>); 19] = [
    (KernelEngine::Vllm, "a100_80_sxm", shipped_file!("kernels_a100_80_sxm")),
    (KernelEngine::Vllm, "b200_sxm", shipped_file!("kernels_b200_sxm")),
    (KernelEngine::Vllm, "b300_sxm", shipped_file!("kernels_b300_sxm")),
    (KernelEngine::Vllm, "gb200_nvl72", shipped_file!("kernels_gb200_nvl72")),
    (KernelEngine::Vllm, "gb300_nvl72", shipped_file!("kernels_gb300_nvl72")),
    (KernelEngine::Vllm, "h100_sxm", shipped_file!("kernels_h100_sxm")),
    (KernelEngine::Vllm, "h200_sxm", shipped_file!("kernels_h200_sxm")),
    (KernelEngine::Vllm, "l40s", shipped_file!("kernels_l40s")),
    (KernelEngine::Vllm, "rtx_pro_6000", shipped_file!("kernels_rtx_pro_6000")),
    (KernelEngine::Sglang, "a100_80_sxm", shipped_file!("sglang_kernels_a100_80_sxm")),
    (KernelEngine::Sglang, "b200_sxm", shipped_file!("sglang_kernels_b200_sxm")),
    (KernelEngine::Sglang, "gb200_nvl72", shipped_file!("sglang_kernels_gb200_nvl72")),
    (KernelEngine::Sglang, "h100_sxm", shipped_file!("sglang_kernels_h100_sxm")),
    (KernelEngine::Sglang, "h200_sxm", shipped_file!("sglang_kernels_h200_sxm")),
    (KernelEngine::TensorRtLlm, "a100_80_sxm", shipped_file!("trtllm_kernels_a100_80_sxm")),
    (KernelEngine::TensorRtLlm, "b200_sxm", shipped_file!("trtllm_kernels_b200_sxm")),
    (KernelEngine::TensorRtLlm, "gb200_nvl72", shipped_file!("trtllm_kernels_gb200_nvl72")),
    (KernelEngine::TensorRtLlm, "h100_sxm", shipped_file!("trtllm_kernels_h100_sxm")),
    (KernelEngine::TensorRtLlm, "h200_sxm", shipped_file!("trtllm_kernels_h200_sxm")),
];

/// The file of an engine's kernels on a GPU, or vLLM's.
fn shipped(engine: KernelEngine, gpu: &str) -> Option<&'static Shipped<Kernels>> {
    let of = |engine| SHIPPED.iter().find(|(of, id, _)| *of == engine && *id == gpu).map(|(.., own)| own);
    of(engine).or_else(|| of(KernelEngine::Vllm))
}

fn read(text: &str) -> Option<Kernels> {
    Kernels::read(text).ok()
}

/// What surrounds kernels, calibrated on the measured deployments of even hash: vLLM that schedules the next iteration while one
/// runs.
pub const CALIBRATED: Overheads = Overheads {
    layer_us: 8.6,
    expert_layer_us: 0.54,
    // bf16, fp8, fp8_block, nvfp4, MXFP4 at 16 and at 8 bits, int4.
    expert_factors: [1.3, 1.3, 1.3, 1.76, 2.0, 0.69, 1.3],
    iteration_us: 130.0,
    request_us: 0.85,
    eager_layer_us: 400.0,
    eager_expert_layer_us: 1230.0,
    decode_factor: 1.02,
    prompt_factor: 1.0,
    mixed_decode_factor: 1.6,
    collective_us: 3.2,
    one_token_decodes: true,
};

/// The same of SGLang. Descent on its even rows ran off for experts in NVFP4, whose rows have pauses of seconds, so theirs is vLLM's.
pub const SGLANG: Overheads = Overheads {
    layer_us: 20.0,
    expert_layer_us: 0.23,
    expert_factors: [1.3, 1.3, 1.36, 1.76, 2.0, 0.69, 1.3],
    iteration_us: 130.0,
    request_us: 8.0,
    eager_layer_us: 44.0,
    eager_expert_layer_us: 650.0,
    decode_factor: 1.02,
    prompt_factor: 1.0,
    mixed_decode_factor: 1.6,
    collective_us: 1.0,
    one_token_decodes: false,
};

/// The same of TensorRT-LLM, under vLLM's scheduler in its place. Factors of experts were held at 0.6 where descent asked for less: no
/// kernel is that much faster in a server than alone.
pub const TENSORRT_LLM: Overheads = Overheads {
    layer_us: 0.6,
    expert_layer_us: 0.43,
    expert_factors: [1.3, 1.3, 0.6, 0.97, 2.0, 0.6, 1.3],
    iteration_us: 43.0,
    request_us: 0.68,
    eager_layer_us: 400.0,
    eager_expert_layer_us: 2130.0,
    decode_factor: 0.94,
    prompt_factor: 1.0,
    mixed_decode_factor: 1.6,
    collective_us: 0.22,
    one_token_decodes: false,
};

/// What surrounds the kernels of an engine.
pub fn overheads(engine: KernelEngine) -> Overheads {
    match engine {
        KernelEngine::Vllm => CALIBRATED,
        KernelEngine::Sglang => SGLANG,
        KernelEngine::TensorRtLlm => TENSORRT_LLM,
    }
}

/// Kernels of iterations with prompts on an A100 over those timed alone for a moment: AIBrix's regression has 2.7 s for a prompt of
/// 21,073 tokens of Llama-3.1-8B that the kernels alone take 1.8 s for.
const A100_PROMPTS: f64 = 1.4;

/// What differs where an iteration is scheduled when the one before it has ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Synchronous {
    /// Host time of an iteration, microseconds, in place of that of [`CALIBRATED`].
    pub iteration_us: f64,
    /// The same for each request in it.
    pub request_us: f64,
    /// How many times as long launching a layer takes: versions of vLLM that schedule so by default are older.
    pub launches: f64,
}

/// Calibrated like [`CALIBRATED`].
pub const SYNCHRONOUS: Synchronous = Synchronous { iteration_us: 1600.0, request_us: 0.5, launches: 1.35 };

/// The kernels of an engine on a GPU of the catalogue, where there are some; none too while [`missing_table`] names their file.
pub fn kernels(engine: KernelEngine, gpu: &str) -> Option<&'static Kernels> {
    shipped(engine, gpu)?.get(read)
}

/// The file in `static/profiles`, without its ending, that has to be handed over before there are kernels of the engine on the GPU.
pub(crate) fn missing_table(engine: KernelEngine, gpu: &str) -> Option<&'static str> {
    shipped(engine, gpu).filter(|own| own.is_missing()).map(|own| own.file)
}

/// Takes the text of a file that [`missing_table`] has named. False where that is no such file, or not its text.
pub(crate) fn take(file: &str, text: &str) -> bool {
    SHIPPED.iter().any(|(.., own)| own.file == file && own.take(text, read))
}

/// The formats of weights whose kernels were measured: a line for the GPU and the model, `*` for the models that no line names.
const LAYOUTS: &str = include_str!("kernels/layouts.txt");

/// The same by GPU and model. Many defaults ask for it each time that a scenario is resolved, so the text is read once.
static MEASURED: LazyLock<BTreeMap<(&str, &str), Vec<&str>>> = LazyLock::new(|| {
    let formats = |line: &'static str| {
        let mut cells = line.split_whitespace();
        Some(((cells.next()?, cells.next()?), cells.collect()))
    };
    LAYOUTS.lines().filter_map(formats).collect()
});

/// Whether kernels of a model with such weights were measured on a GPU. It is known before the tables are here.
pub fn were_measured(gpu: &str, model: &str, weights: &str) -> bool {
    let measured: &BTreeMap<(&str, &str), Vec<&str>> = &MEASURED;
    let of = |model| measured.get(&(gpu, model)).map(|formats| formats.contains(&weights));
    of(model).or_else(|| of("*")).unwrap_or(false)
}

/// The ids of the GPUs that have measured kernels.
pub fn gpus() -> impl Iterator<Item = &'static str> {
    SHIPPED.iter().filter(|(engine, ..)| *engine == KernelEngine::Vllm).map(|(_, id, _)| *id)
}

/// Iteration times of a layout.
///
/// # Errors
/// Names the table that is missing.
pub fn cost(
    layout: Layout,
    kernels: &Kernels,
    overheads: Overheads,
    synchronous: Option<Synchronous>,
) -> Result<KernelCost, MissingTable> {
    let mut overheads = overheads;
    if let Some(own) = synchronous {
        (overheads.iteration_us, overheads.request_us) = (own.iteration_us, own.request_us);
        overheads.eager_layer_us *= own.launches;
        overheads.eager_expert_layer_us *= own.launches;
    }
    if layout.gpu.id.starts_with("a100") {
        overheads.prompt_factor = A100_PROMPTS;
    }
    KernelCost::new(layout, kernels, overheads)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_of_its_gpu() {
        for (engine, gpu, own) in &SHIPPED {
            assert!(own.file.ends_with(&format!("kernels_{gpu}")), "{}", own.file);
            let kernels = kernels(*engine, gpu).unwrap();
            assert_eq!(kernels.gpu, *gpu);
            assert!(kernels.tables.len() > 100 && own.text().len() < 250_000, "{gpu}");
        }
    }

    #[test]
    fn the_line_of_a_model_goes_before_that_of_all_others() {
        assert!(were_measured("a100_80_sxm", "llama-3.1-8b", "bf16"));
        assert!(!were_measured("a100_80_sxm", "llama-3.1-8b", "fp8"));
        assert!(!were_measured("a100_80_sxm", "mixtral-8x7b", "bf16"));
        assert!(!were_measured("no_gpu", "llama-3.1-8b", "bf16"));
    }
}
