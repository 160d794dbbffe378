//! What traffic looks like before anything serves it: the charts of the workload studio. Several traces share each
//! chart, so that a source stands beside what was made of it.

use servescope_workload::Trace;
use servescope_workload::statistics::{Dispersion, log_windows, sort, sort_places};

use super::{Axis, AxisKind, Chart, Mark, Role, ScaleKind, Series, empty, y_axis_from_zero};

/// Points of a distribution's curve.
const STEPS: usize = 240;
/// Users that are shown, the busiest first.
const RANKS: usize = 200;

/// The charts of traces, each with the role that its curves have.
pub fn traffic(traces: &[(Role, &Trace)], columns: usize) -> Vec<Chart> {
    let longest_us = traces.iter().filter_map(|(_, t)| t.arrival_us.last().copied()).fold(0.0, f64::max);
    let gaps = |t: &Trace| t.arrival_us.windows(2).map(|w| (w[1] - w[0]) / 1e6).collect();
    let lengths = |column: &[u32]| column.iter().map(|&l| f64::from(l)).collect();
    let (end_us, columns) = (longest_us.max(1.0), columns.clamp(16, 4096));
    vec![
        rates("traffic_rate", "req/s", traces, end_us, columns, &|_, _| 1.0),
        rates("traffic_input_tokens", "tokens/s", traces, end_us, columns, &|t, id| {
            t.input_tokens[id].into()
        }),
        rates("traffic_output_tokens", "tokens/s", traces, end_us, columns, &|t, id| {
            t.output_tokens[id].into()
        }),
        sessions(traces, end_us),
        distributions("traffic_gaps", "s", traces, &gaps),
        dispersions(traces, longest_us / 1e6),
        distributions("traffic_input", "tokens", traces, &|t| lengths(&t.input_tokens)),
        distributions("traffic_output", "tokens", traces, &|t| lengths(&t.output_tokens)),
        users(traces),
    ]
}

/// What arrives in a second, each request with its weight, in columns of equal width; wide enough that a column of the first
/// trace holds some requests.
fn rates(
    name: &'static str,
    unit: &'static str,
    traces: &[(Role, &Trace)],
    end_us: f64,
    columns: usize,
    weight: &dyn Fn(&Trace, usize) -> f64,
) -> Chart {
    const LEAST_IN_A_COLUMN: usize = 4;
    let most = traces.first().map_or(0, |(_, t)| t.len()) / LEAST_IN_A_COLUMN;
    let columns = columns.min(most.max(16));
    let width_us = end_us / columns as f64;
    let x: Vec<f64> = (0..=columns).map(|i| i as f64 * width_us / 1e6).collect();
    let series: Vec<Series> = traces
        .iter()
        .map(|&(role, trace)| {
            let mut y = vec![0.0; columns + 1];
            for (id, t) in trace.arrival_us.iter().enumerate() {
                y[((t / width_us) as usize).min(columns - 1)] += weight(trace, id) * (1e6 / width_us);
            }
            y[columns] = y[columns - 1];
            Series { role, mark: Mark::Step, x: x.clone(), y, ..Series::default() }
        })
        .collect();
    let axis =
        Axis { unit: "s", scale: ScaleKind::Linear, kind: AxisKind::Time, min: 0.0, max: end_us / 1e6 };
    Chart { name, x: axis, y: y_axis_from_zero(unit, &series), series, empty: "", categories: Vec::new() }
}

