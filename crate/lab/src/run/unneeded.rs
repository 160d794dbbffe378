//! Settings without which a run is the same: each is taken away once, and the run is made again.
//!
//! The conditions of the parameter table say which settings cannot act, and [`unused`](crate::notes::unused) which had no case. Whether
//! a quota, a time-out or an order that could act did so depends on everything else: only the run without it shows.

use serde_json::Value as Json;

use super::{LoadedTrace, Run, SimulationHandle};
use crate::notes::{Note, Reason};
use crate::parameters::Id;
use crate::scenario::Scenario;

/// Requests of all these runs together, at most: about a second. Of larger runs nothing is said.
const MOST_REQUESTS: usize = 200_000;

/// Times at which something may happen in a run without a setting, at most: without a limit it may take far longer.
const MOST_TIMES: usize = 5_000_000;

impl Run {
    /// Looks for the settings without which this run would have been the same, of those that have no note yet; from now on they are among
    /// [`Run::notes`]. `loaded` is the trace that it was made of.
    pub fn find_unneeded(&mut self, loaded: Option<&LoadedTrace>) {
        let Some(context) = self.context else { return };
        let known: Vec<Id> = self.notes().iter().map(|note| note.id).collect();
        let default = |id: Id| {
            let mut without = self.scenario.clone();
            without.reset(id);
            (without.get(id) != self.scenario.get(id)).then_some((id, without))
        };
        // Steps have changed the trace of the workload's settings: it is not made again.
        let is_fixed = |id: &Id| context.is_generated && id.row().id.starts_with("workload.");
        let without: Vec<(Id, Scenario)> =
            (self.scenario.given().filter(|id| !known.contains(id) && !is_fixed(id)))
                .filter_map(default)
                .collect();
        if without.len() * self.report.results.len() > MOST_REQUESTS {
            return;
        }
        let numbers = self.all_numbers();
        let digest = self.report.digest();
        let reason = |id: Id, scenario: &Scenario| {
            let mut running = SimulationHandle::begin(scenario, loaded).ok()?;
            let is_over = running.advance(MOST_TIMES) >= 1.0;
            let other = is_over.then(|| running.finish()).filter(|other| other.report.digest() == digest)?;
            if other.all_numbers() == numbers {
                return Some(Reason::SameRun);
            }
            // A bound that only judges is not meant to change what happens.
            (!id.row().scores_only).then_some(Reason::SameRequests)
        };
        let same = without
            .iter()
            .filter_map(|(id, scenario)| Some(Note { id: *id, reason: reason(*id, scenario)? }));
        self.unneeded = same.collect();
    }

    /// Every number of the summary, as text.
    fn all_numbers(&self) -> String {
        let mut json = serde_json::json!(self.summary());
        json["warnings"] = Json::Null;
        json.to_string()
    }
}
