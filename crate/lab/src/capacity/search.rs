//! Bisection of the rate.

use serde::Serialize;

use super::goal::Goal;
use super::price::Price;
use super::probe::{Measures, Miss, Probe};
use crate::failure::Failure;
use crate::parameters::{Id, Value};
use crate::run::{LoadedTrace, Running};
use crate::scenario::{MAX_REQUESTS, Scenario};

/// What a search found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Capacity {
    /// The highest rate that was seen to meet the goal; none when the lowest fails already.
    pub rate_rps: Option<f64>,
    /// The lowest rate that was seen to fail; none when the highest that can be asked for passes.
    pub missed_rps: Option<f64>,
    /// Why that rate fails.
    pub miss: Option<Miss>,
    /// What the run at `rate_rps` showed.
    pub measures: Option<Measures>,
    /// What the GPUs cost.
    pub price: Price,
    /// Every run, in the order in which they were made.
    pub probes: Vec<Probe>,
}

/// A search under way, for callers that want to show progress or to stop.
#[derive(Debug)]
pub struct Search {
    scenario: Scenario,
    loaded: Option<LoadedTrace>,
    goal: Goal,
    /// Rates that the search keeps within.
    bounds: [f64; 2],
    probes: Vec<Probe>,
    passed: Option<Probe>,
    missed: Option<Probe>,
    running: Option<(f64, Running)>,
    is_over: bool,
}

impl Search {
    /// A search that begins at the rate of the scenario, or of the trace.
    ///
    /// # Errors
    /// Every [`Failure`] of the scenario, that nothing is bounded, or that its requests have no rate to search.
    pub fn new(scenario: &Scenario, loaded: Option<LoadedTrace>) -> Result<Self, Vec<Failure>> {
        let goal = Goal::of(scenario).map_err(|failure| vec![failure])?;
        let mut search = Self {
            bounds: [0.0; 2],
            scenario: scenario.clone(),
            loaded,
            goal,
            probes: Vec::new(),
            passed: None,
            missed: None,
            running: None,
            is_over: false,
        };
        let first = search.first_rate()?;
        search.bounds = search.rate_bounds();
        search.begin(first.clamp(search.bounds[0], search.bounds[1]))?;
        Ok(search)
    }

    fn first_rate(&self) -> Result<f64, Vec<Failure>> {
        if self.loaded.is_some() {
            return Ok(self.natural_rate() / self.scenario.number(Id::TimeScale));
        }
        if !self.scenario.is_active(Id::Rate) {
            let path = Id::Loop.row().id;
            let message = format!("{path}: a closed loop has no rate to search; its users set it");
            return Err(vec![Failure::new("no_rate", path, message)]);
        }
        Ok(self.scenario.number(Id::Rate))
    }

    /// The rate of the loaded trace at its own speed.
    fn natural_rate(&self) -> f64 {
        let trace = self.loaded.as_ref().map(|loaded| &loaded.trace);
        let span = trace.and_then(|t| Some(t.arrival_us.last()? - t.arrival_us.first()?)).unwrap_or(0.0);
        let requests = trace.map_or(0, |t| t.len()) as f64 * self.scenario.number(Id::RateScale);
        requests * 1e6 / span.max(1.0)
    }

    fn rate_bounds(&self) -> [f64; 2] {
        let (id, most) = if self.loaded.is_some() {
            (Id::TimeScale, f64::INFINITY)
        } else {
            (Id::Rate, MAX_REQUESTS / self.scenario.number(Id::Duration))
        };
        let (low, high) = id.row().bounds().unwrap_or((0.0, f64::INFINITY));
        if self.loaded.is_some() {
            // A time scale of 2 is half the rate.
            return [self.natural_rate() / high, self.natural_rate() / low];
        }
        // Below one request in all there is nothing to run.
        [low.max(1.0 / self.scenario.number(Id::Duration)), high.min(most)]
    }

    fn begin(&mut self, rate_rps: f64) -> Result<(), Vec<Failure>> {
        let (id, value) = if self.loaded.is_some() {
            (Id::TimeScale, self.natural_rate() / rate_rps)
        } else {
            (Id::Rate, rate_rps)
        };
        let mut scenario = self.scenario.clone();
        let (low, high) = id.row().bounds().unwrap_or((0.0, f64::INFINITY));
        scenario.set(id, Value::Number(value.clamp(low, high))).map_err(|failure| vec![failure])?;
        self.running = Some((rate_rps, Running::begin(&scenario, self.loaded.as_ref())?));
        Ok(())
    }

    /// Takes at most `steps` steps of the current run and gives an estimate of the share that is done; 1 is the end.
    pub fn advance(&mut self, steps: usize) -> f64 {
        let Some((rate_rps, mut running)) = self.running.take() else { return 1.0 };
        let share = running.advance(steps);
        if share < 1.0 {
            self.running = Some((rate_rps, running));
            return self.progress(share);
        }
        let probe = Probe::of(rate_rps, &running.finish(), &self.goal);
        self.probes.push(probe);
        let side = if probe.miss.is_none() { &mut self.passed } else { &mut self.missed };
        *side = Some(probe);
        // The scenario was good at one rate; one that it cannot be run at ends the search where it stands.
        self.is_over = match self.next_rate() {
            Some(rate_rps) => self.begin(rate_rps).is_err(),
            None => true,
        };
        self.progress(0.0)
    }

    fn next_rate(&self) -> Option<f64> {
        let rate = |probe: &Option<Probe>| probe.as_ref().map(|p| p.rate_rps);
        let [low, high] = self.bounds;
        match (rate(&self.passed), rate(&self.missed)) {
            (Some(passed), None) => (passed < high).then(|| (2.0 * passed).min(high)),
            (None, Some(missed)) => (missed > low).then(|| (0.5 * missed).max(low)),
            (Some(passed), Some(missed)) => {
                let is_close = missed <= passed * (1.0 + self.goal.tolerance);
                (!is_close && passed < missed).then(|| f64::sqrt(passed * missed))
            }
            (None, None) => None,
        }
    }

    /// An estimate: a factor of two on both sides, then halves of what is left.
    fn progress(&self, of_run: f64) -> f64 {
        if self.is_over {
            return 1.0;
        }
        let halvings = |ratio: f64| libm::log2(libm::log(ratio) / libm::log1p(self.goal.tolerance)).max(0.0);
        let left = match (&self.passed, &self.missed) {
            (Some(passed), Some(missed)) => halvings(missed.rate_rps / passed.rate_rps),
            _ => 1.0 + halvings(2.0),
        };
        let done = self.probes.len() as f64 + of_run;
        (done / (done + left + 1.0)).min(0.99)
    }

    /// The runs so far.
    pub fn probes(&self) -> &[Probe] {
        &self.probes
    }

    /// What was found up to now.
    pub fn finish(self) -> Capacity {
        Capacity {
            rate_rps: self.passed.map(|p| p.rate_rps),
            missed_rps: self.missed.map(|p| p.rate_rps),
            miss: self.missed.and_then(|p| p.miss),
            measures: self.passed.map(|p| p.measures),
            price: Price::of(&self.scenario),
            probes: self.probes,
        }
    }
}
