//! Where the figures of GPUs and models come from. Facts only; no code or text of these.

/// Keys and what they stand for.
pub const SOURCES: &[(&str, &str)] = &[
    (
        "aic",
        "NVIDIA AIConfigurator system descriptions (aic-core/.../systems/*.yaml), repo ai-dynamo/aiconfigurator @095f58a (2026-08-21)",
    ),
    (
        "ixa",
        "InferenceX-app GPU spec table (packages/app/src/lib/gpu-specs.ts), repo SemiAnalysisAI/InferenceX-app @77ca49a (2026-04-03)",
    ),
    (
        "ixc",
        "InferenceX-app cost constants (packages/app/src/lib/constants.ts) @77ca49a (2026-04-03): SemiAnalysis TCO model, USD per GPU-hour",
    ),
    ("blis", "BLIS hardware_config.json, repo inference-sim/inference-sim @f90a1e3 (2026-08-22)"),
    (
        "llmv",
        "LLM-Viewer hardwares/hardware_params.py, repo hahnyuan/LLM-Viewer @472f71f (2024-07-30); cites NVIDIA whitepapers",
    ),
    (
        "genz",
        "GenZ Systems/system_configs.py and GenZ/Models/Model_sets, repo abhibambhaniya/GenZ-LLM-Analyzer @091bdd0 (2026-07-29); cites the Hugging Face config.json of each model",
    ),
    (
        "vidur",
        "Vidur SKU configs and analyzer constants (CoreWeave list prices of 2024-02-07), repo microsoft/vidur @7d47513",
    ),
    ("sky_lambda", "SkyPilot catalog v8 lambda/vms.csv @0f40703 (stored version, date not recorded)"),
    (
        "sky_runpod",
        "SkyPilot catalog v8 runpod/vms.csv @01acdfd (stored version, date not recorded; only its first rows read)",
    ),
    ("sky_nebius", "SkyPilot catalog v8 nebius/vms.csv @0082b04 (stored version, date not recorded)"),
    (
        "tb",
        "techbytes.app serverless GPU pricing matrix, prices dated 2026-05-07 (Lambda, Modal list prices)",
    ),
    ("db", "deploybase.ai RunPod pricing guide, dated 2026-03-10"),
    ("gpublog", "gpu.blog Instinct MI300X page"),
    ("awes", "awesomeagents.ai AMD MI325X page"),
    ("yob", "yobitel.com AMD MI325X page"),
    ("ecer", "ecer.com reproduction of the NVIDIA A40 data sheet"),
    ("bt", "baseten.co A10 vs A10G article"),
    ("zest", "zestb.com / 27nk.com T4-vs-A10 tables (A10 TDP 150 W)"),
    ("waredb", "waredb.com GeForce RTX 4090 page (tensor peaks with FP32 accumulate; dense)"),
    ("r4090", "RTX 4090 spec list, holynerdvana.blogspot.com 2022-11-01 (24 GB, 1008 GB/s, 450 W)"),
    (
        "rtxpro",
        "NVIDIA data sheet of the RTX PRO 6000 Blackwell, 3519208 (96 GB, 1792 GB/s, 600 W), as copied in atineoSE/coding-model-seeks-gpu",
    ),
    ("oc3d", "overclock3d.net A100 article (NVLink 600 GB/s total)"),
    ("hfcfg_aic", "Hugging Face config.json copies shipped in ai-dynamo/aiconfigurator @095f58a"),
    ("hfcfg_blis", "Hugging Face config.json copies shipped in inference-sim/inference-sim @f90a1e3"),
    ("hfcfg_ome", "Hugging Face config.json copies in the test data of sgl-project/ome"),
    ("hfcfg_pub", "Hugging Face config.json copies in tests and documents of other public projects"),
    (
        "hfcfg_llmprof",
        "Hugging Face config.json copies in citsjtu2020/LLM-Prof @8434c8d, sglang/Model_Config.md",
    ),
    ("hfcfg_page", "Hugging Face config.json pages naming Qwen2.5-72B(-Instruct) as base"),
    ("quoted", "widely quoted; not read from a source of the vendor's"),
    (
        "eth100",
        "a node of eight cards that share 100 Gb/s Ethernet, as AWS g5.48xlarge; our assumption for cards without a fabric",
    ),
    ("pcie4", "PCIe Gen4 x16, as the other cards without a bridge in this table"),
    ("bloom", "Le Scao et al., BLOOM, arXiv 2211.05100"),
    ("opt", "Zhang et al., OPT, arXiv 2205.01068"),
];

/// What a key stands for.
pub fn source(key: &str) -> Option<&'static str> {
    SOURCES.iter().find(|(known, _)| *known == key).map(|(_, what)| *what)
}

/// A source of prices as a table names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PriceSource {
    /// Its key.
    pub key: &'static str,
    /// A short name.
    pub name: &'static str,
    /// The day of which its prices are, as YYYY-MM-DD; `None` where the source does not say.
    pub date: Option<&'static str>,
}

/// Sources that have prices.
pub const PRICE_SOURCES: &[PriceSource] = &[
    PriceSource { key: "sky_lambda", name: "Lambda, SkyPilot catalog", date: None },
    PriceSource { key: "sky_runpod", name: "RunPod, SkyPilot catalog", date: None },
    PriceSource { key: "sky_nebius", name: "Nebius, SkyPilot catalog", date: None },
    PriceSource { key: "tb", name: "techbytes.app", date: Some("2026-05-07") },
    PriceSource { key: "vidur", name: "CoreWeave list, in Vidur", date: Some("2024-02-07") },
    PriceSource { key: "ixc", name: "SemiAnalysis TCO model, in InferenceX", date: Some("2026-04-03") },
    PriceSource { key: "db", name: "deploybase.ai", date: Some("2026-03-10") },
    PriceSource { key: "gpublog", name: "gpu.blog", date: None },
    PriceSource { key: "awes", name: "awesomeagents.ai", date: None },
];

/// The source of prices with a key.
pub fn price_source(key: &str) -> Option<&'static PriceSource> {
    PRICE_SOURCES.iter().find(|source| source.key == key)
}
