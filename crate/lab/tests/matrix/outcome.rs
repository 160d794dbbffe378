//! What a scenario leads to, as a number: the run's summary, the capacity search's answer, or the request bodies.

use std::collections::HashMap;
use std::rc::Rc;

use serde_json::{Value as Json, json};
use servescope_lab::capacity::{ConfigurationGrid, Search};
use servescope_lab::run::{Run, SimulationHandle};
use servescope_settings::notes::{NoteContext, Purpose, unused};
use servescope_settings::parameters::{Id, Value};
use servescope_settings::scenario::{Scenario, sampling_problems};
use servescope_traces::arrivals::trace_of;
use servescope_workload::prompts::bodies::Texts;
use servescope_workload::prompts::{BodyLines, BodyOptions, Endpoint, Form, Synthesis};

use super::values::values;

/// Entries of the summary that are no results: what was given, and what rows are called.
const LABELS: [&str; 8] =
    ["digest", "warnings", "id", "rank", "expected_share", "block_tokens", "ttft_bound", "tbt_bound"];

/// What a parameter is set for.
pub(crate) fn aim(id: Id) -> Purpose {
    match id.row().group {
        "capacity" => Purpose::Capacity,
        "sampling" => Purpose::Bodies,
        _ => Purpose::Run,
    }
}

/// What a scenario leads to.
#[derive(Clone, PartialEq)]
pub(crate) struct Outcome {
    /// Everything but the tables.
    run: String,
    /// The tables by user and by adapter.
    tables: String,
    /// Parameters of which the run itself shows that they did nothing.
    unused: Vec<Id>,
}

/// Outcomes by purpose and scenario; `None` for what is rejected.
#[derive(Default)]
pub(crate) struct Outcomes {
    known: HashMap<(u8, String), Option<Outcome>>,
    pub runs: usize,
}

impl Outcomes {
    /// What other values of a parameter change in several scenarios, at most `most` values each, until `is_enough`. The first
    /// value is tried in all scenarios before the next: what does not show in one often shows in another.
    pub(crate) fn changed(
        &mut self,
        scenarios: &[Rc<Scenario>],
        id: Id,
        most: usize,
        is_enough: impl Fn(&Seen) -> bool,
    ) -> Seen {
        let tried: Vec<Vec<Value>> = scenarios.iter().map(|scenario| values(scenario, id)).collect();
        let longest = tried.iter().map(Vec::len).max().unwrap_or(0);
        let mut seen = Seen { is_rejected: true, ..Seen::default() };
        for place in 0..longest.min(most) {
            for (scenario, tried) in scenarios.iter().zip(&tried) {
                let Some(value) = tried.get(place) else { continue };
                let Some(now) = self.of(scenario, id) else { continue };
                let Some(other) = self.of(&with(scenario, id, value), id) else { continue };
                seen.add(&now, &other, id);
                if is_enough(&seen) {
                    return seen;
                }
            }
        }
        seen
    }

    /// Whether a scenario leads to the same when each of `ids` that has another value at `place` of those to try takes it.
    pub(crate) fn are_alike(&mut self, scenario: &Rc<Scenario>, ids: &[Id], place: usize) -> bool {
        let Some(&first) = ids.first() else { return true };
        let mut other = Scenario::clone(scenario);
        for &id in ids {
            if let Some(value) = values(scenario, id).into_iter().nth(place) {
                other.set(id, value).expect("a value to try is within bounds");
            }
        }
        match (self.of(scenario, first), self.of(&other, first)) {
            (Some(now), Some(then)) => now.run == then.run && now.tables == then.tables,
            _ => false,
        }
    }

    fn of(&mut self, scenario: &Scenario, id: Id) -> Option<Outcome> {
        let aim = aim(id);
        let key = (aim as u8, scenario.to_json().to_string());
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        self.runs += 1;
        let outcome = match aim {
            Purpose::Capacity => capacity(scenario).map(Outcome::of),
            Purpose::Bodies => bodies(scenario).map(Outcome::of),
            _ => simulated(scenario).map(|run| {
                // The load is measured by a run of its own, in which a setting may act that this one did not need.
                let mut json = json!(run.summary_without_load(servescope_lab::run::TABLE_ROWS));
                for bound in ["ttft_s", "tpot_s", "tbt_s"] {
                    json["slo"][bound] = Json::Null;
                }
                strip(&mut json);
                let tables =
                    ["per_user", "per_adapter", "users"].map(|key| json[key].take().to_string()).concat();
                let tables = format!("{tables}{}", json["adapters"]["asked_for"].take());
                let unused = unused(scenario, &NoteContext::default(), &run.report);
                Outcome { run: json.to_string(), tables, unused: unused.iter().map(|note| note.id).collect() }
            }),
        };
        self.known.insert(key, outcome.clone());
        outcome
    }
}

