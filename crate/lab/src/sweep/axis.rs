//! A parameter and the values that a sweep gives it, and the range of a number.

use serde_json::Value as Json;
use servescope_settings::diagnostic::{Diagnostic, Reason};
use servescope_settings::parameters::{Id, Kind, Value};
use servescope_settings::scenario::Scenario;

/// Most values of one axis.
pub const MAX_VALUES: usize = 10_000;

/// An error in the description of a sweep.
pub(super) fn bad(text: &str, sentence: &str, reason: Reason) -> Diagnostic {
    let message = format!("{text}: {sentence}");
    let at = text.split_once('=').map_or(text, |(path, _)| path.trim());
    Diagnostic::error("bad_sweep", "", message.clone())
        .text("reason", &message)
        .text("at", at)
        .because(reason)
}

/// A reason with how many there are, and the most that there may be.
pub(super) fn counted(code: &'static str, count: usize, max: usize) -> Reason {
    Reason::new(code).number("count", count as f64).number("max", max as f64)
}

/// From one value of a number to another, evenly or by ratio.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    /// The parameter.
    pub id: Id,
    /// First value.
    pub from: f64,
    /// Last value, above the first.
    pub to: f64,
    /// Whether equal steps are equal ratios.
    pub is_log: bool,
    /// Whether the parameter is a whole number.
    pub is_whole: bool,
}

impl Range {
    /// Reads `PATH=FROM:TO` or `PATH=FROM:TO:log`.
    ///
    /// # Errors
    /// [`Diagnostic`] for an unknown parameter, one that is no number, or values out of its bounds.
    pub fn parse(text: &str) -> Result<Self, Diagnostic> {
        let expected = "PATH=FROM:TO or PATH=FROM:TO:log expected";
        let (path, values) =
            text.split_once('=').ok_or_else(|| bad(text, expected, Reason::new("range_form")))?;
        let parts: Vec<&str> = values.split(':').map(str::trim).collect();
        match parts.as_slice() {
            [from, to] => Self::new(text, path.trim(), from, to, false),
            [from, to, "log"] => Self::new(text, path.trim(), from, to, true),
            _ => Err(bad(text, expected, Reason::new("range_form"))),
        }
    }

    fn new(text: &str, path: &str, from: &str, to: &str, is_log: bool) -> Result<Self, Diagnostic> {
        let mut scratch = Scenario::default();
        let mut end = |value: &str| -> Result<f64, Diagnostic> {
            scratch.set_text(path, value)?;
            let id = Id::from_path(path).expect("its value was set");
            Ok(scratch.number(id))
        };
        let (from, to) = (end(from)?, end(to)?);
        let id = Id::from_path(path).expect("its value was set");
        let is_whole = matches!(id.row().kind, Kind::Whole { .. });
        if !is_whole && !matches!(id.row().kind, Kind::Number { .. }) {
            return Err(bad(
                text,
                &format!("{path} is no number; give a list of values: PATH=VALUE,VALUE"),
                Reason::new("range_no_number"),
            ));
        }
        if from >= to {
            return Err(bad(
                text,
                &format!("a range runs upwards, got {from} to {to}"),
                Reason::new("range_downwards").number("from", from).number("to", to),
            ));
        }
        if is_log && from <= 0.0 {
            return Err(bad(
                text,
                &format!("a logarithmic range begins above 0, got {from}"),
                Reason::new("range_log_from").number("from", from),
            ));
        }
        Ok(Self { id, from, to, is_log, is_whole })
    }

    /// The value at a share of the range, 0 to 1; whole where the parameter is. At most nine digits, so that `--set` can give
    /// it again, except at the ends.
    pub fn at(&self, share: f64) -> f64 {
        if share <= 0.0 {
            return self.from;
        }
        if share >= 1.0 {
            return self.to;
        }
        let value = if self.is_log {
            self.from * libm::exp(share * libm::log(self.to / self.from))
        } else {
            self.from + (self.to - self.from) * share
        };
        let value = if self.is_whole { value.round() } else { nine_digits(value) };
        value.clamp(self.from, self.to)
    }

    /// The share of the range at which a value lies.
    pub fn share(&self, value: f64) -> f64 {
        if self.is_log {
            libm::log(value / self.from) / libm::log(self.to / self.from)
        } else {
            (value - self.from) / (self.to - self.from)
        }
    }

