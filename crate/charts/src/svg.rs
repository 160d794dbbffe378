//! A chart as an SVG document.

use plotters::backend::SVGBackend;

use crate::draw::draw_scaled;
use crate::{Chart, DrawError, Style};

/// Units of the drawing in a CSS px: plotters' coordinates are whole numbers, and a document has no pixels.
const UNITS: f64 = 4.0;
/// plotters' SVG divides font sizes by this.
const FONT_SCALE: f64 = 1.24;

/// The chart as a document of `style.width` by `style.height`; `style.dpr` has no meaning here.
///
/// # Errors
/// [`DrawError::Size`] for a size without room.
pub fn svg(chart: &Chart, ghost: Option<&Chart>, style: &Style) -> Result<String, DrawError> {
    let style = Style { dpr: UNITS, ..*style };
    let (canvas, _) = style.layout()?;
    let (right, bottom) = (canvas.right, canvas.bottom);
    let mut text = String::new();
    let backend = SVGBackend::with_string(&mut text, (right.unsigned_abs(), bottom.unsigned_abs()));
    draw_scaled(backend, chart, ghost, &style, FONT_SCALE)?;
    // plotters' own head takes a unit for a pixel.
    let body = text.split_once('>').map_or("", |(_, body)| body);
    let (width, height) = (f64::from(right) / UNITS, f64::from(bottom) / UNITS);
    Ok(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {right} {bottom}\" stroke-linejoin=\"round\">{body}"
    ))
}
