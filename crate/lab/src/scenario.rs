//! A scenario: values for some parameters; the others have their defaults.

use serde_json::{Map, Value as Json};
use servescope_cost::{AdapterCost, Calibration, LinearCost};
use servescope_engine::SchedulerConfig;
use servescope_engine::metrics::Slo;
use servescope_workload::aibrix::curve::NamedPattern;
use servescope_workload::arrivals::Modulation;
use servescope_workload::curve::{Point, RateCurve, Shape};
use servescope_workload::{AdapterSpec, Arrivals, Length, MaxTokens, Popularity, UserSpec, WorkloadSpec};

use crate::failure::Failure;
use crate::parameters::{Id, TABLE, Value};

/// Most requests of one run.
pub const MAX_REQUESTS: f64 = 5_000_000.0;

/// Values by parameter. What is not set has a default, and some defaults depend on what is set: the coefficients and the
/// pool on the calibration, the prompt budget on the pool.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    values: [Option<Value>; TABLE.len()],
}

impl Default for Scenario {
    fn default() -> Self {
        Self { values: [const { None }; TABLE.len()] }
    }
}

impl Scenario {
    /// Sets a parameter from text. A value equal to the default stays set, so that a calibration chosen later leaves it.
    ///
    /// # Errors
    /// [`Failure`] for an unknown path or a value out of bounds; nothing is changed then.
    pub fn set_text(&mut self, path: &str, text: &str) -> Result<(), Failure> {
        let id = Id::from_path(path).ok_or_else(|| unknown(path))?;
        self.values[id as usize] = Some(id.row().parse(text)?);
        Ok(())
    }

    /// Sets a parameter.
    ///
    /// # Errors
    /// [`Failure`] for a value out of bounds.
    pub fn set(&mut self, id: Id, value: Value) -> Result<(), Failure> {
        id.row().check(&value)?;
        self.values[id as usize] = Some(value);
        Ok(())
    }

    /// Reads nested JSON, dotted paths, or a mixture: the scenario with what is good, and every [`Failure`] found.
    pub fn from_json(json: &Json) -> (Self, Vec<Failure>) {
        let mut scenario = Self::default();
        let mut failures = Vec::new();
        if let Json::Object(fields) = json {
            scenario.read_object("", fields, &mut failures);
        } else {
            failures.push(Failure::new("bad_json", "", format!("an object expected, got {json}")));
        }
        (scenario, failures)
    }

    fn read_object(&mut self, prefix: &str, fields: &Map<String, Json>, failures: &mut Vec<Failure>) {
        for (name, json) in fields {
            let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
            match (Id::from_path(&path), json) {
                (Some(id), _) => match id.row().parse_json(json) {
                    Ok(value) => self.values[id as usize] = Some(value),
                    Err(failure) => failures.push(failure),
                },
                (None, Json::Object(inner)) => self.read_object(&path, inner, failures),
                (None, _) => failures.push(unknown(&path)),
            }
        }
    }

    /// The values that were set, as nested JSON.
    pub fn to_json(&self) -> Json {
        let mut root = Map::new();
        for (id, value) in self.changed() {
            let mut parts: Vec<&str> = id.row().id.split('.').collect();
            let leaf = parts.pop().expect("a path has a last part");
            let mut place = &mut root;
            for part in parts {
                let entry = place.entry(part).or_insert_with(|| Json::Object(Map::new()));
                place = entry.as_object_mut().expect("a group of parameters is never a parameter itself");
            }
            place.insert(leaf.to_owned(), value.to_json());
        }
        Json::Object(root)
    }

    /// The parameters that were set to something else than their default, in the order of the table.
    pub fn changed(&self) -> impl Iterator<Item = (Id, &Value)> {
        let set = Id::ALL.iter().filter_map(|&id| Some((id, self.values[id as usize].as_ref()?)));
        set.filter(|(id, value)| **value != self.default_of(*id))
    }

    /// Takes a parameter back to its default.
    pub fn reset(&mut self, id: Id) {
        self.values[id as usize] = None;
    }

    /// The value of a parameter.
    pub fn get(&self, id: Id) -> Value {
        self.values[id as usize].clone().unwrap_or_else(|| self.default_of(id))
    }

