//! Charts of a simulated service: one drawing code for the page's canvas and the terminal's SVG.
//!
//! [`draw`] works on any plotters [`DrawingBackend`](plotters::backend::DrawingBackend) and uses its
//! primitives (paths, polygons, rectangles, text) directly. The layers above them are left out on purpose:
//! plotters' drawing areas pull points outside the range onto the border, which bends lines, and its
//! captions, legends and right-hand axes measure text in the document, which costs more than the whole
//! chart. Titles, units and legends belong to the page; what is written here is tick labels only.

mod draw;
mod error;
mod frame;
mod label;
mod look;
mod marks;
mod palette;
mod path;
mod pen;
mod scale;
mod solid;
mod svg;
mod ticks;

pub use draw::draw;
pub use error::DrawError;
pub use frame::{Clock, PlotFrame, Style};
pub use palette::palette;
pub use servescope_chart::{Axis, AxisKind, Chart, Mark, Marker, Role, ScaleKind, Series, UnknownName};
pub use svg::svg;
