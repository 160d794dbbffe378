//! Named constants recalibrated on half of the requests, with the error on the other half.
//!
//! The rule is fixed: requests with even places in the order of sending are fitted, those with odd ones are left out. All of them
//! are simulated each time, as each one delays the others.

use servescope_lab::run::Run;
use servescope_settings::diagnostic::Diagnostic;
use servescope_settings::parameters::{Id, TABLE, Value};
use servescope_settings::scenario::Scenario;
use servescope_traces::loaded_trace::LoadedTrace;

use super::compare::{TIMES, pairs, times_of};
use super::measured::MeasuredRun;
use super::pair::{Pair, PairedMetric};

/// Most constants of a fit.
pub const MAX_CONSTANTS: usize = 3;
/// Most runs of a fit.
const MAX_RUNS: usize = 120;
/// The search ends at steps of this factor.
const FINEST: f64 = 1.005;

/// Why there is no fit.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FitError {
    /// None named, or too many.
    #[error("--fit: {0} constants are named; 1 to {MAX_CONSTANTS} can be fitted")]
    Count(usize),
    /// One that is not a parameter.
    #[error("--fit {0}: no such parameter")]
    Unknown(String),
    /// A parameter without a number.
    #[error("--fit {0}: not a number")]
    NoNumber(&'static str),
    /// Named twice.
    #[error("--fit {0}: named twice")]
    Twice(&'static str),
    /// A parameter that changes nothing here.
    #[error("--fit {0}: has no effect in this scenario")]
    NoEffect(&'static str),
    /// A file without times of single requests, or without the times at which they were sent.
    #[error("--fit: the file has no times of single requests, or does not say when they were sent")]
    NoTimes,
    /// The scenario does not run.
    #[error("{}", .0.first().map_or("", |error| &error.message))]
    Run(Vec<Diagnostic>),
}

/// A constant before and after.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RefittedConstant {
    /// The parameter.
    pub id: Id,
    /// Its value before.
    pub before: f64,
    /// Its value after.
    pub after: f64,
}

/// A fit.
#[derive(Debug, Clone, PartialEq)]
pub struct CostFit {
    /// The constants.
    pub constants: Vec<RefittedConstant>,
    /// The scenario with the constants as fitted.
    pub scenario: Scenario,
    /// How many runs it took.
    pub runs: usize,
    /// Errors on the half that was fitted, before and after.
    pub fitted_half: [Vec<PairedMetric>; 2],
    /// Errors on the half that was left out, before and after.
    pub left_out_half: [Vec<PairedMetric>; 2],
}

/// The constants of a list of paths.
fn constants(paths: &[String], scenario: &Scenario) -> Result<Vec<Id>, FitError> {
    if paths.is_empty() || paths.len() > MAX_CONSTANTS {
        return Err(FitError::Count(paths.len()));
    }
    let mut ids: Vec<Id> = Vec::new();
    for path in paths {
        let id = Id::from_path(path).ok_or_else(|| FitError::Unknown(path.chars().take(60).collect()))?;
        let name = id.row().id;
        if !scenario.number(id).is_finite() {
            return Err(FitError::NoNumber(name));
        }
        if !scenario.is_active(id) {
            return Err(FitError::NoEffect(name));
        }
        if ids.contains(&id) {
            return Err(FitError::Twice(name));
        }
        ids.push(id);
    }
    Ok(ids)
}

/// The constants that can be fitted to a scenario: numbers of the iteration-time model that have an effect in it.
pub fn fittable(scenario: &Scenario) -> Vec<&'static str> {
    let is_number = |id: Id| matches!(id.row().type_name(), "number" | "integer");
    let ids = TABLE.iter().filter(|row| row.id.starts_with("cost.")).filter_map(|row| Id::from_path(row.id));
    ids.filter(|&id| is_number(id) && scenario.is_active(id)).map(|id| id.row().id).collect()
}

/// Steps of a constant: by the factor, and by its inverse.
const STEPS: usize = 2;

/// A search under way: pattern search in factors, one run a call of [`FitSearch::advance`]. The step is halved in its logarithm
/// when no constant can be moved by it.
#[derive(Debug, Clone)]
pub struct FitSearch {
    measured: MeasuredRun,
    scenario: Scenario,
    trace: LoadedTrace,
    ids: Vec<Id>,
    start: Vec<f64>,
    before: Vec<Pair>,
    best: Vec<f64>,
    least: f64,
    factor: f64,
    /// What is tried next: a constant and a direction.
    next: usize,
    has_moved: bool,
    runs: usize,
}

impl FitSearch {
    /// Simulates what is before the fit.
    ///
    /// # Errors
    /// [`FitError`] names the constant.
    pub fn begin(measured: &MeasuredRun, scenario: &Scenario, paths: &[String]) -> Result<Self, FitError> {
        if !measured.is_matched() {
            return Err(FitError::NoTimes);
        }
        let ids = constants(paths, scenario)?;
        let start: Vec<f64> = ids.iter().map(|&id| scenario.number(id)).collect();
        let mut search = Self {
            measured: measured.clone(),
            scenario: scenario.clone(),
            trace: LoadedTrace::from_trace("measured", measured.trace()),
            ids,
            best: start.clone(),
            start,
            before: Vec::new(),
            least: f64::INFINITY,
            factor: 2.0,
            next: 0,
            has_moved: false,
            runs: 0,
        };
        search.before = search.pairs(scenario).map_err(FitError::Run)?;
        search.least = search.misfit_of(&search.before);
        Ok(search)
    }