    /// The default of a parameter beside the other settings.
    pub fn default_of(&self, id: Id) -> Value {
        let calibration = self.calibration();
        let linear = &calibration.cost;
        let adapters = &linear.adapters;
        // Tables print milliseconds; the coefficients are microseconds.
        let ms = |us: f64| Value::Number(us / 1e3);
        match id {
            Id::MaxTotalTokens => Value::Number(f64::from(calibration.pool_tokens)),
            Id::BatchMaxTokens => Value::Number(f64::from(SchedulerConfig::default_batch_max_tokens(
                self.whole(Id::MaxTotalTokens),
                self.whole(Id::MaxRequestTokens),
            ))),
            Id::PrefillBase => ms(linear.prefill_base_us),
            Id::PrefillPerToken => ms(linear.prefill_per_token_us),
            Id::DecodeBase => ms(linear.decode_base_us),
            Id::DecodePerRequest => ms(linear.decode_per_request_us),
            Id::DecodePerKv => ms(linear.decode_per_kv_token_us),
            Id::Overhead => ms(linear.overhead_us),
            Id::LoadBase => ms(adapters.load_base_us),
            Id::LoadPerRank => ms(adapters.load_per_rank_us),
            Id::DecodePerRank => ms(adapters.decode_per_rank_us),
            Id::DecodeActive => ms(adapters.decode_active_us),
            Id::PrefillFactor => Value::Number(adapters.prefill_factor),
            _ => id.row().default_value(),
        }
    }

    /// Whether a parameter has an effect beside the other settings.
    pub fn is_active(&self, id: Id) -> bool {
        let holds = |c: &crate::parameters::Condition| c.is.contains(&self.get(c.id).to_text().as_str());
        if id == Id::Alpha || id.row().group == "adapters" {
            // Nothing about adapters matters when there are none.
            return self.number(Id::Adapters) > 0.0 && id.row().applies.iter().all(holds);
        }
        id.row().applies.iter().all(holds)
    }

    /// A number.
    pub fn number(&self, id: Id) -> f64 {
        match self.get(id) {
            Value::Number(x) => x,
            _ => f64::NAN,
        }
    }

    fn whole(&self, id: Id) -> u32 {
        self.number(id) as u32
    }

