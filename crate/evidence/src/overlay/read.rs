//! Readers of result files. Each tool has its own; which one wrote a file is seen by its keys or columns.

mod aiperf;
mod described;
mod genai_perf;
mod guidellm;
mod inference_perf;
mod inference_perf_requests;
mod inferencex;
mod json;
mod lines;
mod llm_d;
mod servingsim;
mod servingsim_bench;
mod vllm_bench;

use servescope_settings::file_kind::{FileKind, Tool, recognise};
use servescope_settings::profiles::NamedText;

use json::JsonField;

use super::measured::{MAX_REQUESTS, MeasuredRequest, MeasuredRun};

/// Why a file cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub struct ReadError {
    /// The line, the column, or the path in a JSON document.
    pub place: String,
    /// What is wrong there, with the bound and the value.
    pub message: String,
}

impl ReadError {
    fn new(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self { place: place.into(), message: message.into() }
    }

    /// The same, in one of several files or lines.
    fn within(self, place: &str) -> Self {
        Self { place: format!("{place}, {}", self.place), ..self }
    }
}

/// Reads a result file; `companion` hands over the file that its tool writes beside it, by name, where it is there. Of several runs
/// in one file the first is read.
///
/// # Errors
/// [`ReadError`] with the place, the bound and the value.
pub fn read<'a>(
    file: NamedText<'_>,
    companion: impl Fn(&str) -> Option<&'a str>,
) -> Result<MeasuredRun, ReadError> {
    read_benchmark(file, companion, None)
}

/// Reads a run of a result file, by its place from 1 on: the first where none is named.
///
/// # Errors
/// [`ReadError`] with the place, the bound and the value.
pub fn read_benchmark<'a>(
    file: NamedText<'_>,
    companion: impl Fn(&str) -> Option<&'a str>,
    benchmark: Option<usize>,
) -> Result<MeasuredRun, ReadError> {
    let text = file.text.trim_start_matches('\u{feff}');
    let Ok(FileKind::Result(tool)) = recognise(text.as_bytes()).map(|found| found.kind) else {
        return Err(unknown(text));
    };
    let names = tool.companions(file.name);
    let beside = names.iter().find_map(|name| Some(NamedText { name, text: companion(name)? }));
    let run = match tool {
        Tool::AiPerf => aiperf::read(text, beside)?,
        Tool::InferencePerfRequests => inference_perf_requests::read(text)?,
        Tool::ServingSim => servingsim::read(text)?,
        Tool::ServingSimBench => servingsim_bench::read(text, beside)?,
        _ => return of_documents(tool, text, benchmark),
    };
    match benchmark {
        None | Some(1) => finished(run),
        Some(other) => Err(no_benchmark(other, 1)),
    }
}

fn no_benchmark(asked: usize, most: usize) -> ReadError {
    ReadError::new("the benchmark", format!("{asked} is not between 1 and {most}, the runs of the file"))
}

fn finished(run: MeasuredRun) -> Result<MeasuredRun, ReadError> {
    if run.requests.is_empty() {
        return Err(ReadError::new("the file", "no request was answered"));
    }
    Ok(run.in_order())
}

/// Reads a run of a file of documents in JSON or YAML: each is one, and GuideLLM's has several inside.
fn of_documents(tool: Tool, text: &str, benchmark: Option<usize>) -> Result<MeasuredRun, ReadError> {
    let documents = json::documents(text)?;
    let mut runs = Vec::new();
    for document in &documents {
        let root = JsonField::root(document);
        if tool == Tool::GuideLlm {
            runs.extend(guidellm::benchmarks(&root)?.into_iter().map(|run| (document, run)));
        } else {
            runs.push((document, root));
        }
    }
    let chosen = benchmark.unwrap_or(1);
    let place = chosen.checked_sub(1).filter(|place| *place < runs.len());
    let (document, root) = &runs[place.ok_or_else(|| no_benchmark(chosen, runs.len()))?];
    let run = match tool {
        Tool::GuideLlm => guidellm::read(&JsonField::root(document), root),
        Tool::InferenceX => inferencex::read(root),
        Tool::InferencePerf => inference_perf::read(root),
        Tool::LlmD => llm_d::read(root),
        Tool::AiPerfSummary | Tool::GenAiPerf => genai_perf::read(root.json, tool),
        _ => vllm_bench::read(root, tool),
    };
    let mut run = finished(
        run.map_err(|error| if runs.len() > 1 { error.within(&format!("run {chosen}")) } else { error })?,
    )?;
    if runs.len() > 1 {
        run.benchmark = chosen;
        run.benchmarks = runs.iter().map(|(_, root)| label(tool, root)).collect();
    }
    Ok(run)
}

