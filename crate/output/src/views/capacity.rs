//! The charts of the capacity search: what the goal's times do as the rate grows, and what a request costs against them.

use servescope_lab::capacity::{CapacityEntry, METRICS, Probe, costs};
use servescope_workload::statistics::sort_by_number;

use super::{Axis, AxisKind, Chart, Mark, Role, ScaleKind, Series, empty};

/// Roles of [`METRICS`].
const ROLES: [Role; METRICS.len()] = [Role::Ttft, Role::Tbt, Role::E2e, Role::Queue, Role::Decode];

/// The quantile of each time over the rate, with the bounds that there are.
pub fn probes(probes: &[Probe], limits_s: [f64; METRICS.len()]) -> Chart {
    let name = "capacity_curve";
    let mut sorted: Vec<&Probe> = longest(probes);
    sort_by_number(&mut sorted, |probe| probe.rate_rps);
    let mut series = Vec::new();
    for (metric, role) in ROLES.into_iter().enumerate() {
        if !limits_s[metric].is_finite() {
            continue;
        }
        let seen = || sorted.iter().filter_map(|p| Some((p.rate_rps, p.measures.quantile_s[metric]?)));
        let (x, y): (Vec<f64>, Vec<f64>) = seen().filter(|(_, s)| *s > 0.0).unzip();
        series.push(Series { role, mark: Mark::Line, x: x.clone(), y: y.clone(), ..Series::default() });
        series.push(Series { role, mark: Mark::Points, x, y, ..Series::default() });
        series.push(Series {
            role: Role::Slo,
            mark: Mark::RuleY,
            y: vec![limits_s[metric]],
            ..Series::default()
        });
    }
    let rates = || sorted.iter().map(|p| p.rate_rps);
    plane(name, ("req/s", rates().collect()), series)
}

/// The runs without those between whose rates there is a longer, more precise one.
fn longest(probes: &[Probe]) -> Vec<&Probe> {
    let is_covered = |probe: &&Probe| {
        let longer = || probes.iter().filter(|other| other.duration_s > probe.duration_s);
        longer().any(|other| other.asked_rps <= probe.asked_rps)
            && longer().any(|other| other.asked_rps >= probe.asked_rps)
    };
    probes.iter().filter(|probe| !is_covered(probe)).collect()
}

/// What a request costs against the quantiles of TTFT and of TBT, with the front that nothing beats.
pub fn fronts(entries: &[CapacityEntry]) -> [Chart; 2] {
    let (costs, is_priced) = costs(entries);
    // A thousand requests cost a number that is easy to read.
    let unit = if is_priced { "USD/1000" } else { "GPU s" };
    let scale = if is_priced { 1e3 } else { 1.0 };
    [("capacity_ttft", Role::Ttft), ("capacity_tbt", Role::Tbt)].map(|(name, role)| {
        let time = |e: &CapacityEntry| if role == Role::Ttft { e.ttft_s } else { e.tbt_s };
        let mut points: Vec<(f64, f64)> =
            entries.iter().zip(&costs).filter_map(|(e, cost)| Some(((*cost)? * scale, time(e)?))).collect();
        points.retain(|p| p.0 > 0.0 && p.1 > 0.0);
        points.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let mut best = f64::INFINITY;
        let front = points.iter().filter(|p| {
            let is_better = p.1 < best;
            best = best.min(p.1);
            is_better
        });
        let (front_x, front_y): (Vec<f64>, Vec<f64>) = front.copied().unzip();
        let (x, y): (Vec<f64>, Vec<f64>) = points.iter().copied().unzip();
        let series = vec![
            Series { role: Role::Expected, mark: Mark::Step, x: front_x, y: front_y, ..Series::default() },
            Series { role, mark: Mark::Points, x: x.clone(), y, ..Series::default() },
        ];
        plane(name, (unit, x), series)
    })
}

/// Two logarithmic axes around everything.
fn plane(name: &'static str, (unit, x): (&'static str, Vec<f64>), series: Vec<Series>) -> Chart {
    let y: Vec<f64> = series.iter().flat_map(|s| s.y.iter().copied()).collect();
    let axis = |unit, values: &[f64]| {
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(0.0, f64::max);
        Axis { unit, scale: ScaleKind::Log, kind: AxisKind::Value, min: least / 1.2, max: most * 1.2 }
    };
    if x.is_empty() || y.is_empty() {
        return empty(
            name,
            "empty.too_few_requests",
            Axis { unit, scale: ScaleKind::Log, kind: AxisKind::Value, min: 1.0, max: 10.0 },
        );
    }
    Chart { name, x: axis(unit, &x), y: axis("s", &y), series, empty: "", categories: Vec::new() }
}
