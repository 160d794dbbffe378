//! `02_pattern_config_parsing.json`: a user's JSON, or a name, to the parameters of a curve.

use serde_json::Value;
use servescope_workload::aibrix::AibrixError;
use servescope_workload::aibrix::config;
use servescope_workload::aibrix::curve::{NamedPattern, SinePattern};

use crate::Case;

/// The curve that a case asks for.
pub(crate) fn asked(case: &Case<'_>, mean: f64) -> Result<SinePattern, AibrixError> {
    if let Some(name) = case.input("named_pattern").as_str() {
        return Ok(NamedPattern::from_name(name)?.pattern(mean));
    }
    let (fields, duration_ms) = (case.input("user_config"), case.number("duration_ms"));
    let read = config::pattern_from_json(fields.to_string().as_bytes(), duration_ms, 1000.0);
    let handed = config::pattern(crate::get(fields), duration_ms, 1000.0);
    assert_eq!(read.as_ref().ok(), handed.as_ref().ok(), "{case}: the file and its fields differ");
    read
}

/// Holds a curve to the recorded parameters.
pub(crate) fn compare(case: &Case<'_>, ours: &SinePattern, theirs: &Value) {
    let pairs = [("A", ours.amplitude), ("B", ours.mean), ("sigma", ours.noise), ("period", ours.cycles)];
    for (key, value) in pairs {
        assert_eq!(Some(value), theirs[key].as_f64(), "{case}: {key}");
    }
    let rises = theirs["only_rise"].as_bool().or_else(|| theirs["only_rise"].as_i64().map(|n| n != 0));
    assert_eq!(Some(ours.only_rise), rises, "{case}: only_rise");
}

#[test]
fn pattern_config_parsing() {
    crate::check_all("pattern_config", |case, _| {
        let ours = asked(case, case.input("mean").as_f64().unwrap_or(1.0));
        match ours {
            Ok(pattern) if !case.is_error() => compare(case, &pattern, &case.json["output"]),
            Err(_) if case.is_error() => {}
            other => panic!("{case}: {other:?}"),
        }
    });
}
