//! The order of numbers.

/// The places of numbers in ascending order, equal ones as they stand.
#[inline(never)]
pub fn sort_places(values: &[f64]) -> Vec<u32> {
    let mut places: Vec<u32> = (0..values.len() as u32).collect();
    places.sort_unstable_by(|&a, &b| values[a as usize].total_cmp(&values[b as usize]).then(a.cmp(&b)));
    places
}

/// Sorts by a number of each in ascending order, equal ones as they stand. The numbers are sorted by [`sort_places`], so that no
/// further sort is compiled for each type.
pub fn sort_by_number<T>(values: &mut Vec<T>, number: impl Fn(&T) -> f64) {
    let numbers: Vec<f64> = values.iter().map(number).collect();
    let mut unsorted: Vec<Option<T>> = values.drain(..).map(Some).collect();
    values.extend(sort_places(&numbers).into_iter().filter_map(|place| unsorted[place as usize].take()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_ones_stay_as_they_stand() {
        let mut values = vec![(2.0, "a"), (1.0, "b"), (2.0, "c"), (-0.0, "d"), (1.0, "e")];
        sort_by_number(&mut values, |value| value.0);
        assert_eq!(values.iter().map(|value| value.1).collect::<String>(), "dbeac");
    }
}
