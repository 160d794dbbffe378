//! How requests came from the replica that computed their prompts to the one that decodes.

use crate::replica_index::ReplicaIndex;

/// The way of one request. Times in microseconds; NaN where it did not come so far.
#[derive(Debug, Clone, Copy)]
pub struct RequestLegs {
    /// The replica that computes its prompt.
    pub prefill: ReplicaIndex,
    /// The replica that decodes.
    pub decode: ReplicaIndex,
    /// When its first iteration began at the prefill replica.
    pub scheduled_us: f64,
    /// When its prompt was computed there.
    pub prefilled_us: f64,
    /// When the decode replica knew of it.
    pub arrived_us: f64,
    /// When its first iteration began at the decode replica.
    pub decode_scheduled_us: f64,
    /// KV blocks that were pulled: those of its prompt that the decode replica had not cached.
    pub blocks: u32,
    /// Whether the pull was asked for; it is once only.
    pub(crate) is_pulled: bool,
}

impl RequestLegs {
    /// Of a request that has just come in.
    pub(crate) fn between(prefill: ReplicaIndex, decode: ReplicaIndex) -> Self {
        Self {
            prefill,
            decode,
            scheduled_us: f64::NAN,
            prefilled_us: f64::NAN,
            arrived_us: f64::NAN,
            decode_scheduled_us: f64::NAN,
            blocks: 0,
            is_pulled: false,
        }
    }
}

impl RequestLegs {
    /// From the end of its prompt to its first iteration at the decode replica, microseconds; 0 where it did not come so far.
    pub(crate) fn wait_us(&self) -> f64 {
        Some(self.decode_scheduled_us - self.prefilled_us).filter(|us| !us.is_nan()).unwrap_or(0.0)
    }
}

impl PartialEq for RequestLegs {
    /// Equal bits, so that what is missing equals what is missing.
    fn eq(&self, other: &Self) -> bool {
        let of = |own: &Self| {
            let times = [own.scheduled_us, own.prefilled_us, own.arrived_us, own.decode_scheduled_us];
            (own.prefill, own.decode, times.map(f64::to_bits), own.blocks, own.is_pulled)
        };
        of(self) == of(other)
    }
}
