//! Charts of a sweep: curves with the bands of their intervals over a numeric parameter, heat maps over two.

mod map;

use serde::Serialize;
use serde_json::{Map, Value as Json};
use servescope_lab::metric::{Metric, Unit};
use servescope_lab::sweep::{AxisValues, Results, Row};
use servescope_workload::statistics::sort_by_number;

use super::{Axis, AxisKind, Chart, Mark, Role, ScaleKind, Series};

pub use map::{Shade, map, shades_of};

/// Roles of several curves in one chart, each of another colour.
pub const CURVES: [Role; 8] = [
    Role::Arrivals,
    Role::Waiting,
    Role::Running,
    Role::Refused,
    Role::Kv,
    Role::Adapters,
    Role::Mfu,
    Role::Communication,
];

/// A chart of a sweep and what its roles stand for.
#[derive(Debug, Clone, PartialEq)]
pub struct SweepChart {
    /// The metric that it shows.
    pub metric: String,
    /// The parameter of the horizontal axis.
    pub x: String,
    /// The queueing models and bounds whose closed forms are drawn.
    pub models: Vec<String>,
    /// The curves: their roles, and their values of the other parameters.
    pub curves: Vec<(Role, Map<String, Json>)>,
    /// Of a heat map: the parameter of the vertical axis.
    pub y: Option<String>,
    /// Of a heat map: its values of the other parameters.
    pub fixed: Map<String, Json>,
    /// Of a heat map: what its shades mean.
    pub shades: Vec<Shade>,
    /// The chart.
    pub chart: Chart,
}

/// What a chart of a sweep shows, and what its roles stand for.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct SweepView {
    /// The metric.
    pub metric: String,
    /// The parameter of the horizontal axis.
    pub x: String,
    /// Of a heat map: the parameter of the vertical axis.
    pub y: Option<String>,
    /// The queueing models and bounds whose closed forms are drawn.
    pub models: Vec<String>,
    /// Of a heat map: its values of the other parameters.
    #[cfg_attr(feature = "types", ts(type = "Record<string, ParameterValue>"))]
    pub fixed: Map<String, Json>,
    /// Of a heat map: what its shades mean.
    pub shades: Vec<ShownShade>,
    /// The curves.
    pub curves: Vec<SweepCurve>,
}

/// A shade of a heat map.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS), ts(rename = "SweepShade"))]
pub struct ShownShade {
    /// Its role.
    pub role: &'static str,
    /// The lowest value that has it.
    pub low: f64,
    /// The highest.
    pub high: f64,
}

/// A curve of a sweep.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct SweepCurve {
    /// Its role.
    pub role: &'static str,
    /// Its values of the other parameters.
    #[cfg_attr(feature = "types", ts(type = "Record<string, ParameterValue>"))]
    pub point: Map<String, Json>,
}

impl SweepChart {
    /// All but the chart.
    pub fn view(&self) -> SweepView {
        let curve = |(role, point): &(Role, Map<String, Json>)| SweepCurve {
            role: role.name(),
            point: point.clone(),
        };
        let shade = |shade: &Shade| ShownShade { role: shade.role.name(), low: shade.low, high: shade.high };
        SweepView {
            metric: self.metric.clone(),
            x: self.x.clone(),
            y: self.y.clone(),
            models: self.models.clone(),
            fixed: self.fixed.clone(),
            shades: self.shades.iter().map(shade).collect(),
            curves: self.curves.iter().map(curve).collect(),
        }
    }
}