    /// The name that a choice has.
    pub fn choice(&self, id: Id) -> &'static str {
        match self.get(id) {
            Value::Choice(name) => name,
            _ => "",
        }
    }

    fn flag(&self, id: Id) -> bool {
        self.get(id) == Value::Flag(true)
    }

    fn list(&self, id: Id) -> Vec<f64> {
        match self.get(id) {
            Value::List(items) => items,
            _ => Vec::new(),
        }
    }

    /// The named set of coefficients.
    pub fn calibration(&self) -> &'static Calibration {
        let name = match &self.values[Id::Calibration as usize] {
            Some(Value::Choice(name)) => name,
            _ => "",
        };
        Calibration::named(name).unwrap_or(&servescope_cost::CALIBRATIONS[0])
    }

    /// What does not fit together, each at the parameter to change.
    pub fn problems(&self) -> Vec<Failure> {
        let mut problems = Vec::new();
        let lengths =
            [(Id::InputKind, Id::InputLow, Id::InputHigh), (Id::OutputKind, Id::OutputLow, Id::OutputHigh)];
        for (kind, low, high) in lengths {
            let bounded = matches!(self.choice(kind), "uniform" | "bounded_pareto" | "lognormal" | "normal");
            if bounded && self.number(low) > self.number(high) {
                let (low_value, high_value) = (self.number(low), self.number(high));
                let path = high.row().id;
                let message = format!("{path}: {high_value} is below {} ({low_value})", low.row().id);
                problems.push(
                    Failure::new("bounds_crossed", path, message)
                        .number("value", high_value)
                        .number("min", low_value)
                        .text("other", low.row().id),
                );
            }
        }
        problems.extend(self.curve().err());
        let requests = self.request_count();
        if requests > MAX_REQUESTS {
            let message = format!(
                "workload.duration_s: R D makes {requests} requests, at most {MAX_REQUESTS} can be run"
            );
            problems.push(
                Failure::new("too_many_requests", "workload.duration_s", message)
                    .number("value", requests)
                    .number("max", MAX_REQUESTS),
            );
        }
        for (id, count) in [(Id::AdapterShares, Id::Adapters), (Id::UserShares, Id::Users)] {
            let counted = self.number(count) as usize;
            if self.is_active(id) && self.list(id).iter().take(counted).all(|&weight| weight == 0.0) {
                let path = id.row().id;
                let message = format!("{path}: at least one share must be above 0");
                problems.push(Failure::new("empty_list", path, message));
            }
        }
        let (batch, request) = (self.number(Id::BatchMaxTokens), self.number(Id::MaxRequestTokens));
        if self.flag(Id::OriginalBlocking) && batch < request {
            let path = "scheduler.batch_max_tokens";
            let message = format!(
                "{path}: {batch} is below scheduler.max_request_tokens ({request}), which S-LoRA refuses to start with"
            );
            problems.push(
                Failure::new("batch_below_request", path, message)
                    .number("value", batch)
                    .number("min", request),
            );
        }
        problems
    }

    /// The rate over time; `None` where it is constant.
    ///
    /// # Errors
    /// [`Failure`] at the parameter whose number is unsound.
    pub fn curve(&self) -> Result<Option<RateCurve>, Failure> {
        let rate = self.number(Id::Rate);
        let changed = rate * self.number(Id::CurveFactor);
        let (start_s, end_s) = (self.number(Id::CurveStart), self.number(Id::CurveEnd));
        let shape = match self.choice(Id::CurveKind) {
            "constant" => return Ok(None),
            "ramp" => Shape::Ramp { from_rps: rate, to_rps: changed, start_s, end_s },
            "step" => Shape::Step { before_rps: rate, after_rps: changed, at_s: start_s },
            "spike" => Shape::Spike { base_rps: rate, peak_rps: changed, start_s, end_s },
            "diurnal" => Shape::Diurnal {
                mean_rps: rate,
                swing: self.number(Id::CurveSwing),
                period_s: self.number(Id::CurvePeriod),
                peak_s: self.number(Id::CurvePeak),
            },
            "points" => Shape::Points(self.curve_points(rate)?),
            name => match NamedPattern::from_name(name) {
                Ok(named) => {
                    Shape::Pattern { pattern: named.pattern(rate), duration_s: self.number(Id::Duration) }
                }
                Err(error) => {
                    return Err(Failure::new("bad_curve", Id::CurveKind.row().id, error.to_string()));
                }
            },
        };
        let at = match shape {
            Shape::Points(_) => Id::CurvePoints,
            Shape::Ramp { .. } | Shape::Spike { .. } => Id::CurveEnd,
            _ => Id::CurveKind,
        };
        RateCurve::new(&shape).map(Some).map_err(|error| {
            let reason = error.to_string();
            Failure::new("bad_curve", at.row().id, format!("{}: {reason}", at.row().id))
                .text("reason", &reason)
        })
    }

    fn curve_points(&self, rate: f64) -> Result<Vec<Point>, Failure> {
        let numbers = self.list(Id::CurvePoints);
        if numbers.len() % 2 == 1 {
            let path = Id::CurvePoints.row().id;
            let reason = format!("{} numbers are no pairs of time and rate", numbers.len());
            return Err(Failure::new("bad_curve", path, format!("{path}: {reason}")).text("reason", &reason));
        }
        Ok(numbers.chunks(2).map(|pair| Point { time_s: pair[0], rate_rps: rate * pair[1] }).collect())
    }

    /// Requests that the settings make, before any is cut: R D, or the curve's integral.
    fn request_count(&self) -> f64 {
        let duration = self.number(Id::Duration);
        match self.curve() {
            Ok(Some(curve)) => curve.integral(duration).floor(),
            _ => (self.number(Id::Rate) * duration).floor(),
        }
    }

    /// The synthetic workload.
    pub fn workload(&self) -> WorkloadSpec {
        WorkloadSpec {
            seed: self.number(Id::Seed) as u64,
            rate_rps: self.number(Id::Rate),
            curve: self.curve().ok().flatten(),
            duration_s: self.number(Id::Duration),
            cut_at_duration: self.flag(Id::CutAtDuration),
            arrivals: match self.choice(Id::ArrivalKind) {
                "poisson" => Arrivals::Poisson,
                "even" => Arrivals::Even,
                "weibull" => Arrivals::Weibull { shape: self.number(Id::WeibullShape) },
                "modulated" => Arrivals::Modulated(Modulation {
                    factor: self.number(Id::BusyFactor),
                    busy_share: self.number(Id::BusyShare),
                    busy_s: self.number(Id::BusySpell),
                }),
                "batch" => Arrivals::Batch { size: self.whole(Id::BatchSize) },
                _ => Arrivals::Gamma { cv: self.number(Id::Cv) },
            },
            adapters: AdapterSpec {
                count: self.whole(Id::Adapters) as usize,
                popularity: self.popularity([
                    Id::Popularity,
                    Id::Alpha,
                    Id::AdapterZipf,
                    Id::AdapterSigma,
                    Id::AdapterDecay,
                    Id::AdapterShares,
                ]),
                ranks: self.list(Id::Ranks).into_iter().map(|rank| rank as u32).collect(),
            },
            users: UserSpec {
                count: self.whole(Id::Users) as usize,
                popularity: self.popularity([
                    Id::UserPopularity,
                    Id::UserAlpha,
                    Id::UserZipf,
                    Id::UserSigma,
                    Id::UserDecay,
                    Id::UserShares,
                ]),
            },
            input: self.length([
                Id::InputKind,
                Id::InputValue,
                Id::InputLow,
                Id::InputHigh,
                Id::InputMean,
                Id::InputExponent,
                Id::InputMedian,
                Id::InputSigma,
                Id::InputDeviation,
            ]),
            output: self.length([
                Id::OutputKind,
                Id::OutputValue,
                Id::OutputLow,
                Id::OutputHigh,
                Id::OutputMean,
                Id::OutputExponent,
                Id::OutputMedian,
                Id::OutputSigma,
                Id::OutputDeviation,
            ]),
            length_correlation: self.number(Id::LengthCorrelation),
            max_tokens: match self.choice(Id::MaxTokensKind) {
                "cap" => MaxTokens::Cap(self.whole(Id::MaxTokensCap)),
                _ => MaxTokens::Output,
            },
        }
    }

    fn popularity(&self, [law, alpha, zipf, sigma, decay, shares]: [Id; 6]) -> Popularity {
        match self.choice(law) {
            "zipf" => Popularity::Zipf { s: self.number(zipf) },
            "lognormal" => Popularity::Lognormal { sigma: self.number(sigma) },
            "geometric" => Popularity::Geometric { decay: self.number(decay) },
            "uniform" => Popularity::Uniform,
            "list" => Popularity::List(self.list(shares)),
            _ => Popularity::Power { alpha: self.number(alpha) },
        }
    }

    fn length(&self, [kind, value, low, high, mean, exponent, median, sigma, deviation]: [Id; 9]) -> Length {
        let (low, high) = (self.whole(low), self.whole(high));
        match self.choice(kind) {
            "fixed" => Length::Fixed { value: self.whole(value) },
            "geometric" => Length::Geometric { mean: self.number(mean) },
            "normal" => {
                Length::Normal { mean: self.number(mean), deviation: self.number(deviation), low, high }
            }
            "bounded_pareto" => Length::BoundedPareto { exponent: self.number(exponent), low, high },
            "lognormal" => {
                Length::Lognormal { median: self.number(median), sigma: self.number(sigma), low, high }
            }
            _ => Length::Uniform { low, high },
        }
    }

    /// The linear law.
    pub fn cost(&self) -> LinearCost {
        let us = |id: Id| self.number(id) * 1e3;
        LinearCost {
            prefill_base_us: us(Id::PrefillBase),
            prefill_per_token_us: us(Id::PrefillPerToken),
            decode_base_us: us(Id::DecodeBase),
            decode_per_request_us: us(Id::DecodePerRequest),
            decode_per_kv_token_us: us(Id::DecodePerKv),
            overhead_us: us(Id::Overhead),
            adapters: AdapterCost {
                load_base_us: us(Id::LoadBase),
                load_per_rank_us: us(Id::LoadPerRank),
                prefill_factor: self.number(Id::PrefillFactor),
                decode_active_us: us(Id::DecodeActive),
                decode_per_rank_us: us(Id::DecodePerRank),
            },
        }
    }

    /// The server's limits.
    pub fn scheduler(&self) -> SchedulerConfig {
        SchedulerConfig {
            max_total_tokens: self.whole(Id::MaxTotalTokens),
            batch_max_tokens: self.whole(Id::BatchMaxTokens),
            max_running_requests: self.whole(Id::MaxRunning),
            max_request_tokens: self.whole(Id::MaxRequestTokens),
            max_input_tokens: self.whole(Id::MaxInputTokens),
            decode_steps_between_prefills: self.whole(Id::DecodeSteps),
            idle_poll_us: self.number(Id::IdlePoll) * 1e3,
            original_blocking: self.flag(Id::OriginalBlocking),
            lora_compute: true,
        }
    }

    /// The bounds by which runs are judged.
    pub fn slo(&self) -> Slo {
        Slo { ttft_s: self.number(Id::SloTtft), tbt_s: self.number(Id::SloTbt) }
    }
}

