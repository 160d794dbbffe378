//! Named constants recalibrated on half of the requests, with the error on the other half.
//!
//! The rule is fixed: requests with even places in the order of sending are fitted, those with odd ones are left out. All of them
//! are simulated each time, as each one delays the others.

use super::compare::{Metric, Pair, TIMES, pairs, times_of};
use super::measured::MeasuredRun;
use crate::failure::Failure;
use crate::parameters::{Id, Value};
use crate::run::{LoadedTrace, Run};
use crate::scenario::Scenario;

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
    /// A file without times of single requests.
    #[error("--fit: the file tells no times of single requests")]
    NoTimes,
    /// The scenario does not run.
    #[error("{}", .0.first().map_or("", |failure| &failure.message))]
    Run(Vec<Failure>),
}

/// A constant before and after.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fitted {
    /// The parameter.
    pub id: Id,
    /// Its value before.
    pub before: f64,
    /// Its value after.
    pub after: f64,
}

/// A fit.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// The constants.
    pub constants: Vec<Fitted>,
    /// The scenario with the constants as fitted.
    pub scenario: Scenario,
    /// How many runs it took.
    pub runs: usize,
    /// Errors on the half that was fitted, before and after.
    pub fitted_half: [Vec<Metric>; 2],
    /// Errors on the half that was left out, before and after.
    pub left_out_half: [Vec<Metric>; 2],
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

struct Search<'a> {
    measured: &'a MeasuredRun,
    trace: LoadedTrace,
    ids: Vec<Id>,
    runs: usize,
}

impl Search<'_> {
    /// A scenario with values for the constants; none where one is out of bounds.
    fn with(&self, scenario: &Scenario, values: &[f64]) -> Option<Scenario> {
        let mut scenario = scenario.clone();
        for (&id, &value) in self.ids.iter().zip(values) {
            let is_whole = id.row().type_name() == "integer";
            let value = if is_whole { value.round() } else { value };
            scenario.set(id, Value::Number(value)).ok()?;
        }
        Some(scenario)
    }

    fn pairs(&mut self, scenario: &Scenario) -> Result<Vec<Pair>, Vec<Failure>> {
        self.runs += 1;
        Ok(pairs(self.measured, &Run::simulate(scenario, Some(&self.trace))?.report))
    }

    /// Mean absolute logarithm of simulated over measured, over TTFT, TPOT and E2E of the fitted half; infinite where the run
    /// does not answer them all. Absolute, as a single decision of the scheduler moves a TTFT by a whole iteration.
    fn misfit(&mut self, scenario: &Scenario, values: &[f64]) -> f64 {
        let Some(scenario) = self.with(scenario, values) else { return f64::INFINITY };
        let Ok(pairs) = self.pairs(&scenario) else { return f64::INFINITY };
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

    /// Pattern search in factors: the step is halved in its logarithm when no constant can be moved by it.
    fn minimise(&mut self, scenario: &Scenario, start: &[f64]) -> Vec<f64> {
        let mut best = start.to_vec();
        let mut least = self.misfit(scenario, &best);
        let mut factor: f64 = 2.0;
        while factor > FINEST && self.runs < MAX_RUNS {
            let mut has_moved = false;
            for place in 0..best.len() {
                for step in [factor, 1.0 / factor] {
                    let mut tried = best.clone();
                    tried[place] = moved(self.ids[place], best[place], step);
                    let misfit = if tried == best { f64::INFINITY } else { self.misfit(scenario, &tried) };
                    if misfit < least {
                        (best, least, has_moved) = (tried, misfit, true);
                        break;
                    }
                }
            }
            if !has_moved {
                factor = factor.sqrt();
            }
        }
        best
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
pub fn fit(measured: &MeasuredRun, scenario: &Scenario, paths: &[String]) -> Result<Fit, FitError> {
    if !measured.has_times() {
        return Err(FitError::NoTimes);
    }
    let ids = constants(paths, scenario)?;
    let trace = LoadedTrace::from_trace("measured", measured.trace());
    let mut search = Search { measured, trace, ids, runs: 0 };
    let before = search.pairs(scenario).map_err(FitError::Run)?;
    let start: Vec<f64> = search.ids.iter().map(|&id| scenario.number(id)).collect();
    let best = search.minimise(scenario, &start);
    let fitted = search.with(scenario, &best).unwrap_or_else(|| scenario.clone());
    let after = search.pairs(&fitted).map_err(FitError::Run)?;
    let half = |pairs: &[Pair], rest: usize| {
        times_of(&pairs.iter().filter(|pair| pair.id % 2 == rest).collect::<Vec<_>>(), None)
    };
    let constants = search.ids.iter().zip(&start);
    Ok(Fit {
        constants: constants.map(|(&id, &before)| Fitted { id, before, after: fitted.number(id) }).collect(),
        runs: search.runs,
        fitted_half: [half(&before, 0), half(&after, 0)],
        left_out_half: [half(&before, 1), half(&after, 1)],
        scenario: fitted,
    })
}
