//! What the page knows of VTC's recorded runs, whose requests are not part of this repository: the authors' measurements
//! and this simulator's answers, as `servescope validate --recordings FOLDER --write FILE` writes them.

use serde_json::{Value as Json, json};
use servescope_settings::link;

use super::vtc::{MeasuredRecording, REJECTED_BOUND, TOKENS_BOUND, VtcComparison};
use crate::digits::short;

/// How the file is made, and from what.
const COMMAND: &str = "servescope validate --recordings FOLDER --write static/published/vtc.json";
const SOURCE: &str =
    "Recorded: Sheng et al., OSDI 2024; repository Ying1123/VTC-artifact, commit 192c2e2, Apache-2.0";

/// The file: one run a line.
pub fn text(comparisons: &[VtcComparison]) -> String {
    let runs: Vec<String> = comparisons.iter().map(|c| run(c).to_string()).collect();
    let bounds = json!({ "tokens": TOKENS_BOUND, "rejected": REJECTED_BOUND });
    format!(
        "{{\"command\": {}, \"source\": {}, \"bounds\": {bounds}, \"runs\": [\n{}\n]}}\n",
        json!(COMMAND),
        json!(SOURCE),
        runs.join(",\n")
    )
}

fn run(c: &VtcComparison) -> Json {
    let beyond = c.server.largest_measured_batch.filter(|_| c.is_beyond_the_profile());
    let (ordered, pairs) = c.ordered_pairs();
    json!({
        "scheduler": c.scheduler,
        "workload": c.workload,
        "requests": c.requests,
        "gpu": c.server.one_run().title,
        "pool_tokens": c.server.pool_tokens,
        "settles": c.is_settling,
        "beyond": beyond.map(|covered| json!({ "batch": c.largest_batch, "covered": covered })),
        "within": c.is_within(),
        "ordered": [ordered, pairs],
        "gap_bound": c.gap_bound,
        "fcfs_gap": short(c.fcfs_gap),
        "digest": format!("{:016x}", c.digest),
        "link": c.equivalent.as_ref().map(link::encode),
        "ticks_s": shorts(&c.recorded.ticks_s),
        "recorded": measured(&c.recorded),
        "ours": measured(&c.ours),
    })
}

fn measured(m: &MeasuredRecording) -> Json {
    json!({
        "tokens_per_s": short(m.tokens_per_s),
        "client_tokens_per_s": shorts(&m.client_tokens_per_s),
        "rejected": m.rejected,
        "first_token_s": m.first_token_s.iter().map(|t| t.map(short)).collect::<Vec<_>>(),
        "gaps": shorts(&m.gaps),
        "service_gap": short(m.service_gap),
        "table_gap": [short(m.table_gap.0), short(m.table_gap.1)],
    })
}

fn shorts(values: &[f64]) -> Vec<f64> {
    values.iter().map(|&value| short(value)).collect()
}
