//! Charts of latency: distribution functions, TTFT by arrival, and where the time went.

use servescope_engine::metrics::groups::busiest_first;
use servescope_engine::{LatencyBreakdown, Outcome};
use servescope_lab::run::Run;
use servescope_workload::BASE_MODEL;
use servescope_workload::statistics::sort;

use super::client_roles::own_role;
use super::{
    Axis, AxisKind, Chart, ChartWindow, Mark, Role, ScaleKind, Series, SplitBy, empty, y_axis_from_zero,
};

/// Points of a distribution function.
const CURVE_POINTS: usize = 160;
/// Most points of a scatter chart.
const SCATTER_POINTS: usize = 800;
/// A bound above this many times the highest point is left out of the axis.
const FAR_ABOVE: f64 = 3.0;

fn curve(role: Role, mut times_s: Vec<f64>) -> Series {
    sort(&mut times_s);
    let n = times_s.len();
    let stride = n.div_ceil(CURVE_POINTS).max(1);
    let places = (0..n).step_by(stride).chain([n - 1]);
    let (x, y) = places.map(|i| (times_s[i], (i + 1) as f64 / n as f64)).unzip();
    Series { role, mark: Mark::Line, x, y, ..Series::default() }
}

/// Distribution functions of TTFT, every token gap, and end-to-end time, with the bound on TTFT.
pub(super) fn latency_cdf(run: &Run) -> Chart {
    let report = &run.report;
    let completed = || (0..report.results.len()).filter(|&id| report.is_completed(id));
    let axis = |min, max| Axis { unit: "s", scale: ScaleKind::Log, kind: AxisKind::Value, min, max };
    let ttft: Vec<f64> = completed().filter_map(|id| report.ttft_us(id)).map(|t| t / 1e6).collect();
    if ttft.is_empty() {
        return empty("latency_cdf", "empty.nothing_completed", axis(0.01, 1.0));
    }
    let e2e: Vec<f64> = completed().filter_map(|id| report.e2e_us(id)).map(|t| t / 1e6).collect();
    let gaps = run.token_gaps().cdf(CURVE_POINTS);
    let mut series = vec![curve(Role::Ttft, ttft), curve(Role::E2e, e2e)];
    if !gaps.is_empty() {
        let (x, y) = gaps.into_iter().map(|(us, share)| (us / 1e6, share)).unzip();
        series.insert(1, Series { role: Role::Tbt, mark: Mark::Line, x, y, ..Series::default() });
    }
    let times = series.iter().flat_map(|s| s.x.iter().copied()).filter(|&t| t > 0.0);
    let (min, max) = times.fold((f64::INFINITY, 0.0f64), |(min, max), t| (min.min(t), max.max(t)));
    let slo = run.scenario.slo().ttft_s;
    series.push(Series {
        role: Role::Slo,
        mark: Mark::RuleX,
        x: vec![slo],
        y: vec![0.0],
        ..Series::default()
    });
    let (min, max) =
        if min < max { (min.max(max * 1e-6), max) } else { (max.max(1e-6) / 2.0, max.max(1e-6) * 2.0) };
    let y = Axis { unit: "share", scale: ScaleKind::Linear, kind: AxisKind::Value, min: 0.0, max: 1.0 };
    Chart {
        name: "latency_cdf",
        x: axis(min.min(slo), max.max(slo) * 1.05),
        y,
        series,
        empty: "",
        categories: Vec::new(),
    }
}

