//! A heat map over two parameters: a rectangle a point in the shade of its value, and the contour at the bound of the SLO.

use servescope_lab::sweep::{AxisValues, Results, Row};
use servescope_settings::parameters::Id;
use servescope_workload::statistics::sort;

use super::super::{Axis, AxisKind, Chart, Mark, Role, ScaleKind, Series};

/// From low to high.
const SHADES: [Role; 9] = [
    Role::Shade0,
    Role::Shade1,
    Role::Shade2,
    Role::Shade3,
    Role::Shade4,
    Role::Shade5,
    Role::Shade6,
    Role::Shade7,
    Role::Shade8,
];

/// From this ratio of the largest to the smallest value on, shades go by ratio.
const RATIO: f64 = 20.0;

/// The values that have a shade.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shade {
    /// The shade.
    pub role: Role,
    /// The least value.
    pub low: f64,
    /// The largest value.
    pub high: f64,
}

/// What the shades of a metric's maps mean: the same in each, so that they can be compared.
pub fn shades_of(results: &Results, metric: usize) -> Vec<Shade> {
    shades(results.rows.iter().filter_map(|row| Some(row.cells[metric]?.mean)))
}

/// The map of a metric over the axes `x` and `y`, of points that differ in nothing else. The cells carry the number of their point
/// in the sweep. A point without a value is left out.
pub fn map(
    results: &Results,
    (x, y): (usize, usize),
    metric: usize,
    rows: &[&Row],
    shades: &[Shade],
    bound: Option<f64>,
) -> Chart {
    let (across, upwards) = (Places::of(&results.axes[x]), Places::of(&results.axes[y]));
    let mut cells: Vec<(usize, usize, f64, f64)> = Vec::new();
    let mut grid = vec![vec![None; across.values.len()]; upwards.values.len()];
    for row in rows {
        let value = row.cells[metric].map(|cell| cell.mean);
        let places = across.place(row.point[x].as_f64()).zip(upwards.place(row.point[y].as_f64()));
        if let (Some(value), Some((column, line))) = (value, places) {
            cells.push((column, line, value, results.number(row) as f64));
            grid[line][column] = Some(value);
        }
    }
    let mut series: Vec<Series> = shades
        .iter()
        .map(|shade| Series { role: shade.role, mark: Mark::Bars, ..Series::default() })
        .collect();
    for (column, line, value, id) in cells {
        let of = shades.iter().position(|shade| value <= shade.high).unwrap_or(shades.len() - 1);
        let shaded = &mut series[of];
        shaded.x.push(across.edges[column]);
        shaded.x2.push(across.edges[column + 1]);
        shaded.y0.push(upwards.edges[line]);
        shaded.y.push(upwards.edges[line + 1]);
        shaded.id.push(id);
    }
    if let Some(bound) = bound {
        let contour = contour(&grid, bound);
        let of = |places: &Places, at: fn(&(f64, f64)) -> f64| {
            contour.iter().map(|point| places.at(at(point))).collect::<Vec<f64>>()
        };
        let (x, y) = (of(&across, |point| point.0), of(&upwards, |point| point.1));
        if !x.is_empty() {
            series.push(Series { role: Role::Slo, mark: Mark::Line, x, y, ..Series::default() });
        }
    }
    Chart::untitled(across.axis, upwards.axis, series)
}

/// The values of an axis in ascending order, with the edges of their cells.
struct Places {
    values: Vec<f64>,
    edges: Vec<f64>,
    axis: Axis,
    is_log: bool,
}

impl Places {
    fn of(over: &AxisValues) -> Self {
        let mut values = over.numbers().unwrap_or_default();
        sort(&mut values);
        let is_log = over.is_log();
        let to = |x: f64| if is_log { libm::log(x) } else { x };
        let from = |x: f64| if is_log { libm::exp(x) } else { x };
        let middle = |pair: &[f64]| from(0.5 * (to(pair[0]) + to(pair[1])));
        let mut edges: Vec<f64> = values.windows(2).map(middle).collect();
        let mirrored = |value: f64, edge: f64| from(2.0 * to(value) - to(edge));
        if let (Some(&first), Some(&last)) = (edges.first(), edges.last()) {
            edges.insert(0, mirrored(values[0], first));
            edges.push(mirrored(values[values.len() - 1], last));
        }
        let axis = Axis {
            unit: Id::from_path(&over.path).map_or("", |id| id.row().unit),
            scale: if is_log { ScaleKind::Log } else { ScaleKind::Linear },
            kind: AxisKind::Value,
            min: edges.first().copied().unwrap_or(0.0),
            max: edges.last().copied().unwrap_or(1.0),
        };
        Self { values, edges, axis, is_log }
    }

    fn place(&self, value: Option<f64>) -> Option<usize> {
        self.values.iter().position(|known| Some(*known) == value)
    }

    /// The value between two places; NaN stays NaN.
    fn at(&self, place: f64) -> f64 {
        if place.is_nan() {
            return place;
        }
        let below = (place as usize).min(self.values.len() - 2);
        let (low, high, share) = (self.values[below], self.values[below + 1], place - below as f64);
        if self.is_log { low * libm::pow(high / low, share) } else { low + (high - low) * share }
    }
}

