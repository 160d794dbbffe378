//! A JSON object whose keys stand in an order of their own.

use serde::{Serialize, Serializer};

/// Values by key, in the order in which a document shows them.
#[derive(Debug, Clone, PartialEq)]
pub struct Ordered<T>(pub Vec<(String, T)>);

impl<T> FromIterator<(String, T)> for Ordered<T> {
    fn from_iter<I: IntoIterator<Item = (String, T)>>(entries: I) -> Self {
        Self(entries.into_iter().collect())
    }
}

impl<T: Serialize> Serialize for Ordered<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

/// In TypeScript, what a map is.
#[cfg(feature = "types")]
mod typed {
    use std::collections::BTreeMap;

    use ts_rs::{Config, TS, TypeVisitor};

    use super::Ordered;

    type Map<T> = BTreeMap<String, T>;

    impl<T: TS> TS for Ordered<T> {
        type WithoutGenerics = Ordered<()>;
        type OptionInnerType = Self;

        fn name(config: &Config) -> String {
            Map::<T>::name(config)
        }

        fn inline(config: &Config) -> String {
            Map::<T>::inline(config)
        }

        fn visit_dependencies(visitor: &mut impl TypeVisitor)
        where
            Self: 'static,
        {
            Map::<T>::visit_dependencies(visitor);
        }

        fn visit_generics(visitor: &mut impl TypeVisitor)
        where
            Self: 'static,
        {
            Map::<T>::visit_generics(visitor);
        }
    }
}
