//! Index types: what stands at a place of a column, as a type that no other number can be taken for.

/// Makes a type of indices: as large and as fast as the number in it, and of no use where another kind of index is asked for.
#[macro_export]
macro_rules! index_type {
    ($(#[$about:meta])* $name:ident($number:ty)) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub struct $name($number);

        impl $name {
            /// The one at a place.
            #[inline]
            pub const fn new(number: $number) -> Self {
                Self(number)
            }

            /// Its place.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }

            /// Its place, as a number that is written down.
            #[inline]
            pub const fn get(self) -> $number {
                self.0
            }

            /// The first ones, in order.
            pub fn first(count: usize) -> impl DoubleEndedIterator<Item = Self> + ExactSizeIterator + Clone {
                (0..count as $number).map(Self)
            }

            /// All of them, in order.
            pub fn all() -> impl Iterator<Item = Self> + Clone {
                (0..).map(Self)
            }
        }

        impl From<$number> for $name {
            #[inline]
            fn from(number: $number) -> Self {
                Self(number)
            }
        }

        impl From<$name> for $number {
            #[inline]
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl From<$name> for usize {
            #[inline]
            fn from(id: $name) -> Self {
                id.index()
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                self.0.fmt(f)
            }
        }

        impl<T> ::std::ops::Index<$name> for [T] {
            type Output = T;
            #[inline]
            fn index(&self, id: $name) -> &T {
                &self[id.index()]
            }
        }

        impl<T> ::std::ops::IndexMut<$name> for [T] {
            #[inline]
            fn index_mut(&mut self, id: $name) -> &mut T {
                &mut self[id.index()]
            }
        }

        impl<T> ::std::ops::Index<$name> for Vec<T> {
            type Output = T;
            #[inline]
            fn index(&self, id: $name) -> &T {
                &self[id.index()]
            }
        }

        impl<T> ::std::ops::IndexMut<$name> for Vec<T> {
            #[inline]
            fn index_mut(&mut self, id: $name) -> &mut T {
                &mut self[id.index()]
            }
        }
    };
}

index_type! {
    /// A request: its place in the columns of a trace, which it indexes as it is.
    RequestId(u32)
}
