//! What the page knows of measured deployments, columns by rows, as `static/published/deployments.json` has it.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value as Json, json};
use servescope_settings::link;

use super::file::{SiliconRow, Workers, gpu};
use super::playground::{common, scenario};
use super::predict::{Predicted, PredictedLatency};
use super::report::summary;
use crate::digits::short;

/// How the numbers are computed, and of what.
const COMMAND: &str = "servescope validate --silicon FILE";
const SOURCE: &str = "Measured: silicon_sample.csv of ai-dynamo/aiconfigurator, commit \
    095f58a51c4ca8e61b66ec108d86f223f8d559ce, Apache-2.0, Copyright (c) NVIDIA CORPORATION & AFFILIATES; mostly exports of \
    InferenceX (SemiAnalysis). A part of its rows, with columns left out.";

/// Groups of the summary that the file repeats.
const SUMMED: [&str; 3] = ["all", "clean", "clean vLLM, aggregated"];

/// What rows of the same server and lengths have in common.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct DeploymentOf<'a> {
    model: &'a str,
    gpu: &'a str,
    backend: &'a str,
    version: &'a str,
    mode: &'a str,
    format: &'a str,
    input_tokens: u32,
    output_tokens: u32,
    tensor_parallel: u32,
    attention_data_parallel: u32,
    expert_tensor_parallel: u32,
    expert_parallel: u32,
    /// The prefill and the decode servers, where they are apart.
    workers: Option<[WorkersOf; 2]>,
    is_left_out: bool,
}

/// The servers of one side.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct WorkersOf {
    count: Option<u32>,
    tensor_parallel: u32,
    attention_data_parallel: u32,
    expert_parallel: u32,
}

impl WorkersOf {
    fn of(workers: Workers) -> Self {
        Self {
            count: workers.count,
            tensor_parallel: workers.layout.tensor_parallel,
            attention_data_parallel: workers.layout.attention_data_parallel,
            expert_parallel: workers.layout.expert_parallel,
        }
    }
}

impl<'a> DeploymentOf<'a> {
    fn of(row: &'a SiliconRow) -> Self {
        Self {
            model: row.model.rsplit('/').next().unwrap_or(&row.model),
            gpu: gpu(&row.system).map_or(&*row.system, |known| known.name),
            backend: &row.backend,
            version: &row.version,
            mode: &row.mode,
            format: &row.gemm_format,
            input_tokens: row.input_tokens,
            output_tokens: row.output_tokens,
            tensor_parallel: row.layout.tensor_parallel,
            attention_data_parallel: row.layout.attention_data_parallel,
            expert_tensor_parallel: row.layout.expert_tensor_parallel,
            expert_parallel: row.layout.expert_parallel,
            workers: (row.mode == "disagg").then(|| row.workers.map(WorkersOf::of)),
            is_left_out: row.is_left_out(),
        }
    }
}

/// The file: every row with what was measured, what is predicted here and by AIConfigurator, and the link of its scenario, of
/// which `common` has the part that all links begin with. Times are milliseconds; numbers have five digits.
pub fn shipped(rows: &[SiliconRow], predicted: &[Predicted]) -> String {
    let mut places: BTreeMap<DeploymentOf<'_>, usize> =
        rows.iter().map(|row| (DeploymentOf::of(row), 0)).collect();
    places.values_mut().enumerate().for_each(|(place, value)| *value = place);
    let common = link::encode(&common());
    let known: Vec<&str> = common.split('&').collect();
    let answer = |place: usize| predicted[place].as_ref().ok();
    let own = |part: fn(&PredictedLatency) -> f64| {
        by_row(rows, |place, _| answer(place).map(|own| short(part(own))))
    };
    let theirs = |what: usize| by_row(rows, |_, row| row.aiconfigurator_ms.map(|ms| short(ms[what])));
    let columns = [
        ("deployment", by_row(rows, |_, row| places.get(&DeploymentOf::of(row)).copied())),
        ("in_flight", by_row(rows, |_, row| row.in_flight)),
        ("is_doubtful", by_row(rows, |_, row| u8::from(!row.is_clean()))),
        ("ttft_ms", by_row(rows, |_, row| short(row.ttft_ms))),
        ("tpot_ms", by_row(rows, |_, row| short(row.tpot_ms))),
        ("own_ttft_ms", own(|answer| answer.ttft_ms)),
        ("own_tpot_ms", own(|answer| answer.tpot_ms)),
        ("aiconfigurator_ttft_ms", theirs(0)),
        ("aiconfigurator_tpot_ms", theirs(1)),
        ("times", by_row(rows, |place, _| answer(place).map(|answer| answer.times))),
        ("reason", by_row(rows, |place, _| predicted[place].as_ref().err())),
        (
            "link",
            by_row(rows, |place, row| Some(own_part(&known, &link::encode(&scenario(row, answer(place)?)?)))),
        ),
    ];
    let columns: Vec<String> = columns.iter().map(|(name, values)| format!("\"{name}\": {values}")).collect();
    let deployments: Vec<String> = places.keys().map(|key| json!(key).to_string()).collect();
    let summed: Vec<String> = summary(rows, predicted, &SUMMED).iter().map(Json::to_string).collect();
    format!(
        "{{\"command\": {}, \"source\": {}, \"common\": {},\n\"summary\": [\n{}\n],\n\"deployments\": [\n{}\n],\n\"rows\": {{\n{}\n}}}}\n",
        json!(COMMAND),
        json!(SOURCE),
        json!(common),
        summed.join(",\n"),
        deployments.join(",\n"),
        columns.join(",\n")
    )
}

fn by_row<T: Serialize>(rows: &[SiliconRow], value: impl Fn(usize, &SiliconRow) -> T) -> Json {
    json!(rows.iter().enumerate().map(|(place, row)| value(place, row)).collect::<Vec<T>>())
}

/// What a link says beyond what all of them say.
fn own_part(known: &[&str], link: &str) -> String {
    link.split('&').filter(|pair| !known.contains(pair)).collect::<Vec<_>>().join("&")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::silicon::{predict, read};

    #[test]
    fn links_lead_back_to_the_rows_scenarios() {
        let rows = read(include_str!("../../../../tests/fuzz/corpus/read_silicon/rows.csv")).unwrap();
        let predicted: Vec<Predicted> = rows.iter().map(predict).collect();
        let text = shipped(&rows, &predicted);
        let file: Json = serde_json::from_str(&text).unwrap();
        let links = file["rows"]["link"].as_array().unwrap();
        let mut count = 0;
        for (place, link) in links.iter().enumerate() {
            let Some(part) = link.as_str() else { continue };
            let (found, problems) = link::parse(&format!("{}&{part}", file["common"].as_str().unwrap()));
            let wanted = scenario(&rows[place], predicted[place].as_ref().unwrap()).unwrap();
            assert!(problems.is_empty() && link::encode(&found) == link::encode(&wanted), "{part}");
            count += 1;
        }
        assert!(count > 0 && links.len() == rows.len() && links.iter().any(Json::is_null));
        let reasons = &file["rows"]["reason"];
        assert_eq!(reasons[2], "workers", "{reasons}");
        assert_eq!(file["rows"]["times"][2], Json::Null);
        assert_eq!(file["deployments"].as_array().unwrap().len(), 3);
        assert_eq!(file["summary"][0]["answered"], 2);
    }
}
