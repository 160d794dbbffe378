//! Every GPU; the first is the default.

use super::{Fact, Gpu, Price, PriceKind};

const fn fact(value: f64, sources: &'static str) -> Fact {
    Fact { value, sources }
}

const fn on_demand(usd_per_hour: f64, source: &'static str, what: &'static str) -> Price {
    Price { usd_per_hour, kind: PriceKind::OnDemand, source, what }
}

const fn spot(usd_per_hour: f64, source: &'static str, what: &'static str) -> Price {
    Price { usd_per_hour, kind: PriceKind::Spot, source, what }
}

const fn estimate(usd_per_hour: f64, source: &'static str, what: &'static str) -> Price {
    Price { usd_per_hour, kind: PriceKind::Estimate, source, what }
}

const fn gb(gb: f64) -> f64 {
    gb * 1e9
}

const fn gib(gib: f64) -> f64 {
    gib * 1_073_741_824.0
}

const fn mib(mib: f64) -> f64 {
    mib * 1_048_576.0
}

/// The GPUs.
pub const GPUS: [Gpu; 19] = [
    Gpu {
        id: "a100_80_sxm",
        name: "NVIDIA A100 80GB SXM4",
        bf16_tflops: fact(312.0, "aic blis genz llmv"),
        fp8_tflops: None,
        memory_gb: fact(80.0, "aic blis"),
        bandwidth_gb_s: fact(2039.0, "aic blis genz llmv"),
        link_gb_s: fact(300.0, "aic"),
        tdp_w: Some(fact(400.0, "aic")),
        memory_bytes: gib(80.0),
        prices: &[
            on_demand(2.79, "sky_lambda", "gpu_8x_a100_80gb_sxm4 22.32/8"),
            on_demand(2.4984, "tb", "Modal A100 80GB, 2026-05-07"),
            on_demand(2.21, "vidur", "CoreWeave list 2024-02-07"),
        ],
    },
    Gpu {
        id: "a100_40_sxm",
        name: "NVIDIA A100 40GB SXM4",
        bf16_tflops: fact(312.0, "llmv genz"),
        fp8_tflops: None,
        memory_gb: fact(40.0, "genz sky_lambda"),
        bandwidth_gb_s: fact(1555.0, "llmv"),
        link_gb_s: fact(300.0, "oc3d"),
        tdp_w: None,
        memory_bytes: gib(40.0),
        prices: &[
            on_demand(1.99, "sky_lambda", "gpu_1x_a100 / gpu_1x_a100_sxm4 on demand"),
            on_demand(1.48, "tb", "Lambda A100 40GB, 2026-05-07 page"),
        ],
    },
    Gpu {
        id: "a100_80_pcie",
        name: "NVIDIA A100 80GB PCIe",
        bf16_tflops: fact(312.0, "aic"),
        fp8_tflops: None,
        memory_gb: fact(80.0, "aic"),
        bandwidth_gb_s: fact(1935.0, "aic"),
        link_gb_s: fact(32.0, "aic"),
        tdp_w: Some(fact(300.0, "aic")),
        memory_bytes: gib(80.0),
        prices: &[on_demand(1.39, "sky_runpod", "1x_A100-80GB_SECURE (A100 PCIe)")],
    },
    Gpu {
        id: "h100_sxm",
        name: "NVIDIA H100 SXM5",
        bf16_tflops: fact(989.0, "aic ixa genz"),
        fp8_tflops: Some(fact(1979.0, "ixa blis")),
        memory_gb: fact(80.0, "aic ixa blis"),
        bandwidth_gb_s: fact(3350.0, "aic ixa blis"),
        link_gb_s: fact(450.0, "aic ixa genz"),
        tdp_w: Some(fact(700.0, "aic")),
        memory_bytes: gib(80.0),
        prices: &[
            on_demand(2.95, "sky_nebius", "gpu-h100-sxm 1 GPU on demand (spot 1.25)"),
            on_demand(3.78, "tb", "Lambda 1x H100 SXM, 2026-05-07"),
            on_demand(3.9492, "tb", "Modal H100, 2026-05-07"),
            on_demand(4.25, "vidur", "CoreWeave list 2024-02-07"),
            estimate(1.3, "ixc", "hyperscaler TCO"),
            estimate(1.69, "ixc", "neocloud TCO"),
        ],
    },
    Gpu {
        id: "h100_pcie",
        name: "NVIDIA H100 PCIe",
        bf16_tflops: fact(756.5, "aic"),
        fp8_tflops: Some(fact(1513.0, "aic")),
        memory_gb: fact(80.0, "aic"),
        bandwidth_gb_s: fact(2000.0, "aic"),
        link_gb_s: fact(64.0, "aic"),
        tdp_w: Some(fact(350.0, "aic")),
        memory_bytes: gib(80.0),
        prices: &[
            on_demand(3.29, "sky_lambda", "gpu_1x_h100_pcie on demand"),
            on_demand(2.86, "tb", "Lambda 1x H100 PCIe, 2026-05-07"),
        ],
    },
    Gpu {
        id: "h200_sxm",
        name: "NVIDIA H200 SXM",
        bf16_tflops: fact(989.0, "aic ixa"),
        fp8_tflops: Some(fact(1979.0, "ixa")),
        memory_gb: fact(141.0, "ixa aic"),
        bandwidth_gb_s: fact(4800.0, "aic ixa"),
        link_gb_s: fact(450.0, "aic ixa"),
        tdp_w: Some(fact(700.0, "aic")),
        memory_bytes: gib(141.0),
        prices: &[
            on_demand(3.5, "sky_nebius", "gpu-h200-sxm 1 GPU on demand (spot 1.45)"),
            estimate(1.41, "ixc", "hyperscaler TCO"),
            estimate(1.74, "ixc", "neocloud TCO"),
        ],
    },
    Gpu {
        id: "b200_sxm",
        name: "NVIDIA B200 SXM (HGX)",
        bf16_tflops: fact(2250.0, "aic ixa"),
        fp8_tflops: Some(fact(4500.0, "aic ixa")),
        memory_gb: fact(180.0, "aic ixa"),
        bandwidth_gb_s: fact(8000.0, "ixa"),
        link_gb_s: fact(900.0, "aic ixa"),
        tdp_w: Some(fact(1000.0, "aic")),
        memory_bytes: gb(180.0),
        prices: &[
            on_demand(6.99, "sky_lambda", "gpu_1x_b200_sxm6 on demand"),
            on_demand(6.69, "sky_lambda", "gpu_8x_b200_sxm6 53.52/8"),
            on_demand(5.5, "sky_nebius", "8x B200 44.00/8"),
            estimate(1.95, "ixc", "hyperscaler TCO"),
            estimate(2.34, "ixc", "neocloud TCO"),
        ],
    },
    Gpu {
        id: "b300_sxm",
        name: "NVIDIA B300 SXM",
        bf16_tflops: fact(2250.0, "aic ixa"),
        fp8_tflops: Some(fact(4500.0, "aic ixa")),
        memory_gb: fact(268.0, "ixa"),
        bandwidth_gb_s: fact(8000.0, "ixa"),
        link_gb_s: fact(900.0, "aic ixa"),
        tdp_w: Some(fact(1100.0, "aic")),
        memory_bytes: mib(275_040.0),
        prices: &[estimate(2.34, "ixc", "hyperscaler TCO, marked temporary (1.2 x B200) by the source")],
    },
    Gpu {
        id: "gb200_nvl72",
        name: "NVIDIA GB200 NVL72 (per GPU)",
        bf16_tflops: fact(2500.0, "aic ixa"),
        fp8_tflops: Some(fact(5000.0, "aic ixa")),
        memory_gb: fact(192.0, "ixa"),
        bandwidth_gb_s: fact(8000.0, "aic ixa genz"),
        link_gb_s: fact(900.0, "aic ixa"),
        tdp_w: Some(fact(1200.0, "aic")),
        memory_bytes: mib(189_471.0),
        prices: &[estimate(2.21, "ixc", "hyperscaler TCO"), estimate(2.75, "ixc", "neocloud TCO")],
    },
    Gpu {
        id: "gb300_nvl72",
        name: "NVIDIA GB300 NVL72 (per GPU)",
        bf16_tflops: fact(2500.0, "aic ixa"),
        fp8_tflops: Some(fact(5000.0, "aic ixa")),
        memory_gb: fact(288.0, "ixa"),
        bandwidth_gb_s: fact(8000.0, "aic ixa"),
        link_gb_s: fact(900.0, "aic ixa"),
        tdp_w: Some(fact(1400.0, "aic")),
        memory_bytes: gb(288.0),
        prices: &[estimate(2.652, "ixc", "hyperscaler TCO, marked temporary by the source")],
    },
    Gpu {
        id: "a10",
        name: "NVIDIA A10",
        bf16_tflops: fact(125.0, "quoted"),
        fp8_tflops: None,
        memory_gb: fact(24.0, "bt zest"),
        bandwidth_gb_s: fact(600.0, "bt zest"),
        link_gb_s: fact(32.0, "pcie4"),
        tdp_w: Some(fact(150.0, "zest")),
        memory_bytes: gb(24.0),
        prices: &[
            on_demand(1.29, "sky_lambda", "gpu_1x_a10 on demand"),
            on_demand(0.86, "tb", "Lambda A10, 2026-05-07"),
        ],
    },
    Gpu {
        id: "a10g",
        name: "NVIDIA A10G (AWS)",
        bf16_tflops: fact(70.0, "quoted"),
        fp8_tflops: None,
        memory_gb: fact(24.0, "bt"),
        bandwidth_gb_s: fact(600.0, "bt"),
        link_gb_s: fact(32.0, "pcie4"),
        tdp_w: None,
        memory_bytes: gb(24.0),
        prices: &[],
    },
    Gpu {
        id: "a40",
        name: "NVIDIA A40",
        bf16_tflops: fact(149.7, "llmv ecer"),
        fp8_tflops: None,
        memory_gb: fact(48.0, "ecer"),
        bandwidth_gb_s: fact(696.0, "llmv ecer"),
        link_gb_s: fact(56.25, "ecer"),
        tdp_w: Some(fact(300.0, "ecer")),
        memory_bytes: gb(48.0),
        prices: &[on_demand(1.28, "vidur", "CoreWeave list 2024-02-07")],
    },
    Gpu {
        id: "l4",
        name: "NVIDIA L4",
        bf16_tflops: fact(121.0, "aic"),
        fp8_tflops: Some(fact(242.0, "aic")),
        memory_gb: fact(24.0, "aic"),
        bandwidth_gb_s: fact(300.0, "aic"),
        link_gb_s: fact(32.0, "aic"),
        tdp_w: Some(fact(72.0, "aic")),
        memory_bytes: gb(24.0),
        prices: &[on_demand(0.7992, "tb", "Modal L4, 2026-05-07")],
    },
    Gpu {
        id: "l40s",
        name: "NVIDIA L40S",
        bf16_tflops: fact(362.05, "aic blis"),
        fp8_tflops: Some(fact(733.0, "aic")),
        memory_gb: fact(48.0, "blis"),
        bandwidth_gb_s: fact(864.0, "aic blis"),
        link_gb_s: fact(32.0, "aic"),
        tdp_w: Some(fact(350.0, "aic")),
        memory_bytes: mib(46_068.0),
        prices: &[
            on_demand(1.5484, "sky_nebius", "gpu-l40s-a 1 GPU 8 vCPU on demand"),
            on_demand(1.9512, "tb", "Modal L40S, 2026-05-07"),
        ],
    },
    Gpu {
        id: "rtx4090",
        name: "NVIDIA GeForce RTX 4090",
        bf16_tflops: fact(165.15, "waredb"),
        fp8_tflops: Some(fact(330.3, "waredb")),
        memory_gb: fact(24.0, "waredb r4090"),
        bandwidth_gb_s: fact(1008.0, "waredb r4090"),
        link_gb_s: fact(32.0, "pcie4"),
        tdp_w: Some(fact(450.0, "r4090")),
        memory_bytes: gb(24.0),
        prices: &[on_demand(0.6, "db", "page's on-demand figure"), spot(0.34, "db", "page's spot figure")],
    },
    Gpu {
        id: "mi300x",
        name: "AMD Instinct MI300X",
        bf16_tflops: fact(1307.0, "ixa genz"),
        fp8_tflops: Some(fact(2615.0, "ixa")),
        memory_gb: fact(192.0, "ixa genz"),
        bandwidth_gb_s: fact(5300.0, "ixa genz"),
        link_gb_s: fact(448.0, "ixa"),
        tdp_w: Some(fact(750.0, "gpublog yob")),
        memory_bytes: gb(192.0),
        prices: &[
            on_demand(1.71, "gpublog", "TensorWave"),
            on_demand(1.85, "gpublog", "Vultr"),
            estimate(1.12, "ixc", "hyperscaler TCO"),
            estimate(1.4, "ixc", "neocloud TCO"),
        ],
    },
    Gpu {
        id: "mi325x",
        name: "AMD Instinct MI325X",
        bf16_tflops: fact(1307.4, "awes ixa"),
        fp8_tflops: Some(fact(2614.9, "awes ixa")),
        memory_gb: fact(256.0, "ixa awes"),
        bandwidth_gb_s: fact(6000.0, "ixa awes"),
        link_gb_s: fact(448.0, "ixa"),
        tdp_w: Some(fact(1000.0, "yob")),
        memory_bytes: gb(256.0),
        prices: &[
            on_demand(2.0, "awes", "low end of quoted cloud rental range 2.00-2.25"),
            estimate(1.28, "ixc", "hyperscaler TCO"),
            estimate(1.59, "ixc", "neocloud TCO"),
        ],
    },
    Gpu {
        id: "mi355x",
        name: "AMD Instinct MI355X",
        bf16_tflops: fact(2516.0, "ixa"),
        fp8_tflops: Some(fact(5033.0, "ixa")),
        memory_gb: fact(288.0, "ixa"),
        bandwidth_gb_s: fact(8000.0, "ixa"),
        link_gb_s: fact(576.0, "ixa"),
        tdp_w: None,
        memory_bytes: gb(288.0),
        prices: &[estimate(1.48, "ixc", "hyperscaler TCO"), estimate(1.9, "ixc", "neocloud TCO")],
    },
];
