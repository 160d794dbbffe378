//! What became of the drafts of speculative decoding.

use crate::config::speculation::MOST_DRAFTS;

/// Those of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RequestDrafts {
    /// How often drafts were made for it, or looked for.
    pub attempts: u32,
    /// Iterations in which drafts were verified.
    pub verifications: u32,
    /// Drafts that were verified.
    pub verified: u32,
    /// Those of them that were right. Behind the end of its output they are dropped all the same.
    pub accepted: u32,
    /// Tokens of its output that came together with another one.
    pub further_tokens: u32,
}

/// Those of all requests by their position behind the last known token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DraftPositions {
    /// Drafts that were verified. At the first position there is one for each verification.
    pub verified: [u64; MOST_DRAFTS],
    /// Those of them that were right.
    pub accepted: [u64; MOST_DRAFTS],
}

impl DraftPositions {
    /// Of so many drafts the first ones were right.
    pub(crate) fn add(&mut self, verified: u32, accepted: u32) {
        self.verified.iter_mut().take(verified as usize).for_each(|count| *count += 1);
        self.accepted.iter_mut().take(accepted as usize).for_each(|count| *count += 1);
    }

    /// Tokens that a verification gives in the mean if none is behind the end of an output: the right drafts and one more
    /// (acceptance length). `None`: there was no verification.
    pub fn acceptance_length(&self) -> Option<f64> {
        let verifications = self.verified[0];
        let accepted: u64 = self.accepted.iter().sum();
        (verifications > 0).then(|| 1.0 + accepted as f64 / verifications as f64)
    }
}
