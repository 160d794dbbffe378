//! A map from numbers that come in rows, as blocks of a prompt do.

use rustc_hash::FxHashMap;

/// Numbers that stand together.
const ROW: u64 = 64;

/// Values by number. Numbers near one another are kept together.
#[derive(Debug, Clone)]
pub(crate) struct NumberMap<T> {
    rows: FxHashMap<u64, Box<Row<T>>>,
    len: usize,
}

#[derive(Debug, Clone)]
struct Row<T> {
    /// Which of the values are there, a bit each.
    filled: u64,
    values: [T; ROW as usize],
}

impl<T> Default for NumberMap<T> {
    fn default() -> Self {
        Self { rows: FxHashMap::default(), len: 0 }
    }
}

impl<T: Copy + Default> NumberMap<T> {
    /// How many numbers have a value.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(crate) fn get(&self, number: u64) -> Option<T> {
        let row = self.rows.get(&(number / ROW))?;
        let at = number % ROW;
        (row.filled >> at & 1 == 1).then(|| row.values[at as usize])
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, number: u64) -> Option<&mut T> {
        let row = self.rows.get_mut(&(number / ROW))?;
        let at = number % ROW;
        if row.filled >> at & 1 == 1 { Some(&mut row.values[at as usize]) } else { None }
    }

    pub(crate) fn contains(&self, number: u64) -> bool {
        self.get(number).is_some()
    }

    fn row(&mut self, number: u64) -> &mut Row<T> {
        let new_row = || Box::new(Row { filled: 0, values: [T::default(); ROW as usize] });
        self.rows.entry(number / ROW).or_insert_with(new_row)
    }

    /// The value of a number, from now on this one where it has none.
    #[inline]
    pub(crate) fn get_or_insert(&mut self, number: u64, value: T) -> &mut T {
        if !self.contains(number) {
            self.insert(number, value);
        }
        &mut self.row(number).values[(number % ROW) as usize]
    }

    /// The value before.
    #[inline]
    pub(crate) fn insert(&mut self, number: u64, value: T) -> Option<T> {
        let row = self.row(number);
        let at = number % ROW;
        let before = std::mem::replace(&mut row.values[at as usize], value);
        let was_filled = row.filled >> at & 1 == 1;
        row.filled |= 1 << at;
        self.len += usize::from(!was_filled);
        was_filled.then_some(before)
    }

    /// The value that was there.
    #[inline]
    pub(crate) fn remove(&mut self, number: u64) -> Option<T> {
        let row = self.rows.get_mut(&(number / ROW))?;
        let at = number % ROW;
        if row.filled >> at & 1 == 0 {
            return None;
        }
        let value = row.values[at as usize];
        row.filled &= !(1 << at);
        self.len -= 1;
        if row.filled == 0 {
            self.rows.remove(&(number / ROW));
        }
        Some(value)
    }

    /// One that is asked for numbers mostly in a row.
    pub(crate) fn reader(&self) -> Reader<'_, T> {
        Reader { map: self, key: u64::MAX, row: None }
    }
}

/// Remembers where the last number was found.
pub(crate) struct Reader<'a, T> {
    map: &'a NumberMap<T>,
    key: u64,
    row: Option<&'a Row<T>>,
}

impl<T: Copy + Default> Reader<'_, T> {
    #[inline]
    pub(crate) fn get(&mut self, number: u64) -> Option<T> {
        let key = number / ROW;
        if key != self.key {
            (self.key, self.row) = (key, self.map.rows.get(&key).map(|row| &**row));
        }
        let at = number % ROW;
        self.row.filter(|row| row.filled >> at & 1 == 1).map(|row| row.values[at as usize])
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_has_what_a_tree_has(steps in prop::collection::vec((0u64..200, 0u32..9, 0u8..3), 0..300)) {
            let (mut map, mut tree) = (NumberMap::default(), BTreeMap::new());
            for (number, value, step) in steps {
                match step {
                    0 => prop_assert_eq!(map.remove(number), tree.remove(&number)),
                    1 => prop_assert_eq!(map.insert(number, value), tree.insert(number, value)),
                    _ => prop_assert_eq!(map.get_mut(number).copied(), tree.get(&number).copied()),
                }
                prop_assert_eq!(map.len(), tree.len());
                let mut reader = map.reader();
                for number in 0..200 {
                    prop_assert_eq!(map.get(number), tree.get(&number).copied());
                    prop_assert_eq!(reader.get(number), tree.get(&number).copied());
                }
            }
            prop_assert!(map.rows.len() <= tree.len());
        }
    }
}
