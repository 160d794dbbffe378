//! Sizes: what the caller asks for, and where the plot then lies on the canvas.

use serde::Serialize;

use crate::DrawError;

/// Distances in CSS px from the edges of the canvas to the plot. The left one is the same for every chart, so that the
/// clocks of charts above each other align.
const LEFT: f64 = 52.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 8.0;
const BOTTOM: f64 = 24.0;

/// Beyond this many device pixels a side browsers refuse a canvas.
const LONGEST_SIDE: f64 = 16_384.0;

/// Theme and size of a drawing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Style {
    /// Light lines on dark paper.
    pub dark: bool,
    /// Width in CSS px.
    pub width: f64,
    /// Height in CSS px.
    pub height: f64,
    /// Device pixels in a CSS px; every length of the drawing is multiplied by it.
    pub dpr: f64,
    /// How axes of time name their units.
    pub clock: Clock,
}

/// How an axis of time names its units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Clock {
    /// s, min, h, d.
    #[default]
    Symbols,
    /// Chinese words.
    Chinese,
}

impl Clock {
    /// Chinese words, or symbols.
    pub fn of(chinese: bool) -> Self {
        if chinese { Self::Chinese } else { Self::Symbols }
    }

    /// A label that ends with the symbol of a unit, as this clock writes it.
    pub(crate) fn label(self, label: String) -> String {
        const WORDS: [(&str, &str); 4] = [(" s", " 秒"), (" min", " 分"), (" h", " 小时"), (" d", " 天")];
        if self == Self::Symbols {
            return label;
        }
        let word =
            |(symbol, word): (&str, &str)| label.strip_suffix(symbol).map(|number| format!("{number}{word}"));
        WORDS.into_iter().find_map(word).unwrap_or(label)
    }
}

/// Where a chart's data lies on its canvas, in CSS px and data units: hover is arithmetic on this. `x_min` lies at
/// `left`, `y_min` at `bottom`; between them values are spaced by the axis' scale. The ranges are those that were drawn,
/// which differ from the asked ones where these were empty or not drawable.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct PlotFrame {
    /// Left edge of the plot.
    pub left: f64,
    /// Upper edge of the plot.
    pub top: f64,
    /// Right edge of the plot.
    pub right: f64,
    /// Lower edge of the plot.
    pub bottom: f64,
    /// Value at the left edge.
    pub x_min: f64,
    /// Value at the right edge.
    pub x_max: f64,
    /// Value at the lower edge.
    pub y_min: f64,
    /// Value at the upper edge.
    pub y_max: f64,
}

/// A rectangle of whole device pixels; `right` and `bottom` are the first pixels outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rect {
    pub(crate) left: i32,
    pub(crate) top: i32,
    pub(crate) right: i32,
    pub(crate) bottom: i32,
}

impl Style {
    /// The whole canvas and the plot on it, in device pixels.
    pub(crate) fn layout(&self) -> Result<(Rect, Rect), DrawError> {
        let whole = |css: f64| (css * self.dpr).round() as i32;
        let drawable = self.dpr > 0.0
            && self.width - LEFT - RIGHT >= 16.0
            && self.height - TOP - BOTTOM >= 16.0
            && self.width * self.dpr <= LONGEST_SIDE
            && self.height * self.dpr <= LONGEST_SIDE
            && whole(16.0) >= 1;
        if !drawable {
            let Self { width, height, dpr, .. } = *self;
            return Err(DrawError::Size { width, height, dpr });
        }
        let canvas = Rect { left: 0, top: 0, right: whole(self.width), bottom: whole(self.height) };
        let plot = Rect {
            left: whole(LEFT),
            top: whole(TOP),
            right: canvas.right - whole(RIGHT),
            bottom: canvas.bottom - whole(BOTTOM),
        };
        Ok((canvas, plot))
    }
}

impl Rect {
    pub(crate) fn width(self) -> i32 {
        self.right - self.left
    }

