//! What is simulated: a scenario, a trace in place of generated requests, a profile in place of the shipped ones.

use std::sync::Arc;

use pyo3::prelude::*;
use servescope_settings::diagnostic::Diagnostic;
use servescope_settings::link;
use servescope_settings::profiles::LoadedProfile;
use servescope_traces::loaded_trace::LoadedTrace;
use servescope_traces::scenario_file::ScenarioFile;

use crate::errors::{raised, raised_one};

/// A scenario.
#[pyclass(frozen, module = "servescope._servescope")]
pub(crate) struct Scenario(pub(crate) servescope_settings::scenario::Scenario);

#[pymethods]
impl Scenario {
    /// The default.
    #[new]
    fn new() -> Self {
        Self(servescope_settings::scenario::Scenario::default())
    }

    /// The scenario of a file's bytes.
    #[staticmethod]
    fn read(py: Python<'_>, name: &str, content: &[u8]) -> PyResult<Self> {
        let file = ScenarioFile::read(name, content).map_err(|errors| raised(py, errors))?;
        if file.steps.is_empty() {
            return Ok(Self(file.scenario));
        }
        let message =
            format!("{name}: a recipe with steps; `servescope generate` writes the trace that it makes");
        Err(raised_one(py, Diagnostic::error("bad_step", "", message.clone()).text("reason", &message)))
    }

    /// The scenario of an address of the page.
    #[staticmethod]
    fn link(py: Python<'_>, address: &str) -> PyResult<Self> {
        let (scenario, errors) = link::parse(address);
        if errors.is_empty() { Ok(Self(scenario)) } else { Err(raised(py, errors)) }
    }

    /// The same with these parameters set, each a path and a value as text.
    fn with_settings(&self, py: Python<'_>, settings: Vec<(String, String)>) -> PyResult<Self> {
        let mut scenario = self.0.clone();
        let set = |(path, value): &(String, String)| scenario.set_text(path, value).err();
        let errors: Vec<Diagnostic> = settings.iter().filter_map(set).collect();
        if errors.is_empty() { Ok(Self(scenario)) } else { Err(raised(py, errors)) }
    }

    /// The same with a profile that stands for the shipped ones.
    fn with_profile(&self, profile: &Profile) -> Self {
        let mut scenario = self.0.clone();
        scenario.set_profile(Some(Arc::clone(&profile.0)));
        Self(scenario)
    }

    /// What was set to something else than its default, as JSON.
    fn to_json(&self) -> String {
        self.0.to_json().to_string()
    }
}

/// A trace that was read.
#[pyclass(frozen, module = "servescope._servescope")]
pub(crate) struct Trace(pub(crate) LoadedTrace);

#[pymethods]
impl Trace {
    /// Reads a file's bytes, of any known format.
    #[new]
    fn new(py: Python<'_>, name: &str, content: &[u8]) -> PyResult<Self> {
        let loaded = py.detach(|| LoadedTrace::read(name, content));
        Ok(Self(loaded.map_err(|error| raised_one(py, error))?))
    }

    fn __len__(&self) -> usize {
        self.0.trace.len()
    }
}

/// A fitted profile.
#[pyclass(frozen, module = "servescope._servescope")]
pub(crate) struct Profile(pub(crate) Arc<LoadedProfile>);

#[pymethods]
impl Profile {
    /// Reads the text that `servescope profile fit` writes.
    #[new]
    fn new(py: Python<'_>, name: &str, content: &str) -> PyResult<Self> {
        let loaded = LoadedProfile::read(name, content).map_err(|error| raised_one(py, error))?;
        Ok(Self(Arc::new(loaded)))
    }
}

/// The trace, where one is given.
pub(crate) fn loaded(trace: Option<&Bound<'_, Trace>>) -> Option<LoadedTrace> {
    trace.map(|trace| trace.get().0.clone())
}
