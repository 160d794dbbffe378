//! A measured run over its simulation: of each time both distributions and a point a request, and the error of the TTFT by prompt
//! length.

use servescope_evidence::overlay::{Overlay, Pair, Times};
use servescope_workload::statistics::sort;

use super::sweep::axis_around;
use super::{Axis, Chart, Mark, Role, Series};

/// Most points of a series: of more requests, evenly many of them.
const POINTS: usize = 2000;

type Of = fn(&Times) -> Option<f64>;

/// The times that are drawn: the names of their charts.
const TIMES: [(&str, &str, Of); 3] = [
    ("ttft_distribution", "ttft_requests", |times| times.ttft_s),
    ("itl_distribution", "itl_requests", |times| times.itl_s),
    ("e2e_distribution", "e2e_requests", |times| times.e2e_s),
];

/// The chart of the error by prompt length.
const BY_INPUT: &str = "ttft_error_by_input";

/// The charts of a run whose file contains times of single requests; of any other none.
pub fn overlay_charts(overlay: &Overlay) -> Vec<Chart> {
    let mut charts = Vec::new();
    for (of_all, of_each, of) in TIMES {
        let requests: Vec<(usize, f64, f64)> = (overlay.pairs.iter())
            .filter_map(|pair| Some((pair.id, of(&pair.measured)?, of(&pair.simulated)?)))
            .collect();
        if requests.is_empty() {
            continue;
        }
        charts.push(Chart { name: of_all, ..distribution(&requests) });
        if overlay.is_matched {
            charts.push(Chart { name: of_each, ..same_in_both(&requests) });
        }
    }
    if overlay.is_matched && charts.iter().any(|chart| chart.name == TIMES[0].0) {
        charts.push(by_input(&overlay.pairs));
    }
    charts
}

/// Values in their order with the share that is at most as large.
fn shares(values: impl Iterator<Item = f64>) -> (Vec<f64>, Vec<f64>) {
    let mut values: Vec<f64> = values.collect();
    sort(&mut values);
    let (count, step) = (values.len(), values.len().div_ceil(POINTS));
    // From the end, so that the largest value is among them.
    let mut places: Vec<usize> = (0..count).rev().step_by(step.max(1)).collect();
    places.reverse();
    places.into_iter().map(|place| (values[place], (place + 1) as f64 / count as f64)).unzip()
}

fn distribution(requests: &[(usize, f64, f64)]) -> Chart {
    let ((x, y), (x_ours, y_ours)) =
        (shares(requests.iter().map(|one| one.1)), shares(requests.iter().map(|one| one.2)));
    let across = axis_around(x.iter().chain(&x_ours).copied(), false, true);
    let line = |role, x, y| Series { role, mark: Mark::Line, x, y, ..Series::default() };
    Chart::untitled(
        Axis { unit: "s", ..across },
        Axis { unit: "share", ..axis_around([0.0, 1.0].into_iter(), false, true) },
        vec![line(Role::Arrivals, x, y), line(Role::Waiting, x_ours, y_ours)],
    )
}

/// A point for each pair of values with its id, and the line where both are the same. Of many, evenly many.
fn same_in_both(requests: &[(usize, f64, f64)]) -> Chart {
    let one = axis_around(requests.iter().flat_map(|&(_, x, y)| [x, y]), false, true);
    let one = Axis { unit: "s", ..one };
    let ends = vec![one.min, one.max];
    let mut points = Series { role: Role::Arrivals, mark: Mark::Points, ..Series::default() };
    for &(id, x, y) in requests.iter().step_by(requests.len().div_ceil(POINTS).max(1)) {
        points.x.push(x);
        points.y.push(y);
        points.id.push(id as f64);
    }
    let same =
        Series { role: Role::Expected, mark: Mark::Line, x: ends.clone(), y: ends, ..Series::default() };
    Chart::untitled(one.clone(), one, vec![same, points])
}

/// The difference of the TTFT over the length of the prompt.
fn by_input(pairs: &[Pair]) -> Chart {
    let mut points = Series { role: Role::Arrivals, mark: Mark::Points, ..Series::default() };
    for pair in pairs.iter().step_by(pairs.len().div_ceil(POINTS).max(1)) {
        if let (Some(simulated), Some(measured)) = (pair.simulated.ttft_s, pair.measured.ttft_s) {
            points.x.push(f64::from(pair.input_tokens));
            points.y.push(simulated - measured);
            points.id.push(pair.id as f64);
        }
    }
    let x = Axis { unit: "tokens", ..axis_around(points.x.iter().copied(), false, true) };
    let y = Axis { unit: "s", ..axis_around(points.y.iter().copied().chain([0.0]), false, false) };
    let zero = Series {
        role: Role::Expected,
        mark: Mark::Line,
        x: vec![x.min, x.max],
        y: vec![0.0, 0.0],
        ..Series::default()
    };
    Chart { name: BY_INPUT, ..Chart::untitled(x, y, vec![zero, points]) }
}
