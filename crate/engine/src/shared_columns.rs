//! What checkpoints of a run have in common: of columns with an entry a request, each keeps the parts that differ from the
//! checkpoint before, and shares all others with it. Requests that have ended, or have not arrived, change nothing.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use crate::request::RequestResult;

/// Fewest entries of a part.
const FEWEST: usize = 16;
/// About how many parts a column is divided into: more of them share more, and each takes a pointer in every checkpoint.
const PARTS: usize = 256;

/// An entry of a column, which is known by its bits.
pub(crate) trait ColumnEntry: Clone + Debug + Send + Sync + 'static {
    /// Whether another one has the same bits; "no" costs memory and no more.
    fn is_same(&self, other: &Self) -> bool;

    /// What it takes of memory beside its own place.
    fn heap_bytes(&self) -> usize {
        0
    }
}

macro_rules! entries {
    ($($name:ty),*) => {$(
        impl $crate::shared_columns::ColumnEntry for $name {
            #[inline]
            fn is_same(&self, other: &Self) -> bool { self == other }
        }
    )*};
}
pub(crate) use entries;
entries!(bool, u16, u32, Option<u32>, servescope_workload::RequestId);

impl ColumnEntry for f64 {
    #[inline]
    fn is_same(&self, other: &Self) -> bool {
        self.to_bits() == other.to_bits()
    }
}

impl ColumnEntry for RequestResult {
    fn is_same(&self, other: &Self) -> bool {
        let bits = |result: &Self| result.finish_us.map(f64::to_bits);
        self.outcome == other.outcome && self.produced == other.produced && bits(self) == bits(other)
    }
}

/// What reads the columns of a fleet, always in the same order.
pub(crate) trait ColumnVisitor {
    /// The next column.
    fn column<T: ColumnEntry>(&mut self, column: &mut Vec<T>);
}

/// A column of a checkpoint.
#[derive(Debug)]
struct Shared<T>(Vec<Arc<[T]>>);

/// A column whose entries are not known here.
trait SharedColumn: Debug + Send + Sync {
    fn as_any(&self) -> &dyn Any;
    /// What it takes of memory beside a former one.
    fn bytes_beside(&self, former: Option<&dyn Any>) -> usize;
}

impl<T: ColumnEntry> SharedColumn for Shared<T> {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn bytes_beside(&self, former: Option<&dyn Any>) -> usize {
        let former = former.and_then(|all| all.downcast_ref::<Self>());
        let is_known = |place: usize, part: &Arc<[T]>| {
            former.and_then(|former| former.0.get(place)).is_some_and(|known| Arc::ptr_eq(known, part))
        };
        let own = self.0.iter().enumerate().filter(|&(place, part)| !is_known(place, part));
        let of =
            |part: &Arc<[T]>| size_of_val(&**part) + part.iter().map(ColumnEntry::heap_bytes).sum::<usize>();
        size_of_val(self.0.as_slice()) + own.map(|(_, part)| of(part)).sum::<usize>()
    }
}

/// The columns of a checkpoint.
#[derive(Debug, Clone, Default)]
pub(crate) struct Columns(Vec<Arc<dyn SharedColumn>>);

impl Columns {
    /// What they take of memory beside those of a former checkpoint.
    pub(crate) fn bytes_beside(&self, former: &Self) -> usize {
        let of = |(place, column): (usize, &Arc<dyn SharedColumn>)| {
            column.bytes_beside(former.0.get(place).map(|column| column.as_any()))
        };
        self.0.iter().enumerate().map(of).sum()
    }

    /// Writes them into a fleet that has none.
    pub(crate) fn filler(&self) -> impl ColumnVisitor + '_ {
        Filler(self.0.iter())
    }
}

/// Takes the columns out of a fleet, so that a clone of it has none, and notes what they are.
#[derive(Debug)]
pub(crate) struct Taker<'a> {
    /// The checkpoint before.
    former: &'a Columns,
    /// Entries of a part.
    part: usize,
    columns: Columns,
    taken: Vec<Box<dyn Any>>,
}

impl<'a> Taker<'a> {
    pub(crate) fn new(former: &'a Columns, requests: usize) -> Self {
        let part = (requests / PARTS).max(FEWEST).next_power_of_two();
        Self { former, part, columns: Columns::default(), taken: Vec::new() }
    }

    /// The columns as they were, and what restores them.
    pub(crate) fn finish(self) -> (Columns, impl ColumnVisitor) {
        (self.columns, PutBack(self.taken.into_iter()))
    }
}

impl ColumnVisitor for Taker<'_> {
    fn column<T: ColumnEntry>(&mut self, column: &mut Vec<T>) {
        let former = self.former.0.get(self.columns.0.len());
        let former = former.and_then(|column| column.as_any().downcast_ref::<Shared<T>>());
        let parts = column.chunks(self.part).enumerate().map(|(place, part)| {
            let known = former.and_then(|former| former.0.get(place)).filter(|known| is_same(known, part));
            known.map_or_else(|| Arc::from(part), Arc::clone)
        });
        self.columns.0.push(Arc::new(Shared(parts.collect())));
        self.taken.push(Box::new(std::mem::take(column)));
    }
}

/// Without an early exit, so that many entries are compared at once.
pub(crate) fn is_same<T: ColumnEntry>(a: &[T], b: &[T]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(true, |same, (a, b)| same & a.is_same(b))
}

struct PutBack(std::vec::IntoIter<Box<dyn Any>>);

impl ColumnVisitor for PutBack {
    fn column<T: ColumnEntry>(&mut self, column: &mut Vec<T>) {
        if let Some(Ok(taken)) = self.0.next().map(Box::<dyn Any>::downcast::<Vec<T>>) {
            *column = *taken;
        }
    }
}

struct Filler<'a>(std::slice::Iter<'a, Arc<dyn SharedColumn>>);

impl ColumnVisitor for Filler<'_> {
    fn column<T: ColumnEntry>(&mut self, column: &mut Vec<T>) {
        let next = self.0.next().and_then(|column| column.as_any().downcast_ref::<Shared<T>>());
        if let Some(Shared(parts)) = next {
            column.reserve_exact(parts.iter().map(|part| part.len()).sum());
            parts.iter().for_each(|part| column.extend_from_slice(part));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(former: &Columns, column: &mut Vec<f64>) -> (Columns, usize) {
        let mut taker = Taker::new(former, column.len());
        taker.column(column);
        let (columns, mut back) = taker.finish();
        assert!(column.is_empty());
        back.column(column);
        let bytes = columns.bytes_beside(former);
        (columns, bytes)
    }

    #[test]
    fn a_checkpoint_takes_what_changed_since_the_one_before() {
        let mut column = vec![f64::NAN; 4096];
        let (first, all) = kept(&Columns::default(), &mut column);
        let (_, none) = kept(&first, &mut column);
        column[100] = -0.0;
        let (second, one) = kept(&first, &mut column);
        column[100] = 0.0;
        let (third, sign) = kept(&second, &mut column);
        assert_eq!([all - none, one - none, sign - none], [4096 * 8, 16 * 8, 16 * 8]);
        for (columns, bits) in [(first, f64::NAN.to_bits()), (second, (-0.0_f64).to_bits()), (third, 0)] {
            let mut filled: Vec<f64> = Vec::new();
            columns.filler().column(&mut filled);
            assert_eq!((filled.len(), filled[100].to_bits()), (4096, bits));
        }
    }
}
