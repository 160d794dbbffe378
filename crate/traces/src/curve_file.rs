//! Rates over time from a file, as settings of the generator: a pattern of AIBrix, or a table as Grafana exports a panel.

use servescope_settings::diagnostic::Diagnostic;
use servescope_settings::file_kind::{CurveForm, FileKind, recognise};
use servescope_settings::parameters::Id;
use servescope_settings::scenario::Scenario;
use servescope_workload::aibrix::{config, stat};

/// Most points of a curve: more would not fit a link, and are put together at their mean.
const MOST_POINTS: usize = 400;

/// The time between two samples of a pattern, AIBrix's default.
const INTERVAL_MS: f64 = 1000.0;

/// What of a file has rates over time.
fn form(bytes: &[u8]) -> Option<CurveForm> {
    match recognise(bytes).ok()?.kind {
        FileKind::Curve(form) => Some(form),
        _ => None,
    }
}

/// Whether a file has rates over time.
pub fn is_curve_file(bytes: &[u8]) -> bool {
    form(bytes).is_some()
}

/// The scenario with the arrivals of a file of this name: its mean rate and the curve around it. A table has its duration, too;
/// a pattern has that of `scenario`, in which older files count their periods.
///
/// # Errors
/// What is wrong with the file, or with the settings that it asks for.
pub fn with_curve(name: &str, bytes: &[u8], scenario: &Scenario) -> Result<Scenario, Vec<Diagnostic>> {
    let refused = |reason: &str| {
        let error = Diagnostic::error("bad_curve_file", name, format!("{name}: {reason}"));
        vec![error.text("file", name).text("reason", reason)]
    };
    let settings = match form(bytes) {
        Some(CurveForm::Pattern) if is_of_lengths(name) => {
            return Err(refused("a pattern of lengths, by its name: only the aibrix command takes one"));
        }
        Some(CurveForm::Pattern) => {
            let duration_s = scenario.number(Id::Duration);
            of_pattern(bytes, duration_s).map_err(|error| refused(&error))?
        }
        Some(CurveForm::Rates) => of_rates(bytes).map_err(|error| refused(&error))?,
        None => return Err(refused("no rates over time")),
    };
    let mut with = scenario.clone();
    let errors: Vec<Diagnostic> =
        settings.iter().filter_map(|(path, value)| with.set_text(path, value).err()).collect();
    if errors.is_empty() { Ok(with) } else { Err(errors) }
}

/// Whether a pattern is one of lengths: the file does not say it, its name may.
fn is_of_lengths(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["prompt", "completion", "input", "output", "len"].iter().any(|word| name.contains(word))
}

fn of_pattern(bytes: &[u8], duration_s: f64) -> Result<Vec<(&'static str, String)>, String> {
    let pattern = config::pattern_from_json(bytes, duration_s * 1e3, INTERVAL_MS);
    let pattern = pattern.map_err(|error| error.to_string())?;
    if pattern.mean <= 0.0 {
        return Err(format!("mean: a rate above zero expected, got {}", pattern.mean));
    }
    Ok(vec![
        ("workload.rate_rps", pattern.mean.to_string()),
        ("workload.curve.kind", "sine".to_owned()),
        ("workload.curve.swing", (pattern.amplitude / pattern.mean).to_string()),
        ("workload.curve.period_s", (duration_s / pattern.cycles).to_string()),
        ("workload.curve.only_rise", pattern.only_rise.to_string()),
        ("workload.curve.sampling", "aibrix".to_owned()),
        ("workload.curve.interval_s", (INTERVAL_MS / 1e3).to_string()),
        ("workload.curve.noise_rps", pattern.noise.to_string()),
    ])
}

fn of_rates(bytes: &[u8]) -> Result<Vec<(&'static str, String)>, String> {
    let rates = stat::rates(bytes).map_err(|error| error.to_string())?;
    let end_s = rates.last().map_or(0.0, |(at_s, _)| *at_s);
    let few = thinned(&rates);
    // Straight between the points, as the curve is; level before the first and after the last.
    let mut area: f64 = few.windows(2).map(|w| (w[1].0 - w[0].0) * f64::midpoint(w[0].1, w[1].1)).sum();
    if let (Some(first), Some(last)) = (few.first(), few.last()) {
        area += first.0 * first.1 + (end_s - last.0) * last.1;
    }
    let mean_rps = area / end_s;
    if mean_rps.is_nan() || mean_rps <= 0.0 {
        return Err("no rate is above zero".to_owned());
    }
    let points: Vec<String> = few.iter().map(|(at_s, rps)| format!("{at_s},{}", rps / mean_rps)).collect();
    Ok(vec![
        ("workload.duration_s", end_s.to_string()),
        ("workload.rate_rps", mean_rps.to_string()),
        ("workload.curve.kind", "points".to_owned()),
        ("workload.curve.points", points.join(",")),
    ])
}

