//! Prompts made to length: text of exactly n tokens, the same for the same seed and place.
//!
//! A prompt is a row of stretches, each read from a random stream of its own: a prefix block by its id, so that equal
//! blocks are equal text and caches hit; a session, so that a longer context begins with the shorter one before it; or
//! the request itself. With a ratio, a stretch is cut at its number of characters. With a tokenizer, words whose cost in
//! tokens is known are added until the number is reached, the text is counted as a whole, and where a tokenizer merges
//! across words the end is taken back and filled until the count is exact.

use std::cmp::Ordering;

use super::tokens::{CharactersPerToken, CountTokens};
use super::words::WORDS;
use crate::aibrix::sessions::below;
use crate::stream::Stream;

/// Fewest words of one token each with which no others are used.
const ENOUGH_WORDS: usize = 16;
/// Most words taken from a tokenizer's own vocabulary.
const MOST_OWN_WORDS: usize = 4096;
/// How often the end of a text is taken back or filled before a length counts as out of reach.
const TRIES: usize = 64;
/// What may fill a text token by token where words take several.
const FILLERS: &[&str] = &[
    " a", " I", " x", " s", " b", " c", " d", " e", " 1", " 2", ".", ",", "a", "b", "c", "d", "e", "s", "t",
    "x", "1", "-",
];

/// Where a stretch of text comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Root {
    /// This request alone.
    Request(usize),
    /// A conversation, started again this many times.
    Session(u32, u32),
    /// A prefix block.
    Block(u64),
}

/// This many tokens from one root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// Where they come from.
    pub root: Root,
    /// How many.
    pub tokens: u32,
}

/// A prompt that was made.
#[derive(Debug, Clone, PartialEq)]
pub struct MadeText {
    /// The text.
    pub text: String,
    cuts: Cuts,
}

/// Where a text may be cut after this many tokens.
#[derive(Debug, Clone, PartialEq)]
enum Cuts {
    /// Anywhere.
    Characters(CharactersPerToken),
    /// (tokens, bytes) at the end of each word.
    Words(Vec<(u64, usize)>),
}

impl MadeText {
    /// The byte at which a text that is cut after `tokens` tokens ends: the end of the last word within them.
    pub fn byte_at(&self, tokens: u64) -> usize {
        match &self.cuts {
            // The words are ASCII: bytes are characters.
            Cuts::Characters(ratio) => ratio.characters(tokens).min(self.text.len()),
            Cuts::Words(ends) => {
                let within = ends.partition_point(|end| end.0 <= tokens);
                within.checked_sub(1).map_or(0, |last| ends[last].1)
            }
        }
    }
}

/// A word with the space before it, and its tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
struct TextPiece {
    text: String,
    tokens: u32,
    /// Whether it has as many tokens at the start of a text, where the space is left out.
    starts: bool,
}

/// What a tokenizer makes of words.
#[derive(Clone)]
struct Pieces<'a> {
    counter: &'a dyn CountTokens,
    /// Tokens of a text without any character: a tokenizer's own marks.
    marks: usize,
    words: Vec<TextPiece>,
    starters: Vec<TextPiece>,
    fillers: Vec<TextPiece>,
}

#[derive(Clone)]
enum TokenDistribution<'a> {
    Characters(CharactersPerToken),
    Counted(Pieces<'a>),
}

/// Makes prompts.
#[derive(Clone)]
pub struct Synthesis<'a> {
    seed: u64,
    distribution: TokenDistribution<'a>,
}

impl<'a> Synthesis<'a> {
    /// Prompts whose tokens are this many characters.
    pub fn by_ratio(seed: u64, ratio: CharactersPerToken) -> Self {
        Self { seed, distribution: TokenDistribution::Characters(ratio) }
    }

    /// Prompts whose tokens `counter` counts.
    ///
    /// # Errors
    /// That the counter fails, or knows no word that could be used.
    pub fn by_count(seed: u64, counter: &'a dyn CountTokens) -> Result<Self, String> {
        Ok(Self { seed, distribution: TokenDistribution::Counted(Pieces::of(counter)?) })
    }

    /// The text of some stretches in a row.
    ///
    /// # Errors
    /// That no text of exactly this many tokens was found.
    pub fn text(&self, stretches: &[Stretch]) -> Result<MadeText, String> {
        match &self.distribution {
            TokenDistribution::Characters(ratio) => Ok(self.characters(stretches, *ratio)),
            TokenDistribution::Counted(pieces) => self.counted(stretches, pieces),
        }
    }

    fn stream(&self, root: Root) -> Stream {
        match root {
            Root::Request(id) => Stream::named(self.seed, "prompt text").item(id),
            Root::Session(session, start) => {
                Stream::named(self.seed, "session text").item(session as usize).item(start as usize)
            }
            // In halves: an index of 32 bits is all that wasm32 has.
            Root::Block(id) => Stream::named(self.seed, "block text")
                .item((id & 0xffff_ffff) as usize)
                .item((id >> 32) as usize),
        }
    }

