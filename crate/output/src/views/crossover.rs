//! Where the better of two settings changes, over a parameter.

use servescope_lab::compare::interval::Paired;
use servescope_lab::crossover::Crossovers;

use super::sweep::{CURVES, axis_around, y_axis};
use super::{Chart, Mark, Role, Series};

/// The metric in A and in B over the parameter, with a line at each crossover and a band over its interval.
pub fn crossover_curves(crossovers: &Crossovers) -> Chart {
    let reported: Vec<(f64, Paired)> =
        crossovers.seen.iter().filter_map(|(x, paired)| Some((*x, (*paired)?))).collect();
    let x: Vec<f64> = reported.iter().map(|(x, _)| *x).collect();
    let sides: [fn(&Paired) -> f64; 2] = [|paired| paired.a, |paired| paired.b];
    let curves = sides.map(|side| reported.iter().map(|(_, paired)| side(paired)).collect::<Vec<f64>>());
    let heights: Vec<f64> = curves.iter().flatten().copied().collect();
    let y = y_axis(crossovers.metric.path(), &heights);
    let mut series = Vec::new();
    for crossover in &crossovers.crossovers {
        let ends = vec![crossover.low, crossover.high];
        series.push(Series {
            role: Role::Slo,
            mark: Mark::Band,
            x: ends,
            y: vec![y.max; 2],
            y0: vec![y.min; 2],
            ..Series::default()
        });
        series.push(Series {
            role: Role::Slo,
            mark: Mark::RuleX,
            x: vec![crossover.value],
            ..Series::default()
        });
    }
    for (role, y) in CURVES.into_iter().zip(curves) {
        for mark in [Mark::Line, Mark::Points] {
            series.push(Series { role, mark, x: x.clone(), y: y.clone(), ..Series::default() });
        }
    }
    let range = crossovers.range;
    let mut across = axis_around([range.from, range.to].into_iter(), range.is_log, false);
    across.unit = range.id.row().unit;
    Chart { name: "crossover", ..Chart::untitled(across, y, series) }
}
