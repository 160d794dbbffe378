//! What the page asks of a scenario without running it: the parameter table, links, files, colours.

use servescope_lab::run::serve_command;
use servescope_output::replies::ParsedLink;
use servescope_settings::deployment_files::{self, Platform};
use servescope_settings::diagnostic::Diagnostic;
use servescope_settings::notes::{self, NoteContext, Purpose, Traffic};
use servescope_settings::parameters::Id;
use servescope_settings::repeated_keys::repeated_keys;
use servescope_settings::scenario::{Scenario, ScenarioPatch, objections};
use servescope_settings::{link, schema};
use wasm_bindgen::prelude::*;

use servescope_boundary::convert::{self, object, scenario_of, to_js_error};
use servescope_boundary::types::{
    JsCallErrors, JsLink, JsPalette, JsPatch, JsResolution, JsSchema, JsTraffic,
};

/// The parameter table.
#[wasm_bindgen(js_name = schema)]
pub fn page_schema() -> JsSchema {
    object(&schema::page_schema()).unchecked_into()
}

/// What a scenario means in full, over the trace that carries `traffic`, if there is one. Bad values are among its problems;
/// it never throws.
#[wasm_bindgen]
pub fn resolve(scenario: &JsPatch, traffic: Option<JsTraffic>) -> JsResolution {
    let (scenario, problems) = convert::read_scenario(scenario);
    let traffic = traffic.and_then(|traffic| serde_wasm_bindgen::from_value(traffic.into()).ok());
    let context = NoteContext { purpose: Purpose::Page, traffic, is_generated: false };
    object(&schema::resolve(&scenario, problems, &context)).unchecked_into()
}

/// The settings that make a parameter apply, with the fewest changes, over the trace that carries `traffic`, if there is one;
/// nothing where no setting can.
#[wasm_bindgen]
pub fn remedy(scenario: &JsPatch, id: &str, traffic: Option<JsTraffic>) -> Option<JsPatch> {
    let (scenario, _) = convert::read_scenario(scenario);
    let traffic = traffic.and_then(|traffic| serde_wasm_bindgen::from_value(traffic.into()).ok());
    let context = NoteContext { purpose: Purpose::Page, traffic, is_generated: false };
    let changes = notes::remedy(&scenario, &context, Id::from_path(id)?)?;
    let changes = changes.into_iter().map(|(id, value)| (id.row().id.to_owned(), value));
    Some(object(&ScenarioPatch(changes.collect())).unchecked_into())
}

/// Whether kernels of a scenario's model were measured on its GPU.
#[wasm_bindgen]
pub fn has_measured_kernels(scenario: &JsPatch) -> bool {
    convert::read_scenario(scenario).0.has_measured_kernels()
}

/// The command `vllm serve` with the flags that stand for a scenario, over the trace that carries `traffic`, if there is one,
/// and what no flag stands for.
///
/// # Errors
/// What is wrong with the scenario, or that its scheduler is not vLLM's.
#[wasm_bindgen]
pub fn vllm_serve(scenario: &JsPatch, traffic: Option<JsTraffic>) -> Result<String, JsCallErrors> {
    let traffic: Option<Traffic> =
        traffic.and_then(|traffic| serde_wasm_bindgen::from_value(traffic.into()).ok());
    serve_command(&scenario_of(scenario)?, traffic.as_ref()).map_err(to_js_error)
}

/// The file of a platform that deploys vLLM, by the platform's name, for a scenario.
///
/// # Errors
/// What is wrong with the scenario, or that its scheduler is not vLLM's.
#[wasm_bindgen]
pub fn deployment_file(scenario: &JsPatch, platform: &str) -> Result<String, JsCallErrors> {
    let scenario = scenario_of(scenario)?;
    serve_command(&scenario, None).map_err(to_js_error)?;
    let platform = Platform::named(platform).unwrap_or(Platform::LlmD);
    deployment_files::deployment_file(&scenario, platform).map_err(|error| to_js_error(vec![error]))
}

/// The part of the address behind `#`.
///
/// # Errors
/// The scenario's errors.
#[wasm_bindgen]
pub fn encode_link(scenario: &JsPatch) -> Result<String, JsCallErrors> {
    Ok(link::encode(&scenario_of(scenario)?))
}

/// Reads an address; bad parts are among the problems.
#[wasm_bindgen]
pub fn parse_link(hash: &str) -> JsLink {
    let (scenario, problems) = link::parse(hash);
    object(&ParsedLink { scenario: scenario.patch(), problems }).unchecked_into()
}

/// The terminal's command for the same run; `trace_file` is the loaded file's name or "".
///
/// # Errors
/// The scenario's errors.
#[wasm_bindgen]
pub fn command(scenario: &JsPatch, trace_file: &str) -> Result<String, JsCallErrors> {
    Ok(link::command(&scenario_of(scenario)?, trace_file))
}

/// The scenario file of the terminal.
///
/// # Errors
/// The scenario's errors.
#[wasm_bindgen]
pub fn scenario_json(scenario: &JsPatch) -> Result<String, JsCallErrors> {
    Ok(format!("{:#}\n", scenario_of(scenario)?.to_json()))
}

/// Reads a scenario file.
///
/// # Errors
/// Text that is no JSON, or the scenario's errors.
#[wasm_bindgen]
pub fn scenario_from_json(text: &str) -> Result<JsPatch, JsCallErrors> {
    Ok(object(&scenario_of_text(text)?.patch()).unchecked_into())
}

/// Colours by role.
#[wasm_bindgen]
pub fn palette(dark: bool) -> JsPalette {
    let colours: std::collections::BTreeMap<_, _> =
        servescope_charts::palette(dark).iter().copied().collect();
    object(&colours).unchecked_into()
}

/// A seed that was hardly used before, small enough to read out.
#[wasm_bindgen]
pub fn random_seed() -> f64 {
    getrandom::u64().map_or(0.0, |bits| (bits % 1_000_000) as f64)
}

/// The scenario of a file's text. The browser parses it: its parser is there already, and reads numbers exactly.
fn scenario_of_text(text: &str) -> Result<Scenario, JsCallErrors> {
    match js_sys::JSON::parse(text) {
        Ok(value) => {
            let json = serde_wasm_bindgen::from_value(value)
                .map_err(|error| to_js_error(vec![Diagnostic::error("bad_json", "", error.to_string())]))?;
            let (scenario, errors) = Scenario::from_json(&json);
            let errors = objections(repeated_keys(text), errors);
            if errors.is_empty() { Ok(scenario) } else { Err(to_js_error(errors)) }
        }
        Err(error) => {
            let reason =
                error.dyn_ref::<js_sys::Error>().map_or(String::new(), |e| String::from(e.message()));
            Err(to_js_error(vec![
                Diagnostic::error("bad_json", "", format!("no JSON: {reason}")).text("reason", &reason),
            ]))
        }
    }
}