/// Sessions of the first trace in the order in which they begin: from first to last request, with a point at each request.
/// Of many, some are shown, evenly chosen.
fn sessions(traces: &[(Role, &Trace)], end_us: f64) -> Chart {
    const MOST: usize = 200;
    /// Half the height of a session's bar.
    const HALF: f64 = 0.3;
    let name = "traffic_sessions";
    let axis =
        Axis { unit: "s", scale: ScaleKind::Linear, kind: AxisKind::Time, min: 0.0, max: end_us / 1e6 };
    let labels = traces.first().and_then(|(_, t)| Some((t, &t.metadata.as_ref()?.session)));
    let mut times_s: Vec<Vec<f64>> = Vec::new();
    if let Some((trace, labels)) = labels {
        times_s.resize(labels.names.len(), Vec::new());
        for (&session, t) in labels.index.iter().zip(&trace.arrival_us) {
            if let Some(times) = times_s.get_mut(session as usize) {
                times.push(t / 1e6);
            }
        }
        times_s.retain(|times| !times.is_empty());
    }
    if times_s.is_empty() {
        return empty(name, "empty.no_sessions", axis);
    }
    let begins: Vec<f64> = times_s.iter().map(|times| times[0]).collect();
    let order = sort_places(&begins);
    let shown = order.len().min(MOST);
    let (mut bars, mut points) = (
        Series { role: Role::Arrivals, mark: Mark::Bars, ..Series::default() },
        Series { role: Role::Served, mark: Mark::Points, ..Series::default() },
    );
    for place in 0..shown {
        let times = &times_s[order[place * order.len() / shown] as usize];
        let y = place as f64;
        bars.x.push(times[0]);
        bars.x2.push(times[times.len() - 1]);
        bars.y.push(y + HALF);
        bars.y0.push(y - HALF);
        points.x.extend(times);
        points.y.extend(times.iter().map(|_| y));
    }
    let y = Axis {
        unit: "",
        scale: ScaleKind::Linear,
        kind: AxisKind::Index,
        min: -0.5,
        max: shown as f64 - 0.5,
    };
    Chart { name, x: axis, y, series: vec![bars, points], empty: "", categories: Vec::new() }
}

/// Distribution functions over a logarithmic axis. Values of 0 lie at its left end.
fn distributions(
    name: &'static str,
    unit: &'static str,
    traces: &[(Role, &Trace)],
    values: &dyn Fn(&Trace) -> Vec<f64>,
) -> Chart {
    let mut sorted: Vec<(Role, Vec<f64>)> =
        traces.iter().map(|&(role, trace)| (role, values(trace))).collect();
    sorted.iter_mut().for_each(|(_, values)| sort(values));
    let positive = || sorted.iter().filter_map(|(_, v)| v.get(v.partition_point(|&x| x <= 0.0)).copied());
    let smallest = positive().fold(f64::INFINITY, f64::min);
    let largest = sorted.iter().filter_map(|(_, v)| v.last().copied()).fold(0.0, f64::max);
    let axis = |min, max| Axis { unit, scale: ScaleKind::Log, kind: AxisKind::Value, min, max };
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
            Series { role: *role, mark: Mark::Line, x: x.clone(), y, ..Series::default() }
        })
        .collect();
    let y = Axis { unit: "share", scale: ScaleKind::Linear, kind: AxisKind::Value, min: 0.0, max: 1.0 };
    Chart { name, x: axis(min, max), y, series, empty: "", categories: Vec::new() }
}

/// Variance over mean of counts, by the window in which arrivals are counted: 1 everywhere is Poisson.
fn dispersions(traces: &[(Role, &Trace)], end_s: f64) -> Chart {
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
            Series { role, mark: Mark::Line, x, y, ..Series::default() }
        })
        .collect();
    let ends = || series.iter().flat_map(|s| [s.x.first(), s.x.last()].into_iter().flatten().copied());
    let (min, max) = (ends().fold(f64::INFINITY, f64::min), ends().fold(0.0, f64::max));
    let axis = |min, max| Axis { unit: "s", scale: ScaleKind::Log, kind: AxisKind::Value, min, max };
    if min >= max {
        return empty(name, "empty.too_few_requests", axis(1.0, 10.0));
    }
    let values = || series.iter().flat_map(|s| s.y.iter().copied());
    let lowest = values().fold(1.0, f64::min) / 1.5;
    let highest = values().fold(1.0, f64::max) * 1.5;
    series.push(Series {
        role: Role::Expected,
        mark: Mark::RuleY,
        x: vec![min],
        y: vec![1.0],
        ..Series::default()
    });
    let y = Axis { unit: "", scale: ScaleKind::Log, kind: AxisKind::Value, min: lowest, max: highest };
    Chart { name, x: axis(min, max), y, series, empty: "", categories: Vec::new() }
}

