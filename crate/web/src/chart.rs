//! Charts on a canvas of the page, and as SVG for download.

use js_sys::Float64Array;
use plotters_canvas::CanvasBackend;
use servescope_charts::{Axis, AxisKind, Chart, DrawError, Mark, Role, ScaleKind, Series, Style};
use servescope_lab::Failure;
use wasm_bindgen::prelude::*;
use web_sys::{CanvasRenderingContext2d, HtmlCanvasElement};

use crate::convert::{object, thrown};
use crate::types::{JsAxis, JsChart, JsFailure, JsMaybeChart, JsPlotFrame, JsSeries};

/// plotters counts in whole pixels; it draws on a grid this much finer, so that curves do not step.
const FINER: f64 = 2.0;

/// A canvas that draws charts.
#[wasm_bindgen]
#[derive(Debug)]
pub struct ChartSurface {
    canvas: HtmlCanvasElement,
}

#[wasm_bindgen]
impl ChartSurface {
    /// A surface over a canvas of the page.
    #[wasm_bindgen(constructor)]
    pub fn new(canvas: HtmlCanvasElement) -> Self {
        Self { canvas }
    }

    /// Draws `chart`, with `ghost` faintly behind it. Sizes are CSS pixels; the canvas gets device pixels.
    ///
    /// # Errors
    /// A chart of unknown marks or roles, or a size too small to draw in.
    pub fn draw(
        &self,
        chart: &JsChart,
        ghost: &JsMaybeChart,
        dark: bool,
        width: f64,
        height: f64,
        dpr: f64,
    ) -> Result<JsPlotFrame, JsFailure> {
        let (chart, ghost) = (read(chart)?, read_maybe(ghost)?);
        let pixels = |css: f64| (css * dpr).round().max(1.0) as u32;
        // Setting a canvas's size clears it, even to the size it has.
        if self.canvas.width() != pixels(width) || self.canvas.height() != pixels(height) {
            self.canvas.set_width(pixels(width));
            self.canvas.set_height(pixels(height));
        }
        let context = self.canvas.get_context("2d").ok().flatten();
        let context = context.and_then(|c| c.dyn_into::<CanvasRenderingContext2d>().ok());
        let Some(context) = context else { return Err(refused("the canvas has no 2d context")) };
        let _ = context.set_transform(1.0 / FINER, 0.0, 0.0, 1.0 / FINER, 0.0, 0.0);
        context.set_line_join("round");
        let Some(backend) = CanvasBackend::with_canvas_object(self.canvas.clone()) else {
            return Err(refused("the canvas has no 2d context"));
        };
        let style = Style { dark, width, height, dpr: dpr * FINER };
        let frame = servescope_charts::draw(backend, &chart, ghost.as_ref(), &style).map_err(not_drawn)?;
        let frame = serde_json::json!({
            "left": frame.left,
            "top": frame.top,
            "right": frame.right,
            "bottom": frame.bottom,
            "x_min": frame.x_min,
            "x_max": frame.x_max,
            "y_min": frame.y_min,
            "y_max": frame.y_max,
        });
        Ok(object(&frame).unchecked_into())
    }
}

/// A chart as the text of an SVG file.
///
/// # Errors
/// A chart of unknown marks or roles, or a size too small to draw in.
#[wasm_bindgen]
pub fn chart_svg(
    chart: &JsChart,
    ghost: &JsMaybeChart,
    dark: bool,
    width: f64,
    height: f64,
) -> Result<String, JsFailure> {
    let (chart, ghost) = (read(chart)?, read_maybe(ghost)?);
    let style = Style { dark, width, height, dpr: 1.0 };
    servescope_charts::svg(&chart, ghost.as_ref(), &style).map_err(not_drawn)
}

fn read_maybe(chart: &JsMaybeChart) -> Result<Option<Chart>, JsFailure> {
    let value: &JsValue = chart.as_ref();
    if value.is_null() || value.is_undefined() { Ok(None) } else { read(value.unchecked_ref()).map(Some) }
}

fn read(chart: &JsChart) -> Result<Chart, JsFailure> {
    let axis = |axis: &JsAxis| {
        Ok(Axis {
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
        })
    };
    let build = || {
        Ok(Chart {
            x: axis(&chart.x())?,
            y: axis(&chart.y())?,
            series: chart.series().iter().map(series).collect::<Result<_, DrawError>>()?,
            categories: chart.categories().iter().filter_map(|name| name.as_string()).collect(),
        })
    };
    build().map_err(not_drawn)
}

fn refused(message: &str) -> JsFailure {
    thrown(vec![Failure::new("bad_json", "chart", message.to_owned())])
}

fn not_drawn(error: DrawError) -> JsFailure {
    refused(&error.to_string())
}