    /// A scenario with values for the constants; none where one is out of bounds.
    fn with(&self, values: &[f64]) -> Option<Scenario> {
        let mut scenario = self.scenario.clone();
        for (&id, &value) in self.ids.iter().zip(values) {
            let is_whole = id.row().type_name() == "integer";
            let value = if is_whole { value.round() } else { value };
            scenario.set(id, Value::Number(value)).ok()?;
        }
        Some(scenario)
    }

    fn pairs(&mut self, scenario: &Scenario) -> Result<Vec<Pair>, Vec<Diagnostic>> {
        self.runs += 1;
        Ok(pairs(&self.measured, &Run::simulate(scenario, Some(&self.trace))?.report))
    }

    fn misfit(&mut self, values: &[f64]) -> f64 {
        let Some(scenario) = self.with(values) else { return f64::INFINITY };
        let Ok(pairs) = self.pairs(&scenario) else { return f64::INFINITY };
        self.misfit_of(&pairs)
    }

    /// Mean absolute logarithm of simulated over measured, over TTFT, TPOT and E2E of the fitted half; infinite where the run
    /// does not answer them all. Absolute, as a single decision of the scheduler moves a TTFT by a whole iteration.
    fn misfit_of(&self, pairs: &[Pair]) -> f64 {
        if pairs.len() < self.measured.requests.len() {
            return f64::INFINITY;
        }
        let (mut sum, mut count) = (0.0, 0.0);
        for pair in pairs.iter().filter(|pair| pair.id % 2 == 0) {
            for of in [TIMES[0].1, TIMES[1].1, TIMES[3].1] {
                if let Some((measured, simulated)) = pair.both(of)
                    && measured > 0.0
                    && simulated > 0.0
                {
                    sum += libm::log(simulated / measured).abs();
                    count += 1.0;
                }
            }
        }
        if count > 0.0 { sum / count } else { f64::INFINITY }
    }

    /// Tries one more value of one constant. False when the search has ended.
    pub fn advance(&mut self) -> bool {
        if self.factor <= FINEST || self.runs >= MAX_RUNS {
            return false;
        }
        let (place, direction) = (self.next / STEPS, self.next % STEPS);
        let step = if direction == 0 { self.factor } else { 1.0 / self.factor };
        let mut tried = self.best.clone();
        tried[place] = moved(self.ids[place], self.best[place], step);
        let misfit = if tried == self.best { f64::INFINITY } else { self.misfit(&tried) };
        if misfit < self.least {
            (self.best, self.least, self.has_moved) = (tried, misfit, true);
            self.next = STEPS * (place + 1);
        } else {
            self.next += 1;
        }
        if self.next >= STEPS * self.ids.len() {
            if !self.has_moved {
                self.factor = self.factor.sqrt();
            }
            (self.next, self.has_moved) = (0, false);
        }
        true
    }

    /// How much of the search is done at least, as a share.
    pub fn share(&self) -> f64 {
        self.runs as f64 / MAX_RUNS as f64
    }

    /// What the search has found so far.
    ///
    /// # Errors
    /// [`FitError::Run`] of the run with the fitted constants.
    pub fn finish(mut self) -> Result<CostFit, FitError> {
        let fitted = self.with(&self.best).unwrap_or_else(|| self.scenario.clone());
        let after = self.pairs(&fitted).map_err(FitError::Run)?;
        let half = |pairs: &[Pair], rest: usize| {
            times_of(&pairs.iter().filter(|pair| pair.id % 2 == rest).collect::<Vec<_>>(), None)
        };
        let constants = self.ids.iter().zip(&self.start);
        Ok(CostFit {
            constants: constants
                .map(|(&id, &before)| RefittedConstant { id, before, after: fitted.number(id) })
                .collect(),
            runs: self.runs,
            fitted_half: [half(&self.before, 0), half(&after, 0)],
            left_out_half: [half(&self.before, 1), half(&after, 1)],
            scenario: fitted,
        })
    }
}

/// A constant after a step. One of 0 goes to a hundredth of its default, or of 1.
fn moved(id: Id, value: f64, step: f64) -> f64 {
    if value != 0.0 {
        return value * step;
    }
    let usual = match id.row().default_value() {
        Value::Number(usual) if usual > 0.0 => usual,
        _ => 1.0,
    };
    if step > 1.0 { 0.01 * usual } else { 0.0 }
}

/// Fits constants by their paths.
///
/// # Errors
/// [`FitError`] names the constant.
pub fn fit(measured: &MeasuredRun, scenario: &Scenario, paths: &[String]) -> Result<CostFit, FitError> {
    let mut search = FitSearch::begin(measured, scenario, paths)?;
    while search.advance() {}
    search.finish()
}
