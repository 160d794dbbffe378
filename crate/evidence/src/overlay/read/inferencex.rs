//! InferenceX's row of a run (`agg_*.json`, utils/process_result.py of github.com/SemiAnalysisAI/InferenceX): means and
//! percentiles in seconds, the deployment, and how many requests were in flight. There are no single requests: its workload is
//! made again, ten requests for each one in flight, lengths uniform from 0.8 of the nominal ones on.

use servescope_settings::file_kind::Tool;
use servescope_workload::stream::Stream;

use super::ReadError;
use super::json::JsonField;
use crate::overlay::measured::{MAX_S, Means, MeasuredRequest, MeasuredRun, MeasuredTime, Sending};
use crate::silicon::nominal_length;

/// Requests for each one in flight.
const REQUESTS_PER_SLOT: u32 = 10;
/// Most requests in flight.
const MAX_IN_FLIGHT: f64 = 20_000.0;
/// Seed of the lengths.
const SEED: u64 = 42;

/// Reads a document.
pub(super) fn read(root: &JsonField) -> Result<MeasuredRun, ReadError> {
    for key in ["disagg", "is_multinode"] {
        if root.get(key).is_some_and(|flag| flag.json == true) {
            return Err(ReadError::new(
                key,
                "true, but servers apart for prompts and outputs are not simulated",
            ));
        }
    }
    let in_flight = root.need("conc")?.number(1.0, MAX_IN_FLIGHT)? as u32;
    let [input, output] = ["isl", "osl"].map(|key| root.need(key).and_then(|length| length.number(1.0, 2e6)));
    let (input, output) = (input? as u32, output? as u32);
    let streams = ["inferencex_input", "inferencex_output"].map(|name| Stream::named(SEED, name));
    let requests = (0..in_flight * REQUESTS_PER_SLOT)
        .map(|place| MeasuredRequest {
            name: place.to_string(),
            input_tokens: nominal_length(&streams[0], place, input),
            output_tokens: nominal_length(&streams[1], place, output),
            ..MeasuredRequest::default()
        })
        .collect();
    let second = |key: &str| root.get(key).map(|value| value.number(0.0, MAX_S)).transpose();
    let time = |name: &str| MeasuredTime::by_prefix(|mark| second(&format!("{mark}_{name}")));
    let gpus = root.get("tp").map_or(Ok(1.0), |tp| tp.number(1.0, 1024.0))?;
    let means = Means {
        ttft_s: time("ttft")?,
        tpot_s: time("tpot")?,
        itl_s: time("itl")?,
        e2e_s: time("e2el")?,
        output_tokens_per_s: second("output_tput_per_gpu")?.map(|rate| rate * gpus),
        throughput_rps: None,
    };
    let keys =
        [("model", "model"), ("hw", "gpu"), ("tp", "tensor_parallel_size"), ("precision", "precision")];
    let reported =
        keys.iter().filter_map(|(key, name)| Some(((*name).to_owned(), root.get(key)?.setting()?)));
    let mut notes = vec![format!(
        "the file has means only; its workload is made again: {} requests, {in_flight} in flight",
        in_flight * REQUESTS_PER_SLOT
    )];
    let framework = root.get("framework").and_then(|name| name.setting()).unwrap_or_default();
    if !framework.is_empty() && framework != "vllm" {
        notes.push(format!("measured with {framework}, simulated as vLLM"));
    }
    Ok(MeasuredRun {
        tool: Tool::InferenceX,
        requests,
        sending: Sending::InFlight(in_flight),
        means,
        reported: reported.collect(),
        notes,
        ..MeasuredRun::default()
    })
}
