//! Laws of queueing theory for a scenario: the one that it meets with its value, or what in it breaks the law.
//!
//! The laws hold for the server of [`closed_forms`](crate::closed_forms): every setting that acts and is none of a law's own must be
//! as it is there.

use serde_json::{Value as Json, json};

use crate::closed_forms::{gamma_over_exponential, open_server};
use crate::metric::Metric;
use crate::parameters::{Id, Value};
use crate::scenario::Scenario;

/// A law with what it says of a scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct Law {
    /// Its name in the notation of Kendall.
    pub name: &'static str,
    /// The mean that it says, seconds.
    pub value: f64,
}

/// What a law needs of a setting.
#[derive(Debug, Clone, PartialEq)]
pub enum Wanted {
    /// This value.
    Is(Value),
    /// One of these options.
    OneOf(&'static [&'static str]),
    /// At least this number.
    AtLeast(f64),
    /// Less than this number.
    Below(f64),
}

/// A setting that breaks a law.
#[derive(Debug, Clone, PartialEq)]
pub struct Obstacle {
    /// The setting.
    pub id: Id,
    /// Its value.
    pub value: Value,
    /// What the law needs.
    pub wanted: Wanted,
}

impl Obstacle {
    /// As JSON: the parameter, its value, and what the law needs.
    pub fn to_json(&self) -> Json {
        let (kind, wanted) = match &self.wanted {
            Wanted::Is(value) => ("is", json!([value.to_json()])),
            Wanted::OneOf(options) => ("is", json!(options)),
            Wanted::AtLeast(least) => ("at_least", json!([least])),
            Wanted::Below(bound) => ("below", json!([bound])),
        };
        json!({"path": self.id.row().id, "value": self.value.to_json(), "kind": kind, "wanted": wanted})
    }
}

/// Settings that the laws are told by, or that no law depends on.
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
    Some(match scenario.choice(Id::OutputKind) {
        "fixed" => (scenario.number(Id::OutputValue), 0.0),
        "geometric" => {
            let mean = scenario.number(Id::OutputMean);
            (mean, mean * (mean - 1.0))
        }
        "uniform" => {
            let (low, high) = (scenario.number(Id::OutputLow), scenario.number(Id::OutputHigh));
            let n = high - low + 1.0;
            (f64::midpoint(low, high), (n * n - 1.0) / 12.0)
        }
        _ => return None,
    })
}

/// Output lengths whose mean and variance are known.
const LENGTHS: &[&str] = &["fixed", "geometric", "uniform"];

/// Collects what breaks a law.
struct Test<'s> {
    scenario: &'s Scenario,
    obstacles: Vec<Obstacle>,
}

