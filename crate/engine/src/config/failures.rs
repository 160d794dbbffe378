//! Replicas that fail.

/// When replicas of a pool fail. It is not simulated beside [`FleetConfig::disaggregation`](crate::FleetConfig::disaggregation).
#[derive(Debug, Clone, PartialEq)]
pub struct Failures {
    /// One of those that are ready fails at each of these times, microseconds.
    pub times_us: Vec<f64>,
    /// How long one runs on average until it fails (MTBF), microseconds; times are exponential. Infinite: none fails beside those.
    pub mean_us: f64,
}

impl Failures {
    /// None fails.
    pub const NONE: Self = Self { times_us: Vec::new(), mean_us: f64::INFINITY };
}