/// Share of the requests by user, the busiest first.
fn users(traces: &[(Role, &Trace)]) -> Chart {
    let name = "traffic_users";
    let axis = |max| Axis { unit: "", scale: ScaleKind::Linear, kind: AxisKind::Index, min: -0.5, max };
    let shares = |trace: &Trace| {
        let mut counts = vec![0.0; trace.user_count()];
        trace.user.iter().for_each(|&user| counts[user as usize] += 1.0 / trace.len() as f64);
        sort(&mut counts);
        counts.reverse();
        counts.truncate(RANKS);
        counts
    };
    let ranked: Vec<(Role, Vec<f64>)> = traces.iter().map(|&(role, trace)| (role, shares(trace))).collect();
    let most = ranked.iter().map(|(_, shares)| shares.len()).max().unwrap_or(0);
    if most < 2 {
        return empty(name, "empty.one_user", axis(0.5));
    }
    let series: Vec<Series> = ranked
        .into_iter()
        .map(|(role, mut y)| {
            let x = (0..=y.len()).map(|i| i as f64 - 0.5).collect();
            y.extend(y.last().copied());
            Series { role, mark: Mark::Step, x, y, ..Series::default() }
        })
        .collect();
    let x = axis(most as f64 - 0.5);
    Chart { name, x, y: y_axis_from_zero("share", &series), series, empty: "", categories: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use servescope_workload::sessions::{AtCap, Pace};
    use servescope_workload::{LengthDistribution, SessionSpec, WorkloadSpec, generate};

    #[test]
    fn every_chart_of_two_traces_is_sound() {
        let source = generate(&WorkloadSpec::default());
        let twin = generate(&WorkloadSpec { seed: 7, ..WorkloadSpec::default() });
        let views = traffic(&[(Role::Arrivals, &source), (Role::Twin, &twin)], 300);
        assert_eq!(views.len(), 9);
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
        let views = traffic(&[(Role::Arrivals, &one)], 300);
        let why: Vec<&str> = views.iter().map(|view| view.empty).collect();
        let few = "empty.too_few_requests";
        assert_eq!(why, ["", "", "", "empty.no_sessions", few, few, "", "", "empty.one_user"]);
        assert_eq!(traffic(&[(Role::Arrivals, &Trace::default())], 300).len(), 9);
    }

    #[test]
    fn offered_tokens_are_those_of_the_requests() {
        let trace = generate(&WorkloadSpec::default());
        let views = traffic(&[(Role::Arrivals, &trace)], 300);
        for (view, tokens) in views[1..3].iter().zip([&trace.input_tokens, &trace.output_tokens]) {
            let series = &view.series[0];
            let width = series.x[1] - series.x[0];
            let drawn = series.y[..series.y.len() - 1].iter().sum::<f64>() * width;
            let offered: u64 = tokens.iter().map(|&t| u64::from(t)).sum();
            assert!((drawn / offered as f64 - 1.0).abs() < 1e-9, "{}: {drawn} of {offered}", view.name);
        }
    }

    #[test]
    fn a_session_is_a_bar_from_its_first_to_its_last_request() {
        let sessions = SessionSpec {
            turns: LengthDistribution::Fixed { value: 3 },
            context_cap: 20_000,
            at_cap: AtCap::Truncate,
            pace: Pace::Fixed { answer_s: 2.0 },
        };
        let spec = WorkloadSpec { sessions: Some(sessions), ..WorkloadSpec::default() };
        let view = &traffic(&[(Role::Arrivals, &generate(&spec))], 300)[3];
        // 600 requests in sessions of 3 are 200 sessions, and all are shown.
        let [bars, points] = &view.series[..] else { panic!("{view:?}") };
        assert_eq!((bars.x.len(), points.x.len()), (200, 600));
        assert!(bars.x.is_sorted() && bars.x.iter().zip(&bars.x2).all(|(from, to)| to - from > 4.0));
        for (x, y) in points.x.iter().zip(&points.y) {
            let place = *y as usize;
            assert!((bars.x[place]..=bars.x2[place]).contains(x));
        }
        let many = WorkloadSpec { rate_rps: 20.0, ..spec };
        let view = &traffic(&[(Role::Arrivals, &generate(&many))], 300)[3];
        assert_eq!(view.series[0].x.len(), 200);
    }
}
