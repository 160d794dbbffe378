//! [`RequestId`]: the index of a request in the columns of a trace, as a type that no other number can be taken for.

use std::fmt;
use std::ops::{Index, IndexMut};

/// A request: its place in the columns of a trace, which it indexes as it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct RequestId(u32);

impl RequestId {
    /// The request at a place.
    #[inline]
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// Its place.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Its place, as a number that is written down.
    #[inline]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The first requests of a trace, in order.
    pub fn first(count: usize) -> impl DoubleEndedIterator<Item = Self> + ExactSizeIterator + Clone {
        (0..count as u32).map(Self)
    }

    /// All numbers, in order.
    pub fn all() -> impl Iterator<Item = Self> + Clone {
        (0..).map(Self)
    }
}

impl From<u32> for RequestId {
    #[inline]
    fn from(number: u32) -> Self {
        Self(number)
    }
}

impl From<RequestId> for u32 {
    #[inline]
    fn from(id: RequestId) -> Self {
        id.0
    }
}

impl From<RequestId> for usize {
    #[inline]
    fn from(id: RequestId) -> Self {
        id.index()
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T> Index<RequestId> for [T] {
    type Output = T;
    #[inline]
    fn index(&self, id: RequestId) -> &T {
        &self[id.index()]
    }
}

impl<T> IndexMut<RequestId> for [T] {
    #[inline]
    fn index_mut(&mut self, id: RequestId) -> &mut T {
        &mut self[id.index()]
    }
}

impl<T> Index<RequestId> for Vec<T> {
    type Output = T;
    #[inline]
    fn index(&self, id: RequestId) -> &T {
        &self[id.index()]
    }
}

impl<T> IndexMut<RequestId> for Vec<T> {
    #[inline]
    fn index_mut(&mut self, id: RequestId) -> &mut T {
        &mut self[id.index()]
    }
}
