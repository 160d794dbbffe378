//! The charts of a sweep: curves over one numeric parameter, one for each value of the others; a heat map over two.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value as Json;
use servescope_lab::metric::Metric;
use servescope_lab::sweep::{AxisValues, Results, Row};
use servescope_output::views::Role;
use servescope_output::views::sweep::{self, CURVES};

use crate::chart_files::create;
use crate::output::{CliError, note, write};
use crate::plots::{TitledChart, escaped, head};

/// Most charts of one metric, one for each value of the parameters that no chart has room for.
const MOST_CHARTS: usize = 16;

/// Writes a chart for each metric.
pub(crate) fn write_charts(folder: &Path, results: &Results) -> Result<(), CliError> {
    let is_numeric = |axis: &AxisValues| axis.values.len() > 1 && axis.numbers().is_some();
    let numeric: Vec<usize> =
        (0..results.axes.len()).filter(|&place| is_numeric(&results.axes[place])).collect();
    // The longest two span a map; one alone, or with few values of the others, carries curves.
    let count = |place: usize| results.axes[place].values.len();
    let curves_over =
        |x: usize| -> usize { (0..results.axes.len()).filter(|&place| place != x).map(count).product() };
    create(folder)?;
    match numeric.as_slice() {
        [] => {
            note("no parameter has several numbers, so no chart is drawn");
            Ok(())
        }
        [x] if curves_over(*x) <= CURVES.len() => write_curves(folder, results, *x),
        [x] => write_many_curves(folder, results, *x),
        [x, y, ..] => write_maps(folder, results, *x, *y),
    }
}

fn plain(json: &Json) -> String {
    json.as_str().map_or_else(|| json.to_string(), str::to_owned)
}

/// The name of a file for a metric, and for the values of other parameters.
fn file_name(metric: &str, others: &str) -> String {
    let name = if others.is_empty() { metric.to_owned() } else { format!("{metric} {others}") };
    let kept = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' };
    format!("{}.svg", name.chars().map(kept).collect::<String>())
}

/// The values of a point but for some axes: `scheduler.order vtc, fleet.replicas 2`.
fn others(results: &Results, row: &Row, without: &[usize]) -> String {
    let rest = (0..results.axes.len()).filter(|place| !without.contains(place));
    let named = rest.map(|place| format!("{} {}", results.axes[place].path, plain(&row.point[place])));
    named.collect::<Vec<_>>().join(", ")
}

/// The rows in groups that differ only in `within`.
fn groups<'r>(results: &'r Results, within: &[usize]) -> Vec<(String, Vec<&'r Row>)> {
    let mut groups: Vec<(String, Vec<&Row>)> = Vec::new();
    for row in &results.rows {
        let name = others(results, row, within);
        match groups.iter_mut().find(|(known, _)| *known == name) {
            Some((_, rows)) => rows.push(row),
            None => groups.push((name, vec![row])),
        }
    }
    groups
}

fn metric_title(metric: &str) -> String {
    Metric::parse(metric).map_or_else(|_| metric.to_owned(), |metric| metric.title())
}

/// A name with the unit of its metric.
fn with_unit(name: &str, metric: &str) -> String {
    match Metric::parse(metric).map_or("", |metric| metric.unit().symbol()) {
        "" => name.to_owned(),
        unit => format!("{name}, {unit}"),
    }
}

fn write_plot(folder: &Path, name: &str, plot: &TitledChart) -> Result<(), CliError> {
    let path = folder.join(name);
    let text = plot.svg().map_err(|error| CliError::Run(format!("{}: {error}", path.display())))?;
    write(&path, &text)
}

/// Curves of one chart a metric, with the bands of their intervals.
fn write_curves(folder: &Path, results: &Results, x: usize) -> Result<(), CliError> {
    let groups = groups(results, &[x]);
    for (place, metric) in results.shape.metrics.iter().enumerate() {
        let curves: Vec<(&str, &[&Row])> =
            groups.iter().map(|(name, rows)| (name.as_str(), rows.as_slice())).collect();
        let plot = curves_plot(
            results,
            x,
            place,
            &format!("{} over {}", metric_title(metric), results.axes[x].path),
            &curves,
        );
        write_plot(folder, &file_name(metric, ""), &plot)?;
    }
    Ok(())
}

