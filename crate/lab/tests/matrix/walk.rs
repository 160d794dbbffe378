//! Scenarios in which a parameter should act, made by walking the conditions of the parameter table.

use std::rc::Rc;

use servescope_settings::notes::subject;
use servescope_settings::parameters::{Condition, Id, Value};
use servescope_settings::scenario::Scenario;

use super::values::values;

/// Parameters that name the stack: a walk leaves them as they are.
pub(crate) const STACK: [Id; 2] = [Id::SchedulerKind, Id::CostKind];

/// Most scenarios of one walk.
const MOST: usize = 24;

/// Deepest chain of conditions on conditions.
const DEEPEST: usize = 6;

/// A scenario, and which of several conditions were taken to switch a parameter on in it.
#[derive(Clone)]
pub(crate) struct Step {
    // A scenario has a value for every parameter: copies of it are what a walk would do most of the time.
    pub(crate) scenario: Rc<Scenario>,
    pub(crate) way: String,
}

/// Scenarios with `base`'s stack in which all conditions of a parameter hold, at least one for each way to meet them; none
/// where the stack cannot have it.
pub(crate) fn activated(base: &Rc<Scenario>, id: Id) -> Vec<Step> {
    let start = Step { scenario: Rc::clone(base), way: String::new() };
    let mut all = every(vec![start.clone()], id.row().applies, DEEPEST);
    if let Some(condition) = &id.row().beyond_tables {
        let beyond = all.iter().flat_map(|step| met(step, condition, DEEPEST)).take(MOST);
        all = all.iter().cloned().chain(beyond.collect::<Vec<_>>()).collect();
    }
    all.retain(|step| step.scenario.is_active(id));
    if all.is_empty() && base.is_active(id) {
        all.push(start);
    }
    all
}

/// All of `conditions` in each of `steps`.
fn every(steps: Vec<Step>, conditions: &[Condition], depth: usize) -> Vec<Step> {
    let mut all = steps;
    for condition in conditions {
        all = all.iter().flat_map(|step| met(step, condition, depth)).take(MOST).collect();
    }
    all
}

fn met(step: &Step, condition: &Condition, depth: usize) -> Vec<Step> {
    if depth == 0 {
        return Vec::new();
    }
    match condition {
        Condition::Any(of) => {
            let one = |(place, condition)| {
                let way = format!("{}{place}.", step.way);
                met(&Step { way, ..step.clone() }, condition, depth - 1)
            };
            of.iter().enumerate().flat_map(one).take(MOST).collect()
        }
        Condition::All(of) => every(vec![step.clone()], of, depth),
        _ => {
            let id = subject(condition).expect("a single condition has a subject");
            let ready = every(vec![step.clone()], id.row().applies, depth - 1);
            ready.iter().flat_map(|step| with(step, id, condition)).collect()
        }
    }
}

/// The scenarios in which the parameter has values that meet a condition: the one it has, or some that do.
fn with(step: &Step, id: Id, condition: &Condition) -> Vec<Step> {
    if is_met(&step.scenario.get(id), condition) {
        return vec![step.clone()];
    }
    if STACK.contains(&id) {
        return Vec::new();
    }
    // A bound is tight for one setting and loose for another, and a name stands for a kind of its own.
    let most = match condition {
        Condition::Above(..) => 2,
        Condition::In(..) => 3,
        _ => 1,
    };
    let fitting = values(&step.scenario, id).into_iter().filter(|value| is_met(value, condition)).take(most);
    let set = |value: Value| {
        let mut scenario = Scenario::clone(&step.scenario);
        scenario.set(id, value).ok()?;
        Some(Step { scenario: Rc::new(scenario), way: step.way.clone() })
    };
    fitting.filter_map(set).collect()
}

fn is_met(value: &Value, condition: &Condition) -> bool {
    match (condition, value) {
        (Condition::In(_, names), value) => names.contains(&value.to_text().as_str()),
        (Condition::NotIn(_, names), value) => !names.contains(&value.to_text().as_str()),
        (Condition::Above(_, bound), Value::Number(x)) => x > bound,
        (Condition::Varied(_), Value::List(items)) => items.iter().any(|x| *x != items[0]),
        (Condition::Checks(name), Value::Text(chain)) => chain.split('|').any(|n| n == *name),
        _ => false,
    }
}
