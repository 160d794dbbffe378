//! The expected errors of a run: of the rows that no constant was calibrated on.

use std::collections::BTreeMap;

use servescope_cost::{Gpu, Model};
use servescope_settings::kernels::KernelEngine;

use super::errors::errors;
use super::file::SiliconRow;
use super::predict::{PredictedLatency, predict_with};
use super::server::{Constants, TimeSource, deployed};

/// Fewer rows say too little.
const FEWEST: usize = 5;

/// The errors by iteration-time model, GPU and model, as a run looks them up: of vLLM's and SGLang's aggregated rows without
/// duplicates and suspects, and of these only the ones that were left out of calibration. At the end, the models whose rows of vLLM are
/// doubted.
pub fn expected_errors(rows: &[SiliconRow]) -> String {
    let of_engine = |engine| -> Vec<&SiliconRow> {
        rows.iter().filter(|row| row.is_clean() && row.engine() == engine && row.mode == "agg").collect()
    };
    let modelled = Constants { kernels: |_| None, ..Constants::CALIBRATED };
    let measured: &[TimeSource] = &[TimeSource::Kernels, TimeSource::Interpolated];
    let (vllm, sglang) = (KernelEngine::Vllm, KernelEngine::Sglang);
    let sources = [
        ("kernels", vllm, Constants::of(vllm), measured),
        ("roofline", vllm, modelled, &[TimeSource::Roofline]),
        ("sglang_kernels", sglang, Constants::of(sglang), measured),
    ];
    let mut lines = Vec::new();
    for (source, engine, constants, of) in sources {
        let mut groups: BTreeMap<[&str; 2], Vec<(&SiliconRow, PredictedLatency)>> = BTreeMap::new();
        for row in of_engine(engine).into_iter().filter(|row| row.is_left_out()) {
            let Ok(answer) = predict_with(row, &constants) else { continue };
            let Some([gpu, model]) = deployed(row).filter(|_| of.contains(&answer.times)) else { continue };
            for key in [[gpu, model], [gpu, "*"], ["*", model], ["*", "*"]] {
                groups.entry(key).or_default().push((row, answer));
            }
        }
        groups.retain(|_, group| group.len() >= FEWEST);
        lines.extend(groups.iter().map(|(key, group)| line(source, *key, group)));
    }
    lines.extend(doubted(&of_engine(vllm)));
    lines.join("\n") + "\n"
}

/// A row that computes at more than this share of its GPUs' peak is doubted, and with it all of its model.
const DOUBTED: f64 = 0.5;

/// The share of the peak FLOP/s of its GPUs at which a row computes, prompts and outputs together.
fn share_of_peak(row: &SiliconRow) -> Option<f64> {
    let [gpu, model] = deployed(row)?;
    let (gpu, model) = (Gpu::named(gpu)?, Model::named(model)?);
    let peak = gpu.fp8_tflops.unwrap_or(gpu.bf16_tflops).value * 1e12;
    let gpus = row.layout.gpus();
    let request_s = (row.ttft_ms + row.tpot_ms * f64::from(row.output_tokens.max(1) - 1)) / 1e3;
    let tokens_per_s =
        f64::from(row.in_flight?) * f64::from(row.input_tokens + row.output_tokens) / request_s;
    Some(2.0 * model.active_parameters() * tokens_per_s / (f64::from(gpus) * peak))
}

/// The models whose rows are doubted: a line with the rows, the errors against them, the largest share of the peak among them, and
/// that among the rows of all other models.
fn doubted(rows: &[&SiliconRow]) -> Vec<String> {
    let mut largest: BTreeMap<&str, f64> = BTreeMap::new();
    for row in rows {
        if let Some(([_, model], share)) = deployed(row).zip(share_of_peak(row)) {
            let most = largest.entry(model).or_default();
            *most = most.max(share);
        }
    }
    let other = largest.values().copied().filter(|&share| share <= DOUBTED).fold(0.0, f64::max);
    let of = |(model, share): (&&str, &f64)| {
        let group: Vec<(&SiliconRow, PredictedLatency)> = rows
            .iter()
            .filter(|row| deployed(row).is_some_and(|[_, of]| of == *model))
            .filter_map(|row| Some((*row, predict_with(row, &Constants::CALIBRATED).ok()?)))
            .collect();
        format!("{} {share:.2} {other:.2}", line("doubted", ["*", model], &group))
    };
    largest.iter().filter(|(_, share)| **share > DOUBTED).map(of).collect()
}

fn line(source: &str, [gpu, model]: [&str; 2], group: &[(&SiliconRow, PredictedLatency)]) -> String {
    let median = |ours: fn(&PredictedLatency) -> f64, measured: fn(&SiliconRow) -> f64| {
        let pairs: Vec<_> = group.iter().map(|(row, answer)| (ours(answer), measured(row))).collect();
        errors(&pairs).map_or(0.0, |errors| errors.median)
    };
    let ttft = median(|answer| answer.ttft_ms, |row| row.ttft_ms);
    let tpot = median(|answer| answer.tpot_ms, |row| row.tpot_ms);
    format!("{source} {gpu} {model} {} {ttft:.3} {tpot:.3}", group.len())
}
