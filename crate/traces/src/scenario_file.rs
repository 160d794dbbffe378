//! The files that a scenario is read from: its own JSON, a preset of the page, the recipe of a trace file, or rates over time.

use servescope_settings::diagnostic::Diagnostic;
use servescope_settings::file_kind::{FileKind, recognise};
use servescope_settings::json_text::parse_bytes;
use servescope_settings::repeated_keys::repeated_keys;
use servescope_settings::scenario::{Scenario, objections};
use servescope_workload::transform::TransformStep;

use super::curve_file::{is_curve_file, with_curve};
use super::recipe::{Recipe, Source};

/// What a scenario file says.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ScenarioFile {
    /// The scenario.
    pub scenario: Scenario,
    /// The steps of a recipe, which change the requests that the scenario makes.
    pub steps: Vec<TransformStep>,
}

/// The errors with the file's name before each message.
fn of_file(name: &str, errors: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let reported = |error: Diagnostic| Diagnostic { message: format!("{name}: {}", error.message), ..error };
    errors.into_iter().map(reported).collect()
}

/// The recipe in a file; none where it has none.
///
/// # Errors
/// Every [`Diagnostic`] of the recipe, or that it was made of other files, of which no scenario is known.
pub fn recipe(name: &str, bytes: &[u8]) -> Result<Option<Recipe>, Vec<Diagnostic>> {
    let reported = |errors| of_file(name, errors);
    let Some(json) = Recipe::find(bytes).map_err(reported)? else { return Ok(None) };
    let recipe = Recipe::from_json(&json).map_err(reported)?;
    if matches!(recipe.source, Source::Scenario(_)) {
        return Ok(Some(recipe));
    }
    let message = "the recipe of a file that was made of other files; convert, concat and merge read those";
    Err(reported(vec![Diagnostic::error("not_a_scenario", "", message.to_owned())]))
}

impl ScenarioFile {
    /// Reads a scenario file of this name.
    ///
    /// # Errors
    /// Every [`Diagnostic`], with the file's name in its message.
    pub fn read(name: &str, bytes: &[u8]) -> Result<Self, Vec<Diagnostic>> {
        if let Some(Recipe { source: Source::Scenario(scenario), steps, .. }) = recipe(name, bytes)? {
            return Ok(Self { scenario: *scenario, steps });
        }
        if is_curve_file(bytes) {
            let scenario = with_curve(name, bytes, &Scenario::default())?;
            return Ok(Self { scenario, steps: Vec::new() });
        }
        let json = match parse_bytes(bytes) {
            Ok(json) => json,
            Err(error) => {
                let other = recognise(bytes).ok().filter(|found| found.kind != FileKind::Scenario);
                let reported = other.map(|found| {
                    found.instead_of("Servescope scenario", name, &String::from_utf8_lossy(bytes))
                });
                return Err(reported
                    .map_or_else(|| vec![error.in_file(name)], |reported| of_file(name, vec![reported])));
            }
        };
        // A preset of the page has its scenario beside its words.
        let own = json.get("scenario").filter(|inner| inner.is_object()).unwrap_or(&json);
        let (scenario, errors) = Scenario::from_json(own);
        let repeated = std::str::from_utf8(bytes).map(repeated_keys).unwrap_or_default();
        let errors = objections(repeated, errors);
        if errors.is_empty() { Ok(Self { scenario, steps: Vec::new() }) } else { Err(of_file(name, errors)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<ScenarioFile, Vec<Diagnostic>> {
        ScenarioFile::read("a.json", text.as_bytes())
    }

    #[test]
    fn scenarios_presets_and_recipes_are_read() {
        let of = |text: &str| read(text).unwrap().scenario.to_json().to_string();
        let wanted = r#"{"version":5,"workload":{"rate_rps":3}}"#;
        assert_eq!(of(wanted), wanted);
        assert_eq!(
            of(r#"{"title": "a preset", "scenario": {"version": 5, "workload.rate_rps": 3}}"#),
            wanted
        );
        let recipe = r#"{"version":1,"scenario":{"version":5,"workload":{"rate_rps":3}},"steps":["thin:keep=0.5"],"format":"servescope"}"#;
        assert_eq!(of(recipe), wanted);
        assert_eq!(read(recipe).unwrap().steps.len(), 1);
    }

    #[test]
    fn what_is_wrong_is_told_with_the_file() {
        let first = |text: &str| {
            let error = read(text).unwrap_err().remove(0);
            (error.code, error.message)
        };
        let (code, message) = first("{");
        assert!(code == "bad_json" && message.starts_with("a.json: no JSON: "), "{message}");
        let (code, message) = first(r#"{"workload": {"rate_rps": -1}}"#);
        assert!(code == "out_of_range" && message.starts_with("a.json: workload.rate_rps: -1"), "{message}");
        assert_eq!(first(r#"{"seed": 1, "seed": 2}"#).0, "repeated_key");
        let joined = r#"{"version":1,"files":[],"join":null,"steps":[],"format":"servescope"}"#;
        assert!(first(joined).1.contains("made of other files"));
    }
}