/// What was seen of a parameter.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is an observation of its own")]
pub(crate) struct Seen {
    /// No other value was taken.
    pub(crate) is_rejected: bool,
    /// Some value changed the run.
    pub(crate) changes_run: bool,
    /// Some value changed the tables.
    pub(crate) changes_tables: bool,
    /// Some run said that the parameter did nothing in it.
    pub(crate) has_note: bool,
    /// Such a run was another than the one without the value.
    pub(crate) is_wrong: bool,
}

impl Seen {
    fn add(&mut self, now: &Outcome, other: &Outcome, id: Id) {
        let (run, tables) = (now.run != other.run, now.tables != other.tables);
        let is_told = other.unused.contains(&id);
        self.is_rejected = false;
        self.changes_run |= run;
        self.changes_tables |= tables;
        self.has_note |= is_told;
        self.is_wrong |= is_told && (run || tables);
    }
}

impl Outcome {
    fn of(run: String) -> Self {
        Self { run, tables: String::new(), unused: Vec::new() }
    }
}

/// A run that must end within the steps that a hundred times its load takes.
fn simulated(scenario: &Scenario) -> Option<Run> {
    const SLICE: usize = 100_000;
    const SLICES: usize = 100;
    let mut running = SimulationHandle::begin(scenario, None).ok()?;
    let is_over = (0..SLICES).any(|_| running.advance(SLICE) >= 1.0);
    assert!(is_over, "this does not end: {}", scenario.to_json());
    Some(running.finish())
}

fn with(scenario: &Scenario, id: Id, value: &Value) -> Scenario {
    let mut scenario = scenario.clone();
    scenario.set(id, value.clone()).expect("values are within bounds");
    scenario
}

fn strip(json: &mut Json) {
    match json {
        Json::Object(fields) => {
            LABELS.iter().for_each(|label| drop(fields.remove(*label)));
            // A prefix cache in which nothing was found is no other result than none.
            fields.retain(|name, value| match &**name {
                "prefix_cache" => value["hit_rate"].as_f64().is_some_and(|rate| rate > 0.0),
                "prefix_hit_rate" => value.as_f64().is_some_and(|rate| rate > 0.0),
                _ => true,
            });
            fields.values_mut().for_each(strip);
        }
        Json::Array(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}

fn capacity(scenario: &Scenario) -> Option<String> {
    let grid = ConfigurationGrid::of(scenario).ok()?.configurations(scenario).len();
    let mut search = Search::new(scenario, None).ok()?;
    while search.advance(usize::MAX) < 1.0 {}
    let mut found = json!(search.finish());
    found["probes"] = Json::Null;
    Some(format!("{grid} {found}"))
}

/// Requests whose bodies are compared, of each form.
const BODIES: usize = 12;

/// The first bodies of every form that takes the settings.
fn bodies(scenario: &Scenario) -> Option<String> {
    let trace = trace_of(scenario, None).ok()?;
    let mut text = String::new();
    for form in Form::ALL {
        let sampling = scenario.sampling();
        if !sampling_problems(&sampling, form).is_empty() {
            continue;
        }
        let seed = scenario.number(Id::Seed) as u64;
        let texts = Texts::Made(Synthesis::by_ratio(seed, scenario.characters_per_token()));
        let (model, adapter_name) = ("m".to_owned(), String::new());
        let options = BodyOptions { form, endpoint: Endpoint::Completions, model, adapter_name, sampling };
        let mut lines = BodyLines::new(&trace, texts, options).ok()?;
        for _ in 0..BODIES {
            lines.next_into(&mut text).ok()?;
        }
    }
    (!text.is_empty()).then_some(text)
}