/// Heat maps over the first two parameters, metric by metric: one for each combination of the others. None where one of the two
/// has not several numbers.
pub fn sweep_maps(results: &Results, bounds: &[Option<f64>]) -> Vec<SweepChart> {
    let is_numeric = |axis: &AxisValues| axis.values.len() > 1 && axis.numbers().is_some();
    if results.axes.len() < 2 || !results.axes[..2].iter().all(is_numeric) {
        return Vec::new();
    }
    let groups = groups(results, &[0, 1]);
    let of_metric = |place: usize| groups.iter().map(move |group| (place, group));
    let chart = |(place, (fixed, rows)): (usize, &(Map<String, Json>, Vec<&Row>))| {
        let shades = shades_of(results, place);
        let bound = bounds.get(place).copied().flatten();
        let mut chart = map(results, (0, 1), place, rows, &shades, bound);
        chart.name = "sweep_map";
        SweepChart {
            metric: results.shape.metrics[place].clone(),
            x: results.axes[0].path.clone(),
            models: Vec::new(),
            curves: Vec::new(),
            y: Some(results.axes[1].path.clone()),
            fixed: fixed.clone(),
            shades,
            chart,
        }
    };
    (0..results.shape.metrics.len()).flat_map(of_metric).map(chart).collect()
}

/// The charts of a sweep, metric by metric: curves over the first parameter that has several numbers, one for each combination
/// of the others, at most as many in a chart as there are colours. None where no parameter has several numbers.
pub fn sweep_charts(results: &Results, bounds: &[Option<f64>]) -> Vec<SweepChart> {
    let is_numeric = |axis: &AxisValues| axis.values.len() > 1 && axis.numbers().is_some();
    let Some(x) = results.axes.iter().position(is_numeric) else { return Vec::new() };
    let groups = groups(results, &[x]);
    let chart = |place: usize, groups: &[(Map<String, Json>, Vec<&Row>)]| {
        let rows: Vec<&[&Row]> = groups.iter().map(|(_, rows)| rows.as_slice()).collect();
        let mut chart = curves(results, x, place, &rows);
        chart.name = "sweep_curves";
        if let Some(&Some(bound)) = bounds.get(place) {
            add_bound(&mut chart, bound);
        }
        let named = groups.iter().zip(CURVES).map(|((point, _), role)| (role, point.clone()));
        SweepChart {
            metric: results.shape.metrics[place].clone(),
            x: results.axes[x].path.clone(),
            models: closed_forms_of(results, place, groups.iter().flat_map(|(_, rows)| rows).copied()),
            curves: named.collect(),
            y: None,
            fixed: Map::new(),
            shades: Vec::new(),
            chart,
        }
    };
    let of_metric = |place: usize| groups.chunks(CURVES.len()).map(move |groups| (place, groups));
    (0..results.shape.metrics.len()).flat_map(of_metric).map(|(place, groups)| chart(place, groups)).collect()
}

/// The names of the closed forms that apply to any of the rows, each once.
pub fn closed_forms_of<'r>(
    results: &Results,
    metric: usize,
    rows: impl Iterator<Item = &'r Row>,
) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for expected in rows.filter_map(|row| results.expected(row, metric)) {
        if !names.contains(&expected.model) {
            names.push(expected.model.clone());
        }
    }
    names
}

/// The rows in groups that differ only in the axes `within`, in the order of the sweep; groups without a row are there, too,
/// so that a curve keeps its role while others are added.
fn groups<'r>(results: &'r Results, within: &[usize]) -> Vec<(Map<String, Json>, Vec<&'r Row>)> {
    let mut points = vec![Map::new()];
    for (_, axis) in results.axes.iter().enumerate().filter(|(place, _)| !within.contains(place)) {
        let with = |point: &Map<String, Json>| {
            let mut all = vec![point.clone(); axis.values.len()];
            for (point, value) in all.iter_mut().zip(&axis.values) {
                point.insert(axis.path.clone(), value.clone());
            }
            all
        };
        points = points.iter().flat_map(with).collect();
    }
    let mut groups: Vec<(Map<String, Json>, Vec<&Row>)> =
        points.into_iter().map(|point| (point, Vec::new())).collect();
    for row in &results.rows {
        let is_of = |point: &Map<String, Json>| {
            results
                .axes
                .iter()
                .zip(&row.point)
                .all(|(axis, value)| point.get(&axis.path).is_none_or(|own| own == value))
        };
        if let Some((_, rows)) = groups.iter_mut().find(|(point, _)| is_of(point)) {
            rows.push(row);
        }
    }
    groups
}

