//! From when to when each replica was there.

/// The life of a replica. Times are microseconds; infinite: not in this run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReplicaLife {
    /// Its pool, by its place in [`Report::pools`](crate::Report::pools).
    pub pool: u16,
    /// Which one it is; data-parallel ranks of one replica share the number.
    pub replica: u16,
    /// Which of its ranks.
    pub rank: u16,
    /// How many ranks, from this one on, a router sees as one address; at least 1.
    pub ranks_behind: u16,
    /// When it was asked for: from then on it is billed.
    pub start_us: f64,
    /// When it could be given its first request.
    pub ready_us: f64,
    /// When it was given its last one at the latest.
    pub drain_us: f64,
    /// When it stopped, with its last request.
    pub stop_us: f64,
    /// Whether it failed, at `drain_us`.
    pub fails: bool,
}

impl ReplicaLife {
    /// Of a replica of the first pool that is there all the time.
    pub const WHOLE: Self = Self {
        pool: 0,
        replica: 0,
        rank: 0,
        ranks_behind: 1,
        start_us: 0.0,
        ready_us: 0.0,
        drain_us: f64::INFINITY,
        stop_us: f64::INFINITY,
        fails: false,
    };

    /// Whether it can compute at a time.
    pub fn is_there(&self, now_us: f64) -> bool {
        self.ready_us <= now_us && now_us < self.stop_us
    }

    /// How long it is billed of the time up to `end_us`, microseconds.
    pub fn billed_us(&self, end_us: f64) -> f64 {
        (self.stop_us.min(end_us) - self.start_us).max(0.0)
    }
}
