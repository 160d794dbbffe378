//! Bands behind curves: from the lowest to the highest value over runs that differ only in their seed.

use serde::{Deserialize, Serialize};
use servescope_lab::run::Run;

use super::{Axis, AxisKind, Chart, Mark, Role, ScaleKind, Series, ViewOptions, build_charts};

/// The charts that have bands: over time, and the distribution functions. Rates have none: arrivals differ with the seed
/// themselves, from bin to bin.
pub const NAMES: [&str; 4] = ["running_waiting", "memory", "tokens", "latency_cdf"];

/// Points of a band.
const POINTS: usize = 160;

/// The axes that the bands are drawn on, those of the run that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct SeedSpans {
    /// The ends of the clock, seconds.
    pub time_s: (f64, f64),
    /// The ends of the axis of latencies, seconds, above 0.
    pub latency_s: (f64, f64),
}

impl SeedSpans {
    /// The axes of these charts; none where a chart with bands is missing or empty, as of a run without an answer.
    pub fn of(charts: &[Chart]) -> Option<Self> {
        let axis = |name: &str| charts.iter().find(|chart| chart.name == name && chart.empty.is_empty());
        let ends = |chart: &Chart| (chart.x.min, chart.x.max);
        let (time_s, latency_s) = (ends(axis("running_waiting")?), ends(axis("latency_cdf")?));
        let is_range = |(low, high): (f64, f64)| low.is_finite() && high.is_finite() && low < high;
        (is_range(time_s) && is_range(latency_s) && latency_s.0 > 0.0).then_some(Self { time_s, latency_s })
    }

    fn axis(&self, own: &Axis) -> Axis {
        let (min, max) = if own.kind == AxisKind::Time { self.time_s } else { self.latency_s };
        Axis { min, max, ..own.clone() }
    }
}

/// A curve at [`POINTS`] places along its axis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "types", derive(ts_rs::TS))]
pub struct SeedCurve {
    /// The name of its chart.
    pub chart: String,
    /// The name of its role.
    pub role: String,
    /// Its values.
    pub y: Vec<f64>,
}

/// The curves of a run on these axes.
pub fn of_run(run: &Run, spans: &SeedSpans) -> Vec<SeedCurve> {
    let options = ViewOptions { window_s: Some(spans.time_s), ..ViewOptions::default() };
    of_charts(&build_charts(run, &options, &|name| NAMES.contains(&name)), spans)
}

/// The curves of charts on these axes.
pub fn of_charts(charts: &[Chart], spans: &SeedSpans) -> Vec<SeedCurve> {
    let with_bands = charts.iter().filter(|chart| NAMES.contains(&chart.name) && chart.empty.is_empty());
    let curves = with_bands.flat_map(|chart| {
        let places = places(&spans.axis(&chart.x));
        let series = chart.series.iter().filter(|series| has_band(series));
        series
            .map(|series| SeedCurve {
                chart: chart.name.to_owned(),
                role: series.role.name().to_owned(),
                y: places.iter().map(|&x| value(series, chart.x.kind, x)).collect(),
            })
            .collect::<Vec<_>>()
    });
    curves.collect()
}

/// The bands over the curves of several runs, as charts of nothing else, whose axis is as high as the band; none of a curve
/// that only one run has.
pub fn bands(charts: &[Chart], spans: &SeedSpans, runs: &[Vec<SeedCurve>]) -> Vec<Chart> {
    let of_chart = |chart: &Chart| {
        let axis = spans.axis(&chart.x);
        let x = places(&axis);
        let series: Vec<Series> = chart
            .series
            .iter()
            .filter(|series| has_band(series))
            .filter_map(|series| band(chart.name, series.role, &x, runs))
            .collect();
        let top = series.iter().flat_map(|band| &band.y).copied().fold(chart.y.max / 1.06, f64::max);
        // A distribution function ends at 1, and its axis there.
        let max = if axis.kind == AxisKind::Time { top * 1.06 } else { chart.y.max };
        let y = Axis { max, ..chart.y.clone() };
        Chart { name: chart.name, x: chart.x.clone(), y, series, empty: "", categories: Vec::new() }
    };
    let with_bands = charts.iter().filter(|chart| NAMES.contains(&chart.name) && chart.empty.is_empty());
    with_bands.map(of_chart).filter(|chart| !chart.series.is_empty()).collect()
}

/// Of a stack, only the lowest layer stands on the axis.
fn has_band(series: &Series) -> bool {
    let is_curve = matches!(series.mark, Mark::Line | Mark::Step | Mark::Area);
    is_curve && series.y0.is_empty() && series.role != Role::Expected
}

fn places(axis: &Axis) -> Vec<f64> {
    let at = |place: usize| {
        let share = place as f64 / (POINTS - 1) as f64;
        match axis.scale {
            ScaleKind::Linear => axis.min + (axis.max - axis.min) * share,
            ScaleKind::Log => axis.min * libm::pow(axis.max / axis.min, share),
        }
    };
    (0..POINTS).map(at).collect()
}

