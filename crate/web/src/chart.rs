//! Charts on a canvas of the page.

use servescope_charts::{Clock, Style};
use wasm_bindgen::prelude::*;
use web_sys::{CanvasRenderingContext2d, HtmlCanvasElement};

use crate::canvas::Canvas;
use servescope_boundary::chart_from_js::{not_drawn, read, read_maybe, refused};
use servescope_boundary::convert::object;
use servescope_boundary::types::{JsCallErrors, JsChart, JsMaybeChart, JsPlotFrame};

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
    #[expect(
        clippy::too_many_arguments,
        reason = "plain values cross the boundary at once; an object is read field by field"
    )]
    pub fn draw(
        &self,
        chart: &JsChart,
        ghost: &JsMaybeChart,
        dark: bool,
        width: f64,
        height: f64,
        dpr: f64,
        chinese: bool,
    ) -> Result<JsPlotFrame, JsCallErrors> {
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
        let Some(backend) = Canvas::new(&self.canvas, context) else {
            return Err(refused("the canvas has no 2d context"));
        };
        let style = Style { dark, width, height, dpr: dpr * FINER, clock: Clock::of(chinese) };
        let frame = servescope_charts::draw(backend, &chart, ghost.as_ref(), &style).map_err(not_drawn)?;
        Ok(object(&frame).unchecked_into())
    }
}
