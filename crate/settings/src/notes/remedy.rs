//! What makes a parameter apply: the fewest other settings to change, found from the conditions of the parameter table.

use super::conditions::ScenarioSettings;
use super::{NoteContext, beside, idle};
use crate::parameters::choices::{self, CostKind};
use crate::parameters::{Condition, Id, Kind, Scale, Value, string_list};
use crate::scenario::{Scenario, USUAL_CHECKS};

/// Conditions behind conditions that are followed.
const DEPTH: u8 = 5;

/// What is taken first where a condition leaves a choice: the engine most in use, and the time model that knows every GPU and
/// model where none of the model was measured on the GPU.
const FIRST: &[(Id, &str)] = &[(Id::SchedulerKind, "vllm_v1"), (Id::CostKind, "roofline")];

/// The settings that make a parameter apply, in the order of the table; empty where it applies, `None` where no setting can
/// make it: a trace decides it, it acts on a trace only, or what it needs does not go together with other settings.
pub fn remedy(scenario: &Scenario, context: &NoteContext, id: Id) -> Option<Vec<(Id, Value)>> {
    let changed = acting_beside(scenario, scenario, context, id).or_else(|| {
        // What it needs does not go together with this scheduler, as a policy of S-LoRA's.
        choices::SCHEDULER.values().iter().find_map(|&kind| {
            let mut other = scenario.clone();
            other.set(Id::SchedulerKind, choices::SCHEDULER.value(kind)).ok()?;
            acting_beside(scenario, &other, context, id)
        })
    })?;
    Some(differing(scenario, &changed).map(|id| (id, changed.get(id))).collect())
}

/// The scenario, or another in its place, changed so that the parameter acts; none where it then has more problems than before.
fn acting_beside(
    before: &Scenario,
    other: &Scenario,
    context: &NoteContext,
    id: Id,
) -> Option<Box<Scenario>> {
    let search = RemedySearch { before, context };
    let changed = search.with_engine_of_kernels(search.acting(other, id, DEPTH)?, id);
    (changed.problems().len() <= before.problems().len()).then_some(changed)
}

/// The parameters that are set in one of two scenarios only, or to other values.
fn differing<'a>(before: &'a Scenario, after: &'a Scenario) -> impl Iterator<Item = Id> + 'a {
    let set = |scenario: &Scenario, id| scenario.is_set(id).then(|| scenario.get(id));
    Id::ALL.iter().copied().filter(move |&id| set(before, id) != set(after, id))
}

/// A scenario has a value for every parameter: it is handed through the search in a box.
struct RemedySearch<'a> {
    before: &'a Scenario,
    context: &'a NoteContext,
}

