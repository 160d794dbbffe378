//! Copies of KV blocks between the GPUs of a replica and its host memory, or from the GPUs of another replica.

use servescope_workload::RequestId;

use crate::replica_index::ReplicaIndex;

/// A copy of whole blocks. Times in microseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct KvCopy {
    /// Whose.
    pub replica: ReplicaIndex,
    /// To the GPU; otherwise to the host.
    pub is_load: bool,
    /// For whom, of a load.
    pub requests: Box<[RequestId]>,
    /// How many blocks.
    pub blocks: u32,
    /// When it was decided, began, ended, and when the scheduler knew of its end.
    pub decided_us: f64,
    /// When it began: those before it on the same way had ended, and an iteration that it waited for.
    pub start_us: f64,
    /// When it ended.
    pub end_us: f64,
    /// When the scheduler learned of its end.
    pub known_us: f64,
    /// How long it takes from its start where no other copy shares its way.
    pub alone_us: f64,
}
