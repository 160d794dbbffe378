//! [`ReplicaIndex`]: one of the replicas of a deployment.

servescope_workload::index_type! {
    /// A replica: its place in the list of a deployment's replicas.
    ReplicaIndex(u16)
}

/// In place of a replica: none.
pub(crate) const NO_REPLICA: ReplicaIndex = ReplicaIndex::new(u16::MAX);
