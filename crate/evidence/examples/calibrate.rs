//! Calibrates what surrounds kernels by coordinate descent on the clean deployments of an engine of even hash, and prints the errors
//! on both halves.
//!
//! `cargo run --release -p servescope-evidence --example calibrate -- silicon_a.csv [ROUNDS [FOLDER [ENGINE]]]`; the folder has other tables
//! than those in `static/profiles` (- for those), as `servescope profile import` writes them; the engine is vllm, sglang or trtllm.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::thread::scope;

use servescope_cost::kernels::{Kernels, NumberFormat};
use servescope_evidence::silicon::{Constants, SiliconRow, errors, predict_with, read};
use servescope_settings::kernels::KernelEngine;

/// Steps of a constant, as shares of it, from coarse to fine.
const STEPS: [f64; 3] = [0.2, 0.08, 0.03];

/// A step that gains less is not taken: a constant that hardly counts stays where it is.
const LEAST_GAIN: f64 = 1e-4;

/// A constant by its name.
type Named = (&'static str, fn(&mut Constants) -> &mut f64);

const NAMED: [Named; 19] = [
    ("layer_us", |c| &mut c.overheads.layer_us),
    ("expert_layer_us", |c| &mut c.overheads.expert_layer_us),
    ("experts_bf16", |c| experts(c, NumberFormat::Bf16)),
    ("experts_fp8_block", |c| experts(c, NumberFormat::Fp8Block)),
    ("experts_nvfp4", |c| experts(c, NumberFormat::Nvfp4)),
    ("experts_mxfp4", |c| experts(c, NumberFormat::Mxfp4)),
    ("experts_mxfp4_fp8", |c| experts(c, NumberFormat::Mxfp4Fp8)),
    ("experts_int4", |c| experts(c, NumberFormat::Int4)),
    ("older_experts", |c| &mut c.older_experts),
    ("iteration_us", |c| &mut c.overheads.iteration_us),
    ("request_us", |c| &mut c.overheads.request_us),
    ("eager_layer_us", |c| &mut c.overheads.eager_layer_us),
    ("eager_expert_layer_us", |c| &mut c.overheads.eager_expert_layer_us),
    ("decode_factor", |c| &mut c.overheads.decode_factor),
    ("collective_us", |c| &mut c.overheads.collective_us),
    ("synchronous_us", |c| &mut c.synchronous.iteration_us),
    ("synchronous_request_us", |c| &mut c.synchronous.request_us),
    ("client_ms", |c| &mut c.client_ms),
    ("client_ms_per_token", |c| &mut c.client_ms_per_token),
];

fn experts(constants: &mut Constants, format: NumberFormat) -> &mut f64 {
    &mut constants.overheads.expert_factors[format as usize]
}

/// Tables of a folder.
static TABLES: OnceLock<BTreeMap<String, Kernels>> = OnceLock::new();

fn table(gpu: &str) -> Option<&'static Kernels> {
    TABLES.get().and_then(|tables| tables.get(gpu))
}

fn tables(folder: &PathBuf) -> Result<BTreeMap<String, Kernels>, String> {
    let mut tables = BTreeMap::new();
    for entry in std::fs::read_dir(folder).map_err(|error| error.to_string())? {
        let path = entry.map_err(|error| error.to_string())?.path();
        if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("kernels_")) {
            let kernels = Kernels::read(&std::fs::read_to_string(&path).map_err(|error| error.to_string())?)?;
            tables.insert(kernels.gpu.clone(), kernels);
        }
    }
    Ok(tables)
}

/// Predicted and measured TTFT, and the same of TPOT.
type Pairs = [Vec<(f64, f64)>; 2];

fn pairs(rows: &[&SiliconRow], constants: &Constants) -> Pairs {
    let half = |rows: &[&SiliconRow]| -> Vec<[(f64, f64); 2]> {
        let answers = rows.iter().filter_map(|row| Some((row, predict_with(row, constants).ok()?)));
        answers.map(|(row, own)| [(own.ttft_ms, row.ttft_ms), (own.tpot_ms, row.tpot_ms)]).collect()
    };
    let (left, right) = rows.split_at(rows.len() / 2);
    let found = scope(|threads| {
        let other = threads.spawn(|| half(left));
        let own = half(right);
        other.join().map(|mut found| {
            found.extend(own);
            found
        })
    });
    let found = found.unwrap_or_default();
    [0, 1].map(|which| found.iter().map(|both| both[which]).collect())
}

/// What is made small: the mean error of both times, where no row counts for more than its own size.
fn cost(pairs: &Pairs) -> f64 {
    let mean = |pairs: &[(f64, f64)]| {
        let shares = pairs.iter().map(|(own, measured)| (own / measured - 1.0).abs().min(1.0));
        shares.sum::<f64>() / pairs.len() as f64
    };
    mean(&pairs[0]) + mean(&pairs[1])
}

fn error_line(name: &str, pairs: &Pairs) -> String {
    let of = |pairs: &[(f64, f64)]| {
        errors(pairs).map_or_else(String::new, |e| {
            format!(
                "median {:.1} % mean {:.1} % bias {:+.1} %",
                100.0 * e.median,
                100.0 * e.mean,
                100.0 * e.bias
            )
        })
    };
    format!("{name}: TTFT {}; TPOT {}", of(&pairs[0]), of(&pairs[1]))
}

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let path = arguments.first().ok_or("the file of measured deployments is missing")?;
    let engine = match arguments.get(3).map(String::as_str) {
        None | Some("vllm") => KernelEngine::Vllm,
        Some("sglang") => KernelEngine::Sglang,
        Some("trtllm") => KernelEngine::TensorRtLlm,
        Some(other) => return Err(format!("{other}: an engine is vllm, sglang or trtllm")),
    };
    let rounds =
        arguments.get(1).map_or(Ok(1), |text| text.parse::<usize>()).map_err(|error| error.to_string())?;
    let mut constants = Constants::of(engine);
    if let Some(folder) = arguments.get(2).filter(|folder| *folder != "-") {
        TABLES.set(tables(&PathBuf::from(folder))?).map_err(|_| "tables were read twice")?;
        constants.kernels = table;
    }
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let rows = read(&text).map_err(|error| error.to_string())?;
    let is_taken = |row: &&SiliconRow| row.is_clean() && row.engine() == engine && row.mode == "agg";
    let (left_out, open): (Vec<&SiliconRow>, Vec<&SiliconRow>) =
        rows.iter().filter(is_taken).partition(|row| row.is_left_out());
    let show = |constants: &Constants| {
        println!("{}", error_line("even", &pairs(&open, constants)));
        println!("{}", error_line("odd ", &pairs(&left_out, constants)));
    };
    show(&constants);
    let mut best = cost(&pairs(&open, &constants));
    for round in 0..rounds {
        for (name, field) in NAMED {
            for share in [1.0, -1.0].map(|sign| sign * STEPS[round.min(STEPS.len() - 1)]) {
                loop {
                    let mut tried = constants;
                    *field(&mut tried) *= 1.0 + share;
                    let found = cost(&pairs(&open, &tried));
                    if found >= best - LEAST_GAIN {
                        break;
                    }
                    (best, constants) = (found, tried);
                    println!("{name} {:.5}: {best:.5}", field(&mut constants));
                }
            }
        }
    }
    for (name, field) in NAMED {
        println!("{name} {:.6}", field(&mut constants));
    }
    show(&constants);
    Ok(())
}