    /// The value as the parameter has it.
    pub fn set(&self, scenario: &mut Scenario, value: f64) {
        scenario
            .set(self.id, Value::Number(value))
            .expect("a value between the ends of a range is within bounds");
    }
}

fn nine_digits(x: f64) -> f64 {
    format!("{x:.8e}").parse().unwrap_or(x)
}

/// A parameter and its values, which differ.
#[derive(Debug, Clone, PartialEq)]
pub struct SweepAxis {
    /// The parameter.
    pub id: Id,
    /// Its values.
    pub values: Vec<Value>,
}

impl SweepAxis {
    /// Reads `PATH=FROM:TO:N`, `PATH=FROM:TO:N:log`, or `PATH=VALUE,VALUE,...` (between the entries of a list of numbers stand
    /// semicolons). Of a whole number, steps that round to the same value are one.
    ///
    /// # Errors
    /// [`Diagnostic`] with the parameter, the bound, or the form that was expected.
    pub fn parse(text: &str) -> Result<Self, Diagnostic> {
        let expected = "PATH=FROM:TO:N, PATH=FROM:TO:N:log or PATH=VALUE,VALUE expected";
        let (path, values) =
            text.split_once('=').ok_or_else(|| bad(text, expected, Reason::new("sweep_form")))?;
        let path = path.trim();
        let parts: Vec<&str> = values.split(':').map(str::trim).collect();
        let is_number = Id::from_path(path)
            .is_some_and(|id| matches!(id.row().kind, Kind::Number { .. } | Kind::Whole { .. }));
        let axis = match parts.as_slice() {
            [from, to, count] if is_number => Self::of_range(text, path, from, to, count, false)?,
            [from, to, count, "log"] if is_number => Self::of_range(text, path, from, to, count, true)?,
            [_] => Self::of_list(text, path, values)?,
            _ if is_number => return Err(bad(text, expected, Reason::new("sweep_form"))),
            _ => Self::of_list(text, path, values)?,
        };
        axis.check(text)?;
        Ok(axis)
    }

    fn of_range(
        text: &str,
        path: &str,
        from: &str,
        to: &str,
        count: &str,
        is_log: bool,
    ) -> Result<Self, Diagnostic> {
        let range = Range::new(text, path, from, to, is_log)?;
        let count: usize = count.parse().ok().filter(|n| (2..=MAX_VALUES).contains(n)).ok_or_else(|| {
            bad(
                text,
                &format!("the number of values is a whole number from 2 to {MAX_VALUES}, got {count}"),
                Reason::new("range_count").text("count", count).number("max", MAX_VALUES as f64),
            )
        })?;
        let mut values: Vec<f64> = (0..count).map(|i| range.at(i as f64 / (count - 1) as f64)).collect();
        values.dedup();
        Ok(Self { id: range.id, values: values.into_iter().map(Value::Number).collect() })
    }

    fn of_list(text: &str, path: &str, values: &str) -> Result<Self, Diagnostic> {
        let mut scratch = Scenario::default();
        let mut all = Vec::new();
        for value in values.split(',') {
            scratch.set_text(path, &value.trim().replace(';', ","))?;
            let id = Id::from_path(path).expect("its value was set");
            all.push(scratch.get(id));
            if all.len() > MAX_VALUES {
                return Err(bad(
                    text,
                    &format!("at most {MAX_VALUES} values can stand here"),
                    Reason::new("values_too_many").number("max", MAX_VALUES as f64),
                ));
            }
        }
        let id = Id::from_path(path)
            .ok_or_else(|| bad(text, "a parameter expected", Reason::new("no_parameter")))?;
        Ok(Self { id, values: all })
    }

    /// The axis of a path and values as JSON, as [`SweepAxis::to_json`] writes them.
    ///
    /// # Errors
    /// As [`SweepAxis::parse`].
    pub(super) fn of_json(path: &str, values: &Json) -> Result<Self, Diagnostic> {
        let mut scratch = Scenario::default();
        // The message about an unknown path is the scenario's.
        let Some(id) = Id::from_path(path) else {
            return Err(scratch
                .set_text(path, "")
                .err()
                .unwrap_or_else(|| bad(path, "a parameter expected", Reason::new("no_parameter"))));
        };
        let values = values
            .as_array()
            .ok_or_else(|| bad(path, "a list of values expected", Reason::new("no_list")))?;
        let values = values.iter().take(MAX_VALUES + 1).map(|json| id.row().parse_json(json));
        let axis = Self { id, values: values.collect::<Result<_, _>>()? };
        axis.check(path)?;
        Ok(axis)
    }

