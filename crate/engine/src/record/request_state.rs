//! What is known of a request while it runs and when it is over: one record for each, so that a look at a request is a look at
//! one place in memory.

use crate::replica_index::ReplicaIndex;

/// Where a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum RequestStatus {
    /// Not arrived, or in a waiting queue.
    #[default]
    Waiting,
    /// Holds memory into which a lower tier of the KV cache copies what it has, or waits with that to be admitted.
    Loading,
    /// Holds memory; its prompt is not yet processed.
    Prefilling,
    /// Holds memory and decodes.
    Decoding,
    /// It is a chunk of its session's input, and the answer to the chunk before it has not ended.
    BehindAnswer,
    /// Its prompt is computed, and it is on its way to the replica that decodes.
    BetweenLegs,
    /// It has left, complete or not.
    Finished,
}

/// What of a request is served in a leg.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum LegRole {
    /// All of it.
    #[default]
    Whole,
    /// Its prompt; the token that comes out of it is thrown away.
    Prefill,
    /// Its answer, behind a prompt that was computed elsewhere.
    Decode,
}

/// A request's stay at one replica, from its waiting queue to the release of its blocks. It has one; a disaggregated request begins
/// another at its decode replica.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Leg {
    pub(crate) replica: ReplicaIndex,
    pub(crate) role: LegRole,
    /// When its first iteration was formed, microseconds; NaN before.
    pub(crate) scheduled_us: f64,
}

impl Leg {
    /// One that has not begun.
    pub(crate) fn at(replica: ReplicaIndex, role: LegRole) -> Self {
        Self { replica, role, scheduled_us: f64::NAN }
    }
}

/// A request. Times in microseconds; NaN where there is none.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestState {
    /// Where it is served.
    pub(crate) leg: Leg,
    /// When its first token was there.
    pub(crate) first_token_us: f64,
    /// End of its last iteration outside the decode batch, or its preemption.
    pub(crate) updated_us: f64,
    /// How long it stood still between iterations; in the decode batch, less the replica's counter.
    pub(crate) stalled_us: f64,
    /// The longest time between two of its tokens so far; in the decode batch, before it joined.
    pub(crate) longest_gap_us: f64,
    /// Durations of the iterations that processed its prompt, without the loading of adapters.
    pub(crate) prefill_us: f64,
    /// Tokens to process before decoding: the prompt, after a preemption also what was generated.
    pub(crate) prompt: u32,
    /// Tokens of prompt and output when it is done.
    pub(crate) total: u32,
    /// Tokens processed. While a request decodes in the decode batch of its replica, less the replica's step (wrapping).
    pub(crate) done: u32,
    pub(crate) preemptions: u16,
    pub(crate) status: RequestStatus,
}

impl RequestState {
    /// A request that has not arrived.
    pub(crate) fn new(prompt: u32, total: u32) -> Self {
        Self {
            leg: Leg::at(ReplicaIndex::default(), LegRole::Whole),
            first_token_us: f64::NAN,
            updated_us: f64::NAN,
            stalled_us: 0.0,
            longest_gap_us: 0.0,
            prefill_us: 0.0,
            prompt,
            total,
            done: 0,
            preemptions: 0,
            status: RequestStatus::default(),
        }
    }

    /// Whether its times, its replica and its preemptions are those of another one, to the bit.
    pub(crate) fn is_served_as(&self, other: &Self) -> bool {
        let times = |of: &Self| {
            [of.leg.scheduled_us, of.first_token_us, of.stalled_us, of.longest_gap_us, of.prefill_us]
                .map(f64::to_bits)
        };
        times(self) == times(other)
            && self.leg.replica == other.leg.replica
            && self.preemptions == other.preemptions
    }
}
