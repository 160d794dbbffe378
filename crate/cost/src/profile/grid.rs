//! A function of two quantities by knots, straight between them in both directions.

use super::line::{KnotIndex, MOST_TENTHS, TENTHS, doubled};
use crate::batch_stages::TokenLine;

/// Knots of a function of two quantities. What a cell's unit is, its user says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KnotGrid {
    /// Places of the rows, ascending.
    pub rows: Vec<u32>,
    /// Places of the columns, ascending.
    pub columns: Vec<u32>,
    /// Row by row.
    pub cells: Vec<u64>,
}

/// Points on a grid that may have gaps: (row, column, value).
pub(super) type Points = [(u32, u32, f64)];

/// A full matrix of values: what is given, and in the gaps what lies between its neighbours in the row.
struct Matrix {
    rows: Vec<u32>,
    columns: Vec<u32>,
    values: Vec<f64>,
    is_given: Vec<bool>,
}

impl Matrix {
    fn of(points: &Points) -> Self {
        let sorted = |mut list: Vec<u32>| {
            list.sort_unstable();
            list.dedup();
            list
        };
        let rows = sorted(points.iter().map(|p| p.0).collect());
        let columns = sorted(points.iter().map(|p| p.1).collect());
        let mut matrix = Self {
            values: vec![0.0; rows.len() * columns.len()],
            is_given: vec![false; rows.len() * columns.len()],
            rows,
            columns,
        };
        for &(row, column, value) in points {
            let i = matrix.rows.partition_point(|&r| r < row) * matrix.columns.len();
            let at = i + matrix.columns.partition_point(|&c| c < column);
            (matrix.values[at], matrix.is_given[at]) = (value, true);
        }
        for row in 0..matrix.rows.len() {
            matrix.fill(row);
        }
        matrix
    }

    /// Fills a row's gaps; beyond its first and last value it is level.
    fn fill(&mut self, row: usize) {
        let start = row * self.columns.len();
        let given: Vec<usize> = (0..self.columns.len()).filter(|&j| self.is_given[start + j]).collect();
        for j in 0..self.columns.len() {
            let after = given.partition_point(|&g| g < j);
            let (left, right) =
                (given[after.saturating_sub(1)], given[after.min(given.len().saturating_sub(1))]);
            let (from, to) = (self.values[start + left], self.values[start + right]);
            let width = f64::from(self.columns[right].abs_diff(self.columns[left]).max(1));
            let share = f64::from(self.columns[j].saturating_sub(self.columns[left])) / width;
            self.values[start + j] = from + share.min(1.0) * (to - from);
        }
    }

    fn at(&self, row: usize, column: usize) -> f64 {
        self.values[row * self.columns.len() + column]
    }
}

/// The two of `chosen` around each place below `count`, and the share between them.
fn around(chosen: &[usize], at: &[u32]) -> Vec<(usize, usize, f64)> {
    let mut found = Vec::with_capacity(at.len());
    for i in 0..at.len() {
        let after = chosen.partition_point(|&c| c < i);
        let (a, b) = (chosen[after.saturating_sub(1)], chosen[after]);
        let (a, b) = if b == i { (i, i) } else { (a, b) };
        let width = f64::from(at[b] - at[a]);
        found.push((a, b, if a == b { 0.0 } else { f64::from(at[i] - at[a]) / width }));
    }
    found
}

impl KnotGrid {
    /// Sets rows and columns where the error is largest, until it is small everywhere or there are `most` of either.
    /// Cells become `unit` times the values, rounded.
    pub(super) fn through(points: &Points, most: [usize; 2], relative: f64, least: f64, unit: f64) -> Self {
        let matrix = Matrix::of(points);
        let ends = |count: usize| if count > 1 { vec![0, count - 1] } else { vec![0; count] };
        let (mut rows, mut columns) = (ends(matrix.rows.len()), ends(matrix.columns.len()));
        loop {
            let (by_row, by_column) = (around(&rows, &matrix.rows), around(&columns, &matrix.columns));
            let between = |share: f64, from: f64, to: f64| from + share * (to - from);
            let mut worst = (1.0, None);
            for (i, &(above, below, down)) in by_row.iter().enumerate() {
                for (j, &(left, right, along)) in by_column.iter().enumerate() {
                    if !matrix.is_given[i * matrix.columns.len() + j] {
                        continue;
                    }
                    let value = matrix.at(i, j);
                    let upper = between(along, matrix.at(above, left), matrix.at(above, right));
                    let lower = between(along, matrix.at(below, left), matrix.at(below, right));
                    let off = (between(down, upper, lower) - value).abs() / (relative * value).max(least);
                    // A row cannot be added twice, nor beyond the most; likewise a column.
                    let row_is_free = above != below && rows.len() < most[0];
                    let column_is_free = left != right && columns.len() < most[1];
                    if off > worst.0 && (row_is_free || column_is_free) {
                        let by_rows = (between(down, matrix.at(above, j), matrix.at(below, j)) - value).abs();
                        let by_columns =
                            (between(along, matrix.at(i, left), matrix.at(i, right)) - value).abs();
                        let is_row = row_is_free && (by_rows >= by_columns || !column_is_free);
                        worst = (off, Some(if is_row { (true, i) } else { (false, j) }));
                    }
                }
            }
            let Some((is_row, i)) = worst.1 else { break };
            let list = if is_row { &mut rows } else { &mut columns };
            list.insert(list.partition_point(|&c| c < i), i);
        }
        let mut cells = Vec::with_capacity(rows.len() * columns.len());
        for &i in &rows {
            cells.extend(
                columns.iter().map(|&j| (matrix.at(i, j) * unit).round().clamp(0.0, MOST_TENTHS) as u64),
            );
        }
        let places = |chosen: &[usize], at: &[u32]| chosen.iter().map(|&i| at[i]).collect();
        Self { rows: places(&rows, &matrix.rows), columns: places(&columns, &matrix.columns), cells }
    }

