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

    fn row(rows: &mut FxHashMap<u64, Box<Row<T>>>, key: u64) -> &mut Row<T> {
        let new_row = || Box::new(Row { filled: 0, values: [T::default(); ROW as usize] });
        rows.entry(key).or_insert_with(new_row)
    }

    /// Changes the values of numbers, mostly in a row, one after another; `true`: there was none, and the number has one from now on.
    #[inline]
    pub(crate) fn change_all(
        &mut self,
        numbers: impl Iterator<Item = u64>,
        mut change: impl FnMut(&mut T, bool),
    ) {
        let mut numbers = numbers.peekable();
        while let Some(&first) = numbers.peek() {
            let key = first / ROW;
            let row = Self::row(&mut self.rows, key);
            let before = row.filled.count_ones();
            while let Some(number) = numbers.next_if(|number| number / ROW == key) {
                let at = number % ROW;
                let (value, is_new) = (&mut row.values[at as usize], row.filled >> at & 1 == 0);
                if is_new {
                    *value = T::default();
                    row.filled |= 1 << at;
                }
                change(value, is_new);
            }
            self.len += (row.filled.count_ones() - before) as usize;
        }
    }

    /// The same of those that have a value, each with what it comes with.
    #[inline]
    pub(crate) fn change_known<With>(
        &mut self,
        numbers: impl Iterator<Item = (u64, With)>,
        mut change: impl FnMut(With, &mut T),
    ) {
        let mut numbers = numbers.peekable();
        while let Some(key) = numbers.peek().map(|next| next.0 / ROW) {
            let mut row = self.rows.get_mut(&key);
            while let Some((number, with)) = numbers.next_if(|next| next.0 / ROW == key) {
                let at = number % ROW;
                if let Some(row) = row.as_mut().filter(|row| row.filled >> at & 1 == 1) {
                    change(with, &mut row.values[at as usize]);
                }
            }
        }
    }

    /// The value before.
    #[inline]
    pub(crate) fn insert(&mut self, number: u64, value: T) -> Option<T> {
        let row = Self::row(&mut self.rows, number / ROW);
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
        fn it_has_what_a_tree_has(steps in prop::collection::vec((0u64..200, 0u32..9, 0u8..5), 0..300)) {
            let (mut map, mut tree) = (NumberMap::default(), BTreeMap::new());
            for (number, value, step) in steps {
                match step {
                    0 => prop_assert_eq!(map.remove(number), tree.remove(&number)),
                    1 => prop_assert_eq!(map.insert(number, value), tree.insert(number, value)),
                    2 => {
                        let mut were_new = Vec::new();
                        let numbers = || (number..number + 9 * u64::from(value)).chain([3]);
                        map.change_all(numbers(), |known, is_new| {
                            *known += value;
                            were_new.push(is_new);
                        });
                        for (number, was_new) in numbers().zip(were_new) {
                            prop_assert_eq!(was_new, !tree.contains_key(&number));
                            *tree.entry(number).or_default() += value;
                        }
                    }
                    3 => {
                        let numbers = || (number..number + 9 * u64::from(value)).rev();
                        map.change_known(numbers().map(|number| (number, number as u32)), |with, known| *known += with);
                        for number in numbers() {
                            tree.entry(number).and_modify(|known| *known += number as u32);
                        }
                    }
                    _ => prop_assert_eq!(map.get_mut(number).copied(), tree.get(&number).copied()),
                }
                prop_assert_eq!(map.len(), tree.len());
                let mut reader = map.reader();
                for number in 0..300 {
                    prop_assert_eq!(map.get(number), tree.get(&number).copied());
                    prop_assert_eq!(reader.get(number), tree.get(&number).copied());
                }
            }
            prop_assert!(map.rows.len() <= tree.len());
        }
    }
}
