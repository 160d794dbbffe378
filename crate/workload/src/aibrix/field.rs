//! Values of the JSON files that configure AIBrix's generator.

use super::AibrixError;
use crate::formats::json::Json;

/// A value of a JSON file, as far as configurations use them.
#[derive(Debug, Clone, PartialEq)]
pub enum ConfigValue {
    /// A number written without point or exponent.
    Integer(i64),
    /// Any other number.
    Real(f64),
    /// A string.
    Text(String),
    /// True or false.
    Flag(bool),
    /// An array.
    List(Vec<ConfigValue>),
    /// Null or an object.
    Other,
}

impl ConfigValue {
    /// A finite number; text that holds one counts, as in AIBrix.
    pub(super) fn number(&self, key: &'static str) -> Result<f64, AibrixError> {
        let number = match self {
            Self::Integer(n) => Some(*n as f64),
            Self::Real(x) => Some(*x),
            Self::Text(text) => text.trim().parse().ok(),
            Self::Flag(_) | Self::List(_) | Self::Other => None,
        };
        number.filter(|x| x.is_finite()).ok_or_else(|| self.refused(key, "a finite number"))
    }

    /// An error that shows this value.
    pub(super) fn refused(&self, key: &'static str, expected: &'static str) -> AibrixError {
        let value = match self {
            Self::Integer(n) => n.to_string(),
            Self::Real(x) => x.to_string(),
            Self::Text(text) => format!("{:?}", text.chars().take(40).collect::<String>()),
            Self::Flag(flag) => flag.to_string(),
            Self::List(fields) => format!("an array of {}", fields.len()),
            Self::Other => "null or an object".to_owned(),
        };
        AibrixError::BadValue { key, expected, value }
    }
}

impl From<&Json<'_>> for ConfigValue {
    fn from(json: &Json<'_>) -> Self {
        match json {
            Json::Flag(flag) => Self::Flag(*flag),
            Json::Number(text) => match (text.parse(), text.parse()) {
                (Ok(n), _) => Self::Integer(n),
                (_, Ok(x)) => Self::Real(x),
                _ => Self::Other,
            },
            Json::Text(text) => Self::Text(text.to_string()),
            Json::List(entries) => Self::List(entries.iter().map(Self::from).collect()),
            Json::Null | Json::Object(_) => Self::Other,
        }
    }
}
