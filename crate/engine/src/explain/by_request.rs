//! Entries of a record, found by their request.

/// Entries in the order of their requests, those of one request in the order of the record.
#[derive(Debug)]
pub(super) struct ByRequest<T> {
    entries: Vec<T>,
    starts: Vec<u32>,
}

impl<T: Copy> ByRequest<T> {
    pub(super) fn of(requests: usize, all: impl Iterator<Item = T>, request: impl Fn(&T) -> u32) -> Self {
        let mut entries: Vec<T> = all.collect();
        entries.sort_by_key(|entry| request(entry));
        let mut starts = vec![0u32; requests + 1];
        entries.iter().for_each(|entry| starts[request(entry) as usize + 1] += 1);
        for i in 0..requests {
            starts[i + 1] += starts[i];
        }
        Self { entries, starts }
    }

    pub(super) fn get(&self, request: usize) -> &[T] {
        &self.entries[self.starts[request] as usize..self.starts[request + 1] as usize]
    }
}
