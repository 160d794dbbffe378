//! The order of numbers.

/// The places of numbers in ascending order, equal ones as they stand.
#[inline(never)]
pub fn sort_places(values: &[f64]) -> Vec<u32> {
    let mut places: Vec<u32> = (0..values.len() as u32).collect();
    places.sort_unstable_by(|&a, &b| values[a as usize].total_cmp(&values[b as usize]).then(a.cmp(&b)));
    places
}
