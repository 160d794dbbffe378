//! A canvas of the page as plotters draws on it: plotters-canvas, and by hand what charts have most of. That crate says
//! colour and font again with every label and every rectangle, as texts for the browser to read; here they are said when
//! they change.

use plotters_backend::text_anchor::{HPos, VPos};
use plotters_backend::{
    BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind,
};
use plotters_canvas::CanvasBackend;
use web_sys::{CanvasRenderingContext2d, HtmlCanvasElement};

type Refused = DrawingErrorKind<<CanvasBackend as DrawingBackend>::ErrorType>;

/// Corners of a long line that are stroked together. A browser without a GPU takes two to three times as long for the
/// outline of a noisy line as for that of its pieces.
const PIECE: usize = 12;

/// A canvas with its context.
pub(crate) struct Canvas {
    shapes: CanvasBackend,
    context: CanvasRenderingContext2d,
    /// What the context was set to last, by this.
    fill: Option<BackendColor>,
    font: Option<(f64, String)>,
    anchor: Option<(&'static str, &'static str)>,
}

impl Canvas {
    /// None where the canvas has another context than this.
    pub(crate) fn new(canvas: &HtmlCanvasElement, context: CanvasRenderingContext2d) -> Option<Self> {
        let shapes = CanvasBackend::with_canvas_object(canvas.clone())?;
        Some(Self { shapes, context, fill: None, font: None, anchor: None })
    }

    fn fill_with(&mut self, colour: BackendColor) {
        let is_same = |known: BackendColor| known.rgb == colour.rgb && known.alpha == colour.alpha;
        if !self.fill.is_some_and(is_same) {
            let (r, g, b) = colour.rgb;
            self.context.set_fill_style_str(&format!("rgba({r},{g},{b},{})", colour.alpha));
            self.fill = Some(colour);
        }
    }
}

impl DrawingBackend for Canvas {
    type ErrorType = <CanvasBackend as DrawingBackend>::ErrorType;

    fn get_size(&self) -> (u32, u32) {
        self.shapes.get_size()
    }

    fn ensure_prepared(&mut self) -> Result<(), Refused> {
        self.shapes.ensure_prepared()
    }

    fn present(&mut self) -> Result<(), Refused> {
        self.shapes.present()
    }

    fn draw_pixel(&mut self, at: BackendCoord, colour: BackendColor) -> Result<(), Refused> {
        self.fill = None;
        self.shapes.draw_pixel(at, colour)
    }

    fn draw_line<S: BackendStyle>(
        &mut self,
        from: BackendCoord,
        to: BackendCoord,
        style: &S,
    ) -> Result<(), Refused> {
        self.shapes.draw_line(from, to, style)
    }

    fn draw_rect<S: BackendStyle>(
        &mut self,
        upper_left: BackendCoord,
        bottom_right: BackendCoord,
        style: &S,
        fill: bool,
    ) -> Result<(), Refused> {
        if !fill {
            return self.shapes.draw_rect(upper_left, bottom_right, style, fill);
        }
        self.fill_with(style.color());
        let (left, top) = (f64::from(upper_left.0), f64::from(upper_left.1));
        let (right, bottom) = (f64::from(bottom_right.0), f64::from(bottom_right.1));
        self.context.fill_rect(left, top, right - left, bottom - top);
        Ok(())
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        path: I,
        style: &S,
    ) -> Result<(), Refused> {
        let points: Vec<BackendCoord> = path.into_iter().collect();
        // Pieces of what is seen through would be darker where they overlap.
        let is_whole = style.color().alpha < 1.0 || points.len() <= PIECE;
        let first = if is_whole { points.len() } else { PIECE };
        self.shapes.draw_path(points[..first].iter().copied(), style)?;
        for next in (first..points.len()).step_by(PIECE) {
            self.context.begin_path();
            // From one segment before, so that the pieces are joined as the segments of one are.
            for &(x, y) in &points[next - 2..points.len().min(next + PIECE)] {
                self.context.line_to(f64::from(x), f64::from(y));
            }
            self.context.stroke();
        }
        Ok(())
    }

    fn draw_circle<S: BackendStyle>(
        &mut self,
        center: BackendCoord,
        radius: u32,
        style: &S,
        fill: bool,
    ) -> Result<(), Refused> {
        self.fill = None;
        self.shapes.draw_circle(center, radius, style, fill)
    }

    fn fill_polygon<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        outline: I,
        style: &S,
    ) -> Result<(), Refused> {
        self.fill = None;
        self.shapes.fill_polygon(outline, style)
    }

    /// Labels stand upright.
    fn draw_text<S: BackendTextStyle>(
        &mut self,
        text: &str,
        style: &S,
        at: BackendCoord,
    ) -> Result<(), Refused> {
        self.fill_with(style.color());
        let (size, family) = (style.size(), style.family());
        if !self.font.as_ref().is_some_and(|known| known.0 == size && known.1 == family.as_str()) {
            self.context.set_font(&format!("{size}px {}", family.as_str()));
            self.font = Some((size, family.as_str().to_owned()));
        }
        let across = match style.anchor().h_pos {
            HPos::Left => "start",
            HPos::Right => "end",
            HPos::Center => "center",
        };
        let along = match style.anchor().v_pos {
            VPos::Top => "top",
            VPos::Center => "middle",
            VPos::Bottom => "bottom",
        };
        if self.anchor != Some((across, along)) {
            self.context.set_text_align(across);
            self.context.set_text_baseline(along);
            self.anchor = Some((across, along));
        }
        // A place that is a number is no error of a canvas.
        let _ = self.context.fill_text(text, f64::from(at.0), f64::from(at.1));
        Ok(())
    }
}
