//! Areas and bars.

use plotters::backend::DrawingBackend;
use plotters::style::{Color, RGBAColor};

use crate::frame::Rect;
use crate::look::{Look, Plot, Stacking};
use crate::palette::Ground;
use crate::path::{Polyline, polygon};
use crate::pen::Pen;
use crate::{DrawError, Series};

/// How much of the colour an area keeps below its edge, a band around its line, bars that overlap others, and the outline of
/// former bars.
pub(crate) const AREA: f64 = 0.24;
pub(crate) const BAND: f64 = 0.14;
const OVERLAPPING: f64 = 0.5;
const OUTLINE: f64 = 0.5;
/// Bars at least this wide (CSS px) are set apart by a hairline of paper.
const WIDE: f64 = 4.0;

/// Width in CSS px of a former stack beside its successor.
const STRIP: f64 = 4.0;

/// The surface of an area, whose edge is a line, or of a band, which keeps as much of its colour as `share`.
pub(crate) fn area<B: DrawingBackend>(
    pen: &mut Pen<B>,
    plot: &Plot,
    series: &Series,
    share: f64,
    look: Look,
) -> Result<(), DrawError> {
    let colour = look.colour(series.role).mix(share);
    let ground = plot.y.pixel(0.0);
    let mut upper: Vec<(f64, f64)> = Vec::with_capacity(2 * series.x.len());
    let mut lower: Vec<f64> = Vec::with_capacity(series.y0.len());
    for (index, (&x, &y)) in series.x.iter().zip(&series.y).enumerate() {
        let point = (plot.x.pixel(x), plot.y.pixel(y));
        let foot = series.y0.get(index).map_or(ground, |&y0| plot.y.pixel(y0));
        if point.0.is_finite() && point.1.is_finite() && foot.is_finite() {
            upper.push(point);
            lower.push(foot);
        } else {
            pen.surface(closed(&mut upper, &mut lower, plot.rect), colour)?;
        }
    }
    pen.surface(closed(&mut upper, &mut lower, plot.rect), colour)
}

/// The outline of a run of an area; leaves the run empty.
fn closed(upper: &mut Vec<(f64, f64)>, lower: &mut Vec<f64>, clip: Rect) -> Vec<(i32, i32)> {
    let count = upper.len();
    let mut outline = std::mem::take(upper);
    let level = lower.windows(2).all(|pair| pair[0] == pair[1]);
    for index in (0..count).rev() {
        if !level || index == 0 || index + 1 == count {
            outline.push((outline[index].0, lower[index]));
        }
    }
    lower.clear();
    polygon(outline, clip)
}

/// One bar in device pixels, cut at the plot's border; nothing where it is not a number or wholly outside.
fn bar(plot: &Plot, series: &Series, index: usize) -> Option<Rect> {
    let (x, y) = (series.x[index], series.y[index]);
    let x2 = series.x2.get(index).copied().unwrap_or(x);
    let y0 = series.y0.get(index).copied().unwrap_or(0.0);
    let corners = [plot.x.pixel(x), plot.x.pixel(x2), plot.y.pixel(y), plot.y.pixel(y0)];
    if corners.iter().any(|corner| corner.is_nan()) {
        return None;
    }
    let [x, x2, y, y0] = corners.map(|corner| corner.round() as i32);
    let within = |value: i32, low: i32, high: i32| value.clamp(low, high);
    let rect = plot.rect;
    let (left, right) = (x.min(x2), x.max(x2).max(x.min(x2) + 1));
    if right <= rect.left || left >= rect.right {
        return None;
    }
    Some(Rect {
        left: within(left, rect.left, rect.right),
        right: within(right, rect.left, rect.right),
        top: within(y.min(y0), rect.top, rect.bottom),
        bottom: within(y.max(y0), rect.top, rect.bottom),
    })
}