/// At most [`MOST_POINTS`], neighbours together at the means of their times and rates.
fn thinned(rates: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let group = rates.len().div_ceil(MOST_POINTS).max(1);
    let mean = |some: &[(f64, f64)]| {
        let count = some.len() as f64;
        let sum = some.iter().fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        (sum.0 / count, sum.1 / count)
    };
    rates.chunks(group).map(mean).collect()
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use proptest::prelude::*;

    use super::*;
    use crate::arrivals::trace_of;

    fn read(name: &str, text: &str) -> Result<Scenario, Vec<Diagnostic>> {
        with_curve(name, text.as_bytes(), &Scenario::of_version(4))
    }

    #[test]
    fn a_pattern_is_a_sine_around_its_mean() {
        let wave = include_str!("../../../static/patterns/traffic_wave.json");
        let scenario = read("traffic_wave.json", wave).unwrap();
        assert_eq!(scenario.number(Id::CurveSwing), 0.6);
        assert_eq!(scenario.number(Id::CurvePeriod), 60.0);
        assert_eq!(scenario.choice(Id::CurveKind), "sine");
        let older = r#"{"A": 1, "B": 2, "sigma": 0.1, "only_rise": true, "period": 4}"#;
        let scenario = read("older.json", older).unwrap();
        assert_eq!(scenario.number(Id::CurvePeriod) * 4.0, scenario.number(Id::Duration));
        let code = |name: &str, text: &str| read(name, text).unwrap_err()[0].code;
        assert_eq!(code("prompt_len_wave.json", wave), "bad_curve_file");
        assert_eq!(code("w.json", &wave.replace('5', "0")), "bad_curve_file");
        assert_eq!(code("w.json", &wave.replace("60000", "0")), "bad_curve_file");
        // Below zero at its trough.
        assert_eq!(code("w.json", &wave.replace(": 3", ": 9")), "out_of_range");
    }

    #[test]
    fn a_table_of_rates_is_a_curve_with_its_mean_and_duration() {
        let table =
            "\"Time\",\"Success\"\n2025-03-01 10:00:00,2\n2025-03-01 10:01:00,4\n2025-03-01 10:02:00,0\n";
        let scenario = read("a.csv", table).unwrap();
        // Trapezoids of 3 and of 2 requests a second, a minute each.
        assert_eq!(scenario.number(Id::Rate), 2.5);
        assert_eq!(scenario.number(Id::Duration), 120.0);
        let requests = trace_of(&scenario, None).unwrap().len() as f64;
        assert!((requests - 300.0).abs() < 60.0, "{requests}");
        let by_ms = "Time,qps\n1740823200000,2\n1740823260000,4\n1740823320000,0\n";
        assert_eq!(read("b.csv", by_ms).unwrap().to_json(), scenario.to_json());
        let mut long = "Time,qps\n".to_owned();
        for minute in 0..1440 {
            let _ = writeln!(long, "{},{}", 60_000 * minute, if minute < 720 { 1.0 } else { 3.0 });
        }
        let scenario = read("day.csv", &long).unwrap();
        assert!((scenario.number(Id::Rate) - 2.0).abs() < 0.01);
        let error = |text: &str| read("c.csv", text).unwrap_err()[0].message.clone();
        assert!(error("Time,qps\n0,2\n1000,x\n").contains("qps"), "{}", error("Time,qps\n0,2\n1000,x\n"));
        assert!(error("Time,qps\n0,0\n1000,0\n").contains("no rate is above zero"));
        assert!(!error("Time,qps\n0,1\n").is_empty());
    }

    proptest! {
        #![proptest_config(servescope_testkit::cases(32, 256))]
        #[test]
        fn no_text_makes_it_panic(is_table: bool, at in 0usize..400, put in "[-0-9.,eE:{}\"\n a-z]{0,6}", cut in 0usize..6) {
            let mut text = if is_table {
                "Time,qps\n1740823200000,2\n1740823260000,4\n1740823320000,0\n".to_owned()
            } else {
                include_str!("../../../static/patterns/traffic_wave.json").to_owned()
            };
            let at = at % (text.len() + 1);
            text.replace_range(at..(at + cut).min(text.len()), &put);
            if let Ok(scenario) = read("a", &text) {
                prop_assert!(scenario.number(Id::Rate) > 0.0);
                prop_assert!(Scenario::from_json(&scenario.to_json()).1.is_empty());
            }
        }
    }
}
