//! A batch scheduler from outside this crate: what it sees of its replica, and the plan that it answers with.
//!
//! The engine does the rest: it checks a plan against blocks, LoRA slots, the token budget and the cap on running requests, loads
//! adapters, charges the iteration, and writes down what happened. A plan cannot break the engine's books: what does not fit is left
//! out of the iteration, and the requests that it was for wait.
//!
//! vLLM has the same seam (`--scheduler-cls`, vllm/v1/core/sched/interface.py).

use servescope_workload::RequestId;

/// The batch scheduler of one replica ([`Pool::with_scheduler`](crate::Pool::with_scheduler)).
pub trait CustomScheduler: std::fmt::Debug + Send + Sync {
    /// A copy that goes on by itself: every replica has one, and so has a copy of a simulation.
    fn boxed(&self) -> Box<dyn CustomScheduler>;

    /// Plans the next iteration. Asked whenever the replica may begin one; with several pipeline stages also while others are under way.
    fn schedule(&mut self, view: &SchedulerView<'_>) -> Plan;

    /// Asked after a plan that gave one token to each running request and did nothing else: how many further calls would give the
    /// same plan, and leave the scheduler as it is, as long as no request arrives or leaves and none is short of a block. 0 is
    /// always right, and slower.
    fn steady_for(&self) -> u32 {
        0
    }

    /// Something has happened at the replica.
    fn happened(&mut self, _event: SchedulerEvent) {}

    /// When a replica whose plan was empty asks again, microseconds; infinite: when something happens.
    fn wakes_us(&self) -> f64 {
        f64::INFINITY
    }
}

/// What a scheduler sees of its replica. What an answer will have in the end it does not see.
#[derive(Debug, Clone, Copy)]
pub struct SchedulerView<'a> {
    /// The time, microseconds.
    pub now_us: f64,
    /// The token budget of an iteration (`max_num_batched_tokens`).
    pub max_batch_tokens: u32,
    /// Most requests that may hold memory at once (`max_num_seqs`).
    pub max_requests: u32,
    /// Tokens in a block.
    pub block_tokens: u32,
    /// Free blocks; what only the prefix cache keeps is free.
    pub free_blocks: u32,
    /// Requests that hold no memory: new ones in the order of their arrival, behind those that were preempted.
    pub waiting: &'a [WaitingRequest],
    /// Requests that hold memory, in the order of their admission.
    pub running: &'a [RunningRequest],
}

/// What a scheduler knows of a request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RequestFacts {
    /// Which request.
    pub id: RequestId,
    /// Its user.
    pub user: u32,
    /// Its LoRA adapter; [`BASE_MODEL`](servescope_workload::BASE_MODEL) where it has none.
    pub adapter: u32,
    /// When it came in, microseconds.
    pub arrival_us: f64,
    /// Tokens of its prompt.
    pub prompt_tokens: u32,
    /// The bound on its answer (`max_tokens`).
    pub max_tokens: u32,
    /// Tokens of its answer so far.
    pub output_tokens: u32,
}

/// A request that holds no memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WaitingRequest {
    /// What is known of it.
    pub facts: RequestFacts,
    /// Whether its adapter may be in the next iteration: there is a LoRA slot for it.
    pub has_slot: bool,
}

/// A request that holds memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunningRequest {
    /// What is known of it.
    pub facts: RequestFacts,
    /// Tokens of prompt and answer that are computed, or under way.
    pub computed_tokens: u32,
    /// Tokens that it can have in the next iteration: the rest of its prompt, or 1; 0 while its last token is under way.
    pub next_tokens: u32,
    /// Blocks that it holds.
    pub blocks: u32,
}

/// The next iteration. An empty plan begins none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// Running requests that lose their memory first. They wait, and are computed again.
    pub preempted: Vec<RequestId>,
    /// Requests of the iteration, each with its tokens: running ones go on, waiting ones are admitted. More tokens than a request
    /// can have are cut.
    pub tokens: Vec<(RequestId, u32)>,
}

/// What a scheduler is told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchedulerEvent {
    /// A request came to the waiting queue.
    Arrived(RequestId),
    /// A request is done, was cancelled, or waited too long.
    Left(RequestId),
}
