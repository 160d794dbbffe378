//! A user's own pattern from its JSON file, and the reading of JSON values that both kinds of configuration share
//! (AIBrix, `user_to_synthetic_config`).

use super::AibrixError;
use super::curve::Pattern;

/// A value of a JSON file, as far as configurations use them. This crate reads no JSON; whoever does hands over these.
#[derive(Debug, Clone, PartialEq)]
pub enum Field {
    /// A number written without point or exponent.
    Integer(i64),
    /// Any other number.
    Real(f64),
    /// A string.
    Text(String),
    /// True or false.
    Flag(bool),
    /// An array.
    List(Vec<Field>),
    /// Null or an object.
    Other,
}

impl Field {
    /// A finite number; text that holds one counts, as in the original.
    fn number(&self, key: &'static str) -> Result<f64, AibrixError> {
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

/// Reads a pattern: `fluctuate` (A), `mean` (B), `noise` (sigma), `period_len_ms` and `only_rise`, all required.
///
/// The number of cycles is the duration over the period.
///
/// # Errors
/// [`AibrixError::MissingKey`] and [`AibrixError::BadValue`], the latter also for a period of zero and a noise below it.
pub fn pattern(get: impl Fn(&str) -> Option<Field>, duration_ms: f64) -> Result<Pattern, AibrixError> {
    let field = |key: &'static str| get(key).ok_or(AibrixError::MissingKey { key });
    let number = |key: &'static str| field(key)?.number(key);
    let noise = number("noise")?;
    if noise < 0.0 {
        return Err(field("noise")?.refused("noise", "a number from zero up"));
    }
    let period_ms = number("period_len_ms")?;
    if period_ms == 0.0 {
        return Err(field("period_len_ms")?.refused("period_len_ms", "a number other than zero"));
    }
    let only_rise = match field("only_rise")? {
        Field::Flag(flag) => flag,
        Field::Integer(n) => n != 0,
        other => return Err(other.refused("only_rise", "true or false")),
    };
    Ok(Pattern {
        amplitude: number("fluctuate")?,
        mean: number("mean")?,
        noise,
        cycles: duration_ms / period_ms,
        only_rise,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(mean: Field, period_ms: Field) -> Result<Pattern, AibrixError> {
        let get = |key: &str| match key {
            "mean" => Some(mean.clone()),
            "period_len_ms" => Some(period_ms.clone()),
            "noise" => Some(Field::Real(0.1)),
            "fluctuate" => Some(Field::Integer(2)),
            "only_rise" => Some(Field::Flag(false)),
            _ => None,
        };
        pattern(get, 10_000.0)
    }

    #[test]
    fn text_with_a_number_counts_and_the_rest_is_refused() {
        let ok = read(Field::Text(" 6 ".into()), Field::Integer(1000)).expect("all keys are good");
        assert_eq!((ok.mean, ok.cycles), (6.0, 10.0));
        for bad in [Field::Text("nan".into()), Field::Other, Field::Flag(true), Field::List(vec![])] {
            let error = read(bad, Field::Integer(1)).expect_err("no number");
            assert!(error.to_string().starts_with("mean: a finite number expected"), "{error}");
        }
        assert!(read(Field::Integer(6), Field::Integer(0)).is_err());
        assert_eq!(pattern(|_| None, 1.0), Err(AibrixError::MissingKey { key: "noise" }));
    }
}
