//! Lines, steps, points and rules.

use plotters::backend::DrawingBackend;
use plotters::style::Color;
use plotters::style::text_anchor::{HPos, VPos};

use crate::frame::Rect;
use crate::label::ems;
use crate::look::{Look, Plot, STROKE, Stacking};
use crate::palette::Ground;
use crate::path::{Polyline, dashes, rounded};
use crate::pen::{FONT, Pen};
use crate::{DrawError, Mark, Marker, Role, Series, Style, solid};

/// Distance in CSS px between the markers along a line, and their size.
const MARKER_GAP: f64 = 96.0;
const MARKER_REACH: f64 = 3.0;
/// So few plain points can each be as large as a marker.
const FEW_POINTS: usize = 40;
const POINT_REACH: f64 = 1.6;
const FAINT_REACH: f64 = 1.2;
/// Paper left free on either side of the line of a distribution across bars.
const CASING: f64 = 1.0;
/// Distance in CSS px of a label to its line and to the edge.
const LABEL_PAD: f64 = 2.0;

/// Draws one series.
pub(crate) fn series<B: DrawingBackend>(
    pen: &mut Pen<B>,
    plot: &Plot,
    series: &Series,
    look: Look,
) -> Result<(), DrawError> {
    match series.mark {
        Mark::Line | Mark::Step => line(pen, plot, series, look),
        Mark::Area => {
            if !look.faint {
                solid::area(pen, plot, series, solid::AREA, look)?;
            }
            line(pen, plot, series, look)
        }
        Mark::Band if look.faint => Ok(()),
        Mark::Band => solid::area(pen, plot, series, solid::BAND, look),
        Mark::Bars => solid::bars(pen, plot, series, look),
        Mark::Points => points(pen, plot, series, look),
        Mark::RuleX => series.x.iter().try_for_each(|&x| rule(pen, plot, plot.x.pixel(x), series, look)),
        Mark::RuleY => series.y.iter().try_for_each(|&y| rule(pen, plot, plot.y.pixel(y), series, look)),
    }
}

fn line<B: DrawingBackend>(
    pen: &mut Pen<B>,
    plot: &Plot,
    series: &Series,
    look: Look,
) -> Result<(), DrawError> {
    let step = series.mark == Mark::Step;
    let colour = look.colour(series.role);
    let count = series.x.len().min(series.y.len());
    let mut path = Polyline::new(plot.rect, if step { 2 * count } else { count });
    let marker = if look.faint { Marker::Plain } else { series.role.marker() };
    let gap = f64::from(pen.length(MARKER_GAP));
    // Lines of one chart start at different places, so that their markers do not fall on each other.
    let mut next = f64::from(plot.rect.left) + gap * (0.25 + (series.role as usize % 4) as f64 * 0.2);
    let mut signs = Vec::new();
    let mut level = f64::NAN;
    for (&x, &y) in series.x.iter().zip(&series.y) {
        let point = (plot.x.pixel(x), plot.y.pixel(y));
        if step && level.is_finite() {
            path.to((point.0, level));
        }
        path.to(point);
        level = point.1;
        if point.0 >= next && marker != Marker::Plain && plot.rect.holds(point) {
            signs.push(rounded(point));
            next = point.0 + gap;
        }
    }
    let paper = Ground::Paper.colour(look.dark).to_rgba();
    // A twin's rate has a corner a column: dashes of such a line would be paths by the thousand.
    let noisy = series.mark == Mark::Step && matches!(series.role, Role::Twin | Role::PlainTwin);
    let dash = if noisy { &[] } else { series.role.dash() };
    for run in path.runs() {
        if look.stacking != Stacking::None && !look.faint {
            pen.line(run, paper, STROKE + 2.0 * CASING)?;
        }
        if let &[on, off] = dash {
            let (on, off) = (pen.length(f64::from(on)), pen.length(f64::from(off)));
            for dash in dashes(run, f64::from(on), f64::from(off)) {
                pen.line(&dash, colour, look.stroke())?;
            }
        } else {
            pen.line(run, colour, look.stroke())?;
        }
    }
    // A ring of paper sets them off from a noisy line.
    signs.into_iter().try_for_each(|at| {
        if marker != Marker::Cross {
            pen.marker(marker, at, MARKER_REACH + 1.5, paper)?;
        }
        pen.marker(marker, at, MARKER_REACH, colour)
    })
}