/// The value of a series at a place. After its end a run does nothing; a distribution function is 0 before its first value, and stays
/// at its last.
fn value(series: &Series, kind: AxisKind, x: f64) -> f64 {
    let next = series.x.partition_point(|&at| at <= x);
    let (Some(&first), Some(&last)) = (series.y.first(), series.y.last()) else { return 0.0 };
    match (next, kind) {
        (0, AxisKind::Time) => first,
        (0, _) => 0.0,
        (next, AxisKind::Time) if next >= series.x.len() && x > series.x[series.x.len() - 1] => 0.0,
        (next, _) if next >= series.x.len() => last,
        (next, _) if series.mark == Mark::Step => series.y[next - 1],
        (next, _) => {
            let (from, to) = (series.x[next - 1], series.x[next]);
            let (low, high) = (series.y[next - 1], series.y[next]);
            low + (high - low) * (x - from) / (to - from)
        }
    }
}

fn band(chart: &str, role: Role, x: &[f64], runs: &[Vec<SeedCurve>]) -> Option<Series> {
    let of_run = |run: &'_ Vec<SeedCurve>| {
        run.iter()
            .position(|curve| curve.chart == chart && curve.role == role.name() && curve.y.len() == x.len())
    };
    let curves: Vec<&[f64]> = runs.iter().filter_map(|run| Some(run[of_run(run)?].y.as_slice())).collect();
    if curves.len() < 2 {
        return None;
    }
    let over = |start: f64, pick: fn(f64, f64) -> f64| -> Vec<f64> {
        (0..x.len()).map(|place| curves.iter().map(|curve| curve[place]).fold(start, pick)).collect()
    };
    let (y0, y) = (over(f64::INFINITY, f64::min), over(f64::NEG_INFINITY, f64::max));
    Some(Series { role, mark: Mark::Band, x: x.to_vec(), y, y0, ..Series::default() })
}

#[cfg(test)]
mod tests {
    use servescope_settings::scenario::Scenario;

    use super::*;

    fn run(seed: u64) -> Run {
        let mut scenario = Scenario::of_version(4);
        scenario.set_text("seed", &seed.to_string()).expect("a parameter");
        Run::simulate(&scenario, None).expect("a good scenario")
    }

    #[test]
    fn a_band_holds_the_curves_of_its_runs() {
        let runs: Vec<Run> = [1, 2, 3].into_iter().map(run).collect();
        let charts = build_charts(&runs[0], &ViewOptions::default(), &|_| true);
        let spans = SeedSpans::of(&charts).expect("something was served");
        let curves: Vec<Vec<SeedCurve>> = runs.iter().map(|run| of_run(run, &spans)).collect();
        let bands = bands(&charts, &spans, &curves);
        assert_eq!(bands.iter().map(|chart| chart.name).collect::<Vec<_>>(), NAMES);
        for (chart, series) in bands.iter().flat_map(|chart| chart.series.iter().map(move |s| (chart, s))) {
            assert_eq!((series.x.len(), series.y.len(), series.y0.len()), (POINTS, POINTS, POINTS));
            for run in &curves {
                let own =
                    run.iter().find(|curve| curve.chart == chart.name && curve.role == series.role.name());
                let own = own.expect("every run has it");
                for (place, &y) in own.y.iter().enumerate() {
                    assert!(
                        series.y0[place] <= y && y <= series.y[place],
                        "{} {:?} {place}",
                        chart.name,
                        own.role
                    );
                }
            }
            let is_wide = series.y0.iter().zip(&series.y).any(|(low, high)| low < high);
            assert!(is_wide, "{} {:?}: three seeds differ", chart.name, series.role);
            assert!(series.y.iter().all(|&y| y <= chart.y.max), "the axis holds the band");
        }
    }

    #[test]
    fn the_shown_curve_lies_in_the_band_of_its_own_run() {
        let (shown, other) = (run(1), run(2));
        let charts = build_charts(&shown, &ViewOptions::default(), &|_| true);
        let spans = SeedSpans::of(&charts).expect("something was served");
        // The page samples the charts that it shows, a thread of the pool those of its run: on the same axes they are equal.
        assert_eq!(of_charts(&charts, &spans), of_run(&shown, &spans));
        assert_ne!(of_run(&shown, &spans), of_run(&other, &spans));
    }

    #[test]
    fn one_run_has_no_band() {
        let shown = run(1);
        let charts = build_charts(&shown, &ViewOptions::default(), &|_| true);
        let spans = SeedSpans::of(&charts).expect("something was served");
        assert!(bands(&charts, &spans, &[of_run(&shown, &spans)]).is_empty());
    }

    #[test]
    fn between_and_beyond_its_points_a_curve_has_a_value() {
        let line = |mark| Series { mark, x: vec![1.0, 3.0], y: vec![0.2, 1.0], ..Series::default() };
        let at = |mark, kind, x| value(&line(mark), kind, x);
        assert_eq!(at(Mark::Line, AxisKind::Value, 0.5), 0.0);
        assert_eq!(at(Mark::Line, AxisKind::Value, 2.0), 0.2 + 0.8 * 0.5);
        assert_eq!(at(Mark::Step, AxisKind::Value, 2.0), 0.2);
        assert_eq!(at(Mark::Line, AxisKind::Value, 9.0), 1.0);
        assert_eq!(at(Mark::Line, AxisKind::Time, 9.0), 0.0);
        assert_eq!(at(Mark::Line, AxisKind::Time, 0.0), 0.2);
    }
}