/// An unknown path, with the nearest known one.
fn unknown(path: &str) -> Failure {
    let nearest = TABLE.iter().map(|row| row.id).min_by_key(|known| edit_distance(path, known)).unwrap_or("");
    let message = format!("{path}: there is no such parameter; the nearest is {nearest}");
    Failure::new("unknown_parameter", path, message).text("value", path).text("nearest", nearest)
}

/// Levenshtein distance.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut costs: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        costs[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = costs[j + 1];
            costs[j + 1] = replaced.min(diagonal + 1).min(costs[j] + 1);
        }
    }
    costs[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn defaults_follow_the_calibration_and_the_pool() {
        let mut scenario = Scenario::default();
        assert_eq!(scenario.number(Id::BatchMaxTokens), 3072.0);
        scenario.set_text("cost.calibration", "a100-80-opt-13b").unwrap();
        assert_eq!(scenario.number(Id::MaxTotalTokens), 65_000.0);
        assert_eq!(scenario.number(Id::BatchMaxTokens), 10_833.0);
        assert_eq!(scenario.changed().count(), 1);
        scenario.set_text("scheduler.max_total_tokens", "6000").unwrap();
        assert_eq!(scenario.number(Id::BatchMaxTokens), 3072.0);
    }

    #[test]
    fn table_defaults_are_those_of_the_first_calibration() {
        let scenario = Scenario::default();
        for &id in Id::ALL {
            assert_eq!(scenario.default_of(id), id.row().default_value(), "{}", id.row().id);
        }
    }

    #[test]
    fn errors_name_the_path_the_bound_and_the_value() {
        let mut scenario = Scenario::default();
        let message = |s: &mut Scenario, path, text| s.set_text(path, text).unwrap_err().message;
        assert_eq!(
            message(&mut scenario, "workload.rate_rps", "-1"),
            "workload.rate_rps: -1 is not between 0.001 and 100000"
        );
        assert!(message(&mut scenario, "workload.rate", "1").contains("the nearest is workload.rate_rps"));
        assert!(message(&mut scenario, "seed", "1.5").contains("whole number"));
        assert!(message(&mut scenario, "workload.rate_rps", "NaN").contains("a number expected"));
        assert!(message(&mut scenario, "workload.arrivals.kind", "gama").contains("gamma, poisson, even"));
        assert_eq!(scenario, Scenario::default());
        scenario.set_text("workload.input_tokens.low", "900").unwrap();
        assert_eq!(scenario.problems()[0].path, "workload.input_tokens.high");
    }

    #[test]
    fn json_is_nested_or_dotted() {
        let nested: Json =
            serde_json::json!({"workload": {"rate_rps": 3, "adapters": {"ranks": [64, 32]}}, "seed": "7"});
        let dotted: Json =
            serde_json::json!({"workload.rate_rps": 3, "workload.adapters.ranks": "64, 32", "seed": 7});
        let (a, failures) = Scenario::from_json(&nested);
        assert!(failures.is_empty(), "{failures:?}");
        assert_eq!(a, Scenario::from_json(&dotted).0);
        assert_eq!(Scenario::from_json(&a.to_json()).0, a);
        let (_, failures) = Scenario::from_json(&serde_json::json!({"workload": {"rate": 3}, "seed": []}));
        assert_eq!(failures.len(), 2);
    }

    proptest! {
        #[test]
        fn no_text_makes_a_parameter_panic(i in 0..TABLE.len(), text in "\\PC{0,40}") {
            let mut scenario = Scenario::default();
            if scenario.set_text(TABLE[i].id, &text).is_ok() {
                let (again, failures) = Scenario::from_json(&scenario.to_json());
                prop_assert!(failures.is_empty());
                prop_assert_eq!(again.to_json(), scenario.to_json());
            }
        }
    }
}