/// A chart for each combination of the other parameters but the one with most values that fits.
fn write_many_curves(folder: &Path, results: &Results, x: usize) -> Result<(), CliError> {
    let fits = |&place: &usize| place != x && results.axes[place].values.len() <= CURVES.len();
    let second = (0..results.axes.len()).filter(fits).max_by_key(|&place| results.axes[place].values.len());
    let within: Vec<usize> = [Some(x), second].into_iter().flatten().collect();
    let charts = groups(results, &within);
    report_left_out(charts.len());
    for (name, rows) in charts.into_iter().take(MOST_CHARTS) {
        let mut curves: Vec<(String, Vec<&Row>)> = Vec::new();
        for row in rows {
            let own = second.map_or_else(String::new, |place| {
                format!("{} {}", results.axes[place].path, plain(&row.point[place]))
            });
            match curves.iter_mut().find(|(known, _)| *known == own) {
                Some((_, rows)) => rows.push(row),
                None => curves.push((own, vec![row])),
            }
        }
        let curves: Vec<(&str, &[&Row])> =
            curves.iter().map(|(name, rows)| (name.as_str(), rows.as_slice())).collect();
        for (place, metric) in results.shape.metrics.iter().enumerate() {
            let title = format!("{} over {}: {name}", metric_title(metric), results.axes[x].path);
            let plot = curves_plot(results, x, place, &title, &curves);
            write_plot(folder, &file_name(metric, &name), &plot)?;
        }
    }
    Ok(())
}

fn report_left_out(charts: usize) {
    if charts > MOST_CHARTS {
        note(&format!("of {charts} charts a metric the first {MOST_CHARTS} are drawn"));
    }
}

fn curves_plot(
    results: &Results,
    x: usize,
    place: usize,
    title: &str,
    curves: &[(&str, &[&Row])],
) -> TitledChart {
    let (over, metric) = (&results.axes[x], &results.shape.metrics[place]);
    let groups: Vec<&[&Row]> = curves.iter().map(|(_, rows)| *rows).collect();
    let mut legend: Vec<(Role, String)> = if curves.len() > 1 || !curves[0].0.is_empty() {
        curves.iter().zip(CURVES).map(|((name, _), role)| (role, (*name).to_owned())).collect()
    } else {
        Vec::new()
    };
    let closed_forms = sweep::closed_forms_of(results, place, groups.iter().copied().flatten().copied());
    if !closed_forms.is_empty() {
        legend.push((Role::Expected, closed_forms.join(", ")));
    }
    TitledChart {
        title: title.to_owned(),
        x: over.path.clone(),
        y: with_unit(&metric_title(metric), metric),
        legend,
        chart: sweep::curves(results, x, place, &groups),
    }
}

/// A heat map a metric, one for each combination of the other parameters.
fn write_maps(folder: &Path, results: &Results, x: usize, y: usize) -> Result<(), CliError> {
    let charts = groups(results, &[x, y]);
    report_left_out(charts.len());
    for (name, rows) in charts.iter().take(MOST_CHARTS) {
        for (place, metric) in results.shape.metrics.iter().enumerate() {
            let cell =
                |row: &&Row| Some((row.point[x].clone(), row.point[y].clone(), row.cells[place]?.mean));
            let cells: Vec<(Json, Json, f64)> = rows.iter().filter_map(cell).collect();
            let of = if name.is_empty() { String::new() } else { format!(": {name}") };
            let title = format!("{}{of}", with_unit(&metric_title(metric), metric));
            let map = heat_map(&title, &results.axes[x], &results.axes[y], &cells);
            write(&folder.join(file_name(metric, name)), &map)?;
        }
    }
    Ok(())
}

/// From this ratio of the largest to the smallest value on, colours go by ratio.
const RATIO: f64 = 20.0;

/// Colours from low to high: dark blue, teal, green, yellow, each lighter than the one before.
const RAMP: [(f64, f64, f64); 5] =
    [(68.0, 1.0, 84.0), (59.0, 82.0, 139.0), (33.0, 145.0, 140.0), (94.0, 201.0, 98.0), (253.0, 231.0, 37.0)];

fn colour(share: f64) -> String {
    let place = share.clamp(0.0, 1.0) * (RAMP.len() - 1) as f64;
    let low = (place as usize).min(RAMP.len() - 2);
    let (a, b, part) = (RAMP[low], RAMP[low + 1], place - low as f64);
    let mix = |a: f64, b: f64| (a + (b - a) * part).round() as u8;
    format!("#{:02x}{:02x}{:02x}", mix(a.0, b.0), mix(a.1, b.1), mix(a.2, b.2))
}

/// A value beside an axis.
fn tick(value: &Json) -> String {
    match value.as_f64() {
        Some(x) if x != x.trunc() => short(x),
        _ => escaped(&plain(value)),
    }
}

