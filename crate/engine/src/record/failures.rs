//! Replicas that failed, and what that did to their requests.

use servescope_workload::RequestId;

use crate::replica_index::ReplicaIndex;

/// A replica failed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReplicaFailure {
    /// When, microseconds.
    pub time_us: f64,
    /// The first of its ranks.
    pub replica: ReplicaIndex,
    /// Requests that waited or ran there.
    pub lost: u32,
}

/// A request was at a replica that failed, or no replica was ready for it: until then nothing of what it got counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Restart {
    /// Which request.
    pub request: RequestId,
    /// When a replica was given it, again or at last, microseconds.
    pub time_us: f64,
    /// Tokens that had been produced and were thrown away.
    pub lost_tokens: u32,
}
