//! Readers of result files. Each tool has its own; which one wrote a file is seen by its keys or columns.

mod aiperf;
mod guidellm;
mod inferencex;
mod json;
mod lines;
mod servingsim;
mod servingsim_bench;
mod vllm_bench;

use serde_json::Value as Json;

use super::measured::{MAX_REQUESTS, MeasuredRequest, MeasuredRun};
use super::tool::Tool;
pub use crate::profiles::NamedText;

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

/// What wrote a text, where that can be seen.
fn recognised(text: &str) -> Option<Tool> {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    if !text.starts_with('{') {
        let header = text.lines().next().unwrap_or("");
        return servingsim::is_header(header).then_some(Tool::ServingSim);
    }
    let first_line: Option<Json> = text.lines().next().and_then(|line| serde_json::from_str(line).ok());
    if let Some(Json::Object(fields)) = &first_line {
        if fields.contains_key("metadata") && fields.contains_key("metrics") {
            return Some(Tool::AiPerf);
        }
        if fields.contains_key("queued_ts") {
            return Some(Tool::ServingSimBench);
        }
    }
    let whole: Json = serde_json::from_str(text).ok()?;
    let has = |key: &str| whole.get(key).is_some();
    match () {
        () if has("benchmarks") => Some(Tool::GuideLlm),
        () if has("infmax_model_prefix") => Some(Tool::InferenceX),
        () if has("model_id") && has("num_prompts") => Some(Tool::VllmBench),
        () => None,
    }
}

/// Reads a result file; `companion` hands over the file that its tool writes beside it, by name, where it is there.
///
/// # Errors
/// [`ReadError`] with the place, the bound and the value.
pub fn read<'a>(
    file: NamedText<'_>,
    companion: impl Fn(&str) -> Option<&'a str>,
) -> Result<MeasuredRun, ReadError> {
    let text = file.text.trim_start_matches('\u{feff}');
    let tool = recognised(text).ok_or_else(|| unknown(text))?;
    let names = tool.companions(file.name);
    let beside = names.iter().find_map(|name| Some(NamedText { name, text: companion(name)? }));
    let run = match tool {
        Tool::VllmBench => vllm_bench::read(&json::document(text)?)?,
        Tool::AiPerf => aiperf::read(text, beside)?,
        Tool::GuideLlm => guidellm::read(&json::document(text)?)?,
        Tool::InferenceX => inferencex::read(&json::document(text)?)?,
        Tool::ServingSim => servingsim::read(text)?,
        Tool::ServingSimBench => servingsim_bench::read(text, beside)?,
    };
    if run.requests.is_empty() {
        return Err(ReadError::new("the file", "no request was answered"));
    }
    Ok(run.in_order())
}

/// Reads a result file among others that lie beside it: the first one that is a result, with the companion of its tool.
///
/// # Errors
/// [`ReadError`] of the first file, where none is a result.
pub fn read_among(files: &[NamedText<'_>]) -> Result<MeasuredRun, ReadError> {
    let beside = |name: &str| files.iter().find(|file| file.name == name).map(|file| file.text);
    let mut first = None;
    for file in files {
        match read(*file, beside) {
            Ok(run) => return Ok(run),
            Err(error) => first = first.or(Some(error.within(file.name))),
        }
    }
    Err(first.unwrap_or_else(|| ReadError::new("the file", "there is none")))
}

/// Of a text that no reader knows.
fn unknown(text: &str) -> ReadError {
    if text.trim_start().starts_with('{')
        && let Err(error) = json::document(text)
        && let Err(of_line) = json::document(text.trim_start().lines().next().unwrap_or(""))
    {
        // A file of JSON lines is no document, and a document of several lines has no JSON in its first.
        return if text.trim_start().lines().nth(1).is_some_and(|line| line.starts_with('{')) {
            of_line
        } else {
            error
        };
    }
    ReadError::new(
        "the file",
        "not recognised; expected are results of vLLM bench (--save-result --save-detailed), AIPerf (profile_export.jsonl), GuideLLM (JSON), InferenceX (agg_*.json) and LLMServingSim (CSV, requests.jsonl)",
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
fn tell_failed(notes: &mut Vec<String>, failed: usize, of: usize) {
    if failed > 0 {
        notes.push(format!("{failed} of {of} requests failed in the measured run and are left out"));
    }
}
