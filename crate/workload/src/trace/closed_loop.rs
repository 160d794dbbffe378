//! Closed loops: requests that are sent only when another one has ended.
//!
//! A held request is sent at the end of the one before it plus a think time, or at its own arrival time where that is
//! later (AIBrix's client holds the turns of a session so). Its `arrival_us` is therefore the earliest possible time, and
//! the time at which it was really sent is an outcome of the run.

/// Entry of [`ClosedLoop::depends_on`] for a request that waits for no other.
pub const NO_REQUEST: u32 = u32::MAX;

/// What each request of a trace waits for. A trace without one is open: every request is sent at its arrival time.
#[derive(Debug, Clone, PartialEq)]
pub struct ClosedLoop {
    /// The request that must end first (completed, rejected, or its client gone), or [`NO_REQUEST`].
    pub depends_on: Vec<u32>,
    /// Time between that end and the sending, microseconds; 0 for a request that waits for no other.
    pub think_us: Vec<f64>,
    /// Held requests that would be sent at this time or later are not sent at all, microseconds.
    pub until_us: f64,
    /// Whether any end lets the next held request go, in the order of the trace, whatever request it names in `depends_on`: a
    /// client with this many requests in flight (`--max-concurrency`).
    pub is_shared: bool,
}

impl Default for ClosedLoop {
    fn default() -> Self {
        Self { depends_on: Vec::new(), think_us: Vec::new(), until_us: f64::INFINITY, is_shared: false }
    }
}

impl ClosedLoop {
    /// Appends what the next request waits for.
    pub fn push(&mut self, depends_on: u32, think_us: f64) {
        self.depends_on.push(depends_on);
        self.think_us.push(think_us);
    }

    /// Whether any request waits for another.
    pub fn holds_any(&self) -> bool {
        self.depends_on.iter().any(|&before| before != NO_REQUEST)
    }

    /// What the requests wait for that are named by `order`; `place` is where each went. A request that waited for one that is
    /// left out waits for no other.
    pub(super) fn select(&self, order: &[u32], place: &[Option<u32>]) -> Self {
        let mut chosen = Self { until_us: self.until_us, is_shared: self.is_shared, ..Self::default() };
        for &id in order {
            let before = place.get(self.depends_on[id as usize] as usize).copied().flatten();
            chosen.push(before.unwrap_or(NO_REQUEST), before.map_or(0.0, |_| self.think_us[id as usize]));
        }
        chosen
    }
}
