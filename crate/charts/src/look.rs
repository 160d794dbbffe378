//! Where series are drawn, and how they look there.

use plotters::style::{Color, RGBAColor};

use crate::frame::Rect;
use crate::palette::of_role;
use crate::scale::PixelScale;
use crate::{Mark, Role, Series};

/// Strokes in CSS px.
pub(crate) const STROKE: f64 = 1.5;
const FAINT_STROKE: f64 = 1.0;
/// How much of its colour a former result keeps.
const FAINT: f64 = 0.42;

/// How the bars of a chart lie to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stacking {
    /// There are none.
    None,
    /// One series of bars.
    Single,
    /// Several from the same ground.
    Overlapping,
    /// Several on top of each other.
    Stacked,
}

impl Stacking {
    pub(crate) fn of(series: &[Series]) -> Self {
        let bars = || series.iter().filter(|series| series.mark == Mark::Bars);
        if bars().any(|series| !series.y0.is_empty()) {
            return Self::Stacked;
        }
        match bars().count() {
            0 => Self::None,
            1 => Self::Single,
            _ => Self::Overlapping,
        }
    }
}

/// The plot's rectangle with its two scales.
pub(crate) struct Plot {
    pub(crate) rect: Rect,
    pub(crate) x: PixelScale,
    pub(crate) y: PixelScale,
}

/// How series look: in full, or faintly as the former result.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look {
    pub(crate) faint: bool,
    pub(crate) dark: bool,
    pub(crate) stacking: Stacking,
}

impl Look {
    pub(crate) fn colour(self, role: Role) -> RGBAColor {
        let colour = of_role(role, self.dark);
        if self.faint { colour.mix(FAINT) } else { colour.to_rgba() }
    }

    pub(crate) fn stroke(self) -> f64 {
        if self.faint { FAINT_STROKE } else { STROKE }
    }
}
