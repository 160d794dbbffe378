//! A user's own pattern from its JSON file, and the reading of JSON values that both kinds of configuration share
//! (AIBrix, `user_to_synthetic_config`).

use super::AibrixError;
use super::agent::AgentConfig;
use super::curve::SinePattern;
use super::field::ConfigValue;
use crate::formats::json::{self, Json};

/// The object that a configuration file holds.
fn object<'a>(file: &'static str, bytes: &'a [u8]) -> Result<Json<'a>, AibrixError> {
    let at = |error| AibrixError::File { file, error };
    match json::document(bytes).map_err(at)? {
        object @ Json::Object(_) => Ok(object),
        other => Err(at(json::bad(1, "file", "a JSON object", &other))),
    }
}

/// Reads a pattern's file, as [`pattern`] does.
///
/// # Errors
/// Those of [`pattern`], and [`AibrixError::File`] with the line and the byte for what is no JSON object.
pub fn pattern_from_json(
    bytes: &[u8],
    duration_ms: f64,
    interval_ms: f64,
) -> Result<SinePattern, AibrixError> {
    let object = object("pattern configuration", bytes)?;
    pattern(|key| object.get(key).map(ConfigValue::from), duration_ms, interval_ms)
}

/// Reads the file of a configuration of agent sessions, as [`AgentConfig::read`] does.
///
/// # Errors
/// Those of [`AgentConfig::read`], and [`AibrixError::File`] with the line and the byte for what is no JSON object.
pub fn agents_from_json(bytes: &[u8]) -> Result<AgentConfig, AibrixError> {
    let object = object("agent configuration", bytes)?;
    AgentConfig::read(|key| object.get(key).map(ConfigValue::from))
}