impl RemedySearch<'_> {
    fn holds(&self, scenario: &Scenario, condition: &Condition) -> bool {
        ScenarioSettings { scenario, traffic: self.context.traffic.as_ref() }.holds(condition)
    }

    /// The scenario changed so that the parameter acts.
    fn acting(&self, scenario: &Scenario, id: Id, depth: u8) -> Option<Box<Scenario>> {
        if idle(scenario, self.context, id).is_none() {
            return Some(Box::new(scenario.clone()));
        }
        if depth == 0 || beside(self.context, id).is_some() {
            return None;
        }
        let settings = ScenarioSettings { scenario, traffic: self.context.traffic.as_ref() };
        let mut changed = Box::new(scenario.clone());
        for condition in settings.unmet(id) {
            changed = self.holding(&changed, condition, depth - 1)?;
        }
        // What one condition has changed may have broken another.
        self.acting(&changed, id, depth - 1)
    }

    /// The scenario changed so that the condition holds.
    fn holding(&self, scenario: &Scenario, condition: &Condition, depth: u8) -> Option<Box<Scenario>> {
        if self.holds(scenario, condition) {
            return Some(Box::new(scenario.clone()));
        }
        let found = match *condition {
            Condition::All(of) => {
                of.iter().try_fold(Box::new(scenario.clone()), |s, one| self.holding(&s, one, depth))
            }
            Condition::Any(of) => self.best(of.iter().filter_map(|one| self.holding(scenario, one, depth))),
            Condition::In(id, names) => self.with_one_of(scenario, id, names, depth),
            Condition::NotIn(id, names) => {
                if let Some((_, text)) = EXAMPLES.iter().find(|(of, _)| *of == id) {
                    return self.with(scenario, id, Value::Text((*text).to_owned()), depth);
                }
                let Kind::Choice(all) = id.row().kind else { return None };
                let others: Vec<&str> = all.iter().copied().filter(|name| !names.contains(name)).collect();
                self.with_one_of(scenario, id, &others, depth)
            }
            Condition::Above(id, bound) => {
                self.with(scenario, id, Value::Number(usual_above(scenario, id, bound)), depth)
            }
            Condition::Varied(id) => {
                let Value::List(items) = scenario.get(id) else { return None };
                let first = *items.first()?;
                self.with(scenario, id, Value::List(vec![first, first * 2.0]), depth)
            }
            Condition::Checks(name) => {
                let chain = scenario.get(Id::GatewayChecks).to_text();
                let given = string_list::split(&chain);
                let mut names: Vec<&str> = if chain.is_empty() {
                    USUAL_CHECKS.to_vec()
                } else {
                    given.iter().map(String::as_str).collect()
                };
                if !names.contains(&name) {
                    names.push(name);
                }
                self.with(scenario, Id::GatewayChecks, Value::Text(string_list::join(names)), depth)
            }
        };
        found.filter(|changed| self.holds(changed, condition))
    }

    /// Measured kernels are vLLM's: with them its scheduler is set too, where the parameter then acts.
    fn with_engine_of_kernels(&self, changed: Box<Scenario>, id: Id) -> Box<Scenario> {
        let is_new = changed.chosen(CostKind::ID) == CostKind::Kernels
            && self.before.chosen(CostKind::ID) != CostKind::Kernels;
        if !is_new || changed.is_vllm_v1() {
            return changed;
        }
        let mut of_vllm = changed.clone();
        let is_set = of_vllm.set(Id::SchedulerKind, Value::Choice("vllm_v1")).is_ok();
        let acts = is_set && idle(&of_vllm, self.context, id).is_none();
        if acts && of_vllm.problems().len() <= changed.problems().len() { of_vllm } else { changed }
    }

    /// The value that is taken first.
    fn first_of(scenario: &Scenario, id: Id, names: &[&str]) -> Option<&'static str> {
        let measured = CostKind::Kernels.name();
        if id == Id::CostKind && names.contains(&measured) && scenario.has_measured_kernels() {
            return Some(measured);
        }
        FIRST.iter().find(|(of, name)| *of == id && names.contains(name)).map(|(_, name)| *name)
    }

    /// The scenario with the best of these values, where the parameter acts.
    fn with_one_of(&self, scenario: &Scenario, id: Id, names: &[&str], depth: u8) -> Option<Box<Scenario>> {
        if names.contains(&scenario.get(id).to_text().as_str()) {
            return self.acting(scenario, id, depth);
        }
        let first = Self::first_of(scenario, id, names);
        let in_order = first.into_iter().chain(names.iter().copied().filter(|&name| Some(name) != first));
        let tried = in_order.filter_map(|name| self.with(scenario, id, id.row().parse(name).ok()?, depth));
        self.best(tried)
    }

    fn with(&self, scenario: &Scenario, id: Id, value: Value, depth: u8) -> Option<Box<Scenario>> {
        let mut changed = Box::new(scenario.clone());
        if changed.default_of(id) == value {
            changed.reset(id);
        } else {
            changed.set(id, value).ok()?;
        }
        self.acting(&changed, id, depth)
    }

    /// The one with the fewest problems, then with the fewest changes; of equal ones the first.
    fn best(&self, scenarios: impl Iterator<Item = Box<Scenario>>) -> Option<Box<Scenario>> {
        scenarios.min_by_key(|s| (s.problems().len(), differing(self.before, s).count()))
    }
}

/// Texts that give parameters an effect that depend on one.
const EXAMPLES: [(Id, &str); 2] = [(Id::PoolSchedule, "60:2"), (Id::Pools, "fleet.replicas=1")];