    fn characters(&self, stretches: &[Stretch], ratio: CharactersPerToken) -> MadeText {
        let mut text = String::new();
        let mut tokens = 0;
        for stretch in stretches {
            let mut stream = self.stream(stretch.root);
            tokens += u64::from(stretch.tokens);
            let end = ratio.characters(tokens);
            while text.len() < end {
                if !text.is_empty() {
                    text.push(' ');
                }
                text.push_str(WORDS[below(WORDS.len(), || stream.uniform())]);
            }
            text.truncate(end);
        }
        MadeText { text, cuts: Cuts::Characters(ratio) }
    }

    fn counted(&self, stretches: &[Stretch], pieces: &Pieces<'_>) -> Result<MadeText, String> {
        let wanted: u64 = stretches.iter().map(|s| u64::from(s.tokens)).sum();
        let marks = pieces.marks as u64;
        if wanted <= marks {
            return Err(format!("{wanted} tokens are no more than the tokenizer's own marks ({marks})"));
        }
        // The tokenizer's marks count with the first stretch.
        let mut row = PromptRow { text: String::new(), ends: Vec::new(), marks, tokens: marks };
        let mut stream = self.stream(Root::Request(0));
        let mut end = 0;
        for stretch in stretches {
            stream = self.stream(stretch.root);
            end += u64::from(stretch.tokens);
            while row.tokens < end {
                let words = if row.text.is_empty() { &pieces.starters } else { &pieces.words };
                let fits = |word: &&TextPiece| row.tokens + u64::from(word.tokens) <= end;
                match pick(words, &mut stream).filter(fits).or_else(|| pick(&pieces.fillers, &mut stream)) {
                    Some(piece) => row.push(piece),
                    None => break,
                }
            }
        }
        for _ in 0..TRIES {
            let count = pieces.counter.count(&row.text)? as u64;
            match count.cmp(&wanted) {
                Ordering::Equal => return Ok(MadeText { text: row.text, cuts: Cuts::Words(row.ends) }),
                Ordering::Greater => row.take_back(count - wanted),
                Ordering::Less => {
                    for _ in count..wanted {
                        pick(&pieces.fillers, &mut stream).into_iter().for_each(|filler| row.push(filler));
                    }
                }
            }
        }
        Err(format!("no text of exactly {wanted} tokens was found"))
    }
}

/// A text that grows and shrinks by words.
struct PromptRow {
    text: String,
    ends: Vec<(u64, usize)>,
    marks: u64,
    tokens: u64,
}

impl PromptRow {
    fn push(&mut self, piece: &TextPiece) {
        self.text.push_str(if self.text.is_empty() { piece.text.trim_start() } else { &piece.text });
        self.tokens += u64::from(piece.tokens);
        self.ends.push((self.tokens, self.text.len()));
    }

    /// Takes words off the end until they make up `tokens`, one at least.
    fn take_back(&mut self, tokens: u64) {
        let goal = self.tokens.saturating_sub(tokens);
        while self.ends.pop().is_some() {
            let (tokens, bytes) = self.ends.last().copied().unwrap_or((self.marks, 0));
            self.tokens = tokens;
            self.text.truncate(bytes);
            if tokens <= goal {
                break;
            }
        }
    }
}

impl<'a> Pieces<'a> {
    fn of(counter: &'a dyn CountTokens) -> Result<Self, String> {
        let marks = counter.count("")?;
        let mut words = known(counter, marks, WORDS.iter().map(|word| format!(" {word}")));
        let mut singles: Vec<TextPiece> = words.iter().filter(|word| word.tokens == 1).cloned().collect();
        if singles.len() < ENOUGH_WORDS {
            let own = counter.vocabulary().into_iter().take(MOST_OWN_WORDS).map(|word| format!(" {word}"));
            words.extend(known(counter, marks, own));
            singles = words.iter().filter(|word| word.tokens == 1).cloned().collect();
        }
        if singles.len() >= ENOUGH_WORDS {
            words.clone_from(&singles);
        }
        if words.is_empty() {
            return Err("the tokenizer knows none of the words that prompts are made of".to_owned());
        }
        let mut fillers = singles;
        if fillers.len() < ENOUGH_WORDS {
            let texts = FILLERS.iter().map(|text| (*text).to_owned());
            fillers.extend(known(counter, marks, texts).into_iter().filter(|piece| piece.tokens == 1));
        }
        let mut starters: Vec<TextPiece> = words.iter().filter(|word| word.starts).cloned().collect();
        if starters.is_empty() {
            starters.clone_from(&words);
        }
        Ok(Self { counter, marks, words, starters, fillers })
    }
}

/// The pieces that the counter knows, with what each adds to a text.
fn known(counter: &dyn CountTokens, marks: usize, texts: impl Iterator<Item = String>) -> Vec<TextPiece> {
    let measured = |text: String| -> Option<TextPiece> {
        let word = text.trim_start();
        // Said twice, so that what is added is added after a word of its own kind.
        let once = counter.count(word).ok()?.checked_sub(marks)?;
        let twice = counter.count(&format!("{word}{text}")).ok()?.checked_sub(marks)?;
        let tokens = u32::try_from(twice.checked_sub(once)?).ok().filter(|&tokens| tokens > 0)?;
        counter.knows(word).then_some(TextPiece { starts: once == tokens as usize, text, tokens })
    };
    texts.filter_map(measured).collect()
}

