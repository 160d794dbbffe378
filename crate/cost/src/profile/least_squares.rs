//! Least squares of the relative error with coefficients that are not negative.

/// An observation: the terms, the value, its weight.
pub(super) type Observation<const N: usize> = ([f64; N], f64, f64);

/// The coefficients c >= 0 for which the sum of weight (terms . c / value - 1)^2 is least among those found by leaving
/// out, one after another, the term whose coefficient comes out most negative. No observation: all 0.
pub(super) fn relative_least_squares<const N: usize>(observations: &[Observation<N>]) -> [f64; N] {
    // Terms differ by many powers of ten: each is divided by its root mean square.
    let mut scale = [0.0; N];
    for (terms, value, weight) in observations.iter().filter(|o| o.1 > 0.0) {
        for (s, term) in scale.iter_mut().zip(terms) {
            *s += weight * (term / value) * (term / value);
        }
    }
    let scale = scale.map(|s| if s > 0.0 { s.sqrt() } else { 1.0 });
    let (mut matrix, mut right) = ([[0.0; N]; N], [0.0; N]);
    for (terms, value, weight) in observations.iter().filter(|o| o.1 > 0.0) {
        for i in 0..N {
            let left = weight * terms[i] / (value * scale[i]);
            right[i] += left;
            for j in 0..N {
                matrix[i][j] += left * terms[j] / (value * scale[j]);
            }
        }
    }
    let mut used = [true; N];
    loop {
        let found = solve(matrix, right, used);
        let least = (0..N).filter(|&i| used[i]).min_by(|&a, &b| found[a].total_cmp(&found[b]));
        match least {
            Some(i) if found[i] < 0.0 => used[i] = false,
            _ => return std::array::from_fn(|i| found[i] / scale[i]),
        }
    }
}

/// Solves the system of the used rows and columns by elimination with pivots; a term without a pivot gets 0.
fn solve<const N: usize>(mut matrix: [[f64; N]; N], mut right: [f64; N], used: [bool; N]) -> [f64; N] {
    let mut pivots = [None; N];
    let mut is_taken = [false; N];
    for column in (0..N).filter(|&c| used[c]) {
        let free = (0..N).filter(|&r| used[r] && !is_taken[r]);
        let best = free.max_by(|&a, &b| matrix[a][column].abs().total_cmp(&matrix[b][column].abs()));
        let Some(pivot) = best.filter(|&r| matrix[r][column].abs() > 1e-12) else { continue };
        (pivots[column], is_taken[pivot]) = (Some(pivot), true);
        for row in (0..N).filter(|&r| used[r] && r != pivot) {
            let factor = matrix[row][column] / matrix[pivot][column];
            let above = matrix[pivot];
            matrix[row].iter_mut().zip(above).for_each(|(cell, a)| *cell -= factor * a);
            right[row] -= factor * right[pivot];
        }
    }
    std::array::from_fn(|c| pivots[c].map_or(0.0, |row| right[row] / matrix[row][c]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coefficients_of_a_formula_are_found_and_none_is_negative() {
        let of = |x: f64, y: f64| 3.0 + 1e-4 * x + 2.0 * y;
        let points: Vec<Observation<3>> = (0..20)
            .map(|i| (f64::from(i * i) * 1e4, f64::from(i % 5)))
            .map(|(x, y)| ([1.0, x, y], of(x, y), 1.0))
            .collect();
        let found = relative_least_squares(&points);
        for (ours, theirs) in found.iter().zip([3.0, 1e-4, 2.0]) {
            assert!((ours / theirs - 1.0).abs() < 1e-9, "{found:?}");
        }
        let falling: Vec<Observation<2>> =
            (0..9).map(|i| ([1.0, f64::from(i)], 10.0 - f64::from(i), 1.0)).collect();
        let found = relative_least_squares(&falling);
        assert!(found[0] > 0.0 && found[1] == 0.0, "{found:?}");
        assert_eq!(relative_least_squares::<2>(&[]), [0.0, 0.0]);
    }
}
