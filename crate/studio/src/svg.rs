//! Charts as SVG for download. The drawing is generic over where it draws to, so a second target is a second copy of
//! it: it is in the module that the page fetches later.

use servescope_charts::{Clock, Style};
use wasm_bindgen::prelude::*;

use servescope_boundary::chart_from_js::{not_drawn, read, read_maybe};
use servescope_boundary::types::{JsCallErrors, JsChart, JsMaybeChart};

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
    chinese: bool,
) -> Result<String, JsCallErrors> {
    let (chart, ghost) = (read(chart)?, read_maybe(ghost)?);
    let style = Style { dark, width, height, dpr: 1.0, clock: Clock::of(chinese) };
    servescope_charts::svg(&chart, ghost.as_ref(), &style).map_err(not_drawn)
}