    fn check(&self, text: &str) -> Result<(), Diagnostic> {
        let capacity = Id::CapacityGrid.row().group;
        if self.id == Id::Seed {
            return Err(bad(
                text,
                "each point has the seeds of --seeds; the seed itself is no axis",
                Reason::new("sweep_of_seed"),
            ));
        }
        if self.id.row().group == capacity {
            return Err(bad(
                text,
                "this parameter is of the capacity search and changes no run",
                Reason::new("sweep_of_capacity"),
            ));
        }
        if self.values.is_empty() || self.values.len() > MAX_VALUES {
            return Err(bad(
                text,
                &format!("1 to {MAX_VALUES} values expected, got {}", self.values.len()),
                counted("values_count", self.values.len(), MAX_VALUES),
            ));
        }
        let mut texts: Vec<String> = self.values.iter().map(Value::to_text).collect();
        texts.sort_unstable();
        if let Some([twice, _]) = texts.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(bad(
                text,
                &format!("values that differ expected, {twice} stands twice"),
                Reason::new("value_twice").text("value", twice),
            ));
        }
        Ok(())
    }

    /// Its values as JSON.
    pub fn to_json(&self) -> Json {
        self.values.iter().map(Value::to_json).collect()
    }

    /// Its path.
    pub fn path(&self) -> &'static str {
        self.id.row().id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(axis: &str) -> Vec<String> {
        SweepAxis::parse(axis).unwrap().values.iter().map(Value::to_text).collect()
    }

    #[test]
    fn ranges_are_linear_logarithmic_or_lists() {
        assert_eq!(texts("workload.rate_rps=1:3:5"), ["1", "1.5", "2", "2.5", "3"]);
        assert_eq!(texts("workload.rate_rps=1:100:3:log"), ["1", "10", "100"]);
        assert_eq!(texts("workload.rate_rps=1:10:3:log")[1], "3.16227766");
        assert_eq!(texts("fleet.replicas=1:4:10"), ["1", "2", "3", "4"]);
        assert_eq!(texts("fleet.replicas=1:64:4:log"), ["1", "4", "16", "64"]);
        assert_eq!(texts("scheduler.order=fcfs, vtc"), ["fcfs", "vtc"]);
        assert_eq!(texts("workload.adapters.ranks=8,8;64"), ["8", "8,64"]);
        assert_eq!(texts("workload.rate_rps=2"), ["2"]);
    }

    #[test]
    fn bad_axes_are_told_with_what_is_wrong() {
        let message = |text: &str| SweepAxis::parse(text).unwrap_err().message;
        assert!(message("workload.rate_rps").contains("PATH=FROM:TO:N"));
        assert!(
            message("workload.rate=1:2:3").contains("workload.rate_rps"),
            "{}",
            message("workload.rate=1:2:3")
        );
        assert!(message("workload.rate_rps=1:2").contains("PATH=FROM:TO:N"));
        assert!(message("workload.rate_rps=1:2:1").contains("from 2 to 10000, got 1"));
        assert!(message("workload.rate_rps=2:1:4").contains("runs upwards"));
        assert!(message("workload.rate_rps=0:1:4").contains("0 is not between 0.001"));
        assert!(message("workload.rate_rps=1,1").contains("1 stands twice"));
        assert!(message("workload.rate_rps=1:2:9:ln").contains("PATH=FROM:TO:N"));
        assert!(message("scheduler.order=fcfs,fifo").contains("fifo is not one of"));
        assert!(message("scheduler.order=a:b:3").contains("is not one of"));
        assert!(message("seed=1:5:5").contains("--seeds"));
        assert!(message("capacity.ttft_s=1,2").contains("capacity search"));
        assert!(message("scheduler.watermark=0:1:3:log").contains("begins above 0"));
        assert!(Range::parse("scheduler.order=a:b").unwrap_err().message.contains("is not one of"));
        assert!(Range::parse("workload.rate_rps=1:2:3").unwrap_err().message.contains("FROM:TO"));
    }

    #[test]
    fn a_share_of_a_range_is_found_again() {
        for text in ["workload.rate_rps=0.5:8", "workload.rate_rps=0.5:8:log"] {
            let range = Range::parse(text).unwrap();
            for share in [0.0, 0.125, 0.3, 0.9, 1.0] {
                assert!((range.share(range.at(share)) - share).abs() < 1e-8);
            }
        }
    }
}
