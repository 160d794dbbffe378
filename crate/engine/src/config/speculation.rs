//! Speculative decoding: a drafter proposes tokens, and the model verifies them together with the last known one
//! (vllm/config/speculative.py; Leviathan et al., ICML 2023).
//!
//! How many drafts of a verification are accepted is given by survival probabilities: the chance that at least j of them are. One
//! number is drawn for each verification, and as many drafts are accepted as there are probabilities above it, so that a run with
//! more drafts accepts those of the run with fewer.

use servescope_workload::stream::Stream;
use servescope_workload::{RequestId, Trace};

/// Most drafts of a verification.
pub const MOST_DRAFTS: usize = 16;

/// Ranges of [`DraftSchedule`].
const RANGES: usize = 8;

/// What makes the drafts, as far as the scheduler distinguishes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DraftMethod {
    /// Looks for the last tokens further up in the request's own text (`ngram`).
    Ngram,
    /// A smaller model with weights and KV memory of its own (`draft_model`).
    DraftModel,
    /// A layer that reads the model's hidden states, one draft after another (`eagle`, `eagle3`, `mtp` with one module).
    Eagle,
    /// The same, all drafts at once behind a further query (`dflash`).
    Dflash,
    /// The same without that query (`dspark`).
    Dspark,
}

/// How many drafts are accepted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Acceptance {
    /// As the trace says ([`servescope_workload::trace::TraceMetadata::drafts`]).
    Recorded,
    /// Drawn.
    Drawn {
        /// The chance that at least j + 1 drafts are accepted; falling.
        survival: [f64; MOST_DRAFTS],
        /// Seed of the draws.
        seed: u64,
    },
}

/// How many drafts follow an iteration, by the number of requests in it (`num_speculative_tokens_per_batch_size`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DraftSchedule([(u32, u32); RANGES]);

impl DraftSchedule {
    /// So many drafts, each from a number of requests on. `None`: no range or too many, the first one does not begin at 1, or they
    /// are not in order.
    pub fn new(ranges: &[(u32, u32)]) -> Option<Self> {
        let mut all = [(u32::MAX, 0); RANGES];
        all.get_mut(..ranges.len())?.copy_from_slice(ranges);
        let begins_at_one = ranges.first().is_some_and(|range| range.0 == 1);
        (begins_at_one && ranges.is_sorted_by(|one, next| one.0 < next.0)).then_some(Self(all))
    }

    fn of(self, requests: u32) -> u32 {
        let begun = self.0.iter().take_while(|range| range.0 <= requests);
        begun.last().map_or(0, |range| range.1)
    }
}

/// The settings of speculative decoding (vLLM v1; no other scheduler has it).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Speculation {
    /// What makes the drafts.
    pub method: DraftMethod,
    /// Whether the drafter makes all drafts in one pass (`parallel_drafting`).
    pub parallel_drafting: bool,
    /// Drafts of a verification; at most [`MOST_DRAFTS`].
    pub num_speculative_tokens: u32,
    /// Fewer, by the number of requests in the iteration before.
    pub by_batch_size: Option<DraftSchedule>,
    /// Whether a block's hash covers the token behind it, too, on which the drafter's KV memory depends; otherwise the last block of
    /// a prefix that is found is computed again.
    pub lookahead_block_hashes: bool,
    /// How many of them are right.
    pub acceptance: Acceptance,
}

impl Speculation {
    /// KV slots behind those of the scheduled tokens, into which the drafter writes (`num_lookahead_tokens`).
    pub(crate) fn lookahead_tokens(&self) -> u32 {
        match self.method {
            DraftMethod::Ngram => 0,
            DraftMethod::Dflash => self.num_speculative_tokens + 1,
            DraftMethod::DraftModel | DraftMethod::Eagle | DraftMethod::Dspark => self.num_speculative_tokens,
        }
    }

    /// Rows of the drafter's input for each request beside those of its tokens, which the token budget counts
    /// (`max_num_new_slots_for_drafting`).
    pub(crate) fn draft_slots(&self) -> u32 {
        match (self.method, self.parallel_drafting) {
            (DraftMethod::DraftModel, true) => self.num_speculative_tokens,
            (DraftMethod::DraftModel, false) => 1,
            (DraftMethod::Eagle, true) => self.num_speculative_tokens - 1,
            (DraftMethod::Eagle | DraftMethod::Ngram | DraftMethod::Dflash | DraftMethod::Dspark, _) => 0,
        }
    }

    /// Drafts of each request behind an iteration of so many requests.
    pub(crate) fn drafts_after(&self, requests: u32) -> u32 {
        let most = self.num_speculative_tokens;
        self.by_batch_size.map_or(most, |ranges| ranges.of(requests).min(most))
    }

