//! Sweeps: a plan of independent runs, the runs themselves on this machine or on several, and what they say together.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use servescope_lab::metric::Metric;
use servescope_lab::replications::MAX_SEEDS;
use servescope_lab::sweep::journal::{self, text};
use servescope_lab::sweep::{self, Results, Sweep, SweepAxis, SweepLine, SweepShape, resume};
use servescope_traces::loaded_trace::LoadedTrace;

use crate::errors::{count, raised_one, raised_sweep};
use crate::inputs::{Profile, Scenario, Trace, loaded};
use crate::threads::{each, number};

/// Every run of a sweep, and what it reads from a trace.
#[pyclass(frozen, module = "servescope._servescope")]
pub(crate) struct Plan {
    sweep: Sweep,
    loaded: Option<LoadedTrace>,
}

#[pymethods]
impl Plan {
    #[new]
    #[pyo3(signature = (scenario, over, metrics, seeds=1, trace=None))]
    fn new(
        py: Python<'_>,
        scenario: &Scenario,
        over: Vec<String>,
        metrics: Vec<String>,
        seeds: i64,
        trace: Option<&Bound<'_, Trace>>,
    ) -> PyResult<Self> {
        let one = |error| raised_one(py, error);
        let seeds = count(py, "seeds", seeds, MAX_SEEDS)?;
        let axes = over.iter().map(|text| SweepAxis::parse(text)).collect::<Result<_, _>>().map_err(one)?;
        let metrics = Metric::parse_all(metrics.iter().map(String::as_str)).map_err(one)?;
        let loaded = loaded(trace);
        let sweep = Sweep::new(&scenario.0, axes, metrics, seeds, loaded.as_ref()).map_err(one)?;
        Ok(Self { sweep, loaded })
    }

    /// Reads a plan that was written as a file.
    #[staticmethod]
    #[pyo3(signature = (text, trace=None, profile=None))]
    fn from_text(
        py: Python<'_>,
        text: &str,
        trace: Option<&Bound<'_, Trace>>,
        profile: Option<&Profile>,
    ) -> PyResult<Self> {
        let loaded = loaded(trace);
        let profile = profile.map(|profile| Arc::clone(&profile.0));
        let sweep = py.detach(|| Sweep::from_plan(text, loaded.as_ref(), profile));
        Ok(Self { sweep: sweep.map_err(|error| raised_sweep(py, &error.to_string()))?, loaded })
    }

    /// The plan as a file.
    fn text(&self, py: Python<'_>) -> String {
        py.detach(|| self.sweep.plan())
    }

    /// The digest of everything that the results depend on.
    #[getter]
    fn sweep(&self) -> &str {
        &self.sweep.shape().id
    }

    fn __len__(&self) -> usize {
        self.sweep.runs()
    }

    /// Settings without effect in any of the points.
    fn notes(&self, py: Python<'_>) -> Vec<String> {
        py.detach(|| self.sweep.idle_settings(self.loaded.as_ref()))
    }

    /// Simulates these runs: their lines, in the order asked for. With a journal, each is written there as it is finished.
    #[pyo3(signature = (indices, threads=None, journal=None))]
    fn run(
        &self,
        py: Python<'_>,
        indices: Vec<usize>,
        threads: Option<i64>,
        journal: Option<&Bound<'_, Journal>>,
    ) -> PyResult<Vec<String>> {
        let runs = self.sweep.runs();
        if let Some(beyond) = indices.iter().find(|&&index| index >= runs) {
            return Err(raised_sweep(py, &format!("run {beyond}: the plan has {runs} runs, from 0 on")));
        }
        let threads = number(py, threads)?;
        let journal = journal.map(Bound::get);
        let mut texts = vec![String::new(); indices.len()];
        let work = |place: usize| self.sweep.simulate(indices[place], self.loaded.as_ref());
        each(py, indices.len(), threads, work, |py, place, line| {
            texts[place] = line.text(self.sweep.shape());
            journal.map_or(Ok(()), |journal| journal.take(py, line))
        })?;
        Ok(texts)
    }

