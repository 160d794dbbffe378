//! A parameter's value.

use serde::{Serialize, Serializer};

/// A parameter's value.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "ParameterValue", untagged))]
pub enum Value {
    /// Of a number or a whole number.
    Number(f64),
    /// Of a choice.
    Choice(&'static str),
    /// Of a switch.
    Flag(bool),
    /// Of a list of numbers.
    List(Vec<f64>),
    /// Of texts, written as one.
    Text(String),
}

impl Value {
    /// As text, in the form in which `--set` and the address take it.
    pub fn to_text(&self) -> String {
        match self {
            Self::Number(x) => format!("{x}"),
            Self::Choice(name) => (*name).to_owned(),
            Self::Flag(on) => on.to_string(),
            Self::Text(text) => text.clone(),
            Self::List(items) => {
                let items: Vec<String> = items.iter().map(|x| format!("{x}")).collect();
                items.join(",")
            }
        }
    }

    /// As JSON.
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Self::Number(x) => number(*x),
            Self::Choice(name) => (*name).into(),
            Self::Flag(on) => (*on).into(),
            Self::Text(text) => text.as_str().into(),
            Self::List(items) => items.iter().map(|&x| number(x)).collect(),
        }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_json().serialize(serializer)
    }
}

/// A number as JSON, whole ones without a fraction.
fn number(x: f64) -> serde_json::Value {
    if x == x.trunc() && x.abs() < 9e15 { (x as i64).into() } else { x.into() }
}
