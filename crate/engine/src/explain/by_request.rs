//! Entries of a record, found by their request.

use servescope_workload::RequestId;

/// Entries in the order of their requests, those of one request in the order of the record.
#[derive(Debug)]
pub(super) struct ByRequest<T> {
    entries: Vec<T>,
    starts: Vec<u32>,
}

impl<T: Copy> ByRequest<T> {
    pub(super) fn of(
        requests: usize,
        all: impl Iterator<Item = T>,
        request: impl Fn(&T) -> RequestId,
    ) -> Self {
        let all: Vec<T> = all.collect();
        let mut starts = vec![0u32; requests + 1];
        all.iter().for_each(|entry| starts[request(entry).index() + 1] += 1);
        for i in 0..requests {
            starts[i + 1] += starts[i];
        }
        // Counted instead of sorted: the module of the page carries no sort for each kind of entry.
        let mut next = starts.clone();
        let mut order = vec![0u32; all.len()];
        for (place, entry) in (0u32..).zip(&all) {
            let next = &mut next[request(entry).index()];
            order[*next as usize] = place;
            *next += 1;
        }
        Self { entries: order.into_iter().map(|place| all[place as usize]).collect(), starts }
    }

    pub(super) fn get(&self, request: usize) -> &[T] {
        &self.entries[self.starts[request] as usize..self.starts[request + 1] as usize]
    }
}
