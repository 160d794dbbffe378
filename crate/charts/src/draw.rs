//! A whole chart: paper, grid, former result, series, axis and labels, from back to front.

use plotters::backend::DrawingBackend;
use plotters::style::text_anchor::{HPos, VPos};
use plotters::style::{Color, RGBAColor};

use crate::frame::{Clock, Rect};
use crate::label::{cut, ems};
use crate::look::{Look, Plot, Stacking};
use crate::marks;
use crate::palette::Ground;
use crate::pen::{FONT, Pen};
use crate::scale::PixelScale;
use crate::ticks::{self, MOST, Tick, TickSteps};
use crate::{Axis, AxisKind, Chart, DrawError, Mark, PlotFrame, ScaleKind, Style};

/// Least distances in CSS px between two ticks of the axes, and between two labels side by side.
const X_TICK: f64 = 44.0;
const Y_TICK: f64 = 24.0;
const LABEL_GAP: f64 = 10.0;
/// Length of a tick and its distance to the label.
const TICK: f64 = 4.0;
const PAD: f64 = 3.0;

/// Draws `chart`, and `ghost`, the former result, faintly behind it on the same axes.
///
/// The backend must have room for `width * dpr` by `height * dpr` pixels; its own size is not asked. A caller may
/// therefore pass a multiple of the device's ratio to a context that is scaled down by as much, and gets lines in
/// fractions of a pixel.
///
/// # Errors
/// [`DrawError::Size`] for a size without room, [`DrawError::Backend`] where the backend refuses.
pub fn draw<B: DrawingBackend>(
    backend: B,
    chart: &Chart,
    ghost: Option<&Chart>,
    style: &Style,
) -> Result<PlotFrame, DrawError> {
    draw_scaled(backend, chart, ghost, style, 1.0)
}

/// The same on a backend that multiplies font sizes by 1 / `font_scale`.
pub(crate) fn draw_scaled<B: DrawingBackend>(
    backend: B,
    chart: &Chart,
    ghost: Option<&Chart>,
    style: &Style,
    font_scale: f64,
) -> Result<PlotFrame, DrawError> {
    let (canvas, rect) = style.layout()?;
    let plot = Plot {
        rect,
        x: PixelScale::new(&chart.x, rect.left, rect.right),
        y: PixelScale::new(&chart.y, rect.bottom, rect.top),
    };
    let dark = style.dark;
    let mut pen = Pen::new(backend, style.dpr, font_scale)?;
    pen.rect(canvas, Ground::Paper.colour(dark).to_rgba())?;
    let y_ticks = y_ticks(&plot, &chart.y, style);
    grid(&mut pen, &plot, &y_ticks, dark)?;

    // A former bar is an outline that its successor must not hide; every other former mark lies behind.
    let (bars, others): (Vec<_>, Vec<_>) =
        ghost.into_iter().flat_map(|ghost| &ghost.series).partition(|series| series.mark == Mark::Bars);
    let stacking = Stacking::of(&chart.series);
    let former = Look { faint: true, dark, stacking };
    let now = Look { faint: false, ..former };
    others.into_iter().try_for_each(|series| marks::series(&mut pen, &plot, series, former))?;
    chart.series.iter().try_for_each(|series| marks::series(&mut pen, &plot, series, now))?;
    bars.into_iter().try_for_each(|series| marks::series(&mut pen, &plot, series, former))?;
    chart.series.iter().try_for_each(|series| marks::label(&mut pen, &plot, series, now, style))?;

    labels(&mut pen, &plot, &y_ticks, chart, style)?;
    pen.finish()?;
    let css = |pixel: i32| f64::from(pixel) / style.dpr;
    Ok(PlotFrame {
        left: css(rect.left),
        top: css(rect.top),
        right: css(rect.right),
        bottom: css(rect.bottom),
        x_min: plot.x.min,
        x_max: plot.x.max,
        y_min: plot.y.min,
        y_max: plot.y.max,
    })
}

fn grid<B: DrawingBackend>(
    pen: &mut Pen<B>,
    plot: &Plot,
    ticks: &[Tick],
    dark: bool,
) -> Result<(), DrawError> {
    let hairline = pen.length(1.0);
    let Rect { left, right, .. } = plot.rect;
    for tick in ticks {
        let top = plot.y.pixel(tick.value).round() as i32;
        pen.rect(Rect { left, top, right, bottom: top + hairline }, Ground::Grid.colour(dark).to_rgba())?;
    }
    Ok(())
}