/// A run in a few words.
fn label(tool: Tool, root: &JsonField) -> String {
    match tool {
        Tool::GuideLlm => guidellm::label(root),
        Tool::InferencePerf => inference_perf::label(root),
        Tool::LlmD => llm_d::label(root),
        Tool::AiPerfSummary | Tool::GenAiPerf => genai_perf::label(root),
        Tool::InferenceX => root
            .get("conc")
            .and_then(|conc| conc.setting())
            .map_or_else(String::new, |conc| format!("{conc} in flight")),
        _ => vllm_bench::label(root),
    }
}

/// Reads a result file among others that lie beside it: one with single requests before a summary, with the companion of its tool.
/// `benchmark` is the place of a run in it, from 1 on.
///
/// # Errors
/// [`ReadError`] of the first file, where none is a result.
pub fn read_among(files: &[NamedText<'_>], benchmark: Option<usize>) -> Result<MeasuredRun, ReadError> {
    let beside = |name: &str| files.iter().find(|file| file.name == name).map(|file| file.text);
    let (mut first, mut summary) = (None, None);
    for file in files {
        match read_benchmark(*file, beside, benchmark) {
            Ok(run) if run.has_times() => return Ok(run),
            Ok(run) => summary = summary.or(Some(run)),
            Err(error) => first = first.or(Some(error.within(file.name))),
        }
    }
    summary.ok_or_else(|| first.unwrap_or_else(|| ReadError::new("the file", "there is none")))
}

/// Of a text that no reader knows.
fn unknown(text: &str) -> ReadError {
    let what = match recognise(text.as_bytes()) {
        Ok(found) => {
            let command = found.kind.command("FILE", text);
            return ReadError::new(
                "the file",
                format!(
                    "no result but {}, by {}; open it with: {command}",
                    found.kind.text(),
                    found.keys_text()
                ),
            );
        }
        Err(unknown) => unknown,
    };
    if matches!(what.looks, "json" | "yaml")
        && let Err(error) = json::documents(text)
    {
        return error;
    }
    ReadError::new(
        "the file",
        format!(
            "not recognised: {}; expected are results of vLLM bench (--save-result), SGLang bench_serving (--output-file), AIPerf (profile_export.jsonl, profile_export_aiperf.json), GenAI-Perf (profile_export_genai_perf.json), GuideLLM (JSON), inference-perf (stage_N_lifecycle_metrics.json, per_request_lifecycle_metrics.json), llm-d-benchmark (YAML or JSON), InferenceX (agg_*.json) and LLMServingSim (CSV, requests.jsonl)",
            what.text()
        ),
    )
}

/// Rejects one request too many.
fn room(requests: &[MeasuredRequest], place: &str) -> Result<(), ReadError> {
    if requests.len() < MAX_REQUESTS {
        return Ok(());
    }
    Err(ReadError::new(place, format!("more than {MAX_REQUESTS} requests")))
}

/// Adds how many requests were left out as failed.
fn note_failed(notes: &mut Vec<String>, failed: usize, of: usize) {
    if failed > 0 {
        notes.push(format!("{failed} of {of} requests failed in the measured run and are left out"));
    }
}
