//! Predictions beside what was measured, summed up by what they have in common.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use servescope_settings::kernels::KernelEngine;

use super::errors::{Errors, errors};
use super::file::SiliconRow;
use super::predict::Predicted;
use super::server::NotAnswered;

/// Rows with something in common.
#[derive(Debug, Clone, PartialEq)]
pub struct RowGroup {
    /// What they have in common: all, clean, model, system, backend, mode, calibration.
    pub by: &'static str,
    /// Its value.
    pub value: String,
    /// Rows.
    pub rows: usize,
    /// Rows that are answered.
    pub answered: usize,
    /// Errors of TTFT, and of TPOT.
    pub ours: Option<[Errors; 2]>,
    /// AIConfigurator's on all rows that it answers.
    pub aiconfigurator: Option<[Errors; 2]>,
    /// Ours and AIConfigurator's on the rows that both answer.
    pub both: Option<[[Errors; 2]; 2]>,
}

/// What rows of a group have in common.
type Key = fn(&SiliconRow) -> String;

type One<'a> = (&'a SiliconRow, &'a Predicted);

fn errors_of(pairs: &[(&SiliconRow, [f64; 2])]) -> Option<[Errors; 2]> {
    let of = |what: usize, measured: fn(&SiliconRow) -> f64| {
        let pairs: Vec<(f64, f64)> = pairs.iter().map(|(row, ms)| (ms[what], measured(row))).collect();
        errors(&pairs)
    };
    Some([of(0, |row| row.ttft_ms)?, of(1, |row| row.tpot_ms)?])
}

fn group(by: &'static str, value: String, rows: &[One<'_>]) -> RowGroup {
    let ours: Vec<(&SiliconRow, [f64; 2])> = rows
        .iter()
        .filter_map(|(row, predicted)| Some((*row, predicted.as_ref().ok()?)))
        .map(|(row, answer)| (row, [answer.ttft_ms, answer.tpot_ms]))
        .collect();
    let theirs: Vec<(&SiliconRow, [f64; 2])> =
        rows.iter().filter_map(|(row, _)| Some((*row, row.aiconfigurator_ms?))).collect();
    let ours_of_both: Vec<_> =
        ours.iter().filter(|(row, _)| row.aiconfigurator_ms.is_some()).copied().collect();
    let theirs_of_both: Vec<_> =
        ours_of_both.iter().filter_map(|(row, _)| Some((*row, row.aiconfigurator_ms?))).collect();
    RowGroup {
        by,
        value,
        rows: rows.len(),
        answered: ours.len(),
        ours: errors_of(&ours),
        aiconfigurator: errors_of(&theirs),
        both: errors_of(&ours_of_both).zip(errors_of(&theirs_of_both)).map(|(ours, theirs)| [ours, theirs]),
    }
}

/// The rows that are summed up by halves: of an engine, whole requests on one server; of all engines, prompts and answers apart, where
/// the numbers of workers are given.
const HALVED: [(&str, IsOf); 4] = [
    ("clean vLLM, aggregated", |row| row.mode == "agg" && row.engine() == KernelEngine::Vllm),
    ("clean SGLang, aggregated", |row| row.mode == "agg" && row.engine() == KernelEngine::Sglang),
    ("clean TensorRT-LLM, aggregated", |row| row.mode == "agg" && row.engine() == KernelEngine::TensorRtLlm),
    ("clean, disaggregated", |row| {
        row.mode == "disagg" && row.workers.iter().all(|side| side.count.is_some())
    }),
];

type IsOf = fn(&SiliconRow) -> bool;

/// The groups of a file: all rows; each engine's aggregated rows and the disaggregated ones without duplicates and suspects, those of
/// them that calibration may see and those that it may not; and the clean rows by model, GPU, backend and mode.
pub fn groups(rows: &[SiliconRow], predicted: &[Predicted]) -> Vec<RowGroup> {
    let all: Vec<One<'_>> = rows.iter().zip(predicted).collect();
    let clean: Vec<One<'_>> = all.iter().filter(|(row, _)| row.is_clean()).copied().collect();
    let vllm: Vec<One<'_>> =
        clean.iter().filter(|(row, _)| row.backend == "vllm" && row.mode == "agg").copied().collect();
    let mut groups = vec![
        group("all", "every row".to_owned(), &all),
        group("clean", "no duplicates, no suspects".to_owned(), &clean),
    ];
    for (by, is_of) in HALVED {
        let of: Vec<One<'_>> = clean.iter().filter(|(row, _)| is_of(row)).copied().collect();
        let half = |odd: bool| -> Vec<One<'_>> {
            of.iter().filter(|(row, _)| row.is_left_out() == odd).copied().collect()
        };
        groups.push(group(by, "both halves".to_owned(), &of));
        groups.push(group(by, "even hash: open to calibration".to_owned(), &half(false)));
        groups.push(group(by, "odd hash: left out".to_owned(), &half(true)));
    }
    let keys: [(&'static str, Key); 6] = [
        ("backend", |row| row.backend.clone()),
        ("mode", |row| row.mode.clone()),
        ("backend and mode", |row| format!("{} {}", row.backend, row.mode)),
        ("model", |row| row.model.clone()),
        ("system", |row| row.system.clone()),
        ("vLLM model and system", |row| format!("{} {}", row.model, row.system)),
    ];
    for (by, key) in keys {
        let of = if by.starts_with("vLLM") { &vllm } else { &clean };
        let mut parts: BTreeMap<String, Vec<One<'_>>> = BTreeMap::new();
        of.iter().for_each(|one| parts.entry(key(one.0)).or_default().push(*one));
        groups.extend(parts.into_iter().map(|(value, rows)| group(by, value, &rows)));
    }
    groups
}

