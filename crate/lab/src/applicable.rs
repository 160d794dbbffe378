//! Closed forms of queueing theory for a scenario: the one whose conditions it meets, with its value, or the settings that
//! violate them.
//!
//! Servers of one, several or any number of requests at a time are in [`servers`], servers that lose requests in [`losses`],
//! and what no scheduler can exceed in [`bounds`].
//!
//! The closed forms hold for the server of [`closed_forms`](crate::closed_forms): every setting that acts and is none of a
//! closed form's own must be as it is there.

mod bounds;
mod losses;
mod servers;

use std::fmt;

use serde::{Serialize, Serializer};
use servescope_settings::parameters::{Id, Value};
use servescope_settings::scenario::Scenario;

use crate::closed_forms::open_server;
use crate::metric::Metric;

/// A closed form with its value for a scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct ClosedFormValue {
    /// Its name: in the notation of Kendall where it has one.
    pub name: &'static str,
    /// What it says of the metric, in the metric's unit.
    pub value: f64,
}

/// What a closed form requires of a setting.
#[derive(Debug, Clone, PartialEq)]
pub enum Wanted {
    /// This value.
    Is(Value),
    /// One of these options.
    OneOf(&'static [&'static str]),
    /// At least this number.
    AtLeast(f64),
    /// More than this number.
    Above(f64),
    /// Less than this number.
    Below(f64),
}

/// A setting that violates a condition of a closed form.
#[derive(Debug, Clone, PartialEq)]
pub struct Obstacle {
    /// The setting.
    pub id: Id,
    /// Its value.
    pub value: Value,
    /// What the closed form requires.
    pub wanted: Wanted,
}

impl fmt::Display for Obstacle {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.id.row().id;
        write!(to, "{path} is {}, not ", self.value.to_text())?;
        match &self.wanted {
            Wanted::Is(value) => write!(to, "{}", value.to_text()),
            Wanted::OneOf(options) => write!(to, "{}", options.join(" or ")),
            Wanted::AtLeast(least) => write!(to, "at least {least}"),
            Wanted::Above(bound) => write!(to, "more than {bound}"),
            Wanted::Below(bound) => write!(to, "less than {bound}"),
        }
    }
}

/// An obstacle as a page shows it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct ClosedFormObstacle {
    /// Path of the parameter.
    pub path: &'static str,
    /// Its value.
    pub value: Value,
    /// What the closed form requires: one of `wanted`, or a number at least, above or below it.
    #[cfg_attr(feature = "types", ts(type = "'is' | 'at_least' | 'above' | 'below'"))]
    pub kind: &'static str,
    /// The values.
    pub wanted: Vec<Value>,
}

impl Serialize for Obstacle {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.shown().serialize(serializer)
    }
}

impl Obstacle {
    /// As a page shows it.
    pub fn shown(&self) -> ClosedFormObstacle {
        let (kind, wanted) = match &self.wanted {
            Wanted::Is(value) => ("is", vec![value.clone()]),
            Wanted::OneOf(options) => ("is", options.iter().copied().map(Value::Choice).collect()),
            Wanted::AtLeast(least) => ("at_least", vec![Value::Number(*least)]),
            Wanted::Above(bound) => ("above", vec![Value::Number(*bound)]),
            Wanted::Below(bound) => ("below", vec![Value::Number(*bound)]),
        };
        ClosedFormObstacle { path: self.id.row().id, value: self.value.clone(), kind, wanted }
    }
}

/// Settings that select the closed form, or on which none depends.
fn is_free(id: Id) -> bool {
    let free = [
        Id::Seed,
        Id::Duration,
        Id::Rate,
        Id::ArrivalKind,
        Id::Cv,
        Id::OutputKind,
        Id::OutputValue,
        Id::OutputLow,
        Id::OutputHigh,
        Id::OutputMean,
        Id::PrefillBase,
        Id::DecodeBase,
        Id::DecodePerRequest,
        Id::MaxRunning,
        Id::MaxTotalTokens,
        Id::BatchMaxTokens,
        Id::MaxRequestTokens,
        Id::MaxInputTokens,
        // Its times are compared one by one.
        Id::Calibration,
        // What fits on them is given by the tokens above.
        Id::FleetGpu,
        Id::FleetModel,
        // First come, first served: whose request it is does not matter.
        Id::Users,
    ];
    let row = id.row();
    free.contains(&id)
        || ["slo", "capacity"].contains(&row.group)
        || row.id.starts_with("workload.input_tokens.")
        || row.id.starts_with("workload.users.")
}

