//! What a scenario leads to, as a number: the run's summary, the capacity search's answer, or the request bodies.

use std::collections::HashMap;

use serde_json::{Value as Json, json};
use servescope_lab::capacity::{Grid, Search};
use servescope_lab::notes::Purpose;
use servescope_lab::parameters::{Id, Value};
use servescope_lab::run::trace_of;
use servescope_lab::scenario::sampling_problems;
use servescope_lab::workload::prompts::bodies::Texts;
use servescope_lab::workload::prompts::{BodyLines, BodyOptions, Endpoint, Form, Synthesis};
use servescope_lab::{Run, Running, Scenario};

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

/// Outcomes by purpose and scenario; `None` for what is rejected.
#[derive(Default)]
pub(crate) struct Outcomes {
    known: HashMap<(u8, String), Option<String>>,
    pub runs: usize,
}

impl Outcomes {
    /// The first of a parameter's values that changes the outcome of a scenario; at most `most` are tried.
    pub(crate) fn change(&mut self, scenario: &Scenario, id: Id, most: usize) -> Option<Value> {
        let now = self.of(scenario, id)?;
        let tried = values(scenario, id).into_iter().take(most);
        tried.into_iter().find(|value| {
            let other = with(scenario, id, value);
            self.of(&other, id).is_some_and(|outcome| outcome != now)
        })
    }

    /// Whether some value of a parameter changes the outcome of one of several scenarios. The first value is tried in all of
    /// them before the next: what does not show in one often shows in another.
    pub(crate) fn changes_any(&mut self, scenarios: &[Scenario], id: Id) -> bool {
        let tried: Vec<Vec<Value>> = scenarios.iter().map(|scenario| values(scenario, id)).collect();
        let most = tried.iter().map(Vec::len).max().unwrap_or(0);
        (0..most).any(|place| {
            scenarios.iter().zip(&tried).any(|(scenario, tried)| {
                let Some(value) = tried.get(place) else { return false };
                let Some(now) = self.of(scenario, id) else { return false };
                self.of(&with(scenario, id, value), id).is_some_and(|outcome| outcome != now)
            })
        })
    }

    /// Whether a scenario, or it with any other value of a parameter, is rejected.
    pub(crate) fn all_rejected(&mut self, scenario: &Scenario, id: Id) -> bool {
        self.of(scenario, id).is_none()
            || values(scenario, id).iter().all(|value| self.of(&with(scenario, id, value), id).is_none())
    }

    fn of(&mut self, scenario: &Scenario, id: Id) -> Option<String> {
        let aim = aim(id);
        let key = (aim as u8, scenario.to_json().to_string());
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        self.runs += 1;
        let outcome = match aim {
            Purpose::Capacity => capacity(scenario),
            Purpose::Bodies => bodies(scenario),
            _ => simulated(scenario).map(|run| {
                let mut json = json!(run.summary());
                json["slo"]["ttft_s"] = Json::Null;
                json["slo"]["tbt_s"] = Json::Null;
                strip(&mut json);
                json.to_string()
            }),
        };
        self.known.insert(key, outcome.clone());
        outcome
    }
}

/// A run that must end within the steps that a hundred times its load takes.
fn simulated(scenario: &Scenario) -> Option<Run> {
    const SLICE: usize = 100_000;
    const SLICES: usize = 100;
    let mut running = Running::begin(scenario, None).ok()?;
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
            fields.values_mut().for_each(strip);
        }
        Json::Array(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}

fn capacity(scenario: &Scenario) -> Option<String> {
    let grid = Grid::of(scenario).ok()?.configurations(scenario).len();
    let mut search = Search::new(scenario, None).ok()?;
    while search.advance(usize::MAX) < 1.0 {}
    let mut found = json!(search.finish());
    found["probes"] = Json::Null;
    Some(format!("{grid} {found}"))
}

/// The bodies of every form that takes the settings.
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
        while lines.next_into(&mut text).ok()? {}
    }
    (!text.is_empty()).then_some(text)
}