/// Curves of one metric over the axis `x`, with the bands of their intervals: one for each group of rows. The points carry the
/// number of their point in the sweep.
pub fn curves(results: &Results, x: usize, metric: usize, groups: &[&[&Row]]) -> Chart {
    let over = &results.axes[x];
    let (mut all, mut bands, mut lines, mut heights) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut closed_forms = Vec::new();
    for (rows, role) in groups.iter().zip(CURVES) {
        let mut expected_points: Vec<[f64; 5]> = rows
            .iter()
            .filter_map(|row| {
                let (at, cell) = (row.point[x].as_f64()?, row.cells[metric]?);
                let (low, high) = cell.bounds.map_or((cell.mean, cell.mean), |b| (b.low, b.high));
                Some([at, cell.mean, low, high, results.number(row) as f64])
            })
            .collect();
        sort_by_number(&mut expected_points, |point| point[0]);
        let column = |of: usize| expected_points.iter().map(|point| point[of]).collect::<Vec<f64>>();
        let [at, mean, low, high, id] = [0, 1, 2, 3, 4].map(column);
        heights.extend(low.iter().chain(&high).copied());
        all.extend(at.iter().copied());
        if low != high {
            bands.push(Series {
                role,
                mark: Mark::Band,
                x: at.clone(),
                y: high,
                y0: low,
                ..Series::default()
            });
        }
        closed_forms.extend(closed_form_line(results, x, metric, rows));
        lines.push(Series { role, mark: Mark::Line, x: at.clone(), y: mean.clone(), ..Series::default() });
        lines.push(Series { role, mark: Mark::Points, x: at, y: mean, id, ..Series::default() });
    }
    // A closed form may be far above the axis where the simulation of a finite time does not: it does not move the axis.
    bands.extend(closed_forms);
    bands.extend(lines);
    // The whole range from the start: the axis does not move as points come.
    let ends = over.numbers().unwrap_or(all);
    let mut x = axis_around(ends.into_iter(), over.is_log(), false);
    x.unit = servescope_settings::parameters::Id::from_path(&over.path).map_or("", |id| id.row().unit);
    Chart::untitled(x, y_axis(&results.shape.metrics[metric], &heights), bands)
}

/// Values of closed forms along a curve, over its points so far.
fn closed_form_line(results: &Results, x: usize, metric: usize, rows: &[&Row]) -> Option<Series> {
    let expected_points = |row: &&Row| Some((row.point[x].as_f64()?, results.expected(row, metric)?.value));
    let mut expected_points: Vec<(f64, f64)> = rows.iter().filter_map(expected_points).collect();
    sort_by_number(&mut expected_points, |point| point.0);
    let (x, y) = expected_points.into_iter().unzip::<_, _, Vec<_>, Vec<_>>();
    (!x.is_empty()).then(|| Series { role: Role::Expected, mark: Mark::Line, x, y, ..Series::default() })
}

/// An axis around the heights of a metric's bands. An interval may reach below 0 or, of a share, above 1, where no value can be.
pub(super) fn y_axis(metric: &str, heights: &[f64]) -> Axis {
    let unit = Metric::parse(metric).map_or(Unit::Count, |metric| metric.unit());
    let is_share = unit == Unit::Share;
    let within = |y: &f64| if is_share { y.clamp(0.0, 1.0) } else { y.max(0.0) };
    Axis { unit: unit.symbol(), ..axis_around(heights.iter().map(within), false, true) }
}

/// A rule at a bound, as far as the axis shows it or it lies not far above.
fn add_bound(chart: &mut Chart, bound: f64) {
    /// A bound above this multiple of the highest value would press the curves to the floor.
    const MOST: f64 = 2.0;
    if bound > MOST * chart.y.max {
        return;
    }
    chart.y.max = chart.y.max.max(1.05 * bound);
    chart
        .series
        .insert(0, Series { role: Role::Slo, mark: Mark::RuleY, y: vec![bound], ..Series::default() });
}

