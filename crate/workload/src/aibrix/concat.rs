//! Whole workload files after one another or into one another (AIBrix, `concat` and `merge` of workloads).

use std::collections::BTreeMap;

/// A line of a workload file. `R` is a request; `E` holds what else the line has.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkloadLine<R, E = ()> {
    /// Time from the start, milliseconds.
    pub timestamp_ms: f64,
    /// Requests that arrive together.
    pub requests: Vec<R>,
    /// Other keys of the line.
    pub other: E,
}

/// Puts files after one another: each begins `gap_ms` after the last line written before it.
///
/// AIBrix's rule is a gap of zero. The offset is the last line's time, not the file's largest, nor its duration: with
/// no gap, a file that starts at 0 starts together with the last request of the one before. An empty file changes nothing.
pub fn concat<R, E>(files: Vec<Vec<WorkloadLine<R, E>>>, gap_ms: f64) -> Vec<WorkloadLine<R, E>> {
    let mut all: Vec<WorkloadLine<R, E>> = Vec::new();
    for file in files {
        let offset_ms = all.last().map_or(0.0, |last| last.timestamp_ms + gap_ms);
        all.extend(
            file.into_iter()
                .map(|entry| WorkloadLine { timestamp_ms: entry.timestamp_ms + offset_ms, ..entry }),
        );
    }
    all
}

/// Puts files into one another: lines of one time become one, with their requests in the order of the files, in order of
/// time.
///
/// `join` says what becomes of a later line's other keys. AIBrix drops them, agent events included:
/// `merge(files, |_, _| {})`.
pub fn merge<R, E>(
    files: Vec<Vec<WorkloadLine<R, E>>>,
    mut join: impl FnMut(&mut E, E),
) -> Vec<WorkloadLine<R, E>> {
    let mut lines: BTreeMap<u64, WorkloadLine<R, E>> = BTreeMap::new();
    for mut entry in files.into_iter().flatten() {
        match lines.entry(order(entry.timestamp_ms)) {
            std::collections::btree_map::Entry::Vacant(place) => {
                place.insert(entry);
            }
            std::collections::btree_map::Entry::Occupied(mut place) => {
                let line = place.get_mut();
                line.requests.append(&mut entry.requests);
                join(&mut line.other, entry.other);
            }
        }
    }
    lines.into_values().collect()
}

/// A key that sorts as the number does; minus zero is zero.
fn order(x: f64) -> u64 {
    let bits = (x + 0.0).to_bits();
    if bits >> 63 == 0 { bits | (1 << 63) } else { !bits }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(times: &[f64], name: char) -> Vec<WorkloadLine<char, Vec<char>>> {
        times
            .iter()
            .map(|&timestamp_ms| WorkloadLine { timestamp_ms, requests: vec![name], other: vec![name] })
            .collect()
    }

    fn times(entries: &[WorkloadLine<char, Vec<char>>]) -> Vec<f64> {
        entries.iter().map(|e| e.timestamp_ms).collect()
    }

    #[test]
    fn a_gap_is_added_at_every_seam() {
        let files = || vec![file(&[0.0, 9.0, 5.0], 'a'), Vec::new(), file(&[1.0, 2.0], 'b')];
        assert_eq!(times(&concat(files(), 0.0)), [0.0, 9.0, 5.0, 6.0, 7.0]);
        assert_eq!(times(&concat(files(), 10.0)), [0.0, 9.0, 5.0, 16.0, 17.0]);
    }

    #[test]
    fn other_keys_are_dropped_or_joined() {
        let files = || vec![file(&[2.0, -1.0, 0.0], 'a'), file(&[-0.0, 2.0], 'b')];
        let dropped = merge(files(), |_, _| {});
        assert_eq!(times(&dropped), [-1.0, 0.0, 2.0]);
        assert_eq!((dropped[2].requests.len(), dropped[2].other.len()), (2, 1));
        let joined = merge(files(), |first, mut later| first.append(&mut later));
        assert_eq!(joined[2].other, ['a', 'b']);
    }
}
