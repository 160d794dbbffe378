//! Whether the conditions of the parameter table hold.

use super::traffic::{Traffic, is_decided};
use crate::parameters::{Condition, Id, Value, string_list};
use crate::scenario::{Scenario, USUAL_CHECKS};

/// A scenario, and the trace that its requests come from.
#[derive(Debug, Clone, Copy)]
pub(super) struct ScenarioSettings<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) traffic: Option<&'a Traffic>,
}

impl ScenarioSettings<'_> {
    /// Whether a parameter acts: by itself, or as the source of a default that acts.
    pub(super) fn acts(&self, id: Id) -> bool {
        self.unmet(id).is_empty()
            || (self.scenario.defaults_from(id).iter())
                .any(|&other| other != id && !self.scenario.is_set(other) && self.acts(other))
    }

    /// The conditions of a parameter that do not hold.
    pub(super) fn unmet(&self, id: Id) -> Vec<&'static Condition> {
        id.row().applies.iter().filter(|condition| !self.holds(condition)).collect()
    }

    pub(super) fn holds(&self, condition: &Condition) -> bool {
        match condition {
            Condition::Any(of) => of.iter().any(|condition| self.holds(condition)),
            Condition::All(of) => of.iter().all(|condition| self.holds(condition)),
            _ => self.is_so(condition) && subject(condition).is_none_or(|id| self.counts(id)),
        }
    }

    /// Whether a condition on one parameter is met by its value, whatever else is set.
    fn is_so(&self, condition: &Condition) -> bool {
        match *condition {
            Condition::In(id, names) => names.contains(&self.value(id).to_text().as_str()),
            Condition::NotIn(id, names) => !names.contains(&self.value(id).to_text().as_str()),
            Condition::Above(id, bound) => matches!(self.value(id), Value::Number(x) if x > bound),
            Condition::Varied(id) => {
                matches!(self.value(id), Value::List(items) if items.iter().any(|x| *x != items[0]))
            }
            Condition::Checks(name) => {
                let chain = self.value(Id::GatewayChecks).to_text();
                if chain.is_empty() {
                    USUAL_CHECKS.contains(&name)
                } else {
                    string_list::split(&chain).iter().any(|n| n == name)
                }
            }
            Condition::Any(_) | Condition::All(_) => self.holds(condition),
        }
    }

    fn value(&self, id: Id) -> Value {
        self.traffic.and_then(|traffic| traffic.value(id)).unwrap_or_else(|| self.scenario.get(id))
    }

    /// Whether a parameter can be the subject of a condition: what has no effect itself makes none.
    fn counts(&self, id: Id) -> bool {
        self.traffic.is_some_and(|traffic| is_decided(id) && traffic.value(id).is_some()) || self.acts(id)
    }

    /// The reason behind an unmet condition: where its parameter has the value but no effect, that parameter's own.
    pub(super) fn cause(&self, condition: &'static Condition) -> &'static Condition {
        let blocked = |of: &'static Condition| {
            let id = subject(of).filter(|_| self.is_so(of))?;
            self.unmet(id).first().map(|deeper| self.cause(deeper))
        };
        match condition {
            Condition::Any(of) => of.iter().find_map(blocked).unwrap_or(condition),
            Condition::All(of) => of.iter().find(|c| !self.holds(c)).map_or(condition, |c| self.cause(c)),
            _ => blocked(condition).unwrap_or(condition),
        }
    }
}

/// The parameter that a single condition is about.
pub fn subject(condition: &Condition) -> Option<Id> {
    match *condition {
        Condition::In(id, _) | Condition::NotIn(id, _) | Condition::Above(id, _) | Condition::Varied(id) => {
            Some(id)
        }
        Condition::Checks(_) => Some(Id::GatewayChecks),
        Condition::Any(_) | Condition::All(_) => None,
    }
}

/// A condition in words.
pub fn words(condition: &Condition) -> String {
    let several = |of: &[Condition], between: &str| of.iter().map(words).collect::<Vec<_>>().join(between);
    match *condition {
        Condition::In(id, names) => format!("{} is {}", id.row().id, one_of(names)),
        Condition::NotIn(id, names) => format!("{} is not {}", id.row().id, one_of(names)),
        Condition::Above(id, bound) => format!("{} is above {bound}", id.row().id),
        Condition::Varied(id) => format!("{} has values that differ", id.row().id),
        Condition::Checks(name) => format!("{} has {name}", Id::GatewayChecks.row().id),
        Condition::Any(of) => several(of, ", or "),
        Condition::All(of) => several(of, " and "),
    }
}
/// "a", "a or b", "a, b or c".
fn one_of(names: &[&str]) -> String {
    match names.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}
