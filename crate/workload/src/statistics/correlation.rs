//! Correlation of two columns, by value and by rank.

use super::sort_places;

/// Pearson's correlation; `None` below three pairs or where a column does not vary.
pub fn pearson(a: &[f64], b: &[f64]) -> Option<f64> {
    let n = a.len().min(b.len());
    if n < 3 {
        return None;
    }
    let mean = |column: &[f64]| column[..n].iter().sum::<f64>() / n as f64;
    let (mean_a, mean_b) = (mean(a), mean(b));
    let spread = |column: &[f64], mean: f64| {
        f64::sqrt(column[..n].iter().map(|x| (x - mean) * (x - mean)).sum::<f64>())
    };
    let scale = spread(a, mean_a) * spread(b, mean_b);
    let joint: f64 = a.iter().zip(b).map(|(x, y)| (x - mean_a) * (y - mean_b)).sum();
    (scale != 0.0).then(|| joint / scale)
}

/// Spearman's rank correlation, ties at the mean of their ranks.
pub fn spearman(a: &[f64], b: &[f64]) -> Option<f64> {
    pearson(&ranks(a), &ranks(b))
}

/// Correlation of each value with the next.
pub fn lag_1(values: &[f64]) -> Option<f64> {
    let (_, after) = values.split_first()?;
    pearson(&values[..values.len() - 1], after)
}

/// The rank of each value from 0, ties at their mean.
fn ranks(values: &[f64]) -> Vec<f64> {
    let order = sort_places(values);
    let mut ranks = vec![0.0; values.len()];
    let mut from = 0;
    while from < order.len() {
        let value = values[order[from] as usize];
        let ties = order[from..].iter().take_while(|&&place| values[place as usize] == value).count();
        let rank = (2 * from + ties - 1) as f64 / 2.0;
        order[from..from + ties].iter().for_each(|&place| ranks[place as usize] = rank);
        from += ties;
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_columns() {
        let a = [1.0, 2.0, 3.0, 4.0];
        let near = |value: Option<f64>, known: f64| (value.unwrap() - known).abs() < 1e-12;
        assert!(near(pearson(&a, &[2.0, 4.0, 6.0, 8.0]), 1.0));
        assert!(near(spearman(&a, &[1.0, 10.0, 100.0, 5.0]), 0.4));
        assert_eq!(ranks(&[5.0, 1.0, 5.0]), [1.5, 0.0, 1.5]);
        assert_eq!(pearson(&a, &[1.0; 4]), None);
        assert_eq!(lag_1(&[]), None);
    }
}
