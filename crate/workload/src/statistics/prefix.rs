//! Reuse of prefix blocks with a cache that keeps everything, in the order of the file.

use std::collections::BTreeMap;

/// What a cache without limit would find.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PrefixReuse {
    /// Blocks of all requests.
    pub blocks: usize,
    /// Blocks found: leading ones that were seen before.
    pub found_blocks: usize,
    /// Tokens of all prompts.
    pub tokens: u64,
    /// Tokens of found blocks, at most the prompt.
    pub found_tokens: u64,
    /// Requests that found any.
    pub requests_with_any: usize,
    uses: BTreeMap<u64, u32>,
}

impl PrefixReuse {
    /// Looks up the blocks of the next request, and keeps them.
    pub fn add(&mut self, ids: &[u64], input_tokens: u32, block_tokens: u32) {
        let found = ids.iter().take_while(|id| self.uses.contains_key(id)).count();
        self.blocks += ids.len();
        self.found_blocks += found;
        self.tokens += u64::from(input_tokens);
        self.found_tokens += (found as u64 * u64::from(block_tokens)).min(input_tokens.into());
        self.requests_with_any += usize::from(found > 0);
        for &id in ids {
            *self.uses.entry(id).or_default() += 1;
        }
    }

    /// How often each block was used.
    pub fn uses(&self) -> impl Iterator<Item = f64> {
        self.uses.values().map(|&n| f64::from(n))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_leading_blocks_are_found() {
        let mut reuse = PrefixReuse::default();
        reuse.add(&[1, 2, 3], 40, 16);
        reuse.add(&[1, 9, 3], 40, 16);
        reuse.add(&[1, 2, 3], 40, 16);
        assert_eq!((reuse.blocks, reuse.found_blocks, reuse.requests_with_any), (9, 4, 2));
        assert_eq!((reuse.tokens, reuse.found_tokens), (120, 56));
        assert_eq!(reuse.uses().collect::<Vec<_>>(), [3.0, 2.0, 3.0, 1.0]);
    }
}
