//! A comparison from its two settings to its answer: what to simulate, in parts that a caller may put on any number of threads,
//! and everything that is reported of the runs.

use serde_json::{Value as Json, json};
use servescope_settings::diagnostic::Diagnostic;
use servescope_settings::notes::Note;
use servescope_settings::parameters::Id;
use servescope_settings::scenario::Scenario;
use servescope_traces::loaded_trace::LoadedTrace;

use super::Comparison;
use super::decisions::DecisionDifference;
use super::requests::RequestPairs;
use crate::crossover::Crossovers;
use crate::metric::{Measured, Members, Metric};
use crate::replications::{seeds, with_seed};
use crate::run::{Run, SimulationHandle};

/// Seeds where none are asked for.
const SEEDS: usize = 20;

/// What is compared, and on what.
#[derive(Debug, Clone)]
pub struct Task {
    /// A and B: two scenarios are more than a stack should hold.
    pub sides: Vec<Scenario>,
    /// The trace in place of generated requests.
    pub loaded: Option<LoadedTrace>,
    /// The numbers that are compared.
    pub metrics: Vec<Metric>,
    /// The seeds of both.
    pub seeds: Vec<u64>,
}

/// The result of a comparison.
#[derive(Debug)]
pub struct ComparisonOutcome {
    /// The metrics.
    pub comparison: Comparison,
    /// Both runs of the first seed, request by request.
    pub requests: RequestPairs,
    /// Where these two first decided differently.
    pub difference: DecisionDifference,
    /// Settings without effect in the first run of A or of B.
    pub idle: Vec<Note>,
    /// Whether every seed gives the same run, of more seeds than one: the intervals mean nothing then.
    pub is_without_chance: bool,
}

impl Task {
    /// A task; of no metrics the usual ones ([`Metric::usual_of`] its users), of no number of seeds 20, or one where a trace is played, which no seed changes.
    ///
    /// # Errors
    /// [`Diagnostic`] for no seed or too many, or for a metric of a user or adapter that neither has.
    pub fn new(
        a: Scenario,
        b: Scenario,
        loaded: Option<LoadedTrace>,
        metrics: Vec<Metric>,
        count: Option<usize>,
    ) -> Result<Self, Diagnostic> {
        let count = count.unwrap_or(if loaded.is_some() { 1 } else { SEEDS });
        let seeds = seeds(&a, count)?;
        let members = Members::of(&a, loaded.as_ref()).or(Members::of(&b, loaded.as_ref()));
        metrics.iter().try_for_each(|metric| members.check(metric))?;
        let metrics = if metrics.is_empty() { Metric::usual_of(members) } else { metrics };
        Ok(Self { sides: vec![a, b], loaded, metrics, seeds })
    }

    /// Whether A and B name different seeds; both are simulated with those of A.
    pub fn has_two_seeds(&self) -> bool {
        self.sides[0].get(Id::Seed) != self.sides[1].get(Id::Seed)
    }

    /// The run of a side with the first seed, which keeps its decisions.
    ///
    /// # Errors
    /// Every [`Diagnostic`] of its scenario, with the side's name.
    pub fn first(&self, side: usize) -> Result<Run, Vec<Diagnostic>> {
        let scenario = with_seed(&self.sides[side], self.seeds[0]);
        let running = SimulationHandle::begin(&scenario, self.loaded.as_ref());
        Ok(running.map_err(|errors| of_side(side, errors))?.with_decisions().run())
    }

    /// Runs beside the first two: those of A, then those of B.
    pub fn further(&self) -> usize {
        2 * (self.seeds.len() - 1)
    }

    /// The metrics of one of the further runs.
    ///
    /// # Errors
    /// As [`Task::first`].
    pub fn measure(&self, place: usize) -> Result<Measured, Vec<Diagnostic>> {
        let rest = &self.seeds[1..];
        let side = place / rest.len();
        let scenario = with_seed(&self.sides[side], rest[place % rest.len()]);
        let run = Measured::simulate(&scenario, self.loaded.as_ref(), &self.metrics);
        run.map_err(|errors| of_side(side, errors))
    }

    /// The results of the runs: those of the first seed, and the metrics of the further ones in their order.
    pub fn outcome(&self, a: &Run, b: &Run, further: &[Measured]) -> ComparisonOutcome {
        let (comparison, is_without_chance) = if let [seed] = self.seeds[..] {
            (Comparison::of_one_run(&self.metrics, seed, a, b), false)
        } else {
            let (of_a, of_b) = further.split_at(further.len() / 2);
            let with_first = |run: &Run, rest: &[Measured]| -> Vec<Measured> {
                [&[Measured::of(run, &self.metrics)], rest].concat()
            };
            let runs = [with_first(a, of_a), with_first(b, of_b)];
            let is_same = runs.iter().all(|runs| runs.iter().all(|run| run.digest == runs[0].digest));
            (Comparison::of_seeds(&self.metrics, &self.seeds, &runs[0], &runs[1]), is_same)
        };
        let mut idle = a.notes();
        let of_b: Vec<Note> = b.notes().into_iter().filter(|note| !idle.contains(note)).collect();
        idle.extend(of_b);
        ComparisonOutcome {
            comparison,
            requests: RequestPairs::of(a, b),
            difference: DecisionDifference::of(a, b),
            idle,
            is_without_chance,
        }
    }

    /// The parameters in which A and B differ, but for the seed.
    pub fn differences(&self) -> Vec<Json> {
        let (a, b) = (&self.sides[0], &self.sides[1]);
        let differ = |id: &&Id| **id != Id::Seed && a.get(**id) != b.get(**id);
        let one =
            |id: &Id| json!({"path": id.row().id, "a": a.get(*id).to_json(), "b": b.get(*id).to_json()});
        Id::ALL.iter().filter(differ).map(one).collect()
    }

    /// The whole answer as JSON, with where the better of both changes where that was asked.
    pub fn to_json(&self, outcome: &ComparisonOutcome, crossovers: Option<&Crossovers>) -> Json {
        let mut json = json!({
            "a": self.sides[0].to_json(),
            "b": self.sides[1].to_json(),
            "differ": self.differences(),
            "seeds": self.seeds,
            "metrics": outcome.comparison.metrics(),
            "requests": outcome.requests.compared(),
            "first_difference": outcome.difference.differing(),
        });
        if let Some(crossovers) = crossovers {
            json["crossover"] = crossovers.to_json();
        }
        json
    }
}

/// Errors of a side, with its name.
pub fn of_side(side: usize, errors: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let named = |error: Diagnostic| Diagnostic {
        message: format!("{}: {}", ["A", "B"][side], error.message),
        ..error
    };
    errors.into_iter().map(named).collect()
}
