//! Data-parallel ranks: engines with a waiting queue and a KV cache of their own that together are one replica.

use std::num::NonZeroU32;

/// The data-parallel ranks of a replica (`--data-parallel-size`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataParallel {
    /// How many; at least 1.
    pub ranks: u32,
    /// Whether they run every forward pass together, as those of a mixture of experts do, whose experts are spread over the
    /// ranks; `None`: each by itself, as those of a dense model.
    pub lockstep: Option<Lockstep>,
    /// Which rank gets a request of the replica.
    pub choice: RankChoice,
    /// Front ends (`--api-server-count`) that choose by themselves, given the requests in turn; at least 1.
    pub front_ends: u32,
}

impl DataParallel {
    /// One engine.
    pub const ONE: Self = Self { ranks: 1, lockstep: None, choice: RankChoice::Vllm, front_ends: 1 };

    /// Whether the replica chooses among its ranks itself. Otherwise the fleet's router sees every rank.
    pub(crate) fn balances(&self) -> bool {
        self.ranks > 1 && self.choice != RankChoice::External
    }

    /// Whether that choice depends on when exactly ranks report their counts.
    pub(crate) fn hears_reports(&self) -> bool {
        self.balances() && matches!(self.choice, RankChoice::Vllm | RankChoice::VllmQueues)
    }
}

/// How ranks run forward passes together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lockstep {
    /// Passes from one at which all ranks ask each other whether any has work to the next (`dp_sync_interval`); at least 1.
    pub sync_interval: u32,
    /// How experts are rearranged; `None`: they stay where they are.
    pub rearranging: Option<Rearranging>,
}

/// How the experts of all ranks are rearranged by their loads (vLLM's EPLB, vllm/distributed/eplb/eplb_state.py).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rearranging {
    /// Passes from one rearrangement to the next (`step_interval`), dummy ones included. The first comes after a quarter of them.
    pub step_interval: NonZeroU32,
    /// How long a pass waits for the weights that move, microseconds; 0 where they move beside passes (`use_async`).
    pub pause_us: u32,
}

/// Which rank of a replica gets a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RankChoice {
    /// vLLM 0.33: the least of the front end's own requests there and the coordinator's counts, more where requests wait for KV
    /// memory (vllm/v1/engine/core_client.py, `DPLBAsyncMPClient`).
    Vllm,
    /// vLLM before: the least of four times the waiting and the running requests by the coordinator's counts.
    VllmQueues,
    /// Each rank after the one before (SGLang's `round_robin`).
    RoundRobin,
    /// The rank with the fewest requests (SGLang's `total_requests`).
    FewestRequests,
    /// The fleet's router: every rank is an address of its own (`--data-parallel-external-lb`).
    External,
}
