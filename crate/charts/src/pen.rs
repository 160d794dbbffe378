//! The few shapes that charts are made of, on any plotters backend.

use plotters::backend::DrawingBackend;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontDesc, FontFamily, FontStyle, RGBAColor, ShapeStyle, TextStyle};

use crate::frame::Rect;
use crate::path::Pixel;
use crate::{DrawError, Marker};

/// Size of the labels in CSS px, and their family.
pub(crate) const FONT: f64 = 11.0;
const FAMILY: FontFamily<'static> = FontFamily::Name("system-ui, sans-serif");

/// A backend with its units.
pub(crate) struct Pen<B> {
    backend: B,
    /// Device pixels in a CSS px.
    dpr: f64,
    /// What the backend makes of a font size, undone.
    font_scale: f64,
}

impl<B: DrawingBackend> Pen<B> {
    pub(crate) fn new(mut backend: B, dpr: f64, font_scale: f64) -> Result<Self, DrawError> {
        backend.ensure_prepared().map_err(refused)?;
        Ok(Self { backend, dpr, font_scale })
    }

    pub(crate) fn finish(mut self) -> Result<(), DrawError> {
        self.backend.present().map_err(refused)
    }

    /// A length in device pixels, one at least.
    pub(crate) fn length(&self, css: f64) -> i32 {
        ((css * self.dpr).round() as i32).max(1)
    }

    /// A filled rectangle; its right and lower edges are outside, as on a canvas.
    pub(crate) fn rect(&mut self, rect: Rect, colour: RGBAColor) -> Result<(), DrawError> {
        let style = ShapeStyle { color: colour, filled: true, stroke_width: 0 };
        self.backend
            .draw_rect((rect.left, rect.top), (rect.right, rect.bottom), &style, true)
            .map_err(refused)
    }

    /// A line, its width in CSS px; a run of one point is drawn as a dot.
    pub(crate) fn line(&mut self, run: &[Pixel], colour: RGBAColor, width: f64) -> Result<(), DrawError> {
        let stroke = self.length(width);
        if let &[(x, y)] = run {
            let (left, top) = (x - stroke / 2, y - stroke / 2);
            return self.rect(Rect { left, top, right: left + stroke, bottom: top + stroke }, colour);
        }
        let style = ShapeStyle { color: colour, filled: false, stroke_width: stroke.unsigned_abs() };
        self.backend.draw_path(run.iter().copied(), &style).map_err(refused)
    }

    /// A filled polygon.
    pub(crate) fn surface(&mut self, outline: Vec<Pixel>, colour: RGBAColor) -> Result<(), DrawError> {
        if outline.len() < 3 {
            return Ok(());
        }
        self.backend.fill_polygon(outline, &colour.filled()).map_err(refused)
    }

    /// A marker, `reach` CSS px from its middle to its edge.
    pub(crate) fn marker(
        &mut self,
        marker: Marker,
        (x, y): Pixel,
        reach: f64,
        colour: RGBAColor,
    ) -> Result<(), DrawError> {
        let r = self.length(reach);
        match marker {
            Marker::Plain | Marker::Circle => {
                self.backend.draw_circle((x, y), r.unsigned_abs(), &colour.filled(), true).map_err(refused)
            }
            Marker::Square => {
                self.rect(Rect { left: x - r, top: y - r, right: x + r, bottom: y + r }, colour)
            }
            Marker::Diamond => {
                let r = self.length(reach * 1.3);
                self.surface(vec![(x - r, y), (x, y - r), (x + r, y), (x, y + r)], colour)
            }
            Marker::Triangle => {
                let r = self.length(reach * 1.2);
                self.surface(vec![(x - r, y + r), (x, y - r), (x + r, y + r)], colour)
            }
            Marker::Cross => {
                self.line(&[(x - r, y - r), (x + r, y + r)], colour, 1.5)?;
                self.line(&[(x - r, y + r), (x + r, y - r)], colour, 1.5)
            }
        }
    }

    /// The style of the labels that are anchored so.
    pub(crate) fn label_style(&self, colour: RGBAColor, h_pos: HPos, v_pos: VPos) -> TextStyle<'static> {
        TextStyle {
            font: FontDesc::new(FAMILY, FONT * self.dpr * self.font_scale, FontStyle::Normal),
            color: colour.to_backend_color(),
            pos: Pos::new(h_pos, v_pos),
        }
    }

    pub(crate) fn text(&mut self, text: &str, style: &TextStyle<'_>, at: Pixel) -> Result<(), DrawError> {
        self.backend.draw_text(text, style, at).map_err(refused)
    }
}

fn refused(error: impl std::error::Error) -> DrawError {
    DrawError::Backend(error.to_string())
}