/// TTFT of each request at its arrival, of several users in the colours of the users; rejected requests lie at 0. Too many
/// points are thinned to the extremes of each stretch.
pub(super) fn ttft_by_arrival(run: &Run, window: &ChartWindow) -> Chart {
    let report = &run.report;
    let arrivals = &report.trace.arrival_us;
    let inside =
        arrivals.partition_point(|&t| t < window.start_us)..arrivals.partition_point(|&t| t <= window.end_us);
    let stretch = inside.len().div_ceil(SCATTER_POINTS / 2).max(1);
    let users = &report.trace.user;
    let is_one = report.trace.user_count() < 2;
    let mut served: Vec<Series> = Vec::new();
    let mut refused = Series { role: Role::Refused, mark: Mark::Points, ..Series::default() };
    let add = |series: &mut Series, id: usize, y: f64| {
        series.x.push(arrivals[id] / 1e6);
        series.y.push(y);
        series.id.push(id as f64);
    };
    let ids: Vec<usize> = inside.collect();
    for chunk in ids.chunks(stretch) {
        let ttft = |id: usize| report.ttft_us(id).map(|t| (id, t / 1e6));
        let mut points: Vec<(usize, f64)> = chunk.iter().filter_map(|&id| ttft(id)).collect();
        if points.len() > 2 {
            let by_time = |a: &&(usize, f64), b: &&(usize, f64)| a.1.total_cmp(&b.1);
            let (low, high) = (
                *points.iter().min_by(by_time).expect("some"),
                *points.iter().max_by(by_time).expect("some"),
            );
            points = if low.0 < high.0 { vec![low, high] } else { vec![high, low] };
        }
        for (id, t) in points {
            let own = if is_one { None } else { own_role(i64::from(users[id])) };
            add(of_role(&mut served, own.unwrap_or(Role::Ttft)), id, t);
        }
        if let Some(&id) =
            chunk.iter().find(|&&id| matches!(report.results[id].outcome, Outcome::Rejected(_)))
        {
            add(&mut refused, id, 0.0);
        }
    }
    let slo = run.scenario.slo().ttft_s;
    // Users in their order, all others behind them, so that a drag keeps the legend as it is.
    served.sort_by_key(|series| (series.role == Role::Ttft, series.role as usize));
    let mut series = served;
    if !refused.x.is_empty() {
        series.push(refused);
    }
    let mut y = y_axis_from_zero("s", &series);
    // A bound far above every point would press them all on the axis; its label stands at the edge then.
    let top = series.iter().flat_map(|series| &series.y).copied().fold(0.0, f64::max);
    if top == 0.0 || slo <= FAR_ABOVE * top {
        y.max = y.max.max(slo * 1.1);
    }
    series.push(Series {
        role: Role::Slo,
        mark: Mark::RuleY,
        x: vec![0.0],
        y: vec![slo],
        label: format!("SLO {slo} s"),
        ..Series::default()
    });
    window.chart("ttft_by_arrival", y, series)
}

/// The points of this role.
fn of_role(all: &mut Vec<Series>, role: Role) -> &mut Series {
    let place = all.iter().position(|series| series.role == role).unwrap_or_else(|| {
        all.push(Series { role, mark: Mark::Points, ..Series::default() });
        all.len() - 1
    });
    &mut all[place]
}

/// Where the time went: mean of each part of E2E, stacked, by adapter or user (the busiest and all others) or by length class.
/// The unit of the axis says which.
pub(super) fn time_split(run: &Run, split_by: SplitBy) -> Chart {
    let report = &run.report;
    let splits: Vec<(usize, LatencyBreakdown)> = (0..report.results.len())
        .filter(|&id| report.is_completed(id))
        .filter_map(|id| Some((id, report.split(id)?)))
        .collect();
    if splits.is_empty() {
        let axis = Axis { unit: "", scale: ScaleKind::Linear, kind: AxisKind::Index, min: -0.5, max: 0.5 };
        return empty("time_split", "empty.nothing_completed", axis);
    }
    let (unit, (names, class_of)) = match split_by {
        SplitBy::User => ("user", by_user(run)),
        SplitBy::Adapter if run.uses_adapters() => ("adapter", by_adapter(run)),
        SplitBy::Adapter | SplitBy::Length => ("length", by_tokens(run)),
    };
    let mut sums = vec![[0.0; 5]; names.len()];
    let mut counts = vec![0.0; names.len()];
    for (id, split) in &splits {
        let class = class_of[*id];
        counts[class] += 1.0;
        for (sum, part) in sums[class].iter_mut().zip(split.parts()) {
            *sum += part / 1e6;
        }
    }
    let kept: Vec<usize> = (0..names.len()).filter(|&c| counts[c] > 0.0).collect();
    let mut base = vec![0.0; kept.len()];
    let roles = [Role::Queue, Role::Load, Role::Prefill, Role::Stalled, Role::Decode];
    let series: Vec<Series> = roles
        .iter()
        .enumerate()
        .map(|(part, role)| {
            let y: Vec<f64> =
                kept.iter().zip(&base).map(|(&c, below)| below + sums[c][part] / counts[c]).collect();
            let y0 = std::mem::replace(&mut base, y.clone());
            Series {
                role: *role,
                mark: Mark::Bars,
                x: (0..kept.len()).map(|i| i as f64 - 0.38).collect(),
                x2: (0..kept.len()).map(|i| i as f64 + 0.38).collect(),
                y,
                y0,
                ..Series::default()
            }
        })
        .collect();
    let x = Axis {
        unit,
        scale: ScaleKind::Linear,
        kind: AxisKind::Index,
        min: -0.5,
        max: kept.len() as f64 - 0.5,
    };
    let categories = kept.iter().map(|&c| names[c].clone()).collect();
    Chart { name: "time_split", x, y: y_axis_from_zero("s", &series), series, empty: "", categories }
}

/// The busiest adapters, by index, and the others; "base" is a word of the page.
fn by_adapter(run: &Run) -> (Vec<String>, Vec<usize>) {
    let trace = &run.report.trace;
    let count = trace.adapter_count();
    let place = |a: u32| if a == BASE_MODEL { count } else { a as usize };
    let places: Vec<usize> = trace.adapter.iter().map(|&a| place(a)).collect();
    busiest(&places, |a| if a == count { "base".to_owned() } else { a.to_string() })
}

