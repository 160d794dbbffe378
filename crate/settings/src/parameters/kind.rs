//! What a row of the parameter table says, and whether a value obeys it.

use serde::Serialize;
use servescope_cost::memory_plan::vllm::VllmVersion;

use super::byte_size;
use super::choices::Choice;
use super::id::Id;
use super::string_list;
use super::value::Value;
use crate::diagnostic::{Diagnostic, shown};

/// Type, bounds and default.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// A number with inclusive bounds.
    Number {
        /// Smallest.
        min: f64,
        /// Largest.
        max: f64,
        /// Default.
        default: f64,
    },
    /// A whole number with inclusive bounds.
    Whole {
        /// Smallest.
        min: f64,
        /// Largest.
        max: f64,
        /// Default.
        default: f64,
    },
    /// One of some names; the first is the default where the row names none.
    Choice(&'static [&'static str]),
    /// A switch.
    Flag(bool),
    /// A list of numbers, each within bounds.
    List {
        /// Smallest entry.
        min: f64,
        /// Largest entry.
        max: f64,
        /// Whether entries are whole.
        whole: bool,
        /// Default.
        default: &'static [f64],
    },
    /// Texts written as one ([`super::texts`]) of at most this many characters; none by default.
    Text {
        /// Most characters.
        most: usize,
    },
}

/// How a slider maps its length to values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// Evenly.
    Linear,
    /// By ratio.
    Log,
}

/// The usual range of a parameter: what its slider covers. Typed values may go on to the bounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "SliderRange"))]
pub struct Slider {
    /// Left end.
    pub min: f64,
    /// Right end.
    pub max: f64,
    /// Mapping.
    pub scale: Scale,
    /// Values are multiples of it.
    pub step: f64,
}

/// A meaningful place on a slider.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct SliderStop {
    /// Where.
    pub value: f64,
    /// Message key.
    pub message: &'static str,
}

/// When a parameter has an effect. A condition on a parameter that has no effect itself does not hold; where requests come
/// from a file, one on the workload is a condition on what the file has.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Condition {
    /// The parameter has one of these values, as text.
    In(Id, &'static [&'static str]),
    /// It has none of them.
    NotIn(Id, &'static [&'static str]),
    /// The number is above this one.
    Above(Id, f64),
    /// The list has entries that differ.
    Varied(Id),
    /// The chain of checks has this one.
    Checks(&'static str),
    /// One of these holds.
    Any(&'static [Condition]),
    /// All of these hold.
    All(&'static [Condition]),
}

/// One row of the table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameter {
    /// Dotted path.
    pub id: &'static str,
    /// Other paths that are read as this one: the names of flags of the systems that have it.
    pub aliases: &'static [&'static str],
    /// Key of the address.
    pub key: &'static str,
    /// Group of the panel.
    pub group: &'static str,
    /// Type, bounds and default.
    pub kind: Kind,
    /// The default of a choice; the first of its names where this is none.
    pub usual: Option<&'static str>,
    /// Unit, or "".
    pub unit: &'static str,
    /// Slider, if it has one.
    pub slider: Option<Slider>,
    /// Places on the slider.
    pub marks: &'static [SliderStop],
    /// All must hold for it to have an effect.
    pub applies: &'static [Condition],
    /// Where it changes more than the tables by user and by adapter; `None`: wherever it has an effect.
    pub beyond_tables: Option<Condition>,
    /// Whether it changes the score of a run only, not the run.
    pub scores_only: bool,
    /// Whether 0 is no value but none: a limit or a bound that is not set.
    pub off_at_zero: bool,
    /// Short name.
    pub label: &'static str,
    /// One sentence.
    pub help: &'static str,
}

/// Names of options that links and files may hold, by parameter, and the name that each is read as.
const REPLACED_OPTIONS: [(&str, &str, &str); 2] =
    [("workload.lengths.from", "laws", "distributions"), ("fleet.router", "shortest_line", "fewest_waiting")];

impl Parameter {
    /// The default of the table (a calibration or the pool may put another in its place, see `Scenario::default_of`).
    pub fn default_value(&self) -> Value {
        match self.kind {
            Kind::Number { default, .. } | Kind::Whole { default, .. } => Value::Number(default),
            Kind::Choice(names) => Value::Choice(self.usual.unwrap_or(names[0])),
            Kind::Flag(on) => Value::Flag(on),
            Kind::List { default, .. } => Value::List(default.to_vec()),
            Kind::Text { .. } => Value::Text(String::new()),
        }
    }