/// Why rows are not answered, with their numbers.
fn reasons(predicted: &[Predicted]) -> Vec<(NotAnswered, usize)> {
    let mut counts = BTreeMap::new();
    for predicted in predicted {
        if let Err(reason) = predicted {
            *counts.entry(reason.clone()).or_insert(0) += 1;
        }
    }
    counts.into_iter().collect()
}

fn short(errors: Option<[Errors; 2]>) -> String {
    let one =
        |e: Errors| format!("{:>6.1} {:>6.1} {:>+6.1}", 100.0 * e.mean, 100.0 * e.median, 100.0 * e.bias);
    errors.map_or_else(|| format!("{:>42}", "-"), |[ttft, tpot]| format!("{} {}", one(ttft), one(tpot)))
}

/// The summary as a table.
pub fn table(rows: &[SiliconRow], predicted: &[Predicted]) -> String {
    let mut lines = vec![
        "Measured deployments, run as they were measured: error of mean TTFT and of mean TPOT in %".to_owned(),
        "(mean absolute, median absolute, bias); AIConfigurator's predictions from the same file, on its own rows".to_owned(),
        "and, on the rows that both answer, ours and AIConfigurator's.".to_owned(),
    ];
    let mut by = "";
    for group in groups(rows, predicted) {
        if group.by != by {
            by = group.by;
            lines.push(String::new());
            lines.push(format!(
                "{by:<48}{:>11} |{:^42}|{:^42}|{:^42}|{:^42}",
                "answered", "ours: TTFT, TPOT", "AIConfigurator", "both answer: ours", "AIConfigurator"
            ));
        }
        lines.push(format!(
            "{:<48}{:>5}/{:<5} |{}|{}|{}|{}",
            group.value,
            group.answered,
            group.rows,
            short(group.ours),
            short(group.aiconfigurator),
            short(group.both.map(|both| both[0])),
            short(group.both.map(|both| both[1])),
        ));
    }
    lines.push(String::new());
    lines.push("Rows that are not answered".to_owned());
    lines.extend(reasons(predicted).iter().map(|(reason, count)| format!("{count:>6}  {reason}")));
    lines.join("\n")
}

fn errors_json(errors: Option<[Errors; 2]>) -> Value {
    let one = |e: Errors| json!({"count": e.count, "mean": e.mean, "median": e.median, "bias": e.bias});
    errors.map_or(Value::Null, |[ttft, tpot]| json!({"ttft": one(ttft), "tpot": one(tpot)}))
}

fn group_json(group: &RowGroup) -> Value {
    json!({
        "by": group.by, "value": group.value, "rows": group.rows, "answered": group.answered,
        "ours": errors_json(group.ours), "aiconfigurator": errors_json(group.aiconfigurator),
        "both": {
            "ours": errors_json(group.both.map(|both| both[0])),
            "aiconfigurator": errors_json(group.both.map(|both| both[1])),
        },
    })
}

/// The groups of these kinds as JSON.
pub(super) fn summary(rows: &[SiliconRow], predicted: &[Predicted], by: &[&str]) -> Vec<Value> {
    groups(rows, predicted).iter().filter(|group| by.contains(&group.by)).map(group_json).collect()
}

/// Every row and the summary as JSON.
pub fn document(rows: &[SiliconRow], predicted: &[Predicted]) -> Value {
    let row_values: Vec<Value> = rows
        .iter()
        .zip(predicted)
        .map(|(row, predicted)| match predicted {
            Ok(answer) => json!({
                "id": row.id, "ttft_ms": answer.ttft_ms, "tpot_ms": answer.tpot_ms, "error": null,
                "borrowed": answer.is_borrowed, "times": answer.times.name(),
            }),
            Err(reason) => {
                json!({"id": row.id, "ttft_ms": null, "tpot_ms": null, "error": reason.to_string()})
            }
        })
        .collect();
    json!({"rows": row_values, "summary": groups(rows, predicted).iter().map(group_json).collect::<Vec<_>>()})
}