/// The busiest users, by index, and the others.
fn by_user(run: &Run) -> (Vec<String>, Vec<usize>) {
    let places: Vec<usize> = run.report.trace.user.iter().map(|&user| user as usize).collect();
    busiest(&places, |user| user.to_string())
}

/// The eleven groups with most requests, and the others, which is a word of the page; and the class of each request.
fn busiest(group_of: &[usize], name: impl Fn(usize) -> String) -> (Vec<String>, Vec<usize>) {
    const SHOWN: usize = 11;
    let mut offered = vec![0u32; group_of.iter().max().map_or(0, |last| last + 1)];
    group_of.iter().for_each(|&group| offered[group] += 1);
    let mut order = busiest_first(&offered);
    let others = order.len() > SHOWN + 1;
    if others {
        order.truncate(SHOWN);
    }
    let mut class = vec![order.len(); offered.len()];
    order.iter().enumerate().for_each(|(c, &group)| class[group] = c);
    let mut names: Vec<String> = order.iter().map(|&group| name(group)).collect();
    if others {
        names.push("others".to_owned());
    }
    (names, group_of.iter().map(|&group| class[group]).collect())
}

/// Eight classes of prompt + output length with about equally many requests.
fn by_tokens(run: &Run) -> (Vec<String>, Vec<usize>) {
    const CLASSES: usize = 8;
    let trace = &run.report.trace;
    let total: Vec<u32> = trace.input_tokens.iter().zip(&trace.output_tokens).map(|(i, o)| i + o).collect();
    let mut sorted: Vec<f64> = total.iter().map(|&t| f64::from(t)).collect();
    sort(&mut sorted);
    let mut edges: Vec<u32> =
        (1..=CLASSES).map(|c| sorted[c * (sorted.len() - 1) / CLASSES] as u32).collect();
    edges.dedup();
    let names = edges.iter().map(|edge| format!("≤{edge}")).collect();
    (names, total.iter().map(|t| edges.partition_point(|edge| edge < t)).collect())
}

#[cfg(test)]
mod tests {
    use servescope_settings::scenario::Scenario;

    use super::*;
    use crate::views::ViewOptions;

    fn split(settings: &[(&str, &str)], by: SplitBy) -> Chart {
        let mut scenario = Scenario::of_version(4);
        for (path, text) in settings {
            scenario.set_text(path, text).expect("a parameter");
        }
        time_split(&Run::simulate(&scenario, None).expect("a good scenario"), by)
    }

    #[test]
    fn the_axis_says_what_the_groups_are() {
        let users = split(&[("workload.users.count", "5")], SplitBy::User);
        assert_eq!((users.x.unit, users.categories.len()), ("user", 5));
        let many = split(&[("workload.users.count", "40")], SplitBy::User);
        assert_eq!((many.categories.len(), many.categories.last().map(String::as_str)), (12, Some("others")));
        assert_eq!(split(&[], SplitBy::Adapter).x.unit, "adapter");
        assert_eq!(split(&[], SplitBy::Length).x.unit, "length");
        let none = split(&[("workload.adapters.count", "0")], SplitBy::Adapter);
        assert_eq!(none.x.unit, "length", "without adapters there is nothing to split by them");
    }

    #[test]
    fn a_bound_far_above_every_point_does_not_stretch_the_axis() {
        let with_bound = |factor: f64| {
            let mut scenario = Scenario::of_version(4);
            let run = Run::simulate(&scenario, None).expect("a good scenario");
            let window = ChartWindow::of(&run, &ViewOptions::default());
            let points = |chart: &Chart| {
                let points = chart.series.iter().filter(|series| series.mark == Mark::Points);
                points.flat_map(|series| &series.y).copied().fold(0.0, f64::max)
            };
            let top = points(&ttft_by_arrival(&run, &window));
            scenario.set_text("slo.ttft_s", &(factor * top).to_string()).expect("a bound");
            let run = Run::simulate(&scenario, None).expect("a good scenario");
            let chart = ttft_by_arrival(&run, &window);
            let rule = chart.series.last().expect("the bound");
            assert_eq!(rule.label, format!("SLO {} s", rule.y[0]));
            (chart.y.max / top, rule.y[0] / top)
        };
        for factor in [0.5, 1.0, 2.9] {
            let (axis, bound) = with_bound(factor);
            assert!(axis > bound && axis >= 1.0, "{factor}: {axis} {bound}");
        }
        let (axis, bound) = with_bound(3.1);
        assert!((1.0..1.1).contains(&axis) && bound > 3.0, "{axis} {bound}");
    }

    #[test]
    fn every_request_is_in_a_group_of_its_own_kind() {
        let (names, classes) = busiest(&[4, 4, 4, 1, 1, 0], |group| group.to_string());
        assert_eq!(names, ["4", "1", "0"]);
        assert_eq!(classes, [0, 0, 0, 1, 1, 2]);
    }
}
