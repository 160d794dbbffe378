//! When each request may be sent, without a clock of its own.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::plan::{ReplayLimits, ReplayPlan};

/// Which requests are due, which wait for others, and what bounds allow.
#[derive(Debug, Clone)]
pub struct Schedule<'p> {
    plan: &'p ReplayPlan,
    /// (time in nanoseconds, place): whole numbers have an order.
    due: BinaryHeap<Reverse<(u64, usize)>>,
    /// Requests that are sent after the end of each request; those of a shared chain are in `shared`.
    followers: Vec<Vec<usize>>,
    shared: VecDeque<usize>,
    /// When the last requests of a second were sent, microseconds.
    recent_us: VecDeque<f64>,
    most_a_second: usize,
    most_in_flight: usize,
    in_flight: usize,
    dropped: usize,
}

const SECOND_US: f64 = 1e6;

fn key(us: f64) -> u64 {
    (us * 1e3).round() as u64
}

impl<'p> Schedule<'p> {
    /// A schedule at its start.
    pub fn new(plan: &'p ReplayPlan, limits: &ReplayLimits) -> Self {
        let mut schedule = Self {
            plan,
            due: BinaryHeap::new(),
            followers: vec![Vec::new(); plan.requests.len()],
            shared: VecDeque::new(),
            recent_us: VecDeque::new(),
            most_a_second: limits.rate_rps.max(1) as usize,
            most_in_flight: limits.in_flight.max(1),
            in_flight: 0,
            dropped: 0,
        };
        for (place, request) in plan.requests.iter().enumerate() {
            match request.after {
                None => schedule.due.push(Reverse((key(request.due_us), place))),
                Some(_) if plan.is_shared => schedule.shared.push_back(place),
                Some(before) => schedule.followers[before].push(place),
            }
        }
        schedule
    }

    /// The time from which on the next request may be sent; `None` where an answer must end first, or none is left.
    pub fn next_us(&self) -> Option<f64> {
        let Reverse((due, _)) = self.due.peek().filter(|_| self.in_flight < self.most_in_flight)?;
        let due_us = *due as f64 / 1e3;
        let allowed_us = match self.recent_us.front() {
            Some(first) if self.recent_us.len() >= self.most_a_second => first + SECOND_US,
            _ => 0.0,
        };
        Some(due_us.max(allowed_us))
    }

    /// Takes the next request where it may be sent now: its place, and when it was due.
    pub fn take(&mut self, now_us: f64) -> Option<(usize, f64)> {
        self.next_us().filter(|&at_us| at_us <= now_us)?;
        let Reverse((due, place)) = self.due.pop()?;
        if self.recent_us.len() >= self.most_a_second {
            self.recent_us.pop_front();
        }
        self.recent_us.push_back(now_us);
        self.in_flight += 1;
        Some((place, due as f64 / 1e3))
    }

    /// A request has ended, however.
    pub fn ended(&mut self, place: usize, at_us: f64) {
        self.in_flight -= 1;
        let shared = if self.plan.is_shared { self.shared.pop_front() } else { None };
        for next in shared.into_iter().chain(std::mem::take(&mut self.followers[place])) {
            self.release(next, at_us);
        }
    }

    fn release(&mut self, place: usize, at_us: f64) {
        let request = &self.plan.requests[place];
        let due_us = (at_us + request.think_us).max(request.due_us);
        if due_us < self.plan.until_us {
            self.due.push(Reverse((key(due_us), place)));
        } else {
            self.dropped += 1;
            // A request that depends on one that is not sent is not sent either: it would come later still.
            for next in std::mem::take(&mut self.followers[place]) {
                self.release(next, due_us);
            }
        }
    }

    /// Requests in flight.
    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Requests that were not sent because their time lies behind the end of the workload.
    pub fn dropped(&self) -> usize {
        self.dropped
    }

