//! Between JavaScript's values and ours.

use js_sys::{Array, Float64Array, Object, Reflect};
use serde::Serialize;
use serde_json::Value as Json;
use servescope_lab::views::View;
use servescope_lab::{Failure, Scenario};
use wasm_bindgen::prelude::*;

use crate::types::{JsFailure, JsPatch};

/// A serialised value as a plain object.
pub(crate) fn object(value: &impl Serialize) -> JsValue {
    value
        .serialize(&serde_wasm_bindgen::Serializer::json_compatible())
        .unwrap_or_else(|error| JsValue::from_str(&error.to_string()))
}

/// Failures as they are thrown.
pub(crate) fn thrown(failures: Vec<Failure>) -> JsFailure {
    object(&serde_json::json!({ "failures": failures })).unchecked_into()
}

/// The scenario with what is good of a patch, and what is not.
pub(crate) fn read_scenario(patch: &JsPatch) -> (Scenario, Vec<Failure>) {
    match serde_wasm_bindgen::from_value::<Json>(patch.into()) {
        Ok(json) => Scenario::from_json(&json),
        Err(error) => (Scenario::default(), vec![Failure::new("bad_json", "", error.to_string())]),
    }
}

/// The scenario of a patch, or what is thrown.
pub(crate) fn scenario_of(patch: &JsPatch) -> Result<Scenario, JsFailure> {
    match read_scenario(patch) {
        (scenario, failures) if failures.is_empty() => Ok(scenario),
        (_, failures) => Err(thrown(failures)),
    }
}

fn set(target: &Object, key: &str, value: &JsValue) {
    // Setting a property of a fresh plain object cannot fail.
    let _ = Reflect::set(target, &key.into(), value);
}

/// Views as `ChartData`, every column an owned typed array.
pub(crate) fn charts(views: &[View]) -> Array {
    views.iter().map(|view| JsValue::from(chart(view))).collect()
}

fn chart(view: &View) -> Object {
    let target = Object::new();
    set(&target, "name", &view.name.into());
    set(&target, "x", &object(&view.x));
    set(&target, "y", &object(&view.y));
    set(&target, "empty", &view.empty.into());
    set(&target, "categories", &view.categories.iter().map(JsValue::from).collect::<Array>());
    let series: Array = view
        .series
        .iter()
        .map(|series| {
            let target = Object::new();
            set(&target, "role", &series.role.into());
            set(&target, "mark", &series.mark.into());
            for (key, column) in [
                ("x", &series.x),
                ("y", &series.y),
                ("y0", &series.y0),
                ("x2", &series.x2),
                ("id", &series.id),
            ] {
                set(&target, key, &Float64Array::from(column.as_slice()));
            }
            JsValue::from(target)
        })
        .collect();
    set(&target, "series", &series);
    target
}