/// Mean and variance of the output length, where it has a simple one.
fn output(scenario: &Scenario) -> Option<(f64, f64)> {
    length(scenario, Id::OutputKind, [Id::OutputValue, Id::OutputMean, Id::OutputLow, Id::OutputHigh])
}

/// Mean prompt length, where it has a simple one.
fn mean_prompt(scenario: &Scenario) -> Option<f64> {
    let ids = [Id::InputValue, Id::InputMean, Id::InputLow, Id::InputHigh];
    length(scenario, Id::InputKind, ids).map(|(mean, _)| mean)
}

fn length(scenario: &Scenario, kind: Id, [value, mean, low, high]: [Id; 4]) -> Option<(f64, f64)> {
    Some(match scenario.choice(kind) {
        "fixed" => (scenario.number(value), 0.0),
        "geometric" => {
            let mean = scenario.number(mean);
            (mean, mean * (mean - 1.0))
        }
        "uniform" => {
            let (low, high) = (scenario.number(low), scenario.number(high));
            let n = high - low + 1.0;
            (f64::midpoint(low, high), (n * n - 1.0) / 12.0)
        }
        _ => return None,
    })
}

/// Output lengths whose mean and variance are known.
const LENGTHS: &[&str] = &["fixed", "geometric", "uniform"];

/// Collects the settings that violate a condition.
struct ConditionTest<'s> {
    scenario: &'s Scenario,
    obstacles: Vec<Obstacle>,
}

impl ConditionTest<'_> {
    fn needs(&mut self, id: Id, is_met: bool, wanted: Wanted) {
        if !is_met {
            self.obstacles.push(Obstacle { id, value: self.scenario.get(id), wanted });
        }
    }

    fn needs_number(&mut self, id: Id, wanted: f64) {
        self.needs(id, self.scenario.number(id) == wanted, Wanted::Is(Value::Number(wanted)));
    }

    fn needs_least(&mut self, id: Id, least: f64) {
        self.needs(id, self.scenario.number(id) >= least, Wanted::AtLeast(least));
    }

    /// That everything but `own`, the settings of the closed form itself, is as in the closed forms' server.
    fn needs_open_server(&mut self, own: &[Id]) {
        let open = open_server();
        for &id in Id::ALL.iter().filter(|id| !is_free(**id) && !own.contains(id)) {
            let wanted = open.get(id);
            let is_met = self.scenario.get(id) == wanted || !self.scenario.is_active(id);
            self.needs(id, is_met, Wanted::Is(wanted));
        }
        self.needs_arrivals();
    }

    /// That the memory and every limit on tokens have room for this many.
    fn needs_room(&mut self, tokens: f64) {
        for id in [Id::MaxTotalTokens, Id::BatchMaxTokens, Id::MaxRequestTokens] {
            self.needs_least(id, tokens);
        }
    }

    /// That gaps are exponential.
    fn needs_poisson(&mut self) {
        if self.scenario.choice(Id::ArrivalKind) == "gamma" {
            self.needs_number(Id::Cv, 1.0);
        }
    }

    fn needs_arrivals(&mut self) {
        const RENEWAL: &[&str] = &["gamma", "poisson"];
        let kind = self.scenario.choice(Id::ArrivalKind);
        self.needs(Id::ArrivalKind, RENEWAL.contains(&kind), Wanted::OneOf(RENEWAL));
        self.needs(Id::OutputKind, output(self.scenario).is_some(), Wanted::OneOf(LENGTHS));
    }

    fn cv(&self) -> f64 {
        if self.scenario.choice(Id::ArrivalKind) == "poisson" { 1.0 } else { self.scenario.number(Id::Cv) }
    }
}

/// The closed form of a metric in a scenario whose requests are generated; none where no closed form is known for this metric.
///
/// # Errors
/// The settings that violate its conditions.
pub fn closed_form_of(
    scenario: &Scenario,
    metric: &Metric,
) -> Option<Result<ClosedFormValue, Vec<Obstacle>>> {
    let mut test = ConditionTest { scenario, obstacles: Vec::new() };
    let is_single = scenario.number(Id::MaxRunning) == 1.0;
    let found = match metric.path() {
        "queue_s.mean" if is_single => servers::single_server(&mut test, true),
        "queue_s.mean" => servers::several_servers(&mut test),
        "e2e_s.mean" if is_single => servers::single_server(&mut test, false),
        "e2e_s.mean" => servers::shared_server(&mut test),
        "requests.rejected_total" => losses::no_queue(&mut test),
        "requests.timed_out" => losses::patience(&mut test),
        "throughput_rps" => bounds::throughput(&mut test),
        _ => return None,
    };
    Some(found.filter(|_| test.obstacles.is_empty()).ok_or(test.obstacles))
}

#[cfg(test)]
mod tests;