    pub(crate) fn height(self) -> i32 {
        self.bottom - self.top
    }

    pub(crate) fn holds(self, (x, y): (f64, f64)) -> bool {
        x >= f64::from(self.left)
            && x <= f64::from(self.right)
            && y >= f64::from(self.top)
            && y <= f64::from(self.bottom)
    }

    /// The part of the segment inside, or nothing (Liang and Barsky).
    pub(crate) fn segment(self, from: (f64, f64), to: (f64, f64)) -> Option<((f64, f64), (f64, f64))> {
        if self.holds(from) && self.holds(to) {
            return Some((from, to));
        }
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let (mut enter, mut leave) = (0.0_f64, 1.0_f64);
        for (run, room) in [
            (-dx, from.0 - f64::from(self.left)),
            (dx, f64::from(self.right) - from.0),
            (-dy, from.1 - f64::from(self.top)),
            (dy, f64::from(self.bottom) - from.1),
        ] {
            if run == 0.0 {
                if room < 0.0 {
                    return None;
                }
            } else if run < 0.0 {
                enter = enter.max(room / run);
            } else {
                leave = leave.min(room / run);
            }
        }
        let at = |part: f64| (from.0 + part * dx, from.1 + part * dy);
        (enter <= leave)
            .then(|| (if enter > 0.0 { at(enter) } else { from }, if leave < 1.0 { at(leave) } else { to }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chinese_clock_has_words_for_its_units() {
        let label = |of: &str| Clock::of(true).label(of.to_owned());
        assert_eq!(
            ["0", "2.5 s", "30 min", "4 h", "5 d"].map(label),
            ["0", "2.5 秒", "30 分", "4 小时", "5 天"]
        );
        assert_eq!(Clock::of(false).label("30 min".to_owned()), "30 min");
    }

    const RECT: Rect = Rect { left: 0, top: 0, right: 10, bottom: 10 };

    #[test]
    fn segments_are_cut_at_the_border() {
        let cut = |from, to| RECT.segment(from, to);
        assert_eq!(cut((1.0, 1.0), (9.0, 2.0)), Some(((1.0, 1.0), (9.0, 2.0))));
        assert_eq!(cut((5.0, -5.0), (5.0, 25.0)), Some(((5.0, 0.0), (5.0, 10.0))));
        assert_eq!(cut((-10.0, 0.0), (10.0, 10.0)), Some(((0.0, 5.0), (10.0, 10.0))));
        assert_eq!(cut((-5.0, 3.0), (-1.0, 9.0)), None);
        assert_eq!(cut((-5.0, 4.0), (4.0, -5.0)), None);
    }

    #[test]
    fn the_plot_scales_with_the_device() -> Result<(), DrawError> {
        let style = Style { dark: false, width: 340.0, height: 150.0, dpr: 1.0, clock: Clock::Symbols };
        let (canvas, plot) = style.layout()?;
        assert_eq!(canvas, Rect { left: 0, top: 0, right: 340, bottom: 150 });
        assert_eq!(plot, Rect { left: 52, top: 8, right: 324, bottom: 126 });
        let (canvas, plot) = Style { dpr: 2.5, ..style }.layout()?;
        assert_eq!((canvas.right, canvas.bottom), (850, 375));
        assert_eq!((plot.left, plot.width(), plot.height()), (130, 680, 295));
        Ok(())
    }

    #[test]
    fn sizes_without_room_are_refused() {
        let style = Style { dark: false, width: 340.0, height: 150.0, dpr: 1.0, clock: Clock::Symbols };
        for wrong in [
            Style { width: 0.0, ..style },
            Style { height: 20.0, ..style },
            Style { dpr: 0.0, ..style },
            Style { width: f64::NAN, ..style },
            Style { dpr: f64::INFINITY, ..style },
            Style { width: 9000.0, dpr: 3.0, ..style },
        ] {
            assert!(matches!(wrong.layout(), Err(DrawError::Size { .. })), "{wrong:?}");
        }
    }
}