/// Reads a pattern: `fluctuate` (A), `mean` (B), `noise` (sigma), `period_len_ms` and `only_rise`, all required. The number of
/// cycles is the duration over the period.
///
/// Files of the generator before 2025 have the names of its formula: `A`, `B`, `sigma`, `only_rise`, and `period`, which is the
/// number of cycles in the run, or `omega`, in radians a sample, which goes first where it is not null.
///
/// # Errors
/// [`AibrixError::MissingKey`] and [`AibrixError::BadValue`], the latter also for a period of zero and a noise below it.
pub fn pattern(
    get: impl Fn(&str) -> Option<ConfigValue>,
    duration_ms: f64,
    interval_ms: f64,
) -> Result<SinePattern, AibrixError> {
    let field = |key: &'static str| get(key).ok_or(AibrixError::MissingKey { key });
    let number = |key: &'static str| field(key)?.number(key);
    let is_older = ["A", "B", "sigma"].into_iter().any(|key| get(key).is_some());
    let [amplitude, mean, noise] =
        if is_older { ["A", "B", "sigma"] } else { ["fluctuate", "mean", "noise"] };
    let sigma = number(noise)?;
    if sigma < 0.0 {
        return Err(field(noise)?.refused(noise, "a number from zero up"));
    }
    let cycles = if !is_older {
        let period_ms = number("period_len_ms")?;
        if period_ms == 0.0 {
            return Err(field("period_len_ms")?.refused("period_len_ms", "a number other than zero"));
        }
        duration_ms / period_ms
    } else if get("omega").is_some_and(|omega| omega != ConfigValue::Other) {
        let samples = super::curve::sample_count(duration_ms, interval_ms)? as f64;
        number("omega")? * samples / (2.0 * std::f64::consts::PI)
    } else {
        number("period")?
    };
    let only_rise = match field("only_rise")? {
        ConfigValue::Flag(flag) => flag,
        ConfigValue::Integer(n) => n != 0,
        other => return Err(other.refused("only_rise", "true or false")),
    };
    Ok(SinePattern { amplitude: number(amplitude)?, mean: number(mean)?, noise: sigma, cycles, only_rise })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(mean: ConfigValue, period_ms: ConfigValue) -> Result<SinePattern, AibrixError> {
        let get = |key: &str| match key {
            "mean" => Some(mean.clone()),
            "period_len_ms" => Some(period_ms.clone()),
            "noise" => Some(ConfigValue::Real(0.1)),
            "fluctuate" => Some(ConfigValue::Integer(2)),
            "only_rise" => Some(ConfigValue::Flag(false)),
            _ => None,
        };
        pattern(get, 10_000.0, 1000.0)
    }

    #[test]
    fn files_are_read_and_refused_with_their_place() {
        let text = "{\n  \"fluctuate\": 2, \"mean\": \"6.5\",\n  \"noise\": 1e-1,\n  \"period_len_ms\": 5000,\n  \"only_rise\": true\n}\n";
        let read = pattern_from_json(text.as_bytes(), 60_000.0, 1000.0).expect("all keys are good");
        assert_eq!(
            read,
            SinePattern { amplitude: 2.0, mean: 6.5, noise: 0.1, cycles: 12.0, only_rise: true }
        );
        let message = |text: &str| pattern_from_json(text.as_bytes(), 1.0, 1.0).expect_err("bad").to_string();
        let broken = text.replace("1e-1,", "1e-1");
        assert_eq!(
            message(&broken),
            "pattern configuration file: row 4, column byte 3: a JSON value expected, got \"\\\"period_len_ms\\\": 5000,\""
        );
        assert_eq!(message(""), "pattern configuration file: the file is empty");
        assert!(message("[1]").contains("a JSON object expected, got \"a list\""));
        assert_eq!(message(&text.replace("noise", "nose")), "the key \"noise\" is missing");
        assert_eq!(
            message(&text.replace("5000", "null")),
            "period_len_ms: a finite number expected, got null or an object"
        );
        let agents = agents_from_json(b"{\"seed\": 7, \"tool_latency_ms\": [1, 2]}").expect("it is sound");
        assert_eq!((agents.seed, agents.tool_latency_ms.high, agents.num_sessions), (7, 2, 10));
        assert!(agents_from_json(b"{\"num_sessions\": 0}").is_err());
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_the_readers_panic(text in "(\\{(\"(noise|mean|seed|A|omega|period)\": ?(-?[0-9.e]{1,5}|\"x\"|\\[1,2\\])[,\n]){0,3}\\}?|.{0,20})") {
            let _ = pattern_from_json(text.as_bytes(), 1000.0, 100.0);
            let _ = agents_from_json(text.as_bytes());
        }
    }

    #[test]
    fn older_files_have_the_names_of_the_formula() {
        let read = |text: &str| pattern_from_json(text.as_bytes(), 60_000.0, 1000.0);
        let older = r#"{"A": 3, "B": 7.5, "sigma": 0.2, "period": 0.25, "omega": null, "only_rise": true}"#;
        let expected = SinePattern { amplitude: 3.0, mean: 7.5, noise: 0.2, cycles: 0.25, only_rise: true };
        assert_eq!(read(older), Ok(expected));
        assert_eq!(read(&older.replace(r#""omega": null, "#, "")), Ok(expected));
        // 61 samples of 0.5 radians.
        let omega = read(&older.replace("null", "0.5")).expect("both are there").cycles;
        assert!((omega - 30.5 / (2.0 * std::f64::consts::PI)).abs() < 1e-12);
        let message = |from: &str, to: &str| read(&older.replace(from, to)).expect_err("bad").to_string();
        assert_eq!(message(r#""period": 0.25, "#, ""), "the key \"period\" is missing");
        assert_eq!(message(r#""B": 7.5, "#, ""), "the key \"B\" is missing");
        assert!(message("0.2", "-1").starts_with("sigma: a number from zero up expected"));
        assert!(message("null", "[1]").starts_with("omega: a finite number expected"));
    }

    #[test]
    fn text_with_a_number_counts_and_the_rest_is_refused() {
        let ok =
            read(ConfigValue::Text(" 6 ".into()), ConfigValue::Integer(1000)).expect("all keys are good");
        assert_eq!((ok.mean, ok.cycles), (6.0, 10.0));
        for bad in [
            ConfigValue::Text("nan".into()),
            ConfigValue::Other,
            ConfigValue::Flag(true),
            ConfigValue::List(vec![]),
        ] {
            let error = read(bad, ConfigValue::Integer(1)).expect_err("no number");
            assert!(error.to_string().starts_with("mean: a finite number expected"), "{error}");
        }
        assert!(read(ConfigValue::Integer(6), ConfigValue::Integer(0)).is_err());
        assert_eq!(pattern(|_| None, 1.0, 1.0), Err(AibrixError::MissingKey { key: "noise" }));
    }
}