/// A usual number above a bound: the default, or the middle of the slider.
fn usual_above(scenario: &Scenario, id: Id, bound: f64) -> f64 {
    let row = id.row();
    match (scenario.default_of(id), row.slider) {
        (Value::Number(usual), _) if usual > bound => usual,
        // More than one replica or stage: two.
        _ if matches!(row.kind, Kind::Whole { .. }) && bound >= 1.0 => bound.floor() + 1.0,
        (_, Some(slider)) if slider.max > bound => {
            let low = slider.min.max(bound);
            let middle = match slider.scale {
                Scale::Linear => f64::midpoint(low, slider.max),
                Scale::Log => libm::sqrt(low * slider.max),
            };
            let stepped = (middle / slider.step).round() * slider.step;
            if stepped > bound { stepped } else { slider.max }
        }
        _ => bound.floor() + 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notes::{Purpose, Traffic};

    fn page(traffic: Option<Traffic>) -> NoteContext {
        NoteContext { purpose: Purpose::Page, traffic, is_generated: false }
    }

    fn applied(scenario: &Scenario, changes: &[(Id, Value)]) -> Scenario {
        let mut changed = scenario.clone();
        for (id, value) in changes {
            changed.set(*id, value.clone()).unwrap();
        }
        changed
    }

    fn reported(scenario: &Scenario, id: Id) -> Vec<String> {
        let changes = remedy(scenario, &page(None), id).unwrap();
        changes.iter().map(|(id, value)| format!("{}={}", id.row().id, value.to_text())).collect()
    }

    #[test]
    fn every_parameter_that_settings_can_make_apply_is_made_to() {
        let mut scenarios = vec![Scenario::of_version(4); 3];
        scenarios[1].set_text("scheduler.kind", "vllm_v1").unwrap();
        scenarios[1].set_text("cost.kind", "roofline").unwrap();
        scenarios[2].set_text("gateway.kind", "proxy").unwrap();
        for scenario in &scenarios {
            for &id in Id::ALL {
                let context = page(None);
                let changes = remedy(scenario, &context, id);
                if beside(&context, id).is_some() {
                    assert_eq!(changes, None, "{}", id.row().id);
                    continue;
                }
                let Some(changes) = changes else {
                    // vLLM's queues have none of S-LoRA's own policies.
                    let slora = ["scheduler.early_abort.", "scheduler.cluster."];
                    let needs_slora = slora.iter().any(|path| id.row().id.starts_with(path));
                    assert!(
                        needs_slora && scenario.choice(Id::SchedulerKind) == "vllm_v1",
                        "{}",
                        id.row().id
                    );
                    continue;
                };
                let changed = applied(scenario, &changes);
                assert_eq!(idle(&changed, &context, id), None, "{} by {changes:?}", id.row().id);
                assert_eq!(changed.problems(), [], "{} by {changes:?}", id.row().id);
                assert_eq!(changes.is_empty(), idle(scenario, &context, id).is_none(), "{}", id.row().id);
            }
        }
    }

    #[test]
    fn the_fewest_settings_are_changed() {
        let scenario = Scenario::of_version(4);
        assert_eq!(reported(&scenario, Id::ReserveFullIsl), ["scheduler.kind=vllm_v1"]);
        assert_eq!(reported(&scenario, Id::Rate), [""; 0]);
        assert_eq!(reported(&scenario, Id::Router), ["fleet.replicas=2"]);
        for &id in Id::ALL {
            let changes = remedy(&scenario, &page(None), id).unwrap_or_default();
            // Experts that wait to be moved need ranks, expert parallelism and measured kernels before.
            let most = if id.row().id.starts_with("fleet.eplb.") { 7 } else { 5 };
            assert!(changes.len() <= most, "{}: {changes:?}", id.row().id);
        }
    }

    #[test]
    fn a_gpu_is_used_with_its_measured_kernels_and_their_engine() {
        let mut scenario = Scenario::of_version(4);
        scenario.set_text("fleet.gpu", "a10g").unwrap();
        assert_eq!(reported(&scenario, Id::FleetGpu), ["cost.kind=roofline"]);
        scenario.set_text("fleet.gpu", "h100_sxm").unwrap();
        assert_eq!(reported(&scenario, Id::FleetGpu), ["scheduler.kind=vllm_v1", "cost.kind=kernels"]);
        // Of Phi-2 no kernels were measured anywhere.
        scenario.set_text("fleet.model", "phi-2").unwrap();
        assert_eq!(reported(&scenario, Id::FleetModel), ["cost.kind=roofline"]);
    }

    #[test]
    fn nothing_replaces_what_a_trace_decides() {
        let traffic = Traffic { users: 1, ..Traffic::default() };
        assert_eq!(remedy(&Scenario::of_version(4), &page(Some(traffic)), Id::Rate), None);
        let scale = remedy(&Scenario::of_version(4), &page(Some(traffic)), Id::RateScale);
        assert_eq!(scale, Some(Vec::new()));
    }
}