/// Four figures at most.
fn short(x: f64) -> String {
    if x != 0.0 && !(1e-3..1e6).contains(&x.abs()) {
        return format!("{x:.3e}");
    }
    let digits = if x.abs() >= 100.0 {
        0
    } else if x.abs() >= 1.0 {
        2
    } else {
        4
    };
    format!("{x:.digits$}")
}

/// Cells in the colours of their values, with a scale; a cell without a value is grey.
fn heat_map(title: &str, x: &AxisValues, y: &AxisValues, cells: &[(Json, Json, f64)]) -> String {
    const LEFT: f64 = 90.0;
    const TOP: f64 = 50.0;
    const WIDTH: f64 = 520.0;
    const HEIGHT: f64 = 380.0;
    const TICKS: usize = 8;
    let (columns, rows) = (x.values.len() as f64, y.values.len() as f64);
    let (cell_w, cell_h) = (WIDTH / columns, HEIGHT / rows);
    let values = cells.iter().map(|cell| cell.2);
    let (low, high) =
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    let is_log = low > 0.0 && high / low >= RATIO;
    let share = |v: f64| match (high > low, is_log) {
        (false, _) => 0.5,
        (true, false) => (v - low) / (high - low),
        (true, true) => libm::log(v / low) / libm::log(high / low),
    };
    let mut text = head(LEFT + WIDTH + 130.0, TOP + HEIGHT + 60.0, title);
    let _ = writeln!(text, "<text x=\"10\" y=\"38\" fill=\"#5b6470\">{}</text>", escaped(&y.path));
    let _ = writeln!(
        text,
        "<rect x=\"{LEFT}\" y=\"{TOP}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#e8eaed\"/>"
    );
    for (of_x, of_y, value) in cells {
        let at = |values: &[Json], value: &Json| values.iter().position(|v| v == value).unwrap_or(0) as f64;
        let (left, row) = (LEFT + at(&x.values, of_x) * cell_w, at(&y.values, of_y));
        let top = TOP + HEIGHT - (row + 1.0) * cell_h;
        let _ = writeln!(
            text,
            "<rect x=\"{left:.2}\" y=\"{top:.2}\" width=\"{:.2}\" height=\"{:.2}\" fill=\"{}\"><title>{} {}, {} {}: {value}</title></rect>",
            cell_w + 0.3,
            cell_h + 0.3,
            colour(share(*value)),
            escaped(&x.path),
            escaped(&plain(of_x)),
            escaped(&y.path),
            escaped(&plain(of_y)),
        );
    }
    for (place, value) in x.values.iter().enumerate().step_by(x.values.len().div_ceil(TICKS)) {
        let at = LEFT + (place as f64 + 0.5) * cell_w;
        let _ = writeln!(
            text,
            "<text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            TOP + HEIGHT + 18.0,
            tick(value)
        );
    }
    for (place, value) in y.values.iter().enumerate().step_by(y.values.len().div_ceil(TICKS)) {
        let at = TOP + HEIGHT - (place as f64 + 0.5) * cell_h + 4.0;
        let _ = writeln!(
            text,
            "<text x=\"{}\" y=\"{at:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 8.0,
            tick(value)
        );
    }
    let _ = writeln!(
        text,
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\" fill=\"#5b6470\">{}</text>",
        LEFT + WIDTH / 2.0,
        TOP + HEIGHT + 42.0,
        escaped(&x.path)
    );
    if low <= high {
        let value = |share: f64| {
            if is_log { low * libm::pow(high / low, share) } else { low + (high - low) * share }
        };
        scale(&mut text, [LEFT + WIDTH + 20.0, TOP, HEIGHT], value);
    }
    text.push_str("</svg>\n");
    text
}

/// The colours beside their values.
fn scale(text: &mut String, [left, top, height]: [f64; 3], value: impl Fn(f64) -> f64) {
    const STEPS: u32 = 64;
    let step = height / f64::from(STEPS);
    for place in 0..STEPS {
        let share = (f64::from(place) + 0.5) / f64::from(STEPS);
        let at = top + height - f64::from(place + 1) * step;
        let _ = writeln!(
            text,
            "<rect x=\"{left}\" y=\"{at:.2}\" width=\"16\" height=\"{:.2}\" fill=\"{}\"/>",
            step + 0.3,
            colour(share)
        );
    }
    for place in 0..=4 {
        let share = f64::from(place) / 4.0;
        let (value, at) = (value(share), top + height * (1.0 - share) + 4.0);
        let _ = writeln!(text, "<text x=\"{}\" y=\"{at:.1}\">{}</text>", left + 22.0, short(value));
    }
}