fn points<B: DrawingBackend>(
    pen: &mut Pen<B>,
    plot: &Plot,
    series: &Series,
    look: Look,
) -> Result<(), DrawError> {
    let (marker, colour) = (series.role.marker(), look.colour(series.role));
    let (marker, reach) = match marker {
        _ if look.faint => (marker, FAINT_REACH),
        Marker::Plain if series.x.len() > FEW_POINTS => (marker, POINT_REACH),
        _ => (marker, MARKER_REACH),
    };
    let mut last = None;
    for (&x, &y) in series.x.iter().zip(&series.y) {
        let point = (plot.x.pixel(x), plot.y.pixel(y));
        if plot.rect.holds(point) {
            let at = rounded(point);
            if last.replace(at) != Some(at) {
                pen.marker(marker, at, reach, colour)?;
            }
        }
    }
    Ok(())
}

/// The label of a horizontal line, at its left end, since the end of the traffic is marked at the right: above it where there is room,
/// and with an arrow at the upper edge where the line itself is above the axis.
pub(crate) fn label<B: DrawingBackend>(
    pen: &mut Pen<B>,
    plot: &Plot,
    series: &Series,
    look: Look,
    style: &Style,
) -> Result<(), DrawError> {
    let place = match series.y.first() {
        Some(&y) if series.mark == Mark::RuleY && !series.label.is_empty() => plot.y.pixel(y),
        _ => return Ok(()),
    };
    let Rect { left, top, bottom, .. } = plot.rect;
    if !place.is_finite() || place > f64::from(bottom) {
        return Ok(());
    }
    let words = style.clock.label(series.label.clone());
    let is_above = place < f64::from(top);
    let words = if is_above { format!("↑ {words}") } else { words };
    let (pad, height) = (pen.length(LABEL_PAD), pen.length(FONT));
    let fits = place - f64::from(height + 2 * pad) >= f64::from(top);
    let low = if is_above {
        top + height + pad
    } else if fits {
        place.round() as i32 - pad
    } else {
        place.round() as i32 + height + 2 * pad
    };
    let width = pen.length(ems(&words) * FONT);
    let paper = Ground::Paper.colour(look.dark).to_rgba().mix(0.8);
    let behind = Rect { left, top: low - height, right: left + width + 2 * pad, bottom: low };
    pen.rect(behind, paper)?;
    let anchor = pen.label_style(look.colour(series.role), HPos::Left, VPos::Center);
    pen.text(&words, &anchor, (left + pad, low - height / 2))
}

fn rule<B: DrawingBackend>(
    pen: &mut Pen<B>,
    plot: &Plot,
    place: f64,
    series: &Series,
    look: Look,
) -> Result<(), DrawError> {
    let upright = series.mark == Mark::RuleX;
    let colour = look.colour(series.role);
    let rect = plot.rect;
    let (start, end) = if upright { (rect.top, rect.bottom) } else { (rect.left, rect.right) };
    let (low, high) = if upright { (rect.left, rect.right) } else { (rect.top, rect.bottom) };
    if !(f64::from(low)..=f64::from(high)).contains(&place) {
        return Ok(());
    }
    let width = pen.length(look.stroke());
    let near = place.round() as i32 - width / 2;
    let (on, off) = match series.role.dash() {
        &[on, off] => (pen.length(f64::from(on)), pen.length(f64::from(off))),
        _ => (end - start, 1),
    };
    let mut from = start;
    while from < end {
        let to = (from + on).min(end);
        let dash = if upright {
            Rect { left: near, top: from, right: near + width, bottom: to }
        } else {
            Rect { left: from, top: near, right: to, bottom: near + width }
        };
        pen.rect(dash, colour)?;
        from = to + off;
    }
    Ok(())
}