    /// The points of all lines, as the text that `servescope sweep --json` prints.
    #[pyo3(signature = (lines, closed_forms=false))]
    fn results(&self, py: Python<'_>, lines: &str, closed_forms: bool) -> PyResult<String> {
        let (shape, lines) = joined(py, &[("lines".to_owned(), lines.as_bytes().to_vec())])?;
        if shape != *self.sweep.shape() {
            return Err(raised_sweep(py, "the lines are of another sweep"));
        }
        let mut results = Results::of(&shape, &lines);
        if closed_forms {
            let expected = self.sweep.expected();
            results.expected =
                expected.into_iter().map(|one| one.map_or_else(Vec::new, |e| e.points)).collect();
        }
        Ok(shown(&results))
    }
}

fn shown(results: &Results) -> String {
    format!("{:#}\n", results.to_json())
}

type Named = (String, Vec<u8>);

fn joined(py: Python<'_>, files: &[Named]) -> PyResult<(SweepShape, Vec<SweepLine>)> {
    let bytes: Vec<&[u8]> = files.iter().map(|(_, bytes)| bytes.as_slice()).collect();
    py.detach(|| sweep::join(&bytes)).map_err(|(file, error)| {
        let message = file.map_or_else(|| error.to_string(), |file| format!("{}: {error}", files[file].0));
        raised_sweep(py, &message)
    })
}

/// Puts the lines of several files of one sweep together: the lines in their order, and the points as JSON.
#[pyfunction]
pub(crate) fn join(py: Python<'_>, files: Vec<Named>) -> PyResult<(String, String)> {
    let (shape, lines) = joined(py, &files)?;
    Ok((text(&shape, &lines), shown(&Results::of(&shape, &lines))))
}

/// The file that a sweep writes, which a later one goes on with; without a path the lines are only kept.
#[pyclass(frozen, module = "servescope._servescope")]
pub(crate) struct Journal {
    file: journal::Journal,
    shape: SweepShape,
    lines: Mutex<BTreeMap<usize, SweepLine>>,
}

impl Journal {
    fn lines(&self) -> MutexGuard<'_, BTreeMap<usize, SweepLine>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a line, unless the run is there already.
    fn take(&self, py: Python<'_>, line: SweepLine) -> PyResult<()> {
        let mut lines = self.lines();
        match lines.get(&line.index) {
            Some(known) if *known == line => return Ok(()),
            Some(_) => {
                let message = format!("run {} is there twice, with different results", line.index);
                return Err(raised_sweep(py, &message));
            }
            None => {}
        }
        self.file.add(&line).map_err(|error| raised_sweep(py, &error.to_string()))?;
        lines.insert(line.index, line);
        Ok(())
    }
}

#[pymethods]
impl Journal {
    #[new]
    #[pyo3(signature = (path, plan))]
    fn new(py: Python<'_>, path: Option<PathBuf>, plan: &Plan) -> PyResult<Self> {
        let shape = plan.sweep.shape().clone();
        let opened = py.detach(|| journal::Journal::open(path.as_deref(), &shape));
        let mut file = opened.map_err(|error| raised_sweep(py, &error.to_string()))?;
        let lines = Mutex::new(std::mem::take(&mut file.done));
        Ok(Self { file, shape, lines })
    }

    /// What a person should know about the file that was found.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.file.notes.clone()
    }

    /// The numbers of the runs that are not there yet.
    fn missing(&self) -> Vec<usize> {
        let lines = self.lines();
        (0..self.shape.runs).filter(|index| !lines.contains_key(index)).collect()
    }

    /// Writes the line of a finished run, unless it is there already.
    fn add(&self, py: Python<'_>, line: &str) -> PyResult<()> {
        let read = resume(format!("{line}\n").as_bytes(), &self.shape);
        let read = read.map_err(|error| raised_sweep(py, &error.to_string()))?;
        read.lines.into_values().try_for_each(|line| self.take(py, line))
    }

    /// All lines in their order, as the finished file has them.
    fn text(&self) -> String {
        self.lines().values().map(|line| line.text(&self.shape) + "\n").collect()
    }

    /// Puts the lines of the file in their order.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        let lines: Vec<SweepLine> = self.lines().values().cloned().collect();
        self.file.finish(&lines).map_err(|error| raised_sweep(py, &error.to_string()))
    }
}
