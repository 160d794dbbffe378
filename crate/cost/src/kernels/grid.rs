//! A table of times over one to three axes, kept as time over what the roofline says.

/// A quantity measured on a grid: for each point the logarithm of its time over a base that the reader knows.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Grid {
    /// Values of each axis, growing, above 0.
    pub axes: Vec<Vec<f64>>,
    /// ln(time / base), the last axis fastest.
    pub values: Vec<f64>,
}

/// Where a value lies between two knots: the lower one, and the share of the upper one. Beyond the ends the end counts.
pub(super) fn place(axis: &[f64], at: f64) -> (usize, f64) {
    let upper = axis.partition_point(|&knot| knot <= at);
    match (upper, axis.get(upper)) {
        (0, _) => (0, 0.0),
        (_, None) => (axis.len() - 1, 0.0),
        (_, Some(&high)) => {
            let low = axis[upper - 1];
            (upper - 1, libm::log(at / low) / libm::log(high / low))
        }
    }
}

impl Grid {
    /// Points.
    pub fn len(&self) -> usize {
        self.axes.iter().map(Vec::len).product()
    }

    /// Whether it has no point.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether a point lies within the ends of every axis.
    pub fn covers(&self, at: &[f64]) -> bool {
        self.axes.iter().zip(at).all(|(axis, &x)| {
            axis.first().is_some_and(|&low| low <= x) && axis.last().is_some_and(|&high| x <= high)
        })
    }

    /// ln(time / base) at a point: linear in the logarithms of the axes; beyond an end, what was measured there.
    pub fn at(&self, at: &[f64]) -> f64 {
        let mut corners = vec![(0usize, 1.0f64)];
        for (axis, &x) in self.axes.iter().zip(at) {
            let (low, share) = place(axis, x);
            let mut next = Vec::with_capacity(2 * corners.len());
            for (index, weight) in corners {
                next.push((index * axis.len() + low, weight * (1.0 - share)));
                if share > 0.0 {
                    next.push((index * axis.len() + low + 1, weight * share));
                }
            }
            corners = next;
        }
        corners.iter().map(|&(index, weight)| weight * self.values[index]).sum()
    }

    /// Makes a grid of measured points; those not measured take the value of the nearest measured one below them on the last
    /// axis, else on the one before.
    pub fn of(axes: Vec<Vec<f64>>, points: &[(Vec<f64>, f64)]) -> Option<Self> {
        let mut grid = Self { axes, values: Vec::new() };
        let mut values: Vec<Option<f64>> = vec![None; grid.len()];
        for (at, value) in points {
            let index = grid.axes.iter().zip(at).try_fold(0, |index, (axis, x)| {
                Some(index * axis.len() + axis.iter().position(|knot| knot == x)?)
            });
            if let Some(index) = index {
                values[index] = Some(*value);
            }
        }
        let mut stride = 1;
        for axis in grid.axes.iter().rev() {
            for index in 0..values.len() {
                if values[index].is_none() && (index / stride) % axis.len() > 0 {
                    values[index] = values[index - stride];
                }
            }
            for index in (0..values.len()).rev() {
                if values[index].is_none() && (index / stride) % axis.len() + 1 < axis.len() {
                    values[index] = values[index + stride];
                }
            }
            stride *= axis.len();
        }
        grid.values = values.into_iter().collect::<Option<Vec<f64>>>()?;
        (!grid.values.is_empty()).then_some(grid)
    }
}
