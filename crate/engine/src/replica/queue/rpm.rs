//! Requests per minute (`lshare_fair` of VTC's artifact): a client with as many accepted requests in the last 60 s as its
//! limit is rejected on arrival; rejected ones do not count. The queue itself is first come, first served.

use std::collections::VecDeque;

/// The window, microseconds; its far end counts.
const WINDOW_US: f64 = 60e6;

/// Accepted requests of every client within the window.
#[derive(Debug, Clone)]
pub struct Limiter {
    limit: usize,
    accepted_us: Vec<VecDeque<f64>>,
}

impl Limiter {
    /// A limit of this many requests a minute for each of `clients`.
    pub fn new(limit: u32, clients: usize) -> Self {
        Self { limit: limit as usize, accepted_us: vec![VecDeque::new(); clients] }
    }

    /// The number of clients that it distinguishes.
    pub fn clients(&self) -> usize {
        self.accepted_us.len()
    }

    /// Whether a request of `client` that arrives now is accepted. Times never decrease.
    pub fn accepts(&mut self, client: usize, now_us: f64) -> bool {
        let accepted = &mut self.accepted_us[client];
        while accepted.front().is_some_and(|&t| now_us - t > WINDOW_US) {
            accepted.pop_front();
        }
        let accepts = accepted.len() < self.limit;
        if accepts {
            accepted.push_back(now_us);
        }
        accepts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_far_end_of_the_window_counts_and_rejected_requests_do_not() {
        let mut limiter = Limiter::new(2, 1);
        let at = [0.0, 1e6, 2e6, 60e6, 60e6 + 1.0, 60e6 + 2.0, 61e6, 61e6 + 1.0];
        let accepted: Vec<bool> = at.iter().map(|&t| limiter.accepts(0, t)).collect();
        assert_eq!(accepted, [true, true, false, false, true, false, false, true]);
    }
}
