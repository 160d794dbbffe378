//! The expected errors of a run: of the rows that no constant was calibrated on.

use std::collections::BTreeMap;

use super::errors::errors;
use super::file::Row;
use super::predict::{Answer, Constants, TimeSource, deployed, predict_with};

/// Fewer rows say too little.
const FEWEST: usize = 5;

/// The errors by iteration-time model, GPU and model, as a run looks them up: of vLLM's aggregated rows without duplicates
/// and suspects, and of these only the ones that were left out of calibration.
pub fn expected_errors(rows: &[Row]) -> String {
    let rows: Vec<&Row> = rows
        .iter()
        .filter(|row| row.is_clean() && row.is_left_out() && row.backend == "vllm" && row.mode == "agg")
        .collect();
    let modelled = Constants { kernels: |_| None, ..Constants::CALIBRATED };
    let sources: [(&str, Constants, &[TimeSource]); 2] = [
        ("kernels", Constants::CALIBRATED, &[TimeSource::Kernels, TimeSource::Interpolated]),
        ("roofline", modelled, &[TimeSource::Roofline]),
    ];
    let mut lines = Vec::new();
    for (source, constants, of) in sources {
        let mut groups: BTreeMap<[&str; 2], Vec<(&Row, Answer)>> = BTreeMap::new();
        for row in &rows {
            let Ok(answer) = predict_with(row, &constants) else { continue };
            let Some([gpu, model]) = deployed(row).filter(|_| of.contains(&answer.times)) else { continue };
            for key in [[gpu, model], [gpu, "*"], ["*", model], ["*", "*"]] {
                groups.entry(key).or_default().push((row, answer));
            }
        }
        groups.retain(|_, group| group.len() >= FEWEST);
        lines.extend(groups.iter().map(|(key, group)| line(source, *key, group)));
    }
    lines.join("\n") + "\n"
}

fn line(source: &str, [gpu, model]: [&str; 2], group: &[(&Row, Answer)]) -> String {
    let median = |ours: fn(&Answer) -> f64, measured: fn(&Row) -> f64| {
        let pairs: Vec<_> = group.iter().map(|(row, answer)| (ours(answer), measured(row))).collect();
        errors(&pairs).map_or(0.0, |errors| errors.median)
    };
    let ttft = median(|answer| answer.ttft_ms, |row| row.ttft_ms);
    let tpot = median(|answer| answer.tpot_ms, |row| row.tpot_ms);
    format!("{source} {gpu} {model} {} {ttft:.3} {tpot:.3}", group.len())
}