    /// Whether nothing is left to send.
    pub fn is_over(&self) -> bool {
        self.due.is_empty() && self.in_flight == 0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use servescope_testkit::cases;

    use super::*;
    use crate::plan::Planned;

    fn plan(requests: &[(f64, Option<usize>, f64)]) -> ReplayPlan {
        let planned = |(id, &(due_us, after, think_us)): (usize, &(f64, Option<usize>, f64))| Planned {
            id,
            due_us,
            path: String::new(),
            headers: Vec::new(),
            body: Vec::new(),
            input_tokens: 1,
            output_tokens: 1,
            session: None,
            after,
            think_us,
        };
        let requests = requests.iter().enumerate().map(planned).collect();
        ReplayPlan { requests, is_shared: false, until_us: f64::INFINITY }
    }

    fn limits(rate_rps: u32, in_flight: usize) -> ReplayLimits {
        ReplayLimits { requests: 1000, rate_rps, in_flight, run_s: 1e3, request_s: 1e3, silence_s: 1e3 }
    }

    #[test]
    fn think_times_begin_at_the_end_of_the_request_before() {
        let mut plan = plan(&[(0.0, None, 0.0), (5.0, Some(0), 10.0), (90.0, Some(1), 1.0)]);
        let mut schedule = Schedule::new(&plan, &limits(100, 9));
        assert_eq!(schedule.take(0.0), Some((0, 0.0)));
        assert_eq!((schedule.next_us(), schedule.is_over()), (None, false));
        schedule.ended(0, 20.0);
        assert_eq!((schedule.take(29.0), schedule.take(31.0)), (None, Some((1, 30.0))));
        schedule.ended(1, 40.0);
        assert_eq!(schedule.next_us(), Some(90.0));
        plan.until_us = 25.0;
        let mut schedule = Schedule::new(&plan, &limits(100, 9));
        schedule.take(0.0);
        schedule.ended(0, 20.0);
        assert_eq!((schedule.is_over(), schedule.dropped()), (true, 2));
    }

    #[test]
    fn a_shared_chain_keeps_so_many_in_flight() {
        let mut plan = plan(&[(0.0, None, 0.0), (0.0, None, 0.0), (0.0, Some(0), 0.0), (0.0, Some(0), 0.0)]);
        plan.is_shared = true;
        let mut schedule = Schedule::new(&plan, &limits(100, 9));
        assert_eq!([0, 0, 0].map(|_| schedule.take(0.0).map(|(place, _)| place)), [Some(0), Some(1), None]);
        schedule.ended(1, 7.0);
        assert_eq!((schedule.take(7.0), schedule.take(7.0)), (Some((2, 7.0)), None));
    }

    proptest! {
        #![proptest_config(cases(64, 2_000))]

        #[test]
        fn bounds_hold_and_every_request_is_sent(
            times in prop::collection::vec((0u32..3_000_000, 0u32..900_000), 1..60),
            rate in 1u32..20,
            most in 1usize..5,
        ) {
            let mut dues: Vec<f64> = times.iter().map(|(due, _)| f64::from(*due)).collect();
            dues.sort_by(f64::total_cmp);
            let plan = plan(&dues.iter().map(|&due| (due, None, 0.0)).collect::<Vec<_>>());
            let mut schedule = Schedule::new(&plan, &limits(rate, most));
            let (mut now, mut sent, mut running): (f64, Vec<f64>, Vec<(f64, usize)>) = (0.0, Vec::new(), Vec::new());
            while !schedule.is_over() {
                while let Some((place, due)) = schedule.take(now) {
                    prop_assert!(due <= now);
                    sent.push(now);
                    running.push((now + f64::from(times[place].1), place));
                }
                prop_assert!(schedule.in_flight() <= most && running.len() == schedule.in_flight());
                running.sort_by(|a, b| b.0.total_cmp(&a.0));
                let end = running.last().map_or(f64::INFINITY, |end| end.0);
                let next = schedule.next_us().unwrap_or(f64::INFINITY);
                prop_assert!(end.min(next).is_finite());
                now = now.max(end.min(next));
                if end <= now {
                    let (end, place) = running.pop().unwrap();
                    schedule.ended(place, end);
                }
            }
            prop_assert_eq!(sent.len(), times.len());
            prop_assert!(sent.windows(rate as usize + 1).all(|w| w[rate as usize] - w[0] >= SECOND_US));
        }
    }
}
