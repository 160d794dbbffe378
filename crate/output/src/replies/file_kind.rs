//! What a file is, for the page.

use serde::Serialize;
use servescope_settings::diagnostic::Diagnostic;
use servescope_settings::file_kind::{FileKind, HEAD_BYTES, Launched, recognise};
use servescope_settings::model_config::adapter::AdapterFile;
use servescope_settings::scenario::{Scenario, ScenarioPatch};
use servescope_traces::curve_file::with_curve;
use servescope_traces::lengths_file::take_lengths;
use servescope_traces::scenario_file::ScenarioFile;
use servescope_workload::formats::unpacked_head;

/// What a file was found to be.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct RecognisedFile {
    /// Its kind (`scenario`, `trace`, `lengths`, `clients`, `result`, `model_config`, `adapter_config`, `operator_table`,
    /// `table`, `curve`, `launch_line`, `link`, `summary`); where it is of no known one, what it looks like (`json`, `yaml`, `table`, `text`, `binary`, `empty`).
    pub kind: &'static str,
    /// The name of the tool, the format or the server.
    pub detail: &'static str,
    /// The keys, columns or words that decided it, or the first ones.
    pub keys: Vec<String>,
    /// The terminal's command that goes on with it; "" where there is none.
    pub command: String,
    /// The scenario with what a launch line or an adapter sets.
    pub scenario: Option<ScenarioPatch>,
    /// Paths of what it sets.
    pub set: Vec<String>,
    /// Paths of what a launch line does not say, with their values in `scenario`: the GPU, the model, that there are no adapters.
    pub assumed: Vec<String>,
    /// Flags of a launch line that have no parameter, or whose value has none.
    pub unknown_flags: Vec<String>,
    /// What is wrong with the values of a launch line or with an adapter, and what should be known about it.
    pub told: Vec<Diagnostic>,
}

impl RecognisedFile {
    /// Of the beginning of a file of this name; what a launch line sets is set in `scenario`.
    pub fn of(name: &str, head: &[u8], scenario: &Scenario) -> Self {
        let plain = unpacked_head(head, HEAD_BYTES);
        let text = String::from_utf8_lossy(&plain);
        let text = text.trim_start_matches('\u{feff}').trim_start();
        let nothing = Self {
            kind: "",
            detail: "",
            keys: Vec::new(),
            command: String::new(),
            scenario: None,
            set: Vec::new(),
            assumed: Vec::new(),
            unknown_flags: Vec::new(),
            told: Vec::new(),
        };
        let found = match recognise(head) {
            Err(unknown) => return Self { kind: unknown.looks, keys: unknown.keys, ..nothing },
            Ok(found) => found,
        };
        let kind = found.kind;
        let known = Self {
            kind: kind.code(),
            detail: kind.detail(),
            command: kind.command(name, text),
            keys: found.keys,
            ..nothing
        };
        match kind {
            FileKind::LaunchLine(server) => known.launching(server.launched(text, scenario)),
            FileKind::AdapterConfig => known.adapting(name, text, scenario.clone()),
            _ => known,
        }
    }

    fn adapting(self, name: &str, text: &str, mut scenario: Scenario) -> Self {
        let taken = AdapterFile::read(name, text)
            .and_then(|adapter| adapter.apply(&mut scenario).map_err(|error| vec![error]));
        match taken {
            Ok((set, told)) => Self {
                scenario: Some(scenario.patch()),
                set: set.into_iter().map(str::to_owned).collect(),
                told,
                ..self
            },
            Err(told) => Self { told, ..self },
        }
    }

    fn launching(self, Launched { scenario, set, assumed, unknown, errors }: Launched) -> Self {
        let owned = |paths: Vec<&str>| paths.into_iter().map(str::to_owned).collect();
        Self {
            scenario: Some(scenario.patch()),
            set: owned(set),
            assumed: owned(assumed),
            unknown_flags: unknown,
            told: errors,
            ..self
        }
    }
}

/// Most pairs of lengths that a scenario of the page has: all stand in its address.
const MOST_PAIRS: usize = 500;

/// A scenario that draws its lengths from a file.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct LengthsFile {
    /// The scenario.
    pub scenario: ScenarioPatch,
    /// Pairs of lengths that it draws from.
    pub taken: usize,
    /// Pairs of the file.
    pub pairs: usize,
}

impl LengthsFile {
    /// Has `scenario` draw its lengths from a file of this name.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn of(name: &str, bytes: &[u8], scenario: &Scenario) -> Result<Self, Diagnostic> {
        let mut with = scenario.clone();
        let taken = take_lengths(&mut with, name, bytes, MOST_PAIRS)?;
        Ok(Self { scenario: with.patch(), taken: taken.taken, pairs: taken.pairs })
    }
}

/// The scenario with the arrivals of a file of rates over time.
///
/// # Errors
/// What is wrong with the file, or with what it sets.
pub fn curve_of_file(
    name: &str,
    bytes: &[u8],
    scenario: &Scenario,
) -> Result<ScenarioPatch, Vec<Diagnostic>> {
    Ok(with_curve(name, bytes, scenario)?.patch())
}

/// Reads a scenario file.
///
/// # Errors
/// What is wrong with it.
pub fn scenario_of_file(name: &str, bytes: &[u8]) -> Result<ScenarioPatch, Vec<Diagnostic>> {
    Ok(ScenarioFile::read(name, bytes)?.scenario.patch())
}
