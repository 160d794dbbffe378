//! A list that grows without moving what it holds: a vector that doubles copies all of it, and asks the system for new pages.

/// So many elements are in one piece of memory. The first piece grows to this size: a short list takes little.
const LENGTH: usize = if cfg!(test) { 3 } else { 1 << 12 };

/// The list.
#[derive(Debug, Clone)]
pub(super) struct Segments<T> {
    full: Vec<Vec<T>>,
    last: Vec<T>,
}

impl<T> Default for Segments<T> {
    fn default() -> Self {
        Self { full: Vec::new(), last: Vec::new() }
    }
}

impl<T> Segments<T> {
    #[inline]
    pub(super) fn push(&mut self, element: T) {
        if self.last.len() == LENGTH {
            self.begin_another();
        }
        self.last.push(element);
    }

    #[cold]
    fn begin_another(&mut self) {
        self.full.push(std::mem::replace(&mut self.last, Vec::with_capacity(LENGTH)));
    }

    pub(super) fn cursor(&self) -> SegmentCursor<'_, T> {
        SegmentCursor { rest: &[], full: &self.full, last: &self.last }
    }
}

/// The elements that were not read yet.
#[derive(Debug)]
pub(super) struct SegmentCursor<'a, T> {
    rest: &'a [T],
    full: &'a [Vec<T>],
    last: &'a [T],
}

// By hand: a copy of the places asks nothing of the elements.
impl<T> Clone for SegmentCursor<'_, T> {
    fn clone(&self) -> Self {
        Self { ..*self }
    }
}

impl<'a, T> SegmentCursor<'a, T> {
    #[inline]
    pub(super) fn next(&mut self) -> Option<&'a T> {
        if self.rest.is_empty() {
            self.begin_another();
        }
        self.rest.split_off_first()
    }

    fn begin_another(&mut self) {
        self.rest = self.full.split_off_first().map_or_else(|| std::mem::take(&mut self.last), Vec::as_slice);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_read_in_the_order_of_writing() {
        for count in 0..12 {
            let mut list = Segments::default();
            (0..count).for_each(|element| list.push(element));
            let mut cursor = list.cursor();
            let read: Vec<u32> = std::iter::from_fn(|| cursor.next().copied()).collect();
            assert_eq!(read, (0..count).collect::<Vec<_>>());
            assert_eq!(cursor.next(), None);
        }
    }
}