impl Test<'_> {
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

    /// That everything else is as in the closed forms' server.
    fn needs_open_server(&mut self) {
        let open = open_server();
        for &id in Id::ALL.iter().filter(|id| !is_free(**id)) {
            let wanted = open.get(id);
            let is_met = self.scenario.get(id) == wanted || !self.scenario.is_active(id);
            self.needs(id, is_met, Wanted::Is(wanted));
        }
        self.needs_arrivals();
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

/// The law of a metric in a scenario whose requests are generated; none where no law says anything of this metric.
///
/// # Errors
/// What breaks the law.
pub fn law(scenario: &Scenario, metric: &Metric) -> Option<Result<Law, Vec<Obstacle>>> {
    let is_wait = match metric.path() {
        "queue_s.mean" => true,
        "e2e_s.mean" => false,
        _ => return None,
    };
    let mut test = Test { scenario, obstacles: Vec::new() };
    test.needs_open_server();
    let found = if is_wait || scenario.number(Id::MaxRunning) == 1.0 {
        single_server(&mut test, is_wait)
    } else {
        shared_server(&mut test)
    };
    Some(found.filter(|_| test.obstacles.is_empty()).ok_or(test.obstacles))
}

/// Output lengths of a geometric distribution are practically never as many times their mean.
const LONGEST: f64 = 40.0;

/// One request at a time: a prefill that yields the first token, then an iteration a token. The formula of Pollaczek and
/// Khinchine for Poisson arrivals; GI/M/1 for gamma gaps and geometric lengths.
fn single_server(test: &mut Test<'_>, is_wait: bool) -> Option<Law> {
    let scenario = test.scenario;
    test.needs_number(Id::MaxRunning, 1.0);
    let (mean, variance) = output(scenario)?;
    let tokens = LONGEST * mean;
    for id in [Id::MaxTotalTokens, Id::BatchMaxTokens, Id::MaxRequestTokens] {
        test.needs_least(id, tokens);
    }
    let iteration_s = (scenario.number(Id::DecodeBase) + scenario.number(Id::DecodePerRequest)) / 1e3;
    let prefill_s = scenario.number(Id::PrefillBase) / 1e3;
    let service_s = prefill_s + (mean - 1.0) * iteration_s;
    let rate = scenario.number(Id::Rate);
    let (load, cv) = (rate * service_s, test.cv());
    test.needs(Id::Rate, load < 1.0, Wanted::Below(1.0 / service_s));
    let kind = scenario.choice(Id::OutputKind);
    let is_exponential = kind == "geometric" && prefill_s == iteration_s;
    let (name, wait_s) = if cv == 1.0 {
        let square = variance * iteration_s * iteration_s + service_s * service_s;
        let name = match kind {
            "fixed" => "M/D/1",
            _ if is_exponential => "M/M/1",
            _ => "M/G/1",
        };
        (name, rate * square / (2.0 * (1.0 - load)))
    } else {
        test.needs(Id::OutputKind, kind == "geometric", Wanted::OneOf(&["geometric"]));
        test.needs_number(Id::PrefillBase, iteration_s * 1e3);
        if !test.obstacles.is_empty() {
            return None;
        }
        ("GI/M/1", gamma_over_exponential(cv, load) * service_s)
    };
    Some(Law { name, value: if is_wait { wait_s } else { wait_s + service_s } })
}

/// Every request runs at once: an iteration of `a + b` x batch is a server whose speed is shared (processor sharing), whatever
/// the distribution of lengths. The first token is free. A request that finds others running waits up to an iteration more.
fn shared_server(test: &mut Test<'_>) -> Option<Law> {
    const MANY: f64 = 10_000.0;
    let scenario = test.scenario;
    test.needs_least(Id::MaxRunning, MANY);
    test.needs_number(Id::PrefillBase, 0.0);
    if scenario.choice(Id::ArrivalKind) == "gamma" {
        test.needs_number(Id::Cv, 1.0);
    }
    let (mean, _) = output(scenario)?;
    for id in [Id::MaxTotalTokens, Id::BatchMaxTokens, Id::MaxRequestTokens] {
        test.needs_least(id, LONGEST * mean);
    }
    let (a, b) = (scenario.number(Id::DecodeBase) / 1e3, scenario.number(Id::DecodePerRequest) / 1e3);
    let (rate, tokens) = (scenario.number(Id::Rate), mean - 1.0);
    test.needs(Id::Rate, rate * tokens * b < 1.0, Wanted::Below(1.0 / (tokens * b)));
    let name = if b == 0.0 { "M/G/∞" } else { "M/G/1-PS" };
    Some(Law { name, value: tokens * (a + b) / (1.0 - rate * tokens * b) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::closed_forms::{Measure, all};
    use crate::replications::with_seed;
    use crate::run::Run;

    fn of(scenario: &Scenario, path: &str) -> Result<Law, Vec<Obstacle>> {
        law(scenario, &Metric::parse(path).unwrap()).unwrap()
    }

    #[test]
    fn every_closed_form_of_a_time_has_its_law() {
        let mut found = Vec::new();
        for form in all().iter().filter(|form| form.measure != Measure::Lost) {
            let path = if form.measure == Measure::Wait { "queue_s.mean" } else { "e2e_s.mean" };
            let law = of(&form.scenario, path).unwrap_or_else(|why| panic!("{}: {why:?}", form.title));
            // GI/M/1 takes a thousand geometric tokens for an exponential time; M/G/1 of the same lengths does not.
            let apart = if form.id == "A6" { 1e-3 } else { 1e-9 };
            assert!((law.value / form.value - 1.0).abs() < apart, "{}: {law:?}, {}", form.title, form.value);
            found.push(law.name);
        }
        found.dedup();
        assert_eq!(found, ["M/M/1", "M/D/1", "M/G/1", "M/G/∞", "GI/M/1", "M/M/1", "GI/M/1", "M/G/1-PS"]);
    }

    #[test]
    fn runs_lie_within_three_standard_errors_of_the_law() {
        let forms = all();
        let single = &forms[0].scenario;
        for (cv, load, path) in [
            (1.0, 0.1, "queue_s.mean"),
            (1.0, 0.5, "queue_s.mean"),
            (1.0, 0.8, "e2e_s.mean"),
            (2.0, 0.5, "queue_s.mean"),
            (0.5, 0.8, "e2e_s.mean"),
        ] {
            let mut scenario = single.clone();
            for (id, value) in [(Id::Cv, cv), (Id::Rate, load), (Id::Duration, 40_000.0)] {
                scenario.set(id, Value::Number(value)).unwrap();
            }
            let metric = Metric::parse(path).unwrap();
            let run = |seed| {
                let run = Run::simulate(&with_seed(&scenario, seed), None).unwrap();
                crate::metric::Measured::of(&run, &[metric.clone()]).values[0].unwrap()
            };
            let values: Vec<f64> = (1..=16).map(run).collect();
            let n = values.len() as f64;
            let mean = values.iter().sum::<f64>() / n;
            let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / (n - 1.0);
            let law = of(&scenario, path).unwrap();
            let apart = (mean - law.value).abs() / f64::sqrt(variance / n);
            assert!(
                apart <= 3.0,
                "cv {cv}, load {load}, {path}: {mean} against {law:?}, {apart} standard errors"
            );
        }
    }

    #[test]
    fn what_breaks_a_law_is_named() {
        let named = |scenario: &Scenario, path: &str| -> Vec<&'static str> {
            of(scenario, path).unwrap_err().iter().map(|obstacle| obstacle.id.row().id).collect()
        };
        let single = all()[0].scenario.clone();
        let with = |settings: &[(&str, &str)]| {
            let mut scenario = single.clone();
            for (path, value) in settings {
                scenario.set_text(path, value).unwrap();
            }
            scenario
        };
        let lengths = with(&[("workload.output_tokens.kind", "lognormal")]);
        assert_eq!(named(&lengths, "queue_s.mean"), ["workload.output_tokens.kind"]);
        let burst = with(&[("workload.output_tokens.kind", "fixed"), ("workload.arrivals.cv", "2")]);
        assert_eq!(named(&burst, "queue_s.mean"), ["workload.output_tokens.kind"]);
        assert_eq!(named(&with(&[("scheduler.order", "lifo")]), "e2e_s.mean"), ["scheduler.order"]);
        assert_eq!(named(&with(&[("workload.rate_rps", "1")]), "queue_s.mean"), ["workload.rate_rps"]);
        assert_eq!(
            named(&with(&[("scheduler.max_running_requests", "4")]), "queue_s.mean"),
            ["scheduler.max_running_requests"]
        );
        assert!(named(&Scenario::default(), "queue_s.mean").contains(&"cost.linear.prefill_per_token_ms"));
        assert!(law(&single, &Metric::parse("ttft_s.p99").unwrap()).is_none());
    }
}
