//! A plotters backend that keeps what it is asked to draw.

use plotters_backend::{
    BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind,
};

/// Something drawn: its colour, opacity, points, and what else there is to say.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Shape {
    pub(crate) kind: &'static str,
    pub(crate) colour: String,
    pub(crate) opacity: f64,
    pub(crate) points: Vec<BackendCoord>,
    /// Stroke width, radius or font size.
    pub(crate) size: f64,
    pub(crate) text: String,
}

/// Keeps shapes; `fails` refuses them instead.
pub(crate) struct Recorder<'a> {
    pub(crate) shapes: &'a mut Vec<Shape>,
    pub(crate) fails: bool,
}

type Answer = Result<(), DrawingErrorKind<std::fmt::Error>>;

impl Recorder<'_> {
    fn keep(
        &mut self,
        kind: &'static str,
        colour: BackendColor,
        points: Vec<BackendCoord>,
        size: f64,
    ) -> Answer {
        if self.fails {
            return Err(DrawingErrorKind::DrawingError(std::fmt::Error));
        }
        let (red, green, blue) = colour.rgb;
        let colour_text = format!("#{red:02x}{green:02x}{blue:02x}");
        let opacity = colour.alpha;
        self.shapes.push(Shape { kind, colour: colour_text, opacity, points, size, text: String::new() });
        Ok(())
    }
}

impl DrawingBackend for Recorder<'_> {
    type ErrorType = std::fmt::Error;

    fn get_size(&self) -> (u32, u32) {
        unreachable!("the style says the size")
    }

    fn ensure_prepared(&mut self) -> Answer {
        Ok(())
    }

    fn present(&mut self) -> Answer {
        Ok(())
    }

    fn draw_pixel(&mut self, point: BackendCoord, colour: BackendColor) -> Answer {
        self.keep("pixel", colour, vec![point], 1.0)
    }

    fn draw_rect<S: BackendStyle>(
        &mut self,
        a: BackendCoord,
        b: BackendCoord,
        style: &S,
        fill: bool,
    ) -> Answer {
        self.keep(if fill { "rect" } else { "frame" }, style.color(), vec![a, b], 0.0)
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        path: I,
        style: &S,
    ) -> Answer {
        self.keep("path", style.color(), path.into_iter().collect(), f64::from(style.stroke_width()))
    }

    fn fill_polygon<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        path: I,
        style: &S,
    ) -> Answer {
        self.keep("polygon", style.color(), path.into_iter().collect(), 0.0)
    }

    fn draw_circle<S: BackendStyle>(&mut self, at: BackendCoord, r: u32, style: &S, _: bool) -> Answer {
        self.keep("circle", style.color(), vec![at], f64::from(r))
    }

    fn draw_text<S: BackendTextStyle>(&mut self, text: &str, style: &S, at: BackendCoord) -> Answer {
        self.keep("text", style.color(), vec![at], style.size())?;
        if let Some(shape) = self.shapes.last_mut() {
            text.clone_into(&mut shape.text);
        }
        Ok(())
    }

    fn estimate_text_size<S: BackendTextStyle>(
        &self,
        _: &str,
        _: &S,
    ) -> Result<(u32, u32), DrawingErrorKind<std::fmt::Error>> {
        unreachable!("measuring text lays the page out anew")
    }
}
