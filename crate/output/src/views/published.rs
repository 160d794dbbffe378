//! The authors' points drawn over this simulator's curves.

use servescope_evidence::published::figures::{Curve, PublishedFigure, PublishedMeasure};

use super::{Axis, AxisKind, Chart, Mark, Role, ScaleKind, Series, y_axis_from_zero};

/// Role of the authors' points.
const RECORDED: Role = Role::Expected;
/// Role of the curve of the calibration on one run, where the other one is drawn too.
const ONE_RUN: Role = Role::PlainTwin;

/// A figure as a chart; the ids of its points are their places in [`PublishedFigure::points`].
pub fn figure(figure: &PublishedFigure) -> Chart {
    let is_split = figure.sweep == "policies" && figure.measure == PublishedMeasure::Attainment;
    let has_default = figure.curves.iter().any(|curve| !curve.is_one_run);
    let mut series: Vec<Series> = Vec::new();
    // Lines of three policies under two calibrations could not be distinguished.
    let drawn = figure.curves.iter().filter(|curve| !(is_split && has_default && curve.is_one_run));
    for curve in drawn {
        let role = match policy_roles(curve.policy).filter(|_| is_split) {
            Some((line, _)) => line,
            None if curve.is_one_run && has_default => ONE_RUN,
            None => role(figure.measure),
        };
        let Curve { x, y, .. } = curve.clone();
        series.push(Series { role, mark: Mark::Line, x, y, ..Series::default() });
    }
    let mut policies: Vec<&str> = figure.points.iter().map(|point| point.policy).collect();
    policies.dedup();
    for policy in policies {
        let role = policy_roles(policy).filter(|_| is_split).map_or(RECORDED, |(_, points)| points);
        let places = figure.points.iter().enumerate().filter(|(_, point)| point.policy == policy);
        let mut points = Series { role, mark: Mark::Points, ..Series::default() };
        for (place, point) in places {
            points.x.push(point.x);
            points.y.push(point.theirs);
            points.id.push(place as f64);
        }
        series.push(points);
    }
    let most = series.iter().flat_map(|s| s.x.iter().copied()).fold(0.0, f64::max);
    let x = Axis {
        unit: unit(figure.sweep),
        scale: ScaleKind::Linear,
        kind: AxisKind::Value,
        min: 0.0,
        max: most * 1.04,
    };
    let y = y_axis_from_zero(height(figure.measure), &series);
    Chart { name: name(figure), x, y, series, empty: "", categories: Vec::new() }
}

fn unit(sweep: &str) -> &'static str {
    match sweep {
        "R" => "req/s",
        _ => "",
    }
}

fn height(measure: PublishedMeasure) -> &'static str {
    match measure {
        PublishedMeasure::Throughput => "req/s",
        PublishedMeasure::E2e | PublishedMeasure::FirstToken => "s",
        PublishedMeasure::Attainment => "share",
        PublishedMeasure::Rejected => "requests",
    }
}

fn role(measure: PublishedMeasure) -> Role {
    match measure {
        PublishedMeasure::Rejected => Role::Refused,
        PublishedMeasure::FirstToken => Role::Ttft,
        _ => Role::Served,
    }
}

/// Roles of a policy's line and of its recorded points: of one colour, and only the points with a marker.
fn policy_roles(policy: &str) -> Option<(Role, Role)> {
    match policy {
        "fcfs" => Some((Role::Linear, Role::Mfu)),
        "lifo" => Some((Role::Mixed, Role::Adapters)),
        "early_abort" => Some((Role::Tbt, Role::Served)),
        _ => None,
    }
}

fn name(figure: &PublishedFigure) -> &'static str {
    let of = |names: [&'static str; 4]| match figure.measure {
        PublishedMeasure::Throughput => names[0],
        PublishedMeasure::E2e => names[1],
        PublishedMeasure::FirstToken => names[2],
        PublishedMeasure::Attainment | PublishedMeasure::Rejected => names[3],
    };
    match figure.sweep {
        "n" => of(["checked_n_throughput", "checked_n_e2e", "checked_n_first_token", "checked_n_attainment"]),
        "R" => of([
            "checked_rate_throughput",
            "checked_rate_e2e",
            "checked_rate_first_token",
            "checked_rate_attainment",
        ]),
        "alpha" => of([
            "checked_alpha_throughput",
            "checked_alpha_e2e",
            "checked_alpha_first_token",
            "checked_alpha_attainment",
        ]),
        "policies" if figure.measure == PublishedMeasure::Rejected => "checked_policies_rejected",
        "policies" => "checked_policies_attainment",
        _ => {
            of(["checked_cv_throughput", "checked_cv_e2e", "checked_cv_first_token", "checked_cv_attainment"])
        }
    }
}
