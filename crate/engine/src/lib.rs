//! What happens to a trace: rejections, the waiting queue, batching, adapter memory, iterations.
//!
//! ```text
//! Trace ──> gateway ─────> router ────> waiting queue ──> scheduler ──> iterations ──> Report
//!           rate limits,   which        one scheduling    what joins    prefill,       columns, metrics,
//!           KV admission   replica      policy            the batch     decode         series, explanations
//! ```
//!
//! Time is in microseconds, f64. Nothing here reads a clock, iterates a hash map or depends on threads: equal inputs give
//! equal bits on every machine.

mod arrivals;
mod block_numbers;
mod client;
mod config;
pub mod custom_scheduler;
mod engine;
pub mod explain;
pub mod first_difference;
pub mod gateway;
pub mod metrics;
mod ranks;
mod record;
mod replica;
mod replica_index;
pub mod report;
mod request;
mod router;
mod scaling;
pub mod steps;

/// S-LoRA's waiting queue and its admission decisions, one by one.
pub mod slora {
    pub use crate::replica::scheduler::slora::{
        AdmissionPass, CandidateDecision, Latency, Limits, SloraQueue,
    };
}

pub use config::adapters::{AdapterConfig, AdapterLoading, AdapterMemory, TOKENS_PER_RANK};
pub use config::disaggregation::{Decider, Disaggregation, KvRole, KvTransfer, LinkSharing, LoadFailure};
pub use config::failures::Failures;
pub use config::host_cache::{HostCache, HostEviction, OffloadConnector};
pub use config::kv_groups::{KvGroup, KvGroups, KvGroupsOfKind};
pub use config::ranks::{DataParallel, Lockstep, RankChoice, Rearranging};
pub use config::routing::{CountSource, IndexKind, MissTarget, RouterConstants, RouterView};
pub use config::scaling::{
    Autoscaling, ColdStart, DrainChoice, OptimizationTarget, ScalingKind, ScalingMetric,
};
pub use config::sglang::{RadixEviction, RetractionPolicy, SchedulePolicy, SglangRules};
pub use config::speculation::{Acceptance, DraftMethod, DraftSchedule, MOST_DRAFTS, Speculation};
pub use config::trtllm::{CapacityPolicy, ChunkingPolicy, TrtllmRules};
pub use config::{
    CountChange, Equals, FleetConfig, LongPrefill, Pool, PoolConfig, Preemption, RouterKind, SchedulerKind,
    VllmRules,
};
pub use engine::failures::MOST_FAILURES;
pub use engine::rejection::rejection;
pub use engine::{BatchMember, BatchUnderWay, Fleet};
pub use gateway::proxy::snapshot::GatewaySnapshot;
pub use record::decisions::passes::AdapterLoad;
pub use record::failures::{ReplicaFailure, Restart};
pub use record::kv_copies::KvCopy;
pub use record::replica_life::ReplicaLife;
pub use record::request_legs::RequestLegs;
pub use record::scaling::{ScalingDecision, ScalingInput, ScalingLimit};
pub use record::{decisions, drafts, observer, request_phases, request_timings, sampler, timeline};
pub use replica::adapters;
pub use replica::queue::waiting_queue::listing::QueueKeyKind;
pub use replica::{peak_memory, queue, snapshot};
pub use replica_index::ReplicaIndex;
pub use report::{LatencyBreakdown, PoolReport, Report};
pub use request::{BlockReason, Outcome, Rejection, RequestResult};
