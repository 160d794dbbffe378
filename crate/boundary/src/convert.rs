//! Between JavaScript's values and ours.

use js_sys::{Array, Float64Array, Object, Reflect};
use serde::Serialize;
use serde_json::Value as Json;
use servescope_output::replies::CallErrors;
use servescope_output::views::{Chart, Series};
use servescope_settings::diagnostic::Diagnostic;
use servescope_settings::scenario::Scenario;
use wasm_bindgen::prelude::*;

use crate::types::{JsCallErrors, JsPatch};

/// A serialised value as a plain object.
pub fn object(value: &impl Serialize) -> JsValue {
    value
        .serialize(&serde_wasm_bindgen::Serializer::json_compatible())
        .unwrap_or_else(|error| JsValue::from_str(&error.to_string()))
}

/// A reply as a plain object, with the charts of its fields, which serde leaves out.
pub fn with_charts<const N: usize>(reply: &impl Serialize, fields: [(&str, &[Chart]); N]) -> JsValue {
    let target = object(reply);
    for (key, charts) in fields {
        set(target.unchecked_ref(), key, &self::charts(charts));
    }
    target
}

/// Errors as they are thrown.
pub fn to_js_error(errors: Vec<Diagnostic>) -> JsCallErrors {
    object(&CallErrors { errors }).unchecked_into()
}

/// The scenario with what is good of a patch, and what is not.
pub fn read_scenario(patch: &JsPatch) -> (Scenario, Vec<Diagnostic>) {
    match serde_wasm_bindgen::from_value::<Json>(patch.into()) {
        Ok(json) => Scenario::from_values(&json),
        Err(error) => (Scenario::default(), vec![Diagnostic::error("bad_json", "", error.to_string())]),
    }
}

/// The scenario of a patch.
///
/// # Errors
/// What is wrong with it, as it is thrown.
pub fn scenario_of(patch: &JsPatch) -> Result<Scenario, JsCallErrors> {
    match read_scenario(patch) {
        (scenario, errors) if errors.is_empty() => Ok(scenario),
        (_, errors) => Err(to_js_error(errors)),
    }
}

fn set(target: &Object, key: &str, value: &JsValue) {
    // Setting a property of a fresh plain object cannot fail.
    let _ = Reflect::set(target, &key.into(), value);
}

/// Charts as the page's `ChartData`, every column a part of one typed array: a hundred arrays of their own take longer to make and to
/// hand over than what they hold.
pub fn charts(charts: &[Chart]) -> Array {
    let mut numbers = Vec::new();
    for series in charts.iter().flat_map(|chart| &chart.series) {
        columns_of(series).iter().for_each(|(_, column)| numbers.extend_from_slice(column));
    }
    let all = Float64Array::from(numbers.as_slice());
    let mut taken = 0;
    let empty = all.subarray(0, 0);
    let mut part = |length: usize| {
        let from = taken;
        taken += length as u32;
        if length == 0 { empty.clone() } else { all.subarray(from, taken) }
    };
    charts.iter().map(|one| JsValue::from(chart(one, &mut part))).collect()
}

fn columns_of(series: &Series) -> [(&'static str, &Vec<f64>); 5] {
    let Series { x, y, y0, x2, id, .. } = series;
    [("x", x), ("y", y), ("y0", y0), ("x2", x2), ("id", id)]
}

/// `part` is called for each column in turn, with its length.
fn chart(one: &Chart, part: &mut impl FnMut(usize) -> Float64Array) -> Object {
    let target = Object::new();
    set(&target, "name", &one.name.into());
    set(&target, "x", &object(&one.x));
    set(&target, "y", &object(&one.y));
    set(&target, "empty", &one.empty.into());
    set(&target, "categories", &one.categories.iter().map(JsValue::from).collect::<Array>());
    let series: Array = one
        .series
        .iter()
        .map(|series| {
            let target = Object::new();
            set(&target, "role", &series.role.name().into());
            set(&target, "mark", &series.mark.name().into());
            set(&target, "label", &series.label.as_str().into());
            for (key, column) in columns_of(series) {
                set(&target, key, &part(column.len()));
            }
            JsValue::from(target)
        })
        .collect();
    set(&target, "series", &series);
    target
}
