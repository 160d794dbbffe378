//! A model's own tokenizer, read from its `tokenizer.json` by Hugging Face's crate (feature `tokenizer`).

#[cfg(not(feature = "tokenizer"))]
mod absent {
    use std::path::Path;

    use servescope_workload::prompts::CountTokens;

    use crate::output::CliError;

    /// This build cannot read tokenizers.
    pub(crate) fn read(path: &Path, _special_tokens: bool) -> Result<Box<dyn CountTokens>, CliError> {
        let path = path.display();
        Err(CliError::input(format!("{path}: this servescope was built without its feature \"tokenizer\"")))
    }
}
#[cfg(not(feature = "tokenizer"))]
pub(crate) use absent::read;

#[cfg(feature = "tokenizer")]
mod present {
    use std::path::Path;

    use servescope_workload::prompts::CountTokens;
    use tokenizers::Tokenizer;

    use crate::output::{self, CliError};

    /// A character that no vocabulary has: what stands for it stands for unknown words.
    const UNKNOWN: &str = "\u{10fffd}";

    struct FileTokenizer {
        tokenizer: Tokenizer,
        special_tokens: bool,
        /// The token of unknown words, if there is one.
        unknown: Option<u32>,
    }

    /// Reads a `tokenizer.json`.
    pub(crate) fn read(path: &Path, special_tokens: bool) -> Result<Box<dyn CountTokens>, CliError> {
        let refused = |error| CliError::input(format!("{}: no tokenizer: {error}", path.display()));
        let mut tokenizer = Tokenizer::from_bytes(output::read(path)?).map_err(refused)?;
        // A file may carry the settings of a training run, under which every text has one length.
        tokenizer.with_padding(None).with_truncation(None).map_err(refused)?;
        let unknown =
            tokenizer.encode_fast(UNKNOWN, false).ok().and_then(|ids| ids.get_ids().last().copied());
        Ok(Box::new(FileTokenizer { tokenizer, special_tokens, unknown }))
    }

    impl CountTokens for FileTokenizer {
        fn count(&self, text: &str) -> Result<usize, String> {
            let tokens = self.tokenizer.encode_fast(text, self.special_tokens);
            tokens.map(|tokens| tokens.len()).map_err(|error| error.to_string())
        }

        fn knows(&self, word: &str) -> bool {
            let tokens = self.tokenizer.encode_fast(word, false);
            tokens.is_ok_and(|tokens| tokens.get_ids().iter().all(|&id| Some(id) != self.unknown))
        }

        fn vocabulary(&self) -> Vec<String> {
            let mut words: Vec<(u32, String)> =
                self.tokenizer.get_vocab(false).into_iter().map(|(word, id)| (id, word)).collect();
            words.sort_unstable();
            // The marks of a word's beginning in byte-level and SentencePiece vocabularies.
            let plain =
                |(_, word): (u32, String)| word.trim_start_matches(['\u{120}', '\u{2581}']).to_owned();
            words
                .into_iter()
                .map(plain)
                .filter(|word| word.chars().count() > 1 && word.chars().all(char::is_alphabetic))
                .collect()
        }
    }
}
#[cfg(feature = "tokenizer")]
pub(crate) use present::read;