fn labels<B: DrawingBackend>(
    pen: &mut Pen<B>,
    plot: &Plot,
    y_ticks: &[Tick],
    chart: &Chart,
    style: &Style,
) -> Result<(), DrawError> {
    let rect = plot.rect;
    let muted: RGBAColor = Ground::Muted.colour(style.dark).to_rgba();
    let (tick, pad, hairline) = (pen.length(TICK), pen.length(PAD), pen.length(1.0));

    let beside = pen.label_style(muted, HPos::Right, VPos::Center);
    for y in y_ticks {
        let at = (rect.left - tick - pad, plot.y.pixel(y.value).round() as i32);
        pen.text(&y.label, &beside, at)?;
    }

    pen.rect(Rect { top: rect.bottom, bottom: rect.bottom + hairline, ..rect }, muted.mix(0.6))?;
    let below = pen.label_style(muted, HPos::Center, VPos::Top);
    let named = !chart.categories.is_empty();
    let x_ticks = if named { names(plot, &chart.categories, style) } else { x_ticks(plot, &chart.x, style) };
    for x in &x_ticks {
        let middle = plot.x.pixel(x.value);
        if !named {
            let left = middle.round() as i32 - hairline / 2;
            let (top, bottom) = (rect.bottom, rect.bottom + tick);
            pen.rect(Rect { left, top, right: left + hairline, bottom }, muted.mix(0.6))?;
        }
        // The outermost labels stay on the canvas.
        let half = ems(&x.label) * FONT * style.dpr / 2.0;
        let middle = middle.min(style.width * style.dpr - half).max(half);
        pen.text(&x.label, &below, (middle.round() as i32, rect.bottom + tick + pad))?;
    }
    Ok(())
}

fn y_ticks(plot: &Plot, axis: &Axis, style: &Style) -> Vec<Tick> {
    let most = f64::from(plot.rect.height()) / style.dpr / Y_TICK;
    ticks_of(axis, &plot.y, (most as usize).clamp(3, 6), style.clock)
}

/// As many ticks as their labels leave room for.
fn x_ticks(plot: &Plot, axis: &Axis, style: &Style) -> Vec<Tick> {
    let most = f64::from(plot.rect.width()) / style.dpr / X_TICK;
    let mut most = (most as usize).clamp(2, MOST);
    loop {
        let ticks = ticks_of(axis, &plot.x, most, style.clock);
        let apart = ticks.windows(2).all(|pair| {
            let labels = ems(&pair[0].label).midpoint(ems(&pair[1].label)) * FONT + LABEL_GAP;
            plot.x.pixel(pair[1].value) - plot.x.pixel(pair[0].value) >= labels * style.dpr
        });
        if apart || most == 2 {
            return ticks;
        }
        most -= 1;
    }
}

fn ticks_of(axis: &Axis, scale: &PixelScale, most: usize, clock: Clock) -> Vec<Tick> {
    let steps = match axis.kind {
        AxisKind::Time => TickSteps::Clock,
        AxisKind::Value => TickSteps::Decimal,
        AxisKind::Index => TickSteps::Whole,
    };
    let ticks = match axis.scale {
        ScaleKind::Linear => ticks::linear(scale.min, scale.max, most, steps),
        ScaleKind::Log => ticks::log(scale.min, scale.max, most),
    };
    if axis.kind != AxisKind::Time {
        return ticks;
    }
    ticks.into_iter().map(|tick| Tick { label: clock.label(tick.label), ..tick }).collect()
}

/// The categories' names in the middle of their slots, cut to the slot; where slots are too narrow for a few letters,
/// only every second, third … one.
fn names(plot: &Plot, categories: &[String], style: &Style) -> Vec<Tick> {
    const FEWEST_EMS: f64 = 5.0;
    let slot = f64::from(plot.rect.width()) / style.dpr / categories.len() as f64;
    let longest = categories.iter().map(|name| ems(name)).fold(0.0, f64::max);
    let needed = longest.min(FEWEST_EMS) * FONT + LABEL_GAP / 2.0;
    let every = f64::ceil(needed / slot).max(1.0);
    let room = (every * slot - LABEL_GAP / 2.0) / FONT;
    let width = (plot.x.max - plot.x.min) / categories.len() as f64;
    categories
        .iter()
        .enumerate()
        .step_by(every as usize)
        .map(|(index, name)| Tick {
            value: plot.x.min + (index as f64 + 0.5) * width,
            label: cut(name, room),
        })
        .collect()
}
