//! Several texts written as one: with `|` between them, and `\\n`, `\\t`, `\\r`, `\\|` and `\\\\` for what could not stand there.

/// The texts of one; none of an empty one. A backslash before any other character stands for that character.
pub fn split(text: &str) -> Vec<String> {
    if text.is_empty() {
        return Vec::new();
    }
    let mut texts = vec![String::new()];
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        let meant = match character {
            '|' => {
                texts.push(String::new());
                continue;
            }
            '\\' => match characters.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some('r') => '\r',
                Some(other) => other,
                None => '\\',
            },
            other => other,
        };
        texts.last_mut().expect("there is always one under way").push(meant);
    }
    texts
}

/// Texts as one, from which [`split`] makes them again.
pub fn join<'t>(texts: impl IntoIterator<Item = &'t str>) -> String {
    let mut joined = String::new();
    for (place, text) in texts.into_iter().enumerate() {
        joined.push_str(if place == 0 { "" } else { "|" });
        for character in text.chars() {
            match character {
                '\n' => joined.push_str("\\n"),
                '\t' => joined.push_str("\\t"),
                '\r' => joined.push_str("\\r"),
                '|' | '\\' => joined.extend(['\\', character]),
                other => joined.push(other),
            }
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bars_part_and_backslashes_escape() {
        assert_eq!(split(""), Vec::<String>::new());
        assert_eq!(split("\\n\\n|User:| \\| |a\\\\"), ["\n\n", "User:", " | ", "a\\"]);
        assert_eq!(split("a||\\"), ["a", "", "\\"]);
    }

    proptest! {
        #[test]
        fn what_is_joined_is_split(texts in prop::collection::vec("[a|\\\\\n\t\r né]{1,6}", 0..5)) {
            prop_assert_eq!(split(&join(texts.iter().map(String::as_str))), texts);
        }
    }
}
