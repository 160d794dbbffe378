//! Charts as they come back from the page to be drawn: without the names, units and ids that only the page reads.

use js_sys::Float64Array;
use servescope_charts::{Axis, AxisKind, Chart, DrawError, Mark, Role, ScaleKind, Series, UnknownName};
use servescope_settings::diagnostic::Diagnostic;
use wasm_bindgen::prelude::*;

use crate::convert::to_js_error;
use crate::types::{JsAxis, JsCallErrors, JsChart, JsCharts, JsMaybeChart, JsSeries};

/// A chart, or none.
///
/// # Errors
/// Marks or roles that are not known.
pub fn read_maybe(chart: &JsMaybeChart) -> Result<Option<Chart>, JsCallErrors> {
    let value: &JsValue = chart.as_ref();
    if value.is_null() || value.is_undefined() { Ok(None) } else { read(value.unchecked_ref()).map(Some) }
}

/// A chart of the page.
///
/// # Errors
/// Marks or roles that are not known.
pub fn read(chart: &JsChart) -> Result<Chart, JsCallErrors> {
    let axis = |axis: &JsAxis| -> Result<Axis, UnknownName> {
        Ok(Axis {
            unit: "",
            scale: ScaleKind::from_name(&axis.scale())?,
            kind: AxisKind::from_name(&axis.kind())?,
            min: axis.min(),
            max: axis.max(),
        })
    };
    let column = |array: &Float64Array| array.to_vec();
    let series = |value: JsValue| {
        let series: &JsSeries = value.unchecked_ref();
        Ok(Series {
            role: Role::from_name(&series.role())?,
            mark: Mark::from_name(&series.mark())?,
            x: column(&series.x()),
            y: column(&series.y()),
            y0: column(&series.y0()),
            x2: column(&series.x2()),
            id: Vec::new(),
            label: series.label(),
        })
    };
    let build = || {
        Ok(Chart {
            name: "",
            x: axis(&chart.x())?,
            y: axis(&chart.y())?,
            series: chart.series().iter().map(series).collect::<Result<_, UnknownName>>()?,
            empty: "",
            categories: chart.categories().iter().filter_map(|name| name.as_string()).collect(),
        })
    };
    build().map_err(|error: UnknownName| not_drawn(error.into()))
}

/// Charts of the page that have one of these names, with it.
///
/// # Errors
/// Marks or roles that are not known.
pub fn read_named(charts: &JsCharts, names: &[&'static str]) -> Result<Vec<Chart>, JsCallErrors> {
    let charts: &js_sys::Array = charts.unchecked_ref();
    let named = charts.iter().filter_map(|chart| {
        let own = js_sys::Reflect::get(&chart, &"name".into()).ok()?.as_string()?;
        let name = names.iter().find(|name| **name == own)?;
        let empty = js_sys::Reflect::get(&chart, &"empty".into()).ok()?.as_string()?;
        Some((*name, empty.is_empty(), chart))
    });
    let with_data = named.filter(|(_, has_data, _)| *has_data);
    with_data.map(|(name, _, chart)| Ok(Chart { name, ..read(chart.unchecked_ref())? })).collect()
}

/// That a chart could not be drawn, as it is thrown.
pub fn refused(message: &str) -> JsCallErrors {
    to_js_error(vec![Diagnostic::error("bad_json", "chart", message.to_owned())])
}

/// An error of drawing, as it is thrown.
pub fn not_drawn(error: DrawError) -> JsCallErrors {
    refused(&error.to_string())
}
