//! What traffic looks like before anything serves it: the charts of the workload studio. Several traces share each
//! chart, so that a source stands beside what was made of it.

use servescope_workload::Trace;
use servescope_workload::statistics::{Dispersion, log_windows, sort};

use super::{Axis, Series, View, empty, upward};

/// Points of a distribution's curve.
const STEPS: usize = 240;
/// Users that are shown, the busiest first.
const RANKS: usize = 200;

/// The charts of traces, each with the role that its curves have.
pub fn traffic(traces: &[(&'static str, &Trace)], columns: usize) -> Vec<View> {
    let longest_us = traces.iter().filter_map(|(_, t)| t.arrival_us.last().copied()).fold(0.0, f64::max);
    let gaps = |t: &Trace| t.arrival_us.windows(2).map(|w| (w[1] - w[0]) / 1e6).collect();
    let lengths = |column: &[u32]| column.iter().map(|&l| f64::from(l)).collect();
    vec![
        rates(traces, longest_us.max(1.0), columns.clamp(16, 4096)),
        distributions("traffic_gaps", "s", traces, &gaps),
        dispersions(traces, longest_us / 1e6),
        distributions("traffic_input", "tokens", traces, &|t| lengths(&t.input_tokens)),
        distributions("traffic_output", "tokens", traces, &|t| lengths(&t.output_tokens)),
        users(traces),
    ]
}

/// Requests a second in columns of equal width; wide enough that a column of the first trace holds some requests.
fn rates(traces: &[(&'static str, &Trace)], end_us: f64, columns: usize) -> View {
    const LEAST_IN_A_COLUMN: usize = 4;
    let most = traces.first().map_or(0, |(_, t)| t.len()) / LEAST_IN_A_COLUMN;
    let columns = columns.min(most.max(16));
    let width_us = end_us / columns as f64;
    let x: Vec<f64> = (0..=columns).map(|i| i as f64 * width_us / 1e6).collect();
    let series: Vec<Series> = traces
        .iter()
        .map(|&(role, trace)| {
            let mut y = vec![0.0; columns + 1];
            for t in &trace.arrival_us {
                y[((t / width_us) as usize).min(columns - 1)] += 1e6 / width_us;
            }
            y[columns] = y[columns - 1];
            Series { role, mark: "step", x: x.clone(), y, ..Series::default() }
        })
        .collect();
    let axis = Axis { unit: "s", scale: "linear", kind: "time", min: 0.0, max: end_us / 1e6 };
    View {
        name: "traffic_rate",
        x: axis,
        y: upward("req/s", &series),
        series,
        empty: "",
        categories: Vec::new(),
    }
}

/// Distribution functions over a logarithmic axis. Values of 0 lie at its left end.
fn distributions(
    name: &'static str,
    unit: &'static str,
    traces: &[(&'static str, &Trace)],
    values: &dyn Fn(&Trace) -> Vec<f64>,
) -> View {
    let mut sorted: Vec<(&'static str, Vec<f64>)> =
        traces.iter().map(|&(role, trace)| (role, values(trace))).collect();
    sorted.iter_mut().for_each(|(_, values)| sort(values));
    let positive = || sorted.iter().filter_map(|(_, v)| v.get(v.partition_point(|&x| x <= 0.0)).copied());
    let smallest = positive().fold(f64::INFINITY, f64::min);
    let largest = sorted.iter().filter_map(|(_, v)| v.last().copied()).fold(0.0, f64::max);
    let axis = |min, max| Axis { unit, scale: "log", kind: "value", min, max };
    if !(smallest.is_finite() && largest > 0.0) {
        return empty(name, "empty.too_few_requests", axis(1.0, 10.0));
    }
    // The shortest gap of a million may be a nanosecond: six decades are enough to look at.
    let (min, max) =
        (smallest.max(largest * 1e-6), if largest > smallest { largest } else { largest * 10.0 });
    let ratio = libm::log(max / min) / STEPS as f64;
    let x: Vec<f64> = (0..=STEPS).map(|i| min * libm::exp(ratio * i as f64)).collect();
    let series: Vec<Series> = sorted
        .iter()
        .filter(|(_, values)| !values.is_empty())
        .map(|(role, values)| {
            let below = |x: &f64| values.partition_point(|v| *v <= x * (1.0 + 1e-12)) as f64;
            let y = x.iter().map(|x| below(x) / values.len() as f64).collect();
            Series { role, mark: "line", x: x.clone(), y, ..Series::default() }
        })
        .collect();
    let y = Axis { unit: "share", scale: "linear", kind: "value", min: 0.0, max: 1.0 };
    View { name, x: axis(min, max), y, series, empty: "", categories: Vec::new() }
}

/// Variance over mean of counts, by the window in which arrivals are counted: 1 everywhere is Poisson.
fn dispersions(traces: &[(&'static str, &Trace)], end_s: f64) -> View {
    let name = "traffic_dispersion";
    let windows = log_windows(end_s);
    let mut series: Vec<Series> = traces
        .iter()
        .map(|&(role, trace)| {
            let times_s: Vec<f64> = trace.arrival_us.iter().map(|t| t / 1e6).collect();
            let dispersion = Dispersion::of(&times_s, &windows);
            let known =
                dispersion.window_s.into_iter().zip(dispersion.index).filter(|(_, index)| *index > 0.0);
            let (x, y) = known.unzip();
            Series { role, mark: "line", x, y, ..Series::default() }
        })
        .collect();
    let ends = || series.iter().flat_map(|s| [s.x.first(), s.x.last()].into_iter().flatten().copied());
    let (min, max) = (ends().fold(f64::INFINITY, f64::min), ends().fold(0.0, f64::max));
    let axis = |min, max| Axis { unit: "s", scale: "log", kind: "value", min, max };
    if min >= max {
        return empty(name, "empty.too_few_requests", axis(1.0, 10.0));
    }
    let values = || series.iter().flat_map(|s| s.y.iter().copied());
    let lowest = values().fold(1.0, f64::min) / 1.5;
    let highest = values().fold(1.0, f64::max) * 1.5;
    series.push(Series { role: "expected", mark: "rule_y", x: vec![min], y: vec![1.0], ..Series::default() });
    let y = Axis { unit: "", scale: "log", kind: "value", min: lowest, max: highest };
    View { name, x: axis(min, max), y, series, empty: "", categories: Vec::new() }
}

/// Share of the requests by user, the busiest first.
fn users(traces: &[(&'static str, &Trace)]) -> View {
    let name = "traffic_users";
    let axis = |max| Axis { unit: "", scale: "linear", kind: "index", min: -0.5, max };
    let shares = |trace: &Trace| {
        let mut counts = vec![0.0; trace.user_count()];
        trace.user.iter().for_each(|&user| counts[user as usize] += 1.0 / trace.len() as f64);
        sort(&mut counts);
        counts.reverse();
        counts.truncate(RANKS);
        counts
    };
    let ranked: Vec<(&'static str, Vec<f64>)> =
        traces.iter().map(|&(role, trace)| (role, shares(trace))).collect();
    let most = ranked.iter().map(|(_, shares)| shares.len()).max().unwrap_or(0);
    if most < 2 {
        return empty(name, "empty.one_user", axis(0.5));
    }
    let series: Vec<Series> = ranked
        .into_iter()
        .map(|(role, mut y)| {
            let x = (0..=y.len()).map(|i| i as f64 - 0.5).collect();
            y.extend(y.last().copied());
            Series { role, mark: "step", x, y, ..Series::default() }
        })
        .collect();
    let x = axis(most as f64 - 0.5);
    View { name, x, y: upward("share", &series), series, empty: "", categories: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use servescope_workload::{WorkloadSpec, generate};

    #[test]
    fn every_chart_of_two_traces_is_sound() {
        let source = generate(&WorkloadSpec::default());
        let twin = generate(&WorkloadSpec { seed: 7, ..WorkloadSpec::default() });
        let views = traffic(&[("arrivals", &source), ("twin", &twin)], 300);
        assert_eq!(views.len(), 6);
        for view in views.iter().filter(|view| view.empty.is_empty()) {
            assert!(view.x.max > view.x.min && view.y.max > view.y.min, "{view:?}");
            for series in &view.series {
                assert_eq!(series.x.len(), series.y.len());
                assert!(series.x.iter().chain(&series.y).all(|v| v.is_finite()), "{}", view.name);
            }
        }
        let rate = &views[0].series[0];
        let width = rate.x[1] - rate.x[0];
        let counted = rate.y[..rate.y.len() - 1].iter().sum::<f64>() * width;
        assert!((counted - source.len() as f64).abs() < 1e-6, "{counted}");
    }

    #[test]
    fn little_traffic_says_why_it_shows_nothing() {
        let spec = WorkloadSpec { rate_rps: 0.01, duration_s: 100.0, ..WorkloadSpec::default() };
        let one = generate(&spec);
        assert_eq!(one.len(), 1);
        let views = traffic(&[("arrivals", &one)], 300);
        let why: Vec<&str> = views.iter().map(|view| view.empty).collect();
        let few = "empty.too_few_requests";
        assert_eq!(why, ["", few, few, "", "", "empty.one_user"]);
        assert_eq!(traffic(&[("arrivals", &Trace::default())], 300).len(), 6);
    }
}