    fn values(&self, unit: f64) -> Plane {
        let places = |at: &[u32]| KnotIndex::new(at.iter().map(|&x| f64::from(x)).collect());
        let cells = self.cells.iter().map(|&c| c as f64 / unit).collect();
        Plane { rows: places(&self.rows), columns: places(&self.columns), us: cells }
    }

    /// A surface of times (cells are tenths of a microsecond) that never falls along a row, and goes on beyond the last
    /// row and column as a [`KnotLine`](super::line::KnotLine) does.
    pub(super) fn rising(&self) -> Plane {
        let mut plane = self.values(TENTHS);
        for row in plane.us.chunks_mut(self.columns.len().max(1)) {
            let mut most = 0.0;
            for cell in row {
                most = cell.max(most);
                *cell = most;
            }
        }
        let mut plane = plane.widened().turned().widened().turned();
        // Beyond both ends the surface rises in both directions if its last cell is at least flat.
        let (width, last) = (plane.columns.len(), plane.us.len() - 1);
        let flat = plane.us[last - 1] + plane.us[last - width] - plane.us[last - width - 1];
        plane.us[last] = plane.us[last].max(flat);
        plane
    }

    /// A surface of ratios (cells are thousandths) that is level beyond its ends.
    pub(super) fn level(&self) -> Plane {
        self.values(1e3)
    }
}

/// A surface, straight between knots in both directions. It has at least two rows and columns.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Plane {
    rows: KnotIndex,
    columns: KnotIndex,
    /// Row by row.
    us: Vec<f64>,
}

impl Plane {
    /// With a column at 0 and one at twice the last.
    fn widened(self) -> Self {
        let (first, last) = (self.columns[0], self.columns[self.columns.len() - 1]);
        let mut columns = Vec::with_capacity(self.columns.len() + 2);
        if first > 0.0 {
            columns.push(0.0);
        }
        columns.extend(&*self.columns);
        columns.push(2.0 * last);
        let mut us = Vec::with_capacity(self.rows.len() * columns.len());
        for (i, &row) in self.rows.iter().enumerate() {
            let cells = &self.us[i * self.columns.len()..(i + 1) * self.columns.len()];
            if first > 0.0 {
                us.push(cells[0]);
            }
            us.extend(cells);
            us.push(doubled(self.at(row, 0.5 * last), cells[cells.len() - 1]));
        }
        Self { rows: self.rows, columns: KnotIndex::new(columns), us }
    }

    /// Rows as columns.
    fn turned(self) -> Self {
        let (rows, columns) = (self.rows.len(), self.columns.len());
        let us = (0..columns).flat_map(|j| (0..rows).map(move |i| (i, j)));
        let us = us.map(|(i, j)| self.us[i * columns + j]).collect();
        Self { rows: self.columns, columns: self.rows, us }
    }

    /// The line along a row around a column, up to the next knot there. Beyond its ends the surface goes on.
    pub(super) fn line(&self, row: f64, column: f64) -> TokenLine {
        let (i, down) = self.rows.at(row);
        let j = self.columns.interval(column);
        let corner = |i: usize, j: usize| self.us[i * self.columns.len() + j];
        let left = corner(i, j) + down * (corner(i + 1, j) - corner(i, j));
        let right = corner(i, j + 1) + down * (corner(i + 1, j + 1) - corner(i, j + 1));
        let (from, to) = (self.columns[j], self.columns[j + 1]);
        TokenLine {
            from_tokens: from,
            first_us: left,
            width_tokens: to - from,
            rise_us: right - left,
            until_tokens: if to > column { to } else { f64::INFINITY },
        }
    }

    /// The value.
    pub(super) fn at(&self, row: f64, column: f64) -> f64 {
        self.line(row, column).at(column)
    }

    /// The value of the nearest place within the surface.
    pub(super) fn within(&self, row: f64, column: f64) -> f64 {
        let last = |list: &[f64]| list[list.len() - 1];
        self.at(row.min(last(&self.rows)), column.min(last(&self.columns)))
    }
}
