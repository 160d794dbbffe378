//! What the scheduler keeps of a request (`Req` of managers/schedule_batch.py).

use servescope_workload::RequestId;

use super::contents::Sequence;
use super::radix_tree::{NodeIndex, ROOT};

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Done {
    /// By a stop token, or with its `max_new_tokens`.
    Complete,
    /// Its client has gone, or it was rejected.
    Aborted,
}

/// A request.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a state of its own")]
pub(super) struct Request {
    pub(super) sequence: Sequence,
    /// Tokens of its prompt, and of its output so far.
    pub(super) prompt: u32,
    pub(super) out: u32,
    /// Most tokens of its output.
    pub(super) max_new: u32,
    /// With which token of its output it stops by itself; `None`: only with the last that it may have.
    pub(super) stops_with: Option<u32>,
    pub(super) ignore_eos: bool,
    /// The greater, the better, unless the settings say otherwise.
    pub(super) priority: i64,
    pub(super) adapter: u32,
    /// It computes the tokens from the first to the second of these.
    pub(super) prefix: u32,
    pub(super) end: u32,
    /// Of its tokens, those that belong to the tree, and those that it has put there.
    pub(super) owned: u32,
    pub(super) inserted: u32,
    /// Tokens that have memory.
    pub(super) kv: u32,
    pub(super) has_slot: bool,
    /// The node up to which it locks the tree.
    pub(super) lock: Option<NodeIndex>,
    /// Where the last look into the tree ended, and how many tokens were known there.
    pub(super) node: NodeIndex,
    pub(super) matched: u32,
    /// Tokens that it had at the last look; 0: there was none.
    pub(super) seen: u32,
    pub(super) done: Option<Done>,
    /// It ends with its next token.
    pub(super) is_ending: bool,
    /// Pieces of its prompt under way that are not the last one.
    pub(super) pieces: u32,
    /// It was retracted or preempted and has not run since.
    pub(super) is_retracted: bool,
    /// How many requests entered the queue before it, and how many prompt tokens had been processed then.
    pub(super) entered: u64,
    pub(super) prefilled_before: u64,
}

impl Request {
    pub(super) fn new(sequence: Sequence, prompt: u32, max_new: u32) -> Self {
        Self {
            sequence,
            prompt,
            out: 0,
            max_new,
            stops_with: None,
            ignore_eos: false,
            priority: 0,
            adapter: 0,
            prefix: 0,
            end: 0,
            owned: 0,
            inserted: 0,
            kv: 0,
            has_slot: false,
            lock: None,
            node: ROOT,
            matched: 0,
            seen: 0,
            done: None,
            is_ending: false,
            pieces: 0,
            is_retracted: false,
            entered: 0,
            prefilled_before: 0,
        }
    }

    pub(super) fn id(&self) -> RequestId {
        self.sequence.id
    }

    /// Tokens of prompt and output.
    pub(super) fn fill(&self) -> u32 {
        self.prompt + self.out
    }

    /// Tokens to compute, as of the last look into the tree; at least 1.
    pub(super) fn work(&self) -> u32 {
        self.fill().saturating_sub(self.matched).max(1)
    }

    /// Tokens of its output that it is expected to need still.
    pub(super) fn expected(&self, clip: u32, ratio: f64) -> f64 {
        let left = (i64::from(self.max_new) - i64::from(self.out)).min(clip.into());
        left as f64 * if self.ignore_eos { 1.0 } else { ratio }
    }

    /// It waits, and has nothing.
    pub(super) fn reset_for_retract(&mut self) {
        (self.prefix, self.end, self.owned, self.inserted) = (0, 0, 0, 0);
        (self.node, self.matched, self.pieces) = (ROOT, 0, 0);
        self.is_retracted = true;
    }
}