/// An axis of numbers around all values, with a little room; of positive ones on a linear scale from 0.
pub fn axis_around(values: impl Iterator<Item = f64>, is_log: bool, from_zero: bool) -> Axis {
    let (low, high) = values
        .filter(|x| x.is_finite() && (!is_log || *x > 0.0))
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
    let (low, high) = if low <= high { (low, high) } else { (0.0, 1.0) };
    let scale = if is_log { ScaleKind::Log } else { ScaleKind::Linear };
    let room = if high > low { 0.04 * (high - low) } else { 0.5 * high.abs().max(1.0) };
    let (min, max) = match (is_log, from_zero && low >= 0.0) {
        (true, _) => (low / 1.1, high * 1.1),
        (false, true) => (0.0, high + room),
        (false, false) => (low - room, high + room),
    };
    Axis { unit: "", scale, kind: AxisKind::Value, min, max }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use servescope_lab::sweep::{Sweep, SweepAxis as Over, SweepLine};
    use servescope_settings::scenario::Scenario;

    use super::*;

    const METRIC: &str = "ttft_s.mean";

    /// A sweep whose runs have made-up numbers: 10 times the first value, plus the curve, plus the seed.
    fn sweep(over: &[&str], seeds: usize) -> (Sweep, Vec<SweepLine>) {
        let axes = over.iter().map(|text| Over::parse(text).unwrap()).collect();
        let metrics = vec![Metric::parse(METRIC).unwrap()];
        let sweep = Sweep::new(&Scenario::of_version(4), axes, metrics, seeds, None).unwrap();
        let line = |index: usize| {
            let mut line = sweep.line(index, Err(Vec::new()));
            let x = line.point[0].as_f64().unwrap_or(0.0);
            let curve = if line.point.get(1) == Some(&json!("lifo")) { 1.0 } else { 0.0 };
            (line.values, line.error) = (vec![Some(10.0 * x + curve + line.seed as f64)], None);
            line
        };
        let lines = (0..sweep.runs()).map(line).collect();
        (sweep, lines)
    }

    fn made(sweep: &Sweep, lines: &[SweepLine], bound: Option<f64>) -> Vec<SweepChart> {
        sweep_charts(&Results::so_far(sweep.shape(), sweep.axis_values(), lines), &[bound])
    }

    fn of(chart: &Chart, role: Role, mark: Mark) -> &Series {
        chart.series.iter().find(|series| series.role == role && series.mark == mark).unwrap()
    }

    #[test]
    fn each_value_of_a_choice_has_its_curve_with_a_band() {
        let (sweep, lines) = sweep(&["workload.rate_rps=1:3:3", "scheduler.order=fcfs,lifo"], 3);
        let charts = made(&sweep, &lines, Some(20.0));
        let [SweepChart { chart, curves, x, .. }] = charts.as_slice() else { panic!("{charts:?}") };
        assert_eq!(x, "workload.rate_rps");
        let named: Vec<_> =
            curves.iter().map(|(role, point)| (*role, point["scheduler.order"].clone())).collect();
        assert_eq!(named, [(Role::Arrivals, json!("fcfs")), (Role::Waiting, json!("lifo"))]);
        let first = lines[0].seed as f64;
        let points = of(chart, Role::Waiting, Mark::Points);
        assert_eq!(points.x, [1.0, 2.0, 3.0]);
        assert_eq!(points.y, [12.0 + first, 22.0 + first, 32.0 + first]);
        // The last axis moves fastest.
        assert_eq!(points.id, [1.0, 3.0, 5.0]);
        let band = of(chart, Role::Waiting, Mark::Band);
        assert!(band.y0[0] < points.y[0] && points.y[0] < band.y[0]);
        assert_eq!(of(chart, Role::Slo, Mark::RuleY).y, [20.0]);
        assert_eq!((chart.x.unit, chart.y.unit), ("req/s", "s"));
    }

    #[test]
    fn a_sweep_under_way_keeps_its_axis_and_the_roles_of_its_curves() {
        let (sweep, lines) = sweep(&["workload.rate_rps=1:9:3", "scheduler.order=fcfs,lifo"], 1);
        // Only the second curve has a point so far, at the middle.
        let charts = made(&sweep, &lines[3..4], None);
        let chart = &charts[0].chart;
        assert_eq!(charts[0].curves.len(), 2);
        let points = of(chart, Role::Waiting, Mark::Points);
        assert_eq!((points.x.as_slice(), points.id.as_slice()), (&[5.0][..], &[3.0][..]));
        assert!(of(chart, Role::Arrivals, Mark::Points).x.is_empty());
        assert!(chart.x.min < 1.0 && chart.x.max > 9.0);
        assert!(!chart.series.iter().any(|series| series.mark == Mark::Band), "one seed has no interval");
    }

    #[test]
    fn two_numbers_make_a_map_with_the_contour_of_the_bound() {
        let (sweep, lines) = self::sweep(
            &["workload.rate_rps=1:4:3:log", "workload.arrivals.cv=1:3:3", "scheduler.order=fcfs,lifo"],
            1,
        );
        let results = Results::so_far(sweep.shape(), sweep.axis_values(), &lines[..17]);
        let first = lines[0].seed as f64;
        let maps = sweep_maps(&results, &[Some(25.0 + first)]);
        assert_eq!(maps.len(), 2);
        let SweepChart { chart, shades, fixed, y, .. } = &maps[0];
        assert_eq!((y.as_deref(), &fixed["scheduler.order"]), (Some("workload.arrivals.cv"), &json!("fcfs")));
        assert_eq!((shades[0].low, shades[8].high), (10.0 + first, 40.0 + first));
        assert_eq!(&maps[1].shades, shades, "maps of a metric can be compared");
        let cells: Vec<&Series> = chart.series.iter().filter(|series| series.mark == Mark::Bars).collect();
        assert_eq!(cells.iter().map(|series| series.x.len()).sum::<usize>(), 9);
        // The column of rate 1: its cells reach from half a step below 1 to half a step above, by ratio; its points are 0, 2, 4.
        let low = cells[0];
        assert!(low.x2.iter().all(|x2| *x2 < 2.0));
        assert_eq!(low.id, [0.0, 2.0, 4.0]);
        assert!((low.x[0] * low.x2[0] - 1.0).abs() < 1e-9 && (low.x2[0] - libm::sqrt(2.0)).abs() < 1e-9);
        assert_eq!((low.y0[0], low.y[0]), (0.5, 1.5));
        let contour = of(chart, Role::Slo, Mark::Line);
        // Between rates 2 and 4 a quarter of the way, in the logarithm.
        let at: Vec<f64> = contour.x.iter().copied().filter(|x| !x.is_nan()).collect();
        assert!(at.len() == 4 && at.iter().all(|x| (x - 2.0 * libm::pow(2.0, 0.25)).abs() < 1e-9), "{at:?}");
        // Of the other map the last point is missing.
        let other = &maps[1].chart;
        assert_eq!(other.series.iter().filter(|s| s.mark == Mark::Bars).map(|s| s.x.len()).sum::<usize>(), 8);
        let (one, lines) = self::sweep(&["workload.rate_rps=1:4:3"], 1);
        assert!(sweep_maps(&Results::of(one.shape(), &lines), &[None]).is_empty());
    }

    #[test]
    fn a_bound_far_above_the_curves_is_left_out() {
        let (sweep, lines) = sweep(&["workload.rate_rps=1:3:3"], 1);
        let charts = made(&sweep, &lines, Some(1e4));
        assert!(!charts[0].chart.series.iter().any(|series| series.role == Role::Slo));
    }

    #[test]
    fn more_curves_than_colours_make_another_chart_and_no_number_none() {
        let (sweep, lines) = self::sweep(
            &["workload.rate_rps=1:3:3", "fleet.replicas=1,2,3", "scheduler.order=fcfs,lifo,shortest"],
            1,
        );
        let counts: Vec<usize> = made(&sweep, &lines, None).iter().map(|one| one.curves.len()).collect();
        assert_eq!(counts, [8, 1]);
        let (sweep, lines) = self::sweep(&["scheduler.order=fcfs,lifo"], 1);
        assert!(made(&sweep, &lines, None).is_empty());
    }
}
