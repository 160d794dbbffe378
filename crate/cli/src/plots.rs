//! Charts as SVG documents with a title, names of the axes and a legend, which the page sets in HTML.

use std::fmt::Write as _;

use servescope_charts::{Chart, Clock, DrawError, Mark, Role, Series, Style, palette, svg};

/// Size of the chart itself, CSS px.
const SIZE: (f64, f64) = (720.0, 320.0);
/// Heights of the title, of a row of the legend and of the name of the horizontal axis.
const TITLE: f64 = 26.0;
const ROW: f64 = 20.0;
/// Entries in a row of the legend.
const PER_ROW: usize = 3;

/// A chart with its words.
pub(crate) struct TitledChart {
    /// Above it.
    pub(crate) title: String,
    /// The horizontal axis.
    pub(crate) x: String,
    /// The vertical axis.
    pub(crate) y: String,
    /// The chart.
    pub(crate) chart: Chart,
    /// What each role is.
    pub(crate) legend: Vec<(Role, String)>,
}

/// A series of a chart.
pub(crate) fn series(role: Role, mark: Mark, x: Vec<f64>, y: Vec<f64>) -> Series {
    Series { role, mark, x, y, ..Series::default() }
}

/// The text as it stands in XML.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The head of a document of this size with its title.
pub(crate) fn head(width: f64, height: f64, title: &str) -> String {
    let title = escaped(title);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" font-family=\"sans-serif\" font-size=\"13\">\n<title>{title}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n<text x=\"10\" y=\"18\" font-weight=\"bold\">{title}</text>\n"
    )
}

impl TitledChart {
    /// The document.
    ///
    /// # Errors
    /// [`DrawError`] of the chart.
    pub(crate) fn svg(&self) -> Result<String, DrawError> {
        let rows = self.legend.len().div_ceil(PER_ROW) as f64;
        let top = TITLE + ROW + rows * ROW;
        let mut text = head(SIZE.0, top + SIZE.1 + ROW + 8.0, &self.title);
        let _ = writeln!(
            text,
            "<text x=\"10\" y=\"{}\" fill=\"#5b6470\">{}</text>",
            TITLE + 12.0,
            escaped(&self.y)
        );
        for (place, (role, name)) in self.legend.iter().enumerate() {
            let x = 10.0 + (place % PER_ROW) as f64 * SIZE.0 / PER_ROW as f64;
            let y = TITLE + ROW + (place / PER_ROW) as f64 * ROW + 8.0;
            let dash = role.dash().iter().map(u8::to_string).collect::<Vec<_>>().join(" ");
            let colour =
                palette(false).iter().find(|(name, _)| *name == role.name()).map_or("#000", |(_, hex)| hex);
            let _ = writeln!(
                text,
                "<line x1=\"{x}\" x2=\"{}\" y1=\"{y}\" y2=\"{y}\" stroke=\"{colour}\" stroke-width=\"3\" stroke-dasharray=\"{dash}\"/><text x=\"{}\" y=\"{}\">{}</text>",
                x + 24.0,
                x + 30.0,
                y + 4.0,
                escaped(name)
            );
        }
        let style = Style { dark: false, width: SIZE.0, height: SIZE.1, dpr: 1.0, clock: Clock::Symbols };
        let _ = writeln!(text, "<g transform=\"translate(0 {top})\">{}</g>", svg(&self.chart, None, &style)?);
        let _ = writeln!(
            text,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\" fill=\"#5b6470\">{}</text>\n</svg>",
            SIZE.0 / 2.0,
            top + SIZE.1 + 16.0,
            escaped(&self.x)
        );
        Ok(text)
    }
}