    /// Hard bounds of a number or of a list's entries.
    pub fn bounds(&self) -> Option<(f64, f64)> {
        match self.kind {
            Kind::Number { min, max, .. } | Kind::Whole { min, max, .. } | Kind::List { min, max, .. } => {
                Some((min, max))
            }
            Kind::Choice(_) | Kind::Flag(_) | Kind::Text { .. } => None,
        }
    }

    /// Its type in the schema.
    pub fn type_name(&self) -> &'static str {
        match self.kind {
            Kind::Number { .. } => "number",
            Kind::Whole { .. } => "integer",
            Kind::Choice(_) => "choice",
            Kind::Flag(_) => "boolean",
            Kind::List { .. } => "list",
            Kind::Text { .. } => "text",
        }
    }

    /// Reads a value from text.
    ///
    /// # Errors
    /// [`Diagnostic`] with the parameter's path and what was expected.
    pub fn parse(&self, text: &str) -> Result<Value, Diagnostic> {
        let whole = text;
        let text = text.trim();
        let value = match self.kind {
            // Blanks may be what matters in a text.
            Kind::Text { .. } => Value::Text(whole.to_owned()),
            Kind::Number { .. } | Kind::Whole { .. } => Value::Number(self.parse_number(text)?),
            Kind::Choice(_) => Value::Choice(self.option(text)?),
            Kind::Flag(_) => match text {
                "true" | "1" | "yes" | "on" => Value::Flag(true),
                "false" | "0" | "no" | "off" => Value::Flag(false),
                _ => return Err(self.wrong("not_a_flag", "true or false", text)),
            },
            Kind::List { .. } => {
                let items = text.trim_matches(['[', ']']).split([',', ' ']).filter(|item| !item.is_empty());
                Value::List(items.map(|item| self.parse_number(item)).collect::<Result<_, _>>()?)
            }
        };
        self.check(&value)?;
        Ok(value)
    }

    /// Reads a value from JSON; text is taken as [`Parameter::parse`] takes it.
    ///
    /// # Errors
    /// [`Diagnostic`] with the parameter's path and what was expected.
    pub fn parse_json(&self, json: &serde_json::Value) -> Result<Value, Diagnostic> {
        use serde_json::Value as Json;
        let value = match (self.kind, json) {
            (_, Json::String(text)) => return self.parse(text),
            (Kind::Number { .. } | Kind::Whole { .. }, Json::Number(x)) => {
                Value::Number(x.as_f64().unwrap_or(f64::NAN))
            }
            (Kind::Flag(_), Json::Bool(on)) => Value::Flag(*on),
            (Kind::List { .. }, Json::Array(items)) => {
                let number = |item: &Json| {
                    item.as_f64()
                        .ok_or_else(|| self.wrong("not_a_list", "a list of numbers", &item.to_string()))
                };
                Value::List(items.iter().map(number).collect::<Result<_, _>>()?)
            }
            (Kind::List { .. }, Json::Number(x)) => Value::List(vec![x.as_f64().unwrap_or(f64::NAN)]),
            (Kind::Number { .. } | Kind::Whole { .. }, other) => {
                return Err(self.wrong("not_a_number", "a number", &other.to_string()));
            }
            (Kind::Choice(_), other) => return Err(self.unknown_option(&other.to_string())),
            (Kind::Flag(_), other) => {
                return Err(self.wrong("not_a_flag", "true or false", &other.to_string()));
            }
            (Kind::Text { .. }, Json::Array(items)) => {
                let text = |item| {
                    Json::as_str(item)
                        .ok_or_else(|| self.wrong("not_a_text", "a list of texts", &item.to_string()))
                };
                Value::Text(string_list::join(items.iter().map(text).collect::<Result<Vec<_>, _>>()?))
            }
            (Kind::Text { .. }, other) => {
                return Err(self.wrong("not_a_text", "a text", &other.to_string()));
            }
            (Kind::List { .. }, other) => {
                return Err(self.wrong("not_a_list", "a list of numbers", &other.to_string()));
            }
        };
        self.check(&value)?;
        Ok(value)
    }

    /// Whether a value is of the right type and within bounds.
    ///
    /// # Errors
    /// [`Diagnostic`] with the bound.
    pub fn check(&self, value: &Value) -> Result<(), Diagnostic> {
        match (self.kind, value) {
            (Kind::Number { .. }, Value::Number(x)) => self.check_number(*x, false),
            (Kind::Whole { .. }, Value::Number(x)) => self.check_number(*x, true),
            (Kind::List { whole, .. }, Value::List(items)) => {
                if items.is_empty() {
                    let message = format!("{}: the list is empty", self.id);
                    return Err(Diagnostic::error("empty_list", self.id, message));
                }
                items.iter().try_for_each(|x| self.check_number(*x, whole))
            }
            (Kind::Text { most }, Value::Text(text)) => {
                let characters = text.chars().count();
                if characters <= most {
                    return Ok(());
                }
                let message = format!("{}: {characters} characters; at most {most} can stand here", self.id);
                Err(Diagnostic {
                    message,
                    ..Diagnostic::out_of_range(self.id, characters as f64, 0.0, most as f64)
                })
            }
            (Kind::Choice(_), Value::Choice(name)) => self.option(name).map(|_| ()),
            (Kind::Flag(_), Value::Flag(_)) => Ok(()),
            (_, other) => Err(self.wrong("not_a_number", self.type_name(), &other.to_text())),
        }
    }

    /// The nearest usual value: the end of the slider, or the bound where there is none. A bound itself is often no run that
    /// shows anything.
    pub fn clamp(&self, text: &str) -> Option<Value> {
        let (min, max) = self.slider.map(|s| (s.min, s.max)).or(self.bounds())?;
        let near = |x: f64, whole: bool| {
            let x = x.clamp(min, max);
            if whole { x.round().clamp(min.ceil(), max.floor()) } else { x }
        };
        match self.kind {
            Kind::Number { .. } => self.parse_number(text).ok().map(|x| Value::Number(near(x, false))),
            Kind::Whole { .. } => self.parse_number(text).ok().map(|x| Value::Number(near(x, true))),
            _ => None,
        }
    }

    fn check_number(&self, x: f64, whole: bool) -> Result<(), Diagnostic> {
        let (min, max) = self.bounds().unwrap_or((f64::MIN, f64::MAX));
        if !(min..=max).contains(&x) {
            return Err(Diagnostic::out_of_range(self.id, x, min, max));
        }
        if whole && x != x.trunc() {
            return Err(self.wrong("not_whole", "a whole number", &format!("{x}")));
        }
        Ok(())
    }

    fn parse_number(&self, text: &str) -> Result<f64, Diagnostic> {
        if self.unit == "GiB" {
            let expected = "a number of GiB, or an amount such as 5g, 512m or 5GiB";
            return byte_size::gib_of(text).ok_or_else(|| self.wrong("not_an_amount", expected, text));
        }
        let number = text.parse::<f64>().ok().filter(|x| x.is_finite());
        number.ok_or_else(|| self.wrong("not_a_number", "a number", text))
    }

    fn option(&self, text: &str) -> Result<&'static str, Diagnostic> {
        let Kind::Choice(names) = self.kind else { return Err(self.unknown_option(text)) };
        let text = self.present_option(text);
        names.iter().copied().find(|name| *name == text).ok_or_else(|| self.unknown_option(text))
    }

    /// The name that stands for this one, where links and files may hold a replaced one.
    fn present_option<'a>(&self, text: &'a str) -> &'a str {
        // A version stands for those from it to the next.
        if self.id == Id::VllmVersion.row().id {
            return VllmVersion::of(text).map_or(text, |version| -> &'a str { version.name() });
        }
        let replaced = REPLACED_OPTIONS.iter().find(|(id, name, _)| *id == self.id && *name == text);
        replaced.map_or(text, |(_, _, present)| present)
    }

    fn unknown_option(&self, text: &str) -> Diagnostic {
        let names = if let Kind::Choice(names) = self.kind { names.join(", ") } else { String::new() };
        let text = &shown(text);
        Diagnostic::error("unknown_option", self.id, format!("{}: {text} is not one of {names}", self.id))
            .text("value", text)
            .text("options", &names)
    }

    fn wrong(&self, code: &'static str, expected: &str, value: &str) -> Diagnostic {
        let value = &shown(value);
        Diagnostic::error(code, self.id, format!("{}: {expected} expected, got {value:?}", self.id))
            .text("value", value)
    }
}
