//! Where the better of two settings changes: what is to be simulated next, and what was found. The page simulates the runs in
//! threads of the other module.

use serde::Deserialize;
use serde_json::{Map, Value as Json, json};
use servescope_boundary::convert::{charts, object, to_js_error};
use servescope_boundary::types::{JsFailure, JsTurnKnown, JsTurnSpec, JsTurnStep};
use servescope_lab::compare::interval::Paired;
use servescope_lab::link;
use servescope_lab::metric::Metric;
use servescope_lab::replications::seeds;
use servescope_lab::sweep::Range;
use servescope_lab::turn::turns;
use servescope_lab::views::turn::turn_curves;
use servescope_lab::{Failure, Scenario};
use wasm_bindgen::prelude::*;

/// What is sought, as the page says it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Spec {
    a: Json,
    b: Json,
    /// PATH=FROM:TO, or PATH=FROM:TO:log.
    over: String,
    metric: String,
    seeds: usize,
}

/// What the runs at a value showed, by seed.
#[derive(Deserialize)]
struct Known {
    value: f64,
    a: Vec<Option<f64>>,
    b: Vec<Option<f64>>,
}

impl Known {
    fn paired(&self) -> Option<Paired> {
        let pairs: Vec<(f64, f64)> =
            self.a.iter().zip(&self.b).filter_map(|(a, b)| Some(((*a)?, (*b)?))).collect();
        Paired::of(&pairs)
    }
}

fn read<T: for<'de> Deserialize<'de>>(value: JsValue) -> Result<T, JsFailure> {
    let bad = |error: serde_wasm_bindgen::Error| Failure::new("bad_json", "turn", error.to_string());
    serde_wasm_bindgen::from_value(value).map_err(|error| to_js_error(vec![bad(error)]))
}

fn side(settings: &Json) -> Result<Scenario, JsFailure> {
    match Scenario::from_json(settings) {
        (scenario, failures) if failures.is_empty() => Ok(scenario),
        (_, failures) => Err(to_js_error(failures)),
    }
}

/// The next step of a search for the turns: the values at which both settings are to be simulated, or, where all that
/// it needs is known, what was found with its chart and the terminal's command.
///
/// # Errors
/// What is wrong with the settings, the range, the metric or the number of seeds.
#[wasm_bindgen]
pub fn turn_step(spec: &JsTurnSpec, known: &JsTurnKnown) -> Result<JsTurnStep, JsFailure> {
    let one = |failure: Failure| to_js_error(vec![failure]);
    let spec: Spec = read(spec.into())?;
    let known: Vec<Known> = read(known.into())?;
    let (a, b) = (side(&spec.a)?, side(&spec.b)?);
    let range = Range::parse(&spec.over).map_err(one)?;
    let metric = Metric::parse(&spec.metric).map_err(one)?;
    let all_seeds = seeds(&a, spec.seeds).map_err(one)?;
    if all_seeds.len() < 2 {
        return Err(one(Failure::out_of_range("seeds", all_seeds.len() as f64, 2.0, f64::INFINITY)));
    }
    let found = turns(range, &metric, all_seeds.len(), |values: &[f64]| {
        let of = |value: f64| known.iter().find(|known| known.value == value).map(Known::paired);
        let missing: Vec<f64> = values.iter().copied().filter(|&value| of(value).is_none()).collect();
        if missing.is_empty() {
            Ok(values.iter().filter_map(|&value| of(value)).collect())
        } else {
            Err(missing)
        }
    });
    let reply = match &found {
        Err(missing) => {
            let needs = missing.iter().map(|&value| {
                let of = |side: &Scenario| {
                    let mut scenario = side.clone();
                    range.set(&mut scenario, value);
                    patch(&scenario)
                };
                json!({ "value": value, "a": of(&a), "b": of(&b) })
            });
            json!({ "seeds": all_seeds, "needs": needs.collect::<Vec<_>>() })
        }
        Ok(found) => json!({
            "seeds": all_seeds, "needs": [], "found": found.to_json(), "command": command(&spec, &a, &b),
        }),
    };
    let reply = object(&reply);
    let drawn: Vec<_> = found.iter().map(turn_curves).collect();
    let _ = js_sys::Reflect::set(&reply, &"charts".into(), &charts(&drawn));
    Ok(reply.unchecked_into())
}

fn patch(scenario: &Scenario) -> Map<String, Json> {
    scenario.changed().map(|(id, value)| (id.row().id.to_owned(), value.to_json())).collect()
}

/// The terminal's command that finds the same.
fn command(spec: &Spec, a: &Scenario, b: &Scenario) -> String {
    let address = |scenario: &Scenario| link::quoted(&format!("#{}", link::encode(scenario)));
    format!(
        "servescope compare {} {} --turn {} --metric {} --seeds {}",
        address(a),
        address(b),
        link::quoted(&spec.over),
        spec.metric,
        spec.seeds
    )
}
