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
/// English prose has about 4 in the vocabularies of GPT and Llama models, code 3, Chinese 1 to 2; the model's own
/// tokenizer alone is exact.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CharactersPerToken(f64);

impl CharactersPerToken {
    /// Fewest characters in a token.
    pub const MIN: f64 = 1.0;
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
        let characters = text.chars().count();
        let tokens = libm::round(characters as f64 / self.0) as usize;
        Ok(tokens.max(usize::from(characters > 0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_becomes_characters_and_back() {
        for ratio in [1.0, 1.7, 2.5, 4.0, 64.0] {
            let law = CharactersPerToken::new(ratio).expect("within bounds");
            for tokens in [0, 1, 2, 3, 7, 100, 12_345] {
                let text = "x".repeat(law.characters(tokens));
                assert_eq!(law.count(&text), Ok(tokens as usize), "{ratio}");
            }
        }
        assert_eq!(CharactersPerToken::DEFAULT.count("数个字"), Ok(1));
        for bad in [0.0, 0.9, 65.0, f64::NAN, f64::INFINITY] {
            assert_eq!(CharactersPerToken::new(bad), None);
        }
    }
}