/// Equal steps from the least value to the largest, or equal ratios where they are far apart.
fn shades(values: impl Iterator<Item = f64>) -> Vec<Shade> {
    let (low, high) =
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    if low > high {
        return Vec::new();
    }
    if low == high {
        return vec![Shade { role: SHADES[SHADES.len() / 2], low, high }];
    }
    let is_log = low > 0.0 && high / low >= RATIO;
    let end = |step: usize| {
        let share = step as f64 / SHADES.len() as f64;
        match step {
            0 => low,
            step if step == SHADES.len() => high,
            _ if is_log => low * libm::pow(high / low, share),
            _ => low + (high - low) * share,
        }
    };
    SHADES
        .into_iter()
        .enumerate()
        .map(|(step, role)| Shade { role, low: end(step), high: end(step + 1) })
        .collect()
}

/// Where a grid of values crosses a level, between the places of its values: two ends of a line, then NaN, and so on. Marching
/// squares; of a saddle the mean of the corners decides which corners belong together.
fn contour(grid: &[Vec<Option<f64>>], level: f64) -> Vec<(f64, f64)> {
    let mut lines = Vec::new();
    for line in 1..grid.len() {
        for column in 1..grid[line].len() {
            let corner = |dx: usize, dy: usize| grid[line - 1 + dy][column - 1 + dx];
            // Around the square, from the corner at its lower left.
            let corners = [corner(0, 0), corner(1, 0), corner(1, 1), corner(0, 1)];
            let Some(values) = corners.into_iter().collect::<Option<Vec<f64>>>() else { continue };
            let at = [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)];
            let is_above = |corner: usize| values[corner] > level;
            let crossed: Vec<usize> =
                (0..4).filter(|&side| is_above(side) != is_above((side + 1) % 4)).collect();
            let point = |side: usize| {
                let (a, b) = (side, (side + 1) % 4);
                let share = (level - values[a]) / (values[b] - values[a]);
                let (left, low) = ((column - 1) as f64, (line - 1) as f64);
                (left + at[a].0 + (at[b].0 - at[a].0) * share, low + at[a].1 + (at[b].1 - at[a].1) * share)
            };
            let middle_is_above = values.iter().sum::<f64>() / 4.0 > level;
            let pairs: &[[usize; 2]] = match crossed.as_slice() {
                [] => &[],
                &[a, b] => &[[a, b]],
                // Side 0 and side 3 meet at corner 0: cut it off where the middle is with the corners beside it.
                _ if is_above(0) == middle_is_above => &[[0, 1], [2, 3]],
                _ => &[[3, 0], [1, 2]],
            };
            for &[a, b] in pairs {
                lines.extend([point(a), point(b), (f64::NAN, f64::NAN)]);
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_contour_of_a_plane_is_a_straight_line() {
        let grid: Vec<Vec<Option<f64>>> =
            (0..4).map(|y| (0..5).map(|x| Some(f64::from(x + y))).collect()).collect();
        let lines = contour(&grid, 2.5);
        assert!(!lines.is_empty() && lines.len().is_multiple_of(3));
        for line in lines.chunks(3) {
            assert!(
                (line[0].0 + line[0].1 - 2.5).abs() < 1e-12 && (line[1].0 + line[1].1 - 2.5).abs() < 1e-12
            );
            assert!(line[2].0.is_nan());
        }
        assert!(contour(&grid, 9.0).is_empty() && contour(&grid, -1.0).is_empty());
    }

    #[test]
    fn a_saddle_is_cut_by_its_middle_and_a_missing_value_leaves_a_gap() {
        let saddle = |low: f64| vec![vec![Some(2.0), Some(low)], vec![Some(low), Some(2.0)]];
        // The middle is above 1: corners 0 and 2 are joined, each of the others is cut off.
        let joined = contour(&saddle(0.5), 1.0);
        assert_eq!(joined.len(), 6);
        assert!(joined[0].0 > 0.5 && joined[0].1 == 0.0 && joined[1].0 == 1.0, "{joined:?}");
        // The middle is below 1: each of them is cut off.
        let apart = contour(&saddle(-1.0), 1.0);
        assert!(apart[0].0 == 0.0 && apart[1].1 == 0.0 && apart[1].0 < 0.5, "{apart:?}");
        let gap = vec![vec![Some(0.0), Some(2.0)], vec![Some(0.0), None]];
        assert!(contour(&gap, 1.0).is_empty());
    }

    #[test]
    fn shades_go_by_ratio_where_values_are_far_apart() {
        let even = shades([0.0, 9.0].into_iter());
        assert_eq!((even.len(), even[0].high, even[8].high), (9, 1.0, 9.0));
        let ratio = shades([1.0, 512.0].into_iter());
        assert!((ratio[0].high - 2.0).abs() < 1e-12 && ratio[8].high == 512.0);
        assert_eq!(shades([3.0, 3.0].into_iter()).len(), 1);
        assert!(shades(std::iter::empty()).is_empty());
    }
}
