//! Settings without which a run is the same: each is taken away once, and the run is made again.
//!
//! The conditions of the parameter table say which settings cannot act, and [`unused`](servescope_settings::notes::unused) which had no case. Whether
//! a quota, a time-out or an order that could act did so depends on everything else: only the run without it shows.

use serde_json::Value as Json;
use servescope_settings::notes::{Note, Reason};
use servescope_settings::parameters::Id;
use servescope_settings::scenario::Scenario;
use servescope_traces::loaded_trace::LoadedTrace;

use super::{Run, SimulationHandle};

/// Requests of all these runs together, at most: about a second. Of larger runs nothing is said.
const MOST_REQUESTS: usize = 200_000;

/// Times at which something may happen in a run without a setting, at most: without a limit it may take far longer.
const MOST_TIMES: usize = 5_000_000;

/// Looks for the settings without which a run would have been the same, in slices: one run after another, each without one setting.
#[derive(Debug)]
pub struct Unneeded {
    /// What the run has.
    digest: u64,
    numbers: String,
    /// The settings that are still to be taken away, the next one last.
    left: Vec<(Id, Scenario)>,
    count: usize,
    /// The run without a setting, and the slices' times so far.
    running: Option<(Id, SimulationHandle, usize)>,
    found: Vec<Note>,
}

impl Unneeded {
    /// Of this run, which `loaded` was the trace of, the settings that have no note yet; none where the runs would take too long.
    pub fn of(run: &Run, loaded: Option<&LoadedTrace>) -> Self {
        let mut left = run.scenarios_without();
        if left.len() * run.report.results.len() > MOST_REQUESTS {
            left.clear();
        }
        left.reverse();
        let numbers = if left.is_empty() { String::new() } else { run.all_numbers() };
        let count = left.len();
        let digest = run.report.digest();
        let mut this = Self { digest, numbers, left, count, running: None, found: Vec::new() };
        this.next(loaded);
        this
    }

    fn next(&mut self, loaded: Option<&LoadedTrace>) {
        while self.running.is_none() {
            let Some((id, scenario)) = self.left.pop() else { return };
            let running = SimulationHandle::begin(&scenario, loaded).ok();
            self.running = running.map(|running| (id, running, 0));
        }
    }

    /// Goes on with at most this many times at which something happens, and gives the share that is done; 1 is the end.
    pub fn advance(&mut self, times: usize, loaded: Option<&LoadedTrace>) -> f64 {
        let Some((id, running, taken)) = &mut self.running else { return 1.0 };
        let is_over = running.advance(times) >= 1.0;
        *taken += times;
        if !is_over && *taken < MOST_TIMES {
            return self.share();
        }
        let id = *id;
        let running = self.running.take().filter(|_| is_over);
        let reason = running.and_then(|(_, running, _)| self.reason(id, &running.finish()));
        self.found.extend(reason.map(|reason| Note { id, reason }));
        self.next(loaded);
        self.share()
    }

    fn reason(&self, id: Id, other: &Run) -> Option<Reason> {
        if other.report.digest() != self.digest {
            return None;
        }
        if other.all_numbers() == self.numbers {
            return Some(Reason::SameRun);
        }
        // A bound that only judges is not meant to change what happens.
        (!id.row().scores_only).then_some(Reason::SameRequests)
    }

    fn share(&self) -> f64 {
        if self.running.is_none() {
            return 1.0;
        }
        (self.count - self.left.len() - 1) as f64 / self.count as f64
    }

    /// The settings that were found.
    pub fn finish(self) -> Vec<Note> {
        self.found
    }
}

impl Run {
    /// Looks for the settings without which this run would have been the same, of those that have no note yet; from now on they are among
    /// [`Run::notes`]. `loaded` is the trace that it was made of.
    pub fn find_unneeded(&mut self, loaded: Option<&LoadedTrace>) {
        let mut search = Unneeded::of(self, loaded);
        while search.advance(MOST_TIMES, loaded) < 1.0 {}
        self.unneeded = search.finish();
    }

    /// The scenario without each setting that has no note yet.
    fn scenarios_without(&self) -> Vec<(Id, Scenario)> {
        let Some(context) = self.context else { return Vec::new() };
        let known: Vec<Id> = self.notes().iter().map(|note| note.id).collect();
        let default = |id: Id| {
            let mut without = self.scenario.clone();
            without.reset(id);
            (without.get(id) != self.scenario.get(id)).then_some((id, without))
        };
        // Steps have changed the trace of the workload's settings: it is not made again.
        let is_fixed = |id: &Id| context.is_generated && id.row().id.starts_with("workload.");
        let given = self.scenario.given().filter(|id| !known.contains(id) && !is_fixed(id));
        given.filter_map(default).collect()
    }

    /// Every number of the summary, as text.
    fn all_numbers(&self) -> String {
        let mut json = serde_json::json!(self.summary());
        json["warnings"] = Json::Null;
        json.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_of_any_size_find_the_same() {
        let settings = [
            ("scheduler.kind", "vllm_v1"),
            ("workload.adapters.count", "0"),
            ("gateway.kind", "proxy"),
            ("gateway.concurrency", "500"),
            ("gateway.queue_timeout_s", "900"),
        ];
        let scenario = Scenario::of_version(4).with(&settings).expect("good settings");
        let mut run = Run::simulate(&scenario, None).expect("a good scenario");
        let mut search = Unneeded::of(&run, None);
        let mut shares = vec![0.0];
        while *shares.last().expect("one") < 1.0 {
            shares.push(search.advance(50, None));
        }
        assert!(shares.is_sorted() && shares.len() > 10);
        let found = search.finish();
        run.find_unneeded(None);
        assert_eq!(run.unneeded, found);
        let named: Vec<&str> = found.iter().map(|note| note.id.row().id).collect();
        assert_eq!(named, ["gateway.kind", "gateway.concurrency", "gateway.queue_timeout_s"]);
    }
}
