//! How many tokens a text is: by a tokenizer, or by a stated ratio of characters to tokens.

/// Counts the tokens of a text.
pub trait CountTokens {
    /// Tokens of `text`.
    ///
    /// # Errors
    /// Why the text cannot be counted, in words.
    fn count(&self, text: &str) -> Result<usize, String>;

    /// Whether a word is more to it than an unknown one.
    fn knows(&self, _word: &str) -> bool {
        true
    }

    /// Words of its own to make prompts of where it knows few of the common ones.
    fn vocabulary(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A token is this many characters (Unicode scalar values) on average: an estimate for when no tokenizer is given.
///
/// English prose has about 4 in the vocabularies of GPT and Llama models, code 3. A Chinese, Japanese or Korean character is a
/// token of its own, or more than one where the ratio is below 1: vocabularies differ between .5 and 1.7 characters a token.
/// The model's own tokenizer alone is exact.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CharactersPerToken(f64);

impl CharactersPerToken {
    /// Fewest characters in a token.
    pub const MIN: f64 = 0.25;
    /// Most characters in a token.
    pub const MAX: f64 = 64.0;
    /// What English prose has.
    pub const DEFAULT: Self = Self(4.0);

    /// A ratio; `None` outside [`Self::MIN`] to [`Self::MAX`].
    pub fn new(ratio: f64) -> Option<Self> {
        (Self::MIN..=Self::MAX).contains(&ratio).then_some(Self(ratio))
    }

    /// Characters that `tokens` tokens take, rounded to the nearest whole one, at least one where there is a token.
    pub fn characters(self, tokens: u64) -> usize {
        (libm::round(tokens as f64 * self.0) as usize).max(usize::from(tokens > 0))
    }
}

impl CountTokens for CharactersPerToken {
    fn count(&self, text: &str) -> Result<usize, String> {
        let all = text.chars().count();
        let cjk = cjk_characters(text);
        let tokens = libm::round((all - cjk) as f64 / self.0 + cjk as f64 / self.0.min(1.0)) as usize;
        Ok(tokens.max(usize::from(all > 0)))
    }
}

/// Whether a character is one of Chinese, Japanese or Korean writing, its punctuation and full-width forms included
/// (Unicode's blocks). Such characters are a token each, about, where other letters share one.
pub fn is_cjk(c: char) -> bool {
    matches!(u32::from(c),
        0x1100..=0x11ff | 0x2e80..=0x9fff | 0xa960..=0xa97f | 0xac00..=0xd7ff | 0xf900..=0xfaff
        | 0xfe30..=0xfe4f | 0xff00..=0xffef | 0x1b000..=0x1b16f | 0x1f200..=0x1f2ff | 0x20000..=0x3ffff)
}

/// Characters of a text for which [`is_cjk`] holds.
pub fn cjk_characters(text: &str) -> usize {
    text.chars().filter(|&c| is_cjk(c)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chinese_characters_are_tokens_of_their_own() {
        let count =
            |ratio: f64, text: &str| CharactersPerToken::new(ratio).expect("within bounds").count(text);
        assert_eq!(count(4.0, "请用三句话解释大模型推理中的前缀缓存。"), Ok(19));
        assert_eq!(count(4.0, "请解释 prefix caching"), Ok(3 + 4));
        assert_eq!(count(4.0, "日本語テキスト 한국어"), Ok(10));
        assert_eq!(count(0.5, "数个字"), Ok(6));
        assert_eq!(count(0.25, "数a"), Ok(8));
        assert_eq!(count(4.0, "é–ß"), Ok(1));
        assert!(!is_cjk('😀') && !is_cjk('a') && is_cjk('、') && is_cjk('Ａ') && is_cjk('𠀀'));
    }

    #[test]
    fn a_length_becomes_characters_and_back() {
        for ratio in [1.0, 1.7, 2.5, 4.0, 64.0] {
            let distribution = CharactersPerToken::new(ratio).expect("within bounds");
            for tokens in [0, 1, 2, 3, 7, 100, 12_345] {
                let text = "x".repeat(distribution.characters(tokens));
                assert_eq!(distribution.count(&text), Ok(tokens as usize), "{ratio}");
            }
        }
        for bad in [0.0, 0.24, 65.0, f64::NAN, f64::INFINITY] {
            assert_eq!(CharactersPerToken::new(bad), None);
        }
    }
}