    /// Whether an iteration in which no request can use drafts is followed by none: they cost a pass of their own.
    pub(crate) fn skips_useless_drafts(&self) -> bool {
        self.method != DraftMethod::Ngram
    }

    /// Whether the drafter's KV memory of a token depends on the token behind it.
    pub(crate) fn reads_ahead(&self) -> bool {
        self.method == DraftMethod::Eagle
    }

    /// How many drafts of a request are accepted, of `drafts` that are verified; so many of its verifications were before.
    pub(crate) fn accepted(&self, trace: &Trace, id: RequestId, before: u32, drafts: u32) -> u32 {
        match self.acceptance {
            Acceptance::Recorded => {
                let lists = trace.metadata.as_ref().map(|metadata| &metadata.drafts.accepted);
                in_turn(lists.map_or(&[], |lists| lists.of(id.index())), before).unwrap_or(0).min(drafts)
            }
            Acceptance::Drawn { survival, seed } => {
                let stream = Stream::named(seed, "cost.speculation").item(id.index());
                let u = stream.item(before as usize).uniform();
                let possible = &survival[..survival.len().min(drafts as usize)];
                possible.iter().take_while(|&&chance| u < chance).count() as u32
            }
        }
    }
}

/// How many drafts a drafter makes for a request, of `most`; it was asked so often before. An n-gram may find fewer.
pub(crate) fn proposed(trace: &Trace, id: RequestId, before: u32, most: u32) -> u32 {
    let lists = trace.metadata.as_ref().map(|metadata| &metadata.drafts.proposed);
    in_turn(lists.map_or(&[], |lists| lists.of(id.index())), before).unwrap_or(most).min(most)
}

/// The entry of a list that comes after `before` others, round and round.
fn in_turn(list: &[u64], before: u32) -> Option<u32> {
    let place = (before as usize).checked_rem(list.len())?;
    list.get(place).map(|&count| count as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(method: DraftMethod, parallel_drafting: bool) -> Speculation {
        Speculation {
            method,
            parallel_drafting,
            num_speculative_tokens: 4,
            by_batch_size: None,
            lookahead_block_hashes: true,
            acceptance: Acceptance::Recorded,
        }
    }

    #[test]
    fn slots_are_those_of_vllm() {
        let slots = |method, parallel| {
            let own = with(method, parallel);
            (own.lookahead_tokens(), own.draft_slots())
        };
        assert_eq!(slots(DraftMethod::Ngram, false), (0, 0));
        assert_eq!(slots(DraftMethod::Eagle, false), (4, 0));
        assert_eq!(slots(DraftMethod::Eagle, true), (4, 3));
        assert_eq!(slots(DraftMethod::DraftModel, false), (4, 1));
        assert_eq!(slots(DraftMethod::DraftModel, true), (4, 4));
        assert_eq!(slots(DraftMethod::Dflash, false), (5, 0));
        assert_eq!(slots(DraftMethod::Dspark, false), (4, 0));
    }

    #[test]
    fn ranges_of_batch_sizes_go_on_to_the_next_one() {
        let ranges = DraftSchedule::new(&[(1, 5), (5, 3), (13, 9)]).expect("ranges");
        let own = Speculation { by_batch_size: Some(ranges), ..with(DraftMethod::Eagle, false) };
        assert_eq!([1, 4, 5, 12, 13, 900].map(|requests| own.drafts_after(requests)), [4, 4, 3, 3, 4, 4]);
        assert_eq!(with(DraftMethod::Eagle, false).drafts_after(7), 4);
        for bad in [&[][..], &[(2, 3)], &[(1, 3), (1, 2)], &[(1, 1); 9]] {
            assert_eq!(DraftSchedule::new(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn draws_have_the_mean_of_their_chances_and_more_drafts_accept_no_fewer() {
        let mut survival = [0.0; MOST_DRAFTS];
        survival[..3].copy_from_slice(&[0.8, 0.5, 0.4]);
        let own = Speculation {
            acceptance: Acceptance::Drawn { survival, seed: 7 },
            ..with(DraftMethod::Eagle, false)
        };
        let trace = Trace::default();
        let (mut sum, mut squares) = (0.0, 0.0);
        let count = 100_000;
        for place in 0..count {
            let accepted = |drafts| own.accepted(&trace, RequestId::new(place % 100), place / 100, drafts);
            assert!(accepted(1) <= accepted(2) && accepted(2) <= accepted(3) && accepted(4) == accepted(3));
            let emitted = 1.0 + f64::from(accepted(3));
            sum += emitted;
            squares += emitted * emitted;
        }
        let mean = sum / f64::from(count);
        let sigma = ((squares / f64::from(count) - mean * mean) / f64::from(count)).sqrt();
        assert!((mean - 2.7).abs() < 3.0 * sigma, "{mean} and not 2.7 within 3 x {sigma}");
    }
}
