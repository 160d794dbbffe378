//! Settings without effect in a sweep.

use servescope_settings::notes::{NoteContext, Purpose, common, lines, notes};
use servescope_settings::scenario::Scenario;
use servescope_traces::loaded_trace::LoadedTrace;

use super::Sweep;

/// Points that are asked which of their settings have no effect.
const ASKED: usize = 64;

impl Sweep {
    /// Settings without effect in any of the points, as far as they are asked, a line for each reason; an axis among them is
    /// reported by itself.
    pub fn idle_settings(&self, loaded: Option<&LoadedTrace>) -> Vec<String> {
        let context = loaded.map_or_else(NoteContext::default, |loaded| loaded.context(Purpose::Run));
        let step = self.runs().div_ceil(ASKED).max(1);
        // Neighbours differ in the last axis only: an odd step comes past every value of every axis.
        let scenarios: Vec<Scenario> =
            (0..self.runs()).step_by(step | 1).map(|index| self.scenario(index)).collect();
        let mut reported = lines(&common(scenarios.iter(), &context));
        for axis in self.axes() {
            let changed =
                || scenarios.iter().filter(|scenario| scenario.get(axis.id) != scenario.default_of(axis.id));
            let is_without =
                |scenario: &Scenario| notes(scenario, &context).iter().any(|note| note.id == axis.id);
            if changed().next().is_some() && changed().all(is_without) {
                reported.push(format!("{} has no effect in this sweep", axis.path()));
            }
        }
        reported
    }
}