fn pick<'p>(pieces: &'p [TextPiece], stream: &mut Stream) -> Option<&'p TextPiece> {
    if pieces.is_empty() { None } else { pieces.get(below(pieces.len(), || stream.uniform())) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Splits at spaces and cuts words into parts of at most `most` letters; `marks` are added to every text.
    struct PromptParts {
        most: usize,
        marks: usize,
    }

    impl CountTokens for PromptParts {
        fn count(&self, text: &str) -> Result<usize, String> {
            Ok(self.marks + text.split_whitespace().map(|word| word.len().div_ceil(self.most)).sum::<usize>())
        }
    }

    fn request(id: usize, tokens: u32) -> Vec<Stretch> {
        vec![Stretch { root: Root::Request(id), tokens }]
    }

    #[test]
    fn texts_repeat_by_seed_and_request() {
        let made = |seed, id| {
            let by_ratio = Synthesis::by_ratio(seed, CharactersPerToken::DEFAULT);
            by_ratio.text(&request(id, 50)).expect("a ratio always has a text").text
        };
        assert_eq!(made(1, 2), made(1, 2));
        assert_ne!(made(1, 2), made(2, 2));
        assert_ne!(made(1, 2), made(1, 3));
        assert_eq!(made(1, 2).len(), 200);
    }

    #[test]
    fn equal_blocks_are_equal_text_and_longer_contexts_begin_with_shorter_ones() {
        let counter = PromptParts { most: 3, marks: 0 };
        let both = [
            Synthesis::by_ratio(7, CharactersPerToken::new(3.3).expect("within bounds")),
            Synthesis::by_count(7, &counter).expect("the words are known"),
        ];
        for synthesis in &both {
            let block = |id, tokens| Stretch { root: Root::Block(id), tokens };
            let rest = |id, tokens| Stretch { root: Root::Request(id), tokens };
            let first = synthesis.text(&[block(5, 16), block(1 << 40, 16), rest(0, 9)]).expect("made");
            let second = synthesis.text(&[block(5, 16), block(1 << 40, 16), rest(1, 30)]).expect("made");
            let shared = first.byte_at(32);
            assert!(shared > 32);
            assert_eq!(first.text[..shared], second.text[..shared]);
            assert_ne!(first.text[shared..], second.text[shared..]);
            let session =
                |tokens| synthesis.text(&[Stretch { root: Root::Session(3, 0), tokens }]).expect("made").text;
            let (short, long) = (session(40), session(90));
            let kept = short.bytes().zip(long.bytes()).take_while(|(a, b)| a == b).count();
            assert!(kept + 8 >= short.len(), "{short}\n{long}");
        }
    }

    #[test]
    fn a_counter_that_merges_across_words_is_met_all_the_same() {
        /// Four letters a token, spaces left out: where words end plays no part.
        struct Quarters;
        impl CountTokens for Quarters {
            fn count(&self, text: &str) -> Result<usize, String> {
                Ok(text.split_whitespace().map(str::len).sum::<usize>().div_ceil(4))
            }
        }
        let synthesis = Synthesis::by_count(1, &Quarters).expect("the words are known");
        for tokens in [1, 2, 5, 33, 400, 50_000] {
            let made = synthesis.text(&request(0, tokens)).expect("made");
            assert_eq!(Quarters.count(&made.text), Ok(tokens as usize));
        }
    }

    #[test]
    fn a_counter_that_knows_nothing_is_refused() {
        struct Deaf;
        impl CountTokens for Deaf {
            fn count(&self, text: &str) -> Result<usize, String> {
                if text.is_empty() { Ok(0) } else { Err("no such word".to_owned()) }
            }
        }
        assert!(Synthesis::by_count(1, &Deaf).is_err_and(|why| why.contains("knows none of the words")));
        let marked = PromptParts { most: 9, marks: 2 };
        let made = Synthesis::by_count(1, &marked).expect("known").text(&request(0, 2));
        assert!(made.is_err_and(|why| why.contains("own marks")));
    }

    proptest! {
        #[test]
        fn every_length_is_met_exactly(
            most in 1..9usize, marks in 0..3usize, seed in any::<u64>(), ratio in 1.0..64.0f64,
            lengths in prop::collection::vec((0..5u64, 1..400u32), 1..4),
        ) {
            let stretches: Vec<Stretch> =
                lengths.iter().map(|&(id, tokens)| Stretch { root: Root::Block(id), tokens: tokens + 2 }).collect();
            let wanted: u32 = stretches.iter().map(|s| s.tokens).sum();
            let counter = PromptParts { most, marks };
            let made = Synthesis::by_count(seed, &counter).expect("known").text(&stretches).expect("made");
            prop_assert_eq!(counter.count(&made.text), Ok(wanted as usize));
            let ratio = CharactersPerToken::new(ratio).expect("within bounds");
            let made = Synthesis::by_ratio(seed, ratio).text(&stretches).expect("made");
            prop_assert_eq!(ratio.count(&made.text), Ok(wanted as usize));
        }
    }
}
