//! Scenarios in which a parameter should act, made by walking the conditions of the parameter table.

use servescope_lab::Scenario;
use servescope_lab::notes::subject;
use servescope_lab::parameters::{Condition, Id, Value};

use crate::values::values;

/// Parameters that name the stack: a walk leaves them as they are.
pub(crate) const STACK: [Id; 2] = [Id::SchedulerKind, Id::CostKind];

/// Most scenarios of one walk.
const MOST: usize = 24;

/// Deepest chain of conditions on conditions.
const DEEPEST: usize = 6;

/// Scenarios with `base`'s stack in which all conditions of a parameter hold, one for each way to meet them; none where the
/// stack cannot have it.
pub(crate) fn activated(base: &Scenario, id: Id) -> Vec<Scenario> {
    let mut all: Vec<Scenario> = every(&[base.clone()], id.row().applies, DEEPEST);
    all.retain(|scenario| scenario.is_active(id));
    if all.is_empty() && base.is_active(id) {
        all.push(base.clone());
    }
    all
}

/// All of `conditions` in each of `scenarios`.
fn every(scenarios: &[Scenario], conditions: &[Condition], depth: usize) -> Vec<Scenario> {
    let mut all = scenarios.to_vec();
    for condition in conditions {
        all = all.iter().flat_map(|scenario| met(scenario, condition, depth)).take(MOST).collect();
    }
    all
}

fn met(scenario: &Scenario, condition: &Condition, depth: usize) -> Vec<Scenario> {
    if depth == 0 {
        return Vec::new();
    }
    match condition {
        Condition::Any(of) => of.iter().flat_map(|one| met(scenario, one, depth - 1)).take(MOST).collect(),
        Condition::All(of) => every(std::slice::from_ref(scenario), of, depth),
        _ => {
            let id = subject(condition).expect("a single condition has a subject");
            let ready = every(std::slice::from_ref(scenario), id.row().applies, depth - 1);
            ready.iter().flat_map(|scenario| with(scenario, id, condition)).collect()
        }
    }
}

/// The scenarios in which the parameter has values that meet a condition: the one it has, or the first that does.
fn with(scenario: &Scenario, id: Id, condition: &Condition) -> Vec<Scenario> {
    if is_met(&scenario.get(id), condition) {
        return vec![scenario.clone()];
    }
    if STACK.contains(&id) {
        return Vec::new();
    }
    // Names one after another: each may make another thing of the parameter.
    let most = if matches!(condition, Condition::Is(..)) { 3 } else { 1 };
    let fitting = values(scenario, id).into_iter().filter(|value| is_met(value, condition)).take(most);
    let set = |value: Value| {
        let mut scenario = scenario.clone();
        scenario.set(id, value).ok().map(|()| scenario)
    };
    fitting.filter_map(set).collect()
}

fn is_met(value: &Value, condition: &Condition) -> bool {
    match (condition, value) {
        (Condition::Is(_, names), value) => names.contains(&value.to_text().as_str()),
        (Condition::IsNot(_, names), value) => !names.contains(&value.to_text().as_str()),
        (Condition::Above(_, bound), Value::Number(x)) => x > bound,
        (Condition::Varied(_), Value::List(items)) => items.iter().any(|x| *x != items[0]),
        (Condition::Checks(name), Value::Text(chain)) => chain.split('|').any(|n| n == *name),
        _ => false,
    }
}