/// Bars: in full, or as what a former result leaves of them.
pub(crate) fn bars<B: DrawingBackend>(
    pen: &mut Pen<B>,
    plot: &Plot,
    series: &Series,
    look: Look,
) -> Result<(), DrawError> {
    let colour = look.colour(series.role);
    match (look.faint, look.stacking) {
        (false, Stacking::None | Stacking::Single | Stacking::Stacked) => filled(pen, plot, series, colour),
        (false, Stacking::Overlapping) => {
            filled(pen, plot, series, colour.mix(OVERLAPPING))?;
            skyline(pen, plot, series, colour)
        }
        (true, Stacking::None | Stacking::Single) => {
            skyline(pen, plot, series, Ground::Ink.colour(look.dark).mix(OUTLINE))
        }
        (true, Stacking::Overlapping) => skyline(pen, plot, series, colour),
        (true, Stacking::Stacked) => strips(pen, plot, series, colour),
    }
}

fn filled<B: DrawingBackend>(
    pen: &mut Pen<B>,
    plot: &Plot,
    series: &Series,
    colour: RGBAColor,
) -> Result<(), DrawError> {
    let (wide, hairline) = (pen.length(WIDE), pen.length(1.0));
    let mut pending: Option<Rect> = None;
    for index in 0..series.x.len().min(series.y.len()) {
        let Some(mut next) = bar(plot, series, index).filter(|next| next.height() > 0) else { continue };
        if next.width() >= wide {
            // Stacks and lanes have their own gaps.
            next.right -= if series.y0.is_empty() { hairline } else { 0 };
            // The parts of a stack are set apart too.
            if next.height() > 2 * hairline && series.y0.get(index).is_some_and(|&y0| y0 > 0.0) {
                next.bottom -= hairline;
            }
        }
        match &mut pending {
            // Bars narrower than a pixel fall on the same column: only the tallest can be seen.
            Some(last) if (last.left, last.right) == (next.left, next.right) && series.y0.is_empty() => {
                last.top = last.top.min(next.top);
                last.bottom = last.bottom.max(next.bottom);
            }
            _ => {
                if let Some(last) = pending.replace(next) {
                    pen.rect(last, colour)?;
                }
            }
        }
    }
    pending.map_or(Ok(()), |last| pen.rect(last, colour))
}

/// Narrow bars to the left of where the series' own would be: outlines of many parts would only hide the stack.
fn strips<B: DrawingBackend>(
    pen: &mut Pen<B>,
    plot: &Plot,
    series: &Series,
    colour: RGBAColor,
) -> Result<(), DrawError> {
    let (strip, hairline) = (pen.length(STRIP), pen.length(1.0));
    for index in 0..series.x.len().min(series.y.len()) {
        if let Some(next) = bar(plot, series, index) {
            let right = next.left - hairline;
            let left = (right - strip.min(next.width() / 4)).max(plot.rect.left);
            if left < right && next.height() > 0 {
                pen.rect(Rect { left, right, ..next }, colour)?;
            }
        }
    }
    Ok(())
}

/// The outline of all bars that touch.
fn skyline<B: DrawingBackend>(
    pen: &mut Pen<B>,
    plot: &Plot,
    series: &Series,
    colour: RGBAColor,
) -> Result<(), DrawError> {
    let count = series.x.len().min(series.y.len());
    let mut path = Polyline::new(plot.rect, 4 * count);
    let mut last: Option<Rect> = None;
    let corner = |x: i32, y: i32| (f64::from(x), f64::from(y));
    for index in 0..count {
        let next = bar(plot, series, index);
        if let Some(before) = last
            && next.is_none_or(|next| next.left != before.right)
        {
            path.to(corner(before.right, before.bottom));
            path.lift();
            last = None;
        }
        if let Some(Rect { left, top, right, bottom }) = next {
            if last.is_none() {
                path.to(corner(left, bottom));
            }
            path.to(corner(left, top));
            path.to(corner(right, top));
            last = next;
        }
    }
    if let Some(before) = last {
        path.to(corner(before.right, before.bottom));
    }
    for run in path.runs() {
        pen.line(run, colour, 1.0)?;
    }
    Ok(())
}
