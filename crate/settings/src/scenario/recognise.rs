//! Whether a JSON text is a scenario at all: a wrong file is called one, in place of a list of its fields.

use serde_json::Value as Json;

use super::{edit_distance, is_group};
use crate::diagnostic::{Diagnostic, shown};
use crate::file_kind;
use crate::parameters::{Id, TABLE};

/// Why `json` is no scenario; `None` where it is one, be it with mistakes. It is none where it is no object, or where most of
/// its fields neither are parameters, nor hold some, nor are misspelt by a letter or two.
pub(super) fn objection(json: &Json) -> Option<Diagnostic> {
    let Json::Object(fields) = json else {
        let kind = kind_of(json);
        let message = format!("this is no Servescope scenario: an object expected, got {kind}");
        return Some(Diagnostic::error("not_an_object", "", message));
    };
    let foreign: Vec<&String> = fields.keys().filter(|name| !is_ours(name)).collect();
    if foreign.len() * 2 <= fields.len() {
        return None;
    }
    if let Some(known) = file_kind::of_value(json) {
        return Some(known.instead_of("Servescope scenario", "", &json.to_string()));
    }
    let first = shown(foreign[0]);
    let message = format!(
        "this is no Servescope scenario: {} of its {} fields are no parameters, the first is {first:?}",
        foreign.len(),
        fields.len()
    );
    let error = Diagnostic::error("not_a_scenario", "", message);
    Some(
        error
            .number("foreign", foreign.len() as f64)
            .number("fields", fields.len() as f64)
            .text("first", &first),
    )
}

/// What is wrong with a scenario's text: that it is none, or else the keys that it gives twice and what its fields are.
pub fn objections(repeated: Vec<Diagnostic>, errors: Vec<Diagnostic>) -> Vec<Diagnostic> {
    if errors.iter().any(is_of_another_kind) { errors } else { repeated.into_iter().chain(errors).collect() }
}

/// Whether this says that the text is no scenario.
pub(super) fn is_of_another_kind(error: &Diagnostic) -> bool {
    matches!(error.code, "not_an_object" | "not_a_scenario" | "other_kind")
}

/// Whether an object with these fields is a scenario, be it with mistakes.
pub(crate) fn is_scenario(fields: &[&str]) -> bool {
    fields.iter().filter(|name| !is_ours(name)).count() * 2 <= fields.len()
}

fn kind_of(json: &Json) -> &'static str {
    match json {
        Json::Null => "null",
        Json::Bool(_) => "true or false",
        Json::Number(_) => "a number",
        Json::String(_) => "a text",
        Json::Array(_) => "a list",
        Json::Object(_) => "an object",
    }
}

/// Whether a field on the outermost level can be meant as one of a scenario.
fn is_ours(name: &str) -> bool {
    let first = name.split('.').next().unwrap_or(name);
    if Id::from_path(name).is_some() || is_group(first) {
        return true;
    }
    // A long name is near none of ours, and its distance would be slow.
    let near =
        |known: &str| known.len() > 3 && first.len() <= known.len() + 2 && edit_distance(first, known) <= 2;
    first.len() > 3 && TABLE.iter().any(|row| near(row.id.split('.').next().unwrap_or(row.id)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;

    fn object(names: &[&str]) -> Json {
        Json::Object(names.iter().map(|name| ((*name).to_owned(), Json::from(1))).collect())
    }

    fn codes(json: &Json) -> Vec<&'static str> {
        Scenario::from_json(json).1.iter().map(|error| error.code).collect()
    }

    #[test]
    fn a_wrong_file_is_called_one_and_its_fields_are_not_listed() {
        let files: Json = serde_json::json!({"a.csv": {"rows": 3}, "b.csv": {"rows": 4}});
        assert_eq!(codes(&files), ["not_a_scenario"]);
        assert_eq!(codes(&object(&["name", "version", "scripts", "seed"])), ["not_a_scenario"]);
        assert_eq!(
            codes(&object(&["digest", "requests", "makespan_s", "gpu", "kv", "slo", "gateway"])),
            ["other_kind"]
        );
        assert_eq!(codes(&object(&["model_id", "num_prompts", "request_rate"])), ["other_kind"]);
        assert_eq!(codes(&object(&["peft_type", "r"])), ["other_kind"]);
        for json in ["[1, 2]", "3", "null", "\"text\"", "true"] {
            let (scenario, errors) = Scenario::from_json(&serde_json::from_str(json).unwrap());
            assert_eq!(errors[0].code, "not_an_object", "{json}");
            assert_eq!((scenario, errors.len()), (Scenario::default(), 1));
        }
        let message = Scenario::from_json(&files).1[0].message.clone();
        assert_eq!(
            message,
            "this is no Servescope scenario: 2 of its 2 fields are no parameters, the first is \"a.csv\""
        );
    }

    #[test]
    fn a_scenario_with_mistakes_stays_one() {
        assert_eq!(codes(&serde_json::json!({})), [""; 0]);
        assert_eq!(codes(&serde_json::json!({"workload": {"rate": 3}})), ["unknown_parameter"]);
        assert_eq!(codes(&serde_json::json!({"worklod": {"rate_rps": 3}})), ["unknown_parameter"]);
        assert_eq!(codes(&serde_json::json!({"seed": 1, "comment": "mine"})), ["unknown_parameter"]);
        assert_eq!(codes(&serde_json::json!({"workload.rate": 3})), ["unknown_parameter"]);
    }

    #[test]
    fn a_long_text_of_a_file_is_not_repeated_whole() {
        let long = "x".repeat(80_000);
        for json in [
            serde_json::json!({"workload": {"rate_rps": long}}),
            serde_json::json!({"scheduler": {"kind": long}}),
            serde_json::json!({"scheduler": {long.clone(): 1}}),
            serde_json::json!({"workload": {"rate_rps": [long]}}),
            serde_json::json!({long.clone(): 1}),
        ] {
            let (_, errors) = Scenario::from_json(&json);
            let [error] = &errors[..] else { panic!("{errors:?}") };
            let params: usize = error.params.values().map(|p| format!("{p:?}").len()).sum();
            assert!(error.message.len() < 600 && params < 600, "{} {params}", error.message.len());
        }
    }
}
